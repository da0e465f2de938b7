"""The commentary on a demonstration, a practice session or a running table, in the staff's terms."""

from collections.abc import Callable, Iterable, Sequence

import msgspec

from controller.cli.screen import Entry, Screen, Style
from controller.cli.words import (
    call_in_words,
    dealer_in_words,
    dollars,
    game_in_words,
    plain,
    pot_in_words,
    puck_in_words,
    seat_in_words,
    seats_in_words,
    won_in_words,
)
from controller.model.outcomes import (
    Bets,
    BonusPaid,
    CardPitched,
    CardsBought,
    Data,
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    GameStarted,
    GameVoid,
    GameWon,
    Outcome,
    PlayerEliminated,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    RollReview,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
    TableEvent,
)
from controller.model.verdicts import Notice, Reason

_SILENT_REFUSALS = frozenset(("unknown_input", "no_change"))
"""Causes of refusals that the commentary omits."""
_SILENT_CLOSINGS = frozenset(("dice_released",))
"""Causes for which the commentary omits the closing of bets; in some games, every throw closes them."""
_RESULT_WIDTH = 8
"""Width of a result in columns, enough for two dice, a number and its colour, or three cards."""
_TEXT_COLUMN = 7 + _RESULT_WIDTH + 2
"""Column where the text begins."""
_PUCK_WIDTH = 14
_PAGE_WIDTH = 80
"""Maximum width of a page in columns; the puck is shown at the page's right edge."""
_CALLS_WITH_PUCK = frozenset(("natural", "craps", "point_set", "point_made", "seven_out", "no_decision"))
_VOID_STYLE: Style = "red"
_REVIEW_STYLE: Style = "yellow"
_EVENT_STYLES: dict[str, Style] = {
    "device.down": "red",
    "device.fault": "red",
    "table.locked": "red",
    "input.refused": "yellow",
    "device.up": "green",
    "table.unlocked": "green",
    "table.opened": "green",
}


class Commentary:
    """Writes a table's outcomes in the staff's terms."""

    def __init__(self, screen: Screen, *, stamp: Callable[[], str] = lambda: "", live: bool = False) -> None:
        """Begin each entry with the result of `stamp`.

        With `live`, also report the opening and closing of bets.
        """
        self._screen = screen
        self._stamp = stamp
        self._live = live
        self._closed_us: int | None = None
        self._bought: CardsBought | None = None
        self._cards: list[int] = []

    def write(self, outcome: Outcome) -> None:
        """Write an outcome's lines; some outcomes have none."""
        if not isinstance(outcome.data, CardPitched):
            self._end_purchase()
        match outcome.data:
            case RollCalled() | RollNoRoll() | RollReview() | RollCorrected() as roll:
                self._roll(roll)
            case SpinCalled() | SpinNoSpin() | SpinReview() | SpinCorrected() as spin:
                self._spin(spin)
            case DealCalled() | DealVoid() | DealReview() | DealCorrected() as deal:
                self._deal(deal)
            case CardsBought() | CardPitched() | GameStarted() | GameWon() | GameVoid() as game:
                self._game(game)
            case other:
                self._between(outcome, other)

    def call(
        self,
        attempt: int | None,
        shown: str,
        words: str,
        style: Style = "plain",
        shown_style: Style = "plain",
    ) -> None:
        """Write a call with the attempt's number, the result and the text."""
        begins = f"{self._stamp()}  {'' if attempt is None else attempt:>3}  "
        lead = f"{begins}{shown:<{_RESULT_WIDTH}}  "
        first, *others = self._screen.entry(Entry(lead, words, style))
        styled = self._screen.styled(shown, shown_style)
        self._screen.line(first.replace(shown, styled, 1) if shown else first)
        self._screen.lines(others)

    def write_detail(self, *sentences: str, style: Style = "dim") -> None:
        """Write detail lines below a call."""
        lead = " " * (len(self._stamp()) + _TEXT_COLUMN)
        for sentence in sentences:
            self._screen.lines(self._screen.entry(Entry(lead, sentence, style)))

    def event(self, words: str, style: Style = "plain") -> None:
        """Write an event that is not a call, with its time."""
        lead = f"{self._stamp()}{' ' * _TEXT_COLUMN}"
        self._screen.lines(self._screen.entry(Entry(lead, words, style)))

    def dice(self, faces: Sequence[int]) -> str:
        """Draw a pair of dice."""
        return " ".join(map(self._screen.die, faces))

    def reasons(self, reasons: Iterable[Reason | Notice]) -> None:
        """Write each reason or notice with its rule."""
        for reason in reasons:
            rule = f" ({reason.rule})" if reason.rule else ""
            self.write_detail(f"{reason.seen}{rule}")

    def _roll(self, data: RollCalled | RollNoRoll | RollReview | RollCorrected) -> None:
        match data:
            case RollCalled():
                self._called(data)
                self.write_detail(*(notice.seen for notice in data.notices))
                if data.grade == "person":
                    self.write_detail(f"set by the {_person(data.by, data.who)}")
            case RollNoRoll():
                self._void("No Roll", data.roll, data.reasons, data.notices)
            case RollReview():
                self._review(data.roll, data.reasons)
            case RollCorrected(dice=None):
                self.call(data.roll, "", "Corrected: No Roll", _REVIEW_STYLE)
                self.write_detail(f"by the {_person(data.by, data.who)}")
            case _:
                self._called(data)
                self.write_detail(f"corrected by the {_person(data.by, data.who)}", style=_REVIEW_STYLE)

    def _called(self, roll: RollCalled | RollCorrected) -> None:
        words = call_in_words(roll)
        style: Style = _REVIEW_STYLE if isinstance(roll, RollCorrected) else "plain"
        puck = f"puck {puck_in_words(roll.point_after)}" if roll.call in _CALLS_WITH_PUCK else ""
        assert roll.dice is not None
        lead = f"{self._stamp()}  {roll.roll:>3}  {self.dice(roll.dice):<{_RESULT_WIDTH}}  "
        room = min(self._screen.width, _PAGE_WIDTH) - len(lead) - _PUCK_WIDTH
        if puck and len(words) < room:
            padded = self._screen.styled(f"{words:<{room}}", style)
            self._screen.line(f"{lead}{padded}{self._screen.styled(puck, 'dim')}")
            return
        self.call(roll.roll, self.dice(roll.dice), words, style)
        if puck:
            self.write_detail(puck)

    def _spin(self, data: SpinCalled | SpinNoSpin | SpinReview | SpinCorrected) -> None:
        match data:
            case SpinCalled():
                style: Style = "bold" if data.colour == "black" else data.colour
                shown = f"{data.number:>2} {data.colour}"
                self.call(data.spin, shown, ", ".join(self._details_of(data)), shown_style=style)
                self.write_detail(*(notice.seen for notice in data.notices))
                if data.grade == "person":
                    self.write_detail(f"set by the {_person(data.by, data.who)}")
            case SpinNoSpin():
                self._void("No Spin", data.spin, data.reasons, data.notices)
            case SpinReview():
                self._review(data.spin, data.reasons)
            case _:
                words = f"{data.number} {data.colour}" if data.number else "No Spin"
                self.call(data.spin, "", f"Corrected: {words}", _REVIEW_STYLE)
                self.write_detail(f"by the {_person(data.by, data.who)}")

    def _details_of(self, spin: SpinCalled) -> Iterable[str]:
        if spin.revolutions is not None:
            yield f"{spin.revolutions:.1f} revolutions"
        if isinstance(spin.dropped_us, int) and self._closed_us is not None:
            yield f"No More Bets {(spin.dropped_us - self._closed_us) / 1e6:.1f} s before the drop"

    def _deal(self, data: DealCalled | DealVoid | DealReview | DealCorrected) -> None:
        match data:
            case DealVoid():
                self._void("Misdeal, all bets returned", data.deal, data.reasons, data.notices)
            case DealReview():
                self._review(data.deal, data.reasons)
            case DealCorrected(dealer=None):
                self.call(data.deal, "", "Corrected: misdeal; all bets are returned", _REVIEW_STYLE)
                self.write_detail(f"by the {_person(data.by, data.who)}")
            case _:
                self._hands(data)

    def _hands(self, deal: DealCalled | DealCorrected) -> None:
        corrected = isinstance(deal, DealCorrected)
        self.call(
            deal.deal,
            self._cards_of(deal.dealer or ()),
            dealer_in_words(deal),
            _REVIEW_STYLE if corrected else "bold",
        )
        if corrected:
            self.write_detail(f"corrected by the {_person(deal.by, deal.who)}", style=_REVIEW_STYLE)
        hands = deal.hands or {}
        for result in deal.results:
            style: Style = "green" if result.result in ("win", "dealer_does_not_play") else "plain"
            cards = self._cards_of(hands.get(result.seat, ()))
            lead = f"{' ' * len(self._stamp())}{' ' * 7}{cards:<{_RESULT_WIDTH}}  "
            seat = f"seat {result.seat}, {seat_in_words(result)}"
            self._screen.lines(self._screen.entry(Entry(lead, seat, style)))

    def _cards_of(self, cards: Sequence[str]) -> str:
        return " ".join(map(self._screen.card, cards))

    def _game(self, data: CardsBought | CardPitched | GameStarted | GameWon | GameVoid) -> None:
        match data:
            case CardsBought():
                self._bought, self._cards = data, []
                self._screen.draft(self._purchase())
            case CardPitched():
                self._pitched(data)
            case GameStarted():
                self.call(None, "", game_in_words(data), "bold")
                for seat, cards in data.cards.items():
                    self.write_detail(f"seat {seat} holds {' '.join(map(str, sorted(cards)))}", style="plain")
            case GameWon():
                self.call(None, "", won_in_words(data), "green")
                self.write_detail(*pot_in_words(data))
            case _:
                self._void(f"Game {data.game} void, all stakes returned", None, data.reasons, ())

    def _pitched(self, card: CardPitched) -> None:
        bought = self._bought
        if card.replaces is not None or bought is None or bought.player != card.player:
            self._end_purchase()
            instead = "" if card.replaces is None else f" instead of {card.replaces}"
            self.write_detail(f"seat {card.player} gets {card.card}{instead}", style="plain")
            return
        self._cards.append(card.card)
        if len(self._cards) >= bought.count:
            self._end_purchase()
        else:
            self._screen.draft(self._purchase())

    def _purchase(self) -> str:
        assert self._bought is not None
        count = "a card" if self._bought.count == 1 else f"{self._bought.count} cards"
        cards = f": {' '.join(map(str, self._cards))}" if self._cards else ""
        return f"{self._stamp()}{' ' * _TEXT_COLUMN}seat {self._bought.player} buys {count}{cards}"

    def _end_purchase(self) -> None:
        if self._bought is not None:
            self._screen.line(self._purchase())
            self._bought, self._cards = None, []

    def _between(self, outcome: Outcome, data: Data) -> None:
        match data:
            case Bets():
                self._bets(outcome, data)
            case ShooterChanged():
                seat = "the next shooter" if data.shooter is None else f"seat {data.shooter}"
                self.write_detail(f"the dice go to {seat}")
            case PlayerEliminated():
                self.write_detail(f"out: {seats_in_words(data.players)}", style="plain")
            case RollDeclined():
                self.write_detail(f"seat {data.player} skips a roll")
            case BonusPaid():
                recipient = "to the house, as rake" if data.player is None else f"to seat {data.player}"
                self.write_detail(f"Bonus Pot: {dollars(data.amount)} {recipient}, {plain(data.cause)}")
            case TableEvent() if data.cause not in _SILENT_REFUSALS:
                self.event(_event_text(outcome.type, data), _EVENT_STYLES.get(outcome.type, "plain"))
            case TableEvent():
                pass
            case _:
                self.event(f"{plain(outcome.type)}: {msgspec.json.encode(data).decode()}")

    def _bets(self, outcome: Outcome, data: Bets) -> None:
        if outcome.type == "bets.closed":
            self._closed_us = outcome.t
            if self._live and data.cause not in _SILENT_CLOSINGS:
                self.event(f"No more bets ({plain(data.cause)})")
        elif self._live and data.cause != "result":
            self.event(f"Bets are open ({plain(data.cause)})")
        if self._live:
            self.write_detail(*(notice.seen for notice in data.notices))

    def _review(self, attempt: int, reasons: Sequence[Reason]) -> None:
        self.call(attempt, "", "Review: a person must rule", _REVIEW_STYLE)
        self.reasons(reasons)

    def _void(
        self, word: str, attempt: int | None, reasons: Sequence[Reason], notices: Sequence[Notice]
    ) -> None:
        causes = ", ".join(dict.fromkeys(plain(reason.code) for reason in reasons))
        self.call(attempt, "", f"{word}: {causes}", _VOID_STYLE)
        self.reasons(reasons)
        self.write_detail(*(notice.seen for notice in notices))


def _event_text(type_: str, data: TableEvent) -> str:
    what = plain(data.what or "the table")
    by = f", by the {_person(data.by, data.who)}" if data.by not in (None, "controller") else ""
    why = f": {data.says}" if data.says else ""
    if type_.startswith("table."):
        return f"{plain(type_)}{by}{why or ('' if not data.cause else f': {plain(data.cause)}')}"
    return f"{plain(type_)}, {what}{by}{why}"


def _person(role: str | None, who: str | None) -> str:
    return f"{role} {who}" if who else str(role)
