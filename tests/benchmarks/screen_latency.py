"""Measure the time from a review's event on the control socket to its keys on the screen.

`python -m tests.benchmarks.screen_latency [--reviews 100]` prints p50, p99 and the maximum in Debian's
Chromium, next to the floor, a bare change of a page in the same browser.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from controller.cli.link import conversation
from tests.benchmarks.figures import Figure, hand_over
from tests.console.browsers import CHROMIUM, MISSING, launched
from tests.console.rig import PEOPLE, Screens
from tests.console.touch import Person
from tests.scenes import throw

LIMIT_MS = 200.0
"""The limit at p99, a delay that a dealer does not notice."""
SEEN = """number => new Promise(done => {
    const look = () => number in seen ? done() : setTimeout(look, 5);
    look();
})"""
WATCH = """() => { window.seen = {}; new MutationObserver(() => {
    const one = document.querySelector(".rulings[data-attempt]");
    if (one && !(one.dataset.attempt in seen)) seen[one.dataset.attempt] = Date.now();
}).observe(document.body, {childList: true, subtree: true}); }"""


def main() -> int:
    """Measure the reviews; return 1 if p99 is over the limit, or 3 if no browser is installed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reviews", type=int, default=100)
    reviews: int = parser.parse_args().reviews
    if CHROMIUM is None:
        sys.stderr.write(f"{MISSING}\n")
        return 3
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        screens = Screens(Path(folder)).start()
        try:
            browser = launched(playwright)
            page = browser.new_page(viewport={"width": 1024, "height": 600}, has_touch=True)
            Person(page, screens.url).sign_in("ann", PEOPLE["ann"][1])
            took = sorted(_measured(screens, page, reviews))
            floor = sorted(_floor(page, reviews))
        finally:
            screens.close()
    p50, p99, worst = took[len(took) // 2], took[min(len(took) - 1, len(took) * 99 // 100)], took[-1]
    beside = "a bare change of a page"
    hand_over(Figure("review to its keys on the screen, p50", p50, floor[len(floor) // 2], "ms", beside))
    sys.stdout.write(
        f"review to keys on the screen: p50 {p50:.0f} ms, p99 {p99:.0f} ms, worst {worst:.0f} ms"
        f" of {len(took)};"
        f" floor (a bare change of a page) p99 {floor[min(len(floor) - 1, len(floor) * 99 // 100)]:.0f} ms\n"
    )
    return int(p99 > LIMIT_MS)


def _measured(screens: Screens, page: Page, reviews: int) -> list[float]:
    said: dict[str, float] = {}
    heard = threading.Event()

    def listen() -> None:
        for line in conversation(screens.table.socket, {"do": "watch", "topics": ["outcomes"]}):
            heard.set()
            awaited = line.get("awaited")
            if isinstance(awaited, dict) and awaited["state"] == "review":
                said.setdefault(str(awaited["number"]), time.time() * 1000)

    threading.Thread(target=listen, daemon=True).start()
    heard.wait()
    page.evaluate(WATCH)
    for one in range(1, reviews + 1):
        screens.play(throw(0, (3, 4), confidence=0.4))
        page.evaluate(SEEN, str(one))
    seen: dict[str, float] = page.evaluate("seen")
    return [max(0.0, seen[number] - began) for number, began in said.items() if number in seen]


def _floor(page: Page, times: int) -> list[float]:
    change = """() => new Promise(done => { const began = performance.now();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began))); })"""
    return [float(page.evaluate(change)) for _ in range(times)]


if __name__ == "__main__":
    sys.exit(main())
