"""A daemon's start options, apart from the table's own file, and what is wrong with them before a start.

`mistakes_in` and `others_at_work` only look: nothing is made, opened or written. They find a wrong word on
the command line, or a file that nobody has put right. A disk that fails or a damaged journal is no mistake of
whoever starts the table: that locks the table, with its lamp lit.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from controller.app.inlet import CAPACITY
from controller.app.peers import Groups, group_id, is_listening
from controller.app.recording import Rotation
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation
from controller.journal.keys import CREDENTIAL, service_key
from controller.journal.lock import holder_of
from controller.journal.store import last_row_number
from controller.settings.mistakes import Mistake

UnlockBy = Literal["automatic", "person"]

SOCKET = "/run/table/control.sock"
"""The default path of the control socket (in the unit's RuntimeDirectory)."""
JOURNAL = "/var/lib/table"
"""The default folder of the journal (the unit's StateDirectory)."""
JOURNAL_FILE = "journal.db"
"""The journal's name in its folder."""
HEAD_FILE = "journal.head"
"""The head file's name, in the journal's folder or another."""
RECORDINGS = "recordings"
"""The folder of the recordings, in the journal's."""
SHADOW_FILE = "shadow"
"""Marks the folder of a shadow's journal: nobody may settle what it called."""
APPROVED_FILE = "identity.json"
"""What a person approved last, in the journal's folder."""
ENGINE_PIN_FILE = "settlement-engine.json"
"""The engine's key as this table learned it, in the journal's folder."""


def head_beside(journal: Path) -> Path:
    """Return the default head file of a journal's file: beside it, or where the units keep it.

    The units keep it in a folder of its own (`table-head` for `table`), and so does a copy of both.
    """
    beside = journal.with_suffix(Path(HEAD_FILE).suffix)
    folder = journal.absolute().parent
    apart = folder.parent / f"{folder.name}-head" / HEAD_FILE
    # os.path's own word is that a file in a folder closed to this user is not there; pathlib raises.
    return apart if not os.path.exists(beside) and os.path.exists(apart) else beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """One daemon."""

    table: str
    """The table's name or its file's path."""
    journal: Path
    """The folder of the journal, its key and the recordings."""
    socket: Path
    head: Path | None = None
    """The head file; it should be on another medium than the journal."""
    key: Path | None = None
    """The signing key, where systemd gives no credential; made at the very first start."""
    readings: str | None = None
    """A FIFO, unix socket or `-` that readings come from as JSON lines."""
    data_time: bool = False
    """Time is taken from the readings' arrivals: for simulated evenings."""
    self_test_devices: bool = True
    """Whether the self-test waits for the devices that the table's file names."""
    unlock: UnlockBy = "automatic"
    """Whether the self-test unlocks the table, or a person after it."""
    groups: Groups = field(default_factory=Groups)
    socket_group: str | None = None
    sign_in_key: Path | None = None
    """The public key of the sign-in process, whose tokens say who is at a screen; None: none is accepted."""
    release_key: Path | None = None
    """The trusted public release keys; if there are any, one of them must have signed the program."""
    shadow: bool = False
    """Whether it watches a table that is run by hand: it publishes nothing and shows nothing."""
    keep_bytes: int = 2 * 1024**3
    """The most that all recordings together may take."""
    rotation: Rotation = field(default_factory=Rotation)
    capacity: int = CAPACITY
    """Readings that may wait for the core."""

    @property
    def place(self) -> JournalLocation:
        """Where the journal and its head file are."""
        return JournalLocation(self.journal / JOURNAL_FILE, self.head or self.journal / HEAD_FILE)

    @property
    def shadow_mark(self) -> Path:
        """The file that marks a shadow's journal."""
        return self.journal / SHADOW_FILE

    @property
    def key_file(self) -> Path:
        """The signing key's file."""
        return self.key or self.journal / "table.key"

    @property
    def recordings(self) -> Path:
        """The folder of the recordings."""
        return self.journal / RECORDINGS

    @property
    def approved(self) -> Path:
        """The file that holds the identity approved last."""
        return self.journal / APPROVED_FILE


LONGEST_SOCKET = 107
"""Bytes of a unix socket's path (unix(7): sun_path less its NUL)."""
_UNSTORED = frozenset({"bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "mqueue"}) | frozenset(
    {"proc", "pstore", "securityfs", "sysfs", "tracefs"}
)
"""File systems of the kernel's own, which keep no files."""
_FOLDER = "an existing, writable folder"


def mistakes_in(options: Options, environ: Mapping[str, str]) -> Iterator[Mistake]:
    """Find everything that forbids this start; it looks and changes nothing."""
    yield from _groups(options)
    yield from _folder("--journal", options.journal, to_be_made=True)
    if options.head is not None and options.head.parent != options.journal:
        yield from _folder("--head", options.head.parent)
    yield from _shadow(options)
    yield from _key(options, environ)
    yield from _head(options)
    yield from _socket(options.socket)
    if options.readings is not None:
        yield from _readings(options.readings)


def others_at_work(options: Options) -> Iterator[Mistake]:
    """Find other controllers that hold this journal or this socket."""
    holder = holder_of(options.place.journal)
    if holder is not None:
        yield Mistake(
            file=str(options.place.journal),
            found=f"process {holder} holding it",
            expected="no other controller",
            hint="stop that process, or use its control socket",
        )
    if _is_socket(options.socket) and is_listening(options.socket):
        yield Mistake(
            file=str(options.socket),
            found="another controller answering there",
            expected="none",
            hint="stop that one first, or give this one its own --socket",
        )


def _groups(options: Options) -> Iterator[Mistake]:
    named = (*zip(("staff", "technician", "settlement", "screen"), options.groups, strict=True),)
    for role, group in (*named, ("socket", options.socket_group)):
        if group is None:
            continue
        try:
            number = group_id(group)
        except LookupError:
            yield Mistake(
                file=f"--{role}-group",
                found=f"no group {group!r} on this machine",
                expected="the name of one",
                hint=f"getent group lists them; groupadd --system {group} makes it",
            )
            continue
        if role == "socket" and os.geteuid() and number not in {os.getegid(), *os.getgroups()}:
            yield Mistake(
                file="--socket-group",
                found=f"group {group!r}, of which this user is not a member",
                expected="a group that the socket can be given to",
                hint="name it in the unit's SupplementaryGroups, or usermod --append --groups",
            )


def _folder(option: str, folder: Path, *, to_be_made: bool = False) -> Iterator[Mistake]:
    """Check that a folder can be written. A read-only disk is no mistake here: it locks the table."""
    made = folder if folder.exists() or not to_be_made else folder.parent
    wrong = _why_not(made)
    if wrong is not None:
        hint = f"correct {option}, or make it: mkdir -p {made}"
        yield Mistake(file=f"{option} {folder}", found=wrong, expected=_FOLDER, hint=hint)


def _why_not(folder: Path) -> str | None:
    if not folder.exists():
        return f"no folder {folder}"
    if not folder.is_dir():
        return f"{folder}, which is not a folder"
    if (kind := _kept_by_kernel(folder)) is not None:
        return f"{folder}, a file system ({kind}) that keeps no files"
    read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    if not read_only and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return f"{folder}, which this user may not write to"
    return None


def _kept_by_kernel(folder: Path) -> str | None:
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mounted, _, kind = line.partition(" - ")
        if mounted.split()[2] == number and (name := kind.split()[0]) in _UNSTORED:
            return name
    return None


def _shadow(options: Options) -> Iterator[Mistake]:
    """Keep a shadow's journal and a table's apart: what a shadow called must never be settled."""
    marked, begun = options.shadow_mark.exists(), options.place.journal.exists()
    if options.shadow and begun and not marked:
        yield Mistake(
            file=f"--journal {options.journal}",
            found="the journal of a table in play",
            expected="the shadow's own journal, or none yet",
            hint="give the shadow another --journal",
        )
    if marked and not options.shadow:
        yield Mistake(
            file=f"--journal {options.journal}",
            found="a shadow's journal, whose calls must not be settled",
            expected="a table's own journal, or none yet",
            hint="start it with --shadow, or give the table another --journal",
        )


def _key(options: Options, environ: Mapping[str, str]) -> Iterator[Mistake]:
    place, path = options.place, options.key_file
    given = "CREDENTIALS_DIRECTORY" in environ
    if not (given or place.journal.exists() or place.head.exists() or path.exists()):
        if path.parent != options.journal:
            yield from _folder("--key", path.parent)
        return
    try:
        service_key(environ, path)
    except JournalFault as fault:
        hint = fault.kind.next_step
        if given and fault.code == "journal_key_missing":
            hint = f"give it one: LoadCredentialEncrypted={CREDENTIAL}:... in the unit, or --key FILE"
        yield Mistake(file=fault.where, found=fault.found, expected=fault.expected, hint=hint)


def _head(options: Options) -> Iterator[Mistake]:
    """A journal whose head is elsewhere must be told where, or an older copy of it would pass for new."""
    place = options.place
    if options.head is not None or place.head.exists() or not place.journal.exists():
        return
    if holder_of(place.journal) is not None:
        return  # Another controller writes it, which is told already.
    try:
        rows = last_row_number(place.journal)
    except JournalFault:
        return  # It is damaged: the table opens locked, and says so.
    if rows:
        yield Mistake(
            file=f"--journal {options.journal}",
            found=f"a journal of {rows} rows and no {place.head.name} next to it",
            expected="--head FILE with the head file that belongs to it",
            hint=f"if that is lost, give --head {place.head} and then tablectl approve journal",
        )


def _socket(path: Path) -> Iterator[Mistake]:
    if len(os.fsencode(path)) > LONGEST_SOCKET:
        found = f"a path of {len(os.fsencode(path))} bytes"
        yield Mistake(
            file=f"--socket {path}",
            found=found,
            expected=f"{LONGEST_SOCKET} at most",
            hint="choose a shorter folder",
        )
        return
    yield from _folder("--socket", path.parent)
    if path.exists() and not _is_socket(path):
        yield Mistake(
            file=f"--socket {path}",
            found="a file that is not a socket",
            expected="a socket, or nothing",
            hint="give another name, or move that file away",
        )


def _readings(name: str) -> Iterator[Mistake]:
    path = Path(name)
    if name == "-":
        return
    if path.is_dir():
        yield Mistake(
            file=f"--readings {name}",
            found="a folder",
            expected="a FIFO, a unix socket or -",
            hint=f"mkfifo {path / 'readings'}",
        )
    elif not path.exists():
        yield from _folder("--readings", path.parent)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
