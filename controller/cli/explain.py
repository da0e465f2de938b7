"""`tablectl explain`: explain and draw the judgement of one throw, spin or deal."""

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import msgspec

from controller.cli.attempts import (
    AttemptRef,
    DiePictures,
    add_attempt,
    add_pictures,
    decided_at,
    exhibit_stamp,
    extract_pictures,
    find_pictures,
    load_log_exhibit,
    parse_attempt,
    pictures_json,
    pictures_line,
)
from controller.cli.screen import Screen, Style
from controller.cli.shell import BAD_INPUT, OK, atomic_file, say, unwritable_message
from controller.cli.words import describe, effect_lines
from controller.evidence.pictures import Folder
from controller.machines.setup import SetupError
from controller.model.printable import printable
from controller.model.rulesets import DealRules, RuleSet, SpinRules, ThrowRules
from controller.model.verdicts import Reason, Ruling
from controller.replay.source import LogError
from controller.rules.dice.resting import FLAT_DEG
from controller.rules.dice.wording import wall_words
from controller.settings.mistakes import SettingsError
from controller.technician.drawing import Drawing, Exhibit
from controller.technician.pictures import Seen, as_svg, draw, observed
from controller.technician.terminal_plot import plot
from controller.technician.throw_picture import ThrowSeen, story_lines

EXAMPLES = (
    "tablectl explain                              # the journal's last throw, spin or deal",
    "tablectl explain 12                           # the attempt with this number",
    "tablectl explain craps/1/18                   # the attempt with this outcome id",
    "tablectl explain LOG#12                       # attempt #12 of a recorded log",
    "tablectl explain LOG#12 --picture roll-12.svg",
    "tablectl explain 12 --extract roll-12         # also save the attempt's camera pictures",
)
_INDENT = " " * 13
_WRAP_INDENT = len(_INDENT) + 7
"""Indent of a wrapped line, aligned with the second word of the first line."""
_ENDINGS = (".svg", ".png")
_RULINGS = frozenset({"No Roll", "No Spin", "Review", "Void"})
"""Words before the colon in a verdict's sentence that repeat the heading."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_attempt(parser)
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="save a drawing of the attempt as this .svg or .png file (1200 x 700)",
    )
    add_pictures(parser)
    parser.add_argument("--no-plot", action="store_true", help="draw nothing on the terminal")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Explain an attempt.

    Return 1 if the journal can't be read or lacks the attempt, or if the controller refuses the request; 2
    for bad input, a missing or inaccessible journal or a file that can't be written; 3 if no controller
    responds.
    """
    picture: Path | None = arguments.picture
    if picture is not None and picture.suffix.lower() not in _ENDINGS:
        say(f"--picture: found {picture.name}, expected a name that ends in .svg or .png")
        return BAD_INPUT
    try:
        exhibit = find(parse_attempt(arguments.which), arguments)
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    if isinstance(exhibit, int):
        return exhibit
    seen = observed(exhibit)
    if picture is not None and not _drawn(exhibit, seen, picture):
        return BAD_INPUT
    folder = Folder(arguments.evidence)
    found = [] if exhibit.judged is None else list(find_pictures(exhibit.judged.readings, folder))
    if arguments.extract is not None and not extract_pictures(found, arguments.extract):
        return BAD_INPUT
    if arguments.json:
        print(msgspec.json.encode(_as_json(exhibit, found)).decode())
    else:
        _show(exhibit, seen, [pictures_line(one, folder) for one in found], plotted=not arguments.no_plot)
    return OK


def find(which: AttemptRef, arguments: argparse.Namespace) -> Exhibit | int:
    """Return the attempt.

    If the journal can't be read or lacks the attempt, if the controller refuses the request or if no
    controller responds, print a message and return the exit code.

    Raises:
        LogError, SettingsError, SetupError: the log or the rules can't be used, or `--rules` is given for an
            attempt in a journal.
    """
    rules: str | None = arguments.rules
    if which.log is not None:
        return load_log_exhibit(which, rules)
    if rules is not None:
        found = "an attempt in a journal"
        raise LogError("--rules", found, "a recorded log", "omit --rules; the journal records the rules used")
    # Reading a journal needs the `journal` extra; explaining a log does not.
    from controller.cli import journal_source  # noqa: PLC0415 - optional dependency

    try:
        with journal_source.open_journal(arguments) as reader:
            return journal_source.exhibit_from_journal(reader, which)
    except journal_source.UNREADABLE as error:
        return journal_source.report_unreadable(error)


def _show(exhibit: Exhibit, seen: Seen | None, pictures: Sequence[str], *, plotted: bool) -> None:
    screen = Screen(sys.stdout)
    style: Style = "green" if exhibit.last.type.endswith(".called") else "red"
    screen.lines(screen.wrapped(printable(f"{exhibit.heading}. {sentence_of(exhibit)}"), 0, style))
    stories = story_lines(seen) if isinstance(seen, ThrowSeen) else ()
    below = (
        *lines(exhibit),
        *(f"{_INDENT}story  {line}" for line in stories),
        *(printable(f"{_INDENT}camera {line}") for line in pictures),
    )
    for line in below:
        screen.lines(screen.wrapped(line, _WRAP_INDENT))
    if seen is not None and plotted:
        screen.line()
        for line in plot(seen, shutil.get_terminal_size().columns, braille=screen.unicode):
            screen.line(line)


def sentence_of(exhibit: Exhibit) -> str:
    """Return the judge's verdict as a sentence, the description of the ruling that replaced it, or both.

    Both are returned if the verdict is a review, but the outcome in force is not.
    """
    judged = exhibit.judged
    if judged is not None and judged.outcome == exhibit.last:
        ruling, _, rest = judged.verdict.sentence.partition(": ")
        sentence = rest if ruling in _RULINGS else judged.verdict.sentence
        sentence = sentence[:1].upper() + sentence[1:]
        if judged.verdict.ruling is not Ruling.REVIEW or exhibit.last.type.endswith(".review"):
            return sentence
        return f"{describe(exhibit.last.data)}. Review: {sentence}"
    return describe(exhibit.last.data)


def lines(exhibit: Exhibit) -> Iterator[str]:
    """Yield lines about the attempt's outcomes, evidence and rule requirements."""
    stamp = exhibit_stamp(exhibit)
    for outcome in exhibit.outcomes:
        yield from effect_lines(outcome, explain=True, stamp=stamp)
        if exhibit.judged is not None and exhibit.judged.outcome == outcome:
            yield from effect_lines(exhibit.judged, explain=True, stamp=stamp)
    for code, requirement in _requirements(exhibit):
        yield printable(f"{_INDENT}needed {code}: {requirement}")


def _reasons(exhibit: Exhibit) -> tuple[Reason, ...]:
    return () if exhibit.judged is None else exhibit.judged.verdict.reasons


def _requirements(exhibit: Exhibit) -> Iterator[tuple[str, str]]:
    for code in dict.fromkeys(reason.code for reason in _reasons(exhibit)):
        asks = threshold(code, exhibit.setup.ruleset)
        if asks is not None:
            yield code, asks


def _as_json(exhibit: Exhibit, found: Sequence[DiePictures]) -> dict[str, object]:
    judged = exhibit.judged
    return {
        "attempt": exhibit.number,
        "heading": exhibit.heading,
        "outcomes": exhibit.outcomes,
        "bets_closed": exhibit.closed,
        "verdict": None if judged is None else judged.verdict,
        "asked": dict(_requirements(exhibit)),
        "decided_at_us": None if judged is None else judged.basis.decided_at_us,
        "readings": () if judged is None else judged.readings,
        "pictures": [pictures_json(one) for one in found],
    }


def _drawn(exhibit: Exhibit, seen: Seen | None, picture: Path) -> bool:
    drawing = draw(exhibit, seen, sentence_of(exhibit), decided_at(exhibit), list(lines(exhibit)))
    painted = _painted(drawing, picture)
    try:
        with atomic_file(picture) as stream:
            stream.write(painted)
    except OSError as error:
        say(unwritable_message(picture, error))
        return False
    say(f"{picture}: wrote the drawing")
    return True


def _painted(drawing: Drawing, picture: Path) -> bytes:
    if picture.suffix.lower() == ".svg":
        return as_svg(drawing).encode()
    # If Pillow is not installed, `main` turns the ImportError into a message that names the extra.
    painted: bytes = import_module("controller.technician.png").as_png(drawing)
    return painted


def threshold(code: str, ruleset: RuleSet) -> str | None:
    """Return the requirement behind a cause, in words; None if the cause has no threshold."""
    required: Mapping[str, str] = {}
    if ruleset.throw is not None:
        required = _of_throw(ruleset.throw)
    elif ruleset.spin is not None:
        required = _of_spin(ruleset.spin)
    elif ruleset.deal is not None:
        required = _of_deal(ruleset.deal)
    return required.get(code)


def _of_throw(rules: ThrowRules) -> Mapping[str, str]:
    errors = rules.sensors
    sensors = (
        f"a track point has an error of {errors.track_noise_mm:g} mm, an impact's position an error of"
        f" {errors.impact_position_mm:g} mm, and an impact is detected {errors.impact_delay_ms[0]:g} to"
        f" {errors.impact_delay_ms[1]:g} ms after the hit"
    )
    settled = f"both dice seen at rest within {rules.settle_timeout_s:g} s of the release"
    together = rules.simultaneous_ms if rules.parted == "no_roll" else rules.stagger_notice_ms
    watched = f"never out of sight for more than {rules.unwatched_ms:g} ms"
    return {
        "not_simultaneous": f"releases at most {together:g} ms apart",
        "no_wall_hit": f"{wall_words(rules)}; {sensors}",
        "wall_unclear": f"{wall_words(rules)}; {sensors}",
        "low_confidence": f"a face read with a confidence of at least {rules.min_confidence:g}",
        "cocked": "a die that rests on only one of its sides;"
        f" a tilt of up to {FLAT_DEG:g} degrees is treated as flat",
        "missing_reading": f"{settled}, {watched}",
        "unwatched": watched,
        "one_die_thrown": settled,
    }


def _of_spin(rules: SpinRules) -> Mapping[str, str]:
    reads = f"{rules.pocket_reads} agreeing pocket readings in {rules.pocket_reads} turns of the rotor"
    revolutions = f"at least {rules.min_revolutions:g} full revolutions on the track, beyond doubt"
    return {
        "same_direction": "a ball that runs against the rotor's direction",
        "too_few_revolutions": revolutions,
        "revolutions_unclear": revolutions,
        "missing_reading": reads,
        "conflict": reads,
        "ball_out": f"a pocket reading within {rules.turns_without_read} turns of the rotor after the drop",
        "late_close": f"bets closed at least {rules.no_more_bets_lead_s:g} s before the drop",
    }


def _of_deal(rules: DealRules) -> Mapping[str, str]:
    return {
        "wrong_count": f"three cards for each seat and the dealer within {rules.deal_timeout_s:g} s",
        "card_twice": "each card of the deck at most once",
        "shoe_opened": "a shoe that remains closed after the first card",
    }
