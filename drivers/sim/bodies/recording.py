"""The conversion of an engine's poses and contacts to a flight."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from controller.model.readings import Face, Surface, Wall
from drivers.sim.bodies.casts import Cast, UnsettledError
from drivers.sim.bodies.flights import FLAT_DEG, Flight, Stay, Thump, Touch, Track

Floats = NDArray[np.float64]
NORMALS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0, -1, 0], [-1, 0, 0]], dtype=float)
"""Outward normals of a die's faces 1 to 6; opposite faces add up to seven."""
CORNERS = np.array([[i, j, k] for i in (-0.5, 0.5) for j in (-0.5, 0.5) for k in (-0.5, 0.5)])
STILL_MM_S, STILL_RAD_S = 6.0, 0.6
"""Speeds below which a die is treated as still."""
STAY_US = 60_000
IMPACT_US = 3_000
"""Time within which impulses add up to one impact; a leaning or sliding die causes many small impulses."""
MIN_CLEAR_US = 4_000
"""Minimum time for which a die must be clear of an object before its next contact is treated as separate."""
THUMP_HEARD_MM, THUMP_MNS = 90.0, 5.0
"""Maximum distance from a wall, and minimum impulse, of a landing that the wall's sensor detects."""
RIM_MM = 5.0
"""A contact with the top of a wall is treated as a contact with the end wall if it is at most this far inside
the end of the table."""
MIN_BEHIND_M, MIN_AHEAD_M = 0.1, 0.6
"""Minimum distances of the hand from the walls behind and ahead of it."""
ERROR_MM = 0.15
Thing = str
"""An object that a die can touch: felt, left, right, front, back (the walls), rail (a wall's top), die,
chips."""
WALLS = ("left", "right", "front", "back")


@dataclass(slots=True)
class Contact:
    """A die's continuous contact with an object; `hardest_us` and `hardest_mns` describe its hardest
    impact."""

    die: int
    thing: Thing
    end_us: int
    impact_us: int
    impact_mns: float
    place_mm: tuple[float, float]
    hardest_us: int
    hardest_mns: float = 0.0

    def add(self, t_us: int, place_m: Sequence[float], impulse_ns: float) -> None:
        """Add the impulse of one step."""
        self.end_us = t_us
        if t_us - self.impact_us > IMPACT_US:
            self.impact_us, self.impact_mns = t_us, 0.0
        self.impact_mns += impulse_ns * 1000
        if self.impact_mns > self.hardest_mns:
            self.hardest_us, self.hardest_mns = self.impact_us, self.impact_mns
            self.place_mm = (float(place_m[0]) * 1000, float(place_m[1]) * 1000)


@dataclass(slots=True)
class Recorder:
    """A recording of an engine's steps, which `flight` converts to a flight."""

    cast: Cast
    t_us: list[int] = field(default_factory=list)
    poses: list[tuple[Floats, Floats]] = field(default_factory=list)
    """Centres (2, 3) in metres, and rotation matrices (2, 3, 3) whose columns are the dice's axes."""
    contacts: list[Contact] = field(default_factory=list)
    supports: list[tuple[int, int, Thing, Floats]] = field(default_factory=list)
    """Supports of dice at rest: time, die, object, and the unit vector from the object into the die."""
    _open: dict[tuple[int, Thing], Contact] = field(default_factory=dict)

    def pose(self, t_us: int, centres: Floats, axes: Floats) -> None:
        """Record the dice's poses."""
        self.t_us.append(t_us)
        self.poses.append((centres.copy(), axes.copy()))

    def contact(self, t_us: int, die: int, thing: Thing, place_m: Sequence[float], impulse_ns: float) -> None:
        """Record a die's contact with an object and the impulse of this step (newton-seconds)."""
        contact = self._open.get((die, thing))
        if contact is None or t_us - contact.end_us > MIN_CLEAR_US:
            contact = Contact(die, thing, t_us, t_us, 0.0, (0.0, 0.0), t_us)
            self._open[die, thing] = contact
            self.contacts.append(contact)
        contact.add(t_us, place_m, impulse_ns)

    def record_support(self, t_us: int, die: int, thing: Thing, outward: Floats) -> None:
        """Record a die's support; only the latest supports of a stay are used."""
        self.supports.append((t_us, die, thing, outward))

    def reach_m(self, die: int) -> float:
        """Return the largest x that any corner of a die reaches."""
        return max(
            float(centres[die, 0] + self.cast.die_m / 2 * np.abs(axes[die, 0]).sum())
            for centres, axes in self.poses
        )

    def with_wall_at(self, cast: Cast, wall_m: float) -> "Recorder":
        """Shift this recording by the distance from `wall_m` to the cast's right wall; return the recording.

        Raises UnsettledError if the hand is too close to a wall after the shift.
        """
        by_m = cast.length_m - wall_m
        if not MIN_BEHIND_M < cast.bodies[0].place[0] + by_m < cast.length_m - MIN_AHEAD_M:
            raise UnsettledError
        self.cast = cast
        for centres, _ in self.poses:
            centres[:, 0] += by_m
        for contact in self.contacts:
            contact.place_mm = (contact.place_mm[0] + by_m * 1000, contact.place_mm[1])
        return self

    def flight(self) -> Flight:
        """Return the recorded flight."""
        cast_, t = self.cast, np.array(self.t_us)
        centres = np.array([pose[0] for pose in self.poses]) * 1000
        axes = np.array([pose[1] for pose in self.poses])
        releases = (
            round(cast_.bodies[0].released_s * 1e6),
            round(cast_.bodies[1].released_s * 1e6),
        )
        off_us = (self._fell_off_us(t, centres[:, 0]), self._fell_off_us(t, centres[:, 1]))
        stays = tuple(
            stay for die in (0, 1) for stay in self._stays(die, t, centres[:, die], axes[:, die], off_us[die])
        )
        closest, gap = zip(
            *(self._nearest(t, centres[:, die], axes[:, die], off_us[die]) for die in (0, 1)), strict=True
        )
        return Flight(
            kind=cast_.kind,
            seed=cast_.seed,
            length_mm=round(cast_.length_m * 1000, 1),
            width_mm=round(cast_.width_m * 1000, 1),
            die_mm=round(cast_.die_m * 1000, 2),
            relief_mm=cast_.relief_mm,
            mass_g=round(cast_.mass_kg * 1000, 2),
            released_us=releases,
            tracks=(self._track(0, t, centres, releases), self._track(1, t, centres, releases)),
            touches=self._touches(),
            rims=tuple(self._rims()),
            thumps=self._thumps(),
            stays=stays,
            off_us=off_us,
            closest_mm=closest,
            gap_mm=gap,
            met_us=tuple(m.hardest_us for m in self.contacts if m.thing == "die" and m.die == 0),
        )

    def _fell_off_us(self, t: NDArray[np.int64], centres: Floats) -> int | None:
        below = np.nonzero(centres[:, 2] < -20.0)[0]
        if not below.size:
            return None
        inside = (
            (centres[:, 0] > 0)
            & (centres[:, 0] < self.cast.length_m * 1000)
            & (centres[:, 1] > 0)
            & (centres[:, 1] < self.cast.width_m * 1000)
        )
        last = np.nonzero(inside[: below[0]])[0]
        return int(t[min(last[-1] + 1, len(t) - 1)]) if last.size else int(t[0])

    def _track(self, die: int, t: NDArray[np.int64], centres: Floats, releases: tuple[int, int]) -> Track:
        since = int(np.searchsorted(t, releases[die]))
        return thin_track(t[since:], centres[since:, die, 0], centres[since:, die, 1])

    def _touches(self) -> tuple[Touch, ...]:
        return tuple(
            Touch(
                m.hardest_us,
                m.die,
                cast("Wall", m.thing),
                round(m.place_mm[1 if m.thing in ("left", "right") else 0], 1),
                round(m.hardest_mns, 3),
            )
            for m in self.contacts
            if m.thing in WALLS
        )

    def _rims(self) -> Iterator[Touch]:
        """Yield the contacts with the top of an end wall."""
        length = self.cast.length_m * 1000
        for m in self.contacts:
            x, y = m.place_mm
            wall: Wall | None = "left" if x <= RIM_MM else "right" if x >= length - RIM_MM else None
            if m.thing == "rail" and wall is not None:
                yield Touch(m.hardest_us, m.die, wall, round(y, 1), round(m.hardest_mns, 3))

    def _thumps(self) -> tuple[Thump, ...]:
        length, width = self.cast.length_m * 1000, self.cast.width_m * 1000
        thumps = []
        for m in self.contacts:
            if m.thing != "felt" or m.hardest_mns < THUMP_MNS:
                continue
            x, y = m.place_mm
            walls: tuple[tuple[Wall, float, float], ...] = (
                ("left", x, y),
                ("right", length - x, y),
                ("front", y, x),
                ("back", width - y, x),
            )
            thumps += [
                Thump(m.hardest_us, m.die, wall, round(distance, 1), round(along, 1), round(m.hardest_mns, 2))
                for wall, distance, along in walls
                if distance < THUMP_HEARD_MM
            ]
        return tuple(thumps)

    def _nearest(
        self, t: NDArray[np.int64], centres: Floats, axes: Floats, off_us: int | None
    ) -> tuple[float, float]:
        half = self.cast.die_m * 500
        wall = self.cast.length_m * 1000
        inside = t < (t[-1] + 1 if off_us is None else max(off_us, t[1]))
        reach = half * np.abs(axes[:, 0, :]).sum(axis=1)
        centre = wall - centres[inside, 0]
        return round(float(centre.min()) - half, 1), round(float((centre - reach[inside]).min()), 2)

    def _stays(
        self, die: int, t: NDArray[np.int64], centres: Floats, axes: Floats, off_us: int | None
    ) -> list[Stay]:
        if len(t) < 3:
            return []
        moved = np.linalg.norm(np.diff(centres, axis=0), axis=1) / (np.diff(t) * 1e-6)
        turn = np.linalg.norm(np.diff(axes, axis=0), axis=(1, 2)) / math.sqrt(2) / (np.diff(t) * 1e-6)
        still = (moved < STILL_MM_S) & (turn < STILL_RAD_S)
        found: list[Stay] = []
        index = 0
        while index < len(still):
            if not still[index]:
                index += 1
                continue
            end = index
            while end < len(still) and still[end]:
                end += 1
            long = t[end] - t[index] >= STAY_US
            if long and t[index] > 0 and (off_us is None or t[end] < off_us):
                found.append(self._stay(die, int(t[index]), int(t[end]), axes[end]))
            index = end
        return found

    def _stay(self, die: int, begin_us: int, end_us: int, axes: Floats) -> Stay:
        up = NORMALS @ axes.T[:, 2]
        face = int(np.argmax(up)) + 1
        tilt = math.degrees(math.acos(min(1.0, float(up.max()))))
        current = [s for s in self.supports if s[1] == die and begin_us <= s[0] <= end_us]
        latest = max((s[0] for s in current), default=0)
        current = [s for s in current if s[0] > latest - 10_000]
        things = {thing for _, _, thing, _ in current if thing in ("chips", "die", "rail")}
        on: Surface = "felt"
        if any(thing == "rail" for thing in things):
            on = "rail"
        elif "chips" in things:
            on = "chips"
        elif "felt" not in {s[2] for s in current} and "die" in things:
            on = "die"
        sides: set[int] = set()
        if tilt > FLAT_DEG:
            for _, _, _, outward in current:
                sides.add(int(np.argmax(NORMALS @ (axes.T @ -outward))) + 1)
        return Stay(
            begin_us,
            die,
            cast("Face", face),
            round(tilt, 1),
            on,
            tuple(cast("Face", side) for side in sorted(sides)),
        )


def thin_track(t_us: NDArray[np.int64], xs: Floats, ys: Floats, error_mm: float = ERROR_MM) -> Track:
    """Return a track with few points that deviates from the samples by at most `error_mm`.

    Seen from above, a die in the air moves linearly, so a second of flight needs only a few dozen points. The
    method is that of Douglas and Peucker (1973), with the distance measured at equal times.
    """
    kept = {0, len(t_us) - 1}
    spans = [(0, len(t_us) - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        fraction = (t_us[first + 1 : last] - t_us[first]) / (t_us[last] - t_us[first])
        deviation = np.maximum(
            np.abs(xs[first + 1 : last] - xs[first] - fraction * (xs[last] - xs[first])),
            np.abs(ys[first + 1 : last] - ys[first] - fraction * (ys[last] - ys[first])),
        )
        worst = int(np.argmax(deviation))
        if deviation[worst] > error_mm:
            where = first + 1 + worst
            kept.add(where)
            spans += [(first, where), (where, last)]
    order = sorted(kept)
    return Track(
        tuple(int(t_us[i]) for i in order),
        tuple(round(float(xs[i]), 1) for i in order),
        tuple(round(float(ys[i]), 1) for i in order),
    )
