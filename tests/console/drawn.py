"""Console pages rendered from a given state and opened in a browser, without a table."""

from pathlib import Path

from playwright.sync_api import Browser, Page, Route

import controller.console
from controller.console.answers import Board, Floor
from controller.console.feed import ScreenState
from controller.console.guard import Session
from controller.console.pages import Pages
from tests.console.touch import PATIENCE_MS

STATIC = Path(controller.console.__file__).parent / "static"
ORIGIN = "http://console.test"
SMALL_SCREEN = (1024, 600)
ABOVE_THE_TABLE = (1280, 800)
PAGES = Pages()


def drawn(browser: Browser, floor: Floor | None, *, paused: bool = False) -> Page:
    """Open the boxperson's page for this state; see `opened` for `paused`."""
    session = Session("secret", "ann", ("boxperson",), "boxperson")
    return opened(browser, PAGES.staff(ScreenState(floor=floor), session), paused=paused)


def display_drawn(browser: Browser, now: ScreenState) -> Page:
    return opened(browser, PAGES.display(now), ABOVE_THE_TABLE)


def board_of(floor: Floor, **state: object) -> Board:
    """Return an open, unlocked board of this table."""
    state = {"state": "open", "lock": "unlocked", "bets": "open", "round": 1} | state
    return Board(table=floor.table, **state)  # type: ignore[arg-type]  # each field has its own type


def opened(
    browser: Browser, html: str, size: tuple[int, int] = SMALL_SCREEN, *, paused: bool = False
) -> Page:
    """Open a page with its resources on a touch screen of this size in pixels.

    With `paused`, only the test advances the page's clock.
    """

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path == "/":
            route.fulfill(body=html, content_type="text/html")
        elif path.startswith("/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        elif path.endswith("events"):
            pass  # An empty stream. A failed stream would be reported above the page's contents.
        else:
            route.abort()

    page = browser.new_page(viewport={"width": size[0], "height": size[1]}, has_touch=True)
    page.set_default_timeout(PATIENCE_MS)
    if paused:
        page.clock.install(time=0)
        page.clock.pause_at(1000)
    page.route("**/*", answer)
    page.goto(f"{ORIGIN}/")
    return page
