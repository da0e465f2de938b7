"""What of the service's log support gets to see: lines known to be ours, and of these the known parts.

A secret has no shape of its own: what is guessed to be one is found in half of the cases. So nothing is taken
out of a line here; a line goes in, part by part, because this project or systemd wrote it, and the rest of it
is left out.
"""

import builtins
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

import controller
from controller.app.faults import CATALOGUE

LEFT_OUT = "(left out)"
_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)) \S+ "
    r"(?P<program>[\w.-]+)(?:\[(?P<pid>\d{1,7})\])?: (?P<text>.*)"
)
"""A line of `journalctl -o short-iso`: time, machine, program, process, message."""
_PROGRAMS = frozenset({"tablectl", "systemd", "python", "python3"})
_LEVEL = re.compile(r"<[0-7]>")

_NUMBER = r"\d{1,12}"
_DIGEST = r"[0-9][0-9.]{0,15} sha256:[0-9a-f]{64}"
_OURS = (
    rf"(?P<name>\S+): session {_NUMBER} after row {_NUMBER}, {_DIGEST}",
    rf"(?P<path>\S+): sound: {_NUMBER} rows, {_NUMBER} outcomes",
    r"(?P<name>\S+): stopped",
    r"standard input has ended; what is under way is decided, then the table stops",
    r"publishing did not end in time; what it did not tell waits in the outbox",
    r"Traceback \(most recent call last\):",
)
_UNIT = r"(?P<unit>[\w-]+\.service)"
_RESULTS = "exit-code|signal|core-dump|watchdog|timeout|oom-kill|protocol|resources"
_SYSTEMDS = (
    rf"(?:Start|Stopp)(?:ing|ed) {_UNIT}(?: - (?P<about>.{{1,60}}?))?\.{{0,3}}",
    rf"Stopped {_UNIT}(?: - (?P<about>.{{1,60}}?))?\.",
    rf"{_UNIT}: Main process exited, code=(?:exited|killed|dumped), status=\d{{1,3}}/[A-Z0-9_]{{1,20}}",
    rf"{_UNIT}: Failed with result '(?:{_RESULTS})'\.",
    rf"{_UNIT}: Scheduled restart job, restart counter is at {_NUMBER}\.",
    rf"{_UNIT}: Watchdog timeout \(limit [\d.]{{1,6}}(?:s|min|ms)\)!",
    rf"{_UNIT}: Deactivated successfully\.",
    rf"{_UNIT}: State 'stop-[a-z]{{1,20}}' timed out\. (?:Terminating|Killing)\.",
)
_WHOLE = tuple(re.compile(pattern) for pattern in (*_OURS, *_SYSTEMDS))
_UNITS = frozenset({"table.service", "table-settlement.service"})
_ABOUT = frozenset({"Table controller", "Settlement engine of the tables"})
"""What systemd calls them, by the units' own `Description`."""

_BEGAN = re.compile(r"began: (?P<where>.*?): .*\[(?P<code>[a-z0-9_]{1,60})\]")
_OVER = re.compile(r"over: (?P<where>.*): (?P<code>[a-z0-9_]{1,60})")
_FRAME = re.compile(r'  File "[^"]*/((?:controller|drivers)/[\w./-]+\.py)", line (\d{1,6}), in .*')
_RAISED = re.compile(r"([A-Z]\w{0,40})(?::.*)?")
_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt")))
_HOME = Path(controller.__path__[0]).parent


def known_lines(text: str, names: Collection[str]) -> str:
    """Return what is known of a log's lines, in their order; of runs that are not, how many they were.

    `names` are the words of the table's own file that may stand in a line: its name, its devices.
    """
    return "".join(f"{line}\n" for line in _collapsed(_known(line, names) for line in text.splitlines()))


def _known(line: str, names: Collection[str]) -> str | None:
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    text = _LEVEL.sub("", parts["text"], count=1) if _LEVEL.match(parts["text"]) else parts["text"]
    program = parts["program"] if parts["program"] in _PROGRAMS else LEFT_OUT
    process = f"[{parts['pid']}]" if parts["pid"] else ""
    told = _message(text, names)
    return None if told is None else f"{parts['time']} {program}{process}: {told}"


def _message(text: str, names: Collection[str]) -> str | None:
    for kind, told in ((_BEGAN, "began"), (_OVER, "over")):
        fault = kind.fullmatch(text)
        if fault is not None and fault["code"] in CATALOGUE:
            return f"{told}: {_where(fault['where'], names)}: {_what(fault['code'])}"
    for whole in _WHOLE:
        found = whole.fullmatch(text)
        if found is not None and all(_MAY[kind](word, names) for kind, word in found.groupdict().items()):
            return text
    frame = _FRAME.fullmatch(text)
    if frame is not None and ".." not in frame[1] and (_HOME / frame[1]).is_file():
        return f'  File "{frame[1]}", line {frame[2]}'
    raised = _RAISED.fullmatch(text)
    return f"{raised[1]}: {LEFT_OUT}" if raised is not None and raised[1] in _ERRORS else None


def _what(code: str) -> str:
    return f"{CATALOGUE[code].what}: {LEFT_OUT} [{code}]"


def _where(where: str, names: Collection[str]) -> str:
    words = where.split(", ")
    known = all(word in names or word in _PLACES or _ours(word) or _ROW.fullmatch(word) for word in words)
    return where if known else LEFT_OUT


_ROW = re.compile(rf"row {_NUMBER}")
_PLACES = frozenset({"core", "inlet", "self-test", "wall clock", "settlement", "settlement's answers"})
"""Where a fault can be that is no device and no file."""


_OWN_FILE = re.compile(
    r"/var/lib/table(?:-head)?/(?:journal\.(?:db|head)|table\.key|identity\.json|settlement\.db|recordings)"
    r"|/run/table/control\.sock|/etc/table/table\.yaml"
)


def _ours(path: str) -> bool:
    """Return whether a path is one of the installed table's own, whose names are no secret."""
    return _OWN_FILE.fullmatch(path) is not None


_MAY: Mapping[str, Callable[[str | None, Collection[str]], bool]] = {
    "name": lambda word, names: word in names,
    "path": lambda word, _names: word is not None and _ours(word),
    "unit": lambda word, _names: word in _UNITS,
    "about": lambda word, _names: word is None or word in _ABOUT,
}
"""What a named part of a pattern must be beside its shape."""


def _collapsed(lines: Iterator[str | None]) -> Iterator[str]:
    left_out = 0
    for line in (*lines, ""):
        if line is None:
            left_out += 1
            continue
        if left_out:
            yield f"({left_out} lines left out)"
            left_out = 0
        if line:
            yield line
