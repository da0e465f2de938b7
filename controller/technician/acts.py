"""The acts of a guided test: of switches, buttons, the card shoe, and of a dice table's camera and walls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal, Protocol

from controller.model.geometry import DiceTable
from controller.model.readings import (
    AnyReading,
    Card,
    DieAt,
    DieLost,
    DieReleased,
    DieRest,
    Input,
    Switch,
    Wall,
    WallImpact,
    kind_of,
)
from controller.model.rulesets import SensorErrors

Status = Literal["pass", "fail", "skipped"]
Figure = float | int | str | None
ACT_S = 60.0
"""The default time for one act (s)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFinding:
    """An act's finding on one sensor: in words with the limit, and as figures (the unit is in the name)."""

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

    def receive(self, reading: AnyReading) -> None:
        """Process a reading of any device."""

    def enough(self, quiet_s: float) -> bool:
        """Return whether the act is complete, after this long without a reading."""

    def findings(self) -> Sequence[SensorFinding]:
        """Return what was found, even if too little was received."""


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

    def receive(self, reading: AnyReading) -> None:
        """Handle this switch."""
        if isinstance(reading, Switch) and reading.dev == self.dev and reading.name == self.name:
            self.opened = self.opened or reading.open
            self.closed = self.opened and not reading.open

    def enough(self, quiet_s: float) -> bool:
        """Return whether both were seen."""
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

    def receive(self, reading: AnyReading) -> None:
        """Handle each press."""
        if isinstance(reading, Input) and reading.dev == self.dev:
            self.pressed.append(reading.name)

    def enough(self, quiet_s: float) -> bool:
        """Return whether no more buttons are being pressed."""
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

    def receive(self, reading: AnyReading) -> None:
        """Handle a card."""
        if isinstance(reading, Card) and reading.dev == self.dev:
            self.card = reading

    def enough(self, quiet_s: float) -> bool:
        """Return whether one was seen."""
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

    def receive(self, reading: AnyReading) -> None:
        """Count what was seen."""
        self.seen += reading.dev == self.dev and kind_of(reading) == self.sensor

    def enough(self, quiet_s: float) -> bool:
        """Return whether it was seen once."""
        del quiet_s
        return self.seen > 0

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether it was seen."""
        return [judged(self.sensor, "seen", seen=self.seen)] if self.seen else [unseen(self.sensor, "it")]


NEAR_US = 30_000
"""The largest difference between the track's turn and the impact: two frames and the impact's delay."""
REACH_MM = 80.0
"""A die at 6 m/s is this far from the wall one frame before or after it strikes."""
POSITION_SIGMAS = 3.0
SLOWEST_RATE = 0.8
"""The least share of the settings' frame rate at which the camera must see a die."""
TILT_DEG = 10.0
SETTLED_S = 2.0


def distance_mm(wall: Wall, table: DiceTable, x_mm: float, y_mm: float) -> float:
    """Return how far a die's centre is from a wall."""
    return {"left": x_mm, "right": table.length_mm - x_mm, "front": y_mm, "back": table.width_mm - y_mm}[wall]


def along_mm(wall: Wall, x_mm: float, y_mm: float) -> float:
    """Return a place along a wall: y on the end walls, x on the others."""
    return y_mm if wall in ("left", "right") else x_mm


@dataclass(slots=True)
class ThrowAtWall:
    """One die thrown at a wall: the impact, and the place where the track turned."""

    dev: str
    wall: Wall
    table: DiceTable
    errors: SensorErrors
    tracked: bool
    """Whether a camera of this table reports tracks."""
    sensor: str = "wall_impact"
    impacts: list[WallImpact] = field(default_factory=list)
    track: list[DieAt] = field(default_factory=list)
    ended_us: int = 0
    """When a die was last seen at rest, or lost."""

    @property
    def word(self) -> str:
        """The word that the lamp `test` shows."""
        return f"throw_{self.wall}"

    @property
    def ask(self) -> str:
        """What the technician is asked to do."""
        return f"throw one die at the {self.wall} wall"

    def receive(self, reading: AnyReading) -> None:
        """Handle impacts at this sensor, and the track."""
        match reading:
            case WallImpact(dev=self.dev, wall=self.wall):
                self.impacts.append(reading)
            case DieAt():
                self.track.append(reading)
            case DieRest() | DieLost():
                self.ended_us = max(self.ended_us, reading.t)

    def enough(self, quiet_s: float) -> bool:
        """An impact, and the die at rest after it where it is tracked: a camera lags behind a wall.

        A knock without a throw does not count.
        """
        if not self.impacts:
            return False
        if self.tracked and self.ended_us > self.impacts[0].t:
            return True
        return quiet_s > SETTLED_S and (bool(self.track) or not self.tracked)

    def findings(self) -> Sequence[SensorFinding]:
        """Compare the loudest impact of a die, or the loudest of all, with the track."""
        if not self.impacts:
            return [unseen("wall_impact", f"an impact on the {self.wall} wall")]
        hit = max(self.impacts, key=lambda impact: (self._die_at(impact) is not None, impact.peak))
        heard = f"impact of peak {hit.peak:g} at {hit.pos_mm:.0f} mm"
        if not self.tracked:
            return [judged("wall_impact", heard, peak=hit.peak, pos_mm=hit.pos_mm)]
        closest = self._die_at(hit)
        if closest is None:
            fault = f"no die within {REACH_MM:g} mm of the wall then, expected its track to turn there"
            return [judged("wall_impact", heard, fault, peak=hit.peak, pos_mm=hit.pos_mm)]
        off = hit.pos_mm - along_mm(self.wall, closest.x, closest.y)
        limit = POSITION_SIGMAS * self.errors.impact_position_mm
        faults = () if abs(off) <= limit else ("the sensors of this wall disagree with the camera",)
        late_ms = (hit.t - closest.t) / 1000
        says = f"{heard}, {off:+.0f} mm from the track's turn (limit {limit:.0f})"
        figures = {
            "peak": hit.peak,
            "pos_mm": hit.pos_mm,
            "off_mm": off,
            "limit_mm": limit,
            "late_ms": late_ms,
        }
        return [judged("wall_impact", says, *faults, **figures)]

    def _die_at(self, hit: WallImpact) -> DieAt | None:
        """Return where a die was seen closest to this wall at the moment of an impact; None if none was."""
        near = [p for p in self.track if abs(p.t - hit.t) <= NEAR_US]
        closest = min(near, key=lambda p: distance_mm(self.wall, self.table, p.x, p.y), default=None)
        if closest is None or distance_mm(self.wall, self.table, closest.x, closest.y) > REACH_MM:
            return None
        return closest


@dataclass(slots=True)
class LayDie:
    """One die laid on the felt with 6 up."""

    dev: str
    min_confidence: float
    sensor: str = "die_rest"
    word: str = "put_6"
    ask: str = "lay one die flat on the felt, 6 up, and take your hand away"
    rest: DieRest | None = None

    def receive(self, reading: AnyReading) -> None:
        """Handle a die at rest."""
        if isinstance(reading, DieRest) and reading.dev == self.dev:
            self.rest = reading

    def enough(self, quiet_s: float) -> bool:
        """Return whether one was seen."""
        del quiet_s
        return self.rest is not None

    def findings(self) -> Sequence[SensorFinding]:
        """Check the face, the confidence and the tilt."""
        lies = self.rest
        if lies is None:
            return [unseen("die_rest", "a die at rest")]
        faults = []
        if lies.up != 6:
            faults.append(f"found {lies.up or 'no face'} up, expected 6")
        if lies.confidence < self.min_confidence:
            faults.append("too unsure: clean the lens, look at the light")
        if abs(lies.tilt_deg) > TILT_DEG:
            faults.append("tilted: is the camera level with the felt?")
        says = (
            f"{lies.up or 'no face'} up at {lies.x:.0f}, {lies.y:.0f} mm, confidence {lies.confidence:.2f}"
            f" (limit {self.min_confidence:g}), tilt {lies.tilt_deg:.1f} deg (limit {TILT_DEG:g})"
        )
        figures = {"up": lies.up, "x_mm": lies.x, "y_mm": lies.y, "confidence": lies.confidence}
        return [judged("die_rest", says, *faults, **figures, tilt_deg=lies.tilt_deg)]


@dataclass(slots=True)
class RollBoth:
    """Both dice thrown: both are seen, released and tracked at the camera's rate."""

    dev: str
    frame_ms: float
    releases: bool
    """Whether this camera reports when a die leaves the hand."""
    sensor: str = "die_at"
    word: str = "roll_both"
    ask: str = "throw both dice, as a shooter does"
    times_us: dict[int, list[int]] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)

    def receive(self, reading: AnyReading) -> None:
        """Handle what this camera reports of dice."""
        if reading.dev != self.dev:
            return
        match reading:
            case DieAt():
                self.times_us.setdefault(reading.die, []).append(reading.t)
            case DieReleased():
                self.released.add(reading.die)
            case DieRest() | DieLost():
                self.ended.add(reading.die)
            case _:
                pass

    def enough(self, quiet_s: float) -> bool:
        """Return whether both are at rest, or nothing more comes."""
        return len(self.ended) > 1 or (bool(self.times_us) and quiet_s > SETTLED_S)

    def findings(self) -> Sequence[SensorFinding]:
        """Count the dice, and measure the rate."""
        if not self.times_us:
            return [unseen("die_at", "the tracks of two dice")]
        gaps = [after - before for times in self.times_us.values() for before, after in pairwise(times)]
        rate = 1e6 / median(gaps) if gaps and median(gaps) > 0 else 0.0
        least = SLOWEST_RATE * 1000 / self.frame_ms
        seen = len(self.times_us)
        faults = [] if seen > 1 else ["only one die was tracked, expected both"]
        if rate < least:
            faults.append("too slow: is the exposure too long, the camera's USB too busy?")
        says = f"{seen} dice at {rate:.0f} frames/s (limit {least:.0f})"
        found = [judged("die_at", says, *faults, dice=seen, frames_per_s=round(rate, 1))]
        if self.releases:
            missing = [
                f"die {die} was not seen to leave the hand" for die in (1, 2) if die not in self.released
            ]
            says = f"{len(self.released)} releases seen (expected 2)"
            found.append(judged("die_released", says, *missing, releases=len(self.released)))
        return found
