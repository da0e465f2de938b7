"""Tests of an SS2 wheel: readings, silence, faults, and the check of its settings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, WheelStatus
from drivers.device import Device
from drivers.ss2.device import TYPE, Ss2Settings, Ss2Wheel
from drivers.ss2.protocol import SELF_TEST
from tests.wheels import frame, heard, reports

SECOND_US = 1_000_000
APPROVED = {"m": (1.5,), "r": (28000.0, 32000.0)}


def kinds(readings: list[AnyReading]) -> list[tuple[str, str]]:
    """Return the device's health reports, each as down, up or fault with the code."""
    names = {DeviceDown: "down", DeviceUp: "up", DeviceFault: "fault"}
    return [
        (names[type(r)], str(r.code)) for r in readings if isinstance(r, DeviceDown | DeviceUp | DeviceFault)
    ]


def joined(wheel: Ss2Wheel, now_us: int) -> list[AnyReading]:
    """Open the wheel's port and receive the first line end."""
    return [*wheel.on_open(now_us), *wheel.receive(now_us, b"\r\n")]


def tick_until(wheel: Ss2Wheel, end_us: int) -> list[AnyReading]:
    readings: list[AnyReading] = []
    while (due := wheel.next_deadline()) is not None and due <= end_us:
        readings += wheel.tick(due)
    return readings


def answer(wheel: Ss2Wheel, now_us: int, replies: dict[bytes, bytes]) -> list[AnyReading]:
    """Answer each command of the device according to this table of replies."""
    readings: list[AnyReading] = []
    while output := wheel.take_output():
        for command in output.split(b"\r")[:-1]:
            if command in replies:
                readings += wheel.receive(now_us, replies[command] + b"\r\n")
    return readings


RIGHT = {b"*T M": b"*T m 1.5", b"*T R": b"*T r 28000 32000", b"*O": b"*O 1 1 60 1157"}


def test_a_frame_becomes_a_reading_and_the_first_one_shows_that_the_wheel_is_up() -> None:
    readings = heard(["*X;3;017; 7;2;171;1"])
    assert kinds(readings) == [("up", "up")]
    assert reports(readings) == [
        WheelStatus(
            t=10_000_001,
            dev="ss2",
            state=3,
            spin=17,
            number="7",
            flags=2,
            rotor_rpm_x10=171,
            direction="ccw",
        )
    ]


def test_the_announced_number_is_reported_with_the_frame_that_follows_it() -> None:
    readings = reports(heard([frame(4, 30, " 7"), " 8", frame(5, 30, " 8"), frame(5, 30, " 8")]))
    assert [reading.announced for reading in readings] == [None, "8", None]


def test_frames_of_one_burst_keep_their_order() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
    burst = "\r\n".join([frame(5, 9, "31"), frame(2, 10, "31"), ""]).encode()
    readings = reports(wheel.receive(SECOND_US, burst))
    assert [reading.state for reading in sorted(readings, key=lambda r: r.t)] == [5, 2]
    assert len({reading.t for reading in readings}) == 2


def test_three_missing_frames_are_reported_with_the_next_frame_and_two_are_not() -> None:
    said = [frame(4, 30, " 7")]
    assert [w.unheard_ms for w in reports(heard([*said, "", "", *said]))] == [0, 0]
    assert [w.unheard_ms for w in reports(heard([*said, "", "", "", *said]))] == [0, 2000]


def test_five_seconds_of_silence_are_a_lost_wheel_and_the_next_frame_brings_it_back() -> None:
    readings = heard([frame(2, 9, "31"), *[""] * 11, frame(2, 9, "31")])
    assert kinds(readings) == [("up", "up"), ("down", "silent"), ("up", "up")]
    lost = next(reading for reading in readings if isinstance(reading, DeviceDown))
    assert lost.t == 10_000_000 + 5 * SECOND_US


def test_a_wheel_that_never_sends_is_lost_and_reported_once() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    joined(wheel, 0)
    assert kinds(tick_until(wheel, 60 * SECOND_US)) == [("down", "silent")]


def test_a_lost_link_is_reported_and_a_partial_line_is_dropped() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    wheel.receive(0, frame(4, 9, "31").encode() + b"\r\n*X;5;009;")
    assert kinds(wheel.on_close(SECOND_US, "unplugged", "it was pulled")) == [("down", "unplugged")]
    joined(wheel, 2 * SECOND_US)
    readings = wheel.receive(2 * SECOND_US, b"22;0;160;0\r\n" + frame(2, 10, "22").encode() + b"\r\n")
    assert kinds(readings)[0] == ("up", "up")
    assert [word.state for word in reports(readings)] == [2]


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        ([frame(4, 9, "31"), frame(4, 9, "31", flags="4")], "component"),
        ([frame(4, 9, "31", rpm=953)], "rotor_speed"),
        ([frame(4, 9, "31", rpm=0)], "rotor_speed"),
        ([frame(7, 9, "31")], "unknown_state"),
        (["*F 21"], "self_test_21"),
        (["*Y;1;123;29"], "licence"),
        (["*Y;1;999;00"], "licence"),
        ([frame(5, 140, "31"), frame(6, 1, "  ", rpm=0)], "power_cycle"),
        ([frame(2, 3, "28"), frame(2, 2, "32")], "power_cycle"),
        ([frame(4, 31, "18"), frame(2, 32, "22")], "missed_games"),
        ([frame(5, 31, "18"), frame(2, 35, "22")], "missed_games"),
        ([frame(5, 31, "18"), frame(5, 31, "19")], "number_changed"),
    ],
)
def test_faults_are_reported_by_their_code(lines: list[str], code: str) -> None:
    assert [answers for answers in kinds(heard(lines)) if answers[0] == "fault"] == [("fault", code)]


def test_a_wheel_without_its_last_number_was_powered_off_though_its_spin_number_is_the_same() -> None:
    (fault,) = [r for r in heard([frame(2, 9, "31"), frame(2, 9, "  ")]) if isinstance(r, DeviceFault)]
    assert fault.code == "power_cycle"
    assert "the wheel was powered off; it no longer has its last number, 31" in fault.reason


def test_an_impossible_rotor_speed_is_a_fault_until_the_speed_is_right_again_in_play() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
    assert kinds(heard([frame(4, 9, "31", rpm=953)], wheel=wheel))[-1] == ("fault", "rotor_speed")
    assert wheel.status()["troubles"] == ["rotor_speed"]
    assert kinds(heard([frame(5, 9, "31", rpm=953), frame(2, 10, "31", rpm=0)], wheel=wheel)) == []
    assert kinds(heard([frame(3, 10, "31", rpm=160)], wheel=wheel)) == [("up", "up")]
    assert wheel.status()["troubles"] == []


def test_a_self_test_fault_stays_until_the_next_self_test_finds_nothing() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
    answers = heard([frame(6, 9, "31", rpm=0), "*F 11", "*F 22"], wheel=wheel)
    assert kinds(answers)[1:] == [("fault", "self_test_11"), ("fault", "self_test_22")]
    assert wheel.status()["troubles"] == ["self_test_11", "self_test_22"]
    assert kinds(heard(["*F 0"], wheel=wheel)) == [("up", "up")]


def test_each_code_of_the_self_test_has_its_own_remedy_and_an_unknown_one_refers_to_the_manual() -> None:
    remedies = [TYPE.causes[f"self_test_{code}"].do for code in SELF_TEST if code]
    assert len(set(remedies)) == len(remedies)
    assert all(remedy.endswith("then: tablectl approve device") for remedy in remedies)
    (answers,) = [reading for reading in heard(["*F 77"]) if isinstance(reading, DeviceFault)]
    assert (answers.code, answers.reason.partition(";")[0]) == ("self_test", "self-test: unknown code 77")


def test_every_fault_of_a_wheel_says_what_to_do_about_it() -> None:
    lines = [
        frame(4, 9, "31", rpm=953),
        frame(5, 9, "31"),
        frame(2, 3, "28", flags="4"),
        "*Y;1;123;29",
        "*F 21",
    ]
    answers = [reading for reading in heard(lines) if isinstance(reading, DeviceFault)]
    codes = [reading.code for reading in answers]
    assert codes == ["rotor_speed", "component", "power_cycle", "licence", "self_test_21"]
    for reading in answers:
        assert reading.reason.endswith(f"; {TYPE.causes[str(reading.code)].do}")


def test_a_fault_that_lasts_is_reported_once_a_game() -> None:
    game = [frame(4, 9, "31", flags="4")] * 5
    again = [frame(5, 9, "31"), frame(4, 10, "31", flags="4")]
    fault, up = ("fault", "component"), ("up", "up")
    assert kinds(heard([*game, *again])) == [up, fault, up, fault]


@pytest.mark.parametrize(
    "lines",
    [
        [frame(5, 256, "31"), frame(2, 1, "31")],
        [frame(5, 256, "31"), frame(2, 0, "31")],
        [frame(5, 9, "31"), frame(2, 10, "31")],
        [frame(2, 9, "31", rpm=0), frame(2, 9, "31", rpm=0, direction=1)],
        ["*F 0"],
        ["*Y;1;123"],
        ["5; 9;0;158;0"],
    ],
)
def test_normal_states_are_not_faults(lines: list[str]) -> None:
    assert [answers for answers in kinds(heard(lines)) if answers[0] == "fault"] == []


def test_state_7_is_not_a_fault_on_a_wheel_that_is_set_to_report_it() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", state_7=True, listen_only=True))
    assert kinds(heard([frame(7, 9, "31")], wheel=wheel)) == [("up", "up")]


def test_dropped_bytes_are_a_fault_and_the_next_frame_counts_as_late() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
    wheel.receive(0, frame(4, 9, "31").encode() + b"\r\n*X;4;009;")
    assert kinds(wheel.on_overflow(500_000, 4096)) == [("fault", "sentences_lost")]
    (word,) = reports(wheel.receive(500_000, b"31;0;160;0\r\n" + frame(5, 9, "22").encode() + b"\r\n"))
    assert word.unheard_ms == 500


def test_a_started_wheel_is_down_until_it_sends() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    assert kinds(wheel.start(0)) == [("down", "starting")]
    assert kinds(heard([frame(1, 1, "  ")], wheel=wheel)) == [("up", "up")]


def test_a_silent_wheel_has_its_port_reopened_every_ten_seconds() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    joined(wheel, 0)
    tick_until(wheel, 6 * SECOND_US)
    assert [wheel.take_reopen(), wheel.take_reopen()] == [True, False]
    tick_until(wheel, 16 * SECOND_US)
    assert [wheel.take_reopen(), wheel.take_reopen()] == [True, False]


def test_a_technician_sees_counts_and_the_last_malformed_line() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    heard([frame(4, 9, "31"), "5; 9;0;158;0"], wheel=wheel)
    status = wheel.status()
    assert (status["frames"], status["malformed"], status["last_malformed"]) == (1, 1, "5; 9;0;158;0")


def test_the_wheel_is_a_device_type_that_a_table_can_name() -> None:
    assert isinstance(TYPE.make("wheel", Ss2Settings(port="/dev/table-wheel"), bytes), Device)


# --- settings ---


def test_the_wheel_counts_as_up_once_its_settings_were_read_back_as_approved() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved=APPROVED, approved_mode=1157))
    assert kinds(joined(wheel, 0)) == [("down", "unchecked")]
    readings = wheel.receive(0, frame(1, 1, "  ").encode() + b"\r\n")
    assert (kinds(readings), wheel.up) == ([], False)
    assert kinds(answer(wheel, SECOND_US, RIGHT)) == [("up", "up")]
    assert wheel.up


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({b"*T M": b"*T m 20000.0"}, "parameter m: found 20000, expected 1.5"),
        ({b"*T R": b"*T r 23000 32000"}, "parameter r: found 23000 32000, expected 28000 32000"),
        ({b"*O": b"*O 6 1 60 1159"}, "mode: found 1159, expected 1157"),
    ],
)
def test_a_setting_that_differs_keeps_the_wheel_down(wrong: dict[bytes, bytes], says: str) -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved=APPROVED, approved_mode=1157))
    joined(wheel, 0)
    readings = wheel.receive(0, frame(1, 1, "  ").encode() + b"\r\n")
    readings += answer(wheel, SECOND_US, RIGHT | wrong)
    assert kinds(readings) == [("down", "configuration")]
    assert (wheel.up, wheel.differences) == (False, (says,))


def test_a_busy_or_silent_wheel_is_queried_again_until_it_answers() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved={"m": (1.5,)}))
    joined(wheel, 0)
    wheel.receive(0, frame(6, 1, "  ").encode() + b"\r\n")
    assert kinds(answer(wheel, 0, {b"*T M": b"*T BUSY"})) == []
    tick_until(wheel, 4 * SECOND_US)
    assert kinds(answer(wheel, 4 * SECOND_US, RIGHT)) == [("up", "up")]


def test_after_a_power_cycle_the_settings_are_read_back_again() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved={"m": (1.5,)}))
    joined(wheel, 0)
    wheel.receive(0, frame(5, 140, "31").encode() + b"\r\n")
    answer(wheel, 0, RIGHT)
    readings = wheel.receive(SECOND_US, frame(6, 1, "  ", rpm=0).encode() + b"\r\n")
    assert kinds(readings) == [("fault", "power_cycle"), ("down", "unchecked")]
    assert kinds(answer(wheel, SECOND_US, {b"*T M": b"*T m 20000.0"})) == [("down", "configuration")]


def test_a_rotor_out_of_bounds_has_its_setting_read_back_at_once() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved={"m": (1.5,)}))
    joined(wheel, 0)
    wheel.receive(0, frame(4, 9, "31").encode() + b"\r\n")
    answer(wheel, 0, RIGHT)
    wheel.receive(SECOND_US, frame(4, 9, "31", rpm=953).encode() + b"\r\n")
    readings = answer(wheel, SECOND_US, {b"*T M": b"*T m 20000.0"})
    assert kinds(readings) == [("down", "configuration")]


def test_a_wheel_that_was_set_right_counts_as_up_after_its_power_cycle() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved={"m": (1.5,)}))
    joined(wheel, 0)
    wheel.receive(0, frame(5, 140, "31").encode() + b"\r\n")
    assert kinds(answer(wheel, 0, {b"*T M": b"*T m 20000.0"})) == [("down", "configuration")]
    wheel.receive(SECOND_US, frame(6, 1, "  ", rpm=0).encode() + b"\r\n")
    assert kinds(answer(wheel, SECOND_US, RIGHT)) == [("up", "up")]


def test_a_void_game_is_acknowledged_to_the_wheel_and_a_refusal_is_a_fault() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port=""))
    wheel.receive(0, frame(3, 20, "12", flags="2").encode() + b"\r\n")
    wheel.void_game(SECOND_US)
    assert kinds(answer(wheel, SECOND_US, {b"*R": b"*R OK"})) == []
    wheel.void_game(SECOND_US)
    assert kinds(answer(wheel, SECOND_US, {b"*R": b"*R NO"})) == [("fault", "void_refused")]
    wheel.void_game(SECOND_US)
    assert wheel.take_output() == b"*R\r"
    assert ("fault", "void_refused") in kinds(tick_until(wheel, 4 * SECOND_US))


def test_a_wheel_that_does_not_report_by_itself_is_polled_twice_a_second() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", ask_status=True))
    joined(wheel, 0)
    asked = 0
    for half in range(10):
        now = half * SECOND_US // 2
        tick_until(wheel, now)
        asked += wheel.take_output().count(b"*X\r")
        wheel.receive(now + 1000, frame(2, 9, "31").encode() + b"\r\n")
    assert asked == 10


def test_a_listener_never_sends() -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved={"m": (1.5,)}, listen_only=True))
    joined(wheel, 0)
    wheel.receive(0, frame(4, 9, "31", rpm=953).encode() + b"\r\n")
    wheel.void_game(0)
    tick_until(wheel, 20 * SECOND_US)
    assert wheel.take_output() == b""


def test_an_approved_parameter_that_no_wheel_has_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="expected one of n k r"):
        Ss2Wheel("ss2", Ss2Settings(port="", approved={"x": (1.0,)}))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8_000_000), st.binary(max_size=60)), max_size=20))
def test_whatever_the_wheel_sends_times_only_increase_and_nothing_raises(
    pieces: list[tuple[int, bytes]],
) -> None:
    wheel = Ss2Wheel("ss2", Ss2Settings(port="", approved=APPROVED, approved_mode=1157, ask_status=True))
    readings, now = joined(wheel, 0), 0
    for pause, data in pieces:
        readings += tick_until(wheel, now + pause)
        now += pause
        readings += wheel.receive(now, data)
        wheel.take_output()
    times = [reading.t for reading in readings]
    assert times == sorted(set(times))
