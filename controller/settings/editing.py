"""Change values in a YAML file of a person's own: comments, order and everything else stay as they are."""

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from controller.model.tables import KeyPath, Setting
from controller.settings.mistakes import dotted


class EditError(ValueError):
    """A file that can't be changed so; the message names the key, what was found and what was expected."""


def changed(text: str, values: Mapping[KeyPath, Setting]) -> str:
    """Return the text of a YAML mapping with these values in it, each in its own place.

    A key that is there gets its new value, one that is not is added at the end of its section.

    Raises EditError where a section is missing, or the text is no YAML.
    """
    for path, value in values.items():
        text = _with(text, path, value)
    return text


def _with(text: str, path: KeyPath, value: Setting) -> str:
    node = _root(text)
    for depth, key in enumerate(path):
        if not isinstance(node, yaml.MappingNode) or not node.value:
            raise EditError(f"{dotted(path[:depth])}: found no section, expected one with keys")
        following = next((inner for name, inner in node.value if name.value == str(key)), None)
        if following is None and depth == len(path) - 1:
            return _added(text, node, str(key), value)
        if following is None:
            raise EditError(f"{dotted(path[: depth + 1])}: found no such section, expected it to be there")
        node = following
    return _replaced(text, node, value)


def _root(text: str) -> yaml.Node:
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise EditError(f"found text that is not YAML ({error}), expected a table's file") from error
    if root is None:
        raise EditError("found an empty file, expected a table's file")
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
    # Behind the comment that the last line may carry.
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    column = section.value[0][0].start_mark.column
    rows = isinstance(value, tuple) and any(isinstance(part, tuple) for part in value)
    written = "\n" + _block(value, column + 2) if rows and isinstance(value, tuple) else f" {_flow(value)}"
    return f"{text[:line_end]}\n{' ' * column}{key}:{written}{text[line_end:]}"


def _end(node: yaml.Node) -> int:
    """Return where a value's own text ends: a block's mark stands behind the comments that follow it."""
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
    """A file that was replaced: where it stands, and where the old one is kept."""

    path: Path
    kept: Path


def replace_file(
    path: Path, before: bytes, after: bytes, stamp: str, check: Callable[[Path], None]
) -> ReplacedFile:
    """Replace a file at once and for good, the old one kept beside it as `NAME.STAMP`.

    `check` reads the new file before it takes its place; what it raises leaves the old one untouched.

    Raises:
        EditError: the file is not what it was when it was read.
        OSError: the folder does not take it.
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
            there = path.stat()
            os.chown(new, there.st_uid, there.st_gid)
        check(new)
        if path.read_bytes() != before:
            raise EditError(f"{path}: found it changed by somebody else in the meantime; calibrate again")
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
