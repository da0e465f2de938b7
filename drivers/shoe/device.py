"""A card shoe on a serial line that sends one code per line: its cards and its lid become readings.

How far it can be trusted, and how its code table is written, is on its page in docs/devices.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from controller.model.readings import AnyReading, Card, Switch
from controller.model.tables import Speaks
from drivers.device import Chance, DeviceType, StreamAddress
from drivers.health import LINK, Change, Health, PortReopening, readings_of
from drivers.shoe.protocol import Alive, CardOut, Codes, Doubt, Event, Lid, ShoeProtocol, Word

RANKS = "23456789TJQKA"
SUITS = "cdhs"
PLAIN_CODES: Mapping[str, str] = {rank + suit.upper(): rank + suit for rank in RANKS for suit in SUITS} | {
    "10" + suit.upper(): "T" + suit for suit in SUITS
}
"""The code table of a shoe that simply writes its cards: `QH`, `TH` or `10H`."""
FACES: Mapping[str, tuple[str, str | None]] = {
    rank + suit: (rank, suit) for rank in RANKS for suit in SUITS
} | {str(number): (str(number), None) for number in range(2, 13)}
"""Rank and suit of every face there is; numbered High Roller cards have no suit."""
LID_SWITCH = "shoe_lid"
MAX_UNREADABLE = 5
"""This many lines in a row that are not codes mean a wrong speed or a bad cable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShoeSettings:
    """A shoe that sends one code a line."""

    port: str
    """A serial port, best by its name under /dev/serial/by-path."""
    baud: int = 9600
    cards: Mapping[str, str] = field(default_factory=lambda: PLAIN_CODES)
    """The face behind each code: `H12: Qh`, or `12: "12"` of a numbered deck."""
    unread: tuple[str, ...] = ()
    """Codes of a card that the shoe could not read."""
    positions: Mapping[str, str] = field(default_factory=dict)
    """Codes that name the position of the following cards, such as `P3: "3"`."""
    lid_open: tuple[str, ...] = ()
    lid_closed: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    """Codes that only show that the shoe is connected."""
    repeats_ms: int = 150
    """How long after a code the shoe may still repeat it; two cards must be at least twice as far apart."""
    silent_s: float | None = None
    """Silence of this length is a fault; only for a shoe that sends `alive` by itself."""

    def __post_init__(self) -> None:
        """Refuse what can't work, and say what was expected."""
        words = (*self.unread, *self.lid_open, *self.lid_closed, *self.alive)
        every = Counter((*self.cards, *self.positions, *words))
        twice = sorted(code for code, times in every.items() if times > 1)
        if twice:
            raise ValueError(f"found code {twice[0]!r} twice, expected one meaning for each code")
        for code in every:
            if not code or code != code.strip() or not (code.isascii() and code.isprintable()):
                raise ValueError(f"found code {code!r}, expected printable ASCII without blanks round it")
        for code, face in self.cards.items():
            if face not in FACES:
                expected = "a card such as Qh or Tc, or 2 to 12 of a numbered deck"
                raise ValueError(f"cards: found {face!r} for code {code!r}, expected {expected}")
        if not 1 <= self.repeats_ms <= 2000:
            raise ValueError(f"repeats_ms: found {self.repeats_ms}, expected 1 to 2000")
        if self.silent_s is not None and not 0 < self.silent_s <= 600:
            raise ValueError(f"silent_s: found {self.silent_s}, expected more than 0 and at most 600")
        if self.silent_s is not None and not self.alive:
            raise ValueError("silent_s: expected codes under `alive`, by which a quiet shoe says it is there")

    @property
    def codes(self) -> Codes:
        """Return the code table."""
        meanings: tuple[tuple[Word, tuple[str, ...]], ...] = (
            ("unread", self.unread),
            ("lid_open", self.lid_open),
            ("lid_closed", self.lid_closed),
            ("alive", self.alive),
        )
        words = {code: word for word, codes in meanings for code in codes}
        return Codes(cards=self.cards, positions=self.positions, words=words)


class Shoe:
    """One shoe's line as a device."""

    def __init__(self, name: str, settings: ShoeSettings, _chance: Chance) -> None:
        """Make the device of this name."""
        self.name = name
        self._settings = settings
        self._protocol = ShoeProtocol(settings.codes, settings.repeats_ms * 1000)
        self._health = Health()
        self._open = False
        self._heard_us = 0
        self._last_card_us = -1
        self._lid: bool | None = None
        self._reopening = PortReopening()

    def start(self, now_us: int) -> list[AnyReading]:
        """Begin: down until its port is open."""
        return self._readings(now_us, self._health.trouble(now_us, "starting", "not heard yet", down=True))

    def opened(self, now_us: int) -> list[AnyReading]:
        """Handle that the port is open. A shoe that sends nothing by itself is up at once."""
        self._protocol.connect()
        self._open = True
        self._heard_us = now_us
        if self._settings.silent_s is None:
            return self._readings(
                now_us, self._health.over(now_us, "starting", LINK, seen="its port is open")
            )
        changes = self._health.trouble(now_us, "starting", "waiting for its first code", down=True)
        return self._readings(now_us, changes + self._health.over(now_us, LINK, seen="its port is open"))

    def closed(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """Handle that the port is gone."""
        self._open = False
        return self._readings(now_us, self._health.closed(now_us, code, seen))

    def overflowed(self, now_us: int, lost: int) -> list[AnyReading]:
        """Handle that bytes were discarded on their way here: cards may be among them."""
        self._protocol.connect()
        seen = f"{lost} bytes discarded: the table was busy"
        return self._readings(now_us, self._health.lost(now_us, now_us, "sentences_lost", seen))

    def receive(self, now_us: int, data: bytes) -> list[AnyReading]:
        """Handle bytes that arrived at `now_us`."""
        if not self._open:
            return []
        readings: list[AnyReading] = []
        for event in self._protocol.feed(now_us, data):
            readings += self._handle(now_us, event)
        return readings

    def tick(self, now_us: int) -> list[AnyReading]:
        """Handle what is due by now."""
        changes = self._health.tick(now_us)
        silent_at_us = self._silent_at_us()
        if silent_at_us is not None and now_us >= silent_at_us:
            seconds = (now_us - self._heard_us) / 1e6
            changes += self._health.trouble(now_us, "silent", f"nothing heard for {seconds:.1f} s", down=True)
        if self._open and "silent" in self._health:
            self._reopening.ask(now_us)
        return self._readings(now_us, changes)

    def next_deadline(self) -> int | None:
        """Return when `tick` has something to do."""
        reopen_us = self._reopening.due_us if self._open and "silent" in self._health else None
        due = (self._health.next_deadline(), self._silent_at_us(), reopen_us)
        return min((at for at in due if at is not None), default=None)

    def take_output(self) -> bytes:
        """Return nothing: nothing is sent to such a shoe."""
        return b""

    def take_reopen(self) -> bool:
        """Return, once, whether the port should be reopened."""
        return self._reopening.take()

    def status(self) -> Mapping[str, object]:
        """Return figures and what is wrong."""
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
        return self._heard_us + round(self._settings.silent_s * 1e6)

    def _handle(self, now_us: int, event: Event) -> list[AnyReading]:
        if isinstance(event, Doubt) and (in_a_row := self._protocol.unreadable) >= MAX_UNREADABLE:
            self._reopening.ask(now_us)
            seen = f"{in_a_row} lines in a row that are no code"
            return self._readings(now_us, self._health.lost(now_us, now_us, "noisy_line", seen))
        if isinstance(event, Doubt):
            return self._readings(
                now_us, self._health.lost(now_us, now_us, "bad_reading", f"heard {event.seen}")
            )
        self._heard_us = now_us
        up = self._readings(now_us, self._health.over(now_us, "starting", "silent", LINK, seen="it speaks"))
        match event:
            case CardOut():
                return [*up, self._card(now_us, event)]
            case Lid(is_open) if is_open is not self._lid:
                self._lid = is_open
                return [*up, Switch(t=now_us, dev=self.name, name=LID_SWITCH, open=is_open, arrived=now_us)]
            case Lid() | Alive():
                return up

    def _card(self, now_us: int, out: CardOut) -> Card:
        """Return the card's reading; cards that arrive together keep their order by a microsecond each."""
        self._last_card_us = t_us = max(now_us, self._last_card_us + 1)
        rank, suit = FACES[out.face] if out.face else (None, None)
        return Card(t=t_us, dev=self.name, rank=rank, suit=suit, to=out.to, arrived=t_us)  # type: ignore[arg-type]  # checked with the code table

    def _readings(self, now_us: int, changes: list[Change]) -> list[AnyReading]:
        return readings_of(changes, [self.name], now_us)


def _address(settings: ShoeSettings) -> StreamAddress:
    return StreamAddress(settings.port, settings.baud)


def _speaks(name: str, settings: ShoeSettings) -> Iterator[Speaks]:
    if settings.lid_open:
        yield Speaks((), name, ("card", "switch"), switches=(LID_SWITCH,))
    else:
        yield Speaks((), name, ("card",))


TYPE = DeviceType(
    name="shoe",
    title="a card shoe that sends one code a line",
    settings=ShoeSettings,
    make=Shoe,
    address=_address,
    speaks=_speaks,
)
"""What the registry knows of this type."""
