"""Scenes at a roulette table in a short notation for the table's requests.

A scene is a list of steps separated by semicolons: `a straight 17 500`, `b split 0/00 500`, `c dozen 1 500`,
`d red 500` (by p1 unless it ends with `by p2`), `close`, `spin 17`, `no spin`, `reduce a 300`, `increase a
700`, `remove a`.

The results have a short form: `a win 17500 18000` (payout, returned), `b lose`, `c rejected RULE` and so on.
"""

import json
from functools import cache

from controller.games.roulette.wagers.book import RouletteBook
from controller.games.roulette.wagers.layout import NUMBERS_PER_WAGER
from controller.games.roulette.wagers.paytable import RoulettePayTable
from controller.settings.paytables import load_paytable
from controller.settlement.run import settle
from tests.games.craps.wagers.scene import short

PRINTED, USUAL = "roulette", "roulette-conventional"


@cache
def paytable(name: str) -> RoulettePayTable:
    """Load a shipped pay table once for all tests."""
    return load_paytable(name, RoulettePayTable)


def play(steps: str, table: RoulettePayTable | str = PRINTED) -> list[str]:
    return [short(line) for line in result_lines(steps, table)]


def result_lines(steps: str, table: RoulettePayTable | str = PRINTED) -> list[dict[str, object]]:
    shown = paytable(table) if isinstance(table, str) else table
    requests = [json.dumps(request(step.split())).encode() for step in steps.split(";")]
    return [json.loads(line) for line in b"".join(settle(requests, RouletteBook(shown))).splitlines()]


def request(words: list[str]) -> dict[str, object]:
    """Return the request for a step."""
    match words:
        case ["close"]:
            return {"do": "close"}
        case ["no", "spin"]:
            return {"do": "no_spin"}
        case ["spin", number]:
            return {"do": "spin", "number": number}
        case ["remove", bet]:
            return {"do": "remove", "id": bet}
        case ["reduce" | "increase" as word, bet, cents]:
            return {"do": word, "id": bet, "to": int(cents)}
        case [*bet, "by", player]:
            return request(bet) | {"player": player}
        case [bet, wager, spot, cents]:
            where: dict[str, object] = (
                {"numbers": spot.split("/")} if wager in NUMBERS_PER_WAGER else {"which": int(spot)}
            )
            return request([bet, wager, cents]) | where
        case [bet, wager, cents]:
            return {"do": "bet", "id": bet, "player": "p1", "wager": wager, "amount": int(cents)}
    raise AssertionError(f"not a step: {words}")
