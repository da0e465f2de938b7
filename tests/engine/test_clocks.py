"""Clock errors: no reading is lost silently, and an attempt with an invalid time is reviewed."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.journal.contents import build_evidence
from controller.journal.recall import judge_again
from controller.machines.setup import Setup
from controller.model.effects import Judged, LateReading
from controller.model.outcomes import RollCalled, RollNoRoll, RollReview, TableEvent
from controller.model.readings import AnyReading, DieAt, DieReleased, DieRest, WallImpact
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, TABLE, input_at, rest_of, throw

MS = 1000
MINUTE_US = 60 * SECOND_US
THREE_THROWS = [*throw(SECOND_US, (3, 3)), *throw(9 * SECOND_US, (2, 4)), *throw(17 * SECOND_US, (2, 5))]


def called(played: Played) -> list[tuple[int, int]]:
    return [data.dice for data in played.data(RollCalled)]


def late(played: Played) -> list[AnyReading]:
    return [effect.reading for effect in played.effects if isinstance(effect, LateReading)]  # type: ignore[misc]  # what was fed


def faults(played: Played) -> list[tuple[str, str | None]]:
    return [
        (d.cause, d.what)
        for o, d in zip(played.outcomes, [o.data for o in played.outcomes], strict=True)
        if o.type == "device.fault" and isinstance(d, TableEvent)
    ]


def set_back(readings: Sequence[AnyReading], by_us: int) -> list[AnyReading]:
    return [replace(reading, t=reading.t - by_us) for reading in readings]


# --- one wrong time ---


@pytest.mark.parametrize("ahead_us", [1001 * MS, 20 * SECOND_US, 5 * MINUTE_US])
@pytest.mark.parametrize("place", [30, 75, 150, 200])
def test_one_reading_with_a_time_in_the_future_makes_no_other_reading_late(place: int, ahead_us: int) -> None:
    stray = WallImpact(t=THREE_THROWS[place].t + ahead_us, dev="wall-left", wall="left", pos_mm=10, peak=99)
    played = play(THREE_THROWS[:place], stray, THREE_THROWS[place:])
    assert late(played) == [stray]
    assert called(played) == [(3, 3), (2, 4), (2, 5)]


def test_a_reading_with_a_time_far_in_the_future_is_a_fault_of_its_device() -> None:
    stray = WallImpact(t=MINUTE_US, dev="wall-left", wall="left", pos_mm=10, peak=99)
    played = play(THREE_THROWS[:30], stray, THREE_THROWS[30:])
    assert faults(played) == [("clock_off", "wall-left")]


def test_an_input_after_a_pause_counts_even_if_an_older_reading_follows() -> None:
    straggler = DieAt(t=rest_of(THREE_THROWS), dev="cam", die=1, x=1.0, y=1.0)
    end = rest_of(THREE_THROWS) + 5 * SECOND_US
    played = play(THREE_THROWS, input_at(end, "settled"), straggler, input_at(end + 1, "settled"))
    assert late(played) == [straggler]
    assert played.refusals() == ["already_settled"]


# --- a clock that is set back ---


def test_a_clock_set_back_between_throws_costs_no_throw() -> None:
    played = play(THREE_THROWS, set_back(throw(25 * SECOND_US, (3, 4)), 20 * SECOND_US))
    assert called(played) == [(3, 3), (2, 4), (2, 5), (3, 4)]
    assert faults(played) == [("clock_step", "cam")]
    times = [outcome.t for outcome in played.outcomes]
    assert times == sorted(times)


@given(st.integers(2, 120), st.integers(2, 70))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_a_throw_in_which_the_clock_was_set_back_goes_to_a_person(back_s: int, place: int) -> None:
    flight = throw(30 * SECOND_US, (3, 4))
    played = play(
        THREE_THROWS,
        flight[:place],
        set_back(flight[place:], back_s * SECOND_US),
        throw(60 * SECOND_US, (6, 6)),
    )
    assert called(played)[:3] == [(3, 3), (2, 4), (2, 5)]
    (review,) = played.data(RollReview)
    assert review.roll == 4
    assert ("missing_reading", "the clock was set back") in [
        (reason.code, reason.seen[:22]) for reason in review.reasons
    ]
    assert called(played)[3:] == [(6, 6)]


def test_a_clock_set_back_gives_the_same_result_where_arrivals_are_recorded() -> None:
    first = [replace(reading, arrived=reading.t + 5 * MS) for reading in THREE_THROWS]
    second = [
        replace(r, arrived=r.t + 5 * MS) for r in set_back(throw(25 * SECOND_US, (3, 4)), 20 * SECOND_US)
    ]
    played = play(first, second)
    assert called(played) == [(3, 3), (2, 4), (2, 5), (3, 4)]
    assert faults(played) == [("clock_step", "cam")]


def test_a_log_fed_in_reverse_decides_nothing_and_reports_that_its_times_are_wrong() -> None:
    played = play(THREE_THROWS[::-1])
    assert called(played) == []
    assert played.data(RollNoRoll) == []
    assert len(late(played)) > len(THREE_THROWS) / 2
    assert faults(played)


# --- readings that arrive too late ---


def held_up(readings: Sequence[AnyReading], index: int, by_us: int) -> list[AnyReading]:
    """Delay the arrival of one reading."""
    arrivals = [(r.t + (by_us if n == index else 0), n, r) for n, r in enumerate(readings)]
    return [replace(r, arrived=at) for at, _, r in sorted(arrivals, key=lambda arrival: arrival[:2])]


@pytest.mark.parametrize("by_ms", [200, 600])
def test_a_late_release_leads_to_neither_a_void_nor_a_call(by_ms: int) -> None:
    flight = throw(SECOND_US, (3, 4))
    for index, reading in enumerate(flight):
        if isinstance(reading, DieReleased):
            played = play(held_up(flight, index, by_ms * MS))
            (review,) = played.data(RollReview)
            assert review.reasons[0].code == "missing_reading"
            assert "die_released from cam" in review.reasons[0].seen
            assert played.types("roll") == ["roll.review"]


def test_a_throw_whose_releases_were_all_late_goes_to_review() -> None:
    flight = throw(SECOND_US, (3, 4))
    readings = [replace(r, arrived=r.t + (500 * MS if isinstance(r, DieReleased) else 0)) for r in flight]
    played = play(sorted(readings, key=lambda r: r.arrived or 0))
    assert played.types("roll") == ["roll.review"]


def test_a_throw_whose_late_release_is_the_first_reading_goes_to_review() -> None:
    """The process was suspended during the throw, so all readings arrive together."""
    flight = throw(SECOND_US, (3, 4))
    readings = [replace(r, arrived=flight[-1].t + SECOND_US) for r in flight]
    played = play(readings)
    assert played.types("roll") == ["roll.review"]


def test_a_late_track_point_changes_nothing_if_the_throw_is_certain_without_it() -> None:
    flight = throw(SECOND_US, (3, 4))
    index = next(n for n, r in enumerate(flight) if isinstance(r, DieAt) and r.t > SECOND_US + 200 * MS)
    played = play(held_up(flight, index, 200 * MS))
    assert len(late(played)) == 1
    assert called(played) == [(3, 4)]


def test_a_certain_no_roll_stays_a_no_roll_whatever_arrives_late() -> None:
    flight = throw(SECOND_US, (3, 4), short_mm=(0, 300))
    index = next(n for n, r in enumerate(flight) if isinstance(r, DieAt) and r.t > SECOND_US + 200 * MS)
    played = play(held_up(flight, index, 200 * MS))
    assert played.types("roll") == ["roll.no_roll"]


def test_a_late_reading_during_the_hold_is_considered_before_the_call() -> None:
    flight = throw(SECOND_US, (3, 4))
    impact = next(n for n, r in enumerate(flight) if isinstance(r, WallImpact))
    twice = DieRest(
        t=flight[-1].t - 1,
        dev="cam-2",
        die=1,
        x=3340.5,
        y=550.0,
        up=6,
        confidence=0.9,
        on="felt",
        arrived=flight[-1].t + 200 * MS,
    )
    on_time = [replace(r, arrived=r.t) for r in flight]
    played = play(on_time, twice)
    assert impact
    assert played.types("roll") == ["roll.review"]


def test_late_readings_are_kept_and_give_the_same_verdict_again() -> None:
    flight = throw(SECOND_US, (3, 4))
    played = play(held_up(flight, 0, 300 * MS))
    (judged,) = [effect for effect in played.effects if isinstance(effect, Judged)]
    setup = Setup(table="table-7", ruleset=load_ruleset("craps-12-034"), dice_table=TABLE)
    again = judge_again(build_evidence(judged), setup)
    assert again is not None
    assert again.differences == ()


def test_a_throw_with_a_clock_set_back_gives_the_same_verdict_again() -> None:
    flight = throw(30 * SECOND_US, (3, 4))
    played = play(THREE_THROWS, flight[:40], set_back(flight[40:], 10 * SECOND_US))
    judged = [effect for effect in played.effects if isinstance(effect, Judged)][-1]
    setup = Setup(table="table-7", ruleset=load_ruleset("craps-12-034"), dice_table=TABLE)
    again = judge_again(build_evidence(judged), setup)
    assert again is not None
    assert again.differences == ()


# --- any fault in the readings of valid throws ---

spoiled = st.tuples(
    st.integers(0, len(THREE_THROWS) - 1),
    st.sampled_from(["lost", "late", "behind", "ahead", "set back"]),
    st.sampled_from([150, 400, 1_500, 7_000, 60_000]),
)


@given(st.lists(spoiled, min_size=1, max_size=3))
@settings(derandomize=True, max_examples=100, deadline=None)
def test_lost_late_or_mistimed_readings_never_cause_a_void_or_a_different_call(
    faults_of_lines: list[tuple[int, str, int]],
) -> None:
    lines: list[AnyReading | None] = [*set_back(THREE_THROWS, -5 * MINUTE_US)]
    late_lines: list[tuple[int, AnyReading]] = []
    for index, fault, by_ms in faults_of_lines:
        line = lines[index]
        if line is None:
            continue
        match fault:
            case "behind":
                lines[index] = replace(line, t=line.t - by_ms * MS)
            case "ahead":
                lines[index] = replace(line, t=line.t + by_ms * MS)
            case "set back":
                lines[index:] = [
                    None if after is None else replace(after, t=after.t - by_ms * MS)
                    for after in lines[index:]
                ]
            case _:
                lines[index] = None
                if fault == "late":
                    late_lines.append((index + by_ms // 10, line))
    fed = [line for line in lines if line is not None]
    for place, line in sorted(late_lines, key=lambda late_line: late_line[0]):
        fed.insert(min(place, len(fed)), line)
    played = play(fed)
    assert all(void.by == "nobody" for void in played.data(RollNoRoll)), faults_of_lines
    truth = [(3, 3), (2, 4), (2, 5)]
    for dice in called(played):
        assert dice in truth
        truth = truth[truth.index(dice) + 1 :]
