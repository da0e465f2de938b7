"""What a person does at a screen: touches, and reads."""

import re
from dataclasses import dataclass

from playwright.sync_api import Page, expect

PATIENCE_MS = 300_000
"""How long a test waits for a fact before it calls the screen stuck."""
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Person:
    """Somebody at a browser."""

    page: Page
    url: str
    touches: int = 0

    def sign_in(self, name: str, pin: str) -> None:
        """Touch a name and type its PIN on the pad."""
        self.try_pin(name, pin)
        expect(self.page.locator("#head .who")).to_contain_text(name)
        self.touches = 0

    def try_pin(self, name: str, pin: str) -> None:
        """Touch a name and a PIN, whatever comes of it."""
        if not self.page.url.startswith(self.url):
            self.page.goto(self.url)
        self.page.get_by_label(name, exact=True).check()
        for digit in pin:
            self.page.locator(f'[data-digit="{digit}"]').tap()
        self.page.get_by_role("button", name="Sign in").tap()

    def touch(self, key: str) -> None:
        """Touch a key by what stands on it."""
        self.page.get_by_role("button", name=key, exact=True).tap()
        self.touches += 1

    def choose(self, label: str) -> None:
        """Touch one of a row to choose from."""
        self.page.get_by_label(label, exact=True).tap()
        self.touches += 1

    def open(self, heading: str) -> None:
        """Touch what opens more keys; again if they were replaced by their like under the finger."""
        summary = self.page.locator("summary", has_text=heading)
        while summary.locator("xpath=..").get_attribute("open") is None:
            summary.tap()
            self.touches += 1

    def reads(self, *words: str) -> None:
        """Wait until all these words stand on the screen."""
        for each in words:
            expect(self.page.locator("body")).to_contain_text(re.compile(re.escape(each), re.IGNORECASE))

    def is_told(self, words: str) -> None:
        """Wait until the line of answers says this."""
        expect(self.page.locator("#said")).to_contain_text(words)

    def has_no_key(self, key: str) -> None:
        """Wait until there is no such key."""
        expect(self.page.get_by_role("button", name=key, exact=True)).to_have_count(0)
