"""Draw the fraction of a replay's time that each module takes, for dice and for a wheel.

`python -m tests.benchmarks.reading_time [PICTURE]` replays the benchmark's logs while a CPU timer samples the
running module of the controller, including library code that it calls. It prints the fractions and draws them
as bars.
"""

import argparse
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple
from xml.sax.saxutils import escape

from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, wheel
from drivers.sim.scenes import write_log

ROOT = Path(__file__).parents[2]
ATTEMPTS, REPLAYS, SAMPLE_S = 200, 12, 0.001
SHOWN = 12
"""Number of modules with their own bar; the others share one."""
PARTS = {
    "controller/rules": ("judging", "#1f6feb"),
    "controller/machines": ("machines of the games", "#8250df"),
    "controller/games": ("machines of the games", "#8250df"),
    "controller/engine": ("order, sessions and timers", "#bf8700"),
    "controller/replay": ("decoding", "#1a7f37"),
    "controller/model": ("vocabulary and checks", "#57606a"),
}
OTHER = ("other", "#8c959f")
FONT = 'font-family="DejaVu Sans, Verdana, Arial, sans-serif"'
BAR_PX, ROW_PX, LEFT_PX, TOP_PX = 420, 22, 270, 78


class Shares(NamedTuple):
    """The measurement for one game: the samples by module, and the microseconds per reading."""

    name: str
    samples: Counter[str]
    us: float


def sampled(work: Callable[[], None]) -> Counter[str]:
    """Run `work`; return how often each module of the controller was the innermost on the stack."""
    samples: Counter[str] = Counter()

    def sample(_number: int, frame: FrameType | None) -> None:
        while frame is not None and not frame.f_code.co_filename.startswith(f"{ROOT}/controller/"):
            frame = frame.f_back
        if frame is not None:
            samples[str(Path(frame.f_code.co_filename).relative_to(ROOT))] += 1

    before = signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return samples


def measure(name: str, path: Path) -> Shares:
    """Replay a log; return the samples and the time per reading."""
    with open_log(str(path)) as log:
        ruleset = load_ruleset(log.header.ruleset)
    readings = len(path.read_bytes().splitlines()) - 1

    def whole() -> None:
        for _ in range(REPLAYS):
            with open_log(str(path)) as log:
                for _ in replay(log, build_setup(log.header, ruleset, log.name)):
                    pass

    start = time.process_time()
    whole()
    us = (time.process_time() - start) / (REPLAYS * readings) * 1e6
    return Shares(name, sampled(whole), us)


def part_of(module: str) -> tuple[str, str]:
    """Return the part of the controller to which a module belongs, and its colour."""
    return next((part for prefix, part in PARTS.items() if module.startswith(prefix)), OTHER)


def rows_of(shares: Shares) -> list[tuple[str, float, str]]:
    """Return the bars, each with its name, fraction and colour."""
    total = sum(shares.samples.values())
    rows = [
        (module.removeprefix("controller/").removesuffix(".py"), count / total, part_of(module)[1])
        for module, count in shares.samples.most_common(SHOWN)
    ]
    return [*rows, ("all others", 1 - sum(share for _, share, _ in rows), OTHER[1])]


def picture(all_shares: list[Shares]) -> str:
    """Return the drawing as SVG."""
    width = len(all_shares) * (LEFT_PX + BAR_PX + 60)
    height = TOP_PX + (SHOWN + 1) * ROW_PX + 60
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" {FONT}>',
        "<title>Where a reading's time goes</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(30, 34, "Where a reading's time goes, as shares of its replay", 20, bold=True),
    ]
    for column, shares in enumerate(all_shares):
        x = column * (LEFT_PX + BAR_PX + 60)
        drawn.append(_text(x + 30, 62, shares.name, 14))
        rows = rows_of(shares)
        widest = max(share for _, share, _ in rows)
        for place, (name, share, colour) in enumerate(rows):
            y = TOP_PX + place * ROW_PX
            length = share / widest * BAR_PX * 0.85
            drawn.append(_text(x + LEFT_PX - 8, y + 15, name, 12, anchor="end"))
            drawn.append(
                f'<rect x="{x + LEFT_PX}" y="{y + 3}" width="{length:.1f}" height="15" fill="{colour}"/>'
            )
            drawn.append(_text(x + LEFT_PX + length + 6, y + 15, f"{share:.1%}", 12))
    at = 30.0
    for part, colour in dict.fromkeys((*PARTS.values(), OTHER)):
        drawn.append(_bar(at, height - 36, 13, 13, colour))
        drawn.append(_text(at + 19, height - 25, part, 12))
        at += 40 + 7.2 * len(part)
    return "\n".join((*drawn, "</svg>", ""))


def _bar(x: float, y: float, width: float, height: float, colour: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" fill="{colour}"/>'


def _text(x: float, y: float, text: str, size: int, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"{weight} fill="#1a1a1a">'
        f"{escape(text)}</text>"
    )


def main() -> int:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", nargs="?", type=Path, help="the SVG to write")
    to = parser.parse_args().picture
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for name, simulate in (("Dice", dice.simulate), ("A wheel", wheel.simulate)):
            header, feed, _ = simulate(1, n=ATTEMPTS)
            path = Path(folder) / f"{name}.jsonl"
            write_log(path, header, feed)
            measured.append(measure(name, path))
    for shares in measured:
        sys.stdout.write(f"{shares.name}: {shares.us:.2f} us a reading\n")
        for row, share, _ in rows_of(shares):
            sys.stdout.write(f"  {share:6.1%}  {row}\n")
    if to is not None:
        to.write_text(picture(measured), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
