"""The simulation of throws in MuJoCo, with two cubes, felt, chips, and walls of board or pyramid rubber.

Contacts are modelled as damped springs. An impact's duration determines the stiffness, and the restitution
determines the damping (MuJoCo's direct `solref`). The time step is short enough to resolve an impact.
"""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple
from typing import cast as typed

import msgspec
import mujoco
import numpy as np

from drivers.sim.bodies.casts import (
    CHIP_M,
    CHIP_RADIUS_M,
    ENDLESS_M,
    MAX_GAP_M,
    MIN_GAP_M,
    TRIES,
    Cast,
    G,
    Surface,
    UnsettledError,
    Vector,
    before_release,
    draw,
    near_miss_m,
)
from drivers.sim.bodies.flights import Flight, Kind
from drivers.sim.bodies.recording import STILL_MM_S, STILL_RAD_S, THUMP_HEARD_MM, WALLS, Floats, Recorder

STEP_S = 0.0002
POSE_STEPS = 3
LEAP_S = 0.0012
"""Time step in free flight, far from any object."""
MAX_THROW_S = 4.0
STILL_S = 0.08
"""Time for which both dice must be still at the end of a throw."""
RAIL_WIDE_M = 0.06
ENERGY_SLACK = 1.01
"""Maximum ratio of the dice's energy after an impact to the energy before it. The limit exceeds 1 because
deep rubber pushes a die from both sides and might return it slightly faster.
"""
_OFF_WALL = {"left": (0, 1), "right": (0, -1), "front": (1, 1), "back": (1, -1)}
"""Axis and direction of each wall's push."""


def solref(surface: Surface) -> tuple[float, float]:
    """Return a surface's stiffness and damping in MuJoCo's direct form (per unit of effective mass).

    A contact with a damped spring of natural frequency w and damping ratio z lasts for pi / (w sqrt(1 - z2))
    and returns the fraction exp(-pi z / sqrt(1 - z2)) of the speed.
    """
    log = math.log(max(surface.restitution, 0.01))
    damping = -log / math.hypot(math.pi, log)
    w = math.pi / surface.impact_s / math.sqrt(1 - damping**2)
    return -(w**2), -2 * damping * w


def _pitch_m(relief_mm: float) -> float:
    """Return the width of a pyramid's square base, at least 1.8 times the pyramid's height."""
    return max(0.016, 0.0018 * relief_mm)


class _Shape(NamedTuple):
    """Parameters of a model; the surfaces and the chips' positions are set later."""

    length: float
    width: float
    rail: float
    die: float
    relief_mm: float
    chips: int


@lru_cache(maxsize=8)
def _model(shape: _Shape) -> mujoco.MjModel:
    length, width, rail, die, relief_mm, chips = shape
    half = die / 2
    deep = relief_mm / 1000
    thick = RAIL_WIDE_M / 2
    geoms = [
        _box("felt", (length / 2, width / 2, -0.05), (length / 2 + 0.03, width / 2 + 0.03, 0.05)),
    ]
    boxes = {
        "left": (-thick, width / 2, thick, width / 2 + 0.06),
        "right": (length + deep + thick, width / 2, thick, width / 2 + 0.06),
        "front": (length / 2, -thick, length / 2 + 0.06, thick),
        "back": (length / 2, width + thick, length / 2 + 0.06, thick),
    }
    geoms += [
        _box(name, (x, y, rail / 2 - 0.01), (sx, sy, rail / 2 + 0.01))
        for name, (x, y, sx, sy) in boxes.items()
    ]
    asset = ""
    if deep:
        pitch = _pitch_m(relief_mm)
        p = pitch / 2
        corners = f"0 {-p} {-p} 0 {p} {-p} 0 {p} {p} 0 {-p} {p} {-deep} 0 0"
        asset = f'<asset><mesh name="tip" vertex="{corners}" inertia="shell"/></asset>'
        geoms += [
            f'<geom type="mesh" mesh="tip" pos="{length + deep} {(j + 0.5) * pitch} {(k + 0.5) * pitch}"'
            ' priority="2"/>'
            for j in range(int(width / pitch) + 1)
            for k in range(int(rail / pitch) + 1)
        ]
    geoms += [
        f'<geom name="chips{i}" type="cylinder" pos="0 0 -1" size="{CHIP_RADIUS_M} 0.001" priority="2"/>'
        for i in range(chips)
    ]
    dice = "".join(
        f'<body name="die{i}" pos="0 {i} 1"><freejoint/>'
        f'<geom name="die{i}" type="box" size="{half} {half} {half}" mass="0.0088" priority="1"/></body>'
        for i in (0, 1)
    )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP_S}" gravity="0 0 {-G}" cone="elliptic" iterations="30"'
        f' tolerance="1e-9" integrator="Euler"><flag nativeccd="enable"/></option>'
        f'<default><geom condim="4" solimp="0.99 0.99 0.001 0.5 2"/></default>{asset}'
        f"<worldbody>{''.join(geoms)}{dice}</worldbody></mujoco>"
    )


def _box(name: str, at: Vector, half: Vector) -> str:
    place, size = (" ".join(f"{v:.6g}" for v in three) for three in (at, half))
    return f'<geom name="{name}" type="box" pos="{place}" size="{size}" priority="2"/>'


class _Table:
    """A model with the surfaces of a cast, and the name of each of its shapes."""

    def __init__(self, cast: Cast) -> None:
        self.model = _model(
            _Shape(cast.length_m, cast.width_m, cast.rail_m, cast.die_m, cast.relief_mm, len(cast.chips))
        )
        self.things: list[str] = []
        for geom in range(self.model.ngeom):
            name = typed("str", self.model.geom(geom).name).rstrip("0123456789") or "right"
            self.things.append(name)
        self.felt = self.model.geom("felt").id
        self.die_of = {self.model.geom(f"die{i}").id: i for i in (0, 1)}
        self.cast = cast
        for geom, thing in enumerate(self.things):
            surface = cast.die if thing == "die" else cast.felt if thing in ("felt", "chips") else cast.wall
            self.model.geom_friction[geom] = (surface.friction, 0.0006, 0.0001)
            self.model.geom_solref[geom] = solref(surface)
        for i, (x, y, count) in enumerate(cast.chips):
            geom = self.model.geom(f"chips{i}").id
            high = count * CHIP_M / 2
            self.model.geom_pos[geom] = (x, y, high)
            self.model.geom_size[geom, 1] = high
            self.model.geom_rbound[geom] = math.hypot(CHIP_RADIUS_M, high)
        inertia = cast.mass_kg * cast.die_m**2 / 6
        for body in (1, 2):
            self.model.body_mass[body] = cast.mass_kg
            self.model.body_inertia[body] = inertia
        self.data = mujoco.MjData(self.model)
        mujoco.mj_setConst(self.model, self.data)

    def touches_matter(self) -> bool:
        """Return whether the contacts before the next pose must be recorded.

        This is necessary if a die might touch an object other than the felt, or land where a wall's sensor
        detects the landing.
        """
        cast = self.cast
        if cast.length_m == ENDLESS_M or cast.chips:
            return True
        near = THUMP_HEARD_MM / 1000
        one, other = self.data.xpos[1].tolist(), self.data.xpos[2].tolist()
        return math.dist(one, other) < 2.5 * cast.die_m or any(
            not near < x < cast.length_m - near or not near < y < cast.width_m - near
            for x, y, _ in (one, other)
        )


def thrown(kind: Kind, seed: str, *, relief_mm: float | None = None, die_mm: float = 19.0) -> Flight:
    """Draw a throw of a kind and simulate it; the same seed produces the same flight.

    Raises UnsettledError if eight draws produce no settled throw of this kind.
    """
    for attempt in range(TRIES):
        cast = draw(kind, f"{seed}/{attempt}", relief_mm=relief_mm, die_mm=die_mm)
        try:
            flight = recorded(cast).flight()
        except UnsettledError:
            continue
        if flight.settled:
            return msgspec.structs.replace(flight, seed=seed)
    raise UnsettledError(f"{kind} {seed}")


def recorded(cast: Cast) -> Recorder:
    """Simulate a cast as its kind requires, until the dice are at rest or the time limit is reached.

    Raises UnsettledError if the dice gain energy or the throw is not of its kind.
    """
    match cast.kind:
        case "near_miss":
            return _just_short(cast)
        case "near_miss_one_hit":
            return _between_reaches(cast)
        case _:
            return simulate(cast)


def _just_short(cast: Cast) -> Recorder:
    """Simulate a throw without a far wall; then place the wall just beyond the reach of the dice."""
    recorder = simulate(replace(cast, length_m=ENDLESS_M))
    wall_m = max(recorder.reach_m(die) for die in (0, 1)) + near_miss_m(cast)
    if recorder.with_wall_at(cast, wall_m).flight().off_us != (None, None):
        raise UnsettledError
    return recorder


def _between_reaches(cast: Cast) -> Recorder:
    """Simulate a throw without a far wall, and again with a wall that only one of the dice reaches."""
    free = simulate(replace(cast, length_m=ENDLESS_M))
    reaches = sorted(free.reach_m(die) for die in (0, 1))
    wall_m = reaches[0] + near_miss_m(cast)
    if reaches[1] < wall_m + 0.02:
        raise UnsettledError
    recorder = simulate(replace(cast, length_m=wall_m)).with_wall_at(cast, wall_m)
    flight = recorder.flight()
    hit = {touch.die for touch in flight.touches if touch.wall == "right"}
    short = [flight.gap_mm[die] for die in (0, 1) if die not in hit]
    if len(short) != 1 or not MIN_GAP_M <= short[0] / 1000 <= MAX_GAP_M:
        raise UnsettledError
    return recorder


def simulate(cast: Cast) -> Recorder:
    """Simulate a cast until the dice are at rest or off the table, for at most `MAX_THROW_S`."""
    table = _Table(cast)
    model, data = table.model, table.data
    for i, body in enumerate(before_release(body) for body in cast.bodies):
        data.qpos[7 * i : 7 * i + 7] = (*body.place, *body.orientation)
        data.qvel[6 * i : 6 * i + 3] = body.speed
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, np.array(body.orientation))
        data.qvel[6 * i + 3 : 6 * i + 6] = axes.reshape(3, 3).T @ np.array(body.spin)
    mujoco.mj_forward(model, data)
    recorder = Recorder(cast)
    still_since, energy_j = None, math.inf
    while data.time < MAX_THROW_S:
        t_us = round(data.time * 1e6)
        recorder.pose(t_us, data.xpos[1:3], data.xmat[1:3].reshape(2, 3, 3))
        gone = [data.qpos[2] < -0.05, data.qpos[9] < -0.05]
        if all(gone):
            break
        if not _are_still(data.qvel, gone):
            still_since = None
        elif still_since is None:
            still_since = data.time
        elif data.time - still_since > STILL_S:
            break
        if _is_in_free_flight(cast, data.qpos, data.qvel):
            now_j = _energy_j(cast, data)
            if now_j > ENERGY_SLACK * energy_j:
                raise UnsettledError(f"{cast.kind} {cast.seed} gained energy")
            energy_j = now_j
            _fly_freely(data)
            continue
        if still_since is None and not table.touches_matter():
            mujoco.mj_step(model, data, POSE_STEPS)
            continue
        for step in range(POSE_STEPS):
            mujoco.mj_step(model, data)
            if data.ncon:
                support = still_since is not None and step == 0
                _contacts(table, recorder, round(data.time * 1e6), support=support)
    return recorder


def _are_still(qvel: Floats, gone: list[bool]) -> bool:
    return all(
        gone[i]
        or (
            np.abs(qvel[6 * i : 6 * i + 3]).max() * 1000 < STILL_MM_S
            and np.abs(qvel[6 * i + 3 : 6 * i + 6]).max() < STILL_RAD_S
        )
        for i in (0, 1)
    )


def _is_in_free_flight(cast: Cast, qpos: Floats, qvel: Floats) -> bool:
    """Return whether no die can touch an object within LEAP_S."""
    reach = 0.9 * cast.die_m
    for i in (0, 1):
        x, y, z = qpos[7 * i : 7 * i + 3]
        if z < 0:
            continue
        margin = reach + LEAP_S * (math.hypot(*qvel[6 * i : 6 * i + 3]) + 0.05)
        floor = margin + (0.02 if cast.chips else 0.0)
        if z < floor or not margin < x < cast.length_m - margin or not margin < y < cast.width_m - margin:
            return False
    distance = math.dist(qpos[0:3], qpos[7:10])
    return distance > 2 * reach + LEAP_S * math.dist(qvel[0:3], qvel[6:9])


def _energy_j(cast: Cast, data: mujoco.MjData) -> float:
    total = 0.0
    for i in (0, 1):
        speed, spin = data.qvel[6 * i : 6 * i + 3], data.qvel[6 * i + 3 : 6 * i + 6]
        total += float(speed @ speed + cast.die_m**2 / 6 * (spin @ spin)) / 2 + G * float(
            data.qpos[7 * i + 2]
        )
    return cast.mass_kg * total


def _fly_freely(data: mujoco.MjData) -> None:
    """Advance both dice by LEAP_S in free flight, in which a cube rotates uniformly about a fixed axis."""
    for i in (0, 1):
        place, speed = data.qpos[7 * i : 7 * i + 3], data.qvel[6 * i : 6 * i + 3]
        place += speed * LEAP_S
        place[2] -= G * LEAP_S**2 / 2
        speed[2] -= G * LEAP_S
        mujoco.mju_quatIntegrate(data.qpos[7 * i + 3 : 7 * i + 7], data.qvel[6 * i + 3 : 6 * i + 6], LEAP_S)
        data.xpos[1 + i] = place
        mujoco.mju_quat2Mat(data.xmat[1 + i], data.qpos[7 * i + 3 : 7 * i + 7])
    data.time += LEAP_S


def _supports_die(frame: Floats, pressed: Floats) -> bool:
    """Return whether a wall's top supports a die, that is, whether the total force points up more than
    sideways.

    An impact on the top edge from the side is treated as an impact on the wall's face.
    """
    force = pressed @ frame.reshape(3, 3)
    return abs(float(force[2])) > math.hypot(float(force[0]), float(force[1]))


def _contacts(table: _Table, recorder: Recorder, t_us: int, *, support: bool) -> None:
    data, rail_m = table.data, recorder.cast.rail_m
    geoms = data.contact.geom
    addresses, pressed = data.contact.efc_address, data.efc_force
    places, frames = data.contact.pos, data.contact.frame
    for index, (first, second) in enumerate(geoms.tolist()):
        address = addresses[index]
        if address < 0 or pressed[address] <= 0:
            continue
        place = places[index].tolist()
        bodies = (table.die_of.get(first), table.die_of.get(second))
        thing = table.things[second if bodies[1] is None else first]
        if (
            place[2] > rail_m - 0.002
            and thing in WALLS
            and _supports_die(frames[index], pressed[address:][:3])
        ):
            thing = "rail"
        force = float(pressed[address]) * STEP_S
        for side, die in enumerate(bodies):
            if die is None:
                continue
            # The frame's first axis points from the first shape to the second.
            outward = frames[index][:3] * (1 if side else -1)
            # Two pyramids squeeze a die from both sides; only the force away from the wall counts.
            across, sign = _OFF_WALL.get(thing, (0, 0))
            recorder.contact(
                t_us, die, thing, place, force * (sign * float(outward[across]) if sign else 1.0)
            )
            if support:
                recorder.record_support(t_us, die, thing, outward.copy())
