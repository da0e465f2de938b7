"""Simulated sessions at a Three Card Poker table, with their ground truth.

The sessions contain deals of every kind, with people's actions and mistakes. The ground truth follows from
the rules document, independently of the controller's rules. Each entry is an outcome that must be published,
with the keys of its data that must match.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from random import Random
from typing import NamedTuple

from controller.model.readings import AnyReading, Card, DeviceDown, DeviceUp, Input, Switch
from drivers.sim.scenes import (
    Expected,
    Feed,
    Header,
    Scene,
    Truth,
    Verdict,
    in_order_of_arrival,
    without_numbers,
)

RANKS = "23456789TJQKA"
DEALER = "dealer"


class DealtHands(NamedTuple):
    """The hands of a deal by position, and the positions that fold."""

    hands: dict[str, list[str]]
    folds: list[str]


def results(dealt: DealtHands) -> list[Expected]:
    """Return each hand's result against the dealer's hand, from the dealer's right; folds come last."""
    dealer = rank_hand(dealt.hands[DEALER])
    seats = sorted((seat for seat in dealt.hands if seat != DEALER), key=int, reverse=True)
    found: list[Expected] = []
    for seat in seats:
        if seat in dealt.folds:
            continue
        held = rank_hand(dealt.hands[seat])
        if dealer < (0, [RANKS.index("Q")]):
            result = "dealer_does_not_play"
        else:
            result = "push" if held == dealer else "win" if held > dealer else "lose"
        found.append({"seat": seat, "result": result})
    found += [{"seat": seat, "result": "fold"} for seat in reversed(seats) if seat in dealt.folds]
    return found


def rank_hand(hand: Sequence[str]) -> tuple[int, list[int]]:
    """Return a hand's rank (pair 1, flush 2, straight 3, three of a kind 4, straight flush 5) and its cards'
    ranks.
    """
    ranks = sorted((RANKS.index(card[0]) for card in hand), reverse=True)
    flush = len({card[1] for card in hand}) == 1
    if ranks == [12, 1, 0]:
        ranks = [1, 0, -1]
    straight = ranks[0] - 1 == ranks[1] == ranks[2] + 1
    if len(set(ranks)) == 1:
        return 4, ranks
    if len(set(ranks)) == 2:
        pair = ranks[1]
        return 1, [pair, pair, next(rank for rank in ranks if rank != pair)]
    return 5 if straight and flush else 3 if straight else 2 if flush else 0, ranks


RULES = "three-card-poker-12-014"
SECOND_US = 1_000_000

USUAL: Mapping[str, float] = {
    "plain": 20.0,
    **dict.fromkeys(
        (
            "unread_card",
            "unread_seen_early",
            "card_too_many",
            "dealer_short",
            "card_twice",
            "shoe_opened",
            "misdeal_while_dealing",
            "misdeal_in_hold",
            "misdeal_late",
            "shoe_down",
            "no_ruling",
            "fold_corrected",
            "card_corrected",
            "play_after_fold",
        ),
        1.0,
    ),
}
SENSED: Mapping[str, float] = {kind: weight for kind, weight in USUAL.items() if kind != "shoe_down"}
"""Weights without the device fault; a virtual table's cables are pulled only on request."""
_FIRST_OUTCOMES: Mapping[str, Verdict] = {
    "deal.called": "valid",
    "deal.void": "void",
    "deal.review": "review",
}


class Simulation:
    """One session at one table."""

    def __init__(self, seed: int, *, directed: bool) -> None:
        self.rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
        self.directed = directed
        self.now = SECOND_US
        self.feed: Feed = []
        self.truth: list[Expected] = []
        self.deals = 0
        self.seats: list[str] = []
        self.cards_dealt: dict[str, list[str]] = {}
        """Cards dealt from the shoe in the current deal, by position."""
        self.final_hands: dict[str, list[str]] = {}
        """Final hands of the current deal, by position; empty for a void deal."""

    # --- people, the shoe, and the expected outcomes ---

    def enter(self, name: str, by: str = "dealer", after_s: float = 1.0, **arguments: object) -> None:
        """Add a person's input after a pause."""
        self.wait(after_s)
        self.post(Input(t=self.now, dev="console", name=name, by=by, **arguments))  # type: ignore[arg-type]  # any

    def wait(self, seconds: float) -> None:
        """Advance the time by about this many seconds."""
        self.now += round(seconds * SECOND_US * self.rng.uniform(0.8, 1.2))

    def post(self, reading: AnyReading) -> None:
        """Add a reading, which arrives 0.2 to 3 ms after its time."""
        self.feed.append((reading.t + self.rng.randint(200, 3000), reading))

    def expect(self, kind: str, **data: object) -> None:
        """Add an outcome that must be published."""
        self.truth.append({"type": kind, "data": data})

    def void(self, *codes: str, by: str = "sensors") -> None:
        """Expect the current deal to be void for these reasons."""
        self.final_hands = {}
        self.expect("deal.void", deal=self.deals, reasons=[{"code": code} for code in codes], by=by)

    def called(self, kind: str, dealt: DealtHands, **more: object) -> None:
        """Expect the current deal to be called, with each hand's result."""
        self.final_hands = dealt.hands
        hands = {seat: hand for seat, hand in dealt.hands.items() if seat != DEALER}
        self.expect(kind, deal=self.deals, hands=hands, folds=dealt.folds, results=results(dealt), **more)

    # --- a deal's parts ---

    def shuffled(self) -> DealtHands:
        """Return a deal from a shuffled deck, in which some positions fold."""
        deck = [rank + suit for rank in RANKS for suit in "cdhs"]
        self.rng.shuffle(deck)
        hands = {position: [deck.pop() for _ in range(3)] for position in (*self.seats, DEALER)}
        folds = [seat for seat in self.seats if self.rng.random() < 0.3]
        return DealtHands(hands, folds)

    def deal_cards(self, cards: Sequence[tuple[str, str | None]]) -> None:
        """Deal cards from the shoe one after another; None stands for a card that cannot be read."""
        for position, text in cards:
            self.now += self.rng.randint(350_000, 900_000)
            rank, suit = (text[0], text[1]) if text else (None, None)
            self.cards_dealt.setdefault(position, []).append(text or "?")
            to = position if self.directed else None
            self.post(Card(t=self.now, dev="shoe", rank=rank, suit=suit, to=to))  # type: ignore[arg-type]  # a suit

    def rotation(self, dealt: DealtHands) -> list[tuple[str, str | None]]:
        """Return the cards in dealing order: three rounds, each starting at the dealer's left."""
        positions = (*self.seats, DEALER)
        return [(position, dealt.hands[position][lap]) for lap in range(3) for position in positions]

    def act(self, dealt: DealtHands, *, except_seat: str | None = None) -> None:
        """Make each position except `except_seat` play or fold, in random order."""
        for seat in self.rng.sample(self.seats, len(self.seats)):
            if seat != except_seat:
                by = self.rng.choice(("player", "dealer"))
                self.enter("fold" if seat in dealt.folds else "play", by, 1.5, seat=seat)

    # --- a session ---

    def clear_up(self) -> None:
        """Enter every input that a device fault might have made necessary.

        The table refuses those that are not needed.
        """
        self.wait(3)
        self.enter("unlock", "supervisor", reason="the table was inspected")
        self.enter("settled")
        self.enter("misdeal", "supervisor", reason="a device was out of order")
        self.enter("inspected", "supervisor", what="shoe")

    def scene(self, kind: str) -> Scene:
        """Play one deal; return its scene with the outcomes that must be published."""
        start_us, before = self.now, len(self.truth)
        self.play(kind)
        outcomes = without_numbers(self.truth[before:])
        verdicts = [
            _FIRST_OUTCOMES[str(each["type"])] for each in outcomes if each["type"] in _FIRST_OUTCOMES
        ]
        truth = Truth(
            verdict=verdicts[0],
            allowed=(verdicts[0],),
            cards={position: tuple(cards) for position, cards in self.cards_dealt.items()},
            hands={position: tuple(cards) for position, cards in self.final_hands.items()},
            told=outcomes,
        )
        return Scene(kind=kind, start_us=start_us, end_us=self.now, truth=truth, depends_on_previous=True)

    def play(self, kind: str) -> None:
        """Play one deal."""
        self.wait(8)
        if not self.seats or self.rng.random() < 0.2:
            count = self.rng.randint(1, 6)
            self.seats = [str(seat) for seat in sorted(self.rng.sample(range(1, 8), count))]
            self.enter("seats", seats=tuple(self.seats))
        if self.rng.random() < 0.5:
            self.enter("no_more_bets")
            self.expect("bets.closed", cause="dealer")
        else:
            self.expect("bets.closed", cause="first_card")
        self.deals += 1
        self.cards_dealt = {}
        KINDS[kind](self, self.shuffled())
        self.wait(3)
        if self.rng.random() < 0.7 and kind != "misdeal_late":
            self.enter("settled")


def plain(table: Simulation, dealt: DealtHands) -> None:
    """A deal without mistakes."""
    table.deal_cards(table.rotation(dealt))
    table.act(dealt)
    table.called("deal.called", dealt, grade="sensors", by=None)


def unread_card(table: Simulation, dealt: DealtHands) -> None:
    """The shoe cannot read a card; the dealer enters the card when the hand is shown."""
    position, text, cards = _one_unread(table, dealt)
    table.deal_cards(cards)
    table.act(dealt)
    table.expect("deal.review", deal=table.deals, reasons=[{"code": "unread_card"}])
    table.enter("set_card", after_s=4, seat=position, card=text)
    table.called("deal.called", dealt, grade="person", by="dealer")


def unread_seen_early(table: Simulation, dealt: DealtHands) -> None:
    """The shoe cannot read a card; the dealer enters the card before all players have acted."""
    position, text, cards = _one_unread(table, dealt)
    table.deal_cards(cards)
    table.enter("set_card", seat=position, card=text)
    table.act(dealt)
    table.called("deal.called", dealt, grade="person", by="dealer")


def _one_unread(table: Simulation, dealt: DealtHands) -> tuple[str, str | None, list[tuple[str, str | None]]]:
    cards = table.rotation(dealt)
    place = table.rng.randrange(len(cards))
    position, text = cards[place]
    cards[place] = (position, None)
    return position, text, cards


def card_too_many(table: Simulation, dealt: DealtHands) -> None:
    """A position receives a fourth card."""
    cards = table.rotation(dealt)
    spare = next(rank + suit for rank in RANKS for suit in "cdhs" if (rank + suit) not in _all_cards(dealt))
    table.deal_cards([*cards, (table.seats[0], spare)])
    table.void("wrong_count")
    table.wait(15)


def dealer_short(table: Simulation, dealt: DealtHands) -> None:
    """The dealer's third card remains in the shoe, and nobody notices."""
    table.deal_cards(table.rotation(dealt)[:-1])
    table.act(dealt)
    table.wait(200)
    table.void("wrong_count")


def card_twice(table: Simulation, dealt: DealtHands) -> None:
    """The shoe contains a card from a different deck, so the same card is dealt twice."""
    cards = table.rotation(dealt)
    place = table.rng.randrange(1, len(cards))
    cards[place] = (cards[place][0], cards[0][1])
    table.deal_cards(cards)
    table.void("card_twice")
    table.wait(15)


def shoe_opened(table: Simulation, dealt: DealtHands) -> None:
    """The shoe is opened while the cards are out."""
    table.deal_cards(table.rotation(dealt))
    table.wait(1)
    table.post(Switch(t=table.now, dev="shoe", name="shoe_lid", open=True))
    table.void("shoe_opened")
    table.wait(10)
    table.post(Switch(t=table.now, dev="shoe", name="shoe_lid", open=False))


def misdeal_while_dealing(table: Simulation, dealt: DealtHands) -> None:
    """The dealer exposes a card while dealing, and calls a misdeal."""
    table.deal_cards(table.rotation(dealt)[: table.rng.randint(1, 3 * len(table.seats))])
    table.enter("misdeal", reason="a card was exposed")
    table.void("called", by="dealer")
    table.wait(15)


def misdeal_in_hold(table: Simulation, dealt: DealtHands) -> None:
    """The dealer calls a misdeal just after the last position has acted."""
    table.deal_cards(table.rotation(dealt))
    table.act(dealt)
    table.enter("misdeal", after_s=0.15)
    table.void("called", by="dealer")
    table.wait(10)


def misdeal_late(table: Simulation, dealt: DealtHands) -> None:
    """The supervisor calls a misdeal after the deal is called and before the first payout."""
    plain(table, dealt)
    table.enter("misdeal", "supervisor", 4)
    table.final_hands = {}
    table.expect(
        "deal.corrected", deal=table.deals, hands=None, reasons=[{"code": "called"}], by="supervisor"
    )


def shoe_down(table: Simulation, dealt: DealtHands) -> None:
    """The shoe's cable comes loose for a moment; the dealer checks all hands and accepts the deal."""
    cards = table.rotation(dealt)
    place = table.rng.randrange(1, len(cards))
    table.deal_cards(cards[:place])
    table.wait(0.1)
    table.post(DeviceDown(t=table.now, dev="shoe", reason="unplugged"))
    table.wait(1)
    table.post(DeviceUp(t=table.now, dev="shoe"))
    table.deal_cards(cards[place:])
    table.act(dealt)
    table.expect("deal.review", deal=table.deals, reasons=[{"code": "missing_reading"}])
    table.enter("accept", after_s=5)
    table.called("deal.called", dealt, grade="person", by="dealer")


def no_ruling(table: Simulation, dealt: DealtHands) -> None:
    """The shoe cannot read a card and nobody enters the card; the supervisor voids the deal."""
    _, _, cards = _one_unread(table, dealt)
    table.deal_cards(cards)
    table.act(dealt)
    table.expect("deal.review", deal=table.deals, reasons=[{"code": "unread_card"}])
    table.enter("void", "supervisor", 20, reason="disputed")
    table.void("disputed", by="supervisor")


def fold_corrected(table: Simulation, dealt: DealtHands) -> None:
    """A fold is entered for a position that played; the dealer corrects the fold after the call."""
    seat = table.rng.choice(table.seats)
    wrong = DealtHands(dealt.hands, [s for s in table.seats if s == seat or s in dealt.folds])
    right = DealtHands(dealt.hands, [s for s in wrong.folds if s != seat])
    plain(table, wrong)
    table.enter("play", after_s=4, seat=seat)
    table.called("deal.corrected", right, ruling="play")


def card_corrected(table: Simulation, dealt: DealtHands) -> None:
    """The shoe misreads a card; the dealer corrects the card after the call."""
    seat = table.rng.choice(table.seats)
    right = next(rank + suit for rank in RANKS for suit in "hs" if (rank + suit) not in _all_cards(dealt))
    misread = dealt.hands[seat][0]
    plain(table, dealt)
    table.enter("set_card", after_s=4, seat=seat, card=right, what=misread)
    hands = {**dealt.hands, seat: [right, *dealt.hands[seat][1:]]}
    table.called("deal.corrected", DealtHands(hands, dealt.folds), ruling="set_card")


def play_after_fold(table: Simulation, dealt: DealtHands) -> None:
    """A player who has folded enters `play`, and the table refuses the input."""
    seat = table.rng.choice(table.seats)
    right = DealtHands(dealt.hands, [s for s in table.seats if s == seat or s in dealt.folds])
    table.deal_cards(table.rotation(right))
    table.enter("fold", "player", seat=seat)
    table.enter("play", "player", seat=seat)
    refused = {"cause": "has_acted", "what": "play"}
    if len(table.seats) > 1:
        table.expect("input.refused", **refused)
        table.act(right, except_seat=seat)
        table.called("deal.called", right)
    else:
        table.called("deal.called", right)
        table.expect("input.refused", **refused)


Kind = Callable[[Simulation, DealtHands], None]
KINDS: Mapping[str, Kind] = {
    kind.__name__: kind
    for kind in (
        plain, unread_card, unread_seen_early, card_too_many, dealer_short, card_twice, shoe_opened,
        misdeal_while_dealing, misdeal_in_hold, misdeal_late, shoe_down, no_ruling, fold_corrected,
        card_corrected, play_after_fold,
    )
}  # fmt: skip


def simulate(
    seed: int, mix: Mapping[str, float] = USUAL, n: int = 12, *, directed: bool = True
) -> tuple[Header, Feed, list[Expected]]:
    """Play `n` deals with kinds drawn from `mix`; the same seed produces the same session.

    With `directed`, the shoe reports the recipient of each card.
    """
    table = Simulation(seed, directed=directed)
    for kind in table.rng.choices(list(mix), list(mix.values()), k=n):
        table.play(kind)
    header = Header(table=f"sim-three-card-{seed}", ruleset=RULES)
    return header, in_order_of_arrival(table.feed), table.truth


def deals(
    seed: int, mix: Mapping[str, float], n: int, *, after_fault: bool = False
) -> tuple[Feed, list[Scene]]:
    """Play `n` deals with a shoe that does not report recipients; after a fault, people clear up first."""
    table = Simulation(seed, directed=False)
    scenes: list[Scene] = []
    if after_fault:
        table.clear_up()
        cleared = Truth(verdict="void", allowed=("void",), ruled="void")
        scenes.append(Scene(kind="clearing_up", start_us=0, end_us=table.now, truth=cleared))
    scenes += [table.scene(kind) for kind in table.rng.choices(list(mix), list(mix.values()), k=n)]
    return in_order_of_arrival(table.feed), scenes


def _all_cards(dealt: DealtHands) -> set[str]:
    return set(chain.from_iterable(dealt.hands.values()))
