"""`tablectl watch`: print the running table's events as they happen, in words or as JSON lines."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from controller.cli.commentary import Commentary
from controller.cli.link import Json, OutOfReachError, add_json, add_socket, conversation, report_out_of_reach
from controller.cli.screen import Entry, Screen
from controller.cli.shell import BAD_INPUT, FAILED, OK, say
from controller.cli.words import reading_line
from controller.model.conversion import converter_of
from controller.model.outcomes import Awaited, Outcome, TableEvent, attempt_of, data_of
from controller.model.readings import AnyReading

EXAMPLES = (
    "tablectl watch",
    "tablectl watch readings",
    "tablectl watch outcomes faults --json",
)

TOPICS = ("outcomes", "readings", "lamps", "faults")
_IN_WORDS = ("outcomes", "faults")
"""The default topics without --json; lamps only repeat outcomes, and readings arrive too fast to follow."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.description = (
        "Print the running table's events as they happen, until Ctrl-C: calls and their reasons,\n"
        "reviews, locks, faults; lamps and readings on request.\n\n"
        "Cards dealt face down are shown without their faces (masked). Ball and rotor readings\n"
        "are shown only to technicians; those taken while bets are open are held back until bets\n"
        "close (delayed)."
    )
    parser.add_argument(
        "topics",
        nargs="*",
        metavar="TOPIC",
        help=f"what to watch: {', '.join(TOPICS)} (default: {' and '.join(_IN_WORDS)}; all with --json)",
    )
    add_socket(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the stream until the controller or the reader stops; return 1 if refused or disconnected."""
    if unknown := sorted(set(arguments.topics) - set(TOPICS)):
        say(f"watch: found {', '.join(map(repr, unknown))}, expected {', '.join(TOPICS)}")
        return BAD_INPUT
    topics = list(arguments.topics or (TOPICS if arguments.json else _IN_WORDS))
    watcher = None if arguments.json else Watcher(Screen(sys.stdout), lambda: time.strftime("%H:%M:%S"))
    try:
        for line in conversation(arguments.socket, {"do": "watch", "topics": topics}):
            if line.get("ok") is False:
                say(f"{line['says']} [{line['code']}]")
                return FAILED
            if "ok" in line:
                if watcher is not None:
                    watcher.begin(arguments.socket, topics)
            elif watcher is None:
                print(msgspec.json.encode(line).decode(), flush=True)
            else:
                watcher.write(line)
        return _report_end(arguments.socket)
    except OutOfReachError as error:
        return report_out_of_reach(error)


class _SentOutcome(msgspec.Struct):
    type: str
    t: int
    id: str
    seq: int
    data: msgspec.Raw


_awaited_of = converter_of(Awaited)
_decode_outcome = msgspec.json.Decoder(_SentOutcome).decode
_decode_reading = msgspec.json.Decoder[AnyReading](AnyReading).decode


class Watcher:
    """Writes the lines of the stream in words."""

    def __init__(self, screen: Screen, clock: Callable[[], str], enter_with: str = "tablectl input ") -> None:
        """Begin each line with the clock's time; write `enter_with` before each ruling that is allowed."""
        self._enter_with = enter_with
        self._screen = screen
        self._commentary = Commentary(screen, stamp=clock, live=True)
        self._waiting: Awaited | None = None
        self._refused: TableEvent | None = None
        self._repeats = 0
        """Number of repetitions of the last refusal."""

    def begin(self, path: str, topics: list[str]) -> None:
        """Report that the watch has begun, because the first event might take a while."""
        text = f"{path}: watching {' and '.join(topics)}; press Ctrl-C to stop"
        self._screen.lines(self._screen.entry(Entry("", text, "dim")))

    def write(self, line: Json) -> None:
        """Write one line of the stream; an unknown kind of line is written as JSON."""
        outcome = decode_outcome(line["outcome"]) if "outcome" in line else None
        if self._repeats_refusal(outcome):
            return
        match line:
            case {"outcome": _} if outcome is not None:
                if not self._already_shown(outcome):
                    self._commentary.write(outcome)
            case {"awaited": awaited}:
                self._awaited(None if awaited is None else _awaited_of(awaited))
            case {"proposed": _}:
                pass  # the `awaited` line contains the proposal and the allowed rulings
            case {"late_wager": {"wager": wager, "says": says}}:
                self._commentary.event(
                    f"late wager {wager}: {says}; if it is valid, enter confirm_late", "yellow"
                )
            case {"lamp": {"name": name, "shows": shows}}:
                self._commentary.event(f"lamp {name}: {shows}", "dim")
            case {"fault": dict() as fault}:
                self._fault(fault)
            case {"self_test": {"passed": passed, "checks": list() as checks}}:
                self._self_test(checks, passed=bool(passed))
            case {"reading": reading}:
                self._reading(reading, line)
            case _:
                self._commentary.event(msgspec.json.encode(line).decode(), "dim")

    def _repeats_refusal(self, outcome: Outcome | None) -> bool:
        """Return whether this outcome repeats the last refusal, as with a stuck button."""
        refused = outcome.data if outcome is not None and outcome.type == "input.refused" else None
        if refused is not None and refused == self._refused:
            self._repeats += 1
            return True
        if self._repeats:
            self._commentary.write_detail(
                "repeated once" if self._repeats == 1 else f"repeated {self._repeats} times"
            )
        self._refused = refused if isinstance(refused, TableEvent) else None
        self._repeats = 0
        return False

    def _awaited(self, awaited: Awaited | None) -> None:
        """Write an attempt that awaits a ruling, but only once; a review's later outcome is then skipped."""
        if awaited is None or awaited == self._waiting:
            return
        self._waiting = awaited
        may = " or ".join(f"{self._enter_with}{ruling}" for ruling in awaited.may)
        words = "Review: a person must rule" if awaited.state == "review" else f"Proposed: {awaited.proposes}"
        self._commentary.call(awaited.number, "", words, "yellow")
        self._commentary.reasons(awaited.reasons)
        if awaited.seen:
            self._commentary.write_detail(f"seen so far: {awaited.seen}")
        self._commentary.write_detail(f"enter {may}", style="yellow")

    def _already_shown(self, outcome: Outcome) -> bool:
        waiting = self._waiting
        reviewed = outcome.type.endswith(".review") and waiting is not None
        return reviewed and waiting is not None and waiting.number == attempt_of(outcome)

    def _fault(self, fault: Mapping[str, object]) -> None:
        where = f"{fault['code']}, {fault['where']}"
        if fault.get("began"):
            self._commentary.event(
                f"fault {where}: {fault['found']}; for the remedy, run tablectl faults", "red"
            )
        else:
            self._commentary.event(f"fault cleared: {where}", "green")

    def _self_test(self, checks: list[Json], *, passed: bool) -> None:
        if passed:
            self._commentary.event("self-test passed", "green")
            return
        failing = "; ".join(f"{check['name']}: {check['says']}" for check in checks if not check["ok"])
        self._commentary.event(f"self-test is waiting: {failing}", "yellow")

    def _reading(self, reading: object, line: Json) -> None:
        notes = ", ".join(name for name in ("masked", "delayed") if line.get(name))
        text = reading_line(_decode_reading(msgspec.json.encode(reading)))
        self._commentary.event(f"{text}{f' ({notes})' if notes else ''}", "dim")


def decode_outcome(sent: object) -> Outcome:
    """Return an outcome received over the socket; raises KeyError for an unknown type."""
    raw = _decode_outcome(msgspec.json.encode(sent))
    return Outcome(type=raw.type, t=raw.t, id=raw.id, seq=raw.seq, data=data_of(raw.type, raw.data))


def _report_end(path: str) -> int:
    """Print why the stream ended, and return the exit code.

    A controller that still listens has disconnected this reader or has restarted.
    """
    from controller.app.peers import is_listening  # noqa: PLC0415 - at the end of `watch` alone

    with suppress(OSError):
        if is_listening(Path(path)):
            say(f"{path}: lines were missed, because this reader was too slow or the controller restarted")
            return FAILED
    say(f"{path}: the controller has stopped")
    return OK
