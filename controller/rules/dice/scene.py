"""The readings of one throw, grouped by die, wall and device."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import dist

from controller.model.geometry import DiceTable
from controller.model.readings import (
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    Reading,
    WallImpact,
)
from controller.model.rulesets import SensorErrors
from controller.rules.dice.loudness import Loudness

HIDDEN_FRAMES = 2.5
"""Time, in frames, without a track point after which a die is treated as hidden. A single lost frame is not
enough."""
MAX_SLOWER = 1.5
"""Maximum ratio of a camera's frame time to the frame time in its table's settings. At the maximum, a fast
die moves 20 cm in two frames."""
CADENCE_POINTS = 16
"""Number of points at the start of each track from which the camera's frame time is measured. The median step
between them is the frame time even if some frames are lost."""
MAX_TABLE_LENGTHS = 3.0
"""Maximum distance from the table, in table lengths, of a plausible position of a die. A position farther
away is a camera error."""
HAND_REACH_MM = 1500.0
"""Maximum distance, in mm, between the releases of one shooter, who stands in one place."""
THROWN_MM_PER_S = 1000.0
"""Minimum speed, in mm/s, of a thrown die. Most dice are thrown at 2 to 6 m/s; the stick moves dice at less
than 1 m/s."""
FIRST_POINTS = 5
"""Number of points over which a die's speed is reliable despite the noise."""
NOTHING: Mapping[str, float] = {}
"""The learned values of a table before its first throw."""


@dataclass(slots=True)
class DieSeen:
    """All readings of one die."""

    number: int
    releases: list[DieReleased] = field(default_factory=list)
    track: list[DieAt] = field(default_factory=list)
    rests: list[DieRest] = field(default_factory=list)
    offs: list[DieOffTable] = field(default_factory=list)
    losts: list[DieLost] = field(default_factory=list)
    contacts: list[DieContact] = field(default_factory=list)
    seen_in_flight: list[DieReleased] = field(default_factory=list)
    """Releases reported away from the hand. The camera first saw the die there, already in flight."""

    @property
    def seen(self) -> bool:
        """Return whether the throw has a reading of this die."""
        seen = self.releases or self.seen_in_flight or self.track or self.rests or self.offs
        return bool(seen or self.losts or self.contacts)

    @property
    def came_in_flight(self) -> bool:
        """Return whether the die's first points show a throw rather than a die that lies still or is
        pushed."""
        points = self.track[:FIRST_POINTS]
        elapsed_s = (points[-1].t - points[0].t) / 1_000_000 if points else 0.0
        return (
            elapsed_s > 0
            and dist(*((p.x, p.y) for p in (points[0], points[-1]))) > THROWN_MM_PER_S * elapsed_s
        )

    @property
    def gone(self) -> bool:
        """Return whether the die left the table and has not been seen at rest since."""
        return bool(self.offs) and not (self.rests and self.rests[-1].t > self.offs[-1].t)

    @property
    def rest(self) -> DieRest | None:
        """Return the die's last rest, or None if there is none or the die moved away afterwards."""
        if not self.rests:
            return None
        rest = self.rests[-1]
        for point in reversed(self.track):
            if point.t <= rest.t:
                break
            if abs(point.x - rest.x) + abs(point.y - rest.y) > MOVED_MM:
                return None
        return rest

    @property
    def ended(self) -> bool:
        """Return whether the die's part of the throw is over."""
        return self.gone or self.rest is not None


MOVED_MM = 15.0
"""Distance, in mm, from a die's resting position beyond which the die is treated as having moved. This is a
little less than the length of a die's edge."""


@dataclass(slots=True)
class Scene:
    """A throw's readings, grouped by the object that they concern."""

    table: DiceTable
    errors: SensorErrors
    sources: Mapping[str, Collection[str]]
    start_us: int
    loudness: Loudness = field(default_factory=Loudness)
    """The loudness of this table's hits, as learned before this throw."""
    dice: tuple[DieSeen, DieSeen] = field(default_factory=lambda: (DieSeen(1), DieSeen(2)))
    impacts: list[WallImpact] = field(default_factory=list)
    devices: list[DeviceDown | DeviceUp | DeviceFault] = field(default_factory=list)
    implausible: list[Reading] = field(default_factory=list)
    last_seen: dict[str, int] = field(default_factory=dict)
    """The time of the last reading about dice or walls from each device."""
    frame_ms: float = 0.0
    """The time between frames according to the tracks, at most MAX_SLOWER times the setting."""

    @property
    def hidden_ms(self) -> float:
        """Return the time, in ms, without a track point after which a die is treated as hidden."""
        return HIDDEN_FRAMES * max(self.frame_ms, self.errors.frame_ms)

    def ms(self, t_us: int) -> float:
        """Return a time in milliseconds from the throw's start."""
        return (t_us - self.start_us) / 1000.0

    def cameras(self) -> frozenset[str]:
        """Return the devices that reported dice in this throw, or that report dice according to `sources`."""
        known = {dev for dev, kinds in self.sources.items() if "die_at" in kinds or "die_rest" in kinds}
        return frozenset(known | {reading.dev for die in self.dice for reading in sightings(die)})

    def is_down(self, dev: str, t_us: int, *, faults: bool = False) -> bool:
        """Return whether a device was down at this time and had sent nothing since it went down.

        With `faults`, a faulty device is also treated as down.
        """
        down = False
        since = 0
        for event in self.devices:
            if event.t > t_us:
                break
            if event.dev == dev:
                down = type(event) is DeviceDown or (faults and type(event) is DeviceFault)
                since = event.t
        return down and not since < self.last_seen.get(dev, -1) <= t_us

    def went_down(self, dev: str) -> bool:
        """Return whether a device was down at some time during the throw."""
        return any(type(event) is DeviceDown and event.dev == dev for event in self.devices)

    def was_faulty(self, dev: str) -> bool:
        """Return whether a device was down or faulty at some time during the throw."""
        return any(type(event) is not DeviceUp and event.dev == dev for event in self.devices)

    def hears(self, wall: str, t_us: int) -> bool:
        """Return whether a working sensor monitored this wall at this time."""
        kind = f"wall_impact:{wall}"
        sensors = {dev for dev, kinds in self.sources.items() if kind in kinds}
        sensors.update(impact.dev for impact in self.impacts if impact.wall == wall)
        return any(not self.is_down(dev, t_us, faults=True) for dev in sensors)


def sightings(die: DieSeen) -> Iterator[Reading]:
    """Yield a die's releases, rests and other events, and the first point of its track."""
    yield from die.releases
    yield from die.track[:1]
    yield from die.rests
    yield from die.offs
    yield from die.losts
    yield from die.contacts


def build_scene(
    readings: Sequence[Reading],
    table: DiceTable,
    errors: SensorErrors,
    sources: Mapping[str, Collection[str]],
    decided_at_us: int,
    *,
    learned: Mapping[str, float] = NOTHING,
) -> Scene:
    """Return a throw's readings up to the moment of decision, grouped and in time order."""
    scene = Scene(table, errors, sources, _start(readings), Loudness.from_figures(learned))
    one, two = scene.dice
    tracks = (one.track, two.track)
    lower, upper = -MAX_TABLE_LENGTHS * table.length_mm, (1 + MAX_TABLE_LENGTHS) * table.length_mm
    last_seen = scene.last_seen
    previous = -1
    ordered = True
    for reading in readings:
        t = reading.t
        if t > decided_at_us:
            continue
        if t < previous:
            ordered = False
        previous = t
        kind = type(reading)
        if kind is DieAt:
            assert isinstance(reading, DieAt)
            if lower < reading.x < upper and lower < reading.y < upper:
                tracks[reading.die - 1].append(reading)
            else:
                scene.implausible.append(reading)
            last_seen[reading.dev] = t
        else:
            _sort_reading(scene, reading, lower, upper)
    if not ordered:
        _put_in_order(scene)
    _drop_far_release(scene)
    steps_us = sorted(
        after.t - point.t for track in tracks for point, after in pairwise(track[:CADENCE_POINTS])
    )
    if steps_us:
        scene.frame_ms = min(steps_us[len(steps_us) // 2] / 1000.0, MAX_SLOWER * errors.frame_ms)
    return scene


def _drop_far_release(scene: Scene) -> None:
    """Treat the die released later as first seen in flight if the releases are too far apart for one
    shooter."""
    if not all(die.releases for die in scene.dice):
        return
    first, later = sorted(scene.dice, key=lambda die: die.releases[0].t)
    one, two = first.releases[0], later.releases[0]
    if abs(one.x - two.x) + abs(one.y - two.y) > HAND_REACH_MM:
        later.seen_in_flight, later.releases = later.releases, []


def _start(readings: Sequence[Reading]) -> int:
    return next((r.t for r in readings if type(r) in (DieReleased, DieAt)), readings[0].t if readings else 0)


def _sort_reading(scene: Scene, reading: Reading, lower: float, upper: float) -> None:
    if isinstance(reading, (DeviceDown, DeviceUp, DeviceFault)):
        scene.devices.append(reading)
        return
    if isinstance(reading, WallImpact):
        scene.impacts.append(reading)
    elif isinstance(reading, (DieReleased, DieRest)):
        die = scene.dice[reading.die - 1]
        if not (lower < reading.x < upper and lower < reading.y < upper):
            scene.implausible.append(reading)
        elif isinstance(reading, DieReleased):
            die.releases.append(reading)
        else:
            die.rests.append(reading)
    elif isinstance(reading, DieOffTable):
        scene.dice[reading.die - 1].offs.append(reading)
    elif isinstance(reading, DieLost):
        scene.dice[reading.die - 1].losts.append(reading)
    elif isinstance(reading, DieContact):
        scene.dice[reading.die - 1].contacts.append(reading)
    else:
        return
    scene.last_seen[reading.dev] = max(reading.t, scene.last_seen.get(reading.dev, 0))


def _time(reading: Reading) -> int:
    return reading.t


def _put_in_order(scene: Scene) -> None:
    scene.impacts.sort(key=_time)
    scene.devices.sort(key=_time)
    for die in scene.dice:
        die.releases.sort(key=_time)
        die.track.sort(key=_time)
        die.rests.sort(key=_time)
        die.offs.sort(key=_time)
        die.losts.sort(key=_time)
        die.contacts.sort(key=_time)
