"""A second, independent physics model of dice: hard cubes that collide by impulses.

Between impacts a die falls freely. Its angular velocity is constant, because a cube's inertia is the same
about every axis (m a2 / 6). An impulse stops further penetration where a corner is inside the felt, a wall or
the other die, or where a pyramid's tip is inside a die. Newton's restitution applies along the normal above
`SOFT_M_S`, and Coulomb friction across it. Projected Gauss-Seidel solves all impulses of a step together
(Moreau 1988; Jean 1999). The remaining penetration is corrected without adding speed.

The casts and the recorder are those of the engine's throws.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from drivers.sim.bodies.casts import (
    ENDLESS_M,
    TRIES,
    Cast,
    G,
    Surface,
    UnsettledError,
    before_release,
    draw,
    near_miss_m,
)
from drivers.sim.bodies.flights import Flight, Kind
from drivers.sim.bodies.recording import CORNERS, STILL_MM_S, STILL_RAD_S, Recorder

STEP_S = 0.0004
POSE_STEPS = 2
SWEEPS = 10
SETTLED_NS = 1e-7
"""Impulse change, in N s, that ends the iteration; a die's weight contributes 4e-5 per step."""
ASLEEP_STEPS = 60
"""Number of steps at rest after which a die is skipped, except while the other die is near."""
SOFT_M_S = 0.06
"""Speed below which a contact has no restitution; gravity adds 4 mm/s per step to a die at rest."""
OUT = 0.25
"""Fraction of the penetration that is corrected per step."""
SLOP_M = 0.00005
MAX_THROW_S, STILL_S = 4.0, 0.08
NO_CHIPS = ("chips", "near_miss_one_hit")
KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in NO_CHIPS)
"""The simulated kinds. The model has no chips and can't repeat a throw with a nearer wall."""
Floats = NDArray[np.float64]
Triple = tuple[float, float, float]


@dataclass(slots=True)
class Die:
    """A cube: its centre, axes (as columns), speed and spin."""

    place: Floats
    axes: Floats
    speed: list[float]
    spin: list[float]
    corners: Floats = field(default_factory=lambda: np.zeros((8, 3)))
    still_steps: int = 0

    def move(self, by_s: float) -> None:
        """Advance position and axes in free motion, at constant speed."""
        self.place += np.array(self.speed) * by_s
        angle = math.sqrt(sum(w * w for w in self.spin)) * by_s
        if angle > 1e-9:
            self.axes = _rotation(self.spin, angle) @ self.axes


@dataclass(slots=True)
class Contact:
    """A contact of a die; `normal` points into the die."""

    die: int
    other: int | None
    thing: str
    point: Triple
    normal: Triple
    deep: float
    surface: Surface
    pushed: float = 0.0
    rubbed: tuple[float, float] = (0.0, 0.0)
    target: float = 0.0
    rows: "tuple[Row, ...]" = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One direction of a contact: the effect of an impulse on each die, and the effective mass."""

    axis: Triple
    turns: tuple[tuple[int, float, Triple], ...]
    """Die, direction of the push, and axis of rotation."""
    mass: float


class World:
    """Two dice on a table."""

    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.inertia = cast.mass_kg * cast.die_m**2 / 6
        self.dice = []
        for body in (before_release(body) for body in cast.bodies):
            self.dice.append(
                Die(np.array(body.place), _matrix(body.orientation), list(body.speed), list(body.spin))
            )
        self.relief = cast.relief_mm / 1000
        self.pitch = max(0.016, 1.8 * self.relief)

    def leap(self, by_s: float) -> bool:
        """Advance in free flight if no contact is possible in that time; return whether the dice advanced."""
        reach = 0.9 * self.cast.die_m
        for die in self.dice:
            x, y, z = die.place.tolist()
            own = reach + by_s * (math.hypot(*die.speed) + G * by_s)
            inside = own < x < self.cast.length_m - own and own < y < self.cast.width_m - own
            if z > 0 and (z < own or not inside):
                return False
        apart = float(np.linalg.norm(self.dice[0].place - self.dice[1].place))
        if apart < 2 * reach + by_s * math.dist(self.dice[0].speed, self.dice[1].speed):
            return False
        for die in self.dice:
            die.speed[2] -= G * by_s / 2
            die.move(by_s)
            die.speed[2] -= G * by_s / 2
        return True

    def step(self) -> list[Contact]:
        """Advance one step; return the contacts."""
        near = math.dist(self.dice[0].place, self.dice[1].place) < 3 * self.cast.die_m
        awake = [i for i, die in enumerate(self.dice) if near or die.still_steps < ASLEEP_STEPS]
        for die in (self.dice[i] for i in awake):
            die.speed[2] -= G * STEP_S
            die.corners = die.place + (CORNERS * self.cast.die_m) @ die.axes.T
        contacts = [c for i in awake for c in self._with_table(i)]
        contacts += self._with_each_other() if near else ()
        if contacts:
            self._solve(contacts)
            self._move_out(contacts)
        for die in (self.dice[i] for i in awake):
            die.move(STEP_S)
            die.still_steps = die.still_steps + 1 if _still(die) else 0
        return [contact for contact in contacts if contact.pushed > 0]

    # --- contacts ---

    def _with_table(self, index: int) -> Iterator[Contact]:
        cast, die = self.cast, self.dice[index]
        low = die.corners[:, 2] < 0
        if low.any() and die.place[2] > -cast.die_m:
            for corner in die.corners[low]:
                x, y, z = corner.tolist()
                if 0 <= x <= cast.length_m + self.relief and 0 <= y <= cast.width_m:
                    yield Contact(index, None, "felt", (x, y, z), (0.0, 0.0, 1.0), -z, cast.felt)
        if die.place[2] > cast.rail_m or die.place[2] < 0:
            return
        for axis, sign, at, thing in (
            (0, 1.0, 0.0, "left"),
            (1, 1.0, 0.0, "front"),
            (1, -1.0, cast.width_m, "back"),
        ):
            behind = sign * (die.corners[:, axis] - at)
            passed_over = sign * (float(die.place[axis]) - at) < 0
            if behind.min() < 0 and not passed_over:
                normal = tuple(sign if i == axis else 0.0 for i in range(3))
                for corner, deep in zip(die.corners.tolist(), behind.tolist(), strict=True):
                    if -cast.die_m < deep < 0:
                        yield Contact(index, None, thing, tuple(corner), normal, -deep, cast.wall)  # type: ignore[arg-type]  # three each
        if die.corners[:, 0].max() > cast.length_m and die.place[0] <= cast.length_m + self.relief:
            yield from self._with_far_wall(index, die)

    def _with_far_wall(self, index: int, die: Die) -> Iterator[Contact]:
        cast, half = self.cast, self.pitch / 2
        for x, y, z in die.corners.tolist():
            if x <= cast.length_m or x > cast.length_m + self.relief + cast.die_m or z > cast.rail_m:
                continue
            if not self.relief:
                yield Contact(index, None, "right", (x, y, z), (-1.0, 0.0, 0.0), x - cast.length_m, cast.wall)
                continue
            u, v = ((c / self.pitch) % 1.0 * 2 - 1 for c in (y, z))
            ground = cast.length_m + self.relief * max(abs(u), abs(v))
            if x > ground:
                slope = self.relief / half
                side = math.copysign(slope, u) if abs(u) > abs(v) else 0.0
                rise = math.copysign(slope, v) if abs(v) >= abs(u) else 0.0
                size = math.sqrt(1 + side * side + rise * rise)
                normal = (-1 / size, side / size, rise / size)
                yield Contact(index, None, "right", (x, y, z), normal, (x - ground) / size, cast.wall)
        if self.relief:
            yield from self._with_tips(index, die)

    def _with_tips(self, index: int, die: Die) -> Iterator[Contact]:
        cast, pitch, half_m = self.cast, self.pitch, self.cast.die_m / 2
        reach = 0.87 * cast.die_m
        _, y, z = die.place.tolist()
        for j in range(int((y - reach) / pitch), int((y + reach) / pitch) + 1):
            for k in range(max(0, int((z - reach) / pitch)), int((z + reach) / pitch) + 1):
                tip = (cast.length_m, (j + 0.5) * pitch, (k + 0.5) * pitch)
                inside = die.axes.T @ (np.array(tip) - die.place)
                depth = half_m - np.abs(inside)
                if depth.min() <= 0:
                    continue
                # Choose the face towards the wall that the tip has penetrated least.
                facing = np.where(np.sign(inside) * die.axes[0] > 0.05, depth, np.inf)
                axis = int(np.argmin(facing))
                if math.isinf(facing[axis]):
                    continue
                normal = -np.sign(inside[axis]) * die.axes[:, axis]
                yield Contact(index, None, "right", tip, _triple(normal), float(depth[axis]), cast.wall)

    def _with_each_other(self) -> Iterator[Contact]:
        one, two = self.dice
        apart = one.place - two.place
        if float(apart @ apart) > (1.75 * self.cast.die_m) ** 2:
            return
        half = self.cast.die_m / 2
        axes = [*one.axes.T, *two.axes.T]
        for a in one.axes.T:
            for b in two.axes.T:
                cross = np.cross(a, b)
                size = float(np.linalg.norm(cross))
                if size > 0.05:
                    axes.append(cross / size)
        table = np.array(axes)
        reach = half * (np.abs(table @ one.axes).sum(axis=1) + np.abs(table @ two.axes).sum(axis=1))
        overlap = reach - np.abs(table @ apart)
        if overlap.min() <= 0:
            return
        overlap[6:] += 0.0002  # prefer faces: an edge's axis needs a clearly smaller overlap
        best = int(np.argmin(overlap))
        normal = table[best] * math.copysign(1.0, float(table[best] @ apart))
        deep = float(overlap[best]) - (0.0002 if best >= 6 else 0.0)
        points = [c for c in one.corners if np.abs(two.axes.T @ (c - two.place)).max() < half]
        points += [c for c in two.corners if np.abs(one.axes.T @ (c - one.place)).max() < half]
        if best >= 6 or not points:
            nearest = (
                one.corners[np.argmin(one.corners @ normal)],
                two.corners[np.argmax(two.corners @ normal)],
            )
            points = [_between_edges(*nearest, one, two, best)] if best >= 6 else [sum(nearest) / 2]
        for point in points:
            yield Contact(0, 1, "die", _triple(point), _triple(normal), deep, self.cast.die)

    # --- impulses ---

    def _solve(self, contacts: list[Contact]) -> None:
        for contact in contacts:
            n = contact.normal
            side = _cross(n, (0.0, 0.0, 1.0) if abs(n[2]) < 0.9 else (1.0, 0.0, 0.0))
            size = math.sqrt(_dot(side, side))
            side = (side[0] / size, side[1] / size, side[2] / size)
            contact.rows = tuple(self._row(contact, axis) for axis in (n, side, _cross(n, side)))
            closing = -self._speed_along(contact.rows[0])
            contact.target = contact.surface.restitution * closing if closing > SOFT_M_S else 0.0
        for _ in range(SWEEPS):
            changed = 0.0
            for contact in contacts:
                across, *along = contact.rows
                want = (contact.target - self._speed_along(across)) * across.mass
                pushed = max(0.0, contact.pushed + want)
                self._push(across, pushed - contact.pushed)
                changed = max(changed, abs(pushed - contact.pushed))
                contact.pushed = pushed
                limit = contact.surface.friction * pushed
                rubbed = [
                    old - self._speed_along(row) * row.mass
                    for old, row in zip(contact.rubbed, along, strict=True)
                ]
                size = math.hypot(*rubbed)
                if size > limit:
                    rubbed = [r * limit / size for r in rubbed]
                for old, new, row in zip(contact.rubbed, rubbed, along, strict=True):
                    self._push(row, new - old)
                contact.rubbed = (rubbed[0], rubbed[1])
            if changed < SETTLED_NS:
                break

    def _row(self, contact: Contact, axis: Triple) -> Row:
        turns, inverse = [], 0.0
        for sign, index in zip((1.0, -1.0), self.both(contact), strict=False):
            turn = _cross(_minus(contact.point, _triple(self.dice[index].place)), axis)
            turns.append((index, sign, turn))
            inverse += 1 / self.cast.mass_kg + _dot(turn, turn) / self.inertia
        return Row(axis, tuple(turns), 1 / inverse)

    @staticmethod
    def both(contact: Contact) -> tuple[int, ...]:
        return (contact.die,) if contact.other is None else (contact.die, contact.other)

    def _speed_along(self, row: Row) -> float:
        total = 0.0
        for index, sign, turn in row.turns:
            die = self.dice[index]
            total += sign * (_dot(die.speed, row.axis) + _dot(die.spin, turn))
        return total

    def _push(self, row: Row, impulse: float) -> None:
        x, y, z = row.axis
        for index, sign, turn in row.turns:
            die = self.dice[index]
            straight, round_ = sign * impulse / self.cast.mass_kg, sign * impulse / self.inertia
            die.speed[0] += straight * x
            die.speed[1] += straight * y
            die.speed[2] += straight * z
            die.spin[0] += round_ * turn[0]
            die.spin[1] += round_ * turn[1]
            die.spin[2] += round_ * turn[2]

    def _move_out(self, contacts: list[Contact]) -> None:
        for index, die in enumerate(self.dice):
            deepest: dict[str, Contact] = {}
            for contact in contacts:
                if index in self.both(contact) and contact.deep > SLOP_M:
                    known = deepest.get(contact.thing)
                    if known is None or contact.deep > known.deep:
                        deepest[contact.thing] = contact
            for contact in deepest.values():
                sign = 1.0 if index == contact.die else -1.0
                share = OUT if contact.other is None else OUT / 2
                die.place += sign * share * (contact.deep - SLOP_M) * np.array(contact.normal)


def simulate(cast: Cast) -> Recorder:
    """Simulate a cast until the dice are at rest."""
    world, recorder = World(replace(cast, chips=())), Recorder(cast)
    t_s, quiet_since = 0.0, None
    while t_s < MAX_THROW_S:
        centres = np.array([die.place for die in world.dice])
        recorder.pose(round(t_s * 1e6), centres, np.array([die.axes for die in world.dice]))
        gone = [bool(place[2] < -0.05) for place in centres]
        quiet = all(gone[i] or _still(die) for i, die in enumerate(world.dice))
        quiet_since = (t_s if quiet_since is None else quiet_since) if quiet else None
        if all(gone) or (quiet_since is not None and t_s - quiet_since > STILL_S):
            break
        if world.leap(POSE_STEPS * STEP_S):
            t_s += POSE_STEPS * STEP_S
            continue
        for step in range(POSE_STEPS):
            t_s += STEP_S
            for contact in world.step():
                for die in world.both(contact):
                    t_us = round(t_s * 1e6)
                    away = np.array(contact.normal) * (1 if die == contact.die else -1)
                    off_wall = abs(float(away[1 if contact.thing in ("front", "back") else 0]))
                    share = off_wall if contact.thing not in ("felt", "die") else 1.0
                    recorder.contact(t_us, die, contact.thing, contact.point, contact.pushed * share)
                    if quiet_since is not None and step == 0:
                        recorder.record_support(t_us, die, contact.thing, away)
    return recorder


def thrown(kind: Kind, seed: str, *, relief_mm: float | None = None) -> Flight:
    """Draw a throw of one of `KINDS` and simulate it. Equal seeds give equal flights.

    Raises:
        UnsettledError: None of eight tries came to rest.
    """
    for attempt in range(TRIES):
        cast = draw(kind, f"own {seed}/{attempt}", relief_mm=relief_mm)
        try:
            if kind == "near_miss":
                recorder = simulate(replace(cast, length_m=ENDLESS_M))
                reach_m = max(recorder.reach_m(die) for die in (0, 1))
                flight = recorder.with_wall_at(cast, reach_m + near_miss_m(cast)).flight()
            else:
                flight = simulate(cast).flight()
        except UnsettledError:
            continue
        if flight.settled and (kind != "near_miss" or flight.off_us == (None, None)):
            return msgspec.structs.replace(flight, seed=seed)
    raise UnsettledError(f"{kind} {seed}")


def _still(die: Die) -> bool:
    return max(map(abs, die.speed)) * 1000 < STILL_MM_S and max(map(abs, die.spin)) < STILL_RAD_S


def _between_edges(a: Floats, b: Floats, one: Die, two: Die, best: int) -> Floats:
    """Return the midpoint of the shortest line between two edges, each given by a corner."""
    pairs = [(p, q) for p in one.axes.T for q in two.axes.T if np.linalg.norm(np.cross(p, q)) > 0.05]
    p, q = pairs[best - 6]
    c = float(p @ q)
    gap = b - a
    s = (float(gap @ p) - c * float(gap @ q)) / (1 - c * c)
    t = (c * float(gap @ p) - float(gap @ q)) / (1 - c * c)
    middle: Floats = (a + s * p + b + t * q) / 2
    return middle


def _rotation(axis: list[float], angle: float) -> Floats:
    size = math.sqrt(sum(c * c for c in axis))
    x, y, z = (c / size for c in axis)
    c, s = math.cos(angle), math.sin(angle)
    d = 1 - c
    return np.array(
        [
            [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
            [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
            [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
        ]
    )


def _matrix(turned: tuple[float, float, float, float]) -> Floats:
    w, *v = turned
    angle = 2 * math.atan2(math.sqrt(sum(c * c for c in v)), w)
    return np.eye(3) if angle < 1e-12 else _rotation(v, angle)


def _triple(v: Floats) -> Triple:
    x, y, z = v.tolist()
    return (x, y, z)


def _dot(a: Triple | list[float], b: Triple) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _cross(a: Triple, b: Triple) -> Triple:
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def _minus(a: Triple, b: Triple) -> Triple:
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])
