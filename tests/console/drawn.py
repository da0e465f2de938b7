"""Pages in the browser without a table behind them: the staff's page as it is made of one state."""

from pathlib import Path

from playwright.sync_api import Browser, Page, Route

import controller.console
from controller.console.feed import Now
from controller.console.pages import Pages
from controller.console.seen import Floor
from controller.console.sessions import Session
from tests.console.touch import PATIENCE_MS

STATIC = Path(controller.console.__file__).parent / "static"
ORIGIN = "http://console.test"
PAGES = Pages()


def drawn(browser: Browser, floor: Floor, role: str = "boxperson") -> Page:
    """Open the staff's page of this state; its clock stands still until the test lets it run."""
    html = PAGES.staff(Now(floor=floor), Session("secret", "ann", (role,), role))

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        if path == "/":
            route.fulfill(body=html, content_type="text/html")
        elif path.startswith("/static/"):
            route.fulfill(path=STATIC / path.removeprefix("/static/"))
        else:
            route.abort()

    page = browser.new_page(viewport={"width": 1024, "height": 600}, has_touch=True)
    page.set_default_timeout(PATIENCE_MS)
    page.clock.install(time=0)
    page.clock.pause_at(1000)
    page.route("**/*", answer)
    page.goto(f"{ORIGIN}/")
    return page
