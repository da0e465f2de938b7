"""A roulette table's screens: a person rules on a spin by touching its number on the wheel."""

from playwright.sync_api import Browser, expect

from controller.model.readings import PocketBall, RotorIndex
from drivers.sim.wheel import AMERICAN, simulate
from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.scenes import SECOND_US

TABLE = "roulette"


def test_a_spin_not_seen_by_the_reader_is_ruled_by_its_number(
    screens: Screens, sign_in: SignIn, browser: Browser
) -> None:
    bob = sign_in("bob")
    display = browser.new_page(viewport={"width": 1280, "height": 800})
    display.goto(f"{screens.url}/display")
    _, feed, _ = simulate(1, {"valid": 1.0}, 1, wheel=AMERICAN)
    unread = [(arrived, one) for arrived, one in feed if not isinstance(one, PocketBall)]
    screens.play(unread, after_us=30 * SECOND_US)
    bob.reads("Spin 1 is under review")
    order = bob.page.locator("fieldset.wheel input").evaluate_all(
        "inputs => inputs.map(input => input.value)"
    )
    assert order[:4] == ["0", "28", "9", "26"]
    expect(display.locator(".verdict")).to_have_text("Under review")
    bob.choose("17 black")
    bob.touch("Rule spin 1 as 17")
    assert bob.touches == 2
    bob.is_answered_with("Spin 1: 17, was under review")
    expect(display.locator(".number.huge.black")).to_have_text("17")
    bob.open("Call back spin 1")
    bob.choose("00 green")
    bob.touch("Rule spin 1 as 00")
    bob.is_answered_with("Spin 1: 00, was 17")
    bob.reads("was 17, corrected by dealer bob")
    expect(display.locator(".number.huge.green")).to_have_text("00")
    display.close()


def test_bets_are_closed_and_opened_by_touch(screens: Screens, sign_in: SignIn) -> None:
    bob = sign_in("bob")
    bob.touch("No More Bets")
    bob.is_answered_with("Done: No More Bets")
    bob.touch("Open bets")
    bob.is_answered_with("Done: Open bets")


def test_two_reads_that_differ_are_ruled_by_where_the_ball_is(screens: Screens, sign_in: SignIn) -> None:
    bob = sign_in("bob")
    _, feed, _ = simulate(2, {"valid": 1.0}, 1, wheel=AMERICAN)
    reads = [one for _, one in feed if isinstance(one, PocketBall)]
    decided_us = next(one.t for _, one in feed if isinstance(one, RotorIndex) and one.t > reads[2].t)
    # Another pocket, before the ball could come round again and before the call's hold ends.
    stray = PocketBall(t=decided_us + 100_000, dev=reads[2].dev)
    before = [(arrived, one) for arrived, one in feed if one.t < stray.t]
    after = [(arrived, one) for arrived, one in feed if one.t > stray.t and isinstance(one, RotorIndex)]
    screens.play([*before, (stray.t, stray), *after], after_us=30 * SECOND_US)
    bob.reads("is under review", "The sensors disagree")
    spin = bob.page.locator(".rulings[data-attempt]").get_attribute("data-attempt")
    bob.choose("23 red")
    bob.touch(f"Rule spin {spin} as 23")
    assert bob.touches == 2
    bob.is_answered_with(f"Spin {spin}: 23, was under review")
    bob.reads("ruled by dealer bob")
