"""The replay of a live run with all its threads reproduces the outcomes byte for byte."""

import threading
import time
from itertools import groupby

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.app.recording import Rotation
from controller.model.readings import AnyReading
from drivers.sim import dice, wheel
from drivers.sim.scenes import Feed
from tests.app.house import House, HouseMaker, live_of, unlocked
from tests.app.pieces import last_session, recorded_hashes, recordings_named, replayed
from tests.app.rig import PATIENCE_S, until
from tests.scenes import SECOND_US, throw

FASTER = 10
"""Factor by which the table's clock runs faster, which also magnifies the delays between threads."""


class FastClock:
    """The machine's monotonic clock in accelerated time."""

    def __init__(self) -> None:
        self._start = time.monotonic_ns()

    def now_us(self) -> int:
        return (time.monotonic_ns() - self._start) * FASTER // 1000

    def reach(self, now_us: int) -> None:
        """Do nothing."""


def post(daemon: Daemon, readings: list[tuple[int, AnyReading]], start_us: int) -> None:
    """Post each device's readings at their times, one thread per device."""
    pause = threading.Event()
    for arrived, reading in readings:
        due = start_us + arrived
        while (early := due - daemon.clock.now_us()) > 0:
            pause.wait(early / FASTER / 1e6)
        daemon.inlet.post(msgspec.structs.replace(reading, t=start_us + reading.t, arrived=None))


def by_device(feed: Feed) -> list[list[tuple[int, AnyReading]]]:
    ordered = sorted(feed, key=lambda item: item[1].dev)
    return [list(group) for _, group in groupby(ordered, key=lambda item: item[1].dev)]


def stopped_in_flight(one: House, readings: list[tuple[int, AnyReading]], runs_on_us: int) -> list[bytes]:
    """Post readings, advance time, and stop in order; return the outcomes after the start."""
    daemon = one.open()
    unlocked(daemon)
    live_of(daemon).recorder.start()
    core = live_of(daemon).core
    for arrived, reading in readings:
        daemon.inlet.post(msgspec.structs.replace(reading, arrived=arrived))
        core.turn(0)
    daemon.clock.reach(daemon.clock.now_us() + runs_on_us)
    core.turn(0)
    core.drain()
    assert live_of(daemon).recorder.stop(PATIENCE_S)
    daemon.close()
    _, rows = last_session(one.rows())
    return [row.body for row in rows if row.body and b'"cause":"self_test"' not in row.body]


def test_dice_in_the_air_at_a_stop_are_reviewed_by_the_next_session(house: HouseMaker) -> None:
    one = house()
    dice = [(reading.t, reading) for reading in throw(10 * SECOND_US)[:60]]
    live = stopped_in_flight(one, dice, SECOND_US)
    assert b"bets.closed" in live[-1]
    assert live == replayed(one.options.recordings, last_session(one.rows())[0])


def test_a_recording_cut_off_in_flight_records_how_far_time_had_run(house: HouseMaker) -> None:
    """Time alone closes the bets, between the ball's last pulse and the stop."""
    one = house(table="roulette")
    _, feed, scenes = wheel.simulate(3, {"valid": 1.0}, 1, wheel=wheel.AMERICAN)
    drop_us = scenes[0].truth.drop_us
    assert drop_us is not None
    before = [(arrived, reading) for arrived, reading in feed if arrived < drop_us - 3_500_000]
    live = stopped_in_flight(one, before, 2 * SECOND_US)
    assert b"ball_speed" in live[-1]
    assert live == replayed(one.options.recordings, last_session(one.rows())[0])


@pytest.mark.parametrize("game", ["craps", "roulette"])
def test_a_live_run_and_the_replay_of_its_recordings_give_the_same_bytes(
    house: HouseMaker, game: str
) -> None:
    if game == "craps":
        _, feed, _ = dice.simulate(21, {"valid": 3.0, "one_short": 1.0, "off_table": 1.0}, 8)
    else:
        _, feed, _ = wheel.simulate(22, {"valid": 1.0}, 4, wheel=wheel.AMERICAN)
    rotation = Rotation(size=20_000, after_us=10**12, quiet_us=0)
    one = house(table=game, rotation=rotation)
    one.clock = FastClock()
    daemon = one.open()
    daemon.begin()
    until(lambda: live_of(daemon).journal.waiting == 0, "the first rows")
    live_of(daemon).test()
    until(lambda: live_of(daemon).core.view.state.lock == "unlocked", "the self-test")
    start_us = daemon.clock.now_us() + 1_000_000
    posters = [
        threading.Thread(target=post, args=(daemon, readings, start_us)) for readings in by_device(feed)
    ]
    for poster in posters:
        poster.start()
    for poster in posters:
        poster.join()
    daemon.close()
    setup, rows = last_session(one.rows())
    folder = one.options.recordings
    own = [row.body for row in rows if b'"cause":"self_test"' in (row.body or b"")]
    live = [row.body for row in rows if row.body not in own]
    assert len(live) > 8
    assert live == replayed(folder, setup)
    assert recordings_named(rows, folder)
    assert all(len(list(recorded_hashes(path))) > 1 for path in folder.glob("*.jsonl.gz"))
    if game == "craps":
        assert len(list(folder.glob("*.jsonl.gz"))) > 1, (
            "no recording was rotated, so rotation was not tested"
        )
