"""Fixtures: a browser for the whole run, and screens at tables of each game."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.console.browsers import CHROMIUM, MISSING, launched
from tests.console.rig import PEOPLE, Screens
from tests.console.touch import PATIENCE_MS, Person


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Yield the run's browser; skip if the machine has none."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        one = launched(playwright)
        yield one
        one.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Yield the browser; afterwards, no script of a page may have raised an error."""
    errors: list[str] = []

    def watch(context: BrowserContext) -> None:
        context.on("weberror", lambda raised: errors.append(raised.error.stack or raised.error.message))

    chromium.on("context", watch)
    yield chromium
    chromium.remove_listener("context", watch)
    assert errors == []


@pytest.fixture(scope="session")
def started() -> Iterator[dict[str, Screens]]:
    """Yield the running screens by table, which modules at the same table share."""
    one: dict[str, Screens] = {}
    try:
        yield one
    finally:
        for screens in one.values():
            screens.close()


@pytest.fixture(scope="module")
def screens(
    request: pytest.FixtureRequest,
    started: dict[str, Screens],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Screens]:
    """Yield the screens of the module's table (`TABLE`); their clock pauses between modules."""
    name = request.module.TABLE
    if name not in started:
        started[name] = Screens(Path(tmp_path_factory.mktemp("screens")), name)
        started[name].start()
    else:
        started[name].resume()
    yield started[name]
    started[name].pause()


SignIn = Callable[..., Person]


@pytest.fixture
def sign_in(browser: Browser, screens: Screens) -> Iterator[SignIn]:
    """Yield a function that signs a person in, each in a separate browser context."""
    with ExitStack() as opened:

        def at(name: str, *, size: tuple[int, int] = (1024, 600), feed: bool = True) -> Person:
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, has_touch=True)
            opened.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            if not feed:
                page.route("**/events", lambda route: route.abort())
            person = Person(page, screens.url)
            person.sign_in(name, PEOPLE[name][1])
            return person

        yield at
