"""A release's signed list of files, which the build creates and each machine with the release verifies.

The list (`release.json`) is signed with the manufacturer's release key. It contains the name and SHA-256 of
each file of the program, its configuration and its units, but no files of other projects' packages.

The list excludes compiled copies (`__pycache__`), which each machine's Python creates. Python runs a
compiled copy without reading the source if the copy's header matches. Therefore the verification compiles
each source again and compares the result with the copy.

The controller verifies its sources at startup. A background process verifies the compiled copies, because
compiling takes a second or more, and because a controller that runs a planted copy could not detect the copy.
The process, `python -X pycache_prefix=NOWHERE -m controller.app.release KEYS`, uses no compiled copies. It
writes the differences as one line of JSON.
"""

import importlib.util
import marshal
import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from types import CodeType

import msgspec

import controller
from controller.app.background import BackgroundProcess, lower_priority
from controller.app.faults import ActiveFaults, Fault
from controller.app.keys import KeyStep, follows, history
from controller.journal.keys import PublicKey, load_key
from controller.publish.wire import UnreadableMessage, bounded, is_signed, sign_message

LIST_FILE = "release.json"
TRUSTED_FILE = "/etc/table/release.pub"
"""The file of the public release keys that a machine trusts, in hexadecimal digits, one per line."""
MAX_LIST_BYTES = 4_000_000
"""Maximum size of a list in bytes; each of several hundred files takes about 120 bytes."""
_PURPOSE = b"table-release\0"
_PACKAGES = ("controller", "drivers")
_CONFIG = "controller/_config"
"""The folder in an installation that corresponds to a checkout's `config`."""
_KEY_DIGITS = 64
MAX_NAMED = 3
"""Maximum number of files of one kind that a message names."""


class ReleaseFault(Exception):
    """A release can't be signed, or differs from its signed list."""


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """The list of a release's files: the SHA-256 of each file by name, and the key that signed the list.

    With the key's `history`, a machine that trusts an earlier key also trusts this one.
    """

    release: str
    files: dict[str, str]
    key: str
    history: tuple[KeyStep, ...] = ()
    signature: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(FileList).decode


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """A program's folders: `packages` for the packages, and `home` for other files.

    In a checkout both are the same folder.
    """

    packages: Path
    home: Path

    @property
    def list_file(self) -> Path:
        """The file with the signed list."""
        return self.home / LIST_FILE

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield each file of the program, with its name in an installation."""
        for package in _PACKAGES:
            yield from _below(self.packages / package, package)
        if not (self.packages / _CONFIG).is_dir():
            yield from _below(self.home / "config", _CONFIG)
        yield from _below(self.home / "systemd", "systemd")


def place_of(folder: Path | None = None) -> ProgramPlace:
    """Return the program's folders in a checkout or an installed release, by default those of this process.

    Raises ReleaseFault if the folder contains no program.
    """
    if folder is None:
        packages = Path(controller.__path__[0]).resolve().parent
        return ProgramPlace(packages, packages if (packages / "config").is_dir() else Path(sys.prefix))
    if (folder / "controller").is_dir():
        return ProgramPlace(folder, folder)
    installed = sorted(folder.glob("lib/python3*/site-packages"))
    for packages in installed:
        if (packages / "controller").is_dir():
            return ProgramPlace(packages, folder)
    raise ReleaseFault(
        f"{folder}: contains no program; specify a checkout, or the folder of a release, such as"
        " /opt/table-controller/current"
    )


def sign(place: ProgramPlace, key_file: Path) -> bytes:
    """Return the signed list of a program's files.

    Raises:
        JournalFault: the key's file contains no release key, or other users can read it.
        ReleaseFault: the key's history ends with a different key.
        OSError: a file can't be read.
    """
    key = load_key(key_file, "release")
    public = key.public.raw.hex()
    steps = tuple(history("release", key_file))
    if steps and steps[-1].new != public:
        raise ReleaseFault(
            f"{key_file}: found key {public[:16]}, expected {steps[-1].new[:16] or 'none (it was revoked)'}"
            " according to its history"
        )
    listed = FileList(release=_version(), files=dict(_digests(place)), key=public, history=steps)
    unsigned = msgspec.to_builtins(listed)
    del unsigned["signature"]
    return sign_message(_encode(unsigned), _PURPOSE, key)


def verify(place: ProgramPlace, trusted: Collection[str], *, compiled: bool = True) -> FileList:
    """Verify a program's list and files and, with `compiled`, the compiled copies; return the list.

    The compiled copies are those that this Python would run. Their verification takes about a second.

    Raises:
        ReleaseFault: there is no list, no trusted key signed the list, or files differ from the list.
        OSError: a file can't be read.
    """
    file = place.list_file
    if not file.exists():
        raise ReleaseFault(f"{file}: the release's signed list of files is missing")
    payload = file.read_bytes()
    try:
        listed = bounded(_decode, payload, MAX_LIST_BYTES)
        signed = is_signed(payload, _PURPOSE, PublicKey(bytes.fromhex(listed.key)))
    except (UnreadableMessage, ValueError) as error:
        raise ReleaseFault(f"{file} is not a signed list of files ({error})") from None
    if not signed:
        raise ReleaseFault(f"{file}: found a list without a valid signature by its key {listed.key[:16]}")
    if not any(follows(listed.history, key, listed.key) for key in trusted):
        names = ", ".join(sorted(key[:16] for key in trusted))
        raise ReleaseFault(f"{file}: found a signature by key {listed.key[:16]}, expected one by {names}")
    differences = "; ".join(
        (
            *_differences(listed.files, dict(_digests(place))),
            *(_list_planted(place) if compiled else ()),
        )
    )
    if differences:
        raise ReleaseFault(
            f"{place.home}: found files that differ from release {listed.release}: {differences}"
        )
    return listed


def trusted_keys(file: Path) -> frozenset[str]:
    """Return the release keys in a file.

    Raises:
        ReleaseFault: a key is invalid, or the file contains none.
        OSError: the file can't be read.
    """
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    keys = [(number, key) for number, line in enumerate(lines, 1) for key in line.split()]
    wrong = next((number for number, key in keys if not _is_key(key)), 0)
    if wrong or not keys:
        at = f", line {wrong}" if wrong else ""
        raise ReleaseFault(f"{file}{at}: found no public key, expected {_KEY_DIGITS} hexadecimal digits")
    return frozenset(key.lower() for _, key in keys)


def _is_key(text: str) -> bool:
    return len(text) == _KEY_DIGITS and all(digit in "0123456789abcdefABCDEF" for digit in text)


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if "__pycache__" not in below.parts and (path.is_symlink() or path.is_file()):
            yield f"{name}/{below.as_posix()}", path


def _digests(place: ProgramPlace) -> Iterator[tuple[str, str]]:
    for name, path in place.files():
        # A link is represented by its target's name, because the target might not be a file of the program.
        contents = b"link " + os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        yield name, sha256(contents).hexdigest()


def _differences(signed: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    for what, names in (
        ("changed", [name for name, digest in signed.items() if found.get(name, digest) != digest]),
        ("missing", [name for name in signed if name not in found]),
        ("not on its list", [name for name in found if name not in signed]),
    ):
        if names:
            yield f"{what}: {_first(names)}"


def _list_planted(place: ProgramPlace) -> Iterator[str]:
    sources = [path for _, path in place.files() if path.suffix == ".py" and not path.is_symlink()]
    copies = [str(copy.relative_to(place.packages)) for path in sources for copy in planted_copies(path)]
    if copies:
        yield f"not compiled from their sources: {_first(copies)}"


def _first(names: list[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _version() -> str:
    return metadata.version("table-controller")


NOWHERE = "/proc/none"
"""A folder that can't exist, so Python neither finds nor writes compiled copies there."""


class Difference(msgspec.Struct, frozen=True):
    """The background process's result: a description of the differences, empty if there are none."""

    differs: str


_decode_difference = msgspec.json.Decoder(Difference).decode


def check(keys: Path) -> Difference:
    """Return the differences between this program and its list, which a key in `keys` must have signed."""
    try:
        verify(place_of(), trusted_keys(keys))
    except ReleaseFault as fault:
        return Difference(str(fault))
    except OSError as error:
        return Difference(f"{error.filename}: {error.strerror}")
    return Difference("")


def main(keys: str) -> None:
    """Check this program at the lowest priority, and write the result to standard output."""
    lower_priority()
    sys.stdout.buffer.write(msgspec.json.encode(check(Path(keys))) + b"\n")


class ReleaseCheck:
    """One check of this program in the background; any difference is a fault that locks play."""

    def __init__(self, keys: Path, faults: ActiveFaults) -> None:
        """Compare the program with its list, which a key in the file `keys` must have signed."""
        self._keys = keys
        self._faults = faults
        arguments = ("-B", "-X", f"pycache_prefix={NOWHERE}", "-m", "controller.app.release", str(keys))
        process = BackgroundProcess("release", arguments, faults, accept=self._accept)
        self.start = process.start
        self.stop = process.stop

    def _accept(self, output: bytes) -> bool:
        try:
            found = _decode_difference(output)
        except msgspec.MsgspecError:
            return False
        if found.differs:
            self._faults.report(Fault("release_unverified", str(self._keys), found.differs))
        return True


if __name__ == "__main__":
    main(sys.argv[1])


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
"""The attributes of code objects to compare; `co_filename` is excluded, because it depends on the folder."""
_FILE_NAME = "co_filename"


def planted_copies(source: Path) -> Iterator[Path]:
    """Yield each compiled copy that this Python would run although it differs from the module's source.

    Raises OSError if a file can't be read.
    """
    folder = source.parent / "__pycache__"
    if folder.is_symlink():  # its target could be replaced after the check
        yield folder
        return
    for level, optimize in _LEVELS.items():
        copy = folder / f"{source.stem}.{sys.implementation.cache_tag}{level}.pyc"
        if copy.is_symlink() or (copy.exists() and not _matches(copy.read_bytes(), source, optimize)):
            yield copy


def _matches(copy: bytes, source: Path, optimize: int) -> bool:
    text = source.read_bytes()
    if not _would_run(copy, source, text):
        return True
    try:
        found = marshal.loads(copy[_HEADER:])  # noqa: S302 - not run, and writable only by root
        expected = compile(
            text, getattr(found, _FILE_NAME, str(source)), "exec", dont_inherit=True, optimize=optimize
        )
    except (EOFError, SyntaxError, TypeError, ValueError):
        return False
    return isinstance(found, CodeType) and _comparable(found) == _comparable(expected)


def _would_run(copy: bytes, source: Path, text: bytes) -> bool:
    """Return whether the copy's header matches the source, so that Python's importer would run the copy."""
    if len(copy) < _HEADER or copy[:4] != importlib.util.MAGIC_NUMBER:
        return False
    flags = int.from_bytes(copy[4:8], "little")
    if flags & _HASHED:
        return flags & _CHECKED != _CHECKED or copy[8:16] == importlib.util.source_hash(text)
    found = source.stat()
    written = int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF
    return written == (int.from_bytes(copy[8:12], "little"), int.from_bytes(copy[12:16], "little"))


def _comparable(part: object) -> object:
    """Return a value to compare in place of code or a constant, so that 1, 1.0 and True differ.

    The value for a code object contains its attributes in `_PARTS` and its constants.
    """
    match part:
        case CodeType():
            return (*(getattr(part, name) for name in _PARTS), tuple(map(_comparable, part.co_consts)))
        case tuple():
            return ("tuple", *map(_comparable, part))
        case frozenset():
            return ("frozenset", frozenset(map(_comparable, part)))
    return (type(part).__name__, repr(part))
