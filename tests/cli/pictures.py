"""Draw the output of commands on an 80-column terminal, as pictures for the guides (`make pictures`).

.venv/bin/python -m tests.cli.pictures docs/pictures/terminal

A virtual table plays, and its camera's cable is pulled and plugged in again.
"""

import html
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from controller.cli.link import ask
from tests.app.rig import until
from tests.cli.controller_at import Terminal
from tests.console.browsers import CHROMIUM, MISSING, launched
from tests.console.pictures import COLOURS

COLUMNS, ROWS = 80, 24
DEMO, SHIFT = 36, 34
"""Numbers of lines shown of the commands."""
CALLS = 6
PULLED_S = 600
SEED = "4"
"""A seed whose play begins with a natural, a No Roll and a review."""
FOLDER = Path(tempfile.gettempdir()) / "table"
"""The folder of the virtual table in the guides."""
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_MOVES = re.compile(r"\x1b\[[0-9;]*[A-LN-Za-ln-z]")
_CLASSES = {"1": "bold", "2": "dim", "1;31": "red", "1;32": "green", "33": "yellow"}
_PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #16181d; }}
pre {{ display: inline-block; margin: 0; padding: 14px 18px; color: #d6dae0;
  font: 15px/1.3 "DejaVu Sans Mono", "Liberation Mono", monospace; }}
.bold {{ font-weight: bold; color: #fff; }} .dim {{ color: #8b93a1; }}
.red {{ font-weight: bold; color: #ff6b68; }} .green {{ font-weight: bold; color: #5fd38d; }}
.yellow {{ color: #e8c547; }} .typed {{ color: #8ab4f8; }}
</style><pre>{}</pre>"""


def page_of(command: str, raw: str) -> str:
    """Return a page with a command and its output on a terminal. Each redrawn line appears once."""
    lines = [_last_drawn(line) for line in raw.replace("\r\n", "\n").rstrip("\n").split("\n")]
    shown = "\n".join("".join(_marked(line)) for line in lines)
    return _PAGE.format(f'<span class="typed">$ {html.escape(command)}</span>\n{shown}')


def _last_drawn(line: str) -> str:
    return _MOVES.sub("", line.rsplit("\r", maxsplit=1)[-1])


def _marked(line: str) -> Iterator[str]:
    style, at = "", 0
    for code in (*_SGR.finditer(line), None):
        part = html.escape(line[at:] if code is None else line[at : code.start()])
        yield f'<span class="{style}">{part}</span>' if style and part else part
        if code is not None:
            style, at = _CLASSES.get(code[1], ""), code.end()


class Album:
    """A folder of pictures."""

    def __init__(self, folder: Path, browser: Browser) -> None:
        self._folder = folder
        self._page = browser.new_page(device_scale_factor=1)

    def take(self, name: str, command: str, raw: str) -> None:
        """Draw the output on a terminal and save the picture."""
        self._page.set_content(page_of(command, raw))
        file = self._folder / f"{name}.png"
        self._page.locator("pre").screenshot(path=file)
        with Image.open(file) as taken:
            small = taken.convert("RGB").quantize(COLOURS)
        small.save(file, optimize=True)
        print(name)

    def command(self, name: str, *words: str, most: int | None = None) -> None:
        """Run a command to its end; save a picture of its first `most` lines."""
        terminal = Terminal(words, COLUMNS, ROWS, TABLE_SOCKET=str(FOLDER / "control.sock"))
        terminal.whole()
        terminal.end()
        raw = "\n".join(terminal.raw.replace("\r\n", "\n").split("\n")[:most])
        self.take(name, " ".join(("tablectl", *words)), raw)

    def live(self, name: str, until: Callable[[str], bool], *words: str) -> None:
        """Run a command until a condition holds for its output; save a picture of the window."""
        terminal = Terminal(words, COLUMNS, ROWS, TABLE_SOCKET=str(FOLDER / "control.sock"))
        try:
            terminal.until(until)
        finally:
            terminal.end()
        lines = terminal.raw.replace("\r\n", "\n").rstrip("\n").split("\n")
        self.take(name, " ".join(("tablectl", *words)), "\n".join(lines[-(ROWS - 1) :]))


@contextmanager
def table() -> Iterator[None]:
    shutil.rmtree(FOLDER, ignore_errors=True)
    tablectl = (sys.executable, "-m", "controller.cli.main")
    journal, socket = str(FOLDER / "journal"), str(FOLDER / "control.sock")
    with _process(*tablectl, "simulate", "craps", "--seed", SEED, "--dir", str(FOLDER)) as virtual:
        assert virtual.stdout is not None
        while "Ctrl-C ends" not in virtual.stdout.readline():
            pass
        file = str(FOLDER / "table.yaml")
        with _process(*tablectl, "run", file, "--journal", journal, "--socket", socket) as controller:
            assert controller.stderr is not None
            while "self_test_waits" not in controller.stderr.readline():
                pass
            yield


@contextmanager
def _process(*words: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def calls(count: int) -> Callable[[str], bool]:
    """Return the condition that this many calls, voids or reviews were printed."""
    return lambda text: len(re.findall(r"^\d\d:\d\d:\d\d +\d+ ", text, re.MULTILINE)) >= count


def pull(device: str) -> None:
    """Pull a device's cable at the virtual table, and wait until its controller has detected it."""
    with (FOLDER / "faults").open("w", encoding="utf-8") as pipe:
        pipe.write(f'{{"fault": "unplug", "device": "{device}", "seconds": {PULLED_S}}}\n')
    until(lambda: f'"where":"{device}"' in str(msgspec.json.encode(faults())), "the fault")


def faults() -> object:
    return ask(str(FOLDER / "control.sock"), {"do": "faults"})["faults"]


def main(folder: Path) -> int:
    """Save every picture in this folder; return 3 without a browser."""
    if CHROMIUM is None:
        print(f"{MISSING}; the pictures are unchanged", file=sys.stderr)
        return 3
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright)
        album = Album(folder, browser)
        album.command("demo", "demo", "--fast", most=DEMO)
        with table():
            album.live("watch", calls(CALLS), "watch")
            pull("cam")
            for name in ("status", "devices", "faults", "doctor"):
                album.command(name, name)
            album.command("shift", "shift", most=SHIFT)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
