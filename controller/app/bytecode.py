"""Compiled copies of the program (`__pycache__`): each that Python would run is held against its source.

Python runs a compiled copy without looking at the source, if the copy's own header fits it; so a list of
sources says nothing of what runs. A copy is not signed, since each machine's Python makes its own: the source
is compiled here again, and what comes out is compared part by part.
"""

import importlib.util
import marshal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

_LEVELS = {"": 0, ".opt-1": 1, ".opt-2": 2}
_HEADER = 16
_HASHED, _CHECKED = 0b01, 0b11
_PARTS = (
    "co_name",
    "co_qualname",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_nlocals",
    "co_stacksize",
    "co_flags",
    "co_firstlineno",
    "co_code",
    "co_names",
    "co_varnames",
    "co_freevars",
    "co_cellvars",
    "co_linetable",
    "co_exceptiontable",
)
"""All but its constants and `co_filename`, which names the folder that it was compiled in."""
_SAYS_WHERE = "co_filename"


def planted(source: Path) -> Iterator[Path]:
    """Yield each compiled copy of a module that this Python would run and that is not its source's.

    Raises OSError if a file can't be read.
    """
    folder = source.parent / "__pycache__"
    if folder.is_symlink():  # What it leads to can be another thing tomorrow.
        yield folder
        return
    for level, optimize in _LEVELS.items():
        copy = folder / f"{source.stem}.{sys.implementation.cache_tag}{level}.pyc"
        if copy.is_symlink() or (copy.exists() and not _fits(copy.read_bytes(), source, optimize)):
            yield copy


def _fits(copy: bytes, source: Path, optimize: int) -> bool:
    text = source.read_bytes()
    if not _would_run(copy, source, text):
        return True
    try:
        found = marshal.loads(copy[_HEADER:])  # noqa: S302 - it is not run, and who can write it is root already
        expected = compile(
            text, getattr(found, _SAYS_WHERE, str(source)), "exec", dont_inherit=True, optimize=optimize
        )
    except (EOFError, SyntaxError, TypeError, ValueError):
        return False
    return isinstance(found, CodeType) and _shape(found) == _shape(expected)


def _would_run(copy: bytes, source: Path, text: bytes) -> bool:
    """Return whether its header fits the source, as Python's importer looks at it."""
    if len(copy) < _HEADER or copy[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(copy[4:8], "little")
    if flags & _HASHED:
        return flags & _CHECKED != _CHECKED or copy[8:16] == importlib.util.source_hash(text)
    found = source.stat()
    written = int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF
    return written == (int.from_bytes(copy[8:12], "little"), int.from_bytes(copy[12:16], "little"))


def _shape(part: object) -> object:
    """Return what can be compared: equality of code overlooks some parts, and 1 equals 1.0 and True."""
    match part:
        case CodeType():
            return (*(getattr(part, name) for name in _PARTS), tuple(map(_shape, part.co_consts)))
        case tuple():
            return ("tuple", *map(_shape, part))
        case frozenset():
            return ("frozenset", frozenset(map(_shape, part)))
    return (type(part).__name__, repr(part))
