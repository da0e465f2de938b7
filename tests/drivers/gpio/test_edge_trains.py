"""Property tests with trains of edges: no exception, no false pulse, and no missed pulse."""

from bisect import bisect_right
from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import BallBeam, DeviceFault, Input, RotorIndex
from drivers.device import Edge, Level, LineEvents, ReadLevel
from drivers.gpio.beams import MAX_PULSE_US, BeamsDevice
from drivers.gpio.settings import TIMED, PanelSettings
from tests.drivers.gpio.rig import LABEL, BeamsBench, beams, button, timed, wheel_settings

fixed = settings(derandomize=True, deadline=None, max_examples=60, database=None)

DEBOUNCE_US = 200
GAPS_US = st.one_of(
    st.integers(1, DEBOUNCE_US * 2),
    st.integers(DEBOUNCE_US, 30_000),
    st.integers(30_000, 400_000),
)
FATES = st.sampled_from(["told", "told", "told", "starved", "starved", "missed"])
"""The handling of an edge. `told` is reported immediately. `starved` is buffered while the reader is stopped,
so only the last few edges are kept. `missed` is not detected by the hardware."""
KEPT = 5
TRAINS = st.lists(st.tuples(GAPS_US, FATES), max_size=60)


class History:
    """The actual levels of a line."""

    def __init__(self, t_us: int) -> None:
        self.changes_us = [t_us]
        self.levels = [False]

    def change(self, t_us: int) -> bool:
        self.changes_us.append(t_us)
        self.levels.append(not self.levels[-1])
        return self.levels[-1]

    def lasted(self, active: bool) -> list[int]:
        """Return the starts of this level that lasted for the debounce time."""
        ends_us = [*self.changes_us[1:], 2**62]
        return [
            began_us
            for began_us, ended_us, level in zip(self.changes_us, ends_us, self.levels, strict=True)
            if level == active and ended_us - began_us >= DEBOUNCE_US
        ]

    def explains(self, middle_us: int) -> bool:
        """Return whether an actual pulse has its middle at this time."""
        ends_us = self.lasted(False)
        for began_us in self.lasted(True):
            first = bisect_right(ends_us, began_us)
            if any((began_us + ended_us) // 2 == middle_us for ended_us in ends_us[first:]):
                return True
        return False


def run(bench: BeamsBench, train: list[tuple[int, str]]) -> History:
    history = History(bench.time.us)
    bench.kernel.keeps = KEPT
    bench.kernel.lines[5].edges = deque(maxlen=KEPT)
    before = "told"
    for gap_us, fate in train:
        if fate == before == "missed":  # two successive missed edges leave no trace
            fate = "told"  # noqa: PLW2901 - as above
        before = fate
        if fate == "starved":
            bench.time.us += gap_us
        else:
            bench.to(bench.time.us + gap_us)
        active = history.change(bench.time.us)
        if fate == "missed":
            bench.kernel.miss(5, active)
        else:
            bench.kernel.drive(5, active, bench.time.us)
        if fate != "starved":
            bench.turn()
    return history


@fixed
@given(TRAINS)
def test_every_reported_pulse_was_real(train: list[tuple[int, str]]) -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.open().after(10_000)
    history = run(bench, train)
    bench.after(100_000)
    for seen in bench.of(BallBeam):
        assert history.explains(seen.t), f"no pulse has its middle at {seen.t}"


@fixed
@given(TRAINS)
def test_a_real_pulse_after_any_train_is_seen(train: list[tuple[int, str]]) -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.open().after(10_000)
    history = run(bench, train)
    if history.levels[-1]:
        bench.kernel.drive(5, False, bench.time.us)
    bench.after(3_000_000)
    before = len(bench.of(BallBeam))
    began_us = bench.pulse("beam-0", 3000)
    bench.after(50_000)
    assert [seen.t for seen in bench.of(BallBeam)[before:]] == [began_us + 1500]


@fixed
@given(st.lists(st.integers(1, DEBOUNCE_US - 1), min_size=2, max_size=40))
def test_bouncing_before_a_pulse_neither_makes_one_nor_hides_it(bounces: list[int]) -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.open().after(10_000)
    for length_us in bounces:
        bench.pulse("beam-0", length_us)
        bench.after(length_us)
    assert bench.of(BallBeam) == []
    bench.pulse("beam-0", 3000)
    bench.after(50_000)
    assert len(bench.of(BallBeam)) == 1


@fixed
@given(st.lists(st.integers(201, 100_000), min_size=2, max_size=40))
def test_without_a_hold_off_every_complete_pulse_is_counted(lengths: list[int]) -> None:
    bench = BeamsBench(wheel_settings({"beam-0": timed(5, "ball_beam", hold_off_us=0, fields={"beam": 0})}))
    bench.open().after(10_000)
    for length_us in lengths:
        bench.pulse("beam-0", length_us)
        bench.after(20_000)
    assert len(bench.of(BallBeam)) == len(lengths)
    assert bench.faults() == []


@fixed
@given(st.lists(st.tuples(st.sampled_from(["index", "phase"]), GAPS_US), max_size=60))
def test_no_order_of_index_edges_reports_a_direction_that_the_mark_did_not_take(
    edges: list[tuple[str, int]],
) -> None:
    inputs = {"index": timed(20, "rotor_index"), "phase": timed(21, "rotor_phase")}
    bench = BeamsBench(wheel_settings(inputs, "cw"))
    bench.open().after(10_000)
    levels = {"index": False, "phase": False}
    seen: list[tuple[int, str, bool]] = []
    for name, gap_us in edges:
        levels[name] = not levels[name]
        bench.drive(name, active=levels[name], at_us=bench.time.us + gap_us)
        seen.append((bench.time.us, name, levels[name]))
    bench.after(100_000)
    for told in bench.of(RotorIndex):
        assert _passed(seen, told.t) == told.direction


def _passed(edges: list[tuple[int, str, bool]], middle_us: int) -> str | None:
    """Return the direction of the index sensor's pulse with this middle, computed from all edges."""
    rises = [t for t, name, active in edges if name == "index" and active]
    falls = [t for t, name, active in edges if name == "index" and not active]
    for rise_us in rises:
        for fall_us in falls:
            if fall_us > rise_us and (rise_us + fall_us) // 2 == middle_us:
                match (_phase(edges, rise_us), _phase(edges, fall_us)):
                    case (True, False):
                        return "cw"
                    case (False, True):
                        return "ccw"
                    case _:
                        continue
    return None


def _phase(edges: list[tuple[int, str, bool]], t_us: int) -> bool:
    phases = [(t, active) for t, name, active in edges if name == "phase"]
    ends_us = [*(t for t, _ in phases[1:]), 2**62]
    steady = [(t, on) for (t, on), end_us in zip(phases, ends_us, strict=True) if end_us - t >= DEBOUNCE_US]
    return next((on for t, on in reversed(steady) if t <= t_us), False)


EVENTS = st.one_of(
    st.builds(Edge, st.sampled_from([5, 6]), st.booleans(), st.integers(0, 2**33), st.integers(0, 2**40)),
    st.builds(Level, st.sampled_from([5, 6]), st.booleans(), st.integers(0, 2**40)),
)


@fixed
@given(st.lists(st.lists(EVENTS, max_size=3).map(tuple), max_size=40), st.integers(0, 2**40))
def test_no_events_in_any_order_raise_or_leave_work_undone(said: list[LineEvents], now_us: int) -> None:
    device = BeamsDevice("wheel", wheel_settings(beams(2)))
    device.start(now_us)
    device.on_open(now_us)
    for data in said:
        now_us += 1000
        told = [*device.receive(now_us, data), *device.tick(now_us)]
        assert all(reading.t >= 0 for reading in told)
        device.take_output()
    due_us = device.next_deadline()
    assert due_us is not None
    assert due_us <= now_us + 1_000_000


def test_line_numbers_wrap_as_the_kernels_do() -> None:
    bench = BeamsBench(wheel_settings(beams(1)))
    bench.open().after(10_000)
    bench.reported += bench.device.on_overflow(bench.time.us, 1)
    bench.kernel.lines[5].seq = 2**32 - 2
    bench.after(50_000)
    for seq, active in ((2**32 - 1, True), (0, False)):
        t_us = bench.time.us
        bench.kernel.active[5] = active
        bench.reported += bench.device.receive(t_us, (Edge(5, active, seq, t_us),))
        bench.after(4000)
    assert len(bench.of(BallBeam)) == 1
    assert [fault.code for fault in bench.of(DeviceFault)] == ["lost_edges"]


def test_the_longest_pulse_leaves_a_middle_that_the_table_still_takes() -> None:
    """The watermark is 120 ms, from which the debounce time and the transit to the table are deducted."""
    assert MAX_PULSE_US // 2 <= 100_000
    assert all(limits.hold_off_us <= limits.max_hold_off_us for limits in TIMED.values())


@fixed
@given(st.lists(st.integers(1, 60_000), max_size=40))
def test_presses_are_those_that_lasted(gaps: list[int]) -> None:
    from drivers.gpio.panel import PanelDevice  # noqa: PLC0415 - next to its only use

    device = PanelDevice(
        "console", PanelSettings(chip=LABEL, factory="gpiod", inputs={"no-roll": button(17)})
    )
    now_us, active, told = 1_000_000, False, device.on_open(1_000_000)
    history: list[tuple[int, bool]] = [(now_us, False)]

    def look() -> None:
        nonlocal told
        told += device.tick(now_us)
        for order in device.take_output():
            assert isinstance(order, ReadLevel)
            told += device.receive(now_us, (Level(17, active, now_us),))

    def wait(until_us: int) -> None:
        nonlocal now_us
        while (due := device.next_deadline()) is not None and due <= until_us:
            now_us = max(due, now_us + 100)
            if now_us > until_us:
                break
            look()
        now_us = until_us

    wait(now_us + 50_000)
    for seq, gap_us in enumerate(gaps, 1):
        wait(now_us + gap_us)
        active = not active
        history.append((now_us, active))
        told += device.receive(now_us, (Edge(17, active, seq, now_us),))
    wait(now_us + 200_000)
    ends = [*(t for t, _ in history[1:]), now_us]
    steady = [(t, on) for (t, on), end in zip(history, ends, strict=True) if end - t >= 5000]
    presses = [t for (t, on), (_, was) in zip(steady[1:], steady, strict=False) if on and not was]
    assert [reading.t for reading in told if isinstance(reading, Input)] == presses
