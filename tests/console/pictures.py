"""Take a picture of every state of the screens: `make pictures`.

.venv/bin/python -m tests.console.pictures docs/pictures/screens
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

from controller.model.readings import Card, DeviceDown, DeviceUp, PocketBall
from drivers.sim.wheel import AMERICAN, simulate
from tests.app.test_card_tables import HANDS
from tests.console.browsers import CHROMIUM, MISSING, launched
from tests.console.photographs import kept_by, photographs, reviewed
from tests.console.rig import PEOPLE, Screens
from tests.console.touch import Person
from tests.scenes import SECOND_US, throw

COLOURS = 128
"""Enough colours for flat pages, at a third of the bytes."""
LOADED = """Promise.all([...document.images]
    .filter(one => one.loading !== "lazy").map(one => one.decode()))"""
"""Waits for all pictures except those in closed sections."""
SMALL, LARGE, PHONE = (1024, 600), (1280, 800), (390, 844)


class Album:
    """Takes the pictures of one table."""

    def __init__(self, folder: Path, browser: Browser, screens: Screens) -> None:
        self._folder = folder
        self.browser = browser
        self.screens = screens
        self.display = self.page(LARGE)
        self.display.goto(f"{screens.url}/display")

    def page(self, size: tuple[int, int]) -> Page:
        return self.browser.new_context(
            viewport={"width": size[0], "height": size[1]}, has_touch=True
        ).new_page()

    def person(self, name: str, size: tuple[int, int] = SMALL) -> Person:
        person = Person(self.page(size), self.screens.url)
        person.sign_in(name, PEOPLE[name][1])
        return person

    def take(self, page: Page, name: str, *, whole: bool = False) -> None:
        """Save a screenshot once the whole page has been drawn."""
        page.evaluate(LOADED)
        page.evaluate("scrollTo(0, 0)")
        file = self._folder / f"{name}.png"
        page.screenshot(path=file, full_page=whole)
        with Image.open(file) as taken:
            small = taken.convert("RGB").quantize(COLOURS)
        small.save(file, optimize=True)
        print(name)


def craps(album: Album) -> None:
    """Take the pictures of a craps table, from signing in to a lock."""
    screens = album.screens
    door = Person(album.page(SMALL), screens.url)
    door.page.goto(screens.url)
    door.page.get_by_label("ann").check()
    album.take(door.page, "sign-in")
    for _ in range(5):
        door.try_pin("cleo", "9999")
        expect(door.page.locator("#said")).not_to_have_text("…")
    door.is_answered_with("locked after 5 wrong tries")
    album.take(door.page, "locked-out")
    ann = album.person("ann")
    album.take(ann.page, "craps-open")
    screens.play(throw(0, (5, 6)))
    screens.play(throw(0, (2, 2)))
    ann.reads("Call back roll 2")
    album.take(ann.page, "craps-point")
    expect(album.display.locator(".puck i")).to_have_text("4")
    album.take(album.display, "display-craps")
    screens.play(throw(0, (3, 1), short_mm=(120.0, 0.0)))
    expect(album.display.locator(".verdict")).to_have_text("No Roll")
    album.take(album.display, "display-no-roll")
    screens.play(throw(0, (3, 4), confidence=0.4))
    ann.reads("is under review")
    expect(ann.page.locator("#picture img")).to_be_visible()
    album.take(ann.page, "craps-review")
    expect(album.display.locator(".verdict")).to_have_text("Under review")
    album.take(album.display, "display-review")
    for name, size in (("large", LARGE), ("phone", PHONE)):
        other = album.person("ann", size)
        album.take(other.page, f"craps-review-{name}", whole=True)
    album.take(album.person("tom").page, "craps-review-technician")
    ann.choose("die 1 shows 3")
    ann.choose("die 2 shows 4")
    album.take(ann.page, "craps-review-chosen")
    ann.touch("No Roll")
    expect(ann.page.locator("#yes")).to_be_enabled()
    album.take(ann.page, "craps-question")
    ann.touch("Back")
    ann.touch("Rule roll 4 as 3-4")
    ann.is_answered_with("Roll 4: 3-4")
    ann.open("Call back roll 4")
    ann.open("New shooter")
    album.take(ann.page, "craps-call-back", whole=True)
    files = photographs()
    kept_by(screens, files)
    reviewed(screens, files)
    ann.reads("the camera read 3", "the camera read 4")
    album.take(ann.page, "craps-review-photographs", whole=True)
    ann.touch("No Roll")
    ann.page.locator("#yes").tap()
    ann.is_answered_with("No Roll")
    technician(album)
    ann.open("Lock, close")
    ann.touch("Lock: Dealer's break")
    ann.reads("Locked by boxperson")
    album.take(ann.page, "craps-locked", whole=True)
    album.take(album.display, "display-paused")
    screens.kill_table()
    ann.reads("The controller does not respond")
    album.take(ann.page, "no-answer")


def technician(album: Album) -> None:
    """Take the pictures of a craps table's equipment: a fault, a throw on the plan, a guided test."""
    screens, tom = album.screens, album.person("tom")
    for name in ("cam", "wall-left", "wall-right"):
        screens.play([DeviceUp(t=0, dev=name, reason="it answers")])
    down = DeviceDown(t=0, dev="wall-right", reason="found no such port", code="port_lost")
    screens.play([down])
    tom.page.goto(f"{tom.url}/technician")
    tom.reads("Offline for")
    album.take(tom.page, "technician-devices", whole=True)
    tom.page.goto(f"{tom.url}/technician/sensors")
    expect(tom.page.locator("body")).to_have_attribute("data-link", "up")
    screens.play(throw(0, (5, 6)))
    expect(tom.page.locator(".plan .rest")).to_have_count(2)
    album.take(tom.page, "technician-sensors", whole=True)
    tom.page.goto(f"{tom.url}/technician/work")
    tom.touch("Test wall-left")
    tom.reads("Throw one die at the left wall")
    album.take(tom.page, "technician-test")
    tom.touch("Stop")
    tom.reads("Stopped.")
    for name in ("recordings", "checks"):
        tom.page.goto(f"{tom.url}/technician/{name}")
        album.take(tom.page, f"technician-{name}")


def confirm(album: Album) -> None:
    """Take the pictures of a Craps Version 1 call that waits for confirmation."""
    bob = album.person("bob", LARGE)
    album.screens.play(throw(0, (5, 4)))
    bob.reads("is waiting for confirmation")
    album.take(bob.page, "confirm")


def roulette(album: Album) -> None:
    """Take the pictures of a spin under review."""
    bob = album.person("bob")
    album.take(bob.page, "roulette-open")
    _, feed, _ = simulate(1, {"valid": 1.0}, 1, wheel=AMERICAN)
    unread = [(arrived, one) for arrived, one in feed if not isinstance(one, PocketBall)]
    album.screens.play(unread, after_us=30 * SECOND_US)
    bob.reads("Spin 1 is under review")
    expect(bob.page.locator("#picture img")).to_be_visible()
    album.take(bob.page, "roulette-review", whole=True)
    album.take(album.person("bob", PHONE).page, "roulette-review-phone", whole=True)
    bob.choose("17 black")
    bob.touch("Rule spin 1 as 17")
    bob.is_answered_with("Spin 1: 17")
    expect(album.display.locator(".number.huge")).to_have_text("17")
    album.take(bob.page, "roulette-called")
    album.take(album.display, "display-roulette")


def three_card(album: Album) -> None:
    """Take the pictures of Three Card Poker: positions, Play and Fold, and an unread card."""
    bob = album.person("bob", LARGE)
    album.take(bob.page, "three-card-open")
    for seat in ("1", "2"):
        bob.choose(seat)
    bob.touch("Deal to these")
    bob.is_answered_with("Done: Positions with wagers")
    bob.touch("No More Bets")
    bob.is_answered_with("Done: No More Bets")
    names = [(to, text) for to, hand in HANDS for text in hand.split()]
    dealt = [
        Card(t=at * SECOND_US, dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit
        for at, (to, text) in enumerate(names[:-1])
    ]
    album.screens.play([*dealt, Card(t=len(names) * SECOND_US, dev="shoe", to="dealer")])
    bob.reads("Play")
    bob.touch("Play: seat 1")
    bob.touch("Fold: seat 2")
    bob.reads("Deal 1 is under review")
    album.take(bob.page, "three-card-review", whole=True)
    bob.choose("8")
    bob.choose("diamonds")
    bob.page.locator("form[data-word=set_card] .submit").tap()
    expect(album.display.locator(".cards")).to_be_visible()
    album.take(album.display, "display-three-card")


def high_roller(album: Album) -> None:
    """Take the pictures of High Roller: the button and the buy-in."""
    bob = album.person("bob", LARGE)
    album.take(bob.page, "high-roller-button")
    for seat, card in (("1", "Q"), ("2", "9"), ("3", "7")):
        album.screens.table.enter("draw_button", by="dealer", seat=seat, card=card, wait_s=5)
    album.screens.table.enter("buy", by="dealer", seat="1", count=2, wait_s=5)
    bob.reads("Buy in")
    album.take(bob.page, "high-roller-buying", whole=True)
    album.take(album.display, "display-high-roller")


TABLES: tuple[tuple[str, Callable[[Album], None]], ...] = (
    ("craps", craps),
    ("craps-v1", confirm),
    ("roulette", roulette),
    ("three-card", three_card),
    ("high-roller", high_roller),
)


@contextmanager
def _screens(name: str) -> Iterator[Screens]:
    with tempfile.TemporaryDirectory() as folder:
        screens = Screens(Path(folder), name)
        try:
            yield screens.start()
        finally:
            screens.close()


def main(folder: Path) -> int:
    """Save all screenshots in this folder; return 3 without a browser."""
    if CHROMIUM is None:
        print(f"{MISSING}; the pictures are unchanged", file=sys.stderr)
        return 3
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        for name, play in TABLES:
            with _screens(name) as screens:
                play(Album(folder, browser, screens))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
