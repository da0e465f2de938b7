"""Find one attempt in a recorded log, and the pictures that its readings name."""

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from controller.cli.link import add_journal_options
from controller.cli.replay import log_start_wall_us, ruleset_of
from controller.cli.shell import atomic_file, say, unwritable_message
from controller.cli.words import Stamp, counted, log_clock, wall_date, wall_stamp
from controller.evidence.pictures import ENDING, FOLDER, Folder, MissingError, Pictures, taken_us
from controller.machines.setup import Setup
from controller.model.effects import Effect, Judged
from controller.model.outcomes import Outcome, attempt_of
from controller.model.readings import DieLost, DieRest, Reading
from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.replay.source import LogError
from controller.technician.drawing import Exhibit

_ID = re.compile(r".+/\d+/\d+")
ATTEMPT_HELP = (
    "an outcome's id, an attempt's number in the journal, or a recorded log, with #n for the attempt that"
    " `tablectl replay` shows as #n (default: the last attempt)"
)


class AttemptRef(NamedTuple):
    """A requested attempt. `log` is None for the journal; `number` and `id` are None for the last attempt."""

    log: str | None
    number: int | None = None
    id: str | None = None

    def __str__(self) -> str:
        """Return the attempt's name for messages."""
        return (
            self.log or self.id or ("the journal's last" if self.number is None else f"number {self.number}")
        )


def add_attempt(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names an attempt, and its options."""
    parser.add_argument("which", nargs="?", metavar="ID|LOG[#n]", help=ATTEMPT_HELP)
    add_attempt_options(parser)


def add_attempt_options(parser: argparse.ArgumentParser) -> None:
    """Declare `--journal`, `--socket` and `--rules`."""
    add_journal_options(parser)
    parser.add_argument("--rules", metavar="NAME", help="judge a log by this rule set instead of its own")


def parse_attempt(text: str | None) -> AttemptRef:
    """Parse an attempt's name; the path of an existing file names a log."""
    if text is None:
        return AttemptRef(None)
    if Path(text).exists():
        return AttemptRef(text)
    log, mark, number = text.rpartition("#")
    if mark and number.isascii() and number.isdigit():
        return AttemptRef(log, int(number)) if log else AttemptRef(None, int(number))
    if text.isascii() and text.isdigit():
        return AttemptRef(None, int(text))
    return AttemptRef(None, id=text) if _ID.fullmatch(text) else AttemptRef(text)


def load_log_exhibit(which: AttemptRef, rules: str | None) -> Exhibit:
    """Replay a log and return one of its attempts.

    Raises:
        LogError: the log can't be used, or lacks the attempt.
        SettingsError: the rule set does not exist.
    """
    assert which.log is not None
    with open_log(which.log) as log:
        setup = build_setup(log.header, ruleset_of(log, rules), log.name)
        exhibit = find_exhibit(replay(log, setup), setup, which)
        began_us = log_start_wall_us(log.header)
        return exhibit if began_us is None else exhibit._replace(wall_us=began_us + exhibit.last.t)


def find_exhibit(effects: Iterable[Effect], setup: Setup, which: AttemptRef) -> Exhibit:
    """Return one attempt from a replay; raises LogError if the replay lacks the attempt."""
    found: Exhibit | None = None
    closed: Outcome | None = None
    numbers: list[int] = []
    for effect in effects:
        match effect:
            case Outcome(type="bets.closed"):
                closed = effect
            case Outcome() if (number := attempt_of(effect)) is not None:
                numbers.append(number)
                if found is not None and found.number == number:
                    found = found._replace(outcomes=(*found.outcomes, effect))
                elif which.number in (None, number):
                    found = Exhibit(setup, number, (effect,), closed, None)
            case Judged() if found is not None and effect.outcome in found.outcomes:
                found = found._replace(judged=effect)
            case _:
                pass
    if found is None:
        kinds = "throws, spins or deals"
        present = f"{kinds} with numbers {min(numbers)} to {max(numbers)}" if numbers else f"no {kinds}"
        wanted = "one that was called or voided" if which.number is None else f"number {which.number}"
        advice = "append #n to the log's name to select an attempt" if numbers else "choose a different log"
        raise LogError(str(which), present, wanted, advice)
    return found


def decided_at(exhibit: Exhibit) -> str:
    """Return the time of the decision: the wall-clock time or, for a log without one, the log's time."""
    return f"at {log_clock(exhibit.last.t) if exhibit.wall_us is None else wall_date(exhibit.wall_us)}"


def exhibit_stamp(exhibit: Exhibit) -> Stamp:
    """Return the function that formats the times of an attempt."""
    return log_clock if exhibit.wall_us is None else wall_stamp(exhibit.wall_us, exhibit.last.t)


class DiePictures(NamedTuple):
    """A die's pictures; if they can't be shown, `pictures` is None and `why` is the reason."""

    reading: DieRest | DieLost
    sha256: str
    pictures: Pictures | None
    why: str


def add_pictures(parser: argparse.ArgumentParser) -> None:
    """Declare `--evidence` and `--extract`."""
    parser.add_argument(
        "--evidence",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"folder of the dice camera's pictures (default: {FOLDER})",
    )
    parser.add_argument(
        "--extract", type=Path, metavar="DIR", help="write the attempt's pictures to this folder"
    )


def find_pictures(readings: Iterable[Reading], folder: Folder) -> Iterator[DiePictures]:
    """Yield the pictures that the readings name, in order."""
    for reading in readings:
        if not isinstance(reading, DieRest | DieLost) or reading.pictures is None:
            continue
        try:
            yield DiePictures(reading, reading.pictures, folder.pictures(reading.pictures), "")
        except MissingError as missing:
            yield DiePictures(reading, reading.pictures, None, str(missing))


def pictures_line(one: DiePictures, folder: Folder) -> str:
    """Return a one-line description of a die's pictures, or the reason for their absence."""
    what = "came to rest" if isinstance(one.reading, DieRest) else "was lost"
    head = f"die {one.reading.die} {what} at {one.reading.t / 1e6:.3f} s: "
    if one.pictures is None:
        return f"{head}pictures {one.sha256[:12]} can't be shown: {one.why}"
    clip = [taken_us(name) for name in one.pictures.of("clip")]
    lasts = f" over {(clip[-1] - clip[0]) / 1e6:.1f} s" if len(clip) > 1 else ""
    cut = ", cut off at its maximum size" if one.pictures.about.clip_cut else ""
    return (
        f"{head}{len(one.pictures.of('die'))} stills, {len(one.pictures.of('whole'))} whole frames, a clip of"
        f" {len(clip)} frames{lasts}{cut}; originals: {folder.path / one.sha256}{ENDING}"
    )


def pictures_json(one: DiePictures) -> dict[str, object]:
    """Return a die's pictures as values for `--json`."""
    names = () if one.pictures is None else tuple(sorted(one.pictures.entries))
    return {
        "die": one.reading.die,
        "sha256": one.sha256,
        "verified": one.pictures is not None,
        "why_not": one.why or None,
        "names": names,
    }


def extract_pictures(found: Iterable[DiePictures], into: Path) -> bool:
    """Write all pictures to a folder; after a write error, print a message and return False."""
    written = 0
    path = into
    try:
        into.mkdir(parents=True, exist_ok=True)
        for one in found:
            for name, jpeg in ({} if one.pictures is None else one.pictures.entries).items():
                path = into / f"die{one.reading.die}-{one.sha256[:8]}-{name}"
                with atomic_file(path) as stream:
                    stream.write(jpeg)
                written += 1
    except OSError as error:
        say(unwritable_message(path, error))
        return False
    say(f"{into}: wrote {counted(written, 'picture')}")
    return True
