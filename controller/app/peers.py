"""Who is at the control socket: a unix identity, and what it may do."""

import grp
import os
import pwd
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from controller.machines.refusals import PLAYERS

Role = Literal["staff", "technician", "settlement", "screen"]

MAY: Mapping[str, frozenset[Role]] = {
    "watch": frozenset({"staff", "technician", "screen"}),
    "see the table": frozenset({"staff", "technician", "screen"}),
    "speak for a screen": frozenset({"screen"}),
    "timing": frozenset({"technician"}),
    "read the past": frozenset({"technician"}),
    "lock": frozenset({"staff", "technician"}),
    "unlock": frozenset({"staff"}),
    "rule": frozenset({"staff"}),
    "test": frozenset({"technician"}),
    "approve": frozenset({"staff"}),
    "hold pictures": frozenset({"staff", "technician"}),
    "outbox": frozenset({"staff", "technician", "settlement"}),
    "settle": frozenset({"settlement"}),
}
"""What each deed asks for; status and faults anybody may read who can reach the socket."""

INPUT_NEEDS: Mapping[str, str] = {"lock": "lock", "unlock": "unlock", "test_mode": "test"}
"""The deed behind a person's input; every other input is a ruling."""


APPROVERS = frozenset({"supervisor", "manager"})
"""Who takes a changed program, a device or a clock as right at a screen; the rest of the staff call them."""
ROLES = ("boxperson", "dealer", "stickperson", "supervisor", "manager", "technician", *sorted(PLAYERS))
"""Who a person at a table can be, as whom an input is entered."""


class Groups(NamedTuple):
    """The unix groups whose members are staff, technicians, or the settlement engine's user."""

    staff: str | None = None
    technician: str | None = None
    settlement: str | None = None
    screen: str | None = None
    """Of the process that serves screens: it enters nothing without a signed token of who is there."""


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
