"""The acts of a guided test: what each is and gives, and those of switches, buttons and the card shoe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from controller.model.readings import AnyReading, Card, Input, Switch, kind_of

Status = Literal["pass", "fail", "skipped"]
Figure = float | int | str | None
ACT_S = 60.0
"""How long a technician has for one act (s), where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFinding:
    """What an act told of one sensor: in words with the limit, and as figures (the unit is in the name)."""

    sensor: str
    status: Status
    says: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    next_step: str = ""
    """What to do about a sensor that failed."""


class Act(Protocol):
    """Receives the readings that follow its request, in order of arrival."""

    @property
    def sensor(self) -> str:
        """The sensor under test, as `--only` takes it: a kind of reading, or a switch."""

    @property
    def word(self) -> str:
        """The word that the lamp `test` shows."""

    @property
    def ask(self) -> str:
        """What the technician is asked to do."""

    def hear(self, reading: AnyReading) -> None:
        """Process a reading of any device."""

    def enough(self, quiet_s: float) -> bool:
        """Return whether the act is complete, after this long without a reading."""

    def findings(self) -> Sequence[SensorFinding]:
        """Return what was found, even if too little was heard."""


def judged(sensor: str, says: str, *faults: str, **figures: Figure) -> SensorFinding:
    """Return a finding that fails if there are faults; they follow what was seen."""
    status: Status = "fail" if faults else "pass"
    return SensorFinding(sensor=sensor, status=status, says="; ".join((says, *faults)), figures=figures)


def unseen(sensor: str, expected: str) -> SensorFinding:
    """Return the finding for a sensor that reported nothing."""
    return SensorFinding(sensor=sensor, status="fail", says=f"nothing seen, expected {expected}")


PRESSING_S = 2.5
"""No more buttons are expected this long after the last press."""
HELD: Mapping[str, str] = {
    "foreign_object": "lay a chip where the sensor looks for foreign objects, and take it away",
    "ball_out": "hold the ball where the sensor looks outside the wheel, and take it away",
    "die_off_table": "drop one die off the table, where the camera sees it",
    "die_contact": "lay one die on the felt and touch it with a chip",
}


@dataclass(slots=True)
class OpenClose:
    """A door, key, lid or tamper switch opened and closed."""

    dev: str
    name: str
    opened: bool = False
    closed: bool = False

    @property
    def sensor(self) -> str:
        """The switch's name."""
        return self.name

    @property
    def word(self) -> str:
        """The word that the lamp `test` shows."""
        return f"open_{self.name}"

    @property
    def ask(self) -> str:
        """What the technician is asked to do."""
        return f"open the {self.name}, then close it again"

    def hear(self, reading: AnyReading) -> None:
        """Note this switch."""
        if isinstance(reading, Switch) and reading.dev == self.dev and reading.name == self.name:
            self.opened = self.opened or reading.open
            self.closed = self.opened and not reading.open

    def enough(self, quiet_s: float) -> bool:
        """Both were seen."""
        del quiet_s
        return self.closed

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether it was seen to open and to close."""
        if not self.opened:
            return [unseen(self.name, "that it opens and closes")]
        says = "opened and closed" if self.closed else "opened"
        return [judged(self.name, says, *(() if self.closed else ("expected that it closes",)))]


@dataclass(slots=True)
class PressButtons:
    """Every button of a console pressed once."""

    dev: str
    sensor: str = "input"
    word: str = "press_buttons"
    ask: str = "press each button once"
    pressed: list[str] = field(default_factory=list)

    def hear(self, reading: AnyReading) -> None:
        """Note each press."""
        if isinstance(reading, Input) and reading.dev == self.dev:
            self.pressed.append(reading.name)

    def enough(self, quiet_s: float) -> bool:
        """No more buttons are pressed."""
        return bool(self.pressed) and quiet_s > PRESSING_S

    def findings(self) -> Sequence[SensorFinding]:
        """Return the buttons by name, for the technician to compare."""
        if not self.pressed:
            return [unseen("input", "a button's word")]
        each = dict.fromkeys(self.pressed)
        twice = [name for name in each if self.pressed.count(name) > 1]
        faults = [f"{', '.join(twice)} more than once: does it bounce?"] if twice else []
        says = f"{len(each)} buttons: {', '.join(each)}"
        return [judged("input", says, *faults, buttons=len(each))]


@dataclass(slots=True)
class DrawCard:
    """A card drawn from the shoe."""

    dev: str
    sensor: str = "card"
    word: str = "card_draw"
    ask: str = "draw one card from the shoe"
    card: Card | None = None

    def hear(self, reading: AnyReading) -> None:
        """Note a card."""
        if isinstance(reading, Card) and reading.dev == self.dev:
            self.card = reading

    def enough(self, quiet_s: float) -> bool:
        """One is enough."""
        del quiet_s
        return self.card is not None

    def findings(self) -> Sequence[SensorFinding]:
        """Return the card's code."""
        if self.card is None:
            return [unseen("card", "a card")]
        rank, suit = self.card.rank, self.card.suit
        unread = rank is None or (suit is None and isinstance(rank, str))
        says = f"card {rank or '?'}{suit or ''}"
        faults = ["it could not be read: clean the shoe's window"] if unread else []
        return [judged("card", says, *faults, card=f"{rank or '?'}{suit or ''}")]


@dataclass(slots=True)
class ShowIt:
    """A sensor is shown the one thing that it looks for."""

    dev: str
    sensor: str
    seen: int = 0

    @property
    def word(self) -> str:
        """The word that the lamp `test` shows."""
        return f"hold_{self.sensor}"

    @property
    def ask(self) -> str:
        """What the technician is asked to do."""
        return HELD[self.sensor]

    def hear(self, reading: AnyReading) -> None:
        """Count what was seen."""
        self.seen += reading.dev == self.dev and kind_of(reading) == self.sensor

    def enough(self, quiet_s: float) -> bool:
        """Once is enough."""
        del quiet_s
        return self.seen > 0

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether it was seen."""
        return [judged(self.sensor, "seen", seen=self.seen)] if self.seen else [unseen(self.sensor, "it")]
