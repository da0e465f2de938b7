"""The clients of the control socket: their permissions, connections and rate limits.

Each kind of client has reserved connections, so that no kind can exclude the others.
"""

import grp
import os
import pwd
import select
import socket
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple

from controller.app.messages import refusal
from controller.machines.refusals import PLAYER_ROLES

Role = Literal["staff", "technician", "settlement", "screen"]

PERMISSIONS: Mapping[str, frozenset[Role]] = {
    "watch": frozenset({"staff", "technician", "screen"}),
    "see the table": frozenset({"staff", "technician", "screen"}),
    "act for a screen": frozenset({"screen"}),
    "timing": frozenset({"technician"}),
    "read past records": frozenset({"technician"}),
    "lock": frozenset({"staff", "technician"}),
    "unlock": frozenset({"staff"}),
    "rule": frozenset({"staff"}),
    "test": frozenset({"technician"}),
    "approve": frozenset({"staff"}),
    "hold pictures": frozenset({"staff", "technician"}),
    "read the outbox": frozenset({"staff", "technician", "settlement"}),
    "settle": frozenset({"settlement"}),
}
"""The roles that may perform each action; the requests `status`, `faults` and `board` need no role."""

INPUT_NEEDS: Mapping[str, str] = {"lock": "lock", "unlock": "unlock", "test_mode": "test"}
"""The action in `PERMISSIONS` that covers each input; it is `rule` for inputs that are not listed."""


APPROVERS = frozenset({"supervisor", "manager"})
"""The roles that may approve a changed identity, a device or the clock at a screen."""
ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician", *sorted(PLAYER_ROLES))


class Groups(NamedTuple):
    """The Unix group whose members have each role; None if no group has the role."""

    staff: str | None = None
    technician: str | None = None
    settlement: str | None = None
    screen: str | None = None
    """The group of the screens' server process. The process must send a signed token with each input."""


class Peer(NamedTuple):
    """The process at the other end of a connection, as the kernel identifies it."""

    pid: int
    uid: int
    user: str
    roles: frozenset[Role]

    def signed_in_as(self, role: str) -> "Peer":
        """Return this peer with the permissions of a person signed in at the peer's screen in this role."""
        return self._replace(roles=frozenset({"technician" if role == "technician" else "staff"}))

    def may(self, action: str) -> bool:
        """Return whether this peer may perform this action, a key of `PERMISSIONS`."""
        return bool(self.roles & PERMISSIONS[action])


def credentials_of(connection: socket.socket) -> tuple[int, int, int]:
    """Return the process, user and group ids of the peer, as reported by the kernel."""
    pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid, gid


def has_every_role(uid: int) -> bool:
    """Return whether this user is root or the controller's user."""
    return uid in (0, os.getuid())


def peer_of(connection: socket.socket, groups: Groups) -> Peer:
    """Return the peer, as reported by the kernel; root and the controller's user have all roles."""
    pid, uid, gid = credentials_of(connection)
    user = str(uid)
    member_of = {gid}
    with suppress(KeyError):
        entry = pwd.getpwuid(uid)
        user = entry.pw_name
        member_of |= set(os.getgrouplist(user, entry.pw_gid))
    if has_every_role(uid):
        return Peer(pid, uid, user, frozenset({"staff", "technician", "settlement", "screen"}))
    roles: set[Role] = set()
    named: tuple[tuple[Role, str | None], ...] = (
        ("staff", groups.staff),
        ("technician", groups.technician),
        ("settlement", groups.settlement),
        ("screen", groups.screen),
    )
    for role, group in named:
        if group is not None and group_id(group) in member_of:
            roles.add(role)
    return Peer(pid, uid, user, frozenset(roles))


def group_id(group: str) -> int:
    """Return a group's id; raises LookupError if the group does not exist."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise LookupError(
            f"group {group!r} does not exist on this machine; `getent group` lists the groups"
        ) from None


def is_listening(path: Path) -> bool:
    """Return whether a process listens on this Unix socket; raises OSError if that can't be determined."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True


Kind = Literal["root", "staff", "settlement", "technician", "others"]

RESERVED_SLOTS: Mapping[Kind, int] = {"root": 4, "staff": 6, "settlement": 2, "technician": 4, "others": 0}
"""Connections reserved for each kind of client; `root` includes the controller's user."""
SHARED_SLOTS = 8
SLOTS = sum(RESERVED_SLOTS.values()) + SHARED_SLOTS


def kind_of(peer: Peer) -> Kind:
    """Return the kind whose reserved slots a client may use."""
    if peer.uid in (0, os.getuid()):
        return "root"
    if "screen" in peer.roles:
        return "staff"
    ranked: tuple[Literal["staff", "settlement", "technician"], ...] = ("staff", "settlement", "technician")
    return next((role for role in ranked if role in peer.roles), "others")


@dataclass(eq=False)
class ConnectionSlot:
    """A connection that occupies a slot."""

    connection: socket.socket
    peer: Peer
    kind: Kind
    since_us: int
    """The time of the client's last line."""
    busy: bool = False
    """Whether the client is watching, testing or awaiting an answer; only a user with fewer slots can then
    take the slot.
    """
    taken: bool = False
    """Whether another client has taken the slot; this connection is then closed."""


@dataclass
class ConnectionSlots:
    """The occupied slots; thread-safe."""

    _slots: list[ConnectionSlot] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def admit(self, connection: socket.socket, peer: Peer, now_us: int) -> ConnectionSlot | tuple[int, ...]:
        """Assign a slot to a connection, or return the processes that occupy all the slots.

        If all slots are occupied, the connection takes the slot of the client that has been silent the
        longest. The candidates are the idle clients of the same user, and the clients of users who have at
        least two more slots than this user. A busy client is chosen only if no candidate is idle.
        """
        kind = kind_of(peer)
        with self._lock:
            if not self._has_free(kind):
                other = self._choose_slot(kind, peer.uid)
                if other is None:
                    return tuple(sorted({slot.peer.pid for slot in self._usable_by(kind)}))
                self._take(other)
            slot = ConnectionSlot(connection, peer, kind, now_us)
            self._slots.append(slot)
            return slot

    def leave(self, slot: ConnectionSlot) -> None:
        """Release a slot."""
        with self._lock:
            if not slot.taken:
                self._slots.remove(slot)

    def note_line(self, slot: ConnectionSlot, now_us: int, *, busy: bool) -> None:
        """Note that a client has sent a line, and whether the client now awaits an answer."""
        with self._lock:
            slot.since_us, slot.busy = now_us, busy

    def _has_free(self, kind: Kind) -> bool:
        occupied = Counter(slot.kind for slot in self._slots)
        shared = sum(max(0, count - RESERVED_SLOTS[other]) for other, count in occupied.items())
        return occupied[kind] < RESERVED_SLOTS[kind] or shared < SHARED_SLOTS

    def _usable_by(self, kind: Kind) -> list[ConnectionSlot]:
        """Return the occupied slots that this kind could use: those reserved for it, and shared slots."""
        occupied: Counter[Kind] = Counter()
        usable = []
        for slot in self._slots:
            occupied[slot.kind] += 1
            if slot.kind == kind or occupied[slot.kind] > RESERVED_SLOTS[slot.kind]:
                usable.append(slot)
        return usable

    def _choose_slot(self, kind: Kind, uid: int) -> ConnectionSlot | None:
        """Return the slot that a new connection of this kind and user may take, if any."""
        count = Counter(slot.peer.uid for slot in self._slots)
        candidates = [
            slot
            for slot in self._usable_by(kind)
            if count[slot.peer.uid] > count[uid] + 1 or (slot.peer.uid == uid and not slot.busy)
        ]
        return min(candidates, key=lambda slot: (slot.busy, slot.since_us), default=None)

    def _take(self, slot: ConnectionSlot) -> None:
        slot.taken = True
        self._slots.remove(slot)
        message = "another client needed a slot, and this connection had been silent the longest; reconnect"
        with suppress(OSError):
            _, writable, _ = select.select([], [slot.connection], [], 0)
            if writable and not slot.busy:
                slot.connection.send(refusal("too_many", message))
        with suppress(OSError):
            slot.connection.shutdown(socket.SHUT_RDWR)


class Rate(NamedTuple):
    """A burst size and a sustained rate per second."""

    burst: float
    per_s: float


LINES_PER_CONNECTION = Rate(burst=200, per_s=200)
"""Lines of one connection; a screen sends a few per second, an engine that drains the outbox about 100."""
LINES_PER_USER = Rate(burst=800, per_s=400)
"""Lines of all connections of one Unix user, such as a web server with many screens."""
LINE_BYTES = 512
"""The number of bytes that cost as much as one line; an input's line is shorter than this."""
STATUS_COST = 3.0
"""The additional cost, in lines, of a status request, which takes longer to answer than other requests."""
CONNECTIONS_PER_USER = Rate(burst=200, per_s=100)
"""New connections of one Unix user; each costs a thread and a lookup of the user's groups."""
ACTIONS_PER_USER = Rate(burst=60, per_s=10)
"""Journaled actions of one Unix user; a table's staff enter fewer than ten inputs a second."""


class Bucket:
    """A token bucket that can be overdrawn; all times are from the caller's clock."""

    def __init__(self, rate: Rate, now_us: int) -> None:
        self._rate = rate
        self._tokens = rate.burst
        self._last_us = now_us

    def wait_s(self, now_us: int, cost: float = 1.0) -> float:
        """Spend tokens, and return the wait in seconds until they are available."""
        self._fill(now_us)
        self._tokens -= cost
        return max(0.0, -self._tokens / self._rate.per_s)

    def spend(self, now_us: int, cost: float = 1.0) -> bool:
        """Spend tokens and return True; if there are too few, return False."""
        self._fill(now_us)
        if self._tokens < cost:
            return False
        self._tokens -= cost
        return True

    def _fill(self, now_us: int) -> None:
        passed_s = max(0, now_us - self._last_us) / 1e6
        self._last_us = max(now_us, self._last_us)
        self._tokens = min(self._rate.burst, self._tokens + passed_s * self._rate.per_s)

    def full(self, now_us: int) -> bool:
        """Return whether the bucket is full, and therefore equivalent to a new one."""
        passed_s = (now_us - self._last_us) / 1e6
        return self._tokens + passed_s * self._rate.per_s >= self._rate.burst


class RateLimiter:
    """A token bucket for each Unix user; thread-safe."""

    MAX_USERS = 256
    """The number of users above which full buckets are dropped."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: dict[int, Bucket] = {}
        self._lock = Lock()

    def wait_s(self, uid: int, now_us: int, cost: float = 1.0) -> float:
        """Spend this user's tokens, and return the wait in seconds until they are available."""
        with self._lock:
            return self._bucket_for(uid, now_us).wait_s(now_us, cost)

    def spend(self, uid: int, now_us: int) -> bool:
        """Spend one of this user's tokens and return True; if there is none, return False."""
        with self._lock:
            return self._bucket_for(uid, now_us).spend(now_us)

    def _bucket_for(self, uid: int, now_us: int) -> Bucket:
        if uid not in self._buckets and len(self._buckets) >= self.MAX_USERS:
            self._buckets = {who: one for who, one in self._buckets.items() if not one.full(now_us)}
        return self._buckets.setdefault(uid, Bucket(self._rate, now_us))


WINDOW_US = 10_000_000
MAX_OWN_ROWS = 4
"""Maximum number of refusals of one user and action that are journaled separately within a window."""

Note = Callable[[Mapping[str, object]], bool]
"""Journals a row; returns False if the journal's queue has no room."""


class RefusalKind(NamedTuple):
    """The user and the action that a refusal concerns."""

    uid: int
    user: str
    did: str


class RefusalTally:
    """The counts of refusals without a separate row, which are journaled as totals; thread-safe."""

    MAX_KINDS = 64
    """Maximum number of kinds counted separately in one window; further kinds are counted together."""

    def __init__(self) -> None:
        self._since_us: dict[RefusalKind, int] = {}
        self._counts: dict[RefusalKind, int] = {}
        self._pending: dict[RefusalKind, int] = {}
        """The number of refusals that are not journaled yet, by kind."""
        self._lock = Lock()

    def gets_own_row(self, refused: RefusalKind, now_us: int) -> bool:
        """Count a refusal; return whether to journal it in a separate row."""
        with self._lock:
            kind = refused
            if refused not in self._since_us and len(self._since_us) >= self.MAX_KINDS:
                kind = RefusalKind(-1, "others", "others")
            self._since_us.setdefault(kind, now_us)
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if kind is refused and self._counts[kind] <= MAX_OWN_ROWS:
                return True
            self._pending[kind] = self._pending.get(kind, 0) + 1
            return False

    def add_to_sum(self, refused: RefusalKind) -> None:
        """Add a refusal to the next total, because the journal had no room for a separate row."""
        with self._lock:
            self._pending[refused] = self._pending.get(refused, 0) + 1

    def sum_up(self, now_us: int, note: Note, *, all_of_it: bool = False) -> None:
        """Journal the total of each kind whose window is over; with `all_of_it`, of every kind.

        A total for which the journal has no room is added to the next one.
        """
        with self._lock:
            over = [
                kind for kind, since in self._since_us.items() if all_of_it or now_us - since >= WINDOW_US
            ]
            sums = [(kind, self._pending.pop(kind, 0)) for kind in over]
            for kind in over:
                del self._since_us[kind]
                self._counts.pop(kind, None)
        for kind, count in sums:
            fields = {"user": kind.user, "uid": kind.uid, "did": kind.did, "granted": False, "count": count}
            if count and not note(fields):
                with self._lock:
                    self._pending[kind] = self._pending.get(kind, 0) + count
                    self._since_us.setdefault(kind, now_us)
