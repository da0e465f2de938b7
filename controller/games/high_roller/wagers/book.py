"""The High Roller wager book, which settles games and carries the Bonus Pot from one game to the next."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from msgspec import Meta

from controller.games.high_roller.wagers.paytable import HighRollerPayTable, report, split
from controller.model.outcomes import (
    BonusPaid,
    GameStarted,
    GameVoid,
    Outcome,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
)
from controller.model.rulesets import HighRollerRules, RuleSet
from controller.rules.high_roller.rolls import (
    CARDS_PER_DECK,
    CARDS_PER_RANK,
    RECOMMENDED,
    BonusPot,
    BoughtCard,
    CardRoll,
    RollOff,
    RollPolicy,
    build_policy,
    clockwise_from,
    eliminate,
    rank_of,
)
from controller.settlement.book import (
    BOOK_ID,
    AnswerLine,
    Book,
    Cents,
    Decided,
    Increase,
    PotRecorded,
    PotShared,
    RawRequest,
    Reduce,
    Refusal,
    Remove,
    Request,
    format_reasons,
    pending,
)
from controller.settlement.wagers import (
    EndedAttempt,
    LoadPayTable,
    PayTableDifference,
    PayTableDiffers,
    Wagers,
)

Seat = str | int
Face = Annotated[int, Meta(ge=1, le=6)]
Count = Annotated[int, Meta(ge=0, le=10**6)]


class Open(Request, frozen=True, kw_only=True, tag="game"):
    """Open a game. `seats` are clockwise, `bonus_take` is in cents, and `final` marks the final game."""

    seats: tuple[Seat, ...]
    button: Seat
    bonus_take: Count | None = None
    final: bool = False


class Bet(Request, frozen=True, kw_only=True, tag="bet"):
    """A card that was bought. Its rank is 2 to 9, T or 10, J or 11, Q or 12."""

    id: str
    player: Seat
    card: str | int
    wager: str = "card"
    amount: Cents | None = None


class Throw(Request, frozen=True, kw_only=True, tag="throw"):
    """A legal roll by `player` or, for None, by the player whose turn it is."""

    dice: tuple[Face, Face]
    player: Seat | None = None


class Illegal(Request, frozen=True, kw_only=True, tag="illegal"):
    """A roll that does not count. The same player rolls again (H-LEGAL-4)."""

    player: Seat | None = None
    reason: str = ""


class Decline(Request, frozen=True, kw_only=True, tag="decline"):
    """Skip one of the rolls that a player's matching cards allow (!H-17)."""

    player: Seat | None = None


class Void(Request, frozen=True, kw_only=True, tag="void"):
    """Abandon the game and return all stakes (!H-19)."""

    reason: str = ""


class End(Request, frozen=True, kw_only=True, tag="end"):
    """End the hours of operation with this many players left (H-CLOSE-2)."""

    players: Count


_TABLE = "table"
_NO_GAME = Refusal("H-START-1", "no game is open; open one with `game`")
_ROLLING = Refusal("H-REBUY-1", "cards can be bought only before the dice are thrown; buy for the next game")
_CARD_STAYS = Refusal(
    "H-DEAL-1", "a card that was bought lies face up and stays in play until the game is decided"
)
_UNKNOWN = Refusal(
    BOOK_ID, "no card with this id is in the game; a card that was bought can't be changed or taken back"
)
_DUPLICATE_ID = Refusal(BOOK_ID, "a card with this id has already been bought; give each card its own id")
_RUNNING = Refusal("H-CLOSE-1", "a game is in progress; finish or void it before you close for the day")
_GAME_LINE = "game:"
_GAME_ID = Refusal(BOOK_ID, f"ids that begin with {_GAME_LINE} are reserved for games; use a different id")


@dataclass(slots=True)
class Play:
    """An open game. `seats` are clockwise from the button."""

    number: int
    seats: list[str]
    bonus_take: int
    final: bool
    card_cents: int
    policy: RollPolicy
    cards: list[BoughtCard] = field(default_factory=list)
    bought: Counter[str] = field(default_factory=Counter)
    started: bool = False
    """Whether the dice have been thrown, legally or not. Cards can't be bought afterwards."""
    matched: int = 0
    """The total of the elimination roll; 0 before a roll matches a card."""
    roll_off: RollOff | None = None

    def buy(self, card: BoughtCard) -> None:
        """Add a player's card."""
        self.cards.append(card)
        self.bought[card.player] += 1

    @property
    def roller(self) -> str:
        """The player whose turn it is to throw (H-ROLL-1, H-ORDER-1).

        The elimination roll is thrown by the button or, under `button_needs_cards`, by the first seat with
        cards.
        """
        if self.roll_off:
            return self.roll_off.next.player
        if self.policy.button_needs_cards:
            return next((seat for seat in self.seats if self.bought[seat]), self.seats[0])
        return self.seats[0]

    def out_of_turn(self, player: str | None) -> Refusal | None:
        """Return a refusal if too few players have cards, or if it is another player's turn.

        A `player` of None stands for the player whose turn it is.
        """
        if len(self.bought) < 2:
            return Refusal("H-START-1", "a game starts when two or more players have bought cards")
        if player in (None, self.roller):
            return None
        rule, order = (
            ("H-ORDER-1", "the roll-off's order") if self.roll_off else ("H-ROLL-1", "the button's roll")
        )
        return Refusal(rule, f"it is player {self.roller}'s turn ({order}), not player {player}'s")

    def throw(self, total: int) -> BoughtCard | None:
        """Handle a legal roll. Return the winning card if the roll decides the game."""
        self.started = True
        if self.roll_off:
            return self._continue(self.roll_off.roll(total))
        found = eliminate(self.cards, total, self.seats, self.policy)
        if found is not None:
            self.matched = total
        if isinstance(found, RollOff):
            self.roll_off = found
            return None
        return found

    def decline(self) -> Refusal | BoughtCard | None:
        """Skip the next roll. Return a refusal, or the winning card if the skip decides the game."""
        if self.roll_off is None:
            return Refusal("H-MULTI-1", "only rolls in the roll-off may be skipped; the button throws first")
        if not self.roll_off.may_decline():
            return Refusal("H-WIN-1", "every remaining player must roll at least once, and again after a tie")
        return self._continue(self.roll_off.decline())

    def _continue(self, found: RollOff | CardRoll) -> BoughtCard | None:
        if isinstance(found, CardRoll):
            return found.card
        self.roll_off = found
        return None

    def lines(self, winner: BoughtCard, won_cents: int) -> list[Decided]:
        """Return the decision on each card, oldest purchase first. Only the winning card wins."""
        return [
            self._won(card, won_cents) if card is winner else self._lost(card, winner) for card in self.cards
        ]

    def void_all(self, why: str = "closed before it was decided") -> list[Decided]:
        """Return the decisions that return all stakes, without rake (!H-19)."""
        reason = f"!H-19: game {self.number} was {why}"
        stake = self.card_cents
        return [Decided(card.id, "card", "void", stake, 0, stake, reason) for card in self.cards]

    def _won(self, card: BoughtCard, won_cents: int) -> Decided:
        reason = "H-WIN-1: highest roll" if self.roll_off else f"!H-2: the only one to match {self.matched}"
        return Decided(card.id, "card", "win", self.card_cents, won_cents, won_cents, reason)

    def _lost(self, card: BoughtCard, winner: BoughtCard) -> Decided:
        if card.rank == self.matched:
            reason = f"H-WIN-1: player {winner.player} won with {winner.id}"
        else:
            reason = f"H-MATCH-1: {self.matched} was thrown"
        return Decided(card.id, "card", "lose", self.card_cents, 0, 0, reason)


class HighRollerBook(Book):
    """The wager book of one High Roller table."""

    def __init__(self, table: HighRollerPayTable, policy: RollPolicy = RECOMMENDED) -> None:
        self._policy = policy
        self._settings = table.settings
        self._pot = BonusPot()
        self._games = 0
        self._play: Play | None = None
        self._ids: set[str] = set()

    @property
    def vocabulary(self) -> Sequence[type[Request]]:
        """The requests of a High Roller table."""
        return (Open, Bet, Increase, Reduce, Remove, Throw, Illegal, Decline, Void, End)

    @property
    def remembers(self) -> bool:
        """Whether the Bonus Pot contains money or a player's wins are counted towards it."""
        return self._pot != BonusPot()

    def apply(self, request: Request) -> list[AnswerLine]:
        """Handle a request and return its answer."""
        match request:
            case Bet():
                return self._bet(request)
            case Throw() | Illegal() | Decline():
                return self._take_turn(request)
            case Open():
                return self._open(request)
            case Increase() | Reduce() | Remove():
                return [self._refuse_change(request)]
            case Void():
                return self._void(request)
            case End():
                return self._end(request.players)
            case _:
                raise TypeError(f"{type(request).__name__} is not a request of a High Roller table")

    def finish(self) -> list[AnswerLine]:
        """Return a line for each undecided card, oldest purchase first."""
        cards = self._play.cards if self._play else []
        return [pending(card.id, "card", self._settings.card_cents.value) for card in cards]

    def _open(self, request: Open) -> list[AnswerLine]:
        refusal = self._cannot_open(request)
        if refusal:
            return [refusal.refuse(_TABLE, "game")]
        voided: list[AnswerLine] = [*self._play.void_all()] if self._play else []
        self._games += 1
        take = request.bonus_take
        self._play = Play(
            number=self._games,
            seats=clockwise_from(str(request.button), [str(seat) for seat in request.seats]),
            bonus_take=self._settings.bonus_take_cents.value if take is None else take,
            final=request.final,
            card_cents=self._settings.card_cents.value,
            policy=self._policy,
        )
        return voided

    def _cannot_open(self, request: Open) -> Refusal | None:
        seats = [str(seat) for seat in request.seats]
        maximum = self._settings.bonus_most_cents
        if len(set(seats)) < len(seats):
            return Refusal("H-BTN-1", f"found seats {', '.join(seats)}, expected each seat once, clockwise")
        if str(request.button) not in seats:
            return Refusal(
                "H-BTN-1",
                f"found the button at seat {request.button}, expected it at one of these seats:"
                f" {', '.join(seats)}",
            )
        if (request.bonus_take or 0) > maximum.value:
            return Refusal(
                maximum.rule,
                f"a game may pay at most {maximum.value} cents into the Bonus Pot, not {request.bonus_take}",
            )
        return None

    def _bet(self, bet: Bet) -> list[AnswerLine]:
        refusal = self._cannot_buy(bet)
        price = self._settings.card_cents
        rank = rank_of(str(bet.card))
        if refusal or rank is None or self._play is None:
            refusal = refusal or Refusal(
                "H-EQ-1", f"found card {bet.card}, expected 2 to 9, T, J or Q, or a number from 2 to 12"
            )
            return [refusal.reject(bet.id, bet.wager, bet.amount or price.value)]
        self._ids.add(bet.id)
        self._play.buy(BoughtCard(bet.id, str(bet.player), rank))
        return []

    def _cannot_buy(self, bet: Bet) -> Refusal | None:
        player, price = str(bet.player), self._settings.card_cents
        if bet.id in self._ids:
            return _DUPLICATE_ID
        if bet.id.startswith(_GAME_LINE):
            return _GAME_ID
        if self._play is None:
            return _NO_GAME
        if self._play.started:
            return _ROLLING
        if player not in self._play.seats:
            return Refusal(
                "H-START-1",
                f"player {player} is not in this game; its players are {', '.join(self._play.seats)}",
            )
        if bet.wager != "card" or bet.amount not in (None, price.value):
            return Refusal(price.rule, f"the only wager is one card for {price.value} cents")
        return self._sold_out(self._play, player) or self._rank_dealt_out(self._play, rank_of(str(bet.card)))

    def _rank_dealt_out(self, play: Play, rank: int | None) -> Refusal | None:
        """Return a refusal if all cards of this rank have been dealt (H-EQ-1). A deck has four of each."""
        decks = self._settings.decks
        maximum = decks.value * CARDS_PER_RANK
        if sum(card.rank == rank for card in play.cards) < maximum:
            return None
        return Refusal(
            decks.rule, f"all {maximum} cards that match {rank} in {decks.value} decks have been dealt"
        )

    def _sold_out(self, play: Play, player: str) -> Refusal | None:
        """Return a refusal if the player has reached the limit per game, or the shoe is sold out (!H-8)."""
        cap, decks = self._settings.cards_per_player, self._settings.decks
        if play.bought[player] >= cap.value:
            return Refusal(cap.rule, f"player {player} has already bought {cap.value} cards, the limit")
        if len(play.cards) >= decks.value * CARDS_PER_DECK:
            return Refusal(
                decks.rule, f"all {decks.value * CARDS_PER_DECK} cards in {decks.value} decks have been sold"
            )
        return None

    def _refuse_change(self, request: Increase | Reduce | Remove) -> AnswerLine:
        in_game = self._play is not None and any(card.id == request.id for card in self._play.cards)
        return (_CARD_STAYS if in_game else _UNKNOWN).refuse(request.id, str(request.__struct_config__.tag))

    def _take_turn(self, request: Throw | Illegal | Decline) -> list[AnswerLine]:
        do = str(request.__struct_config__.tag)
        play = self._play
        if play is None:
            return [_NO_GAME.refuse(_TABLE, do)]
        player = None if request.player is None else str(request.player)
        refusal = play.out_of_turn(player)
        if refusal:
            return [refusal.refuse(_TABLE, do)]
        match request:
            case Throw():
                return self._decide(play, play.throw(sum(request.dice)))
            case Decline():
                declined = play.decline()
                if isinstance(declined, Refusal):
                    return [declined.refuse(_TABLE, do)]
                return self._decide(play, declined)
            case Illegal():
                # The same player rolls again (H-LEGAL-4), but buying is over.
                play.started = True
                return []

    def _decide(self, play: Play, winner: BoughtCard | None) -> list[AnswerLine]:
        if winner is None:
            return []
        price = self._settings.card_cents.value
        money = split(len(play.cards) * price, play.bonus_take, self._settings)
        wins_needed = self._settings.wins_for_bonus.value
        self._pot, bonus_paid = self._pot.won(
            winner.player,
            money.bonus,
            final=play.final,
            wins_needed=wins_needed,
            share_first=not self._policy.share_joins_after,
        )
        self._play = None
        summary = PotShared(
            id=f"{_GAME_LINE}{play.number}",
            gross=money.gross,
            rake=money.rake,
            bonus=money.bonus,
            prize=money.prize,
            bonus_paid=bonus_paid,
            winner=winner.player,
        )
        return [*play.lines(winner, money.prize + bonus_paid), summary]

    def _void(self, request: Void) -> list[AnswerLine]:
        """Abandon the game and return its stakes. The Bonus Pot and the wins in a row remain (!H-19)."""
        if self._play is None:
            return [_NO_GAME.refuse(_TABLE, "void")]
        why = f"voided: {request.reason}" if request.reason else "voided"
        lines: list[AnswerLine] = [*self._play.void_all(why)]
        self._play = None
        return lines

    def _end(self, players: int) -> list[AnswerLine]:
        """Record the Bonus Pot as rake if fewer than two players are left (H-CLOSE-2)."""
        if self._play is not None and self._play.cards:
            return [_RUNNING.refuse(_TABLE, "end")]
        if players >= 2:
            return []
        left, self._pot = self._pot.cents, BonusPot()
        return [PotRecorded(id=_TABLE, rake=left, rule="H-CLOSE-2")] if left else []


SHARED_FIGURES = (
    "card_cents",
    "cards_per_player",
    "decks",
    "rake_percent",
    "bonus_most_cents",
    "bonus_take_cents",
    "rake_above_bonus_cents",
    "wins_for_bonus",
)
"""The settings that the rule set and the pay table have in common, by name."""


def requests_of(outcome: Outcome) -> list[RawRequest]:
    """Return the book requests that an outcome requires, in order."""
    match outcome.data:
        case GameStarted() as started:
            return [
                {
                    "do": "game",
                    "seats": started.seats,
                    "button": started.button,
                    "bonus_take": started.bonus_take,
                    "final": started.final,
                },
                *_bought(started),
            ]
        case RollCalled() as roll:
            return [_throw(roll.dice, roll.call, roll.player)]
        case RollCorrected(dice=(int(), int()) as dice) as roll:
            return [_throw(dice, roll.call, roll.player)]
        case RollNoRoll(reasons=reasons) | RollCorrected(reasons=reasons):
            return [{"do": "illegal", "reason": format_reasons(reasons)}]
        case RollDeclined() as declined:
            return [{"do": "decline", "player": str(declined.player)}]
        case GameVoid(reasons=reasons):
            return [{"do": "void", "reason": format_reasons(reasons)}]
        case BonusPaid(player=None):
            return [{"do": "end", "players": 0}]
        case _:
            return []


def _throw(dice: tuple[int, int], call: str | None, player: object) -> RawRequest:
    """Return the request for a roll. The request for an elimination roll names no player (!H-16)."""
    if call in ("elimination", "no_match") or not isinstance(player, str | int):
        return {"do": "throw", "dice": dice}
    return {"do": "throw", "dice": dice, "player": str(player)}


def _bought(started: GameStarted) -> list[RawRequest]:
    return [
        {
            "do": "bet",
            "id": f"{started.game}-{seat}-{place}",
            "player": seat,
            "card": total,
            "amount": started.card_cents,
        }
        for seat, totals in started.cards.items()
        for place, total in enumerate(totals, start=1)
    ]


def _open(rules: RuleSet, load: LoadPayTable) -> HighRollerBook:
    assert rules.high_roller is not None
    table = load(HighRollerPayTable)
    if differing := tuple(_differing(rules.high_roller, table)):
        raise PayTableDiffers(differing)
    return HighRollerBook(table, build_policy(rules.high_roller))


def _differing(rules: HighRollerRules, table: HighRollerPayTable) -> Iterator[PayTableDifference]:
    for key in SHARED_FIGURES:
        played, paid = getattr(rules, key), getattr(table.settings, key).value
        if played != paid:
            yield PayTableDifference("high_roller", key, played, paid)


def _settled_at(ended: EndedAttempt) -> Sequence[RawRequest] | None:
    """Return an empty tuple if the Bonus Pot was just paid or recorded and is empty; otherwise None.

    A new book needs no requests to replace a book with an empty pot (H-BONUS-1, H-CLOSE-1, H-CLOSE-2). If a
    game's share starts the next pot (!H-12), the pot is not empty.
    """
    paid_out = any(
        isinstance(line, PotRecorded) or (isinstance(line, PotShared) and line.bonus_paid > 0)
        for line in ended.lines
    )
    return () if paid_out and not ended.remembers else None


WAGERS = Wagers(
    pay_table=HighRollerPayTable,
    open=_open,
    report=lambda _, load: report(load(HighRollerPayTable)),
    requests_of=requests_of,
    closed=Refusal("H-REBUY-1", "the game has started; buy cards for the next game once this one is over"),
    settled_at=_settled_at,
    bought_at_table=Refusal(
        "H-BET-1", "cards are bought at the table, which reports them; do not enter purchases here"
    ),
    returns_stakes_at_open_and_close=False,
)
