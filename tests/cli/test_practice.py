"""`tablectl simulate --staff me` waits for the person, and the score lists the mistakes."""

import io
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import cast

import msgspec
import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.cli import practice
from controller.cli.link import Json, ask
from controller.cli.practice import Practice, Score, score_lines
from controller.cli.screen import Screen
from controller.cli.shell import DEFECT, FAILED
from controller.games.high_roller.table import HighRollerState
from controller.model.outcomes import (
    DealCalled,
    DealCorrected,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
)
from controller.model.readings import Input
from controller.model.verdicts import Reason
from controller.people.register import PUBLIC_FILE
from controller.rules.high_roller.rolls import BoughtCard, CardRoll, RollOff
from controller.settings.places import config_file
from controller.settings.tables import load_table
from drivers.sim import ss2_wheel
from drivers.sim.dice import TABLE
from drivers.sim.practice import (
    DEALS,
    ROLLS,
    SMART_WHEEL,
    card_to_set,
    correct_result,
    first_only,
    is_persons_input,
    last_seen_us,
    observations,
    player_request,
)
from drivers.sim.scenes import Scene, Truth
from drivers.sim.setting import for_practice, types_for
from drivers.sim.stage import Stage
from drivers.sim.table import LEAD_US, Act, VirtualTable, deals_play, single_rolls_play
from tests.cli.controller_at import PATIENCE_S, Terminal

SCORED = re.compile(r"\d correct|no score")

SPOKEN, READ, REVIEWED = "C34-INV-2vi", "C34-PT-3", "C34-PT-1"
TRUE = Truth(verdict="valid", allowed=("valid",), dice=(3, 4))
HAND = Truth(verdict="valid", allowed=("valid",), dice=(3, 4), ruled="corrected")
MISREAD = Truth(verdict="valid", allowed=("valid",), dice=(3, 4), ruled="corrected", ruled_dice=(5, 5))
UNSURE = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=(3, 4))


def said(number: int, dice: tuple[int, int]) -> Outcome:
    data = RollCalled(
        roll=number,
        dice=dice,
        total=sum(dice),
        phase="come_out",
        point=None,
        call="natural",
        point_after=None,
        shooter=None,
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    return Outcome(type="roll.called", t=1, id=f"craps/1/{number}", seq=number, data=data)


def void(number: int, code: str) -> Outcome:
    reasons = (Reason(code=code, rule=SPOKEN, seen="so"),)
    data = RollNoRoll(roll=number, reasons=reasons, by="boxperson", who=None, notices=())
    return Outcome(type="roll.no_roll", t=1, id=f"craps/1/{number}", seq=number, data=data)


def review(number: int) -> Outcome:
    reasons = (Reason(code="low_confidence", rule=REVIEWED, seen="so"),)
    data = RollReview(roll=number, reasons=reasons, dice=None, notices=())
    return Outcome(type="roll.review", t=1, id=f"craps/1/{number}", seq=number, data=data)


def corrected(number: int, dice: tuple[int, int] | None) -> Outcome:
    data = RollCorrected(roll=number, corrects="x", ruling="set_dice", by="boxperson", who=None, dice=dice)
    return Outcome(type="roll.corrected", t=1, id=f"craps/1/{number}", seq=number, data=data)


def played(*turns: tuple[Truth, list[Outcome]]) -> Score:
    score = Score(SPOKEN, READ)
    for truth, told in turns:
        score.begin(Scene(kind="any", start_us=0, end_us=1, truth=truth))
        for outcome in told:
            score.add(outcome)
    return score


def shown(score: Score) -> str:
    return "\n".join(score_lines(Screen(io.StringIO(), {}), score))


def test_a_person_who_enters_every_required_input_gets_the_full_score() -> None:
    score = played(
        (TRUE, [said(1, (4, 3))]),
        (HAND, [said(2, (3, 4)), corrected(2, None)]),
        (MISREAD, [said(3, (3, 4)), corrected(3, (5, 5))]),
        (UNSURE, [review(4), said(4, (3, 4))]),
    )
    assert "Score: 4 of 4 correct" in shown(score)


def deal_called(number: int, hands: dict[str, tuple[str, ...]]) -> Outcome:
    data = DealCalled(
        deal=number,
        hands={seat: hand for seat, hand in hands.items() if seat != "dealer"},
        dealer=hands["dealer"],
        folds=(),
        qualifies=True,
        announcement="",
        results=(),
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    return Outcome(type="deal.called", t=1, id=f"cards/1/{number}", seq=number, data=data)


def deal_corrected(number: int, hands: dict[str, tuple[str, ...]] | None) -> Outcome:
    data = DealCorrected(
        deal=number,
        corrects=f"cards/1/{number}",
        ruling="set_card",
        by="dealer",
        who=None,
        hands=None if hands is None else {seat: hand for seat, hand in hands.items() if seat != "dealer"},
        dealer=None if hands is None else hands["dealer"],
    )
    return Outcome(type="deal.corrected", t=2, id=f"cards/1/{number + 1}", seq=number + 1, data=data)


def test_a_review_without_a_ruling_is_missed_with_its_rule() -> None:
    score = played((UNSURE, [review(1), void(1, "unruled")]), (UNSURE, [review(2)]))
    told = shown(score)
    assert "Score: 0 of 2" in told
    assert told.count(f"enter set_dice 3 4 ({REVIEWED})") == 2


def test_a_void_that_no_sensor_can_detect_is_missed_if_not_entered() -> None:
    told = shown(played((HAND, [said(1, (3, 4))]), (MISREAD, [said(2, (3, 4))])))
    assert f"the table recorded 3-4; the correct result was void: enter no_roll ({SPOKEN})" in told
    assert f"the table recorded 3-4; the correct result was 5-5: enter set_dice 5 5 ({READ})" in told


def test_a_wrong_ruling_counts_as_missed() -> None:
    told = shown(played((UNSURE, [review(1), void(1, "called")])))
    assert f"the table recorded void; the correct result was 3-4: enter set_dice 3 4 ({READ})" in told


def test_a_ruling_after_the_next_throw_has_begun_counts_for_the_throw_that_it_names() -> None:
    score = played((MISREAD, [said(1, (3, 4))]), (TRUE, [corrected(1, (5, 5)), said(2, (3, 4))]))
    assert "2 of 2" in shown(score)


def test_at_a_wheel_a_void_is_entered_as_no_spin() -> None:
    score = Score("!R-8", "R-SPIN-4", "no_spin")
    score.begin(Scene(kind="any", start_us=0, end_us=1, truth=HAND))
    score.add(said(1, (3, 4)))
    assert "enter no_spin (!R-8)" in shown(score)


def test_every_practised_game_of_a_smart_wheel_has_one_right_end_and_some_need_an_input() -> None:
    pockets = tuple(map(str, range(37)))
    spoken = set()
    for kind in SMART_WHEEL:
        _, _, (scene,) = ss2_wheel.simulate(1, pockets, {kind: 1.0}, 1)
        right = correct_result(scene)
        assert right is not None, kind
        spoken |= {kind} if right.spoken else set()
    assert spoken == {"dealer_no_spin", "dealer_sets_number"}


def test_without_play_there_is_no_score() -> None:
    assert "no score" in shown(played())


def dealt(kind: str) -> tuple[Act, Scene]:
    """Deal a kind of hand to a person who practises."""
    act = first_only(deals_play({kind: 1.0}))(4, 1, False)
    return act, act.scenes[0]


@pytest.mark.parametrize("kind", DEALS)
def test_every_practised_deal_has_one_right_end_and_a_visible_sign(kind: str) -> None:
    act, scene = dealt(kind)
    right = correct_result(scene)
    assert right is not None
    by_hand = {"unread_card", "card_corrected", "misdeal_late", "misdeal_while_dealing"}
    assert right.spoken is (kind in by_hand)
    assert (right.result is not None) is (kind in {"plain", "unread_card", "card_corrected"})
    assert observations(scene, card_to_set(act))


@pytest.mark.parametrize("kind", DEALS)
def test_at_a_card_table_players_act_by_themselves_and_the_person_rules_for_the_dealer(kind: str) -> None:
    act, _ = dealt(kind)
    entered = [reading for _, reading in act.feed if isinstance(reading, Input)]
    played = {reading.name for reading in entered if not is_persons_input("three_card", reading)}
    assert {"seats"} <= played <= {"seats", "no_more_bets", "play", "fold"}


def test_a_card_left_uncorrected_is_missed_and_the_right_input_is_reported() -> None:
    act, scene = dealt("card_corrected")
    card = card_to_set(act)
    assert card is not None
    score = Score(SPOKEN, "T-DEAL-3", "misdeal")
    score.begin(scene, card)
    assert isinstance(card.seat, str)
    misread = {
        seat: tuple(str(card.what) if held == card.card else held for held in hand)
        for seat, hand in scene.truth.hands.items()
    }
    score.add(deal_called(1, misread))
    assert f"enter set_card {card.card} seat={card.seat} what={card.what} (T-DEAL-3)" in " ".join(
        shown(score).split()
    )
    score.add(deal_corrected(1, dict(scene.truth.hands)))
    assert "Score: 1 of 1" in shown(score)


@pytest.mark.parametrize("open_", [True, False])
def test_no_card_is_dealt_while_a_deal_is_open(open_: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    play_single_roll = Practice(load_table("three-card"), Screen(out), threading.Event())
    monkeypatch.setattr(practice, "ask", lambda *_: {"status": {"attempt_open": open_}})
    play_single_roll.execute("")
    assert play_single_roll.cue() is not open_
    assert ("the deal is still open" in out.getvalue()) is open_


def test_a_misdeal_that_was_not_called_is_missed() -> None:
    act, scene = dealt("misdeal_late")
    score = Score("T-IRR-1", "T-DEAL-3", "misdeal")
    score.begin(scene, card_to_set(act))
    score.add(deal_called(1, {"1": ("2c", "3c", "5d"), "dealer": ("Kh", "Qh", "2d")}))
    assert "enter misdeal (T-IRR-1)" in " ".join(shown(score).split())
    score.add(deal_corrected(1, None))
    assert "Score: 1 of 1" in shown(score)


@pytest.mark.parametrize(
    ("stage", "leads_up"),
    [
        ("elimination", set()),
        ("button_draw", {"draw_button", "buy", "start_roll"}),
        ("won", {"close_table", "open_table", "draw_button", "buy", "start_roll"}),
    ],
)
def test_a_practised_high_roller_roll_begins_a_game_if_the_table_has_none(
    stage: str, leads_up: set[str]
) -> None:
    act = single_rolls_play(TABLE, {"valid": 1.0}, lambda: stage)(3, 1, False)
    entered = [reading for _, reading in act.feed if isinstance(reading, Input)]
    played = {reading.name for reading in entered if not is_persons_input("high_roller", reading)}
    assert played - {"set_card"} == leads_up


@pytest.mark.parametrize("kind", ROLLS)
def test_every_practised_high_roller_roll_has_one_right_end(kind: str) -> None:
    act = single_rolls_play(TABLE, {kind: 1.0}, lambda: "elimination")(3, 1, False)
    assert correct_result(act.scenes[0]) is not None


GAME = HighRollerState(stage="roll_off", seats=(1, 2, 3, 4), button="1")
TWICE = RollOff(turns=(BoughtCard("c1", "2", 8), BoughtCard("c2", "2", 8), BoughtCard("c3", "4", 8)))
ONCE = RollOff(turns=(BoughtCard("c1", "2", 8), BoughtCard("c3", "4", 8)))
ROLLED = RollOff(turns=ONCE.turns, done=(CardRoll(8, BoughtCard("c0", "2", 8)),))


def asks(state: HighRollerState) -> set[str]:
    """Return all possible requests of players at a table in this state."""
    game = json.loads(msgspec.json.encode(state))
    words = (player_request(game, Random(seed)) for seed in range(300))
    return {f"{word.name} {word.seat}" for word in words if word is not None}


@pytest.mark.parametrize(
    ("roll_off", "declines"), [(TWICE, {"decline 2"}), (ROLLED, {"decline 2"}), (ONCE, set())]
)
def test_a_player_declines_a_roll_only_if_he_has_or_had_another(
    roll_off: RollOff, declines: set[str]
) -> None:
    assert roll_off.may_decline() is bool(declines)
    leaves = {f"leave {seat}" for seat in (1, 2, 3, 4)}
    assert asks(GAME.replace(roll_off=roll_off)) == declines | leaves


@pytest.mark.parametrize(
    "state",
    [
        GAME.replace(stage="tied", roll_off=TWICE, gone=("1",)),
        GAME.replace(stage="won", roll_off=None),
        GAME.replace(stage="elimination", seats=(1, 2, 3), roll_off=None),
        HighRollerState(),
    ],
)
def test_players_request_nothing_in_a_tie_between_games_or_when_too_few_would_stay(
    state: HighRollerState,
) -> None:
    assert asks(state) == set()


@pytest.mark.parametrize("enters", [True, False])
def test_a_players_request_is_entered_before_the_next_roll_or_missed_with_its_rule(
    enters: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    told = {"high_roller": json.loads(msgspec.json.encode(GAME.replace(roll_off=TWICE)))}
    monkeypatch.setattr(practice, "ask", lambda *_: {"ok": True, "says": "taken", "status": {"state": told}})
    for seed in range(20):
        play_single_roll = Practice(load_table("high-roller"), Screen(out), threading.Event(), seed=seed)
        play_single_roll.execute("")
        if play_single_roll.score.requests:
            break
    assert not play_single_roll.cue(), "no roll may begin during a player's request"
    asked = play_single_roll.score.requests[0].request
    assert f"You hear: {asked.text}." in out.getvalue()
    if enters:
        play_single_roll.execute(f"{asked.name} {asked.seat}")
    play_single_roll.execute("")
    assert play_single_roll.cue(), "play must continue"
    missed = f"{asked.text}: enter {asked.name} {asked.seat} ({asked.rule})"
    assert (missed in shown(play_single_roll.score)) is not enters


def test_pressing_enter_again_before_the_dice_are_at_rest_does_not_throw_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    play_single_roll = Practice(load_table("craps"), Screen(out), threading.Event())
    monkeypatch.setattr(practice, "ask", lambda *_: {"status": {}})
    play_single_roll.execute("")
    assert play_single_roll.cue()
    play_single_roll.execute("")
    assert not play_single_roll.cue()
    assert "The shooter has the dice." in out.getvalue()
    assert "wait until this attempt is over" in out.getvalue()


def test_an_exception_in_a_thread_ends_the_practice_with_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Broken:
        def run(self, _over: Callable[[], bool]) -> None:
            raise ZeroDivisionError("a die of no size")

    play_single_roll = Practice(load_table("craps"), Screen(io.StringIO()), threading.Event())
    table = cast("VirtualTable", None)
    assert play_single_roll.run(cast("Stage", Broken()), table, tmp_path, tmp_path / "table.yaml") == DEFECT
    told = capsys.readouterr().err
    assert "the stage thread failed (a die of no size), so the session ends" in told
    assert "Traceback" not in told
    assert "ZeroDivisionError" in (tmp_path / "practice.log").read_text(encoding="utf-8")


def test_a_practice_whose_controller_exits_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Idle:
        def run(self, over: Callable[[], bool]) -> None:
            while not over():
                time.sleep(0.01)

    def exits(_practice: Practice, _log: object) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])

    monkeypatch.setattr(Practice, "_controller", exits)
    play_single_roll = Practice(load_table("craps"), Screen(io.StringIO()), threading.Event())
    table = cast("VirtualTable", None)
    assert play_single_roll.run(cast("Stage", Idle()), table, tmp_path, tmp_path / "table.yaml") == FAILED
    assert "the controller exited" in capsys.readouterr().err


@pytest.mark.parametrize("table", ["craps", "roulette", "roulette-ss2", "three-card"])
def test_an_attempt_begins_within_two_seconds_of_the_persons_input(table: str) -> None:
    settings = load_table(str(config_file("tables", table)))
    acts: list[Act] = []
    for seed in range(12):
        virtual = for_practice(
            settings,
            types_for(settings),
            seed=seed,
            report=lambda _: None,
            cue=lambda: True,
            begun=acts.append,
            stage=lambda: "",
        )
        virtual.start(0)
        virtual.run(LEAD_US)
    assert len(acts) == 12
    for act in acts:
        noticed = [at for at, reading in act.feed if not is_persons_input(settings.rules.game, reading)]
        first_us = min([*noticed, *(change.at_us for change in act.changes)]) - LEAD_US
        assert 0 < first_us <= 2_000_000
        assert act.end_us - last_seen_us(settings.rules.game, act) <= 2_000_000


def test_a_person_plays_two_throws_on_a_terminal_and_gets_the_score(tmp_path: Path) -> None:
    """A person who enters the dice on the felt is right, however late the readings arrive."""
    folder = tmp_path / "v"
    terminal = Terminal(
        ("simulate", "craps", "--staff", "me", "--dir", str(folder), "--throws", "2", "--seed", "3"), 80, 24
    )
    try:
        terminal.until(lambda text: "You are the staff" in text)
        touched: Json = {"do": "input", "name": "lock", "by": "supervisor", "token": "of a screen"}
        told = ask(str(folder / "control.sock"), touched)
        assert str(folder / "people" / PUBLIC_FILE) in str(told["says"]), (
            "the screens of this folder must be accepted"
        )
        for number in (1, 2):
            terminal.type("\n")
            text = terminal.until(times("press Enter to continue", number))
            (seen,) = re.findall(r"You see: ([^.]*)\.", text)[-1:]
            dice = re.search(r"(\d) (\d)", seen)
            rule_until_right(terminal, f"set_dice {dice[1]} {dice[2]}" if dice else "no_roll", number)
        terminal.type("end\n")
        assert "the virtual table is switched off" in terminal.whole()
    finally:
        terminal.end()
    assert (folder / "controller.log").read_text(encoding="utf-8").count("stopped") == 1


def times(words: str, count: int) -> Callable[[str], bool]:
    """Return the condition that the text was written this often."""
    return lambda text: text.count(words) >= count


def scores(count: int) -> Callable[[str], bool]:
    """Return the condition that the score was printed this often."""
    return lambda text: len(SCORED.findall(text)) >= count


def rule_until_right(terminal: Terminal, ruling: str, number: int) -> None:
    """Enter a ruling until it is accepted, because it may be refused as too early."""
    deadline = time.monotonic() + PATIENCE_S
    scored = len(SCORED.findall(terminal.text))
    while time.monotonic() < deadline:
        terminal.type(f"{ruling}\nscore\n")
        scored += 1
        text = terminal.until(scores(scored))
        score = text.rfind(f"Score: {number} of {number} correct")
        if score >= 0 and score == text.rfind("Score: "):
            return
    raise AssertionError(f"no ruling was accepted; there is:\n{terminal.text}")
