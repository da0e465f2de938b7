"""The answer to each input, and the allowed inputs that it lists."""

from collections.abc import Sequence

import msgspec
import pytest

from controller.engine.session import Session
from controller.machines.flat import InputRefused
from controller.machines.setup import Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import Outcome, RollReview
from controller.model.readings import AnyReading, DieReleased, Input
from controller.settings.rulesets import load_ruleset
from tests.scenes import SECOND_US, TABLE, in_order, input_at, throw
from tests.wheels import AMERICAN


class Answered:
    """A session, and the code of each input's refusal or None."""

    def __init__(self, rules: str = "craps-12-034", state: State | None = None) -> None:
        self.answers: list[tuple[str, str | None]] = []
        setup = Setup(
            table="t1",
            ruleset=load_ruleset(rules),
            state=state or State(),
            dice_table=TABLE,
            wheel=AMERICAN,
        )
        self.session = Session(setup, self.heard)

    def heard(self, entered: Input, refused: InputRefused | None, _answer: str) -> None:
        self.answers.append((entered.name, None if refused is None else refused.code))

    def arrives(self, reading: AnyReading, arrived: int | None = None) -> Sequence[Effect]:
        """Feed one reading that arrives at its own time or later."""
        return self.session.feed(msgspec.structs.replace(reading, arrived=arrived or reading.t))

    def play(self, *readings: AnyReading) -> "Answered":
        for reading in readings:
            self.session.feed(msgspec.structs.replace(reading, arrived=reading.t))
        self.session.advance(max(reading.t for reading in readings) + SECOND_US)
        return self


def test_each_input_is_answered_once_whether_accepted_or_refused() -> None:
    answered = Answered().play(
        input_at(1, "accept"), input_at(2, "lock"), input_at(3, "lock"), input_at(4, "shuffle")
    )
    assert answered.answers == [
        ("accept", "nothing_to_accept"),
        ("lock", None),
        ("lock", "already_locked"),
        ("shuffle", "unknown_input"),
    ]


def test_equal_inputs_at_the_same_time_are_answered_one_by_one() -> None:
    answered = Answered().play(input_at(5, "lock"), input_at(5, "lock"))
    assert answered.answers == [("lock", None), ("lock", "already_locked")]


def test_test_mode_answers_refused_inputs_and_leaves_no_trace_of_them() -> None:
    answered = Answered().play(input_at(1, "test_mode", on=True))
    answered.session.feed(input_at(2 * SECOND_US, "no_roll", arrived=2 * SECOND_US))
    effects = answered.session.advance(3 * SECOND_US)
    assert answered.answers == [("test_mode", None), ("no_roll", "testing")]
    assert not effects
    assert answered.session.first().seq == 1
    assert answered.session.allowed() == ("test_mode off",)


class TestAllowed:
    """The inputs allowed at each stage, under the names for entering them."""

    def test_at_a_closed_table(self) -> None:
        assert Answered(state=State(table="closed")).session.allowed() == (
            "open_table",
            "lock",
            "test_mode on",
        )

    def test_before_the_first_throw(self) -> None:
        allowed = Answered().session.allowed()
        assert {"new_shooter", "pass_dice", "run_out", "close_table", "lock"} <= set(allowed)
        assert not {"no_roll", "set_dice", "accept", "unlock"} & set(allowed)

    def test_under_review(self) -> None:
        answered = Answered().play(*throw(SECOND_US, (None, 4)), input_at(9 * SECOND_US, "settled"))
        assert answered.answers == [("settled", "not_ruled_yet")]
        allowed = answered.session.allowed()
        assert allowed[:2] == ("no_roll", "set_dice")
        assert "close_table" not in allowed

    def test_after_a_call(self) -> None:
        answered = Answered().play(*throw(SECOND_US), input_at(9 * SECOND_US, "dice_collected"))
        assert {"no_roll", "set_dice", "settled", "new_shooter"} <= set(answered.session.allowed())

    @pytest.mark.parametrize(
        ("rules", "some", "none"),
        [
            ("roulette", {"no_more_bets", "lock"}, {"paid", "open_bets"}),
            ("three-card-poker-12-014", {"seats", "no_more_bets"}, {"play", "set_card", "misdeal"}),
            (
                "high-roller-12-005",
                {"draw_button", "set_card"},
                {"start_roll", "void", "no_roll", "buy", "leave"},
            ),
        ],
    )
    def test_of_the_other_games(self, rules: str, some: set[str], none: set[str]) -> None:
        allowed = set(Answered(rules).session.allowed())
        assert some <= allowed
        assert not none & allowed


def test_inputs_listed_as_allowed_in_flight_are_accepted() -> None:
    """Only inputs without required arguments are tried."""
    flight = in_order(throw(SECOND_US))[:60]
    plain = ("no_roll", "lock", "dice_collected", "pass_dice", "close_table", "unlock", "accept", "settled")
    for name in plain:
        answered = Answered().play(*flight)
        may = name in answered.session.allowed()
        answered.play(input_at(flight[-1].t + 2 * SECOND_US, name))
        assert (answered.answers[0][1] is None) == may, name


class TestAtOnce:
    """A person's input waits for delayed readings only while an attempt is in progress."""

    def test_without_an_attempt_an_input_is_decided_on_arrival(self) -> None:
        answered = Answered()
        answered.session.feed(input_at(SECOND_US, "new_shooter", seat=3))
        assert answered.answers == [("new_shooter", None)]

    def test_during_a_throw_an_input_waits_for_delayed_readings(self) -> None:
        answered = Answered()
        answered.session.feed_all(throw(SECOND_US)[:40])
        flying = max(r.t for r in throw(SECOND_US)[:40])
        answered.session.feed(input_at(flying, "new_shooter", seat=3))
        assert answered.answers == []
        answered.session.advance(flying + SECOND_US)
        assert answered.answers == [("new_shooter", "under_way")]

    def test_a_ruling_that_names_its_roll_is_decided_on_arrival(self) -> None:
        answered = Answered().play(*throw(SECOND_US))
        ruling = input_at(9 * SECOND_US, "no_roll", what="1")
        answered.session.feed(msgspec.structs.replace(ruling, arrived=ruling.t))
        assert answered.answers == [("no_roll", None)]

    def test_a_ruling_that_names_no_roll_is_decided_on_arrival(self) -> None:
        answered = Answered().play(*throw(SECOND_US))
        effects = answered.arrives(input_at(9 * SECOND_US, "no_roll"))
        assert [effect.type for effect in effects if isinstance(effect, Outcome)] == ["roll.corrected"]
        assert answered.answers == [("no_roll", None)]

    def test_a_ruling_that_would_be_refused_waits_for_a_delayed_release(self) -> None:
        answered = Answered()
        assert not answered.arrives(input_at(SECOND_US + 10_000, "no_roll"))
        assert answered.answers == []
        release, *flight = throw(SECOND_US)
        answered.arrives(release, SECOND_US + 50_000)
        answered.play(*flight)
        assert answered.answers == [("no_roll", None)]

    def test_a_ruling_overtaken_by_a_release_sends_that_throw_to_review(self) -> None:
        answered = Answered().play(*throw(SECOND_US))
        effects = [*answered.arrives(input_at(11 * SECOND_US + 10_000, "no_roll"))]
        release, *flight = throw(11 * SECOND_US)
        effects += answered.arrives(release, 11 * SECOND_US + 50_000)
        for reading in flight:
            effects += answered.arrives(reading, max(reading.t, 11 * SECOND_US + 50_000))
        effects += answered.session.finish()
        outcomes = [effect for effect in effects if isinstance(effect, Outcome)]
        assert [outcome.type for outcome in outcomes if outcome.type.startswith("roll.")] == [
            "roll.corrected",
            "roll.review",
        ]
        review = next(outcome.data for outcome in outcomes if isinstance(outcome.data, RollReview))
        assert "it had already begun when a ruling was entered" in review.reasons[0].seen

    def test_an_input_never_overtakes_a_release_that_has_arrived(self) -> None:
        answered = Answered()
        flying = throw(SECOND_US)
        answered.session.feed(flying[0])
        answered.session.feed(input_at(SECOND_US + 50_000, "new_shooter", seat=3))
        answered.session.feed_all(flying[1:])
        answered.session.advance(9 * SECOND_US)
        assert answered.answers == [("new_shooter", "under_way")]

    @pytest.mark.parametrize(
        ("name", "refusal"), [("new_shooter", "under_way"), ("close_table", "attempt_open")]
    )
    def test_an_input_never_overtakes_the_track_of_a_throw_without_a_release(
        self, name: str, refusal: str
    ) -> None:
        """The track points that begin the throw have arrived, but the watermark has not passed them."""
        answered = Answered()
        track = [reading for reading in throw(SECOND_US) if not isinstance(reading, DieReleased)]
        thrown = [reading for reading in track if reading.t < SECOND_US + 50_000]
        for reading in thrown:
            answered.arrives(reading)
        answered.arrives(input_at(SECOND_US + 50_000, name, seat=3))
        answered.play(*track[len(thrown) :])
        assert answered.answers == [(name, refusal)]

    def test_a_replay_decides_on_an_input_as_the_live_table_did(self) -> None:
        readings = [
            input_at(1, "new_shooter", seat=3),
            *throw(SECOND_US),
            input_at(9 * SECOND_US, "run_out", on=True),
        ]
        one_by_one, at_once = Answered(), Answered()
        apart = [effect for reading in readings for effect in one_by_one.session.feed(reading)]
        together = at_once.session.feed_all(readings)
        assert [*apart, *one_by_one.session.finish()] == [*together, *at_once.session.finish()]
        assert one_by_one.answers == at_once.answers
