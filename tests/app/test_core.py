"""The core, step by step: publication, locks, overflow, interrupted attempts, and rotation."""

from threading import Thread

import msgspec
import pytest

from controller.app.core import IDLE_TICK_S
from controller.app.daemon import Daemon
from controller.app.faults import Fault
from controller.app.inlet import NextReading
from controller.app.recording import Rotation
from controller.journal.contents import StateAfterRow
from controller.model.outcomes import RollCalled, RollNoRoll, RollReview, TableEvent
from controller.model.readings import DeviceUp, Input, Switch
from controller.settings.tables import load_table
from tests.app.house import House, HouseMaker, ManualClock, drain, live_of, play, unlocked
from tests.app.rig import PATIENCE_S, until
from tests.scenes import SECOND_US, input_at, throw


def cut_off_in_flight(house: House) -> Daemon:
    """Play until the dice are in the air, cut the power, and restart."""
    daemon = house.open()
    unlocked(daemon)
    for reading in throw(10 * SECOND_US)[:60]:
        daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    drain(daemon)
    assert live_of(daemon).core.view.attempt_open
    return house.restart(daemon)


def test_the_table_opens_locked_until_its_self_test_passes(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    play(daemon, throw(2 * SECOND_US))
    unlocked(daemon)
    play(daemon, throw(10 * SECOND_US))
    assert one.types() == [
        "table.locked",
        "input.refused",
        "table.unlocked",
        "bets.closed",
        "roll.called",
        "bets.opened",
    ]


def test_a_table_whose_time_source_stops_during_a_throw_idles_without_busy_waiting(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = house().open()
    unlocked(daemon)
    play(daemon, throw(10 * SECOND_US)[:60])
    core = live_of(daemon).core
    assert core.view.attempt_open
    waited: list[float] = []

    def nothing_comes(timeout_s: float) -> NextReading:
        waited.append(timeout_s)
        return NextReading(None, core.view.now_us)

    monkeypatch.setattr(daemon.inlet, "take", nothing_comes)
    for _ in range(5):
        core.turn(core._tick_s())
    assert set(waited[1:]) == {IDLE_TICK_S}


def test_a_fault_ends_the_wait_of_an_idle_core_and_locks_the_table(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    core = live_of(daemon).core
    drain(daemon)
    began = Thread(target=daemon.faults.report, args=[Fault("journal_disk_full", "journal", "no space")])
    began.start()
    core.turn(10 * PATIENCE_S)
    began.join()
    drain(daemon)
    assert core.view.state.lock == "locked"


def test_the_self_test_waits_for_the_devices_that_the_table_names(house: HouseMaker) -> None:
    daemon = house(self_test_devices=True).open()
    drain(daemon)
    live_of(daemon).test()
    says_so = {check.name: check for check in live_of(daemon).tested}
    assert not says_so["devices"].ok
    assert "wall-left" in says_so["devices"].says
    assert daemon.why_locked() is not None


def test_an_unlock_at_the_console_before_the_self_test_has_passed_is_refused(
    house: HouseMaker,
) -> None:
    one = house(self_test_devices=True)
    daemon = one.open()
    play(daemon, [input_at(SECOND_US, "unlock")])
    refused = one.outcomes()[-1].data
    assert one.types() == ["table.locked", "input.refused"]
    assert isinstance(refused, TableEvent)
    assert (refused.cause, refused.by) == ("not_ready", "boxperson")
    assert (refused.says or "").startswith("the table can't be unlocked yet: ")
    assert "wall-left" in (refused.says or "")


def test_an_unlock_accepted_by_the_socket_is_refused_if_a_door_opens_before_it_takes_effect(
    house: HouseMaker,
) -> None:
    one = house(unlock="person")
    daemon = one.open()
    drain(daemon)
    core = live_of(daemon).core
    assert daemon.why_locked() is None
    assert daemon.inlet.post(Switch(t=SECOND_US, dev="console", name="door", open=True, arrived=SECOND_US))
    asked = core.enter(Input(t=0, dev="control", name="unlock", by="boxperson"))
    drain(daemon)
    assert asked is not None
    assert asked.wait(0)
    assert asked.refused is not None
    assert asked.refused.code == "not_ready"
    assert "door on console" in asked.message
    assert one.types() == ["table.locked", "input.refused"]


def test_an_unlock_is_refused_while_the_state_of_a_door_is_unknown(house: HouseMaker) -> None:
    """A board comes up shortly before it reports its switches."""
    one = house(self_test_devices=True)
    daemon = one.open()
    devices = sorted(load_table("craps").devices)
    play(daemon, [DeviceUp(t=SECOND_US + n, dev=dev) for n, dev in enumerate(devices)])
    play(daemon, [input_at(2 * SECOND_US, "unlock")])
    (refused,) = [outcome.data for outcome in one.outcomes() if outcome.type == "input.refused"]
    assert isinstance(refused, TableEvent)
    assert "console has not reported its switches" in (refused.says or "")
    play(daemon, [Switch(t=4 * SECOND_US, dev="console", name="door", open=True)])
    assert "open: door on console" in (daemon.why_locked() or "")
    play(daemon, [Switch(t=5 * SECOND_US, dev="console", name="door", open=False)])
    unlocked(daemon)


def test_with_unlock_by_a_person_a_passed_self_test_does_not_unlock_the_table(house: HouseMaker) -> None:
    one = house(unlock="person")
    daemon = one.open()
    drain(daemon)
    live_of(daemon).test()
    drain(daemon)
    assert one.types() == ["table.locked"]
    assert daemon.why_locked() is None


def test_an_open_door_keeps_the_table_locked_until_it_is_closed(house: HouseMaker) -> None:
    daemon = house().open()
    play(daemon, [Switch(t=SECOND_US, dev="console", name="door", open=True)])
    live_of(daemon).test()
    assert daemon.why_locked() is not None
    play(daemon, [Switch(t=2 * SECOND_US, dev="console", name="door", open=False)])
    unlocked(daemon)


def test_a_lock_set_by_a_person_survives_a_restart(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    play(daemon, [input_at(5 * SECOND_US, "lock", reason="dispute")])
    daemon = one.restart(daemon)
    drain(daemon)
    live_of(daemon).test()
    drain(daemon)
    assert live_of(daemon).core.view.held
    assert one.types() == ["table.locked", "table.unlocked", "table.locked"]


def test_bets_closed_without_a_spin_are_published_as_open_at_the_next_start(house: HouseMaker) -> None:
    one = house(table="roulette")
    daemon = one.open()
    unlocked(daemon)
    play(daemon, [input_at(5 * SECOND_US, "no_more_bets", "dealer")])
    daemon = one.restart(daemon)
    drain(daemon)
    closed, opened, locked = one.outcomes()[-3:]
    assert (closed.type, opened.type, locked.type) == ("bets.closed", "bets.opened", "table.locked")
    assert getattr(opened.data, "round", 0) == getattr(closed.data, "round", 0) + 1
    assert live_of(daemon).core.view.first.round == getattr(opened.data, "round", 0)


def test_a_throw_cut_off_by_a_restart_is_reviewed_at_the_start_and_ruled_void_by_a_person(
    house: HouseMaker,
) -> None:
    one = house()
    daemon = cut_off_in_flight(one)
    play(daemon, [input_at(SECOND_US, "void", who="ann")])
    review, locked, ruled, opened = one.outcomes()[-4:]
    assert isinstance(review.data, RollReview)
    assert [reason.code for reason in review.data.reasons] == ["power_lost"]
    assert isinstance(locked.data, TableEvent)
    assert isinstance(ruled.data, RollNoRoll)
    assert [reason.code for reason in ruled.data.reasons] == ["power_lost", "called"]
    assert (ruled.data.roll, ruled.data.by, ruled.data.who) == (1, "boxperson", "ann")
    assert opened.type == "bets.opened"


def test_a_throw_cut_off_by_a_restart_without_a_ruling_is_void_at_the_next_release(house: HouseMaker) -> None:
    one = house()
    daemon = cut_off_in_flight(one)
    unlocked(daemon)
    play(daemon, throw(20 * SECOND_US))
    published = one.outcomes()
    assert [outcome.type for outcome in published][-6:] == [
        "table.unlocked",
        "roll.no_roll",
        "bets.opened",
        "bets.closed",
        "roll.called",
        "bets.opened",
    ]
    void, called = published[-5].data, published[-2].data
    assert isinstance(void, RollNoRoll)
    assert [reason.code for reason in void.reasons] == ["power_lost", "unruled"]
    assert (void.roll, getattr(called, "roll", None)) == (1, 2)
    assert [outcome.seq for outcome in published] == list(range(1, len(published) + 1))


def test_readings_lost_in_flight_raise_a_fault_and_a_review_and_no_call(house: HouseMaker) -> None:
    one = house(capacity=60)
    daemon = one.open()
    unlocked(daemon)
    dice = throw(10 * SECOND_US)
    posted = [daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t)) for reading in dice]
    assert not all(posted)
    assert [fault.code for fault in daemon.faults.locking] == ["inlet_overflow"]
    drain(daemon)
    play(daemon, [input_at(25 * SECOND_US, "inspected", what="nothing")])
    types = one.types()
    assert "roll.called" not in types
    assert "roll.no_roll" not in types
    assert {"roll.review", "device.down", "table.locked"} <= set(types)
    assert live_of(daemon).core.lamps.shown["lock"] == "locked"
    assert "fault.began" in [row.name for row in one.rows()]


def test_each_outcome_names_its_recording_its_time_span_and_a_hash(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    dice = throw(10 * SECOND_US)
    play(daemon, dice)
    row = next(row for row in one.rows() if row.after is not None and row.name == "bets.opened" and row.seq)
    assert row.after is not None
    recording = msgspec.json.decode(row.after, type=StateAfterRow).recording
    assert recording is not None
    assert recording.name == "craps-000001-001"
    assert recording.from_us == dice[0].t
    assert recording.sha256 is not None


def test_a_recording_ends_only_at_rest_and_the_next_one_continues(house: HouseMaker) -> None:
    rotation = Rotation(size=1000, after_us=10**12, quiet_us=5 * SECOND_US)
    one = house(rotation=rotation)
    daemon = one.open()
    unlocked(daemon)
    core = live_of(daemon).core
    play(daemon, throw(10 * SECOND_US, (4, 4)))
    assert core.view.recording == "craps-000001-001"
    daemon.clock.reach(20 * SECOND_US)
    drain(daemon)
    assert core.view.recording == "craps-000001-002"
    play(daemon, throw(30 * SECOND_US, (4, 4)))
    calls = [outcome.data for outcome in one.outcomes() if isinstance(outcome.data, RollCalled)]
    assert [call.call for call in calls] == ["point_set", "point_made"]


def test_a_fault_during_test_mode_locks_the_table_once_test_mode_ends(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    play(daemon, [input_at(5 * SECOND_US, "test_mode", "technician", on=True)])
    daemon.faults.report(Fault("clock_stepped", "wall clock", "an hour"))
    play(daemon, [input_at(10 * SECOND_US, "no_roll")])
    assert "table.locked" not in one.types()[2:]
    play(daemon, [input_at(20 * SECOND_US, "test_mode", "technician", on=False)])
    play(daemon, [input_at(30 * SECOND_US, "inspected", what="nothing")])
    assert one.types()[2] == "table.locked"


def test_a_journal_that_accepts_no_more_rows_halts_the_table(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    live_of(daemon).journal.close()
    for reading in throw(10 * SECOND_US):
        daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    core = live_of(daemon).core
    while core.turn(0):
        pass
    assert core.view.halted
    assert "core_halted" in [fault.code for fault in daemon.faults.locking]
    assert core.lamps.shown["lock"] == "locked"


def test_an_exception_in_the_core_is_a_fault_and_ends_the_daemon_with_exit_code_70(
    house: HouseMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = house().open()

    def defect(_reading: object) -> None:
        raise RuntimeError("raised by the test")

    monkeypatch.setattr(live_of(daemon).core.devices, "note", defect)
    daemon.begin()
    daemon.inlet.post(input_at(1, "no_roll"))
    daemon.run()
    assert daemon.close() == 70
    assert "core_failed" in [fault.code for fault in daemon.faults.present]


class GoingClock(ManualClock):
    """A clock that, once started, advances slightly at each reading of it."""

    def __init__(self) -> None:
        super().__init__()
        self.goes = False

    def now_us(self) -> int:
        self.us += 1000 if self.goes else 0
        return self.us


def test_a_held_call_is_reported_before_an_orderly_stop(house: HouseMaker) -> None:
    """The dice come to rest just before the stop, and the clock runs until the call is made."""
    one, clock = house(), GoingClock()
    one.clock = clock
    daemon = one.open()
    unlocked(daemon)
    daemon.begin()
    readings = throw(10 * SECOND_US, (2, 2))
    before = live_of(daemon).core.view.readings
    for reading in readings:
        assert daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    until(lambda: live_of(daemon).core.view.readings == before + len(readings), "the readings to be taken")
    assert "roll.called" not in one.types()
    clock.goes = True
    assert daemon.close() == 0
    called = next(outcome.data for outcome in one.outcomes() if outcome.type == "roll.called")
    assert isinstance(called, RollCalled)
    assert called.dice == (2, 2)
