"""The deal judge: a deal counts when every position and the dealer got three cards and no card appears twice.

Nothing it says reveals a card until every position has acted.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from controller.model.readings import Card, DeviceDown, DeviceFault, Reading, Switch, names_card
from controller.model.rulesets import DealRules
from controller.model.verdicts import Dealt, DealVerdict, Notice, Reason, Ruling
from controller.rules.cards.layout import CARDS_EACH, DEALER, Layout, lay_out

SHOE_SWITCHES = frozenset({"shoe", "lid", "shoe_lid"})
"""The names of the switch on a shoe's lid."""
NO_SOURCES: Mapping[str, Collection[str]] = {}


def opens_shoe(reading: Reading) -> bool:
    """Return whether this is a shoe lid opening."""
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
    """Judge one deal from its readings and people's inputs, in time order, as of the moment of decision.

    `seats` are the positions dealt in. `sources` maps each device to the kinds it is known to send. With
    `called`, a person's call, the deal is void for that cause and for any others already proven. A short
    hand voids the deal once every position has acted and no card has come for `deal_timeout_s`.
    """
    layout = lay_out(readings, seats, rules.order)
    last_card_us = max((reading.t for reading in readings if isinstance(reading, Card)), default=0)
    timed_out = decided_at_us - last_card_us >= rules.deal_timeout_s * 1_000_000
    troubles = list(_troubles(readings, sources))
    void = [
        Reason(code=code, rule=rules.causes.get(code, ""), seen=seen)
        for code, seen in _void(
            readings, layout, count_trusted=not troubles, complete=timed_out and layout.all_acted
        )
    ]
    if called is not None:
        void.insert(0, called)
    review = [
        Reason(code=code, rule=rules.causes.get(code, ""), seen=seen)
        for code, seen in (*troubles, *_doubts(layout, void=bool(void)))
    ]
    dealt = _dealt(layout)
    evidence = _evidence(readings, face_up=layout.all_acted)
    if void:
        sentence = f"Void: {_listed(void)}"
        return DealVerdict(
            ruling=Ruling.VOID, sentence=sentence, seats=tuple(seats), reasons=tuple(void), evidence=evidence
        )
    if review or dealt is None:
        sentence = f"Review: {_listed(review)}"
        return DealVerdict(
            ruling=Ruling.REVIEW,
            sentence=sentence,
            seats=tuple(seats),
            dealt=dealt,
            reasons=tuple(review),
            evidence=evidence,
        )
    sentence = f"{len(layout.seats)} hands and the dealer's, three cards each, no duplicates"
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
        seen = f"cards went to {layout.out_of_order}; they are dealt from the dealer's left, the dealer last"
        yield Notice(code="dealt_out_of_order", seen=seen, rule="T-DEAL-3")


def _troubles(
    readings: Sequence[Reading], sources: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, str]]:
    shoes = {dev for dev, kinds in sources.items() if "card" in kinds}
    shoes.update(reading.dev for reading in readings if isinstance(reading, Card))
    told = {
        (reading.dev, "was down" if isinstance(reading, DeviceDown) else "was faulty")
        for reading in readings
        if isinstance(reading, DeviceDown | DeviceFault) and reading.dev in shoes
    }
    for dev, how in sorted(told):
        yield "missing_reading", f"{dev} {how} during the deal: a card may have gone unseen"


def _void(
    readings: Sequence[Reading], layout: Layout, *, count_trusted: bool, complete: bool
) -> Iterator[tuple[str, str]]:
    """Yield what voids a deal. `count_trusted` is False if the shoe was faulty."""
    if count_trusted:
        wrong = layout.wrong if complete else layout.too_many
        for position, count in wrong.items():
            yield "wrong_count", f"{_named(position)} has {count} cards, not {CARDS_EACH}"
        if layout.beyond:
            yield "wrong_count", f"{layout.beyond} more cards left the shoe than {CARDS_EACH} per position"
        if layout.repeats(entered=False):
            yield "card_twice", "the same card was dealt twice from one deck"
    if any(map(opens_shoe, readings)):
        yield "shoe_opened", "the shoe was opened during the deal"


def _doubts(layout: Layout, *, void: bool) -> Iterator[tuple[str, str]]:
    if void:
        return
    for doubt in layout.doubts:
        yield "conflict", doubt
    if layout.seats and (layout.wrong or layout.beyond):
        counts = ", ".join(f"{_named(position)} {count}" for position, count in layout.wrong.items())
        yield (
            "wrong_count",
            f"not every position has {CARDS_EACH} cards: {counts or f'{layout.beyond} too many'}",
        )
    for position in layout.unread:
        yield "unread_card", f"a card of {_named(position)} could not be read"
    if layout.all_acted and layout.repeats(entered=True):
        yield "conflict", "the same card is in two hands, as read and as entered"
    if layout.seats and not layout.all_acted:
        waiting = ", ".join(seat for seat in layout.seats if seat not in layout.acts)
        yield "missing_reading", f"position {waiting} has neither played nor folded"


def _dealt(layout: Layout) -> Dealt | None:
    """Return the whole deal if nothing about it is in doubt except the order it was dealt in."""
    if not layout.all_out or not layout.all_acted or layout.unread or layout.repeats(entered=True):
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
    """Return the readings; until every position has acted, without those that name a card."""
    return tuple(reading for reading in readings if face_up or not names_card(reading))


def _named(position: str) -> str:
    return "the dealer" if position == DEALER else f"position {position}"


def _listed(reasons: Sequence[Reason]) -> str:
    return "; ".join(reason.seen for reason in reasons) or "nothing was seen"
