"""High Roller, computed from the document: one list of cards, one list of rolls still to be thrown."""

from dataclasses import dataclass, field

from tests.settlement.reference.lines import (
    ANY_RULE,
    Line,
    Pot,
    Recorded,
    Refused,
    Rejected,
    Request,
    Settled,
)

FACES = {**{str(value): value for value in range(2, 13)}, "T": 10, "J": 11, "Q": 12}
CARD_CENTS, MAX_BONUS = 100, 200
CARDS_EACH, OF_A_RANK = 150, 40


@dataclass
class Card:
    """A bought card."""

    id: str
    player: str
    rank: int


@dataclass
class HighRoller:
    """One table through a session."""

    games: int = 0
    seats: list[str] = field(default_factory=list)
    button: str = ""
    take_cents: int = MAX_BONUS
    final: bool = False
    open: bool = False
    thrown: bool = False
    cards: list[Card] = field(default_factory=list)
    matching: dict[str, list[Card]] = field(default_factory=dict)
    turns: list[tuple[str, Card]] = field(default_factory=list)
    best: dict[str, tuple[int, Card]] = field(default_factory=dict)
    again: bool = False
    names: set[str] = field(default_factory=set)
    pot: int = 0
    last_winner: str | None = None
    streak: int = 0

    def take(self, ask: Request) -> list[Line]:
        match ask["do"]:
            case "game":
                return self._game(ask)
            case "bet":
                return self._bet(ask)
            case "throw":
                return self._throw(ask)
            case "illegal":
                return self._illegal(ask)
            case "decline":
                return self._decline(ask)
            case "void":
                return self._all_back() if self.open else [Refused("void", frozenset({"H-START-1"}))]
            case "end":
                return self._end(ask)
            case _:
                known = any(card.id == ask["id"] for card in self.cards)
                return [Refused(str(ask["do"]), ANY_RULE if known else frozenset({"BOOK-ID", "H-START-1"}))]

    def end(self) -> list[Line]:
        """Return the cards that are left."""
        return [Settled(card.id, "card", "pending", CARD_CENTS, 0, 0) for card in self.cards]

    def _game(self, ask: Request) -> list[Line]:
        seats = ask["seats"]
        assert isinstance(seats, list)
        button = str(ask["button"])
        if button not in seats or len(set(seats)) < len(seats):
            return [Refused("game", ANY_RULE)]
        out = self._all_back()
        self.games += 1
        self.seats, self.button = list(seats), button
        take = ask.get("bonus_take", MAX_BONUS)
        assert isinstance(take, int)
        self.take_cents, self.final, self.open = take, bool(ask.get("final")), True
        return out

    def _bet(self, ask: Request) -> list[Line]:
        name, player, rank = str(ask["id"]), str(ask["player"]), FACES.get(str(ask["card"]))
        wager = str(ask.get("wager", "card"))
        wrong = set[str]()
        if name in self.names:
            wrong |= {"BOOK-ID"}
        if wager != "card":
            return [Rejected(name, wager, ANY_RULE)]
        if rank is None:
            wrong |= {"H-EQ-1"}
        if ask.get("amount", CARD_CENTS) != CARD_CENTS:
            wrong |= {"H-BET-1", "BOOK-AMOUNT"}
        if not self.open or self.thrown:
            wrong |= {"H-REBUY-1", "H-START-1", "H-ROLL-1"}
        if self.open and player not in self.seats:
            return [Rejected(name, wager, ANY_RULE)]
        if sum(card.player == player for card in self.cards) >= CARDS_EACH:
            wrong |= {"H-CAP-1"}
        if sum(card.rank == rank for card in self.cards) >= OF_A_RANK:
            wrong |= {"H-EQ-1", "!H-8"}
        if wrong or rank is None:
            return [Rejected(name, wager, frozenset(wrong))]
        self.names.add(name)
        self.cards.append(Card(name, player, rank))
        return []

    def _all_back(self) -> list[Line]:
        out: list[Line] = [Settled(card.id, "card", "void", CARD_CENTS, 0, CARD_CENTS) for card in self.cards]
        self._close()
        return out

    def _close(self) -> None:
        self.cards, self.matching, self.turns, self.best = [], {}, [], {}
        self.open = self.thrown = self.again = False

    def roller(self) -> str:
        """Return the player whose turn it is to throw."""
        return self.turns[0][0] if self.turns else self.button

    def _wrong_player(self, ask: Request) -> list[Line]:
        do = str(ask["do"])
        if not self.open or len({card.player for card in self.cards}) < 2:
            return [Refused(do, frozenset({"H-START-1", "H-ROLL-1"}))]
        if "player" in ask and str(ask["player"]) != self.roller():
            return [Refused(do, frozenset({"H-ROLL-1", "H-ORDER-1", "H-TIE-1", "H-LEGAL-4", "H-MULTI-1"}))]
        return []

    def _illegal(self, ask: Request) -> list[Line]:
        if wrong := self._wrong_player(ask):
            return wrong
        self.thrown = True
        return []

    def _throw(self, ask: Request) -> list[Line]:
        if wrong := self._wrong_player(ask):
            return wrong
        dice = ask["dice"]
        assert isinstance(dice, list)
        total = sum(dice)
        self.thrown = True
        if self.matching:
            player, card = self.turns.pop(0)
            if player not in self.best or total > self.best[player][0]:
                self.best[player] = (total, card)
            return self._next()
        matching: dict[str, list[Card]] = {}
        for card in self.cards:
            if card.rank == total:
                matching.setdefault(card.player, []).append(card)
        if not matching:
            return []
        self.matching = matching
        if len(matching) == 1:
            (winner,) = matching
            return self._won(winner, matching[winner][0])
        order = sorted(matching, key=lambda player: (-len(matching[player]), self._from_button(player)))
        self.turns = [(player, card) for player in order for card in matching[player]]
        return []

    def _from_button(self, player: str) -> int:
        return (self.seats.index(player) - self.seats.index(self.button)) % len(self.seats)

    def _next(self) -> list[Line]:
        if self.turns:
            return []
        most = max(total for total, _ in self.best.values())
        tied = [(player, card) for player, (total, card) in self.best.items() if total == most]
        if len(tied) == 1:
            return self._won(*tied[0])
        self.best, self.again = {}, True
        self.turns = tied
        return []

    def _decline(self, ask: Request) -> list[Line]:
        if wrong := self._wrong_player(ask):
            return wrong
        player = self.roller()
        last = [each for each, _ in self.turns].count(player) == 1 and player not in self.best
        if not self.turns or self.again or last:
            return [Refused("decline", frozenset({"H-MULTI-1", "H-WIN-1", "H-TIE-1", "H-ROLL-1"}))]
        self.turns.pop(0)
        return self._next()

    def _won(self, winner: str, lucky: Card) -> list[Line]:
        gross = len(self.cards) * CARD_CENTS
        rake = gross * 10 // 100
        bonus = min(self.take_cents, MAX_BONUS, gross - rake)
        prize = gross - rake - bonus
        self.pot += bonus
        self.streak = self.streak + 1 if winner == self.last_winner else 1
        self.last_winner = winner
        paid = 0
        if self.streak >= 3 or self.final:
            paid, self.pot, self.streak, self.last_winner = self.pot, 0, 0, None
        out: list[Line] = []
        for card in self.cards:
            if card is lucky:
                out.append(Settled(card.id, "card", "win", CARD_CENTS, prize + paid, prize + paid))
            else:
                out.append(Settled(card.id, "card", "lose", CARD_CENTS, 0, 0))
        self._close()
        return [*out, Pot(gross, rake, bonus, prize, paid, winner)]

    def _end(self, ask: Request) -> list[Line]:
        players = ask["players"]
        assert isinstance(players, int)
        if self.cards:
            return [Refused("end", frozenset({"H-CLOSE-1", "H-CLOSE-2", "!H-10", "!H-11"}))]
        if players >= 2 or not self.pot:
            return []
        rake, self.pot, self.streak, self.last_winner = self.pot, 0, 0, None
        return [Recorded(rake)]
