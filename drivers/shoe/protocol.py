"""Card shoes that send one code per line: bytes in, what left the shoe out, whatever the bytes are.

Such a shoe has no checksum, no numbering and no handshake, so a cable joined in the middle of `12` says `2`.
What stands before the first line end after an open or a loss is never a card; it is a doubt if it may have
been the end of a code that matters. Many shoes send each code several times. The same code again within
`repeats_us` of the last is a repeat; after twice that time it is another card; in between it could be either,
and is reported as a doubt, never as a card.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from drivers.framing import LineSplitter

MAX_CODE = 32
"""Bytes of a code at most."""
_FRAMING = "\x02\x03 \t\r"
"""What shoes send around a code: start and end of text, blanks, a line end."""

Word = Literal["unread", "lid_open", "lid_closed", "alive"]
"""What a code can mean besides a card or a position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """A shoe's code table.

    `cards` are the faces by code (`Qh`, or `12` of a numbered deck), `positions` the recipients of the
    following cards, `words` everything else.
    """

    cards: Mapping[str, str]
    positions: Mapping[str, str]
    words: Mapping[str, Word]


@dataclass(frozen=True, slots=True)
class CardOut:
    """A card left the shoe: its face, None if the shoe could not read it, and its recipient."""

    face: str | None
    to: str | None


@dataclass(frozen=True, slots=True)
class Lid:
    """The shoe's lid opened or closed."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class Doubt:
    """What may have been a card but is not known to be one; `seen` says what was received, but names no
    card."""

    seen: str


@dataclass(frozen=True, slots=True)
class Alive:
    """The shoe reports that it is connected."""


Event = CardOut | Lid | Doubt | Alive


class ShoeProtocol:
    """One shoe's line: what it sent last, and when."""

    def __init__(self, codes: Codes, repeats_us: int) -> None:
        self._codes = codes
        self._repeats_us = repeats_us
        self._lines = LineSplitter(MAX_CODE)
        self._last = ""
        self._last_us = 0
        self._to: str | None = None
        self.cards = 0
        self.repeats = 0
        self.doubts = 0
        self.unreadable = 0
        """Lines in a row that were no code."""

    def connect(self) -> None:
        """Forget what was sent before the connection or a loss: what comes next may begin anywhere."""
        self._lines.join()
        self._last = ""
        self._to = None

    def feed(self, now_us: int, data: bytes) -> list[Event]:
        """Handle bytes that arrived at `now_us`; return their events in order. Empty lines are ignored."""
        events: list[Event] = []
        for line in self._lines.feed(data):
            code = line.text.decode("ascii", "replace").strip(_FRAMING)
            if line.maybe_cut:
                events += self._first(code, whole=not line.dropped)
            elif line.dropped or not code.isascii() or not (code.isprintable() or not code):
                self.unreadable += 1
                events.append(self._doubt("a line that is not a code"))
            elif code:
                events += self._handle(now_us, code)
        return events

    def _first(self, end: str, *, whole: bool) -> list[Event]:
        """Handle what stood before the first line end: the end of a code, or all of it."""
        if not end:
            return []
        known = self._codes
        harmless = {code for code, word in known.words.items() if word == "alive"}
        every = {*known.cards, *known.positions, *known.words}
        may_be = {code for code in every if code.endswith(end)}
        if whole and may_be and may_be <= harmless:
            return [Alive()]
        return [self._doubt("what may be the end of a code: the line was joined within it")]

    def _handle(self, now_us: int, code: str) -> list[Event]:
        known = self._codes
        if code in known.cards or code in known.words or code in known.positions:
            self.unreadable = 0
        if code in known.words and known.words[code] != "unread":
            return [_WORDS[known.words[code]]]
        if code in known.positions:
            self._to, self._last = known.positions[code], ""
            return [Alive()]
        if code not in known.cards and code not in known.words:
            self.unreadable += 1
            return [self._doubt("a code that is not in the shoe's code table")]
        again_us = now_us - self._last_us if code == self._last else None
        self._last, self._last_us = code, now_us
        if again_us is None or again_us >= 2 * self._repeats_us:
            self.cards += 1
            return [CardOut(known.cards.get(code), self._to)]
        if again_us <= self._repeats_us:
            self.repeats += 1
            return []
        return [self._doubt(f"the same code again after {again_us / 1000:.0f} ms: a repeat, or a card")]

    def _doubt(self, seen: str) -> Doubt:
        # It may have said whom the next cards go to.
        self._to = None
        self.doubts += 1
        return Doubt(seen)


_WORDS: Mapping[Word, Event] = {"lid_open": Lid(True), "lid_closed": Lid(False), "alive": Alive()}


class ShoeSpeaker:
    """The other end, for simulations and tests: a shoe that sends cards by the same code table."""

    def __init__(self, codes: Codes, *, times: int = 1) -> None:
        """Send each code `times` times."""
        self._by_card = {card: code for code, card in codes.cards.items()}
        self._by_position = {position: code for code, position in codes.positions.items()}
        self._by_word = {word: code for code, word in codes.words.items()}
        self._times = times

    def card(self, face: str, to: str | None = None) -> bytes:
        """Report that this card leaves the shoe, and for whom where the shoe knows it."""
        position = _line(self._by_position[to]) if to is not None else b""
        return position + _line(self._by_card[face]) * self._times

    def word(self, word: Word) -> bytes:
        """Send something else."""
        return _line(self._by_word[word])


def _line(code: str) -> bytes:
    return code.encode("ascii") + b"\r\n"
