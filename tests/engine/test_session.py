"""A session as a whole: the table's mode, devices, test mode, cut recordings, state, impossible readings."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.engine.session import Session
from controller.machines.setup import NextNumbers, Setup, SetupError, State
from controller.model.outcomes import Bets, RollCalled, RollReview, TableEvent
from controller.model.readings import AnyReading, DeviceDown, DeviceUp, DieAt, Switch
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, in_order, input_at, rest_of, throw

MS = 1000
THROW = throw(SECOND_US, (3, 3))
REST = rest_of(THROW)


def test_a_throw_at_a_locked_table_does_not_count_and_is_reported_once() -> None:
    played = play(
        input_at(0, "lock", "supervisor", reason="camera moved"),
        THROW,
        input_at(9 * SECOND_US, "unlock"),
        throw(10 * SECOND_US),
    )
    assert played.types("table", "roll", "input") == [
        "table.locked",
        "input.refused",
        "table.unlocked",
        "roll.called",
    ]
    assert played.refusals() == ["table_locked"]
    assert played.data(TableEvent)[0].cause == "camera moved"
    assert played.data(RollCalled)[0].roll == 1


def test_a_closed_table_takes_no_game_input_and_no_throw() -> None:
    played = play(
        input_at(0, "close_table"),
        input_at(1, "new_shooter", seat=1),
        THROW,
        input_at(9 * SECOND_US, "open_table"),
    )
    assert played.types("table") == ["table.closed", "table.opened"]
    assert played.refusals() == ["table_closed", "table_closed"]


def test_a_table_does_not_close_while_a_throw_is_open() -> None:
    played = play(in_order([*THROW, input_at(SECOND_US + 500 * MS, "close_table")]))
    assert played.refusals() == ["attempt_open"]
    assert played.types("roll") == ["roll.called"]


def test_after_a_lock_in_flight_the_throw_is_decided_and_the_next_is_ignored() -> None:
    played = play(in_order([*THROW, input_at(SECOND_US + 500 * MS, "lock")]), throw(9 * SECOND_US))
    assert played.types("roll", "table") == ["table.locked", "roll.called"]


@pytest.mark.parametrize("name", ["door", "tamper"])
def test_an_opened_door_or_tamper_switch_locks_the_table(name: str) -> None:
    opened = Switch(t=1, dev="cabinet", name=name, open=True)
    played = play(opened, Switch(t=2, dev="cabinet", name=name, open=False))
    assert played.types() == ["table.locked"]
    assert played.data(TableEvent)[0].cause == f"{name}_open"


def test_a_device_is_reported_once_when_it_goes_down_and_once_when_it_is_back() -> None:
    gone = DeviceDown(t=1, dev="wall-left", reason="unplugged")
    played = play(gone, msgspec.structs.replace(gone, t=2), DeviceUp(t=3, dev="wall-left"))
    assert played.types() == ["device.down", "device.up"]
    assert (played.data(TableEvent)[0].what, played.data(TableEvent)[0].says) == ("wall-left", "unplugged")


def test_a_throw_whose_camera_is_lost_in_flight_goes_to_review_and_is_not_void() -> None:
    seen = [r for r in THROW if r.t < SECOND_US + 400 * MS]
    played = play(seen, DeviceDown(t=SECOND_US + 400 * MS, dev="cam", reason="unplugged"))
    assert played.types("roll") == ["roll.review"]
    review = next(o for o in played.outcomes if o.type == "roll.review")
    assert review.t == 9 * SECOND_US, "the dice have 8 s to settle before the throw is decided"
    assert {r.code for r in played.data(RollReview)[0].reasons} == {"missing_reading"}


def test_test_mode_leaves_no_trace_in_state_ids_and_outcomes() -> None:
    tested = [
        input_at(10 * SECOND_US, "test_mode", "technician", on=True),
        *throw(11 * SECOND_US, (6, 6)),
        input_at(20 * SECOND_US, "no_roll"),
        DeviceDown(t=21 * SECOND_US, dev="cam", reason="unplugged"),
        DeviceUp(t=22 * SECOND_US, dev="cam"),
        input_at(29 * SECOND_US, "test_mode", "technician", on=False),
    ]
    before, after = throw(SECOND_US, (3, 3)), throw(30 * SECOND_US, (2, 4))
    up = DeviceUp(t=0, dev="cam")
    assert play(up, before, tested, after).outcomes == play(up, before, after).outcomes


def test_a_device_still_down_at_the_end_of_test_mode_is_reported() -> None:
    played = play(
        input_at(1, "test_mode", on=True),
        DeviceDown(t=2, dev="cam", reason="unplugged"),
        input_at(3, "test_mode", on=False),
    )
    assert [(o.type, o.t) for o in played.outcomes] == [("device.down", 3)]


def test_a_complete_recording_runs_on_until_no_timer_is_pending() -> None:
    assert play(THROW).types("roll") == ["roll.called"]
    released_only = [r for r in THROW if r.t == SECOND_US]
    assert play(released_only).types("roll") == ["roll.review"]


@pytest.mark.parametrize("after_ms", [50, 400, 900])
def test_a_cut_off_recording_puts_the_throw_in_flight_under_review(after_ms: int) -> None:
    cut_at = SECOND_US + after_ms * MS
    played = Played().feed([r for r in THROW if r.t <= cut_at]).finish(cut=True)
    review = next(o for o in played.outcomes if o.type == "roll.review")
    assert [(r.code, r.rule) for r in played.data(RollReview)[0].reasons] == [("power_lost", "C34-INV-2vi")]
    assert review.t == max(r.t for r in THROW if r.t <= cut_at)


def test_a_call_still_held_when_the_recording_ends_is_never_reported() -> None:
    assert Played().feed(THROW).finish(cut=True).types("roll") == ["roll.review"]


def test_the_outcomes_of_a_truncated_recording_are_the_first_of_the_complete_recording() -> None:
    readings = [*THROW, *throw(9 * SECOND_US, (2, 4), short_mm=(0, 300)), *throw(17 * SECOND_US, (2, 4))]
    whole = play(readings).outcomes
    chance = random.Random(5)
    for _ in range(40):
        cut = chance.randrange(len(readings))
        published = Played().feed(readings[:cut]).finish(cut=True).outcomes
        ended = [o for o in published if [r.code for r in getattr(o.data, "reasons", ())] == ["power_lost"]]
        kept = published[: len(published) - len(ended)]
        assert kept == whole[: len(kept)]
        assert len(ended) <= 1


def test_a_session_continues_from_a_recorded_state_and_its_numbers() -> None:
    first = Played().feed(input_at(0, "new_shooter", seat="4"), THROW)
    first.feed(input_at(REST + SECOND_US, "dice_collected"), input_at(REST + 3 * SECOND_US, "settled"))
    state, numbers = first.session.state(), first.session.first()
    assert (state.point, state.shooter, numbers.roll, numbers.round) == (6, "4", 2, 2)
    again = Played(state=state, first=numbers).feed(throw(20 * SECOND_US, (2, 4))).finish()
    called = again.data(RollCalled)[0]
    assert (called.roll, called.point, called.call, called.shooter) == (2, 6, "point_made", "4")
    assert again.data(Bets)[0].round == 2
    assert again.outcomes[0].seq == numbers.seq


def test_a_table_without_its_dimensions_cannot_play() -> None:
    with pytest.raises(SetupError, match="dice_table"):
        Session(Setup(table="t", ruleset=load_ruleset("craps-12-034"), first=NextNumbers()))


def test_dice_in_flight_without_a_release_are_never_overlooked() -> None:
    tracks = [r for r in THROW if r.t > SECOND_US]
    assert play(tracks).types("roll") == ["roll.review"]


def test_dice_in_flight_without_a_release_after_a_review_get_their_own_review() -> None:
    unsure = throw(SECOND_US, (3, 3), confidence=0.2)
    unseen = [r for r in throw(9 * SECOND_US) if r.t > 9 * SECOND_US]
    played = play(unsure, input_at(rest_of(unsure) + SECOND_US, "dice_collected"), unseen)
    assert played.types("roll") == ["roll.review", "roll.no_roll", "roll.review"]


def test_dice_moved_with_the_stick_are_not_a_throw() -> None:
    pushed = [
        DieAt(t=9 * SECOND_US + 11_111 * i, dev="cam", die=1, x=1000 + 5.0 * i, y=500.0) for i in range(100)
    ]
    collected = input_at(REST + SECOND_US, "dice_collected")
    assert play(THROW, collected, pushed).types("roll") == ["roll.called"]


INPUTS = [
    "no_roll", "set_dice", "dice_collected", "new_shooter", "pass_dice", "run_out", "accept", "void",
    "settled", "lock", "unlock", "open_table", "close_table", "test_mode", "inspected", "paid", "",
]  # fmt: skip
ABSURD = st.builds(
    lambda t, name, by, dice, seat, on: input_at(t, name, by, dice=dice, seat=seat, on=on),
    st.integers(0, 30 * SECOND_US),
    st.sampled_from(INPUTS),
    st.sampled_from(["boxperson", "player", ""]),
    st.none() | st.lists(st.integers(-1, 7), max_size=3).map(tuple),
    st.none() | st.integers(0, 9),
    st.none() | st.booleans(),
)
PIECES = st.sampled_from([*THROW, *throw(9 * SECOND_US, (1, 1), short_mm=(0, 100)), *throw(17 * SECOND_US)])


@given(st.lists(ABSURD | PIECES, max_size=60), st.booleans(), st.sampled_from(["automatic", "confirm"]))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_no_sequence_of_readings_and_inputs_raises_or_leaves_a_gap(
    readings: list[AnyReading], cut: bool, calls: str
) -> None:
    state = State(calls="confirm" if calls == "confirm" else "automatic")
    played = Played(state=state).feed(readings).finish(cut=cut)
    assert [o.seq for o in played.outcomes] == list(range(1, len(played.outcomes) + 1))


@given(
    st.lists(
        st.tuples(
            ABSURD | PIECES,
            st.sampled_from([0, 0, 0, 0, 0, 1_100_000, -1_100_000, 3_600 * SECOND_US]),
            st.sampled_from([None, None, None, 30_000, 200_000]),
        ),
        max_size=60,
    ),
    st.lists(st.integers(1, 20), max_size=6),
)
@settings(derandomize=True, max_examples=100, deadline=None)
def test_readings_fed_at_once_give_the_same_outcomes_as_one_by_one(
    claims: list[tuple[AnyReading, int, int | None]], lengths: list[int]
) -> None:
    arrivals: list[AnyReading] = []
    for seen, off_us, delay_us in claims:
        t = max(0, seen.t + off_us)
        arrivals.append(
            msgspec.structs.replace(seen, t=t, arrived=None if delay_us is None else t + delay_us)
        )
    one_by_one = Played().feed(arrivals)
    at_once, given_out = Played(), 0
    for length in [*lengths, len(arrivals)]:
        at_once.effects += at_once.session.feed_all(arrivals[given_out : given_out + length])
        given_out += length
    assert at_once.effects == one_by_one.effects
    assert at_once.finish().effects == one_by_one.finish().effects
