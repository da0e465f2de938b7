"""Recorded logs as regression tests: the outcomes of a replay against those that it must give."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import BinaryIO

import msgspec

from controller.model.outcomes import Outcome
from controller.replay.decoding import mark_of, shown
from controller.replay.source import LogError, Source, open_input, unreadable

EXPECTED = ".expected.jsonl"
LOG_ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class Case:
    """A recorded log and the file of the outcomes that it must give."""

    name: str
    log: Path
    expected: Path


def find_cases(folder: Path) -> list[Case]:
    """Find every `NAME.jsonl` or `NAME.jsonl.gz`, each with its `NAME.expected.jsonl`, in order of name."""
    return sorted(_cases(folder), key=lambda case: (case.name, case.log))


def _cases(folder: Path) -> Iterator[Case]:
    for path in folder.iterdir():
        ending = next((ending for ending in LOG_ENDINGS if path.name.endswith(ending)), None)
        if ending is not None and not path.name.endswith(EXPECTED):
            name = path.name.removesuffix(ending)
            yield Case(name, path, path.with_name(name + EXPECTED))


Json = dict[str, object]
_ADVICE = "`tablectl replay LOG --json` writes such a file"
_EXPECTED = 'an expected outcome such as {"type": "roll.called", "data": {"dice": [3, 4]}}'


@dataclass(frozen=True, slots=True)
class Difference:
    """The first difference: which outcome (from 1, among the types compared), where in it, and what."""

    outcome: int
    key: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"outcome {self.outcome}, {self.key}: found {self.found}, expected {self.expected}"


def as_json(outcome: Outcome) -> Json:
    """Return an outcome as the JSON object that `--json` prints."""
    value: Json = msgspec.json.decode(msgspec.json.encode(outcome))
    return value


def read_expected(path: str) -> list[Json]:
    """Read expected outcomes, one JSON object a line; raises LogError that names the line at fault."""
    with open_input(path, "a file of expected outcomes") as stream:
        text = _text(path, stream)
    return [_expected(path, n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]


def compare(outcomes: Sequence[Json], expected: Sequence[Json]) -> Difference | None:
    """Find the first difference, None where the outcomes match.

    They match when the outcomes of the types that `expected` holds come in its order and carry each key that
    it gives: of objects only the keys given, however deep, of lists as many elements.
    """
    types = {outcome["type"] for outcome in expected}
    compared = [outcome for outcome in outcomes if outcome["type"] in types]
    for number, (found, wanted) in enumerate(zip_longest(compared, expected), 1):
        if found is None:
            return Difference(number, "outcome", "none, the log is over", _words(wanted))
        if wanted is None:
            return Difference(number, "outcome", _words(found), "none of its type any more")
        for key, found_value, wanted_value in _differences("", found, wanted):
            return Difference(number, f"key `{key}`", found_value, wanted_value)
    return None


def _differences(at: str, found: object, wanted: object) -> Iterator[tuple[str, str, str]]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for name, value in wanted.items():
            key = f"{at}.{name}" if at else name
            if name in found:
                yield from _differences(key, found[name], value)
            else:
                yield key, "no such key", _words(value)
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, value in enumerate(wanted):
            yield from _differences(f"{at}[{index}]", found[index], value)
    elif not _equal(found, wanted):
        yield at, _words(found), _words(wanted)


def _equal(found: object, wanted: object) -> bool:
    """Return whether two JSON values are equal; to Python `true` would equal 1."""
    return isinstance(found, bool) == isinstance(wanted, bool) and found == wanted


def _text(path: str, stream: BinaryIO) -> bytes:
    source = Source(stream)
    try:
        text = b"".join(source)
    except (zlib.error, OSError) as error:
        raise LogError(path, unreadable(error), _EXPECTED, _ADVICE) from error
    if source.cut:
        raise LogError(path, "a file that was cut off", _EXPECTED, _ADVICE)
    return text


def _expected(path: str, number: int, line: bytes) -> Json:
    try:
        outcome = msgspec.json.decode(line, type=Json)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        found = mark_of(line) or f"no JSON object ({shown(line)})"
        raise LogError(path, found, _EXPECTED, _ADVICE, number) from error
    if not isinstance(outcome.get("type"), str):
        raise LogError(path, "an object without `type`", _EXPECTED, _ADVICE, number)
    return outcome


def _words(value: object) -> str:
    return msgspec.json.encode(value).decode()
