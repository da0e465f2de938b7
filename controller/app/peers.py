"""Who is at the control socket, what each may do, and how many connections, lines and refusals are allowed.

Each kind of client has connections of its own, so that none locks another out.
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

MAY: Mapping[str, frozenset[Role]] = {
    "watch": frozenset({"staff", "technician", "screen"}),
    "see the table": frozenset({"staff", "technician", "screen"}),
    "speak for a screen": frozenset({"screen"}),
    "timing": frozenset({"technician"}),
    "read past records": frozenset({"technician"}),
    "lock": frozenset({"staff", "technician"}),
    "unlock": frozenset({"staff"}),
    "rule": frozenset({"staff"}),
    "test": frozenset({"technician"}),
    "approve": frozenset({"staff"}),
    "hold pictures": frozenset({"staff", "technician"}),
    "outbox": frozenset({"staff", "technician", "settlement"}),
    "settle": frozenset({"settlement"}),
}
"""The roles that each action requires; whoever can reach the socket may read status and faults."""

INPUT_NEEDS: Mapping[str, str] = {"lock": "lock", "unlock": "unlock", "test_mode": "test"}
"""The action behind a person's input; every other input is a ruling."""


APPROVERS = frozenset({"supervisor", "manager"})
"""Who may approve a changed program, a device or a clock at a screen; other staff call them."""
ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician", *sorted(PLAYER_ROLES))
"""The roles in which a person at a table enters inputs."""


class Groups(NamedTuple):
    """The unix groups whose members are staff, technicians, or the settlement engine's user."""

    staff: str | None = None
    technician: str | None = None
    settlement: str | None = None
    screen: str | None = None
    """The group of the process behind the screens, which enters nothing without a signed token of who is
    there."""


class Peer(NamedTuple):
    """The process at the other end, as the kernel names it."""

    pid: int
    uid: int
    user: str
    roles: frozenset[Role]

    def signed_in_as(self, role: str) -> "Peer":
        """Return what this process may do for a person who has signed in at its screen in this role."""
        return self._replace(roles=frozenset({"technician" if role == "technician" else "staff"}))

    def may(self, deed: str) -> bool:
        """Return whether this peer has permission for `deed`."""
        return bool(self.roles & MAY[deed])


def credentials_of(connection: socket.socket) -> tuple[int, int, int]:
    """Return the process, user and group at the other end, as reported by the kernel."""
    pid, uid, gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return pid, uid, gid


def may_everything(uid: int) -> bool:
    """Return whether this user is root, or the one that the controller runs as."""
    return uid in (0, os.getuid())


def peer_of(connection: socket.socket, groups: Groups) -> Peer:
    """Ask the kernel who has connected; the controller's own user and root may do everything."""
    pid, uid, gid = credentials_of(connection)
    user = str(uid)
    belongs_to = {gid}
    with suppress(KeyError):
        entry = pwd.getpwuid(uid)
        user = entry.pw_name
        belongs_to |= set(os.getgrouplist(user, entry.pw_gid))
    if may_everything(uid):
        return Peer(pid, uid, user, frozenset({"staff", "technician", "settlement", "screen"}))
    roles: set[Role] = set()
    named: tuple[tuple[Role, str | None], ...] = (
        ("staff", groups.staff),
        ("technician", groups.technician),
        ("settlement", groups.settlement),
        ("screen", groups.screen),
    )
    for role, group in named:
        if group is not None and group_id(group) in belongs_to:
            roles.add(role)
    return Peer(pid, uid, user, frozenset(roles))


def group_id(group: str) -> int:
    """Return a group's id; raises LookupError if there is no such group."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise LookupError(f"found no group {group!r} on this machine, expected the name of one") from None


def answered(path: Path) -> bool:
    """Return whether anything listens at this unix socket; raises OSError if that can't be determined."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True


Kind = Literal["root", "staff", "settlement", "technician", "others"]

OWN: Mapping[Kind, int] = {"root": 4, "staff": 6, "settlement": 2, "technician": 4, "others": 0}
"""Places reserved for this kind; root's also serve the user the controller runs as."""
SHARED = 8
"""Shared places, first come first served."""
PLACES = sum(OWN.values()) + SHARED


def kind_of(peer: Peer) -> Kind:
    """Return which kind's places a client may use: those of the role that needs them most."""
    if peer.uid in (0, os.getuid()):
        return "root"
    if "screen" in peer.roles:
        return "staff"
    ranked: tuple[Literal["staff", "settlement", "technician"], ...] = ("staff", "settlement", "technician")
    return next((role for role in ranked if role in peer.roles), "others")


@dataclass(eq=False)
class ConnectionSlot:
    """A connection's place."""

    connection: socket.socket
    peer: Peer
    kind: Kind
    since_us: int
    """When it last sent something."""
    busy: bool = False
    """Whether it watches, tests, or is being answered: only a user with fewer places can take its place."""
    taken: bool = False
    """Whether another client took its place: the connection is closed."""


@dataclass
class ConnectionSlots:
    """Who has a place; any thread may ask."""

    _seats: list[ConnectionSlot] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def admit(self, connection: socket.socket, peer: Peer, now_us: int) -> ConnectionSlot | tuple[int, ...]:
        """Assign a place to a connection; if there is none, return the processes that hold its places.

        If all are taken, it takes the place of the client that has been silent the longest, of its own user
        or of a user with more places; of the latter even one that is watching, if there is no other.
        """
        kind = kind_of(peer)
        with self._lock:
            if not self._free(kind):
                spared = self._spared(kind, peer.uid)
                if spared is None:
                    return tuple(sorted({seat.peer.pid for seat in self._of(kind)}))
                self._take_away(spared)
            seat = ConnectionSlot(connection, peer, kind, now_us)
            self._seats.append(seat)
            return seat

    def leave(self, seat: ConnectionSlot) -> None:
        """Release a place."""
        with self._lock:
            if not seat.taken:
                self._seats.remove(seat)

    def note_line(self, seat: ConnectionSlot, now_us: int, *, busy: bool) -> None:
        """Note that a client has sent a line, and whether it now waits for the controller."""
        with self._lock:
            seat.since_us, seat.busy = now_us, busy

    def _free(self, kind: Kind) -> bool:
        taken = Counter(seat.kind for seat in self._seats)
        shared = sum(max(0, count - OWN[other]) for other, count in taken.items())
        return taken[kind] < OWN[kind] or shared < SHARED

    def _of(self, kind: Kind) -> list[ConnectionSlot]:
        """Return the places that this kind could take: its own and the shared ones."""
        taken: Counter[Kind] = Counter()
        reach = []
        for seat in self._seats:
            taken[seat.kind] += 1
            if seat.kind == kind or taken[seat.kind] > OWN[seat.kind]:
                reach.append(seat)
        return reach

    def _spared(self, kind: Kind, uid: int) -> ConnectionSlot | None:
        have = Counter(seat.peer.uid for seat in self._seats)
        spared = [
            seat
            for seat in self._of(kind)
            if have[seat.peer.uid] > have[uid] + 1 or (seat.peer.uid == uid and not seat.busy)
        ]
        return min(spared, key=lambda seat: (seat.busy, seat.since_us), default=None)

    def _take_away(self, seat: ConnectionSlot) -> None:
        seat.taken = True
        self._seats.remove(seat)
        says = "all places were taken and this one had been silent the longest; reconnect"
        with suppress(OSError):
            _, can_take, _ = select.select([], [seat.connection], [], 0)
            if can_take and not seat.busy:
                seat.connection.send(refusal("too_many", says))
        with suppress(OSError):
            seat.connection.shutdown(socket.SHUT_RDWR)


class Rate(NamedTuple):
    """A burst size and a sustained rate per second."""

    burst: float
    per_s: float


A_CONNECTION = Rate(burst=200, per_s=200)
"""Lines: a screen asks a few times a second, an engine that drains the outbox about a hundred times."""
A_USER = Rate(burst=800, per_s=400)
"""Lines of all connections of one unix user, such as a console's web server with many screens."""
LINE_BYTES = 512
"""This many bytes cost as much as a line: an input fits into them, and no client needs 64 KB each time."""
STATUS_COST = 3.0
"""The additional cost of a status in lines, since it takes that much longer to make."""
A_USERS_CONNECTIONS = Rate(burst=200, per_s=100)
"""New connections of one unix user: each costs a thread and a lookup of the user's groups."""
PER_USER_ACTIONS = Rate(burst=60, per_s=10)
"""Journaled actions of one unix user: no table's staff enter ten inputs a second for long."""


class Bucket:
    """A token bucket on whatever clock it is given; it may be overdrawn, and reports for how long."""

    def __init__(self, rate: Rate, now_us: int) -> None:
        """Start with a full bucket."""
        self._rate = rate
        self._tokens = rate.burst
        self._last_us = now_us

    def wait_s(self, now_us: int, cost: float = 1.0) -> float:
        """Spend tokens; return how long to wait until they are available (0: no wait)."""
        self._fill(now_us)
        self._tokens -= cost
        return max(0.0, -self._tokens / self._rate.per_s)

    def spend(self, now_us: int, cost: float = 1.0) -> bool:
        """Spend tokens; return False if there are not so many now, and nothing is deducted."""
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
        """Return whether it would be full by now, so that a new bucket would be the same."""
        passed_s = (now_us - self._last_us) / 1e6
        return self._tokens + passed_s * self._rate.per_s >= self._rate.burst


class RateLimiter:
    """A bucket for each unix user; any thread may ask."""

    MAX_REMEMBERED = 256
    """Users kept before those whose bucket is full again are dropped."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: dict[int, Bucket] = {}
        self._lock = Lock()

    def wait_s(self, uid: int, now_us: int, cost: float = 1.0) -> float:
        """Spend this user's tokens; return how long to wait until they are available."""
        with self._lock:
            return self._of(uid, now_us).wait_s(now_us, cost)

    def spend(self, uid: int, now_us: int) -> bool:
        """Spend one of this user's tokens; return False if there is none now, and nothing is deducted."""
        with self._lock:
            return self._of(uid, now_us).spend(now_us)

    def _of(self, uid: int, now_us: int) -> Bucket:
        if uid not in self._buckets and len(self._buckets) >= self.MAX_REMEMBERED:
            self._buckets = {who: one for who, one in self._buckets.items() if not one.full(now_us)}
        return self._buckets.setdefault(uid, Bucket(self._rate, now_us))


WINDOW_US = 10_000_000
IN_FULL = 4
"""Refusals of one user and action that get a row each, in a window."""

Note = Callable[[Mapping[str, object]], bool]
"""Journals a row; returns False if there is no room for it now."""


class RefusalKind(NamedTuple):
    """One kind of refusal: who, and what they may not do."""

    uid: int
    user: str
    did: str


class RefusalTally:
    """Counts refusals; any thread may add, and one thread sums them up from time to time."""

    MAX_REMEMBERED = 64
    """Kinds distinguished in one window; the others are summed without a name."""

    def __init__(self) -> None:
        self._since_us: dict[RefusalKind, int] = {}
        self._counts: dict[RefusalKind, int] = {}
        self._untold: dict[RefusalKind, int] = {}
        self._lock = Lock()

    def in_full(self, refused: RefusalKind, now_us: int) -> bool:
        """Count a refusal; return whether it gets a row of its own."""
        with self._lock:
            kind = refused
            if refused not in self._since_us and len(self._since_us) >= self.MAX_REMEMBERED:
                kind = RefusalKind(-1, "others", "others")
            self._since_us.setdefault(kind, now_us)
            self._counts[kind] = self._counts.get(kind, 0) + 1
            if kind is refused and self._counts[kind] <= IN_FULL:
                return True
            self._untold[kind] = self._untold.get(kind, 0) + 1
            return False

    def uncounted(self, refused: RefusalKind) -> None:
        """Note that there was no room for a refusal's own row: it goes into the next sum."""
        with self._lock:
            self._untold[refused] = self._untold.get(refused, 0) + 1

    def sum_up(self, now_us: int, note: Note, *, all_of_it: bool = False) -> None:
        """Journal a sum for each kind whose window is over, or for every kind; rows that do not fit wait."""
        with self._lock:
            over = [
                kind for kind, since in self._since_us.items() if all_of_it or now_us - since >= WINDOW_US
            ]
            sums = [(kind, self._untold.pop(kind, 0)) for kind in over]
            for kind in over:
                del self._since_us[kind]
                self._counts.pop(kind, None)
        for kind, count in sums:
            fields = {"user": kind.user, "uid": kind.uid, "did": kind.did, "granted": False, "count": count}
            if count and not note(fields):
                with self._lock:
                    self._untold[kind] = self._untold.get(kind, 0) + count
                    self._since_us.setdefault(kind, now_us)
