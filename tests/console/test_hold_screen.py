"""The countdown of a held call, shown only to people who can stop the call."""

import pytest
from playwright.sync_api import Browser, expect

from controller.console.answers import Attempt, Floor
from tests.console.drawn import drawn


def held(hold_ms: float, left_ms: float | None) -> Floor:
    """Return a craps table with the dice at rest or, if `left_ms` is None, in flight."""
    return Floor(
        table="craps",
        ruleset="craps-12-034",
        title="Craps",
        game="craps",
        hold_ms=hold_ms,
        hold_left_ms=left_ms,
        up=True,
        lock="unlocked",
        attempt=Attempt(number=3, under_way=True, open=True),
        may={"boxperson": ("no_roll",)},
    )


def test_the_time_to_stop_a_call_is_counted_down(browser: Browser) -> None:
    page = drawn(browser, held(6000, 5800), paused=True)
    line = page.locator(".hold")
    for left_s in (6, 5, 4, 3, 2, 1):
        expect(line).to_contain_text(f"The call can still be stopped: {left_s} s")
        page.clock.run_for(1000)
    expect(line).to_have_text("The call is being made.")
    expect(page.get_by_role("button", name="No Roll", exact=True)).to_be_visible()
    page.close()


def test_with_the_dice_in_flight_the_screen_shows_how_long_the_hold_will_be(browser: Browser) -> None:
    page = drawn(browser, held(6000, None))
    expect(page.locator("#state")).to_contain_text(
        "Once the call is certain, there are 6 s in which to stop it."
    )
    expect(page.locator(".hold")).to_have_count(0)
    page.close()


@pytest.mark.parametrize("left_ms", [None, 250.0])
def test_a_time_too_short_for_a_person_is_not_shown(browser: Browser, left_ms: float | None) -> None:
    page = drawn(browser, held(999, left_ms))
    expect(page.locator("#state")).to_contain_text("In flight")
    expect(page.locator("#state")).not_to_contain_text("stopped")
    page.close()
