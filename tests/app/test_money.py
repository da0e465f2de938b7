"""From sensor readings to players' balances: a session of each rule set through the real daemon.

The test computes the expected balances from the dice, numbers and cards alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controller.model.outcomes import (
    GameStarted,
    GameWon,
    Outcome,
    RollCalled,
    RollCorrected,
    SpinCalled,
    SpinCorrected,
)
from drivers.sim import dice, high_roller, wheel
from tests.app import card_money
from tests.app.money import CHIPS, Mishap, MoneySession, Wager, proved
from tests.publish.broker import Mosquitto, needs_mosquitto

KILLS: dict[int, Mishap] = {4: MoneySession.kill_table}
WRECKS: dict[int, Mishap] = {
    2: MoneySession.kill_engine,
    3: MoneySession.kill_broker,
    4: MoneySession.kill_table,
}
"""Even parts begin while bets are open, odd parts while they are closed."""


@pytest.fixture
def play(tmp_path: Path) -> Iterator[Callable[[MoneySession], MoneySession]]:
    """Yield a function that plays a session. Remove everything afterwards."""
    played: list[MoneySession] = []

    def one(session: MoneySession) -> MoneySession:
        played.append(session)
        session.play()
        return session

    yield one
    for session in played:
        session.close()


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    broker = Mosquitto(tmp_path)
    broker.start()
    yield broker
    broker.kill()


def results(published: list[Outcome]) -> list[object]:
    """Return the final result of each attempt that counts, in order: dice or number."""
    final: dict[int, object] = {}
    for outcome in published:
        match outcome.data:
            case RollCalled(roll=attempt, dice=result) | RollCorrected(roll=attempt, dice=result):
                final[attempt] = result
            case SpinCalled(spin=attempt, number=result) | SpinCorrected(spin=attempt, number=result):
                final[attempt] = result
            case _:
                pass
    return [final[attempt] for attempt in sorted(final) if final[attempt] is not None]


def any_seven(after: str, _made: int) -> list[Wager]:
    """Bet a dollar on Any Seven whenever bets open."""
    return [{"wager": "any7"}] if after == "bets.opened" else []


def with_sevens(published: list[Outcome], made: int) -> tuple[int, int]:
    """Any Seven pays 4 to 1 (C34-PAY-16, CV1-A7-1). After a No Roll the bet stays up for the next roll."""
    rolls = results(published)
    opened = [outcome.type for outcome in published].count("bets.opened") + 1
    assert made == opened
    waiting, balance, up = opened, CHIPS - 100 * made, 0
    for outcome_is_roll, seven in _in_order(published):
        up += 1
        waiting -= 1
        if outcome_is_roll:
            balance += 500 * up if seven else 0
            up = 0
    assert rolls
    return balance, 100 * (up + waiting)


def _in_order(published: list[Outcome]) -> Iterator[tuple[bool, bool]]:
    for outcome in published:
        if isinstance(outcome.data, RollCalled):
            yield True, sum(outcome.data.dice) == 7
        elif outcome.type == "roll.no_roll":
            yield False, False


COUNTED = {"valid": 3.0, "one_short": 1.0, "off_table": 1.0}


@pytest.mark.parametrize(("shipped", "seed"), [("craps", 21), ("craps-v1", 22)])
@needs_mosquitto
def test_a_session_of_craps_adds_up(
    tmp_path: Path,
    play: Callable[[MoneySession], MoneySession],
    mosquitto: Mosquitto,
    shipped: str,
    seed: int,
) -> None:
    behind_a_broker = shipped == "craps"
    rules = "craps-12-034" if behind_a_broker else "craps-v1"
    _, feed, _ = dice.simulate(seed, COUNTED, 7, rules=rules)  # type: ignore[arg-type]  # one of the two names
    session = play(
        MoneySession(
            tmp_path,
            shipped,
            feed,
            any_seven,
            broker=mosquitto if behind_a_broker else None,
            mishaps=WRECKS if behind_a_broker else KILLS,
        )
    )
    found = proved(session)
    assert (found["ann"], found["at_risk"]) == with_sevens(session.published, session.made)


@pytest.mark.parametrize(
    ("ruleset", "dozen"), [("roulette", 1), ("roulette-conventional", 2)], ids=["printed", "conventional"]
)
@needs_mosquitto
def test_a_session_of_roulette_adds_up(
    tmp_path: Path,
    play: Callable[[MoneySession], MoneySession],
    mosquitto: Mosquitto,
    ruleset: str,
    dozen: int,
) -> None:
    _, feed, _ = wheel.simulate(12, {"valid": 1.0}, 6, wheel=wheel.AMERICAN)
    behind_a_broker = ruleset != "roulette"

    def bets(after: str, _made: int) -> list[Wager]:
        wagers: list[Wager] = [{"wager": "dozen", "which": 1}, {"wager": "odd"}]
        return wagers if after == "bets.opened" else []

    session = play(
        MoneySession(
            tmp_path,
            "roulette",
            feed,
            bets,
            ruleset=ruleset,
            broker=mosquitto if behind_a_broker else None,
            mishaps=WRECKS if behind_a_broker else KILLS,
        )
    )
    numbers = [str(number) for number in results(session.published)]
    assert len(numbers) >= 5
    balance = CHIPS - 100 * session.made
    balance += sum(100 * (dozen + 1) for number in numbers if 1 <= int(number) <= 12)
    balance += sum(200 for number in numbers if int(number) % 2)
    found = proved(session)
    assert (found["ann"], found["at_risk"]) == (balance, 100 * (session.made - 2 * len(numbers)))


def test_a_session_of_three_card_poker_adds_up(
    tmp_path: Path, play: Callable[[MoneySession], MoneySession]
) -> None:
    """Every wager of every deal is paid by the rules. Stakes of deals that do not count are returned.

    The table is killed between two deals, and during one deal, which is void and dealt again.
    """
    punter = card_money.Punter()

    def cut_off(session: MoneySession) -> None:
        session.cut_off()
        assert session.ask("GET", "/players/ann") == {
            "player": "ann",
            "balance": CHIPS + card_money.won(card_money.CUT_OFF),
            "wagers": [],
        }
        punter.again(session)

    mishaps = {4: MoneySession.kill_table, 2 * card_money.CUT_OFF + 1: cut_off}
    session = play(MoneySession(tmp_path, "three-card", card_money.feed(), punter, mishaps=mishaps))
    ends = [outcome.type for outcome in session.published if outcome.type.startswith("deal.")]
    assert Counter(ends) == {"deal.called": 6, "deal.void": 2, "deal.corrected": 1}
    found = proved(session)
    assert (found["ann"], found["at_risk"]) == (CHIPS + card_money.won(), 0)


def test_a_session_of_high_roller_adds_up(
    tmp_path: Path, play: Callable[[MoneySession], MoneySession]
) -> None:
    """The rake is 10 % of each game's cards, and the Bonus Pot is funded before the prize (H-MONEY-1).

    The table is killed while cards are pitched, in two rolls, between rolls, and when a game is won.
    """
    stages: dict[int, object] = {}

    def noted(number: int, mishap: Mishap) -> Mishap:
        def strike(session: MoneySession) -> None:
            mishap(session)
            state = session.status("state")
            assert isinstance(state, dict)
            stages[number] = state["high_roller"]["stage"]

        return strike

    mishaps = {
        2: MoneySession.kill_table,
        4: MoneySession.kill_table,
        8: MoneySession.cut_off,
        13: MoneySession.kill_table,
        14: MoneySession.cut_off,
    }
    _, feed, _ = high_roller.simulate(14, games=3)
    session = play(
        MoneySession(
            tmp_path,
            "high-roller",
            feed,
            lambda _after, _made: [],
            length_mm=dice.TABLE.length_mm,
            breaks=frozenset({"cards.bought", "roll.called"}),
            breaks_at_once=frozenset(),
            mishaps={number: noted(number, mishap) for number, mishap in mishaps.items()},
        )
    )
    assert stages == {2: "buy_in", 4: "won", 8: "elimination", 13: "roll_off", 14: "roll_off"}
    rake = bonus = 0
    won: Counter[str] = Counter()
    started: dict[int, GameStarted] = {}
    for outcome in session.published:
        match outcome.data:
            case GameStarted() as game:
                started[game.game] = game
            case GameWon() as winner:
                game = started[winner.game]
                gross = game.card_cents * sum(map(len, game.cards.values()))
                rake += gross // 10
                bonus += game.bonus_take - winner.bonus_paid
                won[str(winner.player)] += gross - gross // 10 - game.bonus_take + winner.bonus_paid
            case _:
                pass
    assert won
    found = proved(session)
    assert (found["rake"], found["bonus_pot"], found["at_risk"]) == (rake, bonus, 0)
    house = session.house()
    assert {seat: house.balance(f"player:{session.name} seat {seat}") for seat in won} == dict(won)
    house.store.close()
