"""A drawing shows the judge's evidence: the same gaps, hits, impacts, revolutions and pocket readings."""

import pytest

from controller.rules.dice.hits import Hit
from tests.technician.recorded import spin, throw


class TestThrow:
    def test_a_die_that_stopped_short_is_shown_with_its_distance_to_the_wall(self) -> None:
        one, two = throw("craps-12-034-voids", 3).dice
        assert one.best is not None
        assert one.best.encounter.hit is Hit.NO
        assert round(one.best.at_wall[0] - one.best.face[0]) == 109
        assert [touch.encounter.hit for touch in two.touches] == [Hit.YES, Hit.YES]

    def test_each_impact_is_assigned_to_the_die_that_turned_there_and_an_echo_to_its_hit(self) -> None:
        heard = throw("craps-12-034-voids", 3).impacts
        assert [(impact.key, impact.dice, impact.rings) for impact in heard] == [
            ("A", (2,), ""),
            ("B", (2,), ""),
            ("C", (), "B"),
        ]

    def test_walls_are_not_mentioned_if_a_person_called_it_in_flight(self) -> None:
        seen = throw("sim-high-roller-a", 4)
        assert all(not die.touches and die.best is None for die in seen.dice)

    def test_a_turn_without_a_sound_is_unclear(self) -> None:
        seen = throw("craps-12-034-rulings", 6)
        assert [touch.encounter.hit for die in seen.dice for touch in die.touches] == [Hit.UNCLEAR] * 2

    def test_legs_run_from_the_first_point_to_the_last_without_a_gap(self) -> None:
        for die in throw("craps-12-034-voids", 9).dice:
            assert [point for leg in die.legs for point in leg.points[1:]] == [p for _, p in die.points[1:]]


class TestSpin:
    def test_the_count_ends_as_in_the_verdict(self) -> None:
        end = spin("roulette-american", 2).run[-1]
        assert (end.turns_from, end.turns, end.turns_to) == pytest.approx((2.1, 2.2, 2.9), abs=0.06)

    def test_the_drop_is_shown_as_predicted_when_bets_closed(self) -> None:
        seen = spin("roulette-american", 1)
        assert seen.closed_s is not None
        assert seen.predicted_s == pytest.approx(seen.closed_s + 3.0, abs=0.05)
        assert seen.left_track_s == pytest.approx(seen.predicted_s, abs=0.5)

    def test_a_dead_beam_has_no_pulse_and_the_others_count_on(self) -> None:
        seen = spin("sim-roulette-dead-beam", 3)
        assert {pulse.beam for pulse in seen.pulses} == {0, 2}
        assert seen.run[-1].turns > 11

    def test_only_the_agreeing_pocket_readings_count(self) -> None:
        reads = spin("roulette-american", 1).reads
        assert [read.number for read in reads if read.counts] == ["0", "0", "0"]
        assert len(reads) > 3
