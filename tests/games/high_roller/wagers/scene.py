"""Scenes at a High Roller table in a short notation for the table's requests.

A scene is a list of steps separated by semicolons: `game 1,2,3 button 1` (optionally with `take 200` and
`final`), `a 1 J` (card a, player 1, a Jack), `5-6` (a throw by the player whose turn it is), `5-6 by 2`,
`illegal by 2`, `decline by 2`, `remove a`, `end 1` (players left). Without `take` a game adds nothing to the
Bonus Pot.

The results have a short form: `a win 180` (prize and Bonus Pot), `b lose`, `c rejected RULE`, `throw refused
RULE`, `game:1 gross 200 rake 20 bonus 0 prize 180 paid 0 to 1`, `recorded 400`.
"""

import json
from collections.abc import Mapping
from functools import cache

from controller.games.high_roller.wagers.book import HighRollerBook
from controller.games.high_roller.wagers.paytable import HighRollerPayTable
from controller.settings.paytables import load_paytable
from controller.settlement.run import settle

H12005 = "high-roller-12-005"


@cache
def paytable() -> HighRollerPayTable:
    """Load the shipped pay table once for all tests."""
    return load_paytable(H12005, HighRollerPayTable)


def play(steps: str, table: HighRollerPayTable | None = None) -> list[str]:
    return [short(line) for line in result_lines(steps, table)]


def result_lines(steps: str, table: HighRollerPayTable | None = None) -> list[dict[str, object]]:
    requests = [json.dumps(request(step.split())).encode() for step in steps.split(";")]
    results = b"".join(settle(requests, HighRollerBook(table or paytable())))
    return [json.loads(line) for line in results.splitlines()]


def request(words: list[str]) -> dict[str, object]:
    """Return the request for a step."""
    match words:
        case ["game", seats, "button", button, *more]:
            take = int(more[1]) if more[:1] == ["take"] else 0
            final = more[-1:] == ["final"]
            return {
                "do": "game",
                "seats": seats.split(","),
                "button": button,
                "bonus_take": take,
                "final": final,
            }
        case ["end", players]:
            return {"do": "end", "players": int(players)}
        case ["remove", card]:
            return {"do": "remove", "id": card}
        case [*done, "by", player]:
            return request(done) | {"player": player}
        case ["illegal" | "decline" as do]:
            return {"do": do}
        case [dice]:
            return {"do": "throw", "dice": [int(face) for face in dice.split("-")]}
        case [card, player, rank]:
            return {"do": "bet", "id": card, "player": player, "card": rank}
    raise AssertionError(f"not a step: {words}")


def short(line: Mapping[str, object]) -> str:
    """Return a result line in short form."""
    shown = line["id"]
    match line:
        case {"wager": "pot"}:
            words = {key: line[key] for key in ("gross", "rake", "bonus", "prize")}
            money = " ".join(f"{key} {cents}" for key, cents in words.items())
            return f"{shown} {money} paid {line['bonus_paid']} to {line['winner']}"
        case {"status": "recorded", "rake": cents, "rule": "H-CLOSE-2"}:
            return f"recorded {cents}"
        case {"status": "refused"}:
            about = line["do"] if shown == "table" else shown
            return f"{about} refused {line['rule']}"
        case {"status": "rejected"}:
            return f"{shown} rejected {str(line['reason']).partition(':')[0]}"
    assert line["stake"] == 100
    assert line["wager"] == "card"
    if line["status"] == "win":
        assert line["payout"] == line["returned"]
        return f"{shown} win {line['returned']}"
    assert line["payout"] == 0
    assert line["returned"] == (100 if line["status"] == "void" else 0)
    return f"{shown} {line['status']}"
