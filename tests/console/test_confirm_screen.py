"""A table with confirmed calls: a proposal waits, and one touch accepts it."""

from playwright.sync_api import Browser, expect

from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.scenes import throw

TABLE = "craps-v1"


def test_a_proposed_call_is_accepted_with_one_touch_and_no_player_sees_it_before(
    screens: Screens, sign_in: SignIn, browser: Browser
) -> None:
    bob = sign_in("bob", size=(390, 844))
    display = browser.new_page(viewport={"width": 1280, "height": 800})
    display.goto(f"{screens.url}/display")
    screens.play(throw(0, (5, 4)))
    bob.reads("Roll 1 is waiting for confirmation", "Proposed: 5-4")
    expect(display.locator(".verdict")).to_have_text("The call is being made")
    expect(display.locator(".big .total")).to_have_count(0)
    bob.touch("Accept 5-4")
    assert bob.touches == 1
    bob.is_answered_with("Roll 1: 5-4")
    expect(display.locator(".puck i")).to_have_text("9")
    display.close()


def test_a_proposal_is_overruled_with_the_faces_on_the_table(screens: Screens, sign_in: SignIn) -> None:
    bob = sign_in("bob")
    screens.play(throw(0, (2, 2)))
    bob.reads("is waiting for confirmation")
    roll = bob.page.locator(".rulings").get_attribute("data-attempt")
    bob.choose("die 1 shows 2")
    bob.choose("die 2 shows 3")
    bob.touch(f"Rule roll {roll} as 2-3")
    bob.is_answered_with(f"Roll {roll}: 2-3")
