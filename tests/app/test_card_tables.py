"""Card tables that lose power in any state resume from the journal, or void the deal."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.app.recording import Rotation
from controller.games.high_roller.table import as_high_roller_state
from controller.games.three_card.machine import as_three_card_state
from controller.journal.contents import STATE_NOTED, Noted
from controller.machines.setup import State, read_memory, to_json_values
from controller.model.outcomes import Bets, DealReview, DealVoid, Outcome, RollNoRoll, RollReview, TableEvent
from controller.model.readings import AnyReading, Card, DeviceDown, DeviceUp, Face, Input, Switch
from tests.app.house import House, HouseMaker, drain, live_of, play, unlocked
from tests.scenes import SECOND_US, TABLE, input_at, throw

START_US = 10 * SECOND_US
SEATS = input_at(START_US, "seats", "dealer", seats=("1", "2"))
NO_MORE_BETS = input_at(START_US + SECOND_US, "no_more_bets", "dealer")
HANDS = (("1", "Qh Jd 2c"), ("2", "7s 7d 9h"), ("dealer", "3s Kc 8d"))
PLAYS = input_at(30 * SECOND_US, "play", "player", seat="1")
FOLDS = input_at(31 * SECOND_US, "fold", "player", seat="2")
IN_HOLD = Switch(t=31_200_000, dev="console", name="bell", open=False)
"""A fifth of a second after the last fold, when the deal is decided and its call is still held."""
POWER_LOST = ["power_lost"]
SHIPPED = Path(__file__).parents[2] / "config" / "tables"


def power_cut(one: House, to: Path) -> House:
    """Copy the present state of the disk, which is the state after a power cut."""
    shutil.copytree(one.options.journal, to)
    return House(to, replace(one.options, journal=to))


def arrives(daemon: Daemon, readings: list[AnyReading]) -> None:
    """Post readings without advancing time past the last."""
    for reading in readings:
        assert daemon.inlet.post(msgspec.structs.replace(reading, arrived=reading.t))
    drain(daemon)


def cards(hands: tuple[tuple[str, str], ...] = HANDS, start_us: int = 20 * SECOND_US) -> list[AnyReading]:
    times = count(start_us, SECOND_US // 2)
    return [
        Card(t=next(times), dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit
        for to, hand in hands
        for text in hand.split()
    ]


def state_of(daemon: Daemon) -> State:
    return live_of(daemon).core.view.state


def codes(outcome: Outcome) -> list[str]:
    return [reason.code for reason in getattr(outcome.data, "reasons", ())]


def names_no_card(outcomes: list[Outcome]) -> bool:
    published = b"".join(map(msgspec.json.encode, outcomes))
    return not any(text.encode() in published for _, hand in HANDS for text in hand.split())


def played(house: HouseMaker, table: str, readings: list[AnyReading]) -> tuple[House, Daemon]:
    one = house(table=table)
    daemon = one.open()
    unlocked(daemon)
    arrives(daemon, readings)
    return one, daemon


def started_again(one: House, tmp_path: Path) -> tuple[House, Daemon]:
    again = power_cut(one, tmp_path / "after the cut")
    daemon = again.open()
    # The program may have been edited while the test runs.
    daemon.approve_identity("technician", "ann")
    drain(daemon)
    return again, daemon


# --- Three Card Poker ---


def test_T_DEAL_4_while_play_is_accepted_the_folded_seats_are_published_with_it(house: HouseMaker) -> None:
    _, daemon = played(house, "three-card", [SEATS, NO_MORE_BETS, *cards()])

    def accepted_after(*acts: AnyReading) -> tuple[object, tuple[str, ...]]:
        arrives(daemon, list(acts))
        daemon.clock.reach(daemon.clock.now_us() + SECOND_US // 5)
        drain(daemon)
        betting = live_of(daemon).core._current_betting
        return betting.takes, betting.folded

    folds = msgspec.structs.replace(FOLDS, t=PLAYS.t - SECOND_US)
    assert accepted_after() == ("play", ())
    assert accepted_after(folds) == ("play", ("2",))
    assert accepted_after(PLAYS) == (None, ())


IN_FLIGHT: dict[str, list[AnyReading]] = {
    "first card": cards()[:1],
    "dealing": cards()[:5],
    "last card": cards(),
    "acting": [*cards(), PLAYS],
    "held": [*cards(), PLAYS, FOLDS, IN_HOLD],
}


@pytest.mark.parametrize("stage", IN_FLIGHT)
def test_T_IRR_1_a_deal_cut_off_is_reviewed_and_then_void_with_all_stakes_back(
    house: HouseMaker, tmp_path: Path, stage: str
) -> None:
    tick = Switch(t=IN_FLIGHT[stage][-1].t + 130_000, dev="console", name="bell", open=False)
    one, daemon = played(house, "three-card", [SEATS, NO_MORE_BETS, *IN_FLIGHT[stage], tick])
    assert live_of(daemon).core.view.attempt_open
    assert "deal.called" not in one.types()
    again, daemon = started_again(one, tmp_path)
    review = next(outcome for outcome in again.outcomes() if isinstance(outcome.data, DealReview))
    assert codes(review) == POWER_LOST
    assert state_of(daemon).three_card == state_of(one.daemons[0]).three_card
    play(daemon, [input_at(40 * SECOND_US, "misdeal", "dealer", who="ann")])
    void, opened = again.outcomes()[-2:]
    assert isinstance(void.data, DealVoid)
    assert (void.data.deal, void.data.by, void.data.who) == (1, "dealer", "ann")
    assert codes(void) == [*POWER_LOST, "called"]
    assert isinstance(opened.data, Bets)
    assert (opened.type, opened.data.round) == ("bets.opened", 2)
    assert names_no_card(again.outcomes())


def test_a_deal_cut_off_without_a_ruling_lapses_at_the_next_card(house: HouseMaker, tmp_path: Path) -> None:
    one, _ = played(house, "three-card", [SEATS, *cards()[:5]])
    again, daemon = started_again(one, tmp_path)
    unlocked(daemon)
    play(daemon, [*cards(start_us=60 * SECOND_US)])
    play(daemon, [input_at(80 * SECOND_US, "play", seat="1"), input_at(81 * SECOND_US, "play", seat="2")])
    void = next(outcome for outcome in again.outcomes() if isinstance(outcome.data, DealVoid))
    assert codes(void) == [*POWER_LOST, "unruled"]
    assert again.types()[-5:] == ["deal.void", "bets.opened", "bets.closed", "deal.called", "bets.opened"]


def test_a_deal_lapses_no_later_than_the_time_of_the_card_that_ends_it(
    house: HouseMaker, tmp_path: Path
) -> None:
    one, _ = played(house, "three-card", [SEATS, *cards()[:5]])
    again, daemon = started_again(one, tmp_path)
    unlocked(daemon)
    on_their_way = [
        msgspec.structs.replace(card, arrived=card.t + 1_200) for card in cards(start_us=60 * SECOND_US)
    ]
    play(daemon, on_their_way)
    published = [outcome for outcome in again.outcomes() if outcome.id.split("/")[-2] == "2"]
    assert [outcome.type for outcome in published][-3:] == ["deal.void", "bets.opened", "bets.closed"]
    times_us = [outcome.t for outcome in published]
    assert times_us == sorted(times_us)


def test_a_deal_under_review_at_the_cut_is_not_reported_twice(house: HouseMaker, tmp_path: Path) -> None:
    unread = Card(t=24 * SECOND_US, dev="shoe", to="dealer")
    one, daemon = played(house, "three-card", [SEATS, *cards()[:8], unread])
    play(daemon, [PLAYS, FOLDS])
    assert one.types()[-1] == "deal.review"
    again, daemon = started_again(one, tmp_path)
    assert again.types().count("deal.review") == 1
    play(daemon, [input_at(40 * SECOND_US, "void", "dealer")])
    assert again.types()[-2:] == ["deal.void", "bets.opened"]


def test_a_deal_that_was_called_is_not_cut_off(house: HouseMaker, tmp_path: Path) -> None:
    one, daemon = played(house, "three-card", [SEATS, *cards()])
    play(daemon, [PLAYS, FOLDS])
    assert one.types()[-2:] == ["deal.called", "bets.opened"]
    again, daemon = started_again(one, tmp_path)
    assert live_of(daemon).core.view.pending == ()
    assert again.types() == [*one.types(), "table.locked"]
    assert live_of(daemon).core.view.first.deal == 2


def test_who_sits_where_survives_a_cut_before_any_card(house: HouseMaker, tmp_path: Path) -> None:
    one, daemon = played(house, "three-card", [])
    play(daemon, [input_at(START_US, "seats", "dealer", seats=("1", "2"), what="ann")])
    assert one.types()[-1] == "table.unlocked"
    _, daemon = started_again(one, tmp_path)
    named = read_memory(state_of(daemon).three_card, as_three_card_state)
    assert named is not None
    assert (named.seats, named.players) == (("1", "2"), {"1": "ann", "2": "ann"})


def test_a_recording_never_ends_with_a_deal_in_flight(house: HouseMaker) -> None:
    _, daemon = played(house, "three-card", [SEATS, *cards()[:5]])
    core = live_of(daemon).core
    core._recordings.rotation = Rotation(size=1, quiet_us=0)
    daemon.clock.reach(60 * SECOND_US)
    drain(daemon)
    assert core.view.attempt_open
    assert core.view.recording.endswith("-001")


def test_an_orderly_stop_waits_for_a_held_call_of_a_deal(house: HouseMaker) -> None:
    one, daemon = played(house, "three-card", [SEATS, *cards(), PLAYS, FOLDS])
    clock = daemon.clock
    core, turn = live_of(daemon).core, live_of(daemon).core.turn

    def as_time_runs(timeout_s: float) -> bool:
        clock.reach(clock.now_us() + round(timeout_s * SECOND_US))
        return turn(timeout_s)

    core.turn = as_time_runs  # type: ignore[method-assign]  # the manual clock advances as it waits
    core.drain()
    drain(daemon)
    assert "deal.called" in one.types()


# --- High Roller ---

FACES: dict[int, tuple[Face, Face]] = {3: (1, 2), 5: (2, 3), 7: (3, 4), 8: (2, 6), 9: (3, 6)}
GAME: list[tuple[str, str | int | tuple[str, str | int]]] = [
    ("draws", ("1", "Q")), ("draws", ("2", "9")), ("draws", ("3", "Q")),
    ("draws", ("1", "T")), ("draws", ("3", "8")),
    ("buys", ("1", 2)), ("pitch", 7), ("pitch", 7), ("buys", ("2", 1)), ("pitch", 7), ("buys", ("3", 2)),
    ("pitch", 9), ("pitch", 5), ("leaves", "3"), ("closes", 0), ("rolls", 7), ("rolls", 9), ("declines", "1"),
    ("rolls", 9), ("rolls", 3), ("rolls", 5),
]  # fmt: skip
"""A final game: equal queens draw again, three players buy, two remain, and they roll a tie."""
ROLLS = [place for place, (what, _) in enumerate(GAME) if what == "rolls"]


def readings_of_step(step: tuple[str, str | int | tuple[str, str | int]], t: int) -> list[AnyReading]:
    """Return the readings of one step of the game."""
    what, more = step
    seat, amount = more if isinstance(more, tuple) else (str(more), 0)
    by: Callable[..., Input] = input_at
    match what:
        case "draws":
            return [by(t, "draw_button", "dealer", seat=seat, card=amount)]
        case "buys":
            return [by(t, "buy", "dealer", seat=seat, count=amount)]
        case "pitch":
            return [Card(t=t, dev="shoe", rank=more)]  # type: ignore[arg-type]  # a rank
        case "leaves":
            return [by(t, "leave", "dealer", seat=seat)]
        case "closes":
            return [by(t, "closing", "dealer")]
        case "declines":
            return [by(t, "decline", "dealer", seat=seat)]
        case _:
            return throw(t, FACES[int(seat)])


def goes_on(daemon: Daemon, step: tuple[str, str | int | tuple[str, str | int]], t: int) -> None:
    """Play a step and allow enough time for its effects."""
    play(daemon, readings_of_step(step, t))
    daemon.clock.reach(t + 9 * SECOND_US)
    drain(daemon)


def high_roller(folder: Path) -> str:
    """Return the file of a High Roller table with the length of the simulated table."""
    shipped = (SHIPPED / "high-roller.yaml").read_text(encoding="utf-8")
    path = folder / "high-roller.yaml"
    path.write_text(shipped.replace("length_mm: 2400", f"length_mm: {TABLE.length_mm:g}"), encoding="utf-8")
    return str(path)


def game_until(house: HouseMaker, tmp_path: Path, steps: int) -> tuple[House, Daemon]:
    one, daemon = played(house, high_roller(tmp_path), [])
    for number, step in enumerate(GAME[:steps]):
        goes_on(daemon, step, START_US + number * 10 * SECOND_US)
    refused = [outcome.data for outcome in one.outcomes() if outcome.type == "input.refused"]
    assert refused == []
    return one, daemon


def test_a_game_continues_after_a_cut_at_any_step(house: HouseMaker, tmp_path: Path) -> None:
    """The button, the cards, the due cards, the eliminated players, the order and the pot are unchanged."""
    one, daemon = game_until(house, tmp_path, 0)
    for number, step in enumerate(GAME):
        goes_on(daemon, step, START_US + number * 10 * SECOND_US)
        before = read_memory(state_of(daemon).high_roller, as_high_roller_state)
        assert state_of(daemon).high_roller == live_of(daemon).core._segment.session.state().high_roller
        again, after = started_again(one, tmp_path / str(number))
        assert before is not None
        # A due card may have been pitched while the controller was off.
        owed = sum(before.owed.values())
        assert state_of(after).high_roller == to_json_values(before.replace(missed=owed))
        assert live_of(after).core.view.pending == ()
        assert again.types()[len(one.types()) :] == ["table.locked"]
        after.close()
    called = [
        getattr(outcome.data, "call", None) for outcome in one.outcomes() if outcome.type == "roll.called"
    ]
    assert called == ["elimination", "roll_off", "tie", "roll_off", "roll_off"]
    assert one.types()[-1] == "game.won"
    assert "input.refused" not in one.types()


def test_H_DEAL_1_after_a_card_pitched_during_a_power_cut_the_next_cards_are_not_assigned(
    house: HouseMaker, tmp_path: Path
) -> None:
    """Seat 1's second card was not seen. Seat 2's card must not be assigned to seat 1."""
    one, _ = game_until(house, tmp_path, 6)
    again, after = started_again(one, tmp_path)
    at_us = START_US + 100 * SECOND_US
    unlocked(after)
    play(after, [input_at(at_us + SECOND_US, "buy", "dealer", seat="2", count=1)])
    goes_on(after, ("pitch", 9), at_us + 2 * SECOND_US)
    assert "card.pitched" not in again.types()
    refused = again.outcomes()[-1].data
    assert isinstance(refused, TableEvent)
    assert refused.cause == "order_broken"


@pytest.mark.parametrize("place", ROLLS)
def test_H_LEGAL_4_a_roll_cut_off_in_flight_is_rolled_again_and_no_card_is_sold_before(
    house: HouseMaker, tmp_path: Path, place: int
) -> None:
    one, daemon = game_until(house, tmp_path, place)
    t = START_US + place * 10 * SECOND_US
    arrives(daemon, readings_of_step(GAME[place], t)[:60])
    assert live_of(daemon).core.view.attempt_open
    before = state_of(daemon).high_roller
    again, daemon = started_again(one, tmp_path)
    new = again.outcomes()[len(one.outcomes()) :]
    assert isinstance(new[0].data, RollReview)
    assert state_of(daemon).high_roller == before
    play(daemon, [input_at(t + 20 * SECOND_US, "no_roll", "dealer")])
    unlocked(daemon)
    goes_on(daemon, GAME[place], t + 60 * SECOND_US)
    new = again.outcomes()[len(one.outcomes()) :]
    assert [outcome.type for outcome in new][:5] == [
        "roll.review", "table.locked", "roll.no_roll", "table.unlocked", "roll.called",
    ]  # fmt: skip
    assert isinstance(new[2].data, RollNoRoll)
    assert codes(new[2]) == [*POWER_LOST, "called"]
    assert "bets.opened" not in again.types()


def test_gap_H_19_a_game_declared_void_after_a_cut_voids_the_roll_in_flight_first(
    house: HouseMaker, tmp_path: Path
) -> None:
    one, daemon = game_until(house, tmp_path, ROLLS[1])
    t = START_US + ROLLS[1] * 10 * SECOND_US
    arrives(daemon, readings_of_step(GAME[ROLLS[1]], t)[:60])
    again, daemon = started_again(one, tmp_path)
    play(daemon, [input_at(t + 20 * SECOND_US, "void", "dealer", what="game")])
    assert again.types()[-3:] == ["roll.no_roll", "game.void", "bets.opened"]


def test_a_pitched_card_does_not_end_the_review_of_a_roll(house: HouseMaker, tmp_path: Path) -> None:
    one, daemon = game_until(house, tmp_path, ROLLS[0])
    t = START_US + ROLLS[0] * 10 * SECOND_US
    arrives(daemon, readings_of_step(GAME[ROLLS[0]], t)[:60])
    again, daemon = started_again(one, tmp_path)
    unlocked(daemon)
    play(daemon, [Card(t=t + 30 * SECOND_US, dev="shoe", rank=7)])
    assert len(live_of(daemon).core.view.pending) == 1
    assert "roll.no_roll" not in again.types()


def test_a_state_change_without_an_outcome_gets_its_own_journal_row_and_only_then(
    house: HouseMaker, tmp_path: Path
) -> None:
    one, daemon = game_until(house, tmp_path, 1)
    play(
        daemon,
        [
            input_at(50 * SECOND_US, "nonsense", "dealer"),
            input_at(51 * SECOND_US, "leave", "dealer", seat="9"),
        ],
    )
    noted = [row for row in one.rows() if row.name == STATE_NOTED]
    assert [msgspec.json.decode(row.body or b"", type=Noted).changed for row in noted] == [("high_roller",)]


def test_test_mode_leaves_no_trace_in_the_state(house: HouseMaker) -> None:
    one, daemon = played(house, "high-roller", [input_at(START_US, "test_mode", "technician", on=True)])
    play(daemon, [DeviceDown(t=START_US + 10_000, dev="shoe"), DeviceUp(t=START_US + 20_000, dev="shoe")])
    play(
        daemon,
        [*readings_of_step(("draws", ("1", "Q")), 2 * START_US), DeviceDown(t=2 * START_US, dev="shoe")],
    )
    play(daemon, [DeviceUp(t=3 * START_US, dev="shoe")])
    play(daemon, [input_at(4 * START_US, "test_mode", "technician", on=False)])
    assert STATE_NOTED not in [row.name for row in one.rows()]
