"""The judge of deals. A deal counts if all hands have three cards and no card appears twice.

Some shoes report the position of each card. With other shoes, the cards are assumed to be dealt in order from
the dealer's left, with the dealer last (T-DEAL-3), either in rotation or in stacks of three. The verdict
reveals no card until all positions have acted.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from controller.model.readings import Card, DeviceDown, DeviceFault, Input, Reading, Switch, names_card
from controller.model.readings import Card as CardReading
from controller.model.rulesets import DealRules
from controller.model.verdicts import Dealt, DealVerdict, Notice, Reason, Ruling
from controller.rules.cards.hands import read_face, written

CARDS_EACH = 3
DEALER = "dealer"
_DEALER_NAMES = frozenset({DEALER, "d", "0"})

Order = Literal["rotation", "stacks"]
Act = Literal["play", "fold"]


@dataclass(frozen=True, slots=True)
class HandCard:
    """A card in a hand: its face (None if unread), and whether a person entered it."""

    face: str | None
    entered: bool = False


@dataclass(slots=True)
class Layout:
    """The current state of a deal."""

    seats: tuple[str, ...]
    """The positions from the dealer's left to the dealer's right, without the dealer."""
    hands: dict[str, list[HandCard]] = field(default_factory=dict)
    acts: dict[str, Act] = field(default_factory=dict)
    directed: bool = False
    """Whether the shoe reports the position of each card."""
    extra_cards: int = 0
    """The number of cards dealt after all hands were complete, by a shoe that reports no positions."""
    out_of_order: str = ""
    """A description of the first position that received a card out of turn (T-DEAL-3); empty if none did."""
    doubts: list[str] = field(default_factory=list)
    """Descriptions of contradictions; they name no card."""

    @property
    def positions(self) -> tuple[str, ...]:
        """The positions in the order of dealing, with the dealer last."""
        return (*self.seats, DEALER)

    @property
    def wrong_counts(self) -> dict[str, int]:
        """The number of cards at each position that does not have three cards."""
        return {p: len(self.hands[p]) for p in self.positions if len(self.hands[p]) != CARDS_EACH}

    @property
    def too_many(self) -> dict[str, int]:
        """The number of cards at each position that has more than three cards."""
        return {position: count for position, count in self.wrong_counts.items() if count > CARDS_EACH}

    @property
    def all_dealt(self) -> bool:
        """Whether all positions have exactly three cards."""
        return bool(self.seats) and not self.wrong_counts and not self.extra_cards

    @property
    def all_acted(self) -> bool:
        """Whether all positions have played or folded."""
        return bool(self.seats) and all(seat in self.acts for seat in self.seats)

    @property
    def unread(self) -> tuple[str, ...]:
        """The positions with an unread card."""
        return tuple(p for p in self.positions if any(held.face is None for held in self.hands[p]))

    @property
    def positions_lacking_card(self) -> tuple[str, ...]:
        """The positions for which a person can enter a card that was not read or not counted.

        If the shoe reports no positions, an uncounted card shifts all later cards. Only positions with unread
        cards are then listed.
        """
        short = {
            position for position, count in self.wrong_counts.items() if count < CARDS_EACH and self.directed
        }
        return tuple(p for p in self.positions if p in short or p in self.unread)

    @property
    def entered(self) -> tuple[tuple[str, str], ...]:
        """The cards that a person entered, each with its position. Empty until all positions have acted."""
        if not self.all_acted:
            return ()
        return tuple(
            (position, held.face)
            for position in self.positions
            for held in self.hands[position]
            if held.entered and held.face is not None
        )

    def repeats(self, *, entered: bool) -> bool:
        """Return whether a card occurs twice among the shoe's cards or, with `entered`, among all cards."""
        faces = [
            held.face
            for hand in self.hands.values()
            for held in hand
            if held.face is not None and (entered or not held.entered)
        ]
        return len(set(faces)) < len(faces)


def position_name(seat: str | int | None) -> str | None:
    """Return a position's name as used in `Layout.hands`. `dealer`, `d` and 0 mean the dealer."""
    if seat is None:
        return None
    name = str(seat)
    return DEALER if name.lower() in _DEALER_NAMES else name


def left_to_right(seats: Iterable[str]) -> tuple[str, ...]:
    """Return each position once, first the numbered positions in order, then the named positions."""
    return tuple(sorted(set(seats), key=lambda seat: (not seat.isdecimal(), len(seat), seat)))


def build_layout(readings: Sequence[Reading], seats: Sequence[str], order: Order) -> Layout:
    """Lay out a deal from its cards and people's inputs (`set_card`, `play`, `fold`), in time order.

    `seats` are the positions dealt in. By default, they are the positions that the shoe reports.
    """
    cards = [reading for reading in readings if isinstance(reading, CardReading)]
    named = left_to_right(seats) or left_to_right(_dealt_to(cards))
    layout = Layout(named, {position: [] for position in (*named, DEALER)})
    layout.directed = any(card.to is not None for card in cards)
    if not named:
        layout.doubts.append("no position was named, and the shoe does not report which position it deals to")
    elif layout.directed:
        _lay_directed(layout, cards)
        layout.out_of_order = _first_out_of_turn(layout, cards)
    else:
        _lay_in_order(layout, cards, order)
    after_all_acted = False
    for reading in readings:
        if isinstance(reading, Input):
            _apply_input(layout, reading)
        elif isinstance(reading, CardReading) and layout.all_acted:
            after_all_acted = True
    if after_all_acted and not layout.directed:
        layout.doubts.append(
            "a card left the shoe after all had played or folded; it might be a replacement for another card"
        )
    return layout


def fill(hands: Mapping[str, Sequence[HandCard]], entered: Input) -> tuple[str, list[HandCard]] | None:
    """Return the position to which a `set_card` applies, and that position's hand with the card; None if the
    card fits nowhere.

    `what` names the card to replace. Without `what`, the card replaces the first unread card or, if there is
    none, completes a short hand. Without a seat, the card goes to the only position with an unread card.
    """
    face = written(entered.card)
    position = position_name(entered.seat)
    if position is None:
        unread = [name for name, hand in hands.items() if any(held.face is None for held in hand)]
        position = unread[0] if len(unread) == 1 else None
    if face is None or position is None or position not in hands:
        return None
    hand = list(hands[position])
    replaced = written(entered.what)
    faces = [held.face for held in hand]
    if entered.what is None and len(hand) < CARDS_EACH and None not in faces:
        return position, [*hand, HandCard(face, entered=True)]
    if replaced not in faces or (entered.what is not None and replaced is None):
        return None
    hand[faces.index(replaced)] = replace(hand[faces.index(replaced)], face=face, entered=True)
    return position, hand


def _dealt_to(cards: Iterable[CardReading]) -> Iterator[str]:
    for card in cards:
        position = position_name(card.to)
        if position not in (None, DEALER):
            yield str(position)


def _lay_directed(layout: Layout, cards: Sequence[CardReading]) -> None:
    for number, card in enumerate(cards, 1):
        position = position_name(card.to)
        if position is None:
            layout.doubts.append(
                f"the shoe reported no position for card {number} of the deal, but did for other cards"
            )
        elif position not in layout.hands:
            layout.doubts.append(
                f"card {number} of the deal went to position {position}, which is not dealt in"
            )
        else:
            layout.hands[position].append(HandCard(read_face(card)))


def _lay_in_order(layout: Layout, cards: Sequence[CardReading], order: Order) -> None:
    positions = layout.positions
    for number, card in enumerate(cards):
        if number >= CARDS_EACH * len(positions):
            layout.extra_cards += 1
            continue
        place = number % len(positions) if order == "rotation" else number // CARDS_EACH
        layout.hands[positions[place]].append(HandCard(read_face(card)))
    if len({card.t for card in cards}) < len(cards):
        layout.doubts.append("two cards left the shoe at the same moment, so their order is unknown")


def _first_out_of_turn(layout: Layout, cards: Sequence[CardReading]) -> str:
    """Describe the first position that received a card out of turn, from a shoe that reports positions.

    Cards are dealt from the dealer's left, and to the dealer last.
    """
    dealt = [name for name in dict.fromkeys(position_name(card.to) for card in cards) if name in layout.hands]
    due = [position for position in layout.positions if position in dealt]
    return next(
        (f"{found} before {first}" for found, first in zip(dealt, due, strict=True) if found != first), ""
    )


def _apply_input(layout: Layout, entered: Input) -> None:
    position = position_name(entered.seat)
    if entered.name == "set_card":
        filled = fill(layout.hands, entered)
        if filled is not None:
            layout.hands[filled[0]] = filled[1]
    elif position in layout.seats:
        if entered.name == "play":
            layout.acts[position] = "play"
        elif entered.name == "fold":
            layout.acts[position] = "fold"


SHOE_SWITCHES = frozenset({"shoe", "lid", "shoe_lid"})
"""Possible names of the switch on a shoe's lid."""
NO_SOURCES: Mapping[str, Collection[str]] = {}


def opens_shoe(reading: Reading) -> bool:
    """Return whether the reading reports the opening of a shoe's lid."""
    if not isinstance(reading, Switch) or not reading.open:
        return False
    return reading.name.lower().replace(" ", "_").replace("-", "_") in SHOE_SWITCHES


def judge_deal(
    readings: Sequence[Reading],
    seats: Sequence[str],
    rules: DealRules,
    *,
    decided_at_us: int,
    sources: Mapping[str, Collection[str]] = NO_SOURCES,
    called: Reason | None = None,
) -> DealVerdict:
    """Judge a deal at the time `decided_at_us` by its readings and people's inputs, in time order.

    `seats` are the positions dealt in. `sources` maps each device to the kinds of reading that it is known to
    send. `called` is a person's reason for declaring the deal void; it precedes the proven causes in the
    verdict. A short hand voids the deal if all positions have acted and no card has left the shoe for
    `deal_timeout_s`.
    """
    layout = build_layout(readings, seats, rules.order)
    last_card_us = max((reading.t for reading in readings if isinstance(reading, Card)), default=0)
    timed_out = decided_at_us - last_card_us >= rules.deal_timeout_s * 1_000_000
    faults = list(_find_faults(readings, sources))
    void = [
        Reason(code=code, rule=rules.causes.get(code, ""), seen=seen)
        for code, seen in _find_voids(
            readings, layout, count_trusted=not faults, complete=timed_out and layout.all_acted
        )
    ]
    if called is not None:
        void.insert(0, called)
    review = [
        Reason(code=code, rule=rules.causes.get(code, ""), seen=seen)
        for code, seen in (*faults, *_find_doubts(layout, void=bool(void)))
    ]
    dealt = _build_dealt(layout)
    evidence = _evidence(readings, face_up=layout.all_acted)
    if void:
        sentence = f"Void: {_join_reasons(void)}"
        return DealVerdict(
            ruling=Ruling.VOID, sentence=sentence, seats=tuple(seats), reasons=tuple(void), evidence=evidence
        )
    if review or dealt is None:
        sentence = f"Review: {_join_reasons(review)}"
        return DealVerdict(
            ruling=Ruling.REVIEW,
            sentence=sentence,
            seats=tuple(seats),
            dealt=dealt,
            reasons=tuple(review),
            evidence=evidence,
        )
    hands = "1 hand" if len(layout.seats) == 1 else f"{len(layout.seats)} hands"
    sentence = f"{hands} and the dealer's, three cards each, no duplicates"
    return DealVerdict(
        ruling=Ruling.VALID,
        sentence=sentence,
        seats=tuple(seats),
        dealt=dealt,
        notices=tuple(_notices(layout)),
        evidence=evidence,
    )


def _notices(layout: Layout) -> Iterator[Notice]:
    if layout.out_of_order:
        order = "cards are dealt from the dealer's left, with the dealer last"
        seen = f"cards went to {layout.out_of_order}; {order}"
        yield Notice(code="dealt_out_of_order", seen=seen, rule="T-DEAL-3")


def _find_faults(
    readings: Sequence[Reading], sources: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    shoes = {dev for dev, kinds in sources.items() if "card" in kinds}
    shoes.update(reading.dev for reading in readings if isinstance(reading, Card))
    faults = {
        (reading.dev, "was down" if isinstance(reading, DeviceDown) else "was faulty")
        for reading in readings
        if isinstance(reading, DeviceDown | DeviceFault) and reading.dev in shoes
    }
    for dev, how in sorted(faults):
        yield "missing_reading", f"{dev} {how} during the deal, so a card might have been missed"


def _find_voids(
    readings: Sequence[Reading], layout: Layout, *, count_trusted: bool, complete: bool
) -> Iterator[tuple[str, str]]:
    """Yield the causes that void a deal. `count_trusted` is False if a shoe was down or faulty."""
    if count_trusted:
        wrong_counts = layout.wrong_counts if complete else layout.too_many
        for position, count in wrong_counts.items():
            yield "wrong_count", f"{_position_name(position)} has {_cards(count)}, not {CARDS_EACH}"
        if layout.extra_cards:
            yield "wrong_count", _describe_extra(layout)
        if layout.repeats(entered=False):
            yield "card_twice", "the same card was dealt twice from one deck"
    if any(map(opens_shoe, readings)):
        yield "shoe_opened", "the shoe was opened during the deal"


def _find_doubts(layout: Layout, *, void: bool) -> Iterator[tuple[str, str]]:
    if void:
        return
    for doubt in layout.doubts:
        yield "conflict", doubt
    if layout.seats and layout.wrong_counts:
        counts = ", ".join(
            f"{_position_name(position)} has {count}" for position, count in layout.wrong_counts.items()
        )
        yield "wrong_count", f"not every position has {CARDS_EACH} cards: {counts}"
    elif layout.seats and layout.extra_cards:
        yield "wrong_count", _describe_extra(layout)
    for position in layout.unread:
        yield "unread_card", f"a card of {_position_name(position)} could not be read"
    if layout.all_acted and layout.repeats(entered=True):
        yield "conflict", "the same card appears twice among the cards read and entered"
    if layout.seats and not layout.all_acted:
        waiting = [seat for seat in layout.seats if seat not in layout.acts]
        have = f"position {waiting[0]} has" if len(waiting) == 1 else f"positions {', '.join(waiting)} have"
        yield "missing_reading", f"{have} neither played nor folded"


def _build_dealt(layout: Layout) -> Dealt | None:
    """Return the complete deal; None if any part other than the order of dealing is in doubt."""
    if not layout.all_dealt or not layout.all_acted or layout.unread or layout.repeats(entered=True):
        return None
    if layout.doubts:
        return None
    hands = {
        position: tuple(held.face for held in layout.hands[position] if held.face is not None)
        for position in layout.positions
    }
    dealer = hands.pop(DEALER)
    folds = tuple(seat for seat in layout.seats if layout.acts[seat] == "fold")
    return Dealt(hands=hands, dealer=dealer, folds=folds)


def _evidence(readings: Sequence[Reading], *, face_up: bool) -> tuple[Reading, ...]:
    """Return the readings. Until all positions have acted, omit the readings that name a card."""
    return tuple(reading for reading in readings if face_up or not names_card(reading))


def _position_name(position: str) -> str:
    return "the dealer" if position == DEALER else f"position {position}"


def _describe_extra(layout: Layout) -> str:
    return f"{_cards(layout.extra_cards)} too many left the shoe; each position receives {CARDS_EACH}"


def _cards(count: int) -> str:
    return "1 card" if count == 1 else f"{count} cards"


def _join_reasons(reasons: Sequence[Reason]) -> str:
    return "; ".join(reason.seen for reason in reasons) or "nothing was seen"
