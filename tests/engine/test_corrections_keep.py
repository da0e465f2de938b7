"""A correction changes only the call that it names. Later inputs are kept."""

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.engine.session import Session
from controller.games.three_card.machine import as_three_card_state
from controller.machines.setup import Setup, State, read_memory
from controller.model.outcomes import (
    DealCorrected,
    GameWon,
    RollCalled,
    RollCorrected,
    ShooterChanged,
    SpinCorrected,
)
from controller.model.readings import AnyReading, Face, Input
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played, play
from tests.games.high_roller.played_table import HighRollerTable, two_players
from tests.games.three_card.deal import seated
from tests.rules.wheel.simulator import Scene, spin, wheel
from tests.scenes import SECOND_US, TABLE, input_at, throw

WHEEL = wheel()
SPIN = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0))
READINGS = [reading for reading in SPIN.readings if isinstance(reading, AnyReading)]
ROUND_US = 20 * SECOND_US
FACES = tuple((one, other) for one in range(1, 7) for other in range(one, 7))


# --- single cases ---


def test_a_run_out_started_since_outlasts_a_correction_to_the_same_total() -> None:
    played = play(
        throw(SECOND_US, (2, 2)),
        throw(11 * SECOND_US, (2, 2)),
        input_at(14 * SECOND_US, "run_out", on=True),
        input_at(15 * SECOND_US, "set_dice", dice=[1, 3]),
        throw(21 * SECOND_US, (3, 3)),
    )
    last = played.data(RollCalled)[-1]
    assert (last.call, last.run_out, last.point_after) == ("no_decision", True, None)


def test_a_shooter_named_since_keeps_the_dice_after_a_correction() -> None:
    played = play(
        input_at(1, "new_shooter", seat=3),
        throw(SECOND_US, (2, 2)),
        input_at(4 * SECOND_US, "pass_dice"),
        input_at(5 * SECOND_US, "new_shooter", seat=5),
        input_at(6 * SECOND_US, "set_dice", dice=[3, 3]),
        throw(11 * SECOND_US, (1, 1)),
    )
    assert played.data(RollCorrected)[0].shooter == 3, "the shooter of the roll must not change"
    last = played.data(RollCalled)[-1]
    assert (last.shooter, last.point) == (5, 6)
    assert played.data(ShooterChanged)[-1].shooter == 5


def test_a_run_out_lapses_where_the_corrected_roll_leaves_a_point_on() -> None:
    played = play(
        throw(SECOND_US, (5, 6)),
        input_at(4 * SECOND_US, "run_out", on=True),
        input_at(5 * SECOND_US, "set_dice", dice=[3, 3]),
        throw(11 * SECOND_US, (3, 3)),
    )
    last = played.data(RollCalled)[-1]
    assert (last.call, last.run_out) == ("point_made", False), (
        "C34-CONT-2b: a run-out belongs to a come-out roll"
    )


def test_a_declined_roll_stays_declined_if_the_corrected_roll_leaves_the_same_player_to_roll() -> None:
    table = two_players(first=(7, 7)).rolls(7, 4).enter("decline").enter("set_dice", dice=[5, 5])
    assert table.state.roll_off is not None
    assert [card.player for card in table.state.roll_off.turns] == ["2"]


def test_a_declined_roll_lapses_if_the_corrected_roll_gives_the_turn_to_another_player() -> None:
    table = two_players(first=(7, 7)).rolls(7, 4).enter("decline").enter("no_roll")
    assert table.state.roll_off is not None
    assert [card.player for card in table.state.roll_off.turns][:1] == ["1"]


def test_cards_bought_since_a_game_was_void_are_not_lost_to_a_correction() -> None:
    table = two_players().enter("void", "supervisor", what="game")
    table.enter("buy", seat="1", count=1)
    assert table.enter("set_dice", dice=[3, 4]).end().refusals() == ["no_attempt"]


def test_bets_that_the_dealer_closed_since_stay_closed_over_a_corrected_number() -> None:
    played = Played("roulette", wheel=WHEEL).feed(READINGS)
    after = SPIN.end_us + 5 * SECOND_US
    played.feed(
        input_at(after, "no_more_bets", "dealer"),
        input_at(after + SECOND_US, "set_number", number="8", what="1"),
    )
    played.finish()
    assert played.data(SpinCorrected)[0].number == "8"
    assert played.types("bets")[-1] == "bets.closed"


def test_seats_named_since_are_kept_when_a_card_is_corrected() -> None:
    table = seated().deals().act(p1="play", p2="play").enter("seats", seats=["1", "2", "4"])
    table.enter("set_card", card="4h", seat="1", what="Jd")
    state = read_memory(table.quiet(1).played.session.state().three_card, as_three_card_state)
    assert table.end().data(DealCorrected)[0].hands is not None
    assert state is not None
    assert state.seats == ("1", "2", "4")


# --- an attempt by its number ---


def test_a_ruling_that_names_an_earlier_roll_changes_nothing() -> None:
    played = play(
        throw(SECOND_US, (2, 2)),
        throw(11 * SECOND_US, (2, 2)),
        input_at(15 * SECOND_US, "set_dice", dice=[3, 4], what="1"),
        input_at(16 * SECOND_US, "no_roll", what="1"),
        input_at(17 * SECOND_US, "settled", what="1"),
    )
    assert (played.types("roll"), played.refusals()) == (["roll.called"] * 2, ["other_attempt"] * 3)


def test_a_no_roll_that_names_a_review_does_not_affect_the_next_throw_in_flight() -> None:
    unsure = throw(SECOND_US, (3, 3), confidence=0.4)
    flying = throw(11 * SECOND_US, (2, 2))
    word = input_at(11 * SECOND_US + 300_000, "no_roll", what="1")
    played = play(unsure, sorted([*flying, word], key=lambda r: r.t))
    assert played.types("roll") == ["roll.review", "roll.no_roll", "roll.called"]
    assert played.refusals() == ["other_attempt"]


def test_a_button_press_without_a_number_acts_on_the_throw_in_progress_at_its_time() -> None:
    flying = throw(11 * SECOND_US, (2, 2))
    word = input_at(11 * SECOND_US + 300_000, "no_roll")
    played = Played().feed(throw(SECOND_US, (3, 3)))
    played.feed([r for r in flying if r.t < word.t], word, [r for r in flying if r.t > word.t]).finish()
    assert played.types("roll") == ["roll.called", "roll.no_roll"]


def test_a_ruling_on_a_deal_names_the_deal_and_the_card_it_replaces() -> None:
    def ruled(what: str) -> Played:
        table = seated().deals().act(p1="play", p2="play")
        return table.enter("set_card", card="4h", seat="1", what=what).end()

    assert ruled("1 Jd").data(DealCorrected)[0].hands is not None
    assert ruled("2 Jd").refusals() == ["other_attempt"]
    assert seated().deals().enter("misdeal", what="7").end().refusals() == ["other_attempt"]
    assert seated().deals().enter("play", seat="1", what="7").end().refusals() == ["other_attempt"]


def test_a_ruling_that_names_another_roll_of_a_high_roller_game_is_refused() -> None:
    assert two_players().rolls(9).enter("no_roll", what="4").end().refusals() == ["other_attempt"]


# --- the answer to the person who ruled ---


def answers(*scenes: AnyReading | list[AnyReading], rules: str = "craps-12-034") -> list[str]:
    heard: list[str] = []
    session = Session(
        Setup(table="t", ruleset=load_ruleset(rules), dice_table=TABLE),
        lambda _entered, _refused, says: heard.append(says),
    )
    for scene in scenes:
        session.feed_all([scene] if isinstance(scene, AnyReading) else scene)
    session.finish()
    return heard


def test_the_answer_says_what_was_ruled_and_what_it_replaced() -> None:
    assert answers(
        throw(SECOND_US, (3, 4)),
        input_at(5 * SECOND_US, "no_roll", what="1"),
        input_at(6 * SECOND_US, "set_dice", dice=[2, 2]),
        input_at(7 * SECOND_US, "settled"),
    ) == ["Roll 1: No Roll, was 3-4", "Roll 1: 2-2, was No Roll", "Roll 1: settled"]


def test_the_answer_says_that_a_review_was_ruled_on() -> None:
    unsure = throw(SECOND_US, (3, 3), confidence=0.4)
    assert answers(unsure, input_at(6 * SECOND_US, "set_dice", dice=[5, 2])) == [
        "Roll 1: 5-2, was under review"
    ]


# --- random rolls, inputs and corrections ---


WORDS = st.sampled_from(
    [
        ("new_shooter", {"seat": 1}),
        ("new_shooter", {"seat": 2}),
        ("pass_dice", {}),
        ("run_out", {"on": True}),
        ("run_out", {"on": False}),
        ("dice_collected", {}),
    ]
)
ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(FACES),
        st.sampled_from(FACES),
        st.lists(st.one_of(WORDS, st.just("correct")), max_size=5),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(ROUNDS, st.sampled_from(["craps-12-034", "craps-v1"]))
def test_a_corrected_session_equals_the_session_called_right_at_once(
    rounds: list[tuple[tuple[Face, Face], tuple[Face, Face], list[object]]], rules: str
) -> None:
    corrected, right = Played(rules), Played(rules)
    for number, (wrong_dice, right_dice, words) in enumerate(rounds, 1):
        start = number * ROUND_US
        corrected.feed(throw(start, wrong_dice))
        right.feed(throw(start, right_dice))
        for entered in inputs(words, start + 4 * SECOND_US, wrong_dice, right_dice):
            refused = len(corrected.refusals())
            corrected.feed(entered)
            corrected.effects += corrected.session.advance(entered.t + SECOND_US // 2)
            if entered.name != "set_dice" and len(corrected.refusals()) == refused:
                right.feed(entered)
        end = start + ROUND_US - SECOND_US
        corrected.effects += corrected.session.advance(end)
        right.effects += right.session.advance(end)
        assert game_of(corrected) == game_of(right)


HIGH_ROLLER_WORDS = st.sampled_from(
    [
        ("decline", {"seat": "1"}),
        ("decline", {"seat": "2"}),
        ("decline", {"seat": "3"}),
        ("leave", {"seat": "2"}),
        ("closing", {}),
    ]
)
HIGH_ROLLER_ROUNDS = st.lists(
    st.tuples(
        st.sampled_from(FACES),
        st.sampled_from(FACES),
        st.lists(st.one_of(HIGH_ROLLER_WORDS, st.just("correct")), max_size=4),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=25, deadline=None)
@given(HIGH_ROLLER_ROUNDS)
def test_a_corrected_high_roller_game_equals_the_game_called_right_at_once(
    rounds: list[tuple[tuple[Face, Face], tuple[Face, Face], list[object]]],
) -> None:
    corrected, right = (
        three_players().enter("start_roll").played,
        three_players().enter("start_roll").played,
    )
    began = 60 * ROUND_US
    for number, (wrong_dice, right_dice, words) in enumerate(rounds, 1):
        start = began + number * ROUND_US
        corrected.feed(throw(start, wrong_dice))
        right.feed(throw(start, right_dice))
        for entered in inputs(words, start + 4 * SECOND_US, wrong_dice, right_dice):
            refused = len(corrected.refusals())
            corrected.feed(entered)
            corrected.effects += corrected.session.advance(entered.t + SECOND_US // 2)
            if "already_settled" in corrected.refusals():
                return  # the hours ended because of the first call
            if entered.name != "set_dice" and len(corrected.refusals()) == refused:
                right.feed(entered)
        end = start + ROUND_US - SECOND_US
        corrected.effects += corrected.session.advance(end)
        right.effects += right.session.advance(end)
        assert game_of(corrected) == game_of(right)


def three_players() -> HighRollerTable:
    """Return three seats with every card from 5 to 9 twice, so that most rolls leave two or more players."""
    ranks = (5, 6, 7, 8, 9)
    table = HighRollerTable().button(s1="Q", s2="9", s3="8")
    return table.buys("1", *ranks, *ranks).buys("2", *ranks).buys("3", *ranks)


def inputs(
    words: list[object], t: int, wrong: tuple[Face, Face], right: tuple[Face, Face]
) -> Iterator[Input]:
    """Yield inputs a second apart; the last correction enters the correct dice."""
    stands = wrong
    for word in words:
        t += SECOND_US
        if isinstance(word, tuple):
            name, arguments = word
            yield input_at(t, name, **arguments)
        else:
            stands = right if stands == wrong else wrong
            yield input_at(t, "set_dice", dice=list(stands))
    if stands != right:
        yield input_at(t + SECOND_US, "set_dice", dice=list(right))


def game_of(played: Played) -> State:
    return msgspec.structs.replace(played.session.state(), call=None)


# --- across a restart ---


def begun_anew(played: Played, rules: str, **changes: object) -> Session:
    """Return the session that continues from the journal's bytes."""
    kept = msgspec.json.encode(played.session.state())
    state = msgspec.structs.replace(msgspec.json.decode(kept, type=State), **changes)
    setup = Setup(
        table="table-7",
        session="s2",
        ruleset=load_ruleset(rules),
        dice_table=TABLE,
        wheel=WHEEL,
        state=state,
        first=played.session.first(),
    )
    return Session(setup)


def go_on(played: Played, rules: str = "craps-12-034", **changes: object) -> Played:
    """Stop the table between two attempts, and start it again."""
    played.effects += played.session.advance(10**9)
    played.session = begun_anew(played, rules, **changes)
    return played


def test_a_roll_can_still_be_corrected_after_a_restart_and_later_inputs_are_kept() -> None:
    played = Played().feed(
        input_at(1, "new_shooter", seat=3),
        throw(SECOND_US, (2, 2)),
        input_at(4 * SECOND_US, "pass_dice"),
        input_at(5 * SECOND_US, "new_shooter", seat=5),
    )
    go_on(played).feed(input_at(SECOND_US, "set_dice", dice=[3, 3], what="1"), throw(11 * SECOND_US, (1, 1)))
    played.finish()
    (corrected,) = played.data(RollCorrected)
    called = next(o for o in played.outcomes if o.type == "roll.called")
    assert (corrected.corrects, corrected.point_after, corrected.shooter) == (called.id, 6, 3)
    last = played.data(RollCalled)[-1]
    assert (last.roll, last.shooter, last.point) == (2, 5, 6)


def test_a_no_roll_can_still_be_overruled_after_a_restart() -> None:
    played = Played().feed(throw(SECOND_US, (3, 3), short_mm=(300, 0)))
    go_on(played).feed(input_at(SECOND_US, "set_dice", dice=[3, 3])).finish()
    assert played.data(RollCorrected)[0].point_after == 6


def test_a_settled_roll_stays_settled_across_a_restart() -> None:
    played = Played().feed(throw(SECOND_US, (3, 3)), input_at(5 * SECOND_US, "settled"))
    assert go_on(played).feed(input_at(SECOND_US, "no_roll")).finish().refusals() == ["no_attempt"]


def test_a_win_is_undone_by_a_correction_after_a_restart() -> None:
    table = two_players().rolls(9)
    played = go_on(table.played, "high-roller-12-005")
    played.feed(input_at(SECOND_US, "set_dice", dice=[3, 4], what="1")).finish()
    (corrected,) = played.data(RollCorrected)
    assert (corrected.call, corrected.remaining) == ("elimination", ("1", "2"))
    assert len(played.data(GameWon)) == 1


def test_a_card_can_still_be_corrected_after_a_restart() -> None:
    table = seated().deals().act(p1="play", p2="play")
    played = go_on(table.played, "three-card-poker-12-014")
    played.feed(input_at(SECOND_US, "set_card", "dealer", card="4h", seat="1", what="1 Jd")).finish()
    (corrected,) = played.data(DealCorrected)
    assert corrected.hands is not None
    assert corrected.hands["1"] == ("Qh", "4h", "2c")


@pytest.mark.parametrize(("what", "expected"), [("1", ["8"]), (None, [])])
def test_a_number_can_still_be_corrected_after_a_restart_by_a_ruling_that_names_its_spin(
    what: str | None, expected: list[str]
) -> None:
    played = Played("roulette", wheel=WHEEL).feed(READINGS)
    played.effects += played.session.advance(SPIN.end_us + 5 * SECOND_US)
    call = played.session.state().call
    assert call is not None
    go_on(played, "roulette", call=msgspec.structs.replace(call, away=True))
    played.feed(input_at(SECOND_US, "set_number", "dealer", number="8", what=what)).finish()
    assert [c.number for c in played.data(SpinCorrected)] == expected
    assert played.refusals() == ([] if expected else ["which_spin"])
