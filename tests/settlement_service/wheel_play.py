"""Bets and outcomes for an engine that is killed, each with its confirmation."""

import json
import random
from typing import NamedTuple

from controller.journal.keys import Key
from controller.publish.events import read_event
from tests.settlement_service.rig import SealedTable


class Line(NamedTuple):
    """A line for the listener, and the listener's reply after the commit."""

    line: str
    word: str


def outcome(event: bytes) -> Line:
    return Line(f"E {event.hex()}", read_event(event).id)


def bet(table: str, **bet: object) -> Line:
    return Line(f"B {json.dumps([table, bet])}", str(bet["id"]))


def roulette(name: str, key: Key, spins: int, seed: int, player: str = "ann") -> list[Line]:
    """Return the lines of bets, spins, No Spins and corrections at one wheel."""
    return [line for one in rounds(name, key, spins, seed, player) for line in one]


def rounds(name: str, key: Key, spins: int, seed: int, player: str) -> list[list[Line]]:
    """Return the lines round by round: a bet, then the outcomes of a spin."""
    chance = random.Random(f"{name}-{seed}")
    table = SealedTable(name, key)
    return [_round(table, chance, f"{name}-b{spin}", player) for spin in range(spins)]


def _round(table: SealedTable, chance: random.Random, id_: str, player: str) -> list[Line]:
    wager = {"id": id_, "player": player, "amount": chance.choice((100, 250))}
    if chance.random() < 0.5:
        first = bet(table.name, **wager, wager="red")
    else:
        first = bet(table.name, **wager, wager="straight", numbers=[str(chance.randrange(37))])
    number = str(chance.randrange(37))
    events = table.no_spin() if chance.random() < 0.1 else table.spins(number)
    if chance.random() < 0.1:
        events = [*events, *table.spin_corrected(str(chance.randrange(37)))]
    return [first, *(outcome(event) for event in events)]
