"""Scenes at a Three Card Poker table in a short notation for the table's requests.

A scene is a list of steps separated by semicolons: `a ante 3 200` (position 3, 200 cents), `b pair_plus 3
100`, `c side 3 100 by x` (by default p3), `d play 3 200`, `close`, `void`, `remove a`, and a deal such as
`deal 3=QhJd2c 5=AsKsQs dealer=Kc8d3s folds=3`.

The results have a short form: `a win 200 400` (payout, returned), `b lose`, `c push 100`, `d rejected RULE`
and so on.
"""

import json
from functools import cache

from controller.games.three_card.wagers.book import ThreeCardBook
from controller.games.three_card.wagers.paytable import ThreeCardPayTable
from controller.settings.paytables import load_paytable
from controller.settlement.run import settle
from tests.games.craps.wagers.scene import short

T12014 = "three-card-poker-12-014"


@cache
def paytable() -> ThreeCardPayTable:
    """Load the shipped pay table once for all tests."""
    return load_paytable(T12014, ThreeCardPayTable)


def play(steps: str, table: ThreeCardPayTable | None = None) -> list[str]:
    return [short(line) for line in result_lines(steps, table)]


def result_lines(steps: str, table: ThreeCardPayTable | None = None) -> list[dict[str, object]]:
    requests = [json.dumps(request(step.split())).encode() for step in steps.split(";")]
    results = b"".join(settle(requests, ThreeCardBook(table or paytable())))
    return [json.loads(line) for line in results.splitlines()]


def request(words: list[str]) -> dict[str, object]:
    """Return the request for a step."""
    match words:
        case ["close" | "void" as do]:
            return {"do": do}
        case ["void", *why]:
            return {"do": "void", "reason": " ".join(why)}
        case ["remove", bet]:
            return {"do": "remove", "id": bet}
        case ["reduce" | "increase" as do, bet, cents]:
            return {"do": do, "id": bet, "to": int(cents)}
        case ["deal", *hands]:
            return deal(dict(hand.split("=") for hand in hands))
        case [bet, wager, seat, cents, *by]:
            return {
                "do": "bet",
                "id": bet,
                "player": by[1] if by else f"p{seat}",
                "wager": wager,
                "seat": seat,
                "amount": int(cents),
            }
    raise AssertionError(f"not a step: {words}")


def deal(hands: dict[str, str]) -> dict[str, object]:
    """Return the request of a deal; `dealer` and `folds` are among the names."""
    folds = hands.pop("folds", "")
    dealer = cards(hands.pop("dealer"))
    dealt = {seat: cards(hand) for seat, hand in hands.items()}
    return {"do": "deal", "hands": dealt, "dealer": dealer, "folds": folds.split(",") if folds else []}


def cards(text: str) -> list[str]:
    """Split `QhJd2c` into its cards."""
    return [text[at : at + 2] for at in range(0, len(text), 2)]
