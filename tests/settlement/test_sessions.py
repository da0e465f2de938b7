"""Whole sessions from sensors to money, whose sums are correct to the cent."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from random import Random

import pytest

from controller.games.high_roller.wagers.book import SHARED_FIGURES
from controller.model.outcomes import (
    GameStarted,
    GameVoid,
    GameWon,
    Outcome,
    RollCorrected,
)
from controller.settings import paytables
from controller.settings.mistakes import SettingsError
from controller.settings.paytables import open_book
from controller.settings.rulesets import load_ruleset
from controller.settlement.book import RawRequest
from controller.settlement.run import settle
from controller.settlement_service.book import CORRECTIONS, requests_of
from drivers.sim import high_roller, three_card
from tests.engine.play import play
from tests.games.high_roller.wagers.scene import paytable
from tests.scenes import SECOND_US, input_at, throw
from tests.sim.play import outcomes_of

Json = Mapping[str, object]


def settlement_requests(outcomes: list[Outcome], game: str) -> list[RawRequest]:
    """Return a session's requests to settlement, with corrections applied.

    The requests of a correction replace those of the corrected outcome. Later requests that followed from the
    corrected result are dropped.
    """
    requests_by_outcome: list[tuple[str, list[RawRequest]]] = []
    for outcome in outcomes:
        if outcome.type in CORRECTIONS:
            corrects = getattr(outcome.data, "corrects", "")
            ids = [id_ for id_, _ in requests_by_outcome]
            del requests_by_outcome[ids.index(corrects) :]
        requests_by_outcome.append((outcome.id, requests_of(outcome, game)))
    return [request for _, requests in requests_by_outcome for request in requests]


def paid(rules: str, requests: Iterable[Json]) -> list[dict[str, object]]:
    """Settle these requests under a rule set's shipped pay table."""
    lines = (json.dumps(request).encode() for request in requests)
    return [json.loads(line) for line in b"".join(settle(lines, open_book(rules))).splitlines()]


def cents(lines: Iterable[Json], key: str) -> int:
    total = 0
    for line in lines:
        value = line.get(key, 0)
        assert isinstance(value, int)
        total += value
    return total


def standing_wins(outcomes: list[Outcome]) -> list[GameWon]:
    """Return the wins that no correction has undone."""
    wins: dict[int, GameWon] = {}
    for outcome in outcomes:
        match outcome.data:
            case GameWon() as won:
                wins[won.game] = won
            case RollCorrected(game=int() as game):
                wins.pop(game, None)
            case _:
                pass
    return list(wins.values())


@pytest.mark.parametrize("seed", range(8))
def test_a_session_of_high_roller_is_paid_as_the_table_published_it(seed: int) -> None:
    outcomes = outcomes_of(*high_roller.simulate(seed)[:2], arrivals=True)
    lines = paid(high_roller.RULES, settlement_requests(outcomes, "high_roller"))
    assert not [line for line in lines if line.get("status") in ("refused", "rejected", "pending")]
    pots = [line for line in lines if line.get("wager") == "pot"]
    wins = standing_wins(outcomes)
    assert [(p["winner"], p["gross"], p["rake"], p["bonus"], p["prize"], p["bonus_paid"]) for p in pots] == [
        (str(w.player), w.pot.gross, w.pot.rake, w.pot.bonus, w.pot.prize, w.bonus_paid) for w in wins
    ]
    cards = [line for line in lines if line.get("wager") == "card"]
    games = [o.data for o in outcomes if isinstance(o.data, GameStarted)]
    sold = sum(len(ranks) for game in games for ranks in game.cards.values())
    assert len(cards) == sold
    kept = sum(w.pot.rake + w.pot.bonus - w.bonus_paid for w in wins)
    assert cents(cards, "returned") == 100 * sold - kept
    assert kept == sum(w.pot.rake for w in wins), "the final game must have emptied the Bonus Pot"


def test_a_void_game_returns_every_stake() -> None:
    seed = next(
        seed for seed in range(100)
        if any(t["type"] == "game.void" for t in high_roller.simulate(seed)[2])
    )  # fmt: skip
    outcomes = outcomes_of(*high_roller.simulate(seed)[:2], arrivals=True)
    void = next(o.data for o in outcomes if isinstance(o.data, GameVoid))
    lines = paid(high_roller.RULES, settlement_requests(outcomes, "high_roller"))
    back = [line for line in lines if str(line["id"]).startswith(f"{void.game}-")]
    assert {(line["status"], line["returned"]) for line in back} == {("void", 100)}


def bets_for(seats: list[str], round_: int, rng: Random) -> list[RawRequest]:
    """Place an Ante on every position, and Pair Plus and the side bet on some."""
    bets: list[RawRequest] = []
    for seat in seats:
        for wager, chance in (("ante", 1.0), ("pair_plus", 0.6), ("side", 0.4)):
            if rng.random() < chance:
                amount = 100 * rng.randint(1, 4)
                bet_id = f"{round_}-{seat}-{wager}"
                bets.append({"do": "bet", "id": bet_id, "seat": seat, "wager": wager, "amount": amount})
    return bets


def plays_for(bets: list[RawRequest], deal: RawRequest) -> list[RawRequest]:
    """Place Play behind every Ante that is not folded."""
    return [
        {**bet, "id": f"{bet['id']}-play", "wager": "play"}
        for bet in bets
        if bet["wager"] == "ante" and bet["seat"] not in deal["folds"]  # type: ignore[operator]  # a tuple of seats
    ]


@pytest.mark.parametrize("seed", range(8))
def test_a_session_of_three_card_poker_is_paid_as_the_table_published_it(seed: int) -> None:
    rng = Random(seed)
    outcomes = outcomes_of(*three_card.simulate(seed)[:2], arrivals=True)
    requests: list[RawRequest] = []
    bets: list[RawRequest] = []
    for request in settlement_requests(outcomes, "three_card"):
        if request["do"] == "deal":
            hands = request["hands"]
            assert isinstance(hands, dict)
            bets = bets_for(list(hands), len(requests), rng)
            requests += [*bets, *plays_for(bets, request)]
        if request["do"] != "close":
            requests.append(request)
    lines = paid(three_card.RULES, requests)
    assert not [line for line in lines if line.get("status") in ("refused", "rejected", "pending")]
    stakes = sum(int(str(r["amount"])) for r in requests if r["do"] == "bet")
    assert cents(lines, "stake") == stakes
    won = sum(cents([line], "payout") for line in lines if line["status"] == "win")
    lost = sum(cents([line], "stake") for line in lines if line["status"] == "lose")
    assert cents(lines, "returned") == stakes + won - lost
    results = {(line["id"], line["status"]) for line in lines}
    assert results, "a session must have deals that count"


def test_a_roll_is_reported_to_the_settlement_as_it_stands_after_the_last_ruling() -> None:
    ruling = input_at(5 * SECOND_US, "set_dice", dice=[2, 2])
    played = play(throw(SECOND_US, (3, 3)), ruling, throw(9 * SECOND_US, (1, 1)))
    assert settlement_requests(played.outcomes, "craps") == [
        {"do": "run_out", "on": False, "by_table": True},
        {"do": "roll", "dice": (2, 2)},
        {"do": "run_out", "on": False, "by_table": True},
        {"do": "roll", "dice": (1, 1)},
    ]


@pytest.mark.parametrize("key", SHARED_FIGURES)
def test_a_high_roller_table_publishes_what_its_pay_table_pays(key: str) -> None:
    rules = load_ruleset(high_roller.RULES).high_roller
    assert getattr(rules, key) == getattr(paytable().settings, key).value


def test_a_rule_set_and_a_pay_table_that_divide_the_money_differently_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = paytable()
    rake = replace(table.settings, rake_percent=replace(table.settings.rake_percent, value=12))
    monkeypatch.setattr(paytables, "load_paytable", lambda *_: replace(table, settings=rake))
    with pytest.raises(
        SettingsError, match=r"settings.rake_percent: found 12, expected 10, as in `high_roller"
    ):
        open_book(high_roller.RULES)
