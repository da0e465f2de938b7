"""The daemon's start options, and the checks of these options before startup.

The checks find mistakes on the command line and in the files that it names, and change nothing. A failing
disk or a damaged journal is not a mistake: the table starts locked, and its lamp shows the fault.
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
from controller.journal.lock import find_lock_holder
from controller.journal.store import last_row_number
from controller.settings.mistakes import Mistake

UnlockBy = Literal["automatic", "person"]

SOCKET = "/run/table/control.sock"
"""The default path of the control socket, in the unit's RuntimeDirectory."""
JOURNAL = "/var/lib/table"
"""The default folder of the journal, which is the unit's StateDirectory."""
JOURNAL_FILE = "journal.db"
HEAD_FILE = "journal.head"
"""The name of the head file, in the journal's folder or a separate one."""
RECORDINGS = "recordings"
"""The folder of the recordings, in the journal's folder."""
SHADOW_FILE = "shadow"
"""The file that marks the journal of a shadow, whose calls must not be settled."""
APPROVED_FILE = "identity.json"
"""The file of the last approved identity, in the journal's folder."""
ENGINE_PIN_FILE = "settlement-engine.json"
"""The file in the journal's folder with the settlement engine's public key, as learned by this table."""


def default_head(journal: Path) -> Path:
    """Return the default head file of a journal, which is beside the journal or in a separate folder.

    The units use a separate folder, such as `table-head` for `table`.
    """
    adjacent = journal.with_suffix(Path(HEAD_FILE).suffix)
    folder = journal.absolute().parent
    separate = folder.parent / f"{folder.name}-head" / HEAD_FILE
    # If this user may not read the folder, os.path.exists returns False, but pathlib raises.
    return separate if not os.path.exists(adjacent) and os.path.exists(separate) else adjacent


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The start options of one daemon."""

    table: str
    """The table's name, or the path of the table's file."""
    journal: Path
    """The folder of the journal, its key and the recordings."""
    socket: Path
    head: Path | None = None
    """The head file, which should be on a different medium from the journal."""
    key: Path | None = None
    """The file of the signing key, created at the first start; unused if systemd passes a credential."""
    readings: str | None = None
    """A FIFO, a Unix socket or `-` (standard input) with readings as JSON lines."""
    data_time: bool = False
    """Whether the time comes from the readings' arrival times, for simulations."""
    self_test_devices: bool = True
    """Whether the self-test waits for the devices in the table's file."""
    unlock: UnlockBy = "automatic"
    """Whether the table is unlocked automatically when the self-test passes, or only by a person."""
    groups: Groups = field(default_factory=Groups)
    socket_group: str | None = None
    sign_in_key: Path | None = None
    """The public key of the sign-in process; if None, staff screens are refused."""
    release_key: Path | None = None
    """The file of trusted public release keys; if it exists, one of the keys must have signed the program."""
    shadow: bool = False
    """Whether the daemon only watches a table run by people; a shadow publishes and displays nothing."""
    keep_bytes: int = 2 * 1024**3
    """Maximum size of all recordings together, in bytes."""
    rotation: Rotation = field(default_factory=Rotation)
    capacity: int = CAPACITY

    @property
    def place(self) -> JournalLocation:
        """The locations of the journal and its head file."""
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
        """The file of the last approved identity."""
        return self.journal / APPROVED_FILE


MAX_SOCKET_PATH = 107
"""Maximum length of a Unix socket's path in bytes: sun_path without the NUL (unix(7))."""
_UNSTORED = frozenset({"bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "mqueue"}) | frozenset(
    {"proc", "pstore", "securityfs", "sysfs", "tracefs"}
)
_FOLDER = "an existing, writable folder"


def mistakes_in(options: Options, environ: Mapping[str, str]) -> Iterator[Mistake]:
    """Yield every mistake in these options that prevents startup."""
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


def running_controllers(options: Options) -> Iterator[Mistake]:
    """Yield a mistake for each controller that already uses this journal or this socket."""
    holder = find_lock_holder(options.place.journal)
    if holder is not None:
        yield Mistake(
            file=str(options.place.journal),
            found=f"process {holder}, which uses this journal",
            expected="no other controller",
            hint="stop that process, or use its control socket",
        )
    if _is_socket(options.socket) and is_listening(options.socket):
        yield Mistake(
            file=str(options.socket),
            found="another controller, which listens on this socket",
            expected="no other controller",
            hint="stop that controller first, or start this one with a different --socket",
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
                expected="the name of a group",
                hint=f"getent group lists the groups; groupadd --system {group} creates this one",
            )
            continue
        if role == "socket" and os.geteuid() and number not in {os.getegid(), *os.getgroups()}:
            yield Mistake(
                file="--socket-group",
                found=f"group {group!r}, which this user does not belong to",
                expected="a group that this user belongs to",
                hint=f"add the group to the unit's SupplementaryGroups, or run: usermod -aG {group} USER",
            )


def _folder(option: str, folder: Path, *, to_be_made: bool = False) -> Iterator[Mistake]:
    """Yield a mistake if this user can't write to this folder; a read-only disk locks the table instead."""
    made = folder if folder.exists() or not to_be_made else folder.parent
    wrong = _why_unwritable(made)
    if wrong is not None:
        create = "use a folder that this user may write to" if made.exists() else f"run: mkdir -p {made}"
        hint = f"correct {option}, or {create}"
        yield Mistake(file=f"{option} {folder}", found=wrong, expected=_FOLDER, hint=hint)


def _why_unwritable(folder: Path) -> str | None:
    if not folder.exists():
        return f"no folder {folder}"
    if not folder.is_dir():
        return f"{folder}, which is not a folder"
    if (kind := _virtual_file_system(folder)) is not None:
        return f"{folder}, on a file system ({kind}) that stores no files"
    read_only = os.statvfs(folder).f_flag & os.ST_RDONLY
    if not read_only and not os.access(folder, os.W_OK | os.X_OK, effective_ids=True):
        return f"{folder}, which this user may not write to"
    return None


def _virtual_file_system(folder: Path) -> str | None:
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        mounted, _, kind = line.partition(" - ")
        if mounted.split()[2] == number and (name := kind.split()[0]) in _UNSTORED:
            return name
    return None


def _shadow(options: Options) -> Iterator[Mistake]:
    """Yield a mistake if a shadow uses a table's journal, or a table uses a shadow's journal."""
    marked, begun = options.shadow_mark.exists(), options.place.journal.exists()
    if options.shadow and begun and not marked:
        yield Mistake(
            file=f"--journal {options.journal}",
            found="the journal of a table in play",
            expected="the shadow's own journal, or a folder without one",
            hint="choose another --journal for the shadow",
        )
    if marked and not options.shadow:
        yield Mistake(
            file=f"--journal {options.journal}",
            found="a shadow's journal, whose calls must not be settled",
            expected="the table's own journal, or a folder without one",
            hint="add --shadow, or choose another --journal for the table",
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
            hint = f"add LoadCredentialEncrypted={CREDENTIAL}:... to the unit, or use --key FILE"
        yield Mistake(file=fault.where, found=fault.found, expected=fault.expected, hint=hint)


def _head(options: Options) -> Iterator[Mistake]:
    """Yield a mistake if a journal has no head file, without which a rollback would not be detected."""
    place = options.place
    if options.head is not None or place.head.exists() or not place.journal.exists():
        return
    if find_lock_holder(place.journal) is not None:
        return  # `running_controllers` reports the other controller.
    try:
        rows = last_row_number(place.journal)
    except JournalFault:
        return  # The table starts locked, with this fault.
    if rows:
        yield Mistake(
            file=f"--journal {options.journal}",
            found=f"a journal with {rows} rows, but no {place.head.name} next to it",
            expected="--head FILE with the journal's head file",
            hint=f"if the head file is lost, use --head {place.head}, then run tablectl approve journal",
        )


def _socket(path: Path) -> Iterator[Mistake]:
    if len(os.fsencode(path)) > MAX_SOCKET_PATH:
        found = f"a path of {len(os.fsencode(path))} bytes"
        yield Mistake(
            file=f"--socket {path}",
            found=found,
            expected=f"at most {MAX_SOCKET_PATH} bytes",
            hint="choose a folder with a shorter path",
        )
        return
    yield from _folder("--socket", path.parent)
    if path.exists() and not _is_socket(path):
        yield Mistake(
            file=f"--socket {path}",
            found="a file that is not a socket",
            expected="a socket, or no file",
            hint="choose another name, or move that file elsewhere",
        )


def _readings(name: str) -> Iterator[Mistake]:
    path = Path(name)
    if name == "-":
        return
    if path.is_dir():
        yield Mistake(
            file=f"--readings {name}",
            found="a folder",
            expected="a FIFO, a Unix socket or -",
            hint=f"create a FIFO in the folder and specify its path; run: mkfifo {path / 'readings'}",
        )
    elif not path.exists():
        yield from _folder("--readings", path.parent)


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
