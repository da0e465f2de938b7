"""Connection slots of the control socket: a user with all his slots takes none from other users."""

import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.app import peers as limits_module
from controller.app.peers import (
    RESERVED_SLOTS,
    SHARED_SLOTS,
    SLOTS,
    ConnectionSlot,
    ConnectionSlots,
    Kind,
    Peer,
    Role,
    kind_of,
)

ROLES: dict[Kind, tuple[Role, ...]] = {
    "root": ("staff", "technician", "settlement"),
    "staff": ("staff",),
    "settlement": ("settlement",),
    "technician": ("technician",),
    "others": (),
}
UIDS: dict[Kind, int] = {"root": 0, "staff": 1001, "settlement": 1002, "technician": 1003, "others": 1004}


def peer(kind: Kind, uid: int | None = None) -> Peer:
    number = UIDS[kind] if uid is None else uid
    return Peer(number, number, f"user-{number}", frozenset(ROLES[kind]))


@pytest.fixture
def connection() -> Iterator[socket.socket]:
    with ExitStack() as open_ones:
        ours, theirs = (open_ones.enter_context(one) for one in socket.socketpair())
        assert theirs
        yield ours


def filled(seats: ConnectionSlots, connection: socket.socket, kind: Kind, *, busy: bool) -> None:
    """Open all the connections that one user of this kind may have."""
    for number in range(SLOTS):
        seat = seats.admit(connection, peer(kind), number)
        if isinstance(seat, ConnectionSlot):
            seats.note_line(seat, number, busy=busy)


@pytest.mark.parametrize("newcomer", list(RESERVED_SLOTS))
@pytest.mark.parametrize("busy", [False, True], ids=["silent", "watching"])
@pytest.mark.parametrize("holder", list(RESERVED_SLOTS))
def test_no_user_shuts_another_out(
    holder: Kind,
    busy: bool,
    newcomer: Kind,
    connection: socket.socket,
) -> None:
    """A technician's silent connections must not shut out root."""
    if holder == newcomer == "root" and busy:
        pytest.skip("root has no second user to admit; the refusal names the holders instead")
    seats = ConnectionSlots()
    filled(seats, connection, holder, busy=busy)
    other = peer(newcomer, uid=UIDS[newcomer] if newcomer == "root" else 2000)
    assert isinstance(seats.admit(connection, other, SLOTS), ConnectionSlot)


def test_a_user_whose_own_connections_are_silent_is_always_admitted(connection: socket.socket) -> None:
    seats = ConnectionSlots()
    filled(seats, connection, "root", busy=False)
    assert isinstance(seats.admit(connection, peer("root"), SLOTS), ConnectionSlot)


def test_a_user_whose_connections_are_all_busy_is_refused_with_the_holders(connection: socket.socket) -> None:
    seats = ConnectionSlots()
    filled(seats, connection, "staff", busy=True)
    assert seats.admit(connection, peer("staff"), SLOTS) == (UIDS["staff"],)


def test_the_connection_that_was_silent_longest_is_closed_with_a_message() -> None:
    seats = ConnectionSlots()
    with ExitStack() as links:
        pairs = [tuple(links.enter_context(one) for one in socket.socketpair()) for _ in range(SHARED_SLOTS)]
        for number, (ours, _) in enumerate(pairs):
            assert isinstance(seats.admit(ours, peer("others"), number), ConnectionSlot)
        assert isinstance(seats.admit(pairs[0][0], peer("others"), SHARED_SLOTS), ConnectionSlot)
        oldest = pairs[0][1]
        assert b"silent the longest" in oldest.recv(1000)
        assert oldest.recv(1000) == b""


def test_a_user_in_every_group_counts_as_staff_and_uid_0_as_root() -> None:
    assert kind_of(peer("root")) == "root"
    assert kind_of(peer("root", uid=1001)) == "staff"
    assert kind_of(peer("others")) == "others"


@given(
    st.lists(
        st.tuples(st.sampled_from(list(RESERVED_SLOTS)), st.integers(0, 3), st.booleans(), st.booleans()),
        max_size=120,
    )
)
def test_connections_never_exceed_the_slots_and_each_kind_keeps_its_reserved_ones(
    steps: list[tuple[Kind, int, bool, bool]],
) -> None:
    seats = ConnectionSlots()
    inside: list[ConnectionSlot] = []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.close()
        for now, (kind, user, busy, leaves) in enumerate(steps):
            if leaves and inside:
                seats.leave(inside.pop(user % len(inside)))
            uid = 0 if kind == "root" else UIDS[kind] * 10 + user
            seat = seats.admit(ours, peer(kind, uid=uid), now)
            if isinstance(seat, ConnectionSlot):
                seats.note_line(seat, now, busy=busy)
                inside.append(seat)
            inside = [one for one in inside if not one.taken]
            taken = Counter(one.kind for one in inside)
            assert len(inside) <= SLOTS
            assert sum(max(0, count - RESERVED_SLOTS[one]) for one, count in taken.items()) <= SHARED_SLOTS
            if not isinstance(seat, ConnectionSlot):
                assert taken[kind] >= RESERVED_SLOTS[kind], "the reserved slots of a kind must stay free"
    assert limits_module.SLOTS == 24
