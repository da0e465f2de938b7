"""The steps of a guided test of switches, buttons, the card shoe, and a dice table's camera and walls."""

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
STEP_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorFinding:
    """A step's finding on one sensor: a message that states any limit, and values named with their units."""

    sensor: str
    status: Status
    says: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    next_step: str = ""
    """Remedy for a failed sensor."""


class Step(Protocol):
    """One action by the technician, and the assessment of the resulting readings."""

    @property
    def sensor(self) -> str:
        """Sensor under test, in the form that `--only` takes: a kind of reading, or the name of a switch."""

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""

    @property
    def request(self) -> str:
        """Instruction for the technician."""

    def receive(self, reading: AnyReading) -> None:
        """Handle a reading from any device."""

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the step is complete; `quiet_s` is the time since the device's last reading."""

    def findings(self) -> Sequence[SensorFinding]:
        """Return the findings, even before the step is complete."""


def finding(sensor: str, message: str, *faults: str, **figures: Figure) -> SensorFinding:
    """Return a finding. It is a failure if there are faults, which are appended to `message`."""
    status: Status = "fail" if faults else "pass"
    return SensorFinding(sensor=sensor, status=status, says="; ".join((message, *faults)), figures=figures)


def not_seen(sensor: str, expected: str) -> SensorFinding:
    """Return the finding for a sensor that failed because it sent no readings."""
    return SensorFinding(sensor=sensor, status="fail", says=f"no reading, expected {expected}")


LAST_PRESS_S = 2.5
"""Time without a press after which the button step is complete."""
SHOW_REQUESTS: Mapping[str, str] = {
    "foreign_object": "put a chip where the sensor looks for foreign objects, then remove it",
    "ball_out": "hold the ball outside the wheel, where the sensor looks, then remove it",
    "die_off_table": "drop one die off the table, where the camera sees it",
    "die_contact": "lay one die on the felt and touch it with a chip",
}


@dataclass(slots=True)
class OpenClose:
    """The step in which the technician opens and closes a door, key, lid or tamper switch."""

    dev: str
    name: str
    opened: bool = False
    closed: bool = False

    @property
    def sensor(self) -> str:
        """Name of the switch."""
        return self.name

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""
        return f"open_{self.name}"

    @property
    def request(self) -> str:
        """Instruction for the technician."""
        return f"open the {self.name}, then close it again"

    def receive(self, reading: AnyReading) -> None:
        """Record this switch's states."""
        if isinstance(reading, Switch) and reading.dev == self.dev and reading.name == self.name:
            self.opened = self.opened or reading.open
            self.closed = self.opened and not reading.open

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the switch was opened and then closed."""
        del quiet_s
        return self.closed

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether the switch was opened and closed."""
        if not self.opened:
            return [not_seen(self.name, f"the {self.name} to open and close")]
        if not self.closed:
            return [finding(self.name, "opened", f"expected the {self.name} to close again")]
        return [finding(self.name, "opened and closed")]


@dataclass(slots=True)
class PressButtons:
    """The step in which the technician presses each button of a console once."""

    dev: str
    sensor: str = "input"
    lamp_text: str = "press_buttons"
    request: str = "press each button once"
    pressed: list[str] = field(default_factory=list)

    def receive(self, reading: AnyReading) -> None:
        """Record each press."""
        if isinstance(reading, Input) and reading.dev == self.dev:
            self.pressed.append(reading.name)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether buttons were pressed, and none in the last `LAST_PRESS_S`."""
        return bool(self.pressed) and quiet_s > LAST_PRESS_S

    def findings(self) -> Sequence[SensorFinding]:
        """Return the buttons' names, for comparison with the console."""
        if not self.pressed:
            return [not_seen("input", "a button press")]
        each = dict.fromkeys(self.pressed)
        repeated = [name for name in each if self.pressed.count(name) > 1]
        faults = [f"{', '.join(repeated)} reported more than once; check for bounce"] if repeated else []
        message = f"buttons pressed ({len(each)}): {', '.join(each)}"
        return [finding("input", message, *faults, buttons=len(each))]


@dataclass(slots=True)
class DrawCard:
    """The step in which the technician draws a card from the shoe."""

    dev: str
    sensor: str = "card"
    lamp_text: str = "card_draw"
    request: str = "draw one card from the shoe"
    card: Card | None = None

    def receive(self, reading: AnyReading) -> None:
        """Record a card of this shoe."""
        if isinstance(reading, Card) and reading.dev == self.dev:
            self.card = reading

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether a card was reported."""
        del quiet_s
        return self.card is not None

    def findings(self) -> Sequence[SensorFinding]:
        """Return the card that was read."""
        if self.card is None:
            return [not_seen("card", "a card")]
        rank, suit = self.card.rank, self.card.suit
        unread = rank is None or (suit is None and isinstance(rank, str))
        message = f"card {rank or '?'}{suit or ''}"
        faults = ["the card could not be read; clean the shoe's window"] if unread else []
        return [finding("card", message, *faults, card=f"{rank or '?'}{suit or ''}")]


@dataclass(slots=True)
class ShowObject:
    """The step in which the technician shows an object to the sensor."""

    dev: str
    sensor: str
    seen: int = 0

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""
        return f"hold_{self.sensor}"

    @property
    def request(self) -> str:
        """Instruction for the technician."""
        return SHOW_REQUESTS[self.sensor]

    def receive(self, reading: AnyReading) -> None:
        """Count this sensor's readings."""
        self.seen += reading.dev == self.dev and kind_of(reading) == self.sensor

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the sensor reported the object."""
        del quiet_s
        return self.seen > 0

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether the sensor reported the object."""
        return (
            [finding(self.sensor, "seen", seen=self.seen)]
            if self.seen
            else [not_seen(self.sensor, f"a reading of kind {self.sensor}")]
        )


SAME_TIME_US = 30_000
"""Maximum time between a turn in a die's track and the matching impact: two frames, plus the impact sensor's
delay."""
AT_WALL_MM = 80.0
"""Distance from a wall below which a die might be striking the wall: one frame of flight at 6 m/s."""
POSITION_SIGMAS = 3.0
MIN_RATE_FRACTION = 0.8
"""Minimum rate at which the camera must track dice, as a fraction of the configured frame rate."""
MAX_TILT_DEG = 10.0
SETTLED_S = 2.0


def distance_to_wall_mm(wall: Wall, table: DiceTable, x_mm: float, y_mm: float) -> float:
    """Return the distance from a die's centre to a wall (mm)."""
    return {"left": x_mm, "right": table.length_mm - x_mm, "front": y_mm, "back": table.width_mm - y_mm}[wall]


def position_along_mm(wall: Wall, x_mm: float, y_mm: float) -> float:
    """Return a position along a wall (mm): y on the end walls, x on the others."""
    return y_mm if wall in ("left", "right") else x_mm


@dataclass(slots=True)
class ThrowAtWall:
    """The step in which the technician throws one die at a wall.

    The position of the impact is compared with that of the turn in the die's track.
    """

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
    """Time of the last report of a die at rest or of a lost die."""

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""
        return f"throw_{self.wall}"

    @property
    def request(self) -> str:
        """Instruction for the technician."""
        return f"throw one die at the {self.wall} wall"

    def receive(self, reading: AnyReading) -> None:
        """Record the impacts on this wall and the tracks of all dice."""
        match reading:
            case WallImpact(dev=self.dev, wall=self.wall):
                self.impacts.append(reading)
            case DieAt():
                self.track.append(reading)
            case DieRest() | DieLost():
                self.ended_us = max(self.ended_us, reading.t)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether there was an impact, and the die's track has since ended or readings have stopped.

        Camera readings arrive later than impacts, so the step waits for them. With a camera, a knock on the
        wall without a tracked die does not complete the step.
        """
        if not self.impacts:
            return False
        if self.tracked and self.ended_us > self.impacts[0].t:
            return True
        return quiet_s > SETTLED_S and (bool(self.track) or not self.tracked)

    def findings(self) -> Sequence[SensorFinding]:
        """Return the distance from the loudest impact with a die nearby to the turn in that die's track."""
        if not self.impacts:
            return [not_seen("wall_impact", f"an impact on the {self.wall} wall")]
        hit = max(self.impacts, key=lambda impact: (self._closest_die(impact) is not None, impact.peak))
        impact_text = f"impact of peak {hit.peak:g} at {hit.pos_mm:.0f} mm"
        if not self.tracked:
            return [finding("wall_impact", impact_text, peak=hit.peak, pos_mm=hit.pos_mm)]
        closest = self._closest_die(hit)
        if closest is None:
            fault = (
                f"found no die within {AT_WALL_MM:g} mm of the wall at the time of the impact, expected a"
                " die whose track turns there"
            )
            return [finding("wall_impact", impact_text, fault, peak=hit.peak, pos_mm=hit.pos_mm)]
        off = hit.pos_mm - position_along_mm(self.wall, closest.x, closest.y)
        limit = POSITION_SIGMAS * self.errors.impact_position_mm
        faults = () if abs(off) <= limit else ("the sensors of this wall disagree with the camera",)
        late_ms = (hit.t - closest.t) / 1000
        message = f"{impact_text}, {off:+.0f} mm from where the die's track turned (limit {limit:.0f})"
        figures = {
            "peak": hit.peak,
            "pos_mm": hit.pos_mm,
            "off_mm": off,
            "limit_mm": limit,
            "late_ms": late_ms,
        }
        return [finding("wall_impact", message, *faults, **figures)]

    def _closest_die(self, hit: WallImpact) -> DieAt | None:
        """Return the track point closest to this wall at the time of an impact; None if no die was near."""
        near = [p for p in self.track if abs(p.t - hit.t) <= SAME_TIME_US]
        closest = min(near, key=lambda p: distance_to_wall_mm(self.wall, self.table, p.x, p.y), default=None)
        if closest is None or distance_to_wall_mm(self.wall, self.table, closest.x, closest.y) > AT_WALL_MM:
            return None
        return closest


@dataclass(slots=True)
class LayDie:
    """The step in which the technician lays one die on the felt with 6 up."""

    dev: str
    min_confidence: float
    sensor: str = "die_rest"
    lamp_text: str = "put_6"
    request: str = "lay one die flat on the felt, 6 up, and take your hand away"
    rest: DieRest | None = None

    def receive(self, reading: AnyReading) -> None:
        """Record a die at rest."""
        if isinstance(reading, DieRest) and reading.dev == self.dev:
            self.rest = reading

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether a die at rest was reported."""
        del quiet_s
        return self.rest is not None

    def findings(self) -> Sequence[SensorFinding]:
        """Return whether the face, the confidence and the tilt are as expected."""
        rest = self.rest
        if rest is None:
            return [not_seen("die_rest", "a die at rest")]
        faults = []
        if rest.up != 6:
            faults.append(f"found {rest.up or 'no face'} up, expected 6")
        if rest.confidence < self.min_confidence:
            faults.append("the confidence is too low; clean the lens, and check the lighting")
        if abs(rest.tilt_deg) > MAX_TILT_DEG:
            faults.append("the tilt is too large; check that the camera is aligned with the felt")
        message = (
            f"{rest.up or 'no face'} up at {rest.x:.0f}, {rest.y:.0f} mm, confidence {rest.confidence:.2f}"
            f" (limit {self.min_confidence:g}), tilt {rest.tilt_deg:.1f} deg (limit {MAX_TILT_DEG:g})"
        )
        figures = {"up": rest.up, "x_mm": rest.x, "y_mm": rest.y, "confidence": rest.confidence}
        return [finding("die_rest", message, *faults, **figures, tilt_deg=rest.tilt_deg)]


@dataclass(slots=True)
class RollBoth:
    """The step in which the technician throws both dice.

    The camera must track both at its frame rate and report both releases.
    """

    dev: str
    frame_ms: float
    releases: bool
    """Whether this camera reports releases."""
    sensor: str = "die_at"
    lamp_text: str = "roll_both"
    request: str = "throw both dice, as a shooter would"
    times_us: dict[int, list[int]] = field(default_factory=dict)
    released: set[int] = field(default_factory=set)
    ended: set[int] = field(default_factory=set)

    def receive(self, reading: AnyReading) -> None:
        """Record this camera's readings of dice."""
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

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether both dice have come to rest or been lost, or readings have stopped arriving."""
        return len(self.ended) > 1 or (bool(self.times_us) and quiet_s > SETTLED_S)

    def findings(self) -> Sequence[SensorFinding]:
        """Return the number of tracked dice, and the frame rate."""
        if not self.times_us:
            return [not_seen("die_at", "the tracks of two dice")]
        gaps = [after - before for times in self.times_us.values() for before, after in pairwise(times)]
        rate = 1e6 / median(gaps) if gaps and median(gaps) > 0 else 0.0
        limit = MIN_RATE_FRACTION * 1000 / self.frame_ms
        seen = len(self.times_us)
        faults = [] if seen > 1 else ["only one die was tracked, expected both"]
        if rate < limit:
            faults.append("the rate is too low; check the exposure time and the load on the camera's USB bus")
        message = f"dice tracked: {seen}, at {rate:.0f} frames/s (limit {limit:.0f})"
        found = [finding("die_at", message, *faults, dice=seen, frames_per_s=round(rate, 1))]
        if self.releases:
            missing = [
                f"the camera did not see die {die} leave the hand"
                for die in (1, 2)
                if die not in self.released
            ]
            message = f"releases seen: {len(self.released)} (expected 2)"
            found.append(finding("die_released", message, *missing, releases=len(self.released)))
        return found
