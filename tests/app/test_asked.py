"""A client that waits for the answer to an input receives the result once it is on the disk."""

import msgspec

from controller.app.inlet import Inlet, PendingAnswers
from controller.journal.writer import Ticket
from controller.machines.flat import InputRefused
from controller.model.effects import LateReading
from controller.model.readings import Input
from tests.app.house import HouseMaker, ManualClock, drain, live_of, unlocked
from tests.scenes import input_at

LOCK = input_at(0, "lock", "supervisor")


def taken(inlet: Inlet) -> Input:
    reading = inlet.take(0).reading
    assert isinstance(reading, Input)
    return reading


class TestAnswers:
    def test_two_equal_inputs_each_get_their_own_answer(self) -> None:
        inlet = Inlet(ManualClock())
        answers = PendingAnswers(inlet)
        first, second = answers.enter(LOCK), answers.enter(LOCK)
        assert first is not None
        assert second is not None
        answers.record(taken(inlet), None)
        answers.record(taken(inlet), InputRefused("already_locked"), ("unlock",))
        answers.answer(None)
        assert (first.wait(0), first.refused) == (True, None)
        assert second.wait(0)
        assert second.message.startswith("the table is already locked")
        assert second.allowed == ("unlock",)

    def test_an_input_is_not_answered_before_it_is_durable(self) -> None:
        inlet, ticket = Inlet(ManualClock()), Ticket()
        answers = PendingAnswers(inlet)
        asked = answers.enter(LOCK)
        assert asked is not None
        answers.record(taken(inlet), None)
        assert not asked.wait(0)
        answers.answer(ticket)
        assert not asked.wait(0)
        ticket.mark_durable(())
        assert asked.wait(0)

    def test_an_input_for_which_the_inlet_has_no_room_is_refused_at_once(self) -> None:
        inlet = Inlet(ManualClock(), capacity=1)
        answers = PendingAnswers(inlet)
        assert answers.enter(LOCK) is not None
        assert answers.enter(LOCK) is None

    def test_an_input_that_arrives_too_late_is_answered(self) -> None:
        inlet = Inlet(ManualClock())
        answers = PendingAnswers(inlet)
        asked = answers.enter(LOCK)
        assert asked is not None
        answers.record_late([LateReading(reading=taken(inlet), behind_us=1)])
        answers.answer(None)
        assert asked.wait(0)
        assert asked.refused is not None
        assert asked.refused.code == "late"

    def test_an_equal_input_from_a_console_does_not_answer_a_waiting_client(self) -> None:
        inlet = Inlet(ManualClock())
        answers = PendingAnswers(inlet)
        asked = answers.enter(LOCK)
        assert asked is not None
        answers.record(msgspec.structs.replace(taken(inlet)), None)
        answers.answer(None)
        assert not asked.wait(0)


def test_the_core_answers_refused_and_accepted_inputs(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    core = live_of(daemon).core
    refused = core.enter(input_at(0, "settled"))
    daemon.clock.reach(daemon.clock.now_us() + 1000)
    obeyed = core.enter(LOCK)
    daemon.clock.reach(daemon.clock.now_us() + 500_000)
    drain(daemon)
    daemon.clock.reach(daemon.clock.now_us() + 500_000)
    drain(daemon)
    assert refused is not None
    assert obeyed is not None
    assert refused.wait(60)
    assert refused.refused is not None
    assert refused.refused.code == "nothing_to_settle"
    assert "lock" in refused.allowed
    assert obeyed.wait(60)
    assert obeyed.refused is None


def test_a_ruling_on_a_throw_cut_off_by_a_power_failure_is_answered(house: HouseMaker) -> None:
    from tests.app.test_core import cut_off_in_flight  # noqa: PLC0415 the scene belongs to that module

    daemon = cut_off_in_flight(house())
    asked = live_of(daemon).core.enter(input_at(0, "void", reason="power_lost"))
    drain(daemon)
    assert asked is not None
    assert asked.wait(60)
    assert asked.refused is None


def test_a_halted_core_refuses_an_input_as_halted(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    core = live_of(daemon).core
    core._halted = True
    asked = core.enter(LOCK)
    drain(daemon)
    assert asked is not None
    assert asked.wait(60)
    assert asked.refused is not None
    assert asked.refused.code == "halted"
