"""An attempt that waits for a person appears in the status, the headline, the lamp and every watch."""

import socket
from collections.abc import Iterator
from io import StringIO

import msgspec
import pytest

from controller.app import messages, testing
from controller.app.control import Control
from controller.app.daemon import Daemon
from controller.app.faults import Fault
from controller.app.peers import Groups
from controller.app.status import build_status
from controller.cli.screen import Screen
from controller.cli.status import health, status_lines
from controller.model.readings import DieAt, Switch
from tests.app.house import House, HouseMaker, drain, live_of, play, unlocked
from tests.app.rig import PATIENCE_S, Json
from tests.scenes import SECOND_US, input_at, throw

UNSURE = throw(10 * SECOND_US, (3, 4), confidence=0.4)


def under_review(house: HouseMaker, **settings: object) -> tuple[House, Daemon]:
    one = house(**settings)
    daemon = one.open()
    unlocked(daemon)
    play(daemon, UNSURE)
    return one, daemon


def status_seen(daemon: Daemon) -> Json:
    """Return the status as a client reads it."""
    status = msgspec.json.decode(msgspec.json.encode(build_status(daemon)))
    assert isinstance(status, dict)
    return status


def test_a_review_is_in_the_status_with_what_is_missing_and_the_allowed_inputs(house: HouseMaker) -> None:
    _, daemon = under_review(house)
    awaited = status_seen(daemon)["awaited"]
    assert isinstance(awaited, dict)
    assert (awaited["attempt"], awaited["number"], awaited["state"]) == ("roll", 1, "review")
    assert [reason["code"] for reason in awaited["reasons"]] == ["low_confidence", "low_confidence"]
    assert {"no_roll", "set_dice", "void"} <= set(awaited["may"])
    assert daemon.headline().startswith("Roll 1 is under review (low_confidence): enter ")
    assert live_of(daemon).core.lamps.shown["review"] == "on"


def test_a_review_leaves_the_status_once_a_person_has_ruled(house: HouseMaker) -> None:
    _, daemon = under_review(house)
    play(daemon, [input_at(15 * SECOND_US, "set_dice", dice=[3, 4], what="1")])
    assert status_seen(daemon)["awaited"] is None
    assert daemon.headline() == "table open, unlocked"
    assert live_of(daemon).core.lamps.shown["review"] == "off"


def test_a_throw_cut_off_by_a_restart_is_in_the_status(house: HouseMaker) -> None:
    one, daemon = under_review(house)
    daemon = one.restart(daemon)
    drain(daemon)
    awaited = status_seen(daemon)["awaited"]
    assert isinstance(awaited, dict)
    assert (awaited["number"], awaited["may"]) == (1, ["no_roll", "void"])
    play(daemon, [input_at(20 * SECOND_US, "no_roll")])
    assert status_seen(daemon)["awaited"] is None


@pytest.fixture
def reviewed(house: HouseMaker) -> Iterator[tuple[Daemon, str]]:
    """Yield a table with a review, and its control socket."""
    one, daemon = under_review(house)
    control = Control(daemon, one.options.socket, Groups())
    control.start()
    yield daemon, str(one.options.socket)
    control.stop()


def lines_of(link: socket.socket) -> Iterator[Json]:
    with link.makefile("rb") as lines:
        for line in lines:
            yield msgspec.json.decode(line, type=Json)


def test_a_watcher_that_connects_during_a_review_receives_it_at_once_and_then_its_end(
    reviewed: tuple[Daemon, str],
) -> None:
    daemon, path = reviewed
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(PATIENCE_S)
        link.connect(path)
        link.sendall(b'{"do":"watch","topics":["outcomes"]}\n')
        heard = lines_of(link)
        assert next(heard)["ok"] is True
        awaited = next(heard)["awaited"]
        assert isinstance(awaited, dict)
        assert (awaited["number"], awaited["state"]) == (1, "review")
        play(daemon, [input_at(15 * SECOND_US, "no_roll", what="1")])
        assert next(line for line in heard if "awaited" in line) == {"awaited": None}


def test_the_status_fits_on_a_screen_and_says_what_to_do(house: HouseMaker) -> None:
    _, daemon = under_review(house)
    daemon.faults.report(Fault("recording_failed", "recordings", "no space left"))
    said = "\n".join(status_lines(Screen(StringIO(), {}), status_seen(daemon), everything=False))
    assert "under review: a person must rule" in said
    assert "enter " in said
    assert "do: free space on the recordings' disk" in said
    assert "clears: automatically" in said
    assert len(said.splitlines()) <= 40
    assert "sha256" not in said
    assert "digests" not in said
    assert "digests" in "\n".join(status_lines(Screen(StringIO(), {}), status_seen(daemon), everything=True))


def test_a_lock_is_reported_with_who_set_it_and_what_clears_it(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    play(daemon, [input_at(10 * SECOND_US, "lock", "supervisor", who="ann", reason="the felt is torn")])
    for _ in range(2):
        lock = status_seen(daemon)["locked"]
        assert isinstance(lock, dict)
        assert (lock["by"], lock["who"], lock["cause"]) == ("supervisor", "ann", "the felt is torn")
        assert str(lock["clears"]).startswith("when a member of staff unlocks it")
        daemon = one.restart(daemon)
        drain(daemon)
        live_of(daemon).test()
        drain(daemon)


def test_a_table_that_has_just_started_is_locked_by_the_controller_until_the_self_test(
    house: HouseMaker,
) -> None:
    lock = status_seen(house().open())["locked"]
    assert isinstance(lock, dict)
    assert (lock["by"], lock["cause"]) == ("controller", "self_test")
    assert lock["says"] == "the controller started; play resumes after the self-test"


def test_a_fault_that_a_person_must_clear_outlives_a_restart(house: HouseMaker) -> None:
    one = house()
    daemon = one.open()
    unlocked(daemon)
    daemon.faults.report(Fault("clock_stepped", "wall clock", "changed by +7200 s"))
    drain(daemon)
    daemon = one.restart(one.restart(daemon))
    assert "clock_stepped" in [fault.code for fault in daemon.faults.present]
    daemon.approve_clock()
    drain(daemon)
    daemon = one.restart(daemon)
    assert "clock_stepped" not in [fault.code for fault in daemon.faults.present]


def test_a_failed_sensor_test_outlives_restarts_until_that_sensor_passes(house: HouseMaker) -> None:
    one = house(table="roulette")
    daemon = one.open()
    failed = {"ball_beam 1": "nothing seen", "ball_drop": "nothing seen"}
    testing.GuidedTests(daemon).note_result(
        messages.TestResult(device="wheel", passed=("ball_beam 0",), failed=failed)
    )
    drain(daemon)
    daemon = one.restart(one.restart(daemon))
    assert failed_tests(daemon) == [
        ("wheel, ball_beam 1", "nothing seen"),
        ("wheel, ball_drop", "nothing seen"),
    ]
    testing.GuidedTests(daemon).note_result(messages.TestResult(device="wheel", passed=("ball_beam 1",)))
    drain(daemon)
    daemon = one.restart(daemon)
    assert failed_tests(daemon) == [("wheel, ball_drop", "nothing seen")]
    testing.GuidedTests(daemon).note_result(
        messages.TestResult(device="wheel", failed={"ball_drop": "it rings"})
    )
    drain(daemon)
    daemon = one.restart(daemon)
    assert failed_tests(daemon) == [("wheel, ball_drop", "it rings")]


def failed_tests(daemon: Daemon) -> list[tuple[str, str]]:
    """Return the sensors whose tests failed, with the test results."""
    return [(fault.where, fault.found) for fault in daemon.faults.present if fault.code == "test_failed"]


def test_an_open_door_is_a_fault_with_a_remedy_until_it_is_closed(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    play(daemon, [Switch(t=10 * SECOND_US, dev="box", name="door", open=True)])
    assert [(f.code, f.where) for f in daemon.faults.present] == [("switch_open", "box")]
    play(daemon, [Switch(t=20 * SECOND_US, dev="box", name="door", open=False)])
    assert daemon.faults.present == ()


def test_late_readings_are_a_fault_with_a_remedy_for_a_minute(house: HouseMaker) -> None:
    daemon = house().open()
    unlocked(daemon)
    late = DieAt(t=10 * SECOND_US, dev="cam", die=1, x=1.0, y=1.0, arrived=11 * SECOND_US)
    daemon.clock.reach(11 * SECOND_US)
    drain(daemon)
    play(daemon, [late] * 4)
    assert not daemon.faults.present, "a brief delay is not a fault"
    play(daemon, [late])
    assert [(f.code, f.where) for f in daemon.faults.present] == [("readings_late", "cam")]
    daemon.clock.reach(daemon.clock.now_us() + 61 * SECOND_US)
    drain(daemon)
    assert daemon.faults.present == ()


def test_the_status_describes_each_device_in_words() -> None:
    well: dict[str, object] = {"up": True, "says": "", "readings_per_s": 90.0, "figures": {}, "do": ""}
    assert health(well) == "OK, 90 readings/s"
    away = {**well, "up": False, "last_seen_s": 12.0, "says": "device_down: unplugged", "do": "plug it in"}
    assert health(away) == "offline for 12 s: unplugged; plug it in"
    troubled = {**well, "figures": {"troubles": ["noise"]}, "do": "look at its cable"}
    assert health(troubled) == "faulty: noise; look at its cable"
