"""`tablectl replay`: print the outcomes of recorded sensor logs or of raw serial captures.

Several logs are replayed in parallel, in one process per core. Results are printed in the order of the logs.
"""

import argparse
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from multiprocessing import active_children, get_context
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

import msgspec

from controller.cli.shell import BAD_INPUT, FAILED, OK, say, whole_number
from controller.cli.words import Stamp, counted, effect_lines, log_clock, wall_stamp
from controller.engine.session import Session
from controller.machines.setup import Setup, SetupError, State
from controller.model.effects import Effect, LateReading
from controller.model.geometry import STANDARD_POCKETS, Wheel
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading
from controller.model.rulesets import Calls, RuleSet
from controller.replay.log import Header, Log, open_log
from controller.replay.run import Json, as_json, build_setup, compare, read_expected, replay
from controller.replay.source import Capture, LogError, open_capture
from controller.settings.mistakes import SettingsError
from controller.settings.places import is_path
from controller.settings.rulesets import load_ruleset
from drivers.ss2.device import Ss2Settings, Ss2Wheel
from drivers.ss2.protocol import restore_blank

AHEAD = 4
"""Logs queued per worker, enough to keep it busy and few enough to limit the stored results."""
_SHOWN_EVERY_S = 0.5
Result = TypeVar("Result")


class _Worker(NamedTuple):
    """The data that a worker process inherits by fork, without pickling."""

    lines: "Synchronized[int]"
    play: Callable[[str], object]


_worker: _Worker | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a replay; `fraction` is the completed part of the logs' total size, from 0 to 1."""

    logs: int
    done: int
    fraction: float
    lines: int
    elapsed_s: float

    @property
    def left_s(self) -> float | None:
        """Estimate of the remaining time in seconds; None before the first log is done."""
        return self.elapsed_s / self.fraction * (1 - self.fraction) if self.fraction else None


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def count_lines(lines: int) -> None:
    """In a worker, add to the shared count of lines read."""
    if _worker is not None:
        with _worker.lines.get_lock():
            _worker.lines.value += lines


def replay_in_parallel(
    logs: Sequence[str],
    play: Callable[[str], Result],
    *,
    workers: int,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Result]:
    """Replay logs in parallel processes; yield the results in the order of the logs.

    Results must be picklable. While the next result is awaited, `progress` is called at least twice a second.
    When the iterator ends, all workers have exited.

    Raises:
        BrokenProcessPool: a worker was killed.
        Exception: `play` raised it; the results of earlier logs are yielded first.
    """
    context = get_context("fork")
    lines = context.Value("q", 0)
    sizes = [_size_of(log) for log in logs]
    began = time.monotonic()

    def show(done: int) -> None:
        if progress is not None:
            fraction = sum(sizes[:done]) / (sum(sizes) or 1)
            progress(Progress(len(logs), done, fraction, lines.value, time.monotonic() - began))

    pool = ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(_Worker(lines, play),))
    others = set(active_children())
    try:
        waiting = iter(logs)
        in_hand = deque(pool.submit(_play, log) for log in islice(waiting, workers * AHEAD))
        done = 0
        while in_hand:
            show(done)
            if wait([in_hand[0]], _SHOWN_EVERY_S).done:
                yield cast("Result", in_hand.popleft().result())
                done += 1
                in_hand.extend(pool.submit(_play, log) for log in islice(waiting, 1))
        show(done)
    except BaseException:
        for worker in set(active_children()) - others:
            worker.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(worker: _Worker) -> None:
    global _worker  # noqa: PLW0603 - the workers of a pool have no other shared state
    _worker = worker
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def _play(log: str) -> object:
    assert _worker is not None
    return _worker.play(log)


def _size_of(log: str) -> int:
    try:
        return Path(log).stat().st_size
    except OSError:
        return 0  # the log's replay reports the error


DEVICES = ("ss2",)
"""The devices whose captures can be replayed."""
WHEELS = (37, 38, 39, 40)
"""The possible numbers of pockets of an SS2 wheel."""
DEFAULT_RULES = "roulette"
_PROGRESS_EVERY = 10_000


def setup_for_wheel(ruleset: RuleSet, pockets: int, calls: Calls | None) -> Setup:
    """Return the setup of a table that has only a wheel; the wheel's count of revolutions is trusted.

    Raises SetupError if the rule set is not for roulette.
    """
    if ruleset.spin is None:
        raise SetupError(
            f"--rules: found {ruleset.name}, a rule set for {ruleset.game}, expected one for roulette"
        )
    return Setup(
        table="wheel",
        ruleset=replace(ruleset, spin=replace(ruleset.spin, revolutions="trusted_wheel")),
        state=State(calls=calls),
        wheel=_wheel(pockets),
    )


class CapturePlay:
    """A capture played through the driver and a session; `wheel` holds the driver's counts."""

    def __init__(self, capture: Capture, setup: Setup) -> None:
        """Start a session; raises SetupError if the setup is incomplete for its game."""
        self.wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
        self._capture = capture
        self._session = Session(setup)

    def effects(self, progress: Callable[[int], None] | None = None) -> Iterator[Effect]:
        """Play the capture; yield every effect in order. `progress` receives the number of lines read."""
        for line in self._capture:
            yield from self._tick_until(line.t)
            yield from self._feed(self.wheel.receive(line.t, restore_blank(line.text) + b"\r\n"))
            yield from self._session.advance(line.t)
            if progress is not None and self._capture.lines % _PROGRESS_EVERY == 0:
                progress(self._capture.lines)
        yield from self._session.finish(cut=self._capture.truncated)

    def _tick_until(self, t: int) -> Iterator[Effect]:
        while (due := self.wheel.next_deadline()) is not None and due < t:
            yield from self._feed(self.wheel.tick(due))

    def _feed(self, readings: list[AnyReading]) -> Iterator[Effect]:
        for reading in readings:
            yield from self._session.advance(reading.t)
            yield from self._session.feed(reading)


def _wheel(pockets: int) -> Wheel:
    """Return the wheel. The positions of 000 and 0000 are unknown, and are not used."""
    name = "european" if pockets == min(WHEELS) else "american"
    more_zeros = ("000", "0000")[: max(0, pockets - 38)]
    return Wheel.trusted(name, (*STANDARD_POCKETS[name], *more_zeros))


EXAMPLES = (
    "tablectl replay tests/logs/sim-craps-12-034-a.jsonl.gz",
    "tablectl replay tests/logs/roulette-american.jsonl.gz --explain",
    "tablectl replay tests/logs/sim-craps-v1.jsonl.gz --check tests/logs/sim-craps-v1.expected.jsonl",
    "tablectl replay CAPTURE.tsv --device ss2 --wheel 38",
    "tablectl replay tests/logs/sim-craps-12-034-a.jsonl.gz tests/logs/sim-craps-12-034-b.jsonl.gz --json",
)

_MAX_NAMED = 10
"""Maximum number of unknown kinds and fields in a message, most frequent first."""
_CLEAR_LINE = "\r\x1b[K"
_BAR = 20
"""The width of the progress bar in characters."""
MAX_WORKERS = 256


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "logs",
        metavar="LOG",
        nargs="+",
        help="a recorded log, uncompressed or gzip, or - alone for standard input; several logs are replayed"
        " in parallel",
    )
    parser.add_argument("--rules", metavar="NAME", help="a rule set to judge by, instead of the log's")
    parser.add_argument(
        "--calls",
        choices=("automatic", "confirm"),
        help="make calls automatically or on a person's confirmation, overriding the log's setting",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print one JSON object per outcome")
    form.add_argument(
        "--explain", action="store_true", help="print the reasons and readings behind each outcome"
    )
    parser.add_argument(
        "--check", metavar="EXPECTED", help="compare with the outcomes in this file (JSON Lines)"
    )
    parser.add_argument(
        "--device",
        choices=DEVICES,
        help="LOG is a raw capture of this device: lines of `milliseconds TAB line`",
    )
    parser.add_argument(
        "--wheel",
        type=int,
        choices=WHEELS,
        help="with --device ss2: the wheel's number of pockets (default: 38)",
    )
    parser.add_argument("--lenient", action="store_true", help="skip and count lines that are not readings")
    parser.add_argument(
        "--workers",
        type=whole_number(1, MAX_WORKERS),
        metavar="N",
        help="the number of logs replayed at a time (default: the number of cores)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replay the logs, print their outcomes and, with `--check`, compare them.

    A bad log ends the replay, and none of its outcomes are printed; those of the logs before it are.

    Return 1 if the outcomes differ or a replay process was killed, 2 for bad input.
    """
    outcomes: list[Json] = []
    try:
        expected = read_expected(arguments.check) if arguments.check else None
        for results in _replay_logs(arguments):
            # Write bytes, because text output would depend on the locale.
            sys.stdout.buffer.write("".join(line + "\n" for line in results.lines).encode())
            sys.stdout.buffer.flush()
            for remark in results.remarks:
                say(remark)
            if not results.count:
                say(f"{results.log}: found no outcomes in the log")
            outcomes += results.outcomes
    except (LogError, SettingsError, SetupError) as error:
        say(error)
        return BAD_INPUT
    except BrokenProcessPool:
        say(
            "a replay process was killed, possibly because memory ran out;"
            " replay fewer logs at a time, with --workers 1"
        )
        return FAILED
    return OK if expected is None else _check(outcomes, expected, arguments.check)


@dataclass(slots=True)
class _Results:
    """The results of a log's replay: lines to print, outcomes to compare, and remarks."""

    log: str
    count: int = 0
    lines: list[str] = field(default_factory=list)
    outcomes: list[Json] = field(default_factory=list)
    late: int = 0
    remarks: list[str] = field(default_factory=list)


def _replay_logs(arguments: argparse.Namespace) -> Iterator[_Results]:
    logs: list[str] = arguments.logs
    workers = min(arguments.workers or cores(), len(logs))
    if len(logs) > 1 and "-" in logs:
        raise LogError(
            "-",
            "standard input among other logs",
            "standard input alone",
            "replay it in a separate run",
            None,
        )
    if len(logs) == 1:
        replayed = _replayed(logs[0], arguments, _progress_shown())
        _clear_progress()
        yield replayed
        return
    shown = _show_progress if sys.stderr.isatty() else None
    played = replay_in_parallel(logs, partial(_results_or_error, arguments), workers=workers, progress=shown)
    for results_or_error in played:
        _clear_progress()
        if isinstance(results_or_error, str):
            raise SetupError(results_or_error)
        yield results_or_error


def _clear_progress() -> None:
    if sys.stderr.isatty():
        print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)


def _results_or_error(arguments: argparse.Namespace, log: str) -> _Results | str:
    """Return the results of a log or an error message, in a worker."""
    counted = 0

    def count(lines: int) -> None:
        nonlocal counted
        count_lines(lines - counted)
        counted = lines

    try:
        return _replayed(log, arguments, count)
    except (LogError, SettingsError, SetupError) as error:
        return str(error)


def _replayed(log: str, arguments: argparse.Namespace, progress: Callable[[int], None] | None) -> _Results:
    replayed = _replay_capture if arguments.device else _replay_log
    return replayed(log, arguments, progress)


def _replay_log(name: str, arguments: argparse.Namespace, progress: Callable[[int], None] | None) -> _Results:
    if arguments.wheel is not None:
        expected = "--wheel only with --device ss2"
        raise LogError(
            "--wheel",
            "--wheel with a recorded log",
            expected,
            "omit it; the log's header describes the wheel",
        )
    with open_log(name, lenient=arguments.lenient) as log:
        setup = build_setup(log.header, ruleset_of(log, arguments.rules), log.name, arguments.calls)
        results = _results_of(name, replay(log, setup, progress), arguments, log_stamp(log.header))
        results.remarks = list(remarks_on(log, results.late))
    return results


def _replay_capture(
    name: str, arguments: argparse.Namespace, progress: Callable[[int], None] | None
) -> _Results:
    setup = setup_for_wheel(
        load_ruleset(arguments.rules or DEFAULT_RULES), arguments.wheel or 38, arguments.calls
    )
    with open_capture(name, lenient=arguments.lenient) as capture:
        play = CapturePlay(capture, setup)
        results = _results_of(name, play.effects(progress), arguments)
        results.remarks = list(_remarks_on_capture(capture, play))
    return results


def log_start_wall_us(header: Header) -> int | None:
    """Return the wall time at a log's time 0, in microseconds since 1970.

    Only a table's recording has a wall time in its header; return None for any other log.
    """
    if header.session is None or not header.epoch:
        return None
    try:
        return round(datetime.fromisoformat(header.epoch).timestamp() * 1_000_000)
    except ValueError:
        return None


def log_stamp(header: Header) -> Stamp:
    """Return the formatter for a log's times: wall time for a table's recording, else the log's time."""
    began_us = log_start_wall_us(header)
    return log_clock if began_us is None else wall_stamp(began_us, 0)


def _results_of(
    log: str, effects: Iterable[Effect], arguments: argparse.Namespace, stamp: Stamp = log_clock
) -> _Results:
    results = _Results(log)
    for effect in effects:
        results.late += isinstance(effect, LateReading)
        if not arguments.json:
            results.lines += effect_lines(effect, explain=arguments.explain, stamp=stamp)
        if isinstance(effect, Outcome):
            results.count += 1
            if arguments.json:
                results.lines.append(msgspec.json.encode(effect).decode())
            if arguments.check:
                results.outcomes.append(as_json(effect))
    return results


def ruleset_of(log: Log, override: str | None) -> RuleSet:
    """Return a log's rule set: `override`, else the recorded rule set, else the rule set that the log names.

    A log may name a shipped or configured rule set, but not a file. Raises LogError or SettingsError.
    """
    if override:
        return load_ruleset(override)
    if log.header.rules is not None:
        return log.header.rules
    name = log.header.ruleset
    if not name or is_path(name):
        found = f"`ruleset` {name!r} in the header" if name else "a header without `ruleset`"
        raise LogError(log.name, found, "a rule set's name", "name one with --rules", line=1)
    try:
        return load_ruleset(name)
    except SettingsError as error:
        found, expected = f"`ruleset` {name!r} in the header", f"a rule set that can be loaded ({error})"
        raise LogError(log.name, found, expected, "name one with --rules", line=1) from error


def _progress_shown() -> Callable[[int], None] | None:
    return _progress if sys.stderr.isatty() else None


def _progress(lines: int) -> None:
    print(f"\r{lines:,} lines read", end="", file=sys.stderr, flush=True)


def _show_progress(progress: Progress) -> None:
    drawn = "#" * round(progress.fraction * _BAR)
    counts = f"{progress.done} of {progress.logs} logs, {progress.lines:,} lines"
    left = (
        "" if progress.left_s is None else ", {} min {:02} s left".format(*divmod(round(progress.left_s), 60))
    )
    print(f"{_CLEAR_LINE}[{drawn:.<{_BAR}}] {counts}{left}", end="", file=sys.stderr, flush=True)


def remarks_on(log: Log, late: int) -> Iterator[str]:
    """Yield remarks for the user about a log that was replayed."""
    if log.truncated:
        yield (
            f"{log.name}: truncated after line {log.lines}, because the power was lost or the log is still"
            " being written; replayed up to this line"
        )
    if log.unknown:
        named = ", ".join(f"{name} x{count}" for name, count in log.unknown.most_common(_MAX_NAMED))
        more = f" and {len(log.unknown) - _MAX_NAMED} more" if len(log.unknown) > _MAX_NAMED else ""
        found = counted(log.unknown.total(), "unknown kind or field", "unknown kinds or fields")
        yield f"{log.name}: ignored {found}: {named}{more}"
    if log.skipped:
        yield f"{log.name}: skipped {counted(log.skipped, 'bad line')}, the first: {log.first_skipped}"
    if late:
        first = f"; the first: {log.first_late}" if log.first_late else ""
        yield f"{log.name}: {counted(late, 'reading')} arrived too late to count{first}; --explain shows them"


def _remarks_on_capture(capture: Capture, play: CapturePlay) -> Iterator[str]:
    name, decoder = capture.name, play.wheel.decoder
    lines, frames = counted(capture.lines, "line"), counted(play.wheel.frames, "status frame")
    counts = f"{lines}, {frames}, {decoder.discarded:,} malformed"
    yield f"{name}: {counts}; revolutions are as counted by the wheel"
    if capture.restarts:
        times = counted(capture.restarts, "time")
        yield f"{name}: the recorder's clock went back {times}; a long pause is assumed each time"
    if capture.truncated:
        yield f"{name}: truncated after line {capture.lines}; replayed up to this line"
    if capture.skipped:
        yield f"{name}: skipped {counted(capture.skipped, 'bad line')}, the first: {capture.first_skipped}"


def _check(outcomes: list[Json], expected: list[Json], name: str) -> int:
    if not expected:
        say(f"{name}: found no outcomes in the file, so nothing was compared")
        return OK
    difference = compare(outcomes, expected)
    if difference is not None:
        say(f"{name}: {difference}")
        return FAILED
    count = len(expected)
    say(f"{name}: {'the expected outcome matches' if count == 1 else f'all {count} expected outcomes match'}")
    return OK
