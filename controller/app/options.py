"""A daemon's start options, apart from the table's own file."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from controller.app.inlet import CAPACITY
from controller.app.peers import Groups
from controller.app.recording import Rotation
from controller.journal.head import JournalLocation

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

    These keep it in a folder of its own (`table-head` for `table`), and so does a copy of both.
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
    """The head file; it should lie on another medium than the journal."""
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
