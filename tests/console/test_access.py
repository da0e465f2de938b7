"""Every state of the screens against WCAG 2.2 AA, checked by axe, and keys large enough for a wet thumb."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.console.touch import PATIENCE_MS
from tests.scenes import throw

TABLE = "craps"
AXE = (Path(__file__).parents[1] / "vendor" / "axe" / "axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
SMALLEST = """size => [...document.querySelectorAll("button, summary, select, .choice")]
    .filter(one => one.checkVisibility())
    .map(one => [one.textContent.trim() || one.ariaLabel, one.getBoundingClientRect()])
    .filter(([_, box]) => box.height < size || box.width < size)
    .map(([name, box]) => `${name}: ${box.width} x ${box.height}`)"""
RULINGS = """() => [...document.querySelectorAll(".rulings .key, .rulings .choice")]
    .filter(one => one.checkVisibility()).map(one => [one.textContent.trim(), one.getBoundingClientRect()])
    .filter(([_, box]) => box.height < 80).map(([name, box]) => `${name}: ${box.height}`)"""


def assert_accessible(page: Page) -> None:
    """Check the present page, including its contrasts and target sizes."""
    page.evaluate(AXE)
    found = page.evaluate("tags => axe.run(document, {runOnly: tags})", TAGS)
    assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []
    assert page.evaluate(SMALLEST, 48) == []
    assert page.evaluate(RULINGS) == []


@pytest.mark.parametrize("size", [(1024, 600), (1280, 800), (390, 844)])
def test_a_review_and_the_pages_after_it_are_readable_and_large_enough(
    screens: Screens, sign_in: SignIn, size: tuple[int, int]
) -> None:
    ann = sign_in("ann", size=size)
    screens.play(throw(0, (3, 4), confidence=0.4))
    ann.reads("is under review")
    assert_accessible(ann.page)
    ann.touch("No Roll")
    assert_accessible(ann.page)
    ann.page.locator("#yes").tap()
    ann.reads("Call back roll")
    ann.open("Call back roll")
    ann.open("Lock, close")
    assert_accessible(ann.page)
    assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_sign_in_and_the_display_are_readable(screens: Screens, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1024, "height": 600}, has_touch=True)
    page.set_default_timeout(PATIENCE_MS)
    page.goto(screens.url)
    page.get_by_label("ann").check()
    assert_accessible(page)
    page.goto(f"{screens.url}/display")
    expect(page.locator(".verdict")).not_to_be_empty()
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    page.close()


def test_a_ruling_fits_a_screen_of_1024_by_600_without_scrolling(screens: Screens, sign_in: SignIn) -> None:
    ann = sign_in("ann")
    screens.play(throw(0, (3, 4), confidence=0.4))
    expect(ann.page.locator(".rulings")).to_be_visible()
    box = ann.page.locator(".rulings").bounding_box()
    assert box is not None
    assert box["y"] + box["height"] <= 600


def test_the_key_that_calls_a_result_back_is_in_view_on_a_small_screen(
    screens: Screens, sign_in: SignIn
) -> None:
    ann = sign_in("ann")
    screens.play(throw(0, (2, 2)))
    ann.open("Call back roll")
    expect(ann.page.locator(".callback .submit")).to_be_in_viewport(ratio=1)
    ann.choose("die 1 shows 6")
    ann.choose("die 2 shows 6")
    ann.page.locator(".callback .submit").tap()
    ann.is_answered_with("6-6, was 2-2")
    expect(ann.page.locator("#said")).to_be_in_viewport(ratio=1)
