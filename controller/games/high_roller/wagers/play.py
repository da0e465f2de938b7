"""One game of High Roller: the cards bought, whose turn it is, and how it ends."""

from collections import Counter
from dataclasses import dataclass, field

from controller.rules.high_roller.rolls import BoughtCard, Rolled, RollOff, RollPolicy, eliminate
from controller.settlement.game import Decided, Refusal


@dataclass(slots=True)
class Play:
    """A game that is open. `seats` run clockwise from the button, which throws the elimination roll."""

    number: int
    seats: list[str]
    bonus_take: int
    final: bool
    card_cents: int
    policy: RollPolicy
    cards: list[BoughtCard] = field(default_factory=list)
    bought: Counter[str] = field(default_factory=Counter)
    started: bool = False
    """Whether the dice have been thrown, legally or not: nobody buys after that."""
    matched: int = 0
    """The total of the elimination roll, once somebody has matched it."""
    roll_off: RollOff | None = None

    def buy(self, card: BoughtCard) -> None:
        """Put a card in front of its player."""
        self.cards.append(card)
        self.bought[card.player] += 1

    @property
    def roller(self) -> str:
        """Give the player whose turn it is to throw (H-ROLL-1, H-ORDER-1)."""
        if self.roll_off:
            return self.roll_off.next.player
        if self.policy.button_needs_cards:
            return next((seat for seat in self.seats if self.bought[seat]), self.seats[0])
        return self.seats[0]

    def out_of_turn(self, player: str | None) -> Refusal | None:
        """Refuse what is not this player's to do; who is not named is the one whose turn it is."""
        if len(self.bought) < 2:
            return Refusal("H-START-1", "a game starts when two or more players have bought cards")
        if player in (None, self.roller):
            return None
        rule, order = (
            ("H-ORDER-1", "the roll-off's order") if self.roll_off else ("H-ROLL-1", "the button's roll")
        )
        return Refusal(rule, f"it is player {self.roller}'s turn, by {order}; found player {player}")

    def throw(self, total: int) -> BoughtCard | None:
        """Take a legal roll; give the winning card once there is one."""
        self.started = True
        if self.roll_off:
            return self._go_on(self.roll_off.roll(total))
        found = eliminate(self.cards, total, self.seats, self.policy)
        if found is not None:
            self.matched = total
        if isinstance(found, RollOff):
            self.roll_off = found
            return None
        return found

    def decline(self) -> Refusal | BoughtCard | None:
        """Leave out the roll that is next, or say why not; give the winning card once there is one."""
        if self.roll_off is None:
            return Refusal("H-MULTI-1", "only rolls of the roll-off may be left out; the button throws first")
        if not self.roll_off.may_decline():
            return Refusal("H-WIN-1", "all who remain roll at least once; a tie is rolled off")
        return self._go_on(self.roll_off.decline())

    def _go_on(self, found: RollOff | Rolled) -> BoughtCard | None:
        if isinstance(found, Rolled):
            return found.card
        self.roll_off = found
        return None

    def lines(self, winner: BoughtCard, won_cents: int) -> list[Decided]:
        """Decide every card in the order of buying: the winner's wins, all others lose."""
        return [
            self._won(card, won_cents) if card is winner else self._lost(card, winner) for card in self.cards
        ]

    def given_up(self, why: str = "closed before it was decided") -> list[Decided]:
        """Hand all stakes back, without rake (!H-19)."""
        reason = f"!H-19: game {self.number} was {why}"
        stake = self.card_cents
        return [Decided(card.id, "card", "void", stake, 0, stake, reason) for card in self.cards]

    def _won(self, card: BoughtCard, won_cents: int) -> Decided:
        reason = "H-WIN-1: highest roll" if self.roll_off else f"!H-2: alone to match {self.matched}"
        return Decided(card.id, "card", "win", self.card_cents, won_cents, won_cents, reason)

    def _lost(self, card: BoughtCard, winner: BoughtCard) -> Decided:
        if card.rank == self.matched:
            reason = f"H-WIN-1: player {winner.player} won with {winner.id}"
        else:
            reason = f"H-MATCH-1: {self.matched} was thrown"
        return Decided(card.id, "card", "lose", self.card_cents, 0, 0, reason)
