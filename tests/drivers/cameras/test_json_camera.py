"""Tests of a user's script: only valid lines become readings, and faults are reported."""

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import AnyReading, DeviceDown, DeviceUp, DieAt, DieReleased, DieRest
from drivers.cameras.json_camera import BadClockError, JsonCamera, JsonCameraSettings, ScriptClock
from drivers.device import Device

SECOND_US = 1_000_000
POINT: dict[str, object] = {"kind": "die_at", "die": 1, "x": 450.8, "y": 498.5}


def camera(**other: object) -> JsonCamera:
    made = JsonCamera("cam", JsonCameraSettings(port="unix:/run/table/cam.sock", **other), bytes)  # type: ignore[arg-type]  # each test gives what fits
    made.start(0)
    made.on_open(1000)
    return made


def line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def said(made: JsonCamera, now_us: int, **fields: object) -> list[AnyReading]:
    return made.receive(now_us, line(fields))


def codes(readings: list[AnyReading]) -> list[str]:
    return [str(reading.code) for reading in readings if isinstance(reading, DeviceDown | DeviceUp)]


def test_a_script_is_a_device_that_is_down_until_its_first_good_line() -> None:
    made = JsonCamera("cam", JsonCameraSettings(port="unix:/x"), bytes)
    assert isinstance(made, Device)
    assert codes(made.start(0)) == ["starting"]
    assert codes(made.on_open(1000)) == []
    assert codes(said(made, 2000, kind="alive")) == ["up"]


def test_a_line_is_a_reading_stamped_on_arrival() -> None:
    made = camera()
    up, reading = made.receive(5000, line(POINT))
    assert isinstance(up, DeviceUp)
    assert reading == DieAt(t=5000, dev="cam", die=1, x=450.8, y=498.5, arrived=5000)


def test_a_reading_may_have_all_its_fields() -> None:
    made = camera()
    rest = {
        "kind": "die_rest",
        "die": 2,
        "x": 1,
        "y": 2,
        "up": None,
        "confidence": 1,
        "resting_sides": [1, 2],
    }
    reading = made.receive(5000, line(rest))[-1]
    assert isinstance(reading, DieRest)
    assert (reading.up, reading.resting_sides) == (None, (1, 2))


PLANE = ((0, 0, 100, 1000), (100, 0, 1100, 1000), (100, 100, 1100, 0), (0, 100, 100, 0))


def test_places_in_the_scripts_image_become_places_on_the_table() -> None:
    made = camera(calibration=PLANE)
    reading = said(made, 5000, kind="die_at", die=1, x=25, y=40)[-1]
    assert reading == DieAt(t=5000, dev="cam", die=1, x=350.0, y=600.0, arrived=5000)
    assert codes(said(made, 6000, kind="die_at", die=1, x=True, y=40)) == ["bad_reading"]


def test_a_calibration_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match=r"image points that miss their table points by up to \d"):
        camera(calibration=(*PLANE, (50, 50, 900, 500)))
    with pytest.raises(ValueError, match="found a row of 2 values, expected four: image x, y and table x, y"):
        camera(calibration=((1, 2),))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({**POINT, "x": "450.8"}, "Expected `float`, got `str`"),
        ({**POINT, "die": 3}, "Invalid enum value 3"),
        ({**POINT, "extra": 1}, "unknown field `extra`"),
        ({**POINT, "t": 5}, "expected no `t` with `clock: arrival`"),
        ({**POINT, "dev": "wheel"}, "only the table sets these"),
        ({"kind": "zap"}, "found kind 'zap', expected a kind such as die_at"),
        ({"kind": ["die_at"]}, "found kind"),
        ({"x": 1}, "found kind None"),
    ],
)
def test_a_line_that_is_not_exactly_a_reading_counts_as_a_missed_reading(
    fields: dict[str, object], complaint: str
) -> None:
    made = camera()
    said(made, 2000, kind="alive")
    (down,) = made.receive(50_000, line(fields))
    assert isinstance(down, DeviceDown)
    assert (down.code, down.t) == ("bad_reading", 2000)
    assert complaint in down.reason
    assert codes(made.tick(600_000)) == ["up"]


def test_a_line_that_is_not_json_counts_as_a_missed_reading() -> None:
    made = camera()
    said(made, 2000, kind="alive")
    assert codes(made.receive(3000, b"Traceback (most recent call last):\n")) == ["bad_reading"]


def test_a_silent_script_is_down_until_it_sends_again() -> None:
    made = camera()
    said(made, 2000, kind="alive")
    assert made.next_deadline() == 1_502_000
    assert made.tick(1_501_999) == []
    assert codes(made.tick(1_502_000)) == ["silent"]
    assert codes(said(made, 1_600_000, kind="alive")) == ["up"]


def test_the_port_of_a_silent_script_is_reopened_periodically() -> None:
    made = camera()
    made.tick(2 * SECOND_US)
    assert not made.take_reopen()
    made.tick(made.next_deadline() or 0)
    assert made.take_reopen()
    assert not made.take_reopen()


def test_a_script_that_ends_is_down_and_its_partial_line_is_dropped() -> None:
    made = camera()
    made.receive(2000, line({"kind": "alive"}) + b'{"kind": "die')
    assert codes(made.on_close(3000, "unplugged", "the program ended its connection")) == ["unplugged"]
    assert made.receive(3500, line(POINT)) == []
    made.on_open(4000)
    assert codes(made.receive(5000, line({"kind": "alive"}))) == ["up"]


def test_a_script_that_sends_too_much_is_a_fault_and_costs_no_more_than_its_budget() -> None:
    made = camera(max_per_s=100)
    reported = [reading for n in range(200) for reading in made.receive(10_000 + n * 1000, line(POINT))]
    assert sum(isinstance(reading, DieAt) for reading in reported) <= 71
    assert "babbling" in codes(reported)


def test_dropped_bytes_count_as_missed_readings() -> None:
    made = camera()
    said(made, 2000, kind="alive")
    assert codes(made.on_overflow(3000, 99)) == ["sentences_lost"]


def test_the_status_of_a_script_shows_what_was_received() -> None:
    made = camera()
    made.receive(2000, line({"kind": "alive"}) + b"x\n")
    status = made.status()
    assert (status["lines"], status["bad_lines"], status["connected"]) == (1, 1, True)
    assert made.take_output() == b""


@pytest.mark.parametrize(
    ("wrong", "complaint"), [({"silent_s": 0}, "silent_s: found 0"), ({"max_per_s": 0}, "max_per_s: found 0")]
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        camera(**wrong)


class TestItsOwnClock:
    def test_readings_get_the_time_of_the_quickest_line(self) -> None:
        made = camera(clock="own")
        offset = 7_000_000
        for n, delay in enumerate((9_000, 2_000, 30_000, 5_000)):
            at = 100_000 * (n + 1)
            last = made.receive(at + delay, line({**POINT, "t": at + offset}))[-1]
        assert last.t == 402_000

    def test_a_time_is_required(self) -> None:
        made = camera(clock="own")
        assert codes(made.receive(2000, line(POINT))) == ["bad_reading"]
        assert codes(made.receive(60_000, line({**POINT, "t": 1.5}))) == ["bad_reading"]

    def test_times_are_mapped_within_the_shortest_delay_and_a_millisecond_of_drift(self) -> None:
        rng = Random(4)
        for drift in (100e-6, -100e-6):
            clock = ScriptClock()
            for frame in range(60 * 90):
                seen = frame * 11_111
                arrived = seen + 1500 + int(rng.expovariate(1 / 3000))
                t = clock.to_table(int(seen * (1 + drift)) + 123_456, arrived)
                if frame > 900:
                    assert -1000 <= t - seen <= 1500 + 1000

    def test_one_impossible_time_is_dropped(self) -> None:
        clock = ScriptClock()
        clock.to_table(1_000_000, 1_002_000)
        for wrong in (9_000_000, -9_000_000):
            with pytest.raises(BadClockError, match=r"s from the time that earlier lines imply"):
                clock.to_table(wrong, 1_010_000)
        assert clock.to_table(1_020_000, 1_025_000) == 1_022_000

    def test_a_clock_that_was_set_is_followed_after_three_lines(self) -> None:
        made = camera(clock="own")
        said(made, 5000, kind="alive", t=50_000_000)
        answer = [
            reading
            for n in range(4)
            for reading in said(made, 60_000 + n * 60_000, kind="alive", t=n * 60_000)
        ]
        assert codes(answer) == ["bad_clock", "bad_clock", "bad_clock"]
        assert codes(made.tick(SECOND_US)) == ["up"]


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([b"\n", b'{"kind":"alive"}\n', b'{"t":1}\n']), max_size=10
    )
)
def test_any_bytes_raise_nothing_and_make_no_reading(pieces: list[bytes]) -> None:
    made = camera(clock="own")
    told = [reading for at, piece in enumerate(pieces) for reading in made.receive(5000 + at, piece)]
    assert all(isinstance(reading, DeviceDown | DeviceUp) for reading in told)


# --- lines without timestamps, delayed by a cable ---

RELEASED = b'{"kind":"die_released","die":1,"x":1,"y":2}\n'
ALIVE_LINE = b'{"kind":"alive"}\n'


def released_us(alive_ms: int | None, *lines: tuple[int, bytes]) -> list[int]:
    """Return the times of the releases in these lines, which are given with their arrival times in ms."""
    camera = JsonCamera("cam", JsonCameraSettings(port="unix:/x", alive_ms=alive_ms), bytes)
    camera.on_open(0)
    readings = [one for at_ms, line in lines for one in camera.receive(at_ms * 1000, line)]
    return [one.t for one in readings if isinstance(one, DieReleased)]


def test_C34_MK_1a_a_release_after_a_silence_is_dated_as_of_the_last_line_before_it() -> None:
    """Players saw the release while the cable was stalled and bets were open."""
    steady = [(at, ALIVE_LINE) for at in range(0, 1000, 50)]
    assert released_us(50, *steady, (1400, ALIVE_LINE), (1401, RELEASED)) == [950_000]
    assert released_us(50, *steady, (1400, RELEASED), (1402, RELEASED)) == [950_000, 950_000]


def test_a_release_among_regular_lines_has_its_own_time() -> None:
    steady = [(at, ALIVE_LINE) for at in range(0, 1000, 50)]
    assert released_us(50, *steady, (1000, RELEASED)) == [1_000_000]
    after = [(at, ALIVE_LINE) for at in range(1400, 2000, 50)]
    assert released_us(50, *steady, *after, (2000, RELEASED)) == [2_000_000]


def test_without_a_regular_interval_a_release_has_the_time_of_its_arrival() -> None:
    assert released_us(None, (0, ALIVE_LINE), (1400, RELEASED)) == [1_400_000]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"alive_ms": 0}, "alive_ms: found 0"),
        ({"alive_ms": 50, "clock": "own"}, "alive_ms: found with `clock"),
    ],
)
def test_an_impossible_interval_is_refused(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        JsonCameraSettings(port="unix:/x", **wrong)  # type: ignore[arg-type]  # each case gives what fits
