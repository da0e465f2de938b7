"""The support bundle: an archive, without secrets, of a table's settings, status and log."""

import builtins
import io
import re
import tarfile
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.metadata import distributions
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import yaml

import controller
from controller.app.faults import CATALOGUE
from controller.model.tables import KeyPath
from controller.settings.mistakes import dotted

LEFT_OUT = "(left out)"
_SECRET = re.compile(r"key|pass|secret|token|credential|database|auth|hmac|pin\b", re.IGNORECASE)
_CREDENTIALS_IN_URL = re.compile(r"(?<=//)\S+@|(?<![^\s'\"])[^\s'\":]+:\S*@")
"""A user name and a password before an @. The match ends at the last @, because a password might contain a
slash or an @."""
_PEM = re.compile(r"-----BEGIN.*?(?:-----END[A-Z ]*-----|\Z)", re.DOTALL)
_BEARER = re.compile(r"(?i)\b(bearer|basic|identified by)\s+\S+")
_OPTION = re.compile(r"(?i)((?:^|\s)--?(?:token|pass\w*|pwd|secret|key|psk|hmac|p|pin)(?:[ =]|(?<=\s-p)))\S+")
_QUERY = re.compile(r"(?<=\w)[?#]\S*")
_LONG_HEX = re.compile(r"\b[0-9a-fA-F]{32,}\b")
_LONG_BASE64 = re.compile(r"\b[A-Za-z0-9+/_-]{40,}={0,2}")
_NAMED_SECRET = re.compile(
    r"""(?i)\b([\w-]*(?:key|pass|pwd|psk|hmac|secret|token|credential|cookie|session|authorization)[\w-]*[\\"']*\s*[=:]\s*)"""
    r"""("[^"\\\n]*"|'[^'\n]*'|[^\n]+)"""
)
"""A value after the name of a secret. A value without quotes ends at the end of the line, because it might
contain spaces."""


def without_secrets(document: object, name: str = "") -> object:
    """Return a document without values that look like secrets or whose keys name secrets."""
    match document:
        case Mapping() if name == "digests":
            return document
        case Mapping():
            secret = _SECRET.search(name)
            return {
                key: without_secrets(part, name if secret else str(key)) for key, part in document.items()
            }
        case list():
            return [without_secrets(part, name) for part in document]
        case _ if _SECRET.search(name) and document is not None:
            return LEFT_OUT
        case str():
            return redact(document)
    return document


def redact(text: str) -> str:
    """Return a message from this program without passwords, keys and similar text.

    The message might quote a library's error text that contains secrets. For logs, which can contain any
    text, use `known_log_lines`.
    """
    text = _PEM.sub(LEFT_OUT, text)
    text = _QUERY.sub(LEFT_OUT, _CREDENTIALS_IN_URL.sub(f"{LEFT_OUT}@", text))
    text = _BEARER.sub(rf"\1 {LEFT_OUT}", _OPTION.sub(rf"\1{LEFT_OUT}", text))
    text = _NAMED_SECRET.sub(rf"\1{LEFT_OUT}", text)
    return _LONG_BASE64.sub(LEFT_OUT, _LONG_HEX.sub(LEFT_OUT, text))


class SettingsKeys(NamedTuple):
    """The possible keys of a settings file, and those (`of_names`) under which any name can be a key."""

    keys: frozenset[str]
    of_names: frozenset[str]

    @classmethod
    def of(cls, schema: str) -> "SettingsKeys":
        """Return the keys in the text of a JSON schema."""
        named = list(_properties(msgspec.json.decode(schema)))
        return cls(
            frozenset(key for key, _ in named),
            frozenset(key for key, shape in named if "additionalProperties" in _keys_holding_shapes(shape)),
        )


def _properties(schema: object) -> Iterator[tuple[str, object]]:
    match schema:
        case Mapping():
            properties = schema.get("properties")
            if isinstance(properties, Mapping):
                yield from properties.items()
            for part in schema.values():
                yield from _properties(part)
        case list():
            for part in schema:
                yield from _properties(part)


def _keys_holding_shapes(shape: object) -> Iterator[str]:
    if isinstance(shape, Mapping):
        yield from (key for key, part in shape.items() if isinstance(part, Mapping))
        for part in shape.get("anyOf", ()):
            yield from _keys_holding_shapes(part)


def settings_without_secrets(text: str, known_keys: SettingsKeys, mistaken: Collection[str] = ()) -> str:
    """Return a YAML file without comments or secrets, or a note if the text is not valid YAML.

    Values under unknown keys, such as misspelt ones, are left out, because they might be secrets. Values at
    the `mistaken` keys (`publish.mqtt.port`) are left out too, because a value that is not a port might be a
    password.
    """
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError:
        return f"{LEFT_OUT}: not valid YAML, so its secrets can't be identified\n"
    known = _of_known_keys(document, known_keys, (), known=isinstance(document, Mapping), mistaken=mistaken)
    return yaml.safe_dump(without_secrets(known), sort_keys=False, allow_unicode=True)


def _of_known_keys(
    part: object, known_keys: SettingsKeys, at: KeyPath, *, known: bool, mistaken: Collection[str]
) -> object:
    match part:
        case Mapping():
            named = bool(at) and at[-1] in known_keys.of_names
            return {
                key: _of_known_keys(
                    below,
                    known_keys,
                    (*at, str(key)),
                    known=key in known_keys.keys or named,
                    mistaken=mistaken,
                )
                for key, below in part.items()
            }
        case list() if dotted(at) not in mistaken:
            return [
                _of_known_keys(below, known_keys, (*at, number), known=known, mistaken=mistaken)
                for number, below in enumerate(part)
            ]
    return part if part is None or (known and dotted(at) not in mistaken) else LEFT_OUT


_FOUND = re.compile(r"found .*, expected", re.DOTALL)


def without_found_value(says: str) -> str:
    """Return a message about a mistake without the value that was found."""
    return _FOUND.sub(f"found {LEFT_OUT}, expected", says)


_FREE_TEXT = frozenset({"found", "says", "who", "headline", "last_malformed", "differences"})
"""Status fields with text from people, boards or libraries."""


def status_without_free_text(status: object) -> object:
    """Return a status without secrets, and without text from people, boards or libraries."""
    return without_secrets(_without_free_text(status))


def _without_free_text(part: object) -> object:
    match part:
        case Mapping():
            return {
                key: LEFT_OUT if key in _FREE_TEXT and below else _without_free_text(below)
                for key, below in part.items()
            }
        case list():
            return [_without_free_text(below) for below in part]
    return part


def versions() -> Iterator[str]:
    """Yield each installed package with its version."""
    yield from sorted({f"{one.metadata['Name']}=={one.version}" for one in distributions()})


def pack(stream: BinaryIO, members: Mapping[str, str]) -> None:
    """Write text files, by name, to a gzipped tar archive."""
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, text in members.items():
            data = text.encode("utf-8", errors="backslashreplace")
            entry = tarfile.TarInfo(f"table-support/{name}")
            entry.size, entry.mode = len(data), 0o600
            archive.addfile(entry, io.BytesIO(data))


_LINE = re.compile(
    r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)) \S+ "
    r"(?P<program>[\w.-]+)(?:\[(?P<pid>\d{1,7})\])?: (?P<text>.*)"
)
"""A line of `journalctl -o short-iso`: time, machine, program, process, message."""
_PROGRAMS = frozenset({"tablectl", "systemd", "python", "python3"})
_LEVEL = re.compile(r"<[0-7]>")

_NUMBER = r"\d{1,12}"
_DIGEST = r"[0-9][0-9.]{0,15} sha256:[0-9a-f]{64}"
_OWN_MESSAGES = (
    rf"(?P<name>\S+): session {_NUMBER} after row {_NUMBER}, {_DIGEST}",
    rf"(?P<path>\S+): sound: {_NUMBER} rows, {_NUMBER} outcomes",
    r"(?P<name>\S+): stopped",
    r"standard input has ended; the table stops once the attempt in progress is decided",
    r"publishing did not end in time; outcomes that were not sent remain in the outbox",
    r"Traceback \(most recent call last\):",
)
_UNIT = r"(?P<unit>[\w-]+\.service)"
_RESULTS = "exit-code|signal|core-dump|watchdog|timeout|oom-kill|protocol|resources"
_SYSTEMD_MESSAGES = (
    rf"(?:Start|Stopp)(?:ing|ed) {_UNIT}(?: - (?P<about>.{{1,60}}?))?\.{{0,3}}",
    rf"Stopped {_UNIT}(?: - (?P<about>.{{1,60}}?))?\.",
    rf"{_UNIT}: Main process exited, code=(?:exited|killed|dumped), status=\d{{1,3}}/[A-Z0-9_]{{1,20}}",
    rf"{_UNIT}: Failed with result '(?:{_RESULTS})'\.",
    rf"{_UNIT}: Scheduled restart job, restart counter is at {_NUMBER}\.",
    rf"{_UNIT}: Watchdog timeout \(limit [\d.]{{1,6}}(?:s|min|ms)\)!",
    rf"{_UNIT}: Deactivated successfully\.",
    rf"{_UNIT}: State 'stop-[a-z]{{1,20}}' timed out\. (?:Terminating|Killing)\.",
)
_KNOWN_MESSAGES = tuple(re.compile(pattern) for pattern in (*_OWN_MESSAGES, *_SYSTEMD_MESSAGES))
_UNITS = frozenset({"table.service", "table-settlement.service"})
_ABOUT = frozenset({"Table controller", "Settlement engine of the tables"})

_FAULT_BEGAN = re.compile(r"began: (?P<where>.*?): .*\[(?P<code>[a-z0-9_]{1,60})\]")
# A machine's log may still contain lines of an earlier release, which logged "over".
_FAULT_CLEARED = re.compile(r"(?:cleared|over): (?P<where>.*): (?P<code>[a-z0-9_]{1,60})")
_FRAME = re.compile(r'  File "[^"]*/((?:controller|drivers)/[\w./-]+\.py)", line (\d{1,6}), in .*')
_RAISED = re.compile(r"([A-Z]\w{0,40})(?::.*)?")
_ERRORS = frozenset(name for name in dir(builtins) if name.endswith(("Error", "Exception", "Interrupt")))
_HOME = Path(controller.__path__[0]).parent


def known_log_lines(text: str, names: Collection[str]) -> str:
    """Return the lines of a log that have a known form, in order; a count replaces each run of other lines.

    `names` are the names of the table and its devices, which are allowed in a line.
    """
    return "".join(f"{line}\n" for line in _collapsed(_known(line, names) for line in text.splitlines()))


def _known(line: str, names: Collection[str]) -> str | None:
    parts = _LINE.fullmatch(line)
    if parts is None:
        return None
    text = _LEVEL.sub("", parts["text"], count=1) if _LEVEL.match(parts["text"]) else parts["text"]
    program = parts["program"] if parts["program"] in _PROGRAMS else LEFT_OUT
    process = f"[{parts['pid']}]" if parts["pid"] else ""
    message = _message(text, names)
    return None if message is None else f"{parts['time']} {program}{process}: {message}"


def _message(text: str, names: Collection[str]) -> str | None:
    for kind, message in ((_FAULT_BEGAN, "began"), (_FAULT_CLEARED, "cleared")):
        fault = kind.fullmatch(text)
        if fault is not None and fault["code"] in CATALOGUE:
            return f"{message}: {_place(fault['where'], names)}: {_fault_text(fault['code'])}"
    for whole in _KNOWN_MESSAGES:
        found = whole.fullmatch(text)
        if found is not None and all(_ALLOWED[kind](word, names) for kind, word in found.groupdict().items()):
            return text
    frame = _FRAME.fullmatch(text)
    if frame is not None and ".." not in frame[1] and (_HOME / frame[1]).is_file():
        return f'  File "{frame[1]}", line {frame[2]}'
    raised = _RAISED.fullmatch(text)
    return f"{raised[1]}: {LEFT_OUT}" if raised is not None and raised[1] in _ERRORS else None


def _fault_text(code: str) -> str:
    return f"{CATALOGUE[code].what}: {LEFT_OUT} [{code}]"


def _place(where: str, names: Collection[str]) -> str:
    parts = where.split(", ")
    known = all(
        part in names or part in _PLACES or _is_own_file(part) or _ROW.fullmatch(part) for part in parts
    )
    return where if known else LEFT_OUT


_ROW = re.compile(rf"row {_NUMBER}")
_PLACES = frozenset({"core", "inlet", "self-test", "wall clock", "settlement", "settlement's answers"})


_OWN_FILE = re.compile(
    r"/var/lib/table(?:-head)?/(?:journal\.(?:db|head)|table\.key|identity\.json|settlement\.db|recordings)"
    r"|/run/table/control\.sock|/etc/table/table\.yaml"
)


def _is_own_file(path: str) -> bool:
    """Return whether a path belongs to the standard installation, and so reveals nothing secret."""
    return _OWN_FILE.fullmatch(path) is not None


_ALLOWED: Mapping[str, Callable[[str | None, Collection[str]], bool]] = {
    "name": lambda word, names: word in names,
    "path": lambda word, _names: word is not None and _is_own_file(word),
    "unit": lambda word, _names: word in _UNITS,
    "about": lambda word, _names: word is None or word in _ABOUT,
}


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
