"""A wall sensor: how loud dice are at it, how loud the room, and the threshold between both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import median

from controller.model.geometry import DiceTable
from controller.model.keys import KeyPath
from controller.model.readings import AnyReading, DieAt, Wall, WallImpact
from controller.technician.acts import Finding, judged
from controller.technician.calibration import Calibrated, UnfitError
from controller.technician.dice_acts import NEAR_US, REACH_MM, distance_mm

LEAST_THROWS = 5
LEAST_MARGIN = 2.5
"""The weakest die must be so many times as loud as the loudest noise, or no threshold tells them apart."""
LISTEN_S = 3.0
"""So long without a sound, the room is quiet."""
AWAY_MM = 300.0
"""No die within this of the wall: what was heard was no die."""
SAFETY = 0.5
"""At most this share of the weakest die: dice in play land softer than the few thrown here."""
_UNHEARD = 0.25
"""The share of the weakest die that the room stays below where nothing of it was heard."""


@dataclass(slots=True)
class Listen:
    """What a wall's sensor hears for a while, in quiet or while somebody knocks."""

    dev: str
    wall: Wall
    word: str
    ask: str
    most: int | None = None
    """So many impacts are enough; None: listen in quiet until the time is over."""
    sensor: str = "wall_impact"
    peaks: list[float] = field(default_factory=list)

    def hear(self, reading: AnyReading) -> None:
        """Take this wall's impacts."""
        if isinstance(reading, WallImpact) and reading.dev == self.dev and reading.wall == self.wall:
            self.peaks.append(reading.peak)

    def enough(self, quiet_s: float) -> bool:
        """As many as asked for, or quiet for long."""
        return quiet_s > LISTEN_S if self.most is None else len(self.peaks) >= self.most

    def findings(self) -> Sequence[Finding]:
        """Tell what was heard."""
        return [judged(self.sensor, _line("heard", self.peaks), heard=len(self.peaks))]


def sorted_out(
    readings: Sequence[AnyReading], dev: str, wall: Wall, table: DiceTable, ringing_us: int
) -> tuple[list[float], list[float]]:
    """Give the peaks of dice and those of the room, told apart by the tracks; ringing is left out."""
    track = [reading for reading in readings if isinstance(reading, DieAt)]
    impacts = sorted(
        (r for r in readings if isinstance(r, WallImpact) and r.dev == dev and r.wall == wall),
        key=lambda impact: impact.t,
    )
    dice: list[float] = []
    room: list[float] = []
    rang_until_us = -1
    at = 0
    track.sort(key=lambda point: point.t)
    for impact in impacts:
        if impact.t <= rang_until_us:
            continue
        rang_until_us = impact.t + ringing_us
        while at < len(track) and track[at].t < impact.t - NEAR_US:
            at += 1
        near: list[float] = []
        for point in track[at:]:
            if point.t > impact.t + NEAR_US:
                break
            near.append(distance_mm(wall, table, point.x, point.y))
        if near and min(near) <= REACH_MM:
            dice.append(impact.peak)
        elif not near or min(near) > AWAY_MM:
            room.append(impact.peak)
    return dice, room


def calibrate_wall(
    at: KeyPath,
    dice: Sequence[float],
    noise: Sequence[float],
    knocks: Sequence[float],
    before: float,
) -> Calibrated:
    """Choose the threshold between the loudest noise and the weakest die, for this place in the table's file.

    `before` is the threshold so far: noise below it was not told. Knocks on the rail are as loud as dice and
    are told apart by the track: they are reported, and have no say.

    Raises:
        UnfitError: too few throws, or noise as loud as dice.
    """
    if len(dice) < LEAST_THROWS:
        raise UnfitError(f"found {len(dice)} throws heard, expected at least {LEAST_THROWS}: throw more")
    weakest, loudest = min(dice), max(noise, default=before)
    if loudest * LEAST_MARGIN > weakest:
        raise UnfitError(
            f"found noise of peak {loudest:g} and a die of peak {weakest:g}, expected the die"
            f" {LEAST_MARGIN:g} times as loud: mount the sensor anew, or find what makes the noise"
        )
    between = sqrt(loudest * weakest) if loudest else _UNHEARD * weakest
    threshold = round(min(between, SAFETY * weakest), 1)
    above = weakest / threshold
    below = threshold / loudest if loudest else None
    report = [_line("dice", dice), _line("noise", noise), _line("knocks", knocks)]
    report.append(
        f"threshold {threshold:g}: the weakest die is {above:.1f} times as loud"
        + ("" if below is None else f", the loudest noise {below:.1f} times weaker")
    )
    passing = sum(peak >= threshold for peak in knocks)
    if passing:
        report.append(f"{passing} of {len(knocks)} knocks are above it: the dice's tracks tell these apart")
    figures: Mapping[str, object] = {
        "threshold": threshold,
        "dice": sorted(dice),
        "noise": sorted(noise),
        "knocks": sorted(knocks),
        "margin_to_dice": round(above, 2),
        "margin_to_noise": None if below is None else round(below, 2),
    }
    return Calibrated(values={at: threshold}, report=tuple(report), figures=figures)


def _line(what: str, peaks: Sequence[float]) -> str:
    if not peaks:
        return f"{what:<7} none heard"
    low, middle, high = min(peaks), median(peaks), max(peaks)
    return f"{what:<7} {len(peaks):>3} heard: weakest {low:g}, median {middle:g}, loudest {high:g}"
