"""A parser for a strict subset of YAML, and functions that change values in a file's text.

Only `true` and `false` are booleans, and only plain decimals are numbers. `on`, `no`, `017`, `0x1f`, `1_000`,
`12:30` and dates remain text. Duplicate keys, anchors, aliases and tags are mistakes. Changing a value
preserves the rest of the file, including comments and order.
"""

import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml
from yaml.error import MarkedYAMLError
from yaml.reader import ReaderError

from controller.model.tables import KeyPath, Setting
from controller.settings.mistakes import Mistake, SettingsError, dotted, shown_path

Value = None | bool | int | float | str | list["Value"] | dict[str, "Value"]
"""A value in a document."""

_MAX_LEVELS = 24  # far more than any table needs, and far fewer than would exhaust the interpreter's stack
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_WHOLE_FILE = (0, 0)
_YAML_LOOKS = (
    "'key: value' or '- item' lines",
    "check this line and the one above: indent with spaces, and close quotes and brackets",
)
_PLAIN_ONLY = "write the value out where it is needed"


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a file. Lines and columns are numbered from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML document: its value, the position of each key, and its syntax mistakes."""

    value: Value
    positions: Mapping[KeyPath, Position]
    mistakes: tuple[Mistake, ...] = ()

    def position(self, path: KeyPath) -> Position:
        """Return the position of a key or, if the key is missing, of the nearest enclosing section."""
        while path and path not in self.positions:
            path = path[:-1]
        return self.positions[path]

    def has(self, path: KeyPath) -> bool:
        """Return whether the file has this key."""
        return path in self.positions

    def mistake(self, path: KeyPath, found: str, expected: str, hint: str = "") -> Mistake:
        """Return a mistake at the position of a key."""
        position = self.position(path)
        return Mistake(
            file=position.file,
            line=position.line,
            column=position.column,
            key=dotted(path),
            found=found,
            expected=expected,
            hint=hint,
        )

    def only(self, sections: Iterable[str]) -> tuple[str, ...]:
        """Return the top-level keys in `sections` that have a value in this document."""
        present = self.value if isinstance(self.value, dict) else {}
        return tuple(section for section in sections if present.get(section) is not None)

    def without(self, sections: Iterable[str]) -> "Document":
        """Return this document without these top-level keys."""
        gone = frozenset(sections)
        if not isinstance(self.value, dict):
            return self
        kept = {key: value for key, value in self.value.items() if key not in gone}
        return Document(kept, self.positions)

    def overlaid(self, other: "Document", sections: Iterable[str]) -> "Document":
        """Return this document with the values of these top-level keys from `other`."""
        assert isinstance(self.value, dict)
        assert isinstance(other.value, dict)
        keys = tuple(sections)
        changes = {key: other.value[key] for key in keys}
        moved = {path: position for path, position in other.positions.items() if path and path[0] in keys}
        return Document(_overlaid(self.value, changes), {**self.positions, **moved}, self.mistakes)


def _overlaid(below: Value, above: Value) -> Value:
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: _overlaid(below.get(key), value) for key, value in above.items()}


def parse_document(path: Path) -> Document:
    """Read a YAML file.

    Syntax mistakes such as duplicate keys are kept in the document and reported with the mistakes in its
    contents.

    Raises:
        SettingsError: the file can't be read, is not UTF-8, is empty or is not YAML.
    """
    file = shown_path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        found = f"no readable file ({(error.strerror or type(error).__name__).lower()})"
        raise _unusable(file, _WHOLE_FILE, found, "a YAML file", "check its name and permissions") from error
    except UnicodeDecodeError as error:
        found = f"bytes that are not UTF-8 text (byte {error.start})"
        raise _unusable(file, _WHOLE_FILE, found, "UTF-8 text", "save the file as UTF-8") from error
    except ValueError as error:
        raise _unusable(
            repr(file), _WHOLE_FILE, "no valid file name", "a path", "correct the name"
        ) from error
    return parse_text(text, file)


def parse_text(text: str, file: str) -> Document:
    """Read YAML text that came from `file`. Raises SettingsError, like `parse_document`."""
    try:
        return _Composer(file).compose(yaml.parse(text, Loader=yaml.SafeLoader))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = (mark.line + 1, mark.column + 1) if mark else _WHOLE_FILE
        raise _unusable(file, at, f"text that is not YAML ({error.problem})", *_YAML_LOOKS) from error
    except ReaderError as error:
        before = text[: error.position]
        at = (before.count("\n") + 1, len(before) - before.rfind("\n"))
        found = f"a character that YAML does not allow (U+{ord(text[error.position]):04X})"
        raise _unusable(file, at, found, "printable text", "delete it") from error
    except (ValueError, OverflowError) as error:
        # PyYAML passes an escape beyond Unicode to chr(), whose error has no mark.
        found = r"an escape such as \UFFFFFFFF that names no character"
        raise _unusable(file, _WHOLE_FILE, found, "Unicode characters", "correct or delete it") from error


def _unusable(file: str, at: tuple[int, int], found: str, expected: str, hint: str) -> SettingsError:
    line, column = at
    return SettingsError(
        [Mistake(file=file, line=line, column=column, found=found, expected=expected, hint=hint)]
    )


class _Composer:
    def __init__(self, file: str) -> None:
        self._file = file
        self._positions: dict[KeyPath, Position] = {}
        self._mistakes: list[Mistake] = []
        self._events: Iterator[yaml.Event] = iter(())

    def compose(self, events: Iterator[yaml.Event]) -> Document:
        self._events = events
        next(events)  # stream start
        if isinstance(next(events), yaml.StreamEndEvent):
            raise _unusable(self._file, _WHOLE_FILE, "an empty file", "'key: value' lines", "fill it in")
        root = next(events)
        self._positions[()] = self._position(root)
        value = self._value(root, ())
        next(events)  # document end
        following = next(events)
        if isinstance(following, yaml.DocumentStartEvent):
            self._wrong(following, (), "a second document ('---')", "one document per file", "split the file")
        return Document(value, self._positions, tuple(self._mistakes))

    def _value(self, event: yaml.Event, path: KeyPath) -> Value:
        if len(path) > _MAX_LEVELS:
            position = self._position(event)
            found = f"more than {_MAX_LEVELS} nested levels"
            at = (position.line, position.column)
            raise _unusable(self._file, at, found, f"at most {_MAX_LEVELS}", "remove brackets or indentation")
        if isinstance(event, yaml.AliasEvent):
            self._wrong(event, path, f"the alias '*{event.anchor}'", "a plain value", _PLAIN_ONLY)
            return None
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            self._wrong(event, path, f"the anchor '&{event.anchor}'", "a plain value", _PLAIN_ONLY)
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            self._wrong(
                event,
                path,
                f"the tag '{event.tag}'",
                "a plain value",
                "delete the tag, and put a word that looks like a number in quotes",
            )
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(path)
        assert isinstance(event, yaml.ScalarEvent)
        return self._scalar(event, path)

    def _mapping(self, path: KeyPath) -> dict[str, Value]:
        section: dict[str, Value] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key, inner = self._key(event, path)
            value = self._value(next(self._events), inner)
            section.setdefault(key, value)
        return section

    def _key(self, event: yaml.Event, path: KeyPath) -> tuple[str, KeyPath]:
        plain = isinstance(event, yaml.ScalarEvent) and bool(event.value)
        key = event.value if isinstance(event, yaml.ScalarEvent) else ""
        inner = (*path, key)
        if not plain:
            self._wrong(
                event,
                path,
                "a key that is not a plain word",
                "a word before the colon",
                "name the key",
            )
            self._value(event, inner)
        elif inner in self._positions:
            first = self._positions[inner].line
            self._wrong(
                event, inner, f"the key a second time (first on line {first})", "each key once", "delete one"
            )
        else:
            self._positions[inner] = self._position(event)
            self._value(event, inner)
        return key, inner

    def _sequence(self, path: KeyPath) -> list[Value]:
        items: list[Value] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            inner = (*path, len(items))
            self._positions[inner] = self._position(event)
            items.append(self._value(event, inner))
        return items

    def _scalar(self, event: yaml.ScalarEvent, path: KeyPath) -> Value:
        text: str = event.value
        if any("\ud800" <= character <= "\udfff" for character in text):
            self._wrong(
                event, path, "half a surrogate pair", "whole characters", "write the character itself"
            )
            return ""
        return text if event.style else _plain(text)

    def _position(self, event: yaml.Event) -> Position:
        mark = event.start_mark
        assert mark is not None  # the parser marks every event
        return Position(self._file, mark.line + 1, mark.column + 1)

    def _wrong(self, event: yaml.Event, path: KeyPath, found: str, expected: str, hint: str) -> None:
        position = self._position(event)
        self._mistakes.append(
            Mistake(
                file=self._file,
                line=position.line,
                column=position.column,
                key=dotted(path),
                found=found,
                expected=expected,
                hint=hint,
            )
        )


def _plain(text: str) -> Value:
    """Return an unquoted scalar as a number, a boolean or null if it has such a form, otherwise as text."""
    if text in _WORDS:
        return _WORDS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _FRACTION.fullmatch(text) and re.search(r"[.eE]", text) and math.isfinite(float(text)):
        return float(text)
    return text


class EditError(ValueError):
    """The file can't be changed as requested. The message names the key or the file."""


def changed(text: str, values: Mapping[KeyPath, Setting]) -> str:
    """Return the text of a YAML mapping with these values changed.

    The value of an existing key is replaced. A new key is added at the end of its section.

    Raises:
        EditError: a section is missing, or the text is not YAML.
    """
    for path, value in values.items():
        text = _with(text, path, value)
    return text


def _with(text: str, path: KeyPath, value: Setting) -> str:
    node = _root(text)
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode) or not node.value:
            raise EditError(
                f"{dotted(path[:depth])}: not a section; a value can be set only in a section with keys"
            )
        following = next((inner for name, inner in node.value if name.value == str(key)), None)
        if following is None and depth == len(path) - 1:
            return _added(text, node, str(key), value)
        if following is None:
            raise EditError(f"{dotted(path[: depth + 1])}: no such section; add it to the file first")
        node = following
    return _replaced(text, node, value)


def _root(text: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise EditError(f"found text that is not YAML ({error}), expected a table file") from error
    if root is None:
        raise EditError("found an empty file, expected a table file")
    if not isinstance(root, yaml.MappingNode) or not root.value:
        raise EditError(
            "found a file without 'key: value' lines at its top level, expected a table file; choose the"
            " table's file"
        )
    return root


def _replaced(text: str, node: yaml.Node, value: Setting) -> str:
    begin, end = node.start_mark.index, _end(node)
    in_block = isinstance(node, yaml.SequenceNode) and not node.flow_style
    written = _block(value, node.start_mark.column) if in_block and isinstance(value, tuple) else _flow(value)
    blank = " " if begin and text[begin - 1] == ":" else ""
    return text[:begin] + blank + written.lstrip() + text[end:]


def _added(text: str, section: yaml.MappingNode, key: str, value: Setting) -> str:
    last_key, last = section.value[-1]
    end = max(last_key.end_mark.index, _end(last))
    if section.flow_style:
        return f"{text[:end]}, {key}: {_flow(value)}{text[end:]}"
    # A comment at the end of the last line stays on that line.
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    column = section.value[0][0].start_mark.column
    rows = isinstance(value, tuple) and any(isinstance(part, tuple) for part in value)
    written = "\n" + _block(value, column + 2) if rows and isinstance(value, tuple) else f" {_flow(value)}"
    return f"{text[:line_end]}\n{' ' * column}{key}:{written}{text[line_end:]}"


def _end(node: yaml.Node) -> int:
    """Return the index of a value's end. The end mark of a block is after any comments below the block."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(map(_end, last)) if isinstance(last, tuple) else _end(last)
    index: int = node.end_mark.index
    return index


def _block(value: tuple[float, ...] | tuple[tuple[float, ...], ...], column: int) -> str:
    return "\n".join(f"{' ' * column}- {_flow(part)}" for part in value)


def _flow(value: Setting) -> str:
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_flow(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(_flow(part) for part in value)}]"
    return str(int(value)) if value == int(value) else repr(value)


@dataclass(frozen=True, slots=True)
class ReplacedFile:
    """The path of a replaced file, and the path of the copy with its old contents."""

    path: Path
    kept: Path


def replace_file(
    path: Path, before: bytes, after: bytes, stamp: str, check: Callable[[Path], None]
) -> ReplacedFile:
    """Replace a file atomically and durably, and keep the old file next to it as `NAME.STAMP`.

    `check` is called with the new file before the replacement. If `check` raises an exception, the old
    file remains.

    Raises:
        EditError: the file has changed since `before` was read.
        OSError: the file can't be written.
    """
    new = path.with_name(f".{path.name}.new.yaml")
    kept = path.with_name(f"{path.name}.{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.{stamp}-{number}")
    try:
        _write(new, after)
        shutil.copymode(path, new)
        with suppress(PermissionError):
            status = path.stat()
            os.chown(new, status.st_uid, status.st_gid)
        check(new)
        if path.read_bytes() != before:
            raise EditError(f"{path}: the file was changed during the calibration; calibrate again")
        _write(kept, before)
        shutil.copystat(path, kept)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return ReplacedFile(path, kept)


def _write(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
