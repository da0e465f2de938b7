"""Random requests of a careless or cheating table: a mixture of legal and illegal requests."""

from collections.abc import Callable
from random import Random
from typing import Protocol

from tests.settlement.reference.craps import BEHIND, BOX, C34, COMES, CV1, LINE, Craps
from tests.settlement.reference.high_roller import HighRoller
from tests.settlement.reference.lines import Line, Request
from tests.settlement.reference.roulette import LAYOUT, NUMBERS, PRINTED, RULES, USUAL, Roulette
from tests.settlement.reference.three_card import RANKS, ThreeCard

PLAYERS = ("p1", "p2", "p3")


class Engine(Protocol):
    """One game's reference engine."""

    def take(self, ask: Request) -> list[Line]: ...

    def end(self) -> list[Line]: ...


class Names:
    """The ids of a session's bets, in which an old id occasionally recurs."""

    def __init__(self, chance: Random) -> None:
        self._chance, self._last = chance, 0

    def new(self) -> str:
        """Return an id, usually one that was not used before."""
        if self._last and self._chance.random() < 0.01:
            return self.old()
        self._last += 1
        return f"b{self._last}"

    def old(self) -> str:
        """Return one of the recent ids, or one that was never used."""
        if not self._last or self._chance.random() < 0.02:
            return "nobody"
        return f"b{self._chance.randint(max(1, self._last - 20), self._last)}"


def _one_of(chance: Random, *requests: Request) -> Request:
    return chance.choice(requests)


def craps_requests(table: Craps, chance: Random, names: Names) -> Request:
    draw = chance.random()
    if draw < 0.55:
        return _craps_bet(table, chance, names)
    if draw < 0.72:
        return {"do": "roll", "dice": [chance.randint(1, 6), chance.randint(1, 6)]}
    if draw < 0.90:
        return _craps_change(table, chance, names)
    if draw < 0.96:
        return _one_of(
            chance,
            {"do": "new_shooter", "player": chance.choice(PLAYERS)},
            {"do": "new_shooter", "player": chance.choice(PLAYERS)},
            {"do": "new_shooter"},
            {"do": "no_roll"},
        )
    ask: Request = {"do": "run_out", "on": chance.random() < 0.8}
    if ask["on"] and chance.random() < 0.2:
        ask["by_table"] = True
    return ask


def _target(table: Craps, chance: Random, names: Names) -> str:
    if table.up and chance.random() < 0.95:
        return chance.choice(table.up).id
    return names.old()


def _craps_bet(table: Craps, chance: Random, names: Names) -> Request:
    paper = table.paper
    wager = chance.choice(sorted(paper.wagers | {"pass", "dont_pass"}))
    if chance.random() < 0.35:
        wager = chance.choice(LINE if table.point is None else (*COMES, "place", *BEHIND))
    if chance.random() < 0.01:
        wager = chance.choice(("buy", "lay", "put", "big6", "hop", "horn_high", "sharp_shooter", "nothing"))
    ask: Request = {"do": "bet", "id": names.new(), "player": chance.choice(PLAYERS), "wager": wager}
    ask["amount"] = _amount(chance, paper.maximum or 1000)
    _say_where(ask, wager, table, chance, names)
    if chance.random() < 0.05:
        ask["working"] = chance.choice(("on", "off"))
    if wager == "field" and chance.random() < 0.4:
        ask["ride"] = True
    if chance.random() < 0.02:
        ask["late"] = True
        if chance.random() < 0.5:
            ask["confirmed"] = True
    return ask


def _say_where(ask: Request, wager: str, table: Craps, chance: Random, names: Names) -> None:
    """Add a bet's number, faces or base, occasionally an invalid one."""
    if wager in ("place", "place_lose"):
        ask["number"] = chance.choice(BOX) if chance.random() < 0.97 else chance.choice((2, 3, 7, 11, 12, 13))
    if wager == "hard":
        ask["number"] = chance.choice((4, 6, 8, 10)) if chance.random() < 0.97 else chance.choice((2, 5, 7))
    if wager == "horn_high":
        ask["number"] = chance.choice((2, 3, 11, 12)) if chance.random() < 0.97 else chance.choice((4, 7))
    if wager == "hop":
        ask["dice"] = [chance.randint(1, 6), chance.randint(1, 6)]
    if wager in BEHIND:
        bases = [bet for bet in table.up if bet.wager == BEHIND[wager] and bet.number is not None]
        if bases and chance.random() < 0.95:
            base = chance.choice(bases)
            ask["base"] = base.id
            if chance.random() < 0.95:
                ask["player"] = base.player
        else:
            ask["base"] = _target(table, chance, names)


def _amount(chance: Random, most: int) -> int:
    draw = chance.random()
    if draw < 0.02:
        return chance.choice((0, -100, 1, 99, most + 1, 2 * most))
    if draw < 0.6:
        return 20 * chance.randint(5, most // 20)
    return chance.randint(50, most // 2)


def _craps_change(table: Craps, chance: Random, names: Names) -> Request:
    name = _target(table, chance, names)
    stake = next((bet.stake for bet in table.up if bet.id == name), 300)
    do = chance.choice(("increase", "reduce", "remove", "working", "working", "no_action"))
    ask: Request = {"do": do, "id": name}
    if do == "increase":
        ask["to"] = chance.choice((stake + 20, stake + 100, stake, 1000, 1001, stake - 1, 2 * stake))
    if do == "reduce":
        ask["to"] = chance.choice((stake - 20, stake - 100, stake // 2, 100, 0, stake, stake + 1))
    if do == "working":
        ask["on"] = chance.choice((True, True, False, False, "default"))
        if chance.random() < 0.3:
            ask["stands"] = True
    if do == "no_action":
        donts = [bet.id for bet in table.up if bet.wager == "dont_come"]
        if donts and chance.random() < 0.8:
            ask["id"] = chance.choice(donts)
    return ask


def roulette_requests(table: Roulette, chance: Random, names: Names) -> Request:
    draw = chance.random()
    if draw < 0.75:
        return _roulette_bet(chance, names)
    if draw < 0.84:
        name = chance.choice(list(table.up)) if table.up and chance.random() < 0.95 else names.old()
        stake = table.up[name].stake if name in table.up else 300
        do = chance.choice(("increase", "reduce", "remove"))
        ask: Request = {"do": do, "id": name}
        if do != "remove":
            ask["to"] = chance.choice((stake + 100, stake - 100, stake // 2, 100, 1000, 1001, stake, 99))
        return ask
    return _one_of(
        chance,
        {"do": "spin", "number": chance.choice(NUMBERS)},
        {"do": "spin", "number": chance.choice(NUMBERS)},
        {"do": "close"},
        {"do": "no_spin"},
    )


def _roulette_bet(chance: Random, names: Names) -> Request:
    wager = chance.choice(sorted(RULES))
    ask: Request = {"do": "bet", "id": names.new(), "player": chance.choice(PLAYERS), "wager": wager}
    ask["amount"] = _amount(chance, 1000)
    if wager in LAYOUT:
        numbers = sorted(chance.choice(sorted(sorted(spot) for spot in LAYOUT[wager])))
        if chance.random() < 0.08:
            numbers = chance.sample(NUMBERS, len(numbers))
        if chance.random() < 0.02:
            numbers.append(chance.choice(NUMBERS))
        chance.shuffle(numbers)
        ask["numbers"] = numbers
    if wager in ("column", "dozen"):
        ask["which"] = chance.randint(1, 3) if chance.random() < 0.97 else chance.choice((0, 4))
    if chance.random() < 0.005:
        ask["wager"] = "neighbours"
    return ask


def three_card_requests(table: ThreeCard, chance: Random, names: Names) -> Request:
    draw = chance.random()
    if draw < 0.78:
        return _card_bet(table, chance, names)
    if draw < 0.80:
        name = chance.choice(table.up).id if table.up and chance.random() < 0.9 else names.old()
        return _one_of(
            chance,
            {"do": "remove", "id": name},
            {"do": "reduce", "id": name, "to": 100},
            {"do": "increase", "id": name, "to": 400},
        )
    if draw < 0.83:
        return _one_of(chance, {"do": "close"}, {"do": "void", "reason": "exposed"})
    return _deal(table, chance)


def _card_bet(table: ThreeCard, chance: Random, names: Names) -> Request:
    anted = [stake for stake in table.up if stake.wager == "ante"]
    ask: Request = {"do": "bet", "id": names.new()}
    if anted and chance.random() < 0.3:
        ante = chance.choice(anted)
        ask |= {"seat": ante.seat, "player": ante.player, "wager": "play", "amount": ante.cents}
    else:
        seat = chance.randint(1, 6)
        ask |= {"seat": str(seat), "player": PLAYERS[(seat - 1) // 2], "amount": _amount(chance, 400)}
        ask["wager"] = chance.choice(("ante", "ante", "pair_plus", "side"))
        if anted and ask["wager"] != "ante" and chance.random() < 0.8:
            ante = chance.choice(anted)
            ask |= {"seat": ante.seat, "player": ante.player}
    if chance.random() < 0.03:
        ask["player"] = chance.choice(PLAYERS)
    if chance.random() < 0.02:
        ask["amount"] = _amount(chance, 400)
    if chance.random() < 0.005:
        ask["wager"] = "six_card"
    return ask


def _deal(table: ThreeCard, chance: Random) -> Request:
    deck = [rank + suit for rank in RANKS for suit in "shdc"]
    if chance.random() < 0.4:
        deck = [card for card in deck if card[1] == "s" or card[0] in "QKA"]
    chance.shuffle(deck)
    seats = sorted({stake.seat for stake in table.up})
    if len(seats) > 5:
        deck = [rank + suit for rank in RANKS for suit in "shdc"]
        chance.shuffle(deck)
    hands = {seat: [deck.pop() for _ in range(3)] for seat in seats}
    dealer = [deck.pop() for _ in range(3)]
    ask: Request = {"do": "deal", "hands": hands, "dealer": dealer}
    if chance.random() < 0.3:
        ask["folds"] = [seat for seat in seats if not table.on(seat, "play") and chance.random() < 0.5]
    if seats and chance.random() < 0.08:
        seat = chance.choice(seats)
        match chance.randint(0, 3):
            case 0:
                hands[seat].append(deck.pop())
            case 1:
                hands[seat][0] = dealer[0]
            case 2:
                dealer.pop()
            case _:
                del hands[seat]
                ask.pop("folds", None)
                if chance.random() < 0.5:
                    ask["undealt"] = "void"
    return ask


def high_roller_requests(table: HighRoller, chance: Random, names: Names) -> Request:
    if not table.open and chance.random() < 0.9:
        seats = list(PLAYERS[: chance.randint(2, 3)])
        ask: Request = {"do": "game", "seats": seats, "button": chance.choice(seats)}
        if chance.random() < 0.8:
            ask["bonus_take"] = chance.choice((0, 50, 100, 200))
        if chance.random() < 0.1:
            ask["final"] = True
        return ask
    draw = chance.random()
    if draw < 0.004:
        return _one_of(
            chance,
            {"do": "void", "reason": "abandoned"},
            {"do": "end", "players": chance.randint(0, 3)},
            {"do": "game", "seats": ["p1", "p2"], "button": "p2"},
        )
    if table.thrown or draw < 0.12:
        roller = {"player": table.roller() if chance.random() < 0.95 else chance.choice(PLAYERS)}
        if chance.random() < 0.5:
            roller = {}
        do = chance.random()
        if do < 0.08:
            return {"do": "illegal", **roller}
        if do < 0.16:
            return {"do": "decline", **roller}
        if do < 0.97:
            return {"do": "throw", "dice": [chance.randint(1, 6), chance.randint(1, 6)], **roller}
    return _card(chance, names)


def _card(chance: Random, names: Names) -> Request:
    card = chance.choice(("2", "3", "4", "5", "6", "7", "8", "9", "T", "J", "Q", "7", "6", "8"))
    ask: Request = {"do": "bet", "id": names.new(), "player": chance.choice(PLAYERS), "card": card}
    if chance.random() < 0.01:
        ask["card"] = chance.choice(("K", "A", "13", "1"))
    if chance.random() < 0.05:
        ask["amount"] = chance.choice((100, 100, 100, 200, 0))
    if chance.random() < 0.2:
        ask["wager"] = "card"
    return ask


RANDOM_REQUESTS: dict[str, tuple[Callable[[], Engine], Callable[..., Request]]] = {
    "craps-12-034": (lambda: Craps(C34), craps_requests),
    "craps-v1": (lambda: Craps(CV1), craps_requests),
    "roulette": (lambda: Roulette(PRINTED), roulette_requests),
    "roulette-conventional": (lambda: Roulette(USUAL), roulette_requests),
    "three-card-poker-12-014": (ThreeCard, three_card_requests),
    "high-roller-12-005": (HighRoller, high_roller_requests),
}
