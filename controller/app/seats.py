"""Places at the control socket: each kind of client has some of its own, so that none locks another out."""

import os
import select
import socket
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal

from controller.app.messages import refusal
from controller.app.roles import Peer

Kind = Literal["root", "staff", "settlement", "technician", "others"]

OWN: Mapping[Kind, int] = {"root": 4, "staff": 6, "settlement": 2, "technician": 4, "others": 0}
"""Places that only this kind can have; root's are also the user's that the controller runs as."""
SHARED = 8
"""Places for whoever comes first."""
PLACES = sum(OWN.values()) + SHARED


def kind_of(peer: Peer) -> Kind:
    """Return whose places a client may have: those of the role that needs them most."""
    if peer.uid in (0, os.getuid()):
        return "root"
    if "screen" in peer.roles:
        return "staff"
    ranked: tuple[Literal["staff", "settlement", "technician"], ...] = ("staff", "settlement", "technician")
    return next((role for role in ranked if role in peer.roles), "others")


@dataclass(eq=False)
class Seat:
    """A connection's place."""

    connection: socket.socket
    peer: Peer
    kind: Kind
    since_us: int
    """When it was last heard."""
    busy: bool = False
    """Whether it watches, tests, or is being answered: then only a user with fewer places may have it."""
    taken: bool = False
    """Whether it was given to somebody else: the connection is shut."""


@dataclass
class Seats:
    """Who has a place; any thread may ask."""

    _seats: list[Seat] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def admit(self, connection: socket.socket, peer: Peer, now_us: int) -> Seat | tuple[int, ...]:
        """Give a connection its place; the processes that have those it could have, where there is none.

        Where all are taken it gets the place of the client who has been silent for the longest, of its own
        user or of one who has more places; of the latter one who watches too, rather than none.
        """
        kind = kind_of(peer)
        with self._lock:
            if not self._free(kind):
                spared = self._spared(kind, peer.uid)
                if spared is None:
                    return tuple(sorted({seat.peer.pid for seat in self._of(kind)}))
                self._take_away(spared)
            seat = Seat(connection, peer, kind, now_us)
            self._seats.append(seat)
            return seat

    def leave(self, seat: Seat) -> None:
        """Give a place back."""
        with self._lock:
            if not seat.taken:
                self._seats.remove(seat)

    def heard(self, seat: Seat, now_us: int, *, busy: bool) -> None:
        """Note that a client has spoken, and whether it now waits for what the controller does."""
        with self._lock:
            seat.since_us, seat.busy = now_us, busy

    def _free(self, kind: Kind) -> bool:
        taken = Counter(seat.kind for seat in self._seats)
        shared = sum(max(0, count - OWN[other]) for other, count in taken.items())
        return taken[kind] < OWN[kind] or shared < SHARED

    def _of(self, kind: Kind) -> list[Seat]:
        """Name the places that this kind could have: all of its own kind's, and the shared ones."""
        taken: Counter[Kind] = Counter()
        reach = []
        for seat in self._seats:
            taken[seat.kind] += 1
            if seat.kind == kind or taken[seat.kind] > OWN[seat.kind]:
                reach.append(seat)
        return reach

    def _spared(self, kind: Kind, uid: int) -> Seat | None:
        have = Counter(seat.peer.uid for seat in self._seats)
        spared = [
            seat
            for seat in self._of(kind)
            if have[seat.peer.uid] > have[uid] + 1 or (seat.peer.uid == uid and not seat.busy)
        ]
        return min(spared, key=lambda seat: (seat.busy, seat.since_us), default=None)

    def _take_away(self, seat: Seat) -> None:
        seat.taken = True
        self._seats.remove(seat)
        says = "all places were taken and this one was silent for the longest; connect again"
        with suppress(OSError):
            _, can_take, _ = select.select([], [seat.connection], [], 0)
            if can_take and not seat.busy:
                seat.connection.send(refusal("too_many", says))
        with suppress(OSError):
            seat.connection.shutdown(socket.SHUT_RDWR)
