"""Craps at the table: rounds, shooters and the puck, from readings to outcomes."""

import pytest

from controller.machines.setup import State
from controller.model.effects import Lamp
from controller.model.outcomes import Bets, RollCalled, RollCorrected, RollNoRoll, ShooterChanged
from controller.model.readings import AnyReading, Face
from tests.engine.play import Played, play
from tests.scenes import SECOND_US, input_at, throw


def rolls(*faces: tuple[Face, Face]) -> list[AnyReading]:
    """Throw these dice ten seconds apart, and collect them after each throw."""
    readings: list[AnyReading] = []
    for number, up in enumerate(faces):
        start = (1 + 10 * number) * SECOND_US
        readings += throw(start, up)
        readings.append(input_at(start + 5 * SECOND_US, "dice_collected", "stickperson"))
    return readings


def calls(played: Played) -> list[tuple[int | None, str, int | None]]:
    return [(call.point, call.call, call.point_after) for call in played.data(RollCalled)]


def test_CV1_RND_1_a_round_is_come_out_rolls_and_then_the_point() -> None:
    played = play(rolls((1, 1), (3, 4), (2, 2), (5, 6), (1, 3)))
    assert [c.phase for c in played.data(RollCalled)] == [
        "come_out",
        "come_out",
        "come_out",
        "point",
        "point",
    ]


@pytest.mark.parametrize("faces", [(1, 1), (1, 2), (6, 6)])
def test_CV1_RND_2_two_three_and_twelve_are_craps_on_the_come_out(faces: tuple[Face, Face]) -> None:
    assert calls(play(rolls(faces), rules="craps-v1")) == [(None, "craps", None)]


@pytest.mark.parametrize("faces", [(3, 4), (5, 6)])
def test_CV1_RND_3_seven_and_eleven_are_naturals_on_the_come_out(faces: tuple[Face, Face]) -> None:
    assert calls(play(rolls(faces), rules="craps-v1")) == [(None, "natural", None)]


@pytest.mark.parametrize("faces", [(1, 3), (2, 3), (3, 3), (4, 4), (4, 5), (5, 5)])
def test_C34_DEF_1_and_CV1_RND_4_a_box_number_on_the_come_out_is_the_point(faces: tuple[Face, Face]) -> None:
    assert calls(play(rolls(faces))) == [(None, "point_set", sum(faces))]


def test_CV1_RND_5_crapping_out_does_not_cost_the_dice() -> None:
    assert play(rolls((1, 1), (6, 6)), rules="craps-v1").data(ShooterChanged) == []


def test_CV1_RND_6_the_puck_goes_on_at_the_number_and_off_again() -> None:
    played = play(rolls((3, 3), (1, 1), (2, 4)))
    assert [lamp.shows for lamp in played.effects if isinstance(lamp, Lamp)] == ["on_6", "on_6", "off"]


def test_CV1_RND_7_a_made_point_keeps_the_shooter_and_a_seven_out_passes_the_dice() -> None:
    named = input_at(0, "new_shooter", seat=3)
    played = play(named, rolls((3, 3), (2, 4), (4, 4), (3, 4), (5, 5)))
    assert calls(played) == [
        (None, "point_set", 6),
        (6, "point_made", None),
        (None, "point_set", 8),
        (8, "seven_out", None),
        (None, "point_set", 10),
    ]
    assert [(s.shooter, s.cause) for s in played.data(ShooterChanged)] == [
        (3, "new_shooter"),
        (None, "seven_out"),
    ]
    assert [c.shooter for c in played.data(RollCalled)] == [3, 3, 3, 3, None]


@pytest.mark.parametrize("faces", [(1, 1), (1, 2), (5, 6), (6, 6), (4, 5)])
def test_CV1_RND_8_other_totals_leave_the_point_unchanged(faces: tuple[Face, Face]) -> None:
    assert calls(play(rolls((3, 3), faces)))[1] == (6, "no_decision", 6)


def test_C34_DEF_2_the_first_roll_after_a_decision_is_a_come_out_roll() -> None:
    phases = [c.phase for c in play(rolls((3, 3), (2, 4), (2, 3), (3, 4), (1, 3))).data(RollCalled)]
    assert phases == ["come_out", "point", "come_out", "point", "come_out"]


def test_C34_DEF_2_a_table_that_opens_begins_with_a_come_out_roll() -> None:
    played = Played(state=State(point=6))
    played.feed(
        input_at(1, "close_table", "supervisor"), input_at(2, "open_table", "supervisor"), rolls((2, 4))
    ).finish()
    assert calls(played) == [(None, "point_set", 6)]


def test_C34_CONT_1i_only_a_lost_seven_costs_the_dice() -> None:
    played = play(rolls((6, 6), (3, 4), (3, 3), (3, 4)))
    assert [s.cause for s in played.data(ShooterChanged)] == ["seven_out"]


def test_C34_CONT_1_the_shooter_may_pass_the_dice_and_the_point_stays() -> None:
    played = play(
        input_at(0, "new_shooter", seat="2"),
        throw(SECOND_US, (3, 3)),
        input_at(5 * SECOND_US, "pass_dice", "shooter"),
        input_at(6 * SECOND_US, "new_shooter", seat="3"),
        throw(9 * SECOND_US, (2, 4)),
    )
    assert [(s.shooter, s.cause) for s in played.data(ShooterChanged)][1:] == [
        (None, "pass_dice"),
        ("3", "new_shooter"),
    ]
    assert calls(played)[1] == (6, "point_made", None)


def test_C34_CONT_1ii_repeated_invalid_rolls_are_counted_for_the_boxperson() -> None:
    played = play(throw(SECOND_US, short_mm=(300, 0)), throw(9 * SECOND_US, short_mm=(0, 300)), rolls()[0:0])
    notices = [[n.code for n in void.notices] for void in played.data(RollNoRoll)]
    assert notices == [[], ["repeated_invalid"]]


def test_C34_CONT_2b_a_run_out_sets_no_point_and_ends_with_a_seven() -> None:
    played = play(input_at(0, "run_out"), rolls((3, 3), (5, 6), (3, 4), (3, 3)))
    assert calls(played) == [
        (None, "no_decision", None),
        (None, "natural", None),
        (None, "natural", None),
        (None, "point_set", 6),
    ]
    assert next(lamp.shows for lamp in played.effects if isinstance(lamp, Lamp)) == "off_dont_pass"
    assert [roll.run_out for roll in played.data(RollCalled)] == [True, True, True, False]


def test_C34_CONT_2b_a_corrected_roll_stays_part_of_the_run_out() -> None:
    ruled = input_at(8 * SECOND_US, "set_dice", dice=(2, 3))
    played = play(input_at(0, "run_out"), rolls((3, 3)), ruled)
    (corrected,) = played.data(RollCorrected)
    assert (corrected.call, corrected.point_after, corrected.run_out) == ("no_decision", None, True)


def test_C34_CONT_2b_a_run_out_waits_for_a_come_out_roll() -> None:
    assert play(rolls((3, 3)), input_at(20 * SECOND_US, "run_out")).refusals() == ["run_out_needs_come_out"]


def test_CV1_has_no_run_out() -> None:
    assert play(input_at(0, "run_out"), rules="craps-v1").refusals() == ["not_offered"]


def test_C34_MK_1a_bets_close_when_the_dice_leave_the_hand_and_open_after_the_call() -> None:
    played = play(throw(SECOND_US), throw(9 * SECOND_US))
    assert [(b.round, b.cause) for b in played.data(Bets)] == [
        (1, "dice_released"),
        (2, "result"),
        (2, "dice_released"),
        (3, "result"),
    ]
    closed = [o for o in played.outcomes if o.type == "bets.closed"]
    assert closed[0].t == SECOND_US


def test_outcomes_are_numbered_without_a_gap_and_name_table_and_session() -> None:
    published = play(rolls((3, 3), (3, 4))).outcomes
    assert [o.seq for o in published] == list(range(1, len(published) + 1))
    assert published[0].id == "table-7/s1/1"
