"""Replay of a log through the same engine as on a live table, and comparison with expected outcomes."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import BinaryIO

import msgspec

from controller.engine.session import Session
from controller.games.registry import game_of
from controller.machines.setup import LOCKING_SWITCHES, NextNumbers, Setup, State
from controller.model.conversion import StrictJsonError, decode_strict
from controller.model.effects import Effect, LateReading
from controller.model.geometry import Wheel, beam_mistakes, pocket_mistakes
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, kind_of
from controller.model.rulesets import Calls, RuleSet
from controller.replay.log import Header, Log
from controller.replay.source import (
    LogError,
    Source,
    byte_order_mark,
    describe_read_error,
    open_input,
    printable,
)

DEFAULT_SESSION = "replay"
"""The session's name in the outcomes' ids if the log's header has none."""


def build_setup(header: Header, ruleset: RuleSet, name: str, calls: Calls | None = None) -> Setup:
    """Return a session's setup from a log's header.

    `name` is the log's name for messages. `calls` overrides the header's setting for calls. Raises LogError
    if the header lacks the geometry for the rule set's game, has a different geometry, or has an impossible
    wheel.
    """
    needed = game_of(ruleset.game).geometry
    given = [part for part in ("dice_table", "wheel") if getattr(header, part) is not None]
    if needed is not None and given != [needed]:
        found = f"a header with {' and '.join(given) or 'no geometry'}"
        expected = f"`{needed}` alone for the rule set {ruleset.name}"
        raise LogError(
            name, found, expected, "correct the header, or name a different rule set with --rules", line=1
        )
    if header.wheel is not None:
        _check_wheel(header.wheel, ruleset, name)
    state = header.state or State()
    switches = LOCKING_SWITCHES if header.locking_switches is None else header.locking_switches
    return Setup(
        table=header.table,
        ruleset=ruleset,
        session=DEFAULT_SESSION if header.session is None else str(header.session),
        first=header.first or NextNumbers(),
        state=state if calls is None else msgspec.structs.replace(state, calls=calls),
        dice_table=header.dice_table,
        wheel=header.wheel,
        sources=header.sources or {},
        locking_switches=frozenset(switches),
    )


def _check_wheel(wheel: Wheel, ruleset: RuleSet, name: str) -> None:
    """Raise LogError if a header's wheel has impossible pockets or beams."""
    judged = ruleset.spin is not None and ruleset.spin.revolutions != "trusted_wheel"
    for key, found, expected in (
        *pocket_mistakes(wheel.pockets, wheel.pockets_clockwise),
        *beam_mistakes(wheel.beams_deg, judged=judged),
    ):
        key_path = ".".join(str(part) for part in ("wheel", *key))
        raise LogError(name, f"{found} as `{key_path}` in the header", expected, "correct the header", line=1)


def replay(log: Log, setup: Setup, progress: Callable[[int], None] | None = None) -> Iterator[Effect]:
    """Run a log through a session, and yield all effects in order, including those at the log's end.

    `progress` is called at intervals with the number of lines read. Raises LogError at a bad line.
    """
    session = Session(setup)
    for batch in log.batches():
        effects = session.feed_all(batch)
        if log.first_late is None:
            log.first_late = _first_late(effects, batch, log.numbers)
        yield from effects
        if progress is not None:
            progress(log.lines)
    yield from session.finish(cut=log.truncated)


def _first_late(effects: Sequence[Effect], batch: Sequence[AnyReading], lines: Sequence[int]) -> str | None:
    """Describe the first reading that does not count, with the line number if it is in this batch."""
    late = next((effect for effect in effects if isinstance(effect, LateReading)), None)
    if late is None:
        return None
    seen = late.reading
    line = next((f"line {n}, " for reading, n in zip(batch, lines, strict=True) if reading is seen), "")
    return f"{line}{kind_of(seen)} from {seen.dev}, whose time is off by {late.behind_us / 1_000_000:.3f} s"


EXPECTED = ".expected.jsonl"
LOG_ENDINGS = (".jsonl", ".jsonl.gz")


Json = dict[str, object]
_ADVICE = "`tablectl replay LOG --json > FILE` writes a file of outcomes"
_EXPECTED = 'an outcome such as {"type": "roll.called", "data": {"dice": [3, 4]}}'


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between an outcome and the expected one.

    `outcome` is the outcome's number, from 1, among the outcomes of the compared types.
    """

    outcome: int
    key: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"outcome {self.outcome}, {self.key}: found {self.found}, expected {self.expected}"


def as_json(outcome: Outcome) -> Json:
    """Return an outcome as a JSON object, as printed by `--json`."""
    value: Json = msgspec.json.decode(msgspec.json.encode(outcome))
    return value


def read_expected(path: str) -> list[Json]:
    """Read expected outcomes, one JSON object per line; raises LogError."""
    with open_input(path, "a file of expected outcomes") as stream:
        text = _text(path, stream)
    return [_expected(path, n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]


def compare(outcomes: Sequence[Json], expected: Sequence[Json]) -> Difference | None:
    """Return the first difference, or None if the outcomes match.

    Outcomes of types that do not occur in `expected` are ignored, and so are keys that do not occur in the
    expected object, at any depth. Lists must have equal lengths.
    """
    types = {outcome["type"] for outcome in expected}
    compared = [outcome for outcome in outcomes if outcome["type"] in types]
    for number, (found, expected_value) in enumerate(zip_longest(compared, expected), 1):
        if found is None:
            return Difference(number, "outcome", "none (the log has ended)", _json(expected_value))
        if expected_value is None:
            return Difference(number, "outcome", _json(found), "no further outcome of its type")
        for key, found_text, expected_text in _differences("", found, expected_value):
            return Difference(number, f"key `{key}`", found_text, expected_text)
    return None


def _differences(at: str, found: object, expected_value: object) -> Iterator[tuple[str, str, str]]:
    if isinstance(expected_value, dict) and isinstance(found, dict):
        for name, value in expected_value.items():
            key = f"{at}.{name}" if at else name
            if name in found:
                yield from _differences(key, found[name], value)
            else:
                yield key, "no such key", _json(value)
    elif isinstance(expected_value, list) and isinstance(found, list) and len(expected_value) == len(found):
        for index, value in enumerate(expected_value):
            yield from _differences(f"{at}[{index}]", found[index], value)
    elif not _equal(found, expected_value):
        yield at, _json(found), _json(expected_value)


def _equal(found: object, expected_value: object) -> bool:
    """Return whether two JSON values are equal; `true` and 1 are different, although equal in Python."""
    return isinstance(found, bool) == isinstance(expected_value, bool) and found == expected_value


def _text(path: str, stream: BinaryIO) -> bytes:
    source = Source(stream)
    try:
        text = b"".join(source)
    except (zlib.error, OSError) as error:
        raise LogError(path, describe_read_error(error), _EXPECTED, _ADVICE) from error
    if source.cut:
        raise LogError(path, "a file that was cut off", _EXPECTED, _ADVICE)
    return text


def _expected(path: str, number: int, line: bytes) -> Json:
    try:
        outcome = msgspec.json.decode(line, type=Json)
        decode_strict(line)
    except StrictJsonError as error:
        raise LogError(path, error.found, error.expected, _ADVICE, number) from error
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        found = byte_order_mark(line) or f"no JSON object ({printable(line)})"
        raise LogError(path, found, _EXPECTED, _ADVICE, number) from error
    if not isinstance(outcome.get("type"), str):
        found = "a `type` that is not text" if "type" in outcome else "an object without `type`"
        raise LogError(path, found, _EXPECTED, _ADVICE, number)
    return outcome


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
