"""After any kind of stop, the game, the numbers and the interrupted attempt match the journal."""

import shutil

import msgspec
import pytest

from controller.engine.resume import InFlight, opening_outcomes, resume
from controller.engine.session import Session
from controller.games.registry import game_of
from controller.games.three_card.machine import ThreeCardState
from controller.journal import opening as opening_module
from controller.journal.contents import RecordedFault
from controller.journal.journal import Journal
from controller.journal.opening import Recovered
from controller.journal.writer import Limits
from controller.machines.setup import NextNumbers, State, to_json_values
from controller.model.outcomes import DealReview, Outcome, RollReview, SpinReview
from controller.model.readings import AnyReading, DieReleased
from controller.settings.rulesets import load_ruleset
from tests.journal.rig import (
    NAME,
    Rig,
    Step,
    append,
    begin,
    durable,
    identity,
    recover,
    session_steps,
    setup_at,
    throws,
)
from tests.scenes import SECOND_US, input_at, throw


def cut_off(
    rig: Rig, readings: list[AnyReading], *, state: State | None = None, rows: int = 256
) -> Recovered:
    """Play, and copy the files as a power cut would leave them."""
    journal = rig.open(Limits(rows_between_checkpoints=rows))
    session = Session(setup_at(NextNumbers(), state or State()))
    durable(journal.start(identity(setup_at(NextNumbers(), state or State()))))
    for step in session_steps(session, readings):
        durable(append(journal, step))
    after = Rig(rig.folder / "after", rig.key)
    shutil.copytree(rig.folder, after.folder)
    journal.close()
    return recover(after.place, rig.key.public, NAME)


def opening(recovered: Recovered, rules: str = "craps-12-034") -> tuple[list[Outcome], NextNumbers]:
    """Return the first outcomes of the next session at a table that was locked."""
    locked = msgspec.structs.replace(recovered.state, lock="locked")
    resumed = resume(game_of(load_ruleset(rules).game), locked, recovered.first, recovered.in_flight, ())
    setup = setup_at(resumed.first, resumed.state, recovered.session, rules=rules)
    return opening_outcomes(resumed, setup, 7)


def test_an_empty_journal_recovers_to_the_first_session(rig: Rig) -> None:
    rig.open().close()
    recovered = recover(rig.place, rig.key.public, NAME)
    assert recovered[:4] == (1, State(), NextNumbers(), ())


def test_the_point_and_the_shooter_are_restored(rig: Rig) -> None:
    readings = [
        input_at(1, "new_shooter", seat=4),
        *throw(SECOND_US, (2, 4)),
        input_at(5 * SECOND_US, "dice_collected"),
    ]
    recovered = cut_off(rig, readings)
    assert recovered.state.learned, "the learned loudness of the walls must be kept"
    state = msgspec.structs.replace(recovered.state, call=None, learned={})
    assert state == State(calls="automatic", point=6, shooter=4)
    assert recovered.first == NextNumbers(seq=5, roll=2, round=2)
    assert recovered.session == 2
    assert recovered.in_flight == ()


@pytest.mark.parametrize("rows", [1, 2, 3, 7, 256])
def test_a_session_continues_as_if_nothing_had_happened(rig: Rig, rows: int) -> None:
    """For every cut after the last checkpoint, both parts together have the outcomes of the whole."""
    collected = input_at(25 * SECOND_US, "dice_collected")
    readings = sorted([*throws(9), collected], key=lambda reading: reading.t)
    whole = Session(setup_at(NextNumbers(), State()))
    cut_at = readings.index(collected) + 1
    for reading in readings[:cut_at]:
        whole.feed(msgspec.structs.replace(reading, arrived=reading.t))
    recovered = cut_off(rig, readings[:cut_at], rows=rows)
    assert (recovered.state, recovered.first) == (whole.state(), whole.first())
    again = Session(setup_at(recovered.first, recovered.state, recovered.session))
    published = [
        (o.type, o.seq, o.data) for step in session_steps(again, readings[cut_at:]) for o in step.outcomes
    ]
    assert published == [
        (o.type, o.seq, o.data) for step in session_steps(whole, readings[cut_at:]) for o in step.outcomes
    ]


def test_a_locked_table_is_still_locked(rig: Rig) -> None:
    recovered = cut_off(rig, [input_at(1, "lock"), input_at(2 * SECOND_US, "no_roll")])
    assert recovered.state.lock == "locked"


def test_a_throw_in_flight_is_recovered_as_cut_off(rig: Rig) -> None:
    in_flight = throw(SECOND_US)[:30]
    recovered = cut_off(rig, [*in_flight, DieReleased(t=3 * SECOND_US, dev="cam", die=1, x=450, y=500)])
    assert recovered.in_flight == (InFlight("roll", 1, SECOND_US, review_published=False),)


def test_a_throw_decided_but_not_called_is_recovered_as_cut_off(rig: Rig) -> None:
    """The dice were at rest, but the call was still held and not published."""
    recovered = cut_off(rig, throw(SECOND_US))
    assert [cut.number for cut in recovered.in_flight] == [1]
    assert recovered.state.point is None


def test_a_throw_under_review_stays_under_review(rig: Rig) -> None:
    doubtful = [*throw(SECOND_US, confidence=0.3), input_at(9 * SECOND_US, "nonsense")]
    recovered = cut_off(rig, doubtful)
    assert recovered.in_flight == (InFlight("roll", 1, SECOND_US, review_published=True),)
    published, first = opening(recovered)
    assert published == []
    assert first == recovered.first


@pytest.mark.parametrize("ends", ["no_roll", "called", "ruled"])
def test_a_throw_that_ended_is_not_cut_off(rig: Rig, ends: str) -> None:
    doubtful = throw(SECOND_US, confidence=0.3 if ends == "ruled" else 0.9)
    person = {
        "no_roll": input_at(doubtful[-1].t + 1, "no_roll"),
        "called": input_at(9 * SECOND_US, "settled"),
        "ruled": input_at(9 * SECOND_US, "set_dice", dice=(1, 2)),
    }
    recovered = cut_off(rig, [*doubtful, person[ends], input_at(10 * SECOND_US, "nonsense")])
    assert recovered.in_flight == ()
    assert recovered.first.roll == 2


def test_a_review_that_lapsed_makes_room_for_the_next_throw(rig: Rig) -> None:
    doubtful = throw(SECOND_US, confidence=0.3)
    recovered = cut_off(rig, [*doubtful, *throw(20 * SECOND_US)[:40]])
    assert [(cut.number, cut.review_published) for cut in recovered.in_flight] == [(2, False)]


def test_an_attempt_that_was_cut_off_is_published_as_a_review(rig: Rig) -> None:
    recovered = cut_off(rig, throw(SECOND_US))
    published, first = opening(recovered)
    (outcome,) = published
    assert (outcome.type, outcome.id, outcome.seq) == ("roll.review", f"{NAME}/2/2", 2)
    assert isinstance(outcome.data, RollReview)
    assert outcome.data.roll == 1
    assert [(reason.code, reason.rule) for reason in outcome.data.reasons] == [("power_lost", "C34-INV-2vi")]
    assert first.seq == 3
    after = Rig(rig.folder / "after", rig.key)
    with after.open() as journal:
        durable(journal.start(identity(setup_at(first, recovered.state, recovered.session))))
        durable(append(journal, Step((outcome,), recovered.state, first)))
    again = recover(after.place, rig.key.public, NAME)
    assert again.in_flight == (InFlight("roll", 1, SECOND_US, review_published=True),)
    assert again.first == first


def test_a_spin_without_an_outcome_yet_is_recovered_as_cut_off(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal))
        durable(journal.attempt_begun("spin", 1, 123))
        assert durable(journal.attempt_begun("spin", 1, 124)).rows == ()
    recovered = recover(rig.place, rig.key.public, NAME)
    assert recovered.in_flight == (InFlight("spin", 1, 123, review_published=False),)
    (outcome,), _ = opening(recovered)
    assert isinstance(outcome.data, SpinReview)


def test_a_deal_that_was_cut_off_is_published_as_a_review_that_names_no_card(rig: Rig) -> None:
    with rig.open() as journal:
        durable(begin(journal, rules="three-card-poker-12-014"))
        durable(journal.attempt_begun("deal", 4, 123))
    recovered = recover(rig.place, rig.key.public, NAME)
    assert recovered.in_flight == (InFlight("deal", 4, 123, review_published=False),)
    (outcome,), _ = opening(recovered, "three-card-poker-12-014")
    assert outcome.type == "deal.review"
    assert isinstance(outcome.data, DealReview)
    assert outcome.data.deal == 4
    assert [(reason.code, reason.rule) for reason in outcome.data.reasons] == [("power_lost", "T-IRR-1")]


def test_a_state_that_changed_without_an_outcome_is_recovered(rig: Rig) -> None:
    seated = State(three_card=to_json_values(ThreeCardState(seats=("1", "2"))))
    with rig.open() as journal:
        durable(begin(journal, rules="three-card-poker-12-014"))
        (row,) = durable(journal.append((), seated, NextNumbers())).rows
    assert (row.name, row.body) == ("state.noted", b'{"changed":["three_card"]}')
    recovered = recover(rig.place, rig.key.public, NAME)
    assert recovered.state == seated


def test_every_start_is_a_new_session_and_numbers_continue(rig: Rig) -> None:
    seqs: list[int] = []
    for session in (1, 2, 3):
        with rig.open() as journal:
            assert journal.recovered.session == session
            begin(journal)
            recovered = journal.recovered
            table = Session(setup_at(recovered.first, recovered.state, recovered.session))
            for step in session_steps(table, throws(2, SECOND_US)):
                durable(append(journal, step))
                seqs += [o.seq for o in step.outcomes]
                assert all(o.id == f"{NAME}/{session}/{o.seq}" for o in step.outcomes)
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_start_without_outcomes_uses_up_no_outcome_number(rig: Rig) -> None:
    rig.open().close()
    with rig.open() as journal:
        assert journal.recovered.session == 1


def test_the_open_journal_recovers_the_same(rig: Rig) -> None:
    rig.played(4)
    recovered = recover(rig.place, rig.key.public, NAME)
    with rig.open() as journal:
        assert isinstance(journal, Journal)
        assert journal.recovered == recovered


def test_a_fault_that_is_still_present_is_recovered_however_long_ago_it_began(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening_module, "MIN_VERIFIED_ROWS", 2)
    journal = rig.open(Limits(rows_between_checkpoints=4))
    beam = {"code": "test_failed", "where": "wheel, ball_beam 1", "found": "nothing seen"}
    for name, where in (("fault.began", "wheel, ball_drop"), ("fault.began", beam["where"])):
        durable(journal.note(name, {**beam, "where": where}))
    durable(journal.note("fault.over", {**beam, "where": "wheel, ball_drop"}))
    for _ in range(20):
        durable(journal.note("control.used", {"what": "status"}))
    journal.close()
    recovered = rig.open().recovered
    assert recovered.verified_from > 4
    assert recovered.faults == (RecordedFault(**beam),)
