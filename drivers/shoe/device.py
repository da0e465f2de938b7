"""A card shoe on a serial port that sends one code per line.

docs/devices/shoe.md describes how reliable such a shoe is and the format of its code table.

A shoe's lines have no checksum, sequence number or handshake. If the cable is plugged in while the shoe is
sending `12`, the table might receive `2`. After the port has been opened or bytes have been lost, text before
the first line end is therefore never treated as a card. The text is reported as doubtful, unless it can only
belong to an `alive` code.

Many shoes send each code several times. A code received again within `repeats_us` is a repeat, and a code
received again after at least twice that time is another card. A code received in between is reported as
doubtful.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from controller.model.readings import AnyReading, Card, Switch
from controller.model.tables import ReportedDevice
from drivers.device import DeviceType, RandomBytes, StreamAddress
from drivers.framing import LineSplitter
from drivers.health import LINK, Change, Health, PortReopening, build_readings

MAX_CODE = 32
"""Maximum length of a code in bytes."""
_FRAMING = "\x02\x03 \t\r"
"""Characters around a code: start and end of text, spaces, tabs, carriage returns."""

Meaning = Literal["unread", "lid_open", "lid_closed", "alive"]
"""The meaning of a code other than a card or a position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codes:
    """A shoe's code table."""

    cards: Mapping[str, str]
    """The face for each code: `Qh`, or `12` in a numbered deck."""
    positions: Mapping[str, str]
    """The recipient of the following cards, by code."""
    words: Mapping[str, Meaning]
    """All other meanings, by code."""


@dataclass(frozen=True, slots=True)
class CardOut:
    """A card that left the shoe."""

    face: str | None
    """None if the shoe could not read the card."""
    to: str | None
    """The recipient; None if the shoe did not name a recipient."""


@dataclass(frozen=True, slots=True)
class Lid:
    """The opening or closing of the shoe's lid."""

    is_open: bool


@dataclass(frozen=True, slots=True)
class Doubt:
    """Text that might have been a card."""

    seen: str
    """A description of the text that does not reveal a card."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A code that is not a card and shows that the shoe is connected."""


Event = CardOut | Lid | Doubt | Heartbeat


class ShoeProtocol:
    """Decodes the lines of a shoe."""

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
        """Number of consecutive lines without a known code."""

    def connect(self) -> None:
        """Reset the decoder after the port has been opened or bytes have been lost."""
        self._lines.join()
        self._last = ""
        self._to = None

    def feed(self, now_us: int, data: bytes) -> list[Event]:
        """Decode bytes that arrived at `now_us` and return their events; an empty line has none."""
        events: list[Event] = []
        for line in self._lines.feed(data):
            code = line.text.decode("ascii", "replace").strip(_FRAMING)
            if line.maybe_cut:
                events += self._handle_first_text(code, whole=not line.dropped)
            elif line.dropped or not code.isascii() or not (code.isprintable() or not code):
                self.unreadable += 1
                events.append(self._record_doubt("a line that is not a code"))
            elif code:
                events += self._handle(now_us, code)
        return events

    def _handle_first_text(self, end: str, *, whole: bool) -> list[Event]:
        """Handle the text before the first line end, which is a code or the end of a code."""
        if not end:
            return []
        table = self._codes
        harmless = {code for code, word in table.words.items() if word == "alive"}
        all_codes = {*table.cards, *table.positions, *table.words}
        candidates = {code for code in all_codes if code.endswith(end)}
        if whole and candidates and candidates <= harmless:
            return [Heartbeat()]
        return [
            self._record_doubt(
                "text that might be the end of a code, because reception might have begun mid-line"
            )
        ]

    def _handle(self, now_us: int, code: str) -> list[Event]:
        table = self._codes
        if code in table.cards or code in table.words or code in table.positions:
            self.unreadable = 0
        if code in table.words and table.words[code] != "unread":
            return [_EVENTS[table.words[code]]]
        if code in table.positions:
            self._to, self._last = table.positions[code], ""
            return [Heartbeat()]
        if code not in table.cards and code not in table.words:
            self.unreadable += 1
            return [self._record_doubt("a code that is not in the shoe's code table")]
        interval_us = now_us - self._last_us if code == self._last else None
        self._last, self._last_us = code, now_us
        if interval_us is None or interval_us >= 2 * self._repeats_us:
            self.cards += 1
            return [CardOut(table.cards.get(code), self._to)]
        if interval_us <= self._repeats_us:
            self.repeats += 1
            return []
        return [
            self._record_doubt(f"the same code after {interval_us / 1000:.0f} ms: a repeat or another card")
        ]

    def _record_doubt(self, seen: str) -> Doubt:
        # The doubtful code might have named the recipient of the next cards.
        self._to = None
        self.doubts += 1
        return Doubt(seen)


_EVENTS: Mapping[Meaning, Event] = {"lid_open": Lid(True), "lid_closed": Lid(False), "alive": Heartbeat()}


class ShoeEncoder:
    """Encodes cards as a shoe does, for simulations and tests."""

    def __init__(self, codes: Codes, *, times: int = 1) -> None:
        self._by_card = {card: code for code, card in codes.cards.items()}
        self._by_position = {position: code for code, position in codes.positions.items()}
        self._by_word = {word: code for code, word in codes.words.items()}
        self._times = times

    def card(self, face: str, to: str | None = None) -> bytes:
        """Return the bytes for a card, preceded by the bytes for its recipient if `to` is given."""
        position = _line(self._by_position[to]) if to is not None else b""
        return position + _line(self._by_card[face]) * self._times

    def word(self, word: Meaning) -> bytes:
        """Return the bytes for a word."""
        return _line(self._by_word[word])


def _line(code: str) -> bytes:
    return code.encode("ascii") + b"\r\n"


RANKS = "23456789TJQKA"
SUITS = "cdhs"
PLAIN_CODES: Mapping[str, str] = {rank + suit.upper(): rank + suit for rank in RANKS for suit in SUITS} | {
    "10" + suit.upper(): "T" + suit for suit in SUITS
}
"""The code table of a shoe that sends cards in plain text: `QH`, `TH` or `10H`."""
FACES: Mapping[str, tuple[str, str | None]] = {
    rank + suit: (rank, suit) for rank in RANKS for suit in SUITS
} | {str(number): (str(number), None) for number in range(2, 13)}
"""The rank and suit of every face. The numbered cards of High Roller have no suit."""
LID_SWITCH = "shoe_lid"
MAX_UNREADABLE = 5
"""Number of consecutive unreadable lines that indicates an incorrect speed or a bad cable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeSettings:
    """A shoe that sends one code per line."""

    port: str
    """A serial port, preferably by its name under /dev/serial/by-path."""
    baud: int = 9600
    cards: Mapping[str, str] = field(default_factory=lambda: PLAIN_CODES)
    """The face for each code: `H12: Qh`, or `12: "12"` in a numbered deck."""
    unread: tuple[str, ...] = ()
    """Codes for a card that the shoe could not read."""
    positions: Mapping[str, str] = field(default_factory=dict)
    """Codes that name the position of the following cards, such as `P3: "3"`."""
    lid_open: tuple[str, ...] = ()
    lid_closed: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    """Codes that only show that the shoe is connected."""
    repeats_ms: int = 150
    """Time within which the shoe can repeat a code. Two cards with the same code must be at least twice this
    time apart."""
    silent_s: float | None = None
    """Time without a known code after which a fault is reported. Set it only if the shoe regularly sends a
    code listed under `alive`."""

    def __post_init__(self) -> None:
        """Raise ValueError for invalid settings."""
        words = (*self.unread, *self.lid_open, *self.lid_closed, *self.alive)
        counts = Counter((*self.cards, *self.positions, *words))
        duplicates = sorted(code for code, times in counts.items() if times > 1)
        if duplicates:
            raise ValueError(
                f"found code {duplicates[0]!r} more than once, expected one meaning for each code"
            )
        for code in counts:
            if not code or code != code.strip() or not (code.isascii() and code.isprintable()):
                raise ValueError(
                    f"found code {code!r}, expected printable ASCII without spaces before or after it"
                )
        for code, face in self.cards.items():
            if face not in FACES:
                expected = "a card such as Qh or Tc, or 2 to 12 in a numbered deck"
                raise ValueError(f"cards: found {face!r} for code {code!r}, expected {expected}")
        if not 1 <= self.repeats_ms <= 2000:
            raise ValueError(f"repeats_ms: found {self.repeats_ms}, expected 1 to 2000")
        if self.silent_s is not None and not 0 < self.silent_s <= 600:
            raise ValueError(f"silent_s: found {self.silent_s}, expected more than 0 and at most 600")
        if self.silent_s is not None and not self.alive:
            raise ValueError(
                "silent_s: no code is listed under `alive`; list the code that the shoe sends while idle"
            )

    @property
    def codes(self) -> Codes:
        """The code table."""
        meanings: tuple[tuple[Meaning, tuple[str, ...]], ...] = (
            ("unread", self.unread),
            ("lid_open", self.lid_open),
            ("lid_closed", self.lid_closed),
            ("alive", self.alive),
        )
        words = {code: word for word, codes in meanings for code in codes}
        return Codes(cards=self.cards, positions=self.positions, words=words)


class Shoe:
    """The device for a shoe."""

    def __init__(self, name: str, settings: ShoeSettings, _random_bytes: RandomBytes) -> None:
        self.name = name
        self._settings = settings
        self._protocol = ShoeProtocol(settings.codes, settings.repeats_ms * 1000)
        self._health = Health()
        self._open = False
        self._received_us = 0
        self._last_card_us = -1
        self._lid: bool | None = None
        self._reopening = PortReopening()

    def start(self, now_us: int) -> list[AnyReading]:
        """Start the device, which is down until its port is open."""
        return self._readings(
            now_us, self._health.record(now_us, "starting", "nothing received yet", down=True)
        )

    def on_open(self, now_us: int) -> list[AnyReading]:
        """Handle the opening of the port. If `silent_s` is not set, the shoe is up immediately."""
        self._protocol.connect()
        self._open = True
        self._received_us = now_us
        if self._settings.silent_s is None:
            return self._readings(
                now_us, self._health.clear(now_us, "starting", LINK, seen="its port is open")
            )
        changes = self._health.record(now_us, "starting", "waiting for its first code", down=True)
        return self._readings(now_us, changes + self._health.clear(now_us, LINK, seen="its port is open"))

    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle the loss of the port."""
        self._open = False
        return self._readings(now_us, self._health.record_closed(now_us, code, seen))

    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle bytes lost because the table was busy. Cards might be missing."""
        self._protocol.connect()
        seen = f"{lost} bytes discarded: the table was busy"
        return self._readings(now_us, self._health.record_loss(now_us, now_us, "sentences_lost", seen))

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        if not self._open:
            return []
        readings: list[AnyReading] = []
        for event in self._protocol.feed(now_us, data):
            readings += self._handle(now_us, event)
        return readings

    def tick(self, now_us: int) -> list[AnyReading]:
        """Run the work that is due."""
        changes = self._health.tick(now_us)
        silent_at_us = self._silent_at_us()
        if silent_at_us is not None and now_us >= silent_at_us:
            seconds = (now_us - self._received_us) / 1e6
            changes += self._health.record(
                now_us, "silent", f"no known code received for {seconds:.1f} s", down=True
            )
        if self._open and "silent" in self._health:
            self._reopening.request(now_us)
        return self._readings(now_us, changes)

    def next_deadline(self) -> int | None:
        """Return when `tick` is due next, in table microseconds."""
        reopen_us = self._reopening.due_us if self._open and "silent" in self._health else None
        due = (self._health.next_deadline(), self._silent_at_us(), reopen_us)
        return min((at for at in due if at is not None), default=None)

    def take_output(self) -> bytes:
        """Return no bytes, because nothing is sent to a shoe."""
        return b""

    def take_reopen(self) -> bool:
        """Return whether the port should be reopened, and clear the request."""
        return self._reopening.take()

    def status(self) -> Mapping[str, object]:
        """Return the counters, the lid's state and the active faults."""
        return {
            "cards": self._protocol.cards,
            "repeats": self._protocol.repeats,
            "doubts": self._protocol.doubts,
            "lid_open": self._lid,
            "connected": self._open,
            "troubles": list(self._health.codes),
        }

    def _silent_at_us(self) -> int | None:
        if not self._open or self._settings.silent_s is None or "silent" in self._health:
            return None
        return self._received_us + round(self._settings.silent_s * 1e6)

    def _handle(self, now_us: int, event: Event) -> list[AnyReading]:
        if isinstance(event, Doubt) and (consecutive := self._protocol.unreadable) >= MAX_UNREADABLE:
            self._reopening.request(now_us)
            seen = f"{consecutive} consecutive lines that are not codes"
            return self._readings(now_us, self._health.record_loss(now_us, now_us, "noisy_line", seen))
        if isinstance(event, Doubt):
            return self._readings(
                now_us, self._health.record_loss(now_us, now_us, "bad_reading", f"received {event.seen}")
            )
        self._received_us = now_us
        up = self._readings(
            now_us, self._health.clear(now_us, "starting", "silent", LINK, seen="a known code was received")
        )
        match event:
            case CardOut():
                return [*up, self._card(now_us, event)]
            case Lid(is_open) if is_open is not self._lid:
                self._lid = is_open
                return [*up, Switch(t=now_us, dev=self.name, name=LID_SWITCH, open=is_open, arrived=now_us)]
            case Lid() | Heartbeat():
                return up

    def _card(self, now_us: int, card: CardOut) -> Card:
        """Return the card's reading. Cards that arrive together are timestamped 1 us apart, in order."""
        self._last_card_us = t_us = max(now_us, self._last_card_us + 1)
        rank, suit = FACES[card.face] if card.face else (None, None)
        return Card(t=t_us, dev=self.name, rank=rank, suit=suit, to=card.to, arrived=t_us)  # type: ignore[arg-type]  # checked with the code table

    def _readings(self, now_us: int, changes: list[Change]) -> list[AnyReading]:
        return build_readings(changes, [self.name], now_us)


def _address(settings: ShoeSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _reported_devices(name: str, settings: ShoeSettings) -> Iterator[ReportedDevice]:
    if settings.lid_open:
        yield ReportedDevice((), name, ("card", "switch"), switches=(LID_SWITCH,))
    else:
        yield ReportedDevice((), name, ("card",))


TYPE = DeviceType(
    name="shoe",
    title="a card shoe that sends one code per line",
    settings=ShoeSettings,
    make=Shoe,
    address=_address,
    reported_devices=_reported_devices,
)
"""The device type for the registry."""
