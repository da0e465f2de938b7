"""A person's actions at a screen: touching and reading."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Locator, Page, Route, expect

PATIENCE_MS = 300_000
"""Time limit for a condition, in milliseconds, after which the screen counts as stuck."""
expect.set_options(timeout=PATIENCE_MS)
READING_S = 0.4
"""Time that a person needs to read a new key, in seconds. A page ignores a second touch at the same place
within this time, and a page that scrolls or changes may have put another key there."""


@dataclass
class Person:
    """A person at a browser."""

    page: Page
    url: str
    touches: int = 0
    _touched_s: float = -READING_S

    def sign_in(self, name: str, pin: str) -> None:
        """Touch a name and type its PIN on the pad."""
        self.try_pin(name, pin)
        expect(self.page.locator("#head .who")).to_contain_text(name)
        self.touches = 0

    def try_pin(self, name: str, pin: str) -> None:
        """Touch a name and a PIN; the sign-in may fail."""
        if not self.page.url.startswith(self.url):
            self.page.goto(self.url)
        self.page.get_by_label(name, exact=True).check()
        for digit in pin:
            self.page.locator(f'[data-digit="{digit}"]').tap()
        self.page.get_by_role("button", name="Sign in").tap()

    def touch(self, key: str) -> None:
        """Touch a key by its label."""
        self._tap(self.page.get_by_role("button", name=key, exact=True))

    def choose(self, label: str) -> None:
        """Touch one option of a row."""
        self._tap(self.page.get_by_label(label, exact=True))

    def open(self, heading: str) -> None:
        """Touch a heading that opens more keys; repeat the touch if the page replaced the heading."""
        summary = self.page.locator("summary", has_text=heading)
        while summary.locator("xpath=..").get_attribute("open") is None:
            self._tap(summary)

    def _tap(self, key: Locator) -> None:
        unread_s = self._touched_s + READING_S - time.monotonic()
        self.page.wait_for_timeout(max(0.0, unread_s) * 1000)
        key.tap()
        self._touched_s = time.monotonic()
        self.touches += 1

    def reads(self, *words: str) -> None:
        """Wait until all these texts are on the screen."""
        for each in words:
            expect(self.page.locator("body")).to_contain_text(re.compile(re.escape(each), re.IGNORECASE))

    def is_answered_with(self, words: str) -> None:
        """Wait until the answer line shows this text."""
        expect(self.page.locator("#said")).to_contain_text(words)

    def has_no_key(self, key: str) -> None:
        """Wait until there is no such key."""
        expect(self.page.get_by_role("button", name=key, exact=True)).to_have_count(0)


def is_touchable(key: Locator) -> bool:
    """Return whether a touch in the middle of a key reaches the key."""
    reached: bool = key.evaluate(
        """one => {
            const { x, y, width, height } = one.getBoundingClientRect();
            return one.contains(document.elementFromPoint(x + width / 2, y + height / 2));
        }"""
    )
    return reached


def reload_without_script(page: Page) -> Callable[[], None]:
    """Reload a page but hold back its scripts; return a function that lets them load."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/*.js", hold)
    page.reload(wait_until="commit")

    def load() -> None:
        for route in held:
            route.continue_()
        page.unroute("**/*.js")

    return load
