"""No bet is accepted on a number that may be known, despite stalls, repeats, overtaking and restarts."""

import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from controller.journal.keys import Key
from controller.publish.betting import Announcer
from controller.settlement_service.gate import Gate
from tests.settlement_service.histories import LATENESS_US, SECOND_US, Trouble, World

SECONDS = 20.0
CALM = Trouble()
ROUGH = Trouble(stalls=0.05, stall_us=4 * SECOND_US, repeats=0.2, loses=0.1, restarts=0.02)

EVENINGS = 20
troubles = st.builds(
    Trouble,
    stalls=st.sampled_from((0.0, 0.02, 0.1, 0.5)),
    stall_us=st.sampled_from((1, SECOND_US // 2, 10 * SECOND_US)),
    repeats=st.sampled_from((0.0, 0.3)),
    loses=st.sampled_from((0.0, 0.2)),
    restarts=st.sampled_from((0.0, 0.1)),
    cable=st.just(0.0),
    cable_us=st.just(0),
)


def play(key: Key, seed: int, trouble: Trouble) -> World:
    world = World(key, seed, trouble)
    world.run(SECONDS)
    proof = world.house.proof()
    assert proof.faults == ()
    assert sum(proof.accounts.values()) == 0
    return world


@settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.generate,),  # each seed makes a whole session, so a smaller seed is not simpler
)
@given(seed=st.integers(0, 2**32), trouble=troubles)
def test_no_request_that_came_after_the_table_closed_is_accepted(
    key: Key, seed: int, trouble: Trouble
) -> None:
    world = play(key, seed, trouble)
    assert world.past_posted() == []
    assert kept_margins(world) >= 0
    world.end()


def kept_margins(world: World) -> int:
    """Return the shortest stored time, in us, from a round's last wager to its close."""
    with world.engine.work() as work:
        rows = work.connection.exec_driver_sql(
            "SELECT last_bet_t, closed_t FROM rounds WHERE last_bet_t IS NOT NULL AND closed_t IS NOT NULL"
            " AND bet_session = session"
        ).all()
    return min((closed - last for last, closed in rows), default=0)


def test_on_a_good_day_requests_in_time_are_accepted(key: Key) -> None:
    """Only requests after the close, or within the watermark's delay before it, are refused."""
    world = play(key, 7, CALM)
    assert len(world.granted) > 20
    assert world.past_posted() == []
    world.end()


def test_on_a_rough_day_some_requests_are_still_accepted(key: Key) -> None:
    world = play(key, 7, ROUGH)
    assert world.granted
    assert world.refused
    assert world.past_posted() == []
    world.end()


def without_asking(patch: pytest.MonkeyPatch) -> None:
    """Break the gate so that any statement covers any bet."""

    def accept(gate: Gate, word: object) -> None:
        for nonce, query in gate._queries.items():
            query.statement = word  # type: ignore[assignment]  # a gate that is broken on purpose
            word.heard.setdefault(nonce, 0)  # type: ignore[attr-defined]  # as above

    patch.setattr(Gate, "accept", accept)
    hear = Gate.receive

    def hear_all(gate: Gate, payload: bytes) -> None:
        hear(gate, payload)
        from controller.publish.betting import read_statement  # noqa: PLC0415 - for this change only

        gate.accept(read_statement(payload))

    patch.setattr(Gate, "receive", hear_all)


def without_watermark(patch: pytest.MonkeyPatch) -> None:
    """Break the table so that it answers a query before it has judged earlier readings."""
    note = Announcer.note

    def hasty(announcer: Announcer, betting: object, now_us: int) -> None:
        note(announcer, betting._replace(until_us=now_us), now_us)  # type: ignore[attr-defined]  # broken on purpose

    patch.setattr(Announcer, "note", hasty)


@pytest.mark.parametrize("broken", [without_asking, without_watermark])
def test_these_histories_find_a_broken_gate(key: Key, broken: object) -> None:
    assert LATENESS_US > 0
    with pytest.MonkeyPatch.context() as patch:
        assert callable(broken)
        broken(patch)
        found = 0
        for seed in range(EVENINGS):
            world = World(key, seed, ROUGH)
            world.run(SECONDS)
            found += len(world.past_posted())
            world.end()
            if found:
                break
    assert found


def test_a_wall_clock_that_is_set_back_and_forth_changes_nothing(key: Key) -> None:
    """Acceptance and results do not depend on wall time."""
    trouble = Trouble(stalls=0.2, stall_us=3 * SECOND_US, repeats=0.2)
    steady, jumping = World(key, 5, trouble), World(key, 5, trouble)
    clock = random.Random(5)
    jumping.engine._clock = lambda: clock.randrange(2**52)
    for world in (steady, jumping):
        world.run(SECONDS)
    assert jumping.granted == steady.granted != []
    assert jumping.house.balance("player:cheat") == steady.house.balance("player:cheat")
    assert jumping.past_posted() == []
    assert jumping.house.proof().faults == ()
    for world in (steady, jumping):
        world.end()
