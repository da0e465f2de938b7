"""The order of readings by their times, and readings that arrive too late."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.engine.reorder_buffer import ReorderBuffer
from controller.model.effects import LateReading
from controller.model.outcomes import RollCalled
from controller.model.readings import AnyReading, DieRest, WallImpact
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, input_at, rest_of, throw

MS = 1000
THROWS = [
    *throw(1 * SECOND_US, (3, 3)),
    *throw(9 * SECOND_US, (2, 4), short_mm=(0, 300)),
    *throw(17 * SECOND_US, (2, 4), apart_us=300_000),
    *throw(25 * SECOND_US, (2, 4), confidence=0.3),
    input_at(29 * SECOND_US, "set_dice", dice=[2, 4]),
    *throw(33 * SECOND_US, (2, 5)),
]


def knock(t: int, arrived: int | None = None) -> WallImpact:
    return WallImpact(t=t, dev="w", wall="left", pos_mm=1.0, peak=1.0, arrived=arrived)


def test_readings_are_released_in_time_order_once_nothing_earlier_can_arrive() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    assert [order.put(knock(t)) for t in (300_000, 260_000, 290_000)] == [0, 0, 0]
    assert list(order.ready()) == []
    order.put(knock(420_000))
    assert [r.t for r in order.ready()] == [260_000, 290_000]
    assert [r.t for r in order.flush()] == [300_000, 420_000]


def test_a_reading_just_within_the_watermark_counts_and_one_beyond_is_late() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    order.put(knock(500_000))
    assert order.put(knock(380_000)) == 0
    assert order.put(knock(379_999)) == 1


def test_the_time_of_arrival_moves_the_watermark_where_it_is_recorded() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    order.put(knock(100_000, arrived=400_000))
    assert order.watermark == 280_000
    assert order.put(knock(279_000, arrived=401_000)) == 2000


def test_a_reading_timestamped_long_after_its_arrival_is_rejected() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    assert order.put(knock(90_000_000, arrived=1_000_000)) == 89_000_000
    assert order.put(knock(1_000_500, arrived=1_001_000)) == 0


def test_one_reading_far_ahead_of_all_others_does_not_make_the_others_late() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    day = 86_400_000_000
    assert [order.put(knock(t)) for t in (1_000_000, day, 1_050_000, 1_060_000)] == [0, 0, 0, 0]
    assert [(r.t, ahead) for r, ahead in order.set_aside] == [(day, day - 1_000_000)]
    assert [r.t for r in order.flush()] == [1_000_000, 1_050_000, 1_060_000]


def test_a_table_idle_for_hours_continues_when_a_second_reading_confirms_the_time() -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    day = 86_400_000_000
    assert [order.put(knock(t)) for t in (1_000_000, day, day + 5)] == [0, 0, 0]
    assert [r.t for r in order.flush()] == [1_000_000, day, day + 5]


@given(st.permutations([1, 2, 3, 4]))
@settings(derandomize=True)
def test_readings_with_equal_times_are_ordered_independently_of_arrival(places: list[int]) -> None:
    order = ReorderBuffer(max_lateness_ms=0)
    for place in places:
        order.put(WallImpact(t=5, dev=f"w{place}", wall="left", pos_mm=1.0, peak=1.0))
    assert [r.dev for r in order.flush()] == ["w1", "w2", "w3", "w4"]


def test_a_late_reading_is_reported_and_never_changes_a_published_outcome() -> None:
    readings = throw(SECOND_US, (3, 3))
    late = DieRest(t=rest_of(readings), dev="cam", die=1, x=1.0, y=1.0, up=6, confidence=1.0, on="felt")
    played = play(readings, input_at(rest_of(readings) + 2 * SECOND_US, "settled"), late)
    assert [e.behind_us for e in played.effects if isinstance(e, LateReading)] == [2 * SECOND_US - 120 * MS]
    assert played.session.late == 1
    assert [c.dice for c in played.data(RollCalled)] == [(3, 3)]


@given(st.lists(st.integers(0, 119), min_size=len(THROWS), max_size=len(THROWS)))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_arrivals_in_any_order_within_the_watermark_change_no_outcome(delays_ms: list[int]) -> None:
    arrivals: list[AnyReading] = [
        reading
        for _, reading in sorted(
            zip(delays_ms, THROWS, strict=True), key=lambda late: late[1].t + late[0] * MS
        )
    ]
    assert Played().feed(arrivals).finish().outcomes == play(THROWS).outcomes


WORDS = (
    {"name": "run_out", "on": True},
    {"name": "dice_collected", "by": "stickperson"},
    {"name": "new_shooter", "seat": "3"},
    {"name": "set_dice", "dice": [4, 4], "what": "2"},
    {"name": "settled"},
    {"name": "no_roll"},
)


@given(
    st.lists(st.sampled_from([0, 1, 40, 119, 300]), min_size=len(THROWS), max_size=len(THROWS)),
    st.lists(
        st.tuples(st.integers(1, 40_000), st.sampled_from([0, 5, 90, 119, 121, 400]), st.sampled_from(WORDS)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([20, 70, 400]),
)
@settings(derandomize=True, max_examples=15, deadline=None)
def test_how_often_time_advances_between_arrivals_changes_no_outcome(
    delays_ms: list[int], words: list[tuple[int, int, dict[str, object]]], tick_ms: int
) -> None:
    """A live table also advances time between arrivals, but its recording contains only the arrivals."""
    seen = [
        replace(reading, arrived=reading.t + delay * MS)
        for delay, reading in zip(delays_ms, THROWS, strict=True)
    ]
    said = [
        replace(input_at(at * MS, **{"by": "boxperson"} | word), arrived=(at + delay) * MS)  # type: ignore[arg-type]  # words as YAML has them
        for at, delay, word in words
    ]
    arrivals = sorted([*seen, *said], key=lambda reading: reading.arrived or 0)
    live, now = Played(), 0
    for reading in arrivals:
        assert reading.arrived is not None
        for tick in range(now, reading.arrived, tick_ms * MS):
            live.effects += live.session.advance(tick)
        now = reading.arrived
        live.effects += live.session.advance(now)
        live.feed(reading)
    assert Played().feed(arrivals).finish().outcomes == live.finish().outcomes


@given(
    st.lists(
        st.tuples(
            st.integers(0, 40),
            st.sampled_from([0, 1, 50, 119, 121, 900, 1100, 5_000, 90_000]),
            st.sampled_from([None, 0, 30]),
        ),
        max_size=30,
    )
)
@settings(derandomize=True, max_examples=60, deadline=None)
def test_whatever_the_times_every_reading_is_released_or_reported_late_and_none_twice(
    claims: list[tuple[int, int, int | None]],
) -> None:
    order = ReorderBuffer(max_lateness_ms=120)
    released: list[AnyReading] = []
    late: list[str] = []
    for number, (tenths, off_ms, delay_ms) in enumerate(claims):
        t = tenths * 100 * MS + off_ms * MS
        reading = knock(t, None if delay_ms is None else t + delay_ms * MS)
        named = replace(reading, dev=str(number))
        if order.put(named):
            late.append(named.dev)
        released += order.ready()
    released += order.flush()
    late += [reading.dev for reading, _ in order.set_aside]
    devs = [reading.dev for reading in released]
    assert sorted(devs + late) == sorted(str(number) for number in range(len(claims)))
    assert [r.t for r in released] == sorted(r.t for r in released)


FORWARD_US = st.sampled_from([0, 10_000, 300_000, 1_000_000, 1_000_001, 3_000_000, 30_000_000])
BACK_US = st.sampled_from([-5_000, -900_000, -1_200_000, -4_000_000])


@given(st.lists(FORWARD_US | BACK_US, min_size=1, max_size=40), st.lists(st.integers(1, 6), max_size=8))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_readings_with_pauses_are_ordered_in_a_batch_as_one_by_one(
    steps_us: list[int], lengths: list[int]
) -> None:
    knocks: list[WallImpact] = []
    for step_us in steps_us:
        knocks.append(knock(max(0, (knocks[-1].t if knocks else 0) + step_us)))
    single, together = ReorderBuffer(max_lateness_ms=120), ReorderBuffer(max_lateness_ms=120)
    one_by_one: list[object] = []
    for reading in knocks:
        behind_us = single.put(reading)
        one_by_one += _released(single, behind_us)
    at_once: list[object] = []
    for length in [*lengths, len(knocks)]:
        block, knocks = knocks[:length], knocks[length:]
        for _, behind in together.put_all(block):
            at_once += _released(together, behind or 0)
        at_once += together.ready()
    assert [*at_once, *together.flush()] == [*one_by_one, *single.flush()]
    assert together.set_aside == single.set_aside


def _released(order: ReorderBuffer, behind_us: int) -> list[object]:
    """Return the readings that the buffer releases or reports after a reading."""
    results: list[object] = [
        *order.ready(),
        *([behind_us] if behind_us else []),
        *order.set_aside,
        *order.clock_steps,
    ]
    order.set_aside.clear()
    order.clock_steps.clear()
    return results
