"""The steps of a guided wheel test: beams, index, pocket reader, and a smart wheel's game."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from controller.model.geometry import Wheel
from controller.model.readings import (
    TURNING_IN_WORDS,
    AnyReading,
    BallBeam,
    BallDrop,
    PocketBall,
    RotorIndex,
    WheelStatus,
)
from controller.rules.wheel.rotor import BORDER_FRACTION, PocketRead, Rotor, place_read
from controller.technician.steps import SensorFinding, finding, not_seen

DOUBLED_US = 100_000
"""Time within which a second pulse of a beam is a double count, because the ball never reaches 10 rev/s."""
NO_PULSE_S = 3.5
"""Duration of a ball's slowest lap on the track; a longer pause means that the ball has dropped."""
MIN_LAPS = 3
MIN_INDEX_PASSES = 4
MIN_READS = 3
_GAP = 1.6
"""Ratio of a lap's duration to its neighbours' above which the lap is treated as two or more, with missed
pulses in between."""


@dataclass(slots=True)
class SpinBall:
    """The step in which the technician spins the ball by hand.

    Each beam must report the ball once a lap, and the drop sensor must report it once.
    """

    dev: str
    beams: int
    drop: bool
    """Whether this device has a drop sensor."""
    sensor: str = "ball_beam"
    lamp_text: str = "spin_ball"
    request: str = "turn the rotor slowly and spin the ball by hand against it, as hard as in play"
    pulses: list[BallBeam] = field(default_factory=list)
    drops: int = 0

    def receive(self, reading: AnyReading) -> None:
        """Record pulses and drops."""
        if reading.dev != self.dev:
            return
        if isinstance(reading, BallBeam):
            self.pulses.append(reading)
        self.drops += isinstance(reading, BallDrop)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the ball has dropped, or no beam has reported it for longer than a lap."""
        return bool(self.pulses) and (quiet_s > NO_PULSE_S or (self.drops > 0 and quiet_s > 0.5))

    def findings(self) -> Sequence[SensorFinding]:
        """Return each beam's passes, misses and double counts, the beams' order, and the drop."""
        each = [sorted(p.t for p in self.pulses if p.beam == beam) for beam in range(self.beams)]
        passes = [_without_doubles(times) for times in each]
        laps = max((round(_laps(times)) for times in passes), default=0)
        found = [
            _beam(beam, len(times), len(each[beam]) - len(times), laps) for beam, times in enumerate(passes)
        ]
        found.append(self._order(passes))
        unknown_beams = sorted({p.beam for p in self.pulses if p.beam >= self.beams})
        if unknown_beams:
            message = f"pulses from beam {', '.join(map(str, unknown_beams))}, expected 0 to {self.beams - 1}"
            found.append(SensorFinding(sensor="ball_beam", status="fail", says=message))
        if self.drop:
            message = f"ball drops: {self.drops}"
            faults = () if self.drops == 1 else ("expected one drop",)
            found.append(finding("ball_drop", message, *faults, drops=self.drops))
        return found

    def _order(self, passes: Sequence[Sequence[int]]) -> SensorFinding:
        """Check that the beams report in the same order on every lap."""
        inside = sorted((t, beam) for beam, times in enumerate(passes) for t in times)
        seen = [beam for beam, times in enumerate(passes) if times]
        if len(seen) < 2:
            return not_seen("ball_beam order", "at least two beams that detect the ball")
        after: dict[int, list[int]] = {}
        for (_, beam), (_, following) in pairwise(inside):
            after.setdefault(beam, []).append(following)
        usual = {beam: max(set(next_), key=next_.count) for beam, next_ in after.items()}
        misplaced = sum(following != usual[beam] for beam, next_ in after.items() for following in next_)
        order = [seen[0]]
        while len(order) < len(seen) and (following := usual.get(order[-1], -1)) not in (*order, -1):
            order.append(following)
        message = f"order {' '.join(map(str, order))}, {misplaced} of {len(inside)} pulses out of order"
        # A missed or extra pulse breaks the order twice, and is already reported in its beam's finding.
        in_order = misplaced <= max(2, len(inside) // 5)
        faults = () if in_order else ("check whether two beams' cables are swapped",)
        return finding("ball_beam order", message, *faults, out_of_order=misplaced, pulses=len(inside))


def _without_doubles(times_us: Sequence[int]) -> list[int]:
    kept: list[int] = []
    for t in times_us:
        if not kept or t - kept[-1] > DOUBLED_US:
            kept.append(t)
    return kept


def _laps(times_us: Sequence[int]) -> float:
    """Return the number of laps from the first pulse to the last, including laps with a missed pulse."""
    gaps = [after - before for before, after in pairwise(times_us)]
    laps = 0.0
    for number, gap in enumerate(gaps):
        usual = median(gaps[max(0, number - 2) : number + 3])
        laps += max(1, round(gap / usual)) if gap > _GAP * usual else 1
    return laps


def _beam(beam: int, passes: int, doubled: int, laps: int) -> SensorFinding:
    sensor = f"ball_beam {beam}"
    if not passes:
        return not_seen(sensor, "a pulse in each lap; clean the beam, and check its cable")
    missed = max(0, laps - passes)
    message = f"{passes} passes in {laps} laps, {missed} missed, {doubled} doubled (limit 1 in 10)"
    faults = [f"found {laps} laps, expected at least {MIN_LAPS}; spin harder"] if laps < MIN_LAPS else []
    if missed > max(1, laps // 10) or doubled > max(1, laps // 10):
        faults.append("clean the beam and check its alignment")
    return finding(sensor, message, *faults, passes=passes, laps=laps, missed=missed, doubled=doubled)


@dataclass(slots=True)
class TurnRotor:
    """The step in which the technician turns the rotor by hand.

    The index passes must be evenly spaced and in one direction.
    """

    dev: str
    sensor: str = "rotor_index"
    lamp_text: str = "rotor_turn"
    request: str = "turn the rotor by hand, at two to four seconds per turn, and let it run"
    passes: list[RotorIndex] = field(default_factory=list)

    def receive(self, reading: AnyReading) -> None:
        """Record index passes."""
        if isinstance(reading, RotorIndex) and reading.dev == self.dev:
            self.passes.append(reading)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether four passes were reported."""
        del quiet_s
        return len(self.passes) >= MIN_INDEX_PASSES

    def findings(self) -> Sequence[SensorFinding]:
        """Return the rotor's direction and speed, and whether a pass is missing."""
        if len(self.passes) < 2:
            return [not_seen("rotor_index", f"{MIN_INDEX_PASSES} passes of the rotor's mark")]
        directions = sorted({p.direction for p in self.passes})
        gaps = [after.t - before.t for before, after in pairwise(self.passes)]
        rpm = 60e6 / median(gaps) if median(gaps) > 0 else 0.0
        faults = (
            []
            if len(directions) == 1
            else ["found both directions; check the sensor's wiring and the setting of its two edges"]
        )
        if len(self.passes) < MIN_INDEX_PASSES:
            faults.append(f"expected {MIN_INDEX_PASSES} passes")
        if max(gaps) > _GAP * median(gaps):
            faults.append("a pass was missed; check the sensor's distance from the mark")
        turning = " and ".join(TURNING_IN_WORDS[direction] for direction in directions)
        message = f"{len(self.passes)} passes, {turning}, {rpm:.1f} rpm"
        return [
            finding(
                "rotor_index",
                message,
                *faults,
                passes=len(self.passes),
                direction=directions[0],
                rpm=round(rpm, 1),
            )
        ]


@dataclass(slots=True)
class BallInPocket:
    """The step in which the technician turns the rotor with the ball in a known pocket.

    The reader must report this pocket.
    """

    dev: str
    wheel: Wheel
    number: str
    sensor: str = "pocket_ball"
    _rotor: Rotor = field(default_factory=Rotor)
    _waiting: list[PocketBall] = field(default_factory=list)
    seen: int = 0
    reads: list[PocketRead] = field(default_factory=list)

    @property
    def lamp_text(self) -> str:
        """Text on the `test` lamp."""
        return f"pocket_{self.number}"

    @property
    def request(self) -> str:
        """Instruction for the technician."""
        return f"put the ball in pocket {self.number} and turn the rotor slowly for eight turns or more"

    def receive(self, reading: AnyReading) -> None:
        """Record index passes and pocket readings; the next pass determines a reading's pocket."""
        if reading.dev == self.dev and isinstance(reading, PocketBall):
            self.seen += 1
            self._waiting.append(reading)
        elif isinstance(reading, RotorIndex):
            self._rotor.add_pass(reading)
            placed = [(read, place_read(read, self._rotor, self.wheel)) for read in self._waiting]
            self.reads += [place for _, place in placed if place is not None and place.number is not None]
            self._waiting = [read for read, place in placed if place is None]

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the pockets of three readings are known."""
        del quiet_s
        return len(self.reads) >= MIN_READS

    def findings(self) -> Sequence[SensorFinding]:
        """Return the reported pocket, and the distance of the readings from its middle."""
        if not self.reads:
            if not self.seen:
                return [not_seen("pocket_ball", f"{MIN_READS} readings of the ball in its pocket")]
            message = f"{self.seen} readings, but none while the rotor turned steadily; expected {MIN_READS}"
            return [SensorFinding(sensor="pocket_ball", status="fail", says=message)]
        numbers = list(dict.fromkeys(read.number for read in self.reads))
        pocket_deg = 360 / len(self.wheel.pockets_clockwise)
        off_deg = pocket_deg * median(read.off_centre for read in self.reads)
        limit_deg = pocket_deg * BORDER_FRACTION
        message = (
            f"{len(self.reads)} readings of pocket {', '.join(map(str, numbers))},"
            f" {off_deg:+.1f} deg from its middle (limit {limit_deg:.1f})"
        )
        faults = []
        if numbers != [self.number]:
            faults.append(
                f"expected {self.number}; run `tablectl calibrate wheel` to measure the index again"
            )
        if abs(off_deg) > limit_deg:
            faults.append(
                "read between two pockets; run `tablectl calibrate wheel` to measure the index again"
            )
        if len(self.reads) < MIN_READS:
            faults.append(f"expected {MIN_READS} readings")
        found = ", ".join(map(str, numbers))
        return [
            finding(
                "pocket_ball",
                message,
                *faults,
                reads=len(self.reads),
                pocket=found,
                off_deg=round(off_deg, 2),
            )
        ]


@dataclass(slots=True)
class PlayGame:
    """The step in which the technician plays one game on a wheel that reports its states."""

    dev: str
    sensor: str = "wheel_status"
    lamp_text: str = "game_play"
    request: str = "play one game: spin the ball against the rotor and wait until the wheel shows the number"
    states: list[WheelStatus] = field(default_factory=list)

    def receive(self, reading: AnyReading) -> None:
        """Record the wheel's states."""
        if isinstance(reading, WheelStatus) and reading.dev == self.dev:
            self.states.append(reading)

    def is_complete(self, quiet_s: float) -> bool:
        """Return whether the wheel has reported a winning number."""
        del quiet_s
        return any(status.state == 5 for status in self.states)

    def findings(self) -> Sequence[SensorFinding]:
        """Return the winning number and the error flags that the wheel reported."""
        last = next((status for status in reversed(self.states) if status.state == 5), None)
        if last is None:
            expected = "state 5, a winning number"
            if not self.states:
                return [not_seen("wheel_status", expected)]
            seen = ", ".join(dict.fromkeys(str(status.state) for status in self.states))
            return [finding("wheel_status", f"states {seen}", f"expected {expected}")]
        flags = [status.flags for status in self.states if status.flags]
        rpm = None if last.rotor_rpm_x10 is None else last.rotor_rpm_x10 / 10
        speed = "an unknown speed" if rpm is None else f"{rpm} rpm"
        turning = TURNING_IN_WORDS[last.direction] if last.direction else "in an unknown direction"
        message = f"number {last.number}, rotor {turning} at {speed}"
        faults = [f"the wheel reported flags {sorted(set(flags))} (docs/devices/ss2.md)"] if flags else []
        return [finding("wheel_status", message, *faults, number=str(last.number), rpm=rpm)]
