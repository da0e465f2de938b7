"""Scenes at a craps table in a short notation for the table's requests.

A scene is a list of steps separated by semicolons: `b1 pass 500`, `b2 place 6 500`, `b3 pass_odds b1 500`,
`b4 hop 3-4 100`, `3-4` (a roll), `no roll`, `off b3`, `on b3`, `reduce b1 300`, `increase b1 700`, `remove
b1`, `no action b7`, `shooter p2`, `passed` (the dice pass, to a shooter not yet named), `run out on`,
`default b3` (back to the rules' default), `on b3 stands`. A bet's player is p1 unless `by p2` follows; `off`,
`on`, `ride`, `late` and `confirmed` may also follow.

Each result is a line: `b1 win 500 1000` (payout, returned), `b1 lose`, `b1 pending`, `b1 rejected RULE`, `b1
refused RULE`, `b1 reduced 200`.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache

from controller.games.craps.wagers.book import CrapsBook
from controller.games.craps.wagers.paytable import CrapsPayTable
from controller.settings.paytables import load_paytable
from controller.settlement.run import settle

C34, CV1 = "craps-12-034", "craps-v1"
_FLAGS = {"off": ("working", "off"), "on": ("working", "on")}


@cache
def paytable(name: str) -> CrapsPayTable:
    """Load a shipped pay table once for all tests."""
    return load_paytable(name, CrapsPayTable)


def play(table: CrapsPayTable | str, steps: str) -> list[str]:
    shown = paytable(table) if isinstance(table, str) else table
    lines = (json.dumps(request(step.split())).encode() for step in steps.split(";"))
    results = b"".join(settle(lines, CrapsBook(shown))).splitlines()
    return [short(json.loads(line)) for line in results]


def request(words: list[str]) -> dict[str, object]:
    """Return the request for a step."""
    match words:
        case ["no", "roll"]:
            return {"do": "no_roll"}
        case ["no", "action", bet]:
            return {"do": "no_action", "id": bet}
        case ["run", "out", word]:
            return {"do": "run_out", "on": word == "on"}
        case ["passed"]:
            return {"do": "new_shooter"}
        case ["shooter", player]:
            return {"do": "new_shooter", "player": player}
        case ["off" | "on" as word, bet, *stands] if stands in ([], ["stands"]):
            said = {"stands": True} if stands == ["stands"] else {}
            return {"do": "working", "id": bet, "on": word == "on", **said}
        case ["default", bet]:
            return {"do": "working", "id": bet, "on": "default"}
        case ["remove", bet]:
            return {"do": "remove", "id": bet}
        case ["reduce" | "increase" as word, bet, cents]:
            return {"do": word, "id": bet, "to": int(cents)}
        case [dice]:
            return {"do": "roll", "dice": _faces(dice)}
        case [bet, wager, *rest]:
            return {"do": "bet", "id": bet, "wager": wager, "player": "p1", **dict(_bet_fields(wager, rest))}
    raise AssertionError(f"not a step: {words}")


def short(line: Mapping[str, object]) -> str:
    """Return a result line in short form."""
    status = line["status"]
    match status:
        case "refused":
            return f"{line['id']} refused {line['rule']}"
        case "rejected":
            return f"{line['id']} rejected {str(line['reason']).partition(':')[0]}"
        case "reduced":
            return f"{line['id']} reduced {line['returned']}"
        case "lose" | "pending":
            assert line["payout"] == line["returned"] == 0
            return f"{line['id']} {status}"
        case "win":
            return f"{line['id']} win {line['payout']} {line['returned']}"
    assert line["payout"] == 0
    return f"{line['id']} {status} {line['returned']}"


def _bet_fields(wager: str, words: list[str]) -> Iterator[tuple[str, object]]:
    left = list(words)
    if wager.endswith("_odds"):
        yield "base", left.pop(0)
    elif wager == "hop":
        yield "dice", _faces(left.pop(0))
    elif wager in ("place", "place_lose", "hard", "horn_high"):
        yield "number", int(left.pop(0))
    yield "amount", int(left.pop(0))
    while left:
        word = left.pop(0)
        yield ("player", left.pop(0)) if word == "by" else _FLAGS.get(word, (word, True))


def _faces(dice: str) -> list[int]:
    return [int(face) for face in dice.split("-")]
