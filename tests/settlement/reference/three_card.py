"""Three Card Poker, computed from the document: hands are compared by counting ranks and suits."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations

from tests.settlement.reference.lines import ANY_RULE, Line, Refused, Rejected, Request, Settled

RANKS = "23456789TJQKA"
STRENGTH = ("high", "pair", "flush", "straight", "three", "straight_flush")
PAIR_PLUS = {"pair": 1, "flush": 3, "straight": 5, "three": 25, "straight_flush": 30}
BONUS = {"straight": 1, "three": 3, "straight_flush": 4}
SIDE = {"three": 3, "straight": 5, "flush": 8, "full": 15, "four": 25, "straight_flush": 100, "royal": 200}
LEAST, MAX = 100, 400
BEFORE_CARDS = ("ante", "pair_plus", "side")


def _values(cards: list[str]) -> list[int]:
    return sorted((RANKS.index(card[0]) + 2 for card in cards), reverse=True)


def name_of(cards: list[str]) -> tuple[str, list[int]]:
    """Return a three-card hand's name, and the key that compares two hands of the same name."""
    values = _values(cards)
    counts = Counter(values)
    flush = len({card[1] for card in cards}) == 1
    if values == [14, 3, 2]:
        values = [3, 2, 1]
    straight = values[0] - values[1] == values[1] - values[2] == 1
    order = sorted(values, key=lambda value: (-counts[value], -value))
    if straight and flush:
        return "straight_flush", values
    if len(counts) == 1:
        return "three", order
    if straight:
        return "straight", values
    if flush:
        return "flush", order
    return ("pair", order) if len(counts) == 2 else ("high", order)


def mini_royal(cards: list[str]) -> bool:
    """Return whether a hand is ace, king and queen of one suit (!T-5)."""
    return len({card[1] for card in cards}) == 1 and _values(cards) == [14, 13, 12]


def side_odds(six: list[str]) -> int | None:
    """Return the side bet's odds to one on six cards, or None if it loses (T-SIDE-2, !T-17)."""
    if len({card[1] for card in six}) == 1 and _values(six) == [14, 13, 12, 11, 10, 9]:
        return 250
    paid = [odds for five in combinations(six, 5) if (odds := _five(list(five))) is not None]
    return max(paid, default=None)


def _five(cards: list[str]) -> int | None:
    values = _values(cards)
    shape = sorted(Counter(values).values(), reverse=True)
    flush = len({card[1] for card in cards}) == 1
    straight = len(set(values)) == 5 and (values[0] - values[4] == 4 or values == [14, 5, 4, 3, 2])
    if straight and flush:
        return SIDE["royal" if values[4] == 10 else "straight_flush"]
    if shape[0] == 4:
        return SIDE["four"]
    if shape == [3, 2]:
        return SIDE["full"]
    if flush:
        return SIDE["flush"]
    if straight:
        return SIDE["straight"]
    return SIDE["three"] if shape[0] == 3 else None


@dataclass
class Stake:
    """A bet on a position; amounts in cents."""

    id: str
    seat: str
    player: str
    wager: str
    cents: int


@dataclass
class ThreeCard:
    """One table."""

    up: list[Stake] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    closed: bool = False

    def take(self, ask: Request) -> list[Line]:
        match ask["do"]:
            case "bet":
                return self._bet(ask)
            case "close":
                self.closed = True
                return []
            case "deal":
                return self._deal(ask)
            case "void":
                return self._all_back()
            case _:
                known = any(stake.id == ask["id"] for stake in self.up)
                rules = ANY_RULE if known else frozenset({"BOOK-ID", "T-DEAL-2"})
                return [Refused(str(ask["do"]), rules, str(ask["id"]))]

    def end(self) -> list[Line]:
        """Return the bets that are left."""
        return [Settled(stake.id, stake.wager, "pending", stake.cents, 0, 0) for stake in self.up]

    def on(self, seat: str, wager: str) -> int:
        """Return the amount of a wager on a position, in cents."""
        return sum(stake.cents for stake in self.up if (stake.seat, stake.wager) == (seat, wager))

    def _bet(self, ask: Request) -> list[Line]:
        name, seat, wager, amount = str(ask["id"]), str(ask["seat"]), str(ask["wager"]), ask["amount"]
        assert isinstance(amount, int)
        player = str(ask.get("player", f"seat {seat}"))
        wrong = set[str]()
        if name in self.names:
            wrong |= {"BOOK-ID"}
        if amount <= 0:
            wrong |= {"BOOK-AMOUNT"}
        if wager not in (*BEFORE_CARDS, "play"):
            return [Rejected(name, wager, ANY_RULE)]
        owners = {stake.player for stake in self.up if stake.seat == seat}
        if owners and player not in owners:
            wrong |= {"T-DEAL-1", "T-DEAL-1d"}
        if self.on(seat, wager):
            wrong |= {"T-DEAL-1"}
        if wager == "play":
            ante = self.on(seat, "ante")
            if not ante or amount != ante:
                wrong |= {"T-ANTE-2", "T-BOTH-1", "T-DEAL-4", "T-DEAL-8"}
        else:
            wrong |= self._before_cards(seat, player, wager, amount)
        if wrong:
            return [Rejected(name, wager, frozenset(wrong))]
        self.closed |= wager == "play"
        self.names.add(name)
        self.up.append(Stake(name, seat, player, wager, amount))
        return []

    def _before_cards(self, seat: str, player: str, wager: str, amount: int) -> set[str]:
        wrong = set[str]()
        if self.closed:
            wrong |= {"T-DEAL-2"}
        if amount < LEAST or amount > MAX:
            wrong |= {"T-DEAL-9", "T-SIDE-1"} if wager == "side" else {"T-DEAL-9", "T-BOTH-1"}
        theirs = {int(stake.seat) for stake in self.up if stake.player == player} | {int(seat)}
        if len(theirs) > 2 or max(theirs) - min(theirs) > 1:
            wrong |= {"T-DEAL-1d"}
        if wager != "ante" and not self.on(seat, "ante"):
            wrong |= {"T-DEAL-8"}
        return wrong

    def _all_back(self) -> list[Line]:
        out: list[Line] = [
            Settled(each.id, each.wager, "void", each.cents, 0, each.cents) for each in self.up
        ]
        self._clear()
        return out

    def _clear(self) -> None:
        self.up.clear()
        self.closed = False

    def _deal(self, ask: Request) -> list[Line]:
        hands, dealer, folds = ask["hands"], ask["dealer"], ask.get("folds", [])
        assert isinstance(hands, dict)
        assert isinstance(dealer, list)
        assert isinstance(folds, list)
        out: list[Line] = []
        if ask.get("undealt") == "void":
            for stake in [each for each in self.up if each.seat not in hands]:
                self.up.remove(stake)
                out.append(Settled(stake.id, stake.wager, "void", stake.cents, 0, stake.cents))
        cards = [*dealer, *(card for hand in hands.values() for card in hand)]
        counts = {len(dealer), *(len(hand) for hand in hands.values())}
        if counts != {3} or len(set(cards)) < len(cards) or any(stake.seat not in hands for stake in self.up):
            return out + self._all_back()
        for stake in self.up:
            stays = self.on(stake.seat, "play") > 0 and stake.seat not in folds
            out += self._settle(stake, hands[stake.seat], dealer, stays)
        self._clear()
        return out

    def _settle(self, stake: Stake, hand: list[str], dealer: list[str], stays: bool) -> list[Line]:
        kind, tie_break = name_of(hand)
        if stake.wager == "side":
            return [_pay(stake, side_odds([*hand, *dealer]))]
        if stake.wager == "pair_plus":
            anted = self.on(stake.seat, "ante") > 0
            odds = 40 if mini_royal(hand) else PAIR_PLUS.get(kind)
            return [_pay(stake, odds if stays or not anted else None)]
        if not stays:
            return [_pay(stake, None)]
        out: list[Line] = []
        bonus = 5 if mini_royal(hand) else BONUS.get(kind)
        if stake.wager == "ante" and bonus is not None:
            won = stake.cents * bonus
            out.append(Settled(f"{stake.id}:bonus", "ante_bonus", "win", 0, won, won))
        dealt_kind, dealt_break = name_of(dealer)
        theirs, dealt = (STRENGTH.index(kind), tie_break), (STRENGTH.index(dealt_kind), dealt_break)
        qualifies = dealt[0] > 0 or dealt[1][0] >= 12
        if not qualifies:
            out.append(_pay(stake, 1 if stake.wager == "ante" else 0))
        elif theirs == dealt:
            out.append(_pay(stake, 0))
        else:
            out.append(_pay(stake, 1 if theirs > dealt else None))
        return out


def _pay(stake: Stake, odds: int | None) -> Settled:
    """Settle a stake: it wins at these odds to one, is returned at 0, and loses at None."""
    if odds is None:
        return Settled(stake.id, stake.wager, "lose", stake.cents, 0, 0)
    won = stake.cents * odds
    return Settled(stake.id, stake.wager, "win" if odds else "push", stake.cents, won, stake.cents + won)
