"""Whole sessions of play, from simulated readings to the players' final balances."""

from collections.abc import Iterator, Sequence

import msgspec
import pytest

from controller.engine.session import Session
from controller.journal.keys import Key
from controller.machines.setup import Setup
from controller.model.outcomes import (
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
)
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, wheel
from drivers.sim.scenes import Feed, Header, disagreements
from tests.settlement_service.rig import House, SealedTable

CHIPS = 1_000_000


def outcomes(header: Header, feed: Feed) -> Iterator[Outcome]:
    session = Session(
        Setup(
            table=header.table,
            ruleset=load_ruleset(header.ruleset),
            dice_table=header.dice_table or None,
            wheel=header.wheel or None,
        )
    )
    for arrived_us, reading in feed:
        for effect in session.feed(msgspec.structs.replace(reading, arrived=arrived_us)):
            if isinstance(effect, Outcome):
                yield effect
    for effect in session.finish():
        if isinstance(effect, Outcome):
            yield effect


class Punter:
    """Bets 100 cents whenever bets open, and records the attempt of each bet."""

    def __init__(self, house: House, table: SealedTable, **bet: object) -> None:
        self._house = house
        self._table = table
        self._bet = bet
        self.before: list[int] = []

    def bets(self, attempt: int) -> None:
        self._house.bets(
            self._table, "ann", f"b{len(self.before)}", str(self._bet["wager"]), 100, **self._more
        )
        self.before.append(attempt)

    @property
    def _more(self) -> dict[str, object]:
        return {name: value for name, value in self._bet.items() if name != "wager"}


def results_of(published: Sequence[Outcome]) -> dict[int, object]:
    """Return the final result of each attempt: the dice, the number, or None if it does not count."""
    final: dict[int, object] = {}
    for outcome in published:
        match outcome.data:
            case RollCalled(roll=attempt, dice=result) | RollCorrected(roll=attempt, dice=result):
                final[attempt] = result
            case SpinCalled(spin=attempt, number=result) | SpinCorrected(spin=attempt, number=result):
                final[attempt] = result
            case RollNoRoll(roll=attempt) | SpinNoSpin(spin=attempt):
                final[attempt] = None
            case _:
                pass
    return final


def played(house: House, table: SealedTable, punter: Punter, published: Sequence[Outcome]) -> None:
    """Bet and settle in the course of the session; some outcomes are delivered twice, in random batches."""
    punter.bets(1)
    last = 0
    for outcome in published:
        event = table.sealed(outcome)
        house.takes(event, event)
        last = max(last, getattr(outcome.data, "roll", 0), getattr(outcome.data, "spin", 0))
        if outcome.type == "bets.opened":
            punter.bets(last + 1)


def expected(punter: Punter, final: dict[int, object], wins: object, odds: int) -> tuple[int, int]:
    """Compute independently the player's balance and the amount at risk."""
    balance, at_risk = CHIPS, 0
    for before in punter.before:
        balance -= 100
        result = next((final[n] for n in sorted(final) if n >= before and final[n] is not None), None)
        if result is None:
            at_risk += 100
        elif result == wins or (isinstance(result, tuple) and sum(result) == wins):
            balance += 100 + 100 * odds
    return balance, at_risk


@pytest.mark.parametrize("seed", [3, 12])
def test_a_session_of_craps_adds_up(house: House, key: Key, seed: int) -> None:
    """Any Seven pays 4 to 1 whenever a roll that counts is a 7 (C34-PAY-16)."""
    header, feed, scenes = dice.simulate(seed, n=24)
    published = list(outcomes(header, feed))
    assert disagreements(scenes, published) == []
    table = SealedTable(header.table, key)
    house.enrol(table, header.ruleset)
    house.player("ann", CHIPS)
    punter = Punter(house, table, wager="any7")
    played(house, table, punter, published)
    balance = house.balance("player:ann"), house.balance(f"at_risk:{header.table}")
    assert balance == expected(punter, results_of(published), 7, 4)
    assert house.proof().faults == ()


@pytest.mark.parametrize("seed", [3, 11])
def test_a_session_of_roulette_adds_up(house: House, key: Key, seed: int) -> None:
    """A bet on one number pays 35 to 1 (R-PAY-1)."""
    header, feed, scenes = wheel.simulate(seed, n=12, wheel=wheel.AMERICAN)
    published = list(outcomes(header, feed))
    assert disagreements(scenes, published) == []
    final = results_of(published)
    number = next(str(result) for result in final.values() if result is not None)
    table = SealedTable(header.table, key)
    house.enrol(table, header.ruleset)
    house.player("ann", CHIPS)
    punter = Punter(house, table, wager="straight", numbers=[number])
    played(house, table, punter, published)
    balance = house.balance("player:ann"), house.balance(f"at_risk:{header.table}")
    assert balance == expected(punter, final, number, 35)
    assert house.proof().faults == ()
