"""A late wager counts only if it was confirmed before a die was at rest, despite all delays."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from controller.engine.session import Session
from controller.journal.keys import Key
from controller.model.outcomes import DiceOut
from controller.publish import late
from controller.publish.late import LateWagers
from tests.settlement_service.histories import SECOND_US, Trouble
from tests.settlement_service.late_histories import DiceWorld

SECONDS = 40.0
CALM = Trouble()
ROUGH = Trouble(stalls=0.05, stall_us=2 * SECOND_US, repeats=0.2, loses=0.1, restarts=0.05)
EVENINGS = 20
troubles = st.builds(
    Trouble,
    stalls=st.sampled_from((0.0, 0.02, 0.1, 0.5)),
    stall_us=st.sampled_from((1, SECOND_US // 2, 10 * SECOND_US)),
    repeats=st.sampled_from((0.0, 0.3)),
    loses=st.sampled_from((0.0, 0.2)),
    restarts=st.sampled_from((0.0, 0.1)),
)


def play(key: Key, seed: int, trouble: Trouble) -> DiceWorld:
    world = DiceWorld(key, seed, trouble)
    world.run(SECONDS)
    assert world.house.proof().faults == ()
    return world


@settings(max_examples=10, derandomize=True, deadline=None, database=None, phases=(Phase.generate,))
@given(seed=st.integers(0, 2**32), trouble=troubles)
def test_no_late_wager_is_accepted_unless_fixed_and_confirmed_before_a_die_is_at_rest(
    key: Key, seed: int, trouble: Trouble
) -> None:
    world = play(key, seed, trouble)
    assert world.past_posted() == []
    world.end()


def test_on_a_good_day_a_wager_of_a_quick_crew_is_accepted(key: Key) -> None:
    worlds = [play(key, seed, CALM) for seed in range(4)]
    assert sum(len(world.granted) for world in worlds) > 1
    assert [world.past_posted() for world in worlds] == [[]] * len(worlds)


def without_rows(patch: pytest.MonkeyPatch) -> None:
    """Break the table so that rows count as written when they are passed to the journal."""
    patch.setattr(
        late._Lodged, "is_complete", property(lambda lodged: len(lodged.rows) >= late.REQUIRED_ROWS)
    )


def without_motion(patch: pytest.MonkeyPatch) -> None:
    """Break the table so that its statement does not require a later movement of a die."""
    dice_out = Session.__dict__["dice_out"].fget

    def blind(session: Session) -> DiceOut | None:
        out: DiceOut | None = dice_out(session)
        return None if out is None else out._replace(moving_us=2**62)

    patch.setattr(Session, "dice_out", property(blind))


def by_id_alone(patch: pytest.MonkeyPatch) -> None:
    """Break the table so that a confirmation covers only an id, with the contents that arrived last."""
    lodge = LateWagers.lodge

    def lodges(desk: LateWagers, ask: object, keep: object) -> bool:
        known = desk._lodged.get(ask.wager)  # type: ignore[attr-defined]  # broken on purpose
        if known is not None and not known.published:
            known.ask, known.received_us = ask, 0  # type: ignore[assignment]  # as above
            return True
        return lodge(desk, ask, keep)  # type: ignore[arg-type]  # as above

    patch.setattr(LateWagers, "lodge", lodges)


@pytest.mark.parametrize("broken", [without_rows, without_motion, by_id_alone])
def test_these_histories_find_a_broken_table(key: Key, broken: object) -> None:
    with pytest.MonkeyPatch.context() as patch:
        assert callable(broken)
        broken(patch)
        found = 0
        for seed in range(EVENINGS):
            world = DiceWorld(key, seed, ROUGH)
            world.run(SECONDS)
            found += len(world.past_posted())
            world.end()
            if found:
                break
    assert found
