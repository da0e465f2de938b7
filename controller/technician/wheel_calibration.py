"""Calibration of a wheel's beams, index and drop speed, from the smooth motion of a ball and a rotor.

Over four consecutive passes of one beam, the ball's position follows a smooth curve in time. The passes of
the other beams lie on the same curve, so each lap yields each beam's angle. Only angles between sensors can
be measured, so beam 0 keeps the angle given in the table's file, and the other beams are measured from it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import atan2, cos, degrees, radians, sin
from statistics import median
from typing import NamedTuple

from controller.model.geometry import Wheel
from controller.model.homography import least_squares
from controller.model.readings import AnyReading, BallBeam, BallDrop, PocketBall, RotorIndex, Turning
from controller.model.tables import KeyPath, Setting
from controller.rules.wheel.rotor import Rotor
from controller.technician.calibration import CalibratedValues, UnfitError
from controller.technician.wheel_steps import DOUBLED_US

MIN_PASSES = 12
SPREAD_LIMIT_DEG = 2.5
"""Maximum scatter of one beam's angle. More scatter means that the ball did not slow down smoothly."""
MIN_READS = 3
NEW_SPIN_US = 5_000_000
"""Minimum pause between two spins. It is longer than the slowest lap."""
_LAP_RATIOS = (0.97, 1.4)
"""Limits on the ratio of a lap's duration to that of the previous lap. A ratio outside these limits indicates
a missed or doubled pulse."""
_MIN_DROPS = 1
_MAX_SPEED_AGE_S = 3.0


class Window(NamedTuple):
    """Four consecutive passes of one beam, which determine the ball's motion between the second and the
    third."""

    t_us: tuple[int, int, int, int]

    def turns_at(self, t_us: float) -> float:
        """Return the turns since the first pass, according to the cubic through the four passes."""
        turns = 0.0
        for number, own in enumerate(self.t_us):
            fraction = float(number)
            for other in self.t_us:
                if other != own:
                    fraction *= (t_us - other) / (own - other)
            turns += fraction
        return turns


@dataclass(slots=True)
class Spin:
    """One run of the ball: its pulses by beam (us), its drop, and the rotor's direction."""

    pulses: dict[int, list[int]] = field(default_factory=dict)
    drop_us: int | None = None
    rotor: Turning | None = None
    last_us: int = 0


def spins_in(readings: Sequence[AnyReading]) -> list[Spin]:
    """Return the spins in one wheel's readings."""
    spins: list[Spin] = []
    turning: Turning | None = None
    for reading in sorted(readings, key=lambda r: r.t):
        match reading:
            case RotorIndex():
                turning = reading.direction
                if spins and spins[-1].drop_us is None:
                    spins[-1].rotor = turning
            case BallBeam():
                if not spins or spins[-1].drop_us is not None or reading.t - spins[-1].last_us > NEW_SPIN_US:
                    spins.append(Spin(rotor=turning))
                spin = spins[-1]
                spin.last_us = reading.t
                times = spin.pulses.setdefault(reading.beam, [])
                if not times or reading.t - times[-1] > DOUBLED_US:
                    times.append(reading.t)
            case BallDrop() if spins and spins[-1].drop_us is None:
                spins[-1].drop_us = reading.t
            case _:
                pass
    return spins


def _windows(times_us: Sequence[int]) -> list[Window]:
    found = []
    for a, b, c, d in zip(times_us, times_us[1:], times_us[2:], times_us[3:], strict=False):
        laps = (b - a, c - b, d - c)
        if all(_LAP_RATIOS[0] <= after / before <= _LAP_RATIOS[1] for before, after in pairwise(laps)):
            found.append(Window((a, b, c, d)))
    return found


def _turns_from_anchor(spin: Spin, anchor: int) -> dict[int, list[float]]:
    """Return the distance in turns from the anchor beam to every other beam, one value for each pass."""
    found: dict[int, list[float]] = {}
    for window in _windows(spin.pulses.get(anchor, [])):
        _, begin, end, _ = window.t_us
        for beam, times in spin.pulses.items():
            if beam != anchor:
                found.setdefault(beam, []).extend(window.turns_at(t) - 1.0 for t in times if begin < t < end)
    return found


def mean_angle_deg(angles_deg: Sequence[float]) -> float:
    """Return the mean direction of angles (degrees, 0 to 360)."""
    x, y = (sum(part(radians(angle)) for angle in angles_deg) for part in (cos, sin))
    return degrees(atan2(y, x)) % 360.0


def angle_difference_deg(after_deg: float, before_deg: float) -> float:
    """Return the difference between two angles, -180 to 180 degrees."""
    return (after_deg - before_deg + 180.0) % 360.0 - 180.0


def _middle_deg(angles_deg: Sequence[float]) -> float:
    """Return the median of angles around their mean direction; a few outliers do not affect it."""
    around = mean_angle_deg(angles_deg)
    return (around + median(angle_difference_deg(angle, around) for angle in angles_deg)) % 360.0


def _spread_deg(angles_deg: Sequence[float], middle_deg: float) -> float:
    return 1.4826 * median(abs(angle_difference_deg(angle, middle_deg)) for angle in angles_deg)


@dataclass(frozen=True, slots=True)
class Beam:
    """One beam's angle (degrees from beam 0, counter-clockwise), with its scatter and number of passes."""

    angle_deg: float
    spread_deg: float
    passes: int


def beam_angles(spins: Sequence[Spin], beams: int) -> dict[int, Beam]:
    """Measure each beam's angle from beam 0.

    Raises:
        UnfitError: A beam is silent, has too few passes or too much scatter, or the index sent no pulse.
    """
    seen = {beam: sum(len(spin.pulses.get(beam, ())) for spin in spins) for beam in range(beams)}
    silent = [str(beam) for beam, count in seen.items() if not count]
    if silent:
        raise UnfitError(
            f"found no pulses from {'beam' if len(silent) == 1 else 'beams'} {', '.join(silent)}, expected"
            " pulses from every beam; clean and check the silent beams (`tablectl test` shows more)"
        )
    anchor = max(seen, key=lambda beam: sum(len(_windows(spin.pulses.get(beam, []))) for spin in spins))
    from_anchor = _angles_from_anchor(spins, anchor)
    angles: dict[int, Beam] = {anchor: Beam(0.0, 0.0, seen[anchor])}
    for beam in range(beams):
        if beam == anchor:
            continue
        found = from_anchor.get(beam, [])
        if len(found) < MIN_PASSES:
            raise UnfitError(
                f"found {len(found)} usable passes at beam {beam}, expected at least {MIN_PASSES}; spin the"
                " ball again, harder and against the rotor"
            )
        middle = _middle_deg(found)
        spread = _spread_deg(found, middle)
        if spread > SPREAD_LIMIT_DEG:
            raise UnfitError(
                f"the passes at beam {beam} scatter by {spread:.1f} deg, expected at most"
                f" {SPREAD_LIMIT_DEG:g}; check that the wheel is level, and spin the ball again"
            )
        angles[beam] = Beam(middle, spread, len(found))
    zero = angles[0].angle_deg
    return {
        beam: Beam((one.angle_deg - zero) % 360.0, one.spread_deg, one.passes) for beam, one in angles.items()
    }


def _angles_from_anchor(spins: Sequence[Spin], anchor: int) -> dict[int, list[float]]:
    """Return the angle from the anchor beam to every other beam, one value for each pass.

    The ball is assumed to run against the rotor.
    """
    found: dict[int, list[float]] = {}
    rotor_seen = False
    for spin in spins:
        if spin.rotor is None:
            continue
        rotor_seen = True
        sense = 1.0 if spin.rotor == "cw" else -1.0
        for beam, turns in _turns_from_anchor(spin, anchor).items():
            found.setdefault(beam, []).extend(sense * 360.0 * turn % 360.0 for turn in turns)
    if not rotor_seen:
        raise UnfitError(
            "found no pulse of the rotor's index, which shows the directions of the rotor and the ball;"
            " turn the rotor, then spin the ball against it"
        )
    return found


def drop_speeds(spins: Sequence[Spin], angles: Mapping[int, Beam]) -> list[float]:
    """Measure the ball's speed (rev/s) as it leaves the track, from the last passes of all beams."""
    speeds = []
    for spin in spins:
        windows = [(beam, window) for beam, times in spin.pulses.items() for window in _windows(times)[-1:]]
        if spin.drop_us is None or not windows:
            continue
        beam, last = max(windows, key=lambda item: item[1].t_us[3])
        age_s = (spin.drop_us - last.t_us[3]) / 1e6
        if 0 <= age_s <= _MAX_SPEED_AGE_S:
            speeds.append(_speed_at(spin, beam, last, angles))
    return speeds


def _speed_at(spin: Spin, beam: int, last: Window, angles: Mapping[int, Beam]) -> float:
    """Return the speed (rev/s) at the drop, from a quadratic fit to the passes of the last two laps."""
    assert spin.drop_us is not None
    sense = 1.0 if spin.rotor == "cw" else -1.0
    rows, turns = [], []
    for other, times in spin.pulses.items():
        own = sense * (angles[other].angle_deg - angles[beam].angle_deg) / 360.0
        for t in times:
            if last.t_us[1] <= t <= spin.drop_us:
                at = (t - spin.drop_us) / 1e6
                rows.append((1.0, at, at * at))
                turns.append(own + round(last.turns_at(t) - own))
    return least_squares(rows, turns)[1]


def index_angle(readings: Sequence[AnyReading], wheel: Wheel, number: str) -> tuple[float, float, int]:
    """Measure the angle of the rotor's mark at the index pulse, with a ball in a known pocket.

    Return the mark's angle and its scatter (degrees), and the number of readings. Only the angle between
    the index and the reader can be measured, so the reader's angle is assumed to be correct.

    Raises:
        UnfitError: There are too few readings while the rotor turned steadily, or the readings disagree.
    """
    pocket_deg = 360.0 / len(wheel.pockets_clockwise)
    aim_deg = wheel.pocket_reader_deg + wheel.pockets_clockwise.index(number) * pocket_deg
    rotor, waiting, found = Rotor(), list[PocketBall](), list[float]()
    for reading in sorted(readings, key=lambda r: r.t):
        if isinstance(reading, PocketBall):
            waiting.append(reading)
        elif isinstance(reading, RotorIndex):
            rotor.add_pass(reading)
            for read in waiting:
                place = rotor.place(read.t)
                if place is not None:
                    sense = 1.0 if place.direction == "ccw" else -1.0
                    found.append((aim_deg - sense * 360.0 * place.turns) % 360.0)
            waiting = [read for read in waiting if rotor.place(read.t) is None and rotor.waits(read.t)]
    if len(found) < MIN_READS:
        raise UnfitError(
            f"found {len(found)} pocket readings while the rotor turned steadily, expected at least"
            f" {MIN_READS}; put the ball in pocket {number} and turn the rotor slowly for eight turns or more"
        )
    middle = _middle_deg(found)
    worst = max(abs(angle_difference_deg(angle, middle)) for angle in found)
    if worst > pocket_deg / 2:
        raise UnfitError(
            f"found a pocket reading {worst:.1f} deg from the median, expected all within half a pocket"
            f" ({pocket_deg / 2:.1f} deg); measure again, and check that the ball stays in its pocket"
        )
    return middle, _spread_deg(found, middle), len(found)


def calibrate_wheel(
    spinning: Sequence[AnyReading],
    wheel: Wheel,
    *,
    resting: Sequence[AnyReading] = (),
    number: str | None = None,
) -> CalibratedValues:
    """Measure the beams and the drop speed from spins. Unless `number` is None, also measure the index from a
    ball in that pocket.

    Raises:
        UnfitError: The readings are insufficient; the message contains the reason and the next step.
    """
    spins = spins_in(spinning)
    angles = beam_angles(spins, len(wheel.beams_deg))
    zero = wheel.beams_deg[0]
    beams = tuple(round((zero + angles[beam].angle_deg) % 360.0, 1) for beam in range(len(wheel.beams_deg)))
    report = [
        f"beam {beam}: {before % 360:6.1f} -> {beams[beam]:6.1f} deg"
        f" ({angle_difference_deg(beams[beam], before):+.1f}), scatter {angles[beam].spread_deg:.2f}"
        f" (limit {SPREAD_LIMIT_DEG:g}), {angles[beam].passes} passes"
        for beam, before in enumerate(wheel.beams_deg)
    ]
    report.append(
        f"{_counted(len(spins), 'spin')}: beam 0 keeps its angle; the other beams are measured from beam 0"
    )
    values: dict[KeyPath, Setting] = {("wheel", "beams_deg"): beams}
    figures: dict[str, object] = {
        "beams_deg": beams,
        "spread_deg": [round(angles[beam].spread_deg, 3) for beam in range(len(beams))],
        "passes": [angles[beam].passes for beam in range(len(beams))],
    }
    speeds = drop_speeds(spins, angles)
    if len(speeds) >= _MIN_DROPS:
        speed = round(median(speeds), 3)
        values["wheel", "drop_rev_per_s"] = speed
        scatter = 1.4826 * median(abs(s - speed) for s in speeds) / speed
        report.append(
            f"drop: {wheel.drop_rev_per_s:g} -> {speed:g} rev/s from {_counted(len(speeds), 'drop')},"
            f" scatter {100 * scatter:.1f} %"
        )
        figures["drop_rev_per_s"] = speed
    else:
        report.append("drop: not measured; the drop speed is unchanged")
    if number is not None:
        index, spread, reads = index_angle(resting or spinning, wheel, number)
        values["wheel", "rotor_index_deg"] = round(index, 1)
        report.append(
            f"index: {wheel.rotor_index_deg % 360:.1f} -> {index:.1f} deg"
            f" ({angle_difference_deg(index, wheel.rotor_index_deg):+.1f}), scatter {spread:.2f} deg,"
            f" {reads} readings of pocket {number}; the reader's angle remains"
            f" {wheel.pocket_reader_deg:g} deg"
        )
        figures |= {"rotor_index_deg": round(index, 2), "index_spread_deg": round(spread, 3), "reads": reads}
    else:
        report.append("index: no pocket named; the index angle is unchanged")
    return CalibratedValues(values=values, report=tuple(report), figures=figures)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
