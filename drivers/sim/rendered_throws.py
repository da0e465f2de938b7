"""Rigid-body throws, filmed by a simulated camera over the end of the table and read by the dice camera.

This module requires the `physics` and `vision` extras. An engine computes the dice's motion, frames are
rendered from the dice's poses, and `drivers.vision` converts the frames to readings. The wall sensors'
readings follow from the engine's contacts.
"""

from dataclasses import dataclass
from random import Random
from typing import cast

import msgspec
import numpy as np

from controller.model.geometry import DiceTable
from controller.model.readings import AnyReading, DieRest, Face, Input, WallImpact
from drivers.sim.bodies.casts import RELIEFS_MM, UnsettledError, draw
from drivers.sim.bodies.engine import recorded
from drivers.sim.bodies.flights import Flight, Kind
from drivers.sim.bodies.watching import Conditions, PhysicalTruth, Watch
from drivers.sim.filming import IVORY, DieMaterial, Filming, FilmRig, Lens, Light, Motion
from drivers.sim.scenes import Feed, Scene, in_order_of_arrival
from drivers.vision.following import Follower
from drivers.vision.rig import LensSettings, Rig, RigFile

KINDS: tuple[Kind, ...] = ("together", "apart", "collide", "at_wall", "backspin", "hard")
BLUE = DieMaterial(body=(150, 70, 25), pips=(240, 240, 240), translucence=0.15)
RIGS = (
    FilmRig(Lens(760, 960, 1200.0, (3450.0, 550.0, 1500.0), (3180.0, 550.0, 0.0))),
    FilmRig(
        Lens(760, 960, 1200.0, (3430.0, 540.0, 1500.0), (3180.0, 550.0, 0.0), (-0.08, 0.01, 0.0, 0.0)),
        light=Light(lamp=(-0.3, 0.4, 0.8), noise=4.0),
        cloth=(40, 60, 140),
        look=IVORY,
    ),
    FilmRig(
        Lens(760, 960, 1200.0, (3470.0, 510.0, 1480.0), (3180.0, 550.0, 0.0)),
        light=Light(lamp=(0.1, 0.5, 0.9), bright=0.8),
        cloth=(70, 70, 75),
        look=BLUE,
    ),
)
"""Casino red on green, ivory on brown through a distorting lens, and blue on grey with less light.

Each camera hangs 13 to 17 cm in front of the right wall's foot. A single camera cannot measure a die's
height, which at this position barely affects the die's apparent distance from the wall."""
EMPTY_US = 150_000
"""Duration of the video before a die comes into view."""
LINGER_US = 450_000
"""Duration of the video after both dice come to rest."""
READING_DELAY_US = (3_000, 12_000)
"""Minimum and maximum delay between a frame and its readings."""
TRIES = 20
"""Maximum number of draws for one throw; about one throw in a hundred does not settle in time."""
BORDER_PX = 25
"""Minimum distance from the picture's border at which a die's face is read."""
_UNDISTURBED = Conditions(knocks=0.0, hides=0.0, drops=0.0)


@dataclass(frozen=True, slots=True)
class FilmedThrow:
    """One throw: the readings of the camera and the walls in order of arrival, and the ground truth."""

    feed: Feed
    truth: PhysicalTruth
    scene: Scene
    faces: tuple[tuple[Face, Face | None], ...]
    """True face and reported face of each die that came to rest in view."""

    @property
    def readings(self) -> list[AnyReading]:
        """Readings without times of arrival."""
        return [reading for _, reading in self.feed]


def build_rig(film_rig: FilmRig, table: DiceTable) -> Rig:
    """Return the rig of a camera over the right end, calibrated without error."""
    lens, length, width = film_rig.lens, table.length_mm, table.width_mm
    right, left, front, back = length - 10.0, length - 700.0, 60.0, width - 60.0
    places = [(left, front), (right, front), (right, back), (left, back), (length - 300.0, width / 2)]
    pixels = lens.project(np.array([(x, y, 0.0) for x, y in places]))
    points = tuple(
        (float(x), float(y), place[0], place[1]) for (x, y), place in zip(pixels, places, strict=True)
    )
    lens_file = LensSettings(
        focal_px=(lens.focal_px, lens.focal_px), middle_px=lens.middle, distortion=lens.distortion
    )
    return Rig(RigFile(camera="cam", table=table, points=points, lens=lens_file, hand_in_sight=False))


def filmed(kind: Kind, seed: str, film_rig: FilmRig, table: DiceTable) -> FilmedThrow | None:
    """Throw, film and read the dice; return None if the throw does not settle in time or is not of the
    requested kind."""
    relief_mm = min(RELIEFS_MM, key=lambda relief: abs(relief - table.wall_relief_mm))
    try:
        recorder = recorded(draw(kind, seed, relief_mm=relief_mm))
    except UnsettledError:
        return None
    flight = recorder.flight()
    if not flight.settled:
        return None
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    camera = Filming(film_rig, rng.getrandbits(32))
    follower = Follower(build_rig(film_rig, table), camera.empty())
    motion = Motion(recorder.t_us, [(centres * 1000, axes) for centres, axes in recorder.poses])
    begins_us = max(0, camera.in_sight_us(motion) - EMPTY_US)
    seen: Feed = [
        (t_us + rng.randint(*READING_DELAY_US), cast("AnyReading", reading))
        for t_us, picture, still in camera.frames(motion, flight.end_us + LINGER_US, begins_us)
        for reading in follower.frame(t_us, picture, still)
    ]
    watch = Watch(flight, table, rng, 0, _UNDISTURBED)
    heard = [item for item in watch.feed() if isinstance(item[1], WallImpact | Input)]
    truth = watch.truth
    faces = _faces(flight, film_rig, [reading for _, reading in seen if isinstance(reading, DieRest)])
    return FilmedThrow(in_order_of_arrival([*seen, *heard]), truth, _scene(kind, watch, truth, faces), faces)


def _scene(
    kind: Kind, watch: Watch, truth: PhysicalTruth, faces: tuple[tuple[Face, Face | None], ...]
) -> Scene:
    """Return the throw's scene, in which the dice may be reported in either order.

    A review is also correct if a die comes to rest out of view.
    """
    scene = watch.scene_truth(truth)
    allowed = scene.allowed if len(faces) == 2 else (*dict.fromkeys((*scene.allowed, "review")),)
    scene_truth = msgspec.structs.replace(scene, any_order=True, allowed=allowed)
    return Scene(kind=kind, start_us=0, end_us=watch.collected_us, truth=scene_truth)


def _faces(flight: Flight, film_rig: FilmRig, rests: list[DieRest]) -> tuple[tuple[Face, Face | None], ...]:
    lens = film_rig.lens
    found: list[tuple[Face, Face | None]] = []
    for die in (0, 1):
        stay = flight.last_stay(die)
        x, y = flight.tracks[die].at(1e12)
        across, down = lens.project(np.array([[x, y, flight.die_mm / 2]]))[0]
        inside = BORDER_PX < across < lens.width - BORDER_PX and BORDER_PX < down < lens.height - BORDER_PX
        if stay is None or not inside:
            continue
        near = [rest.up for rest in rests if abs(rest.x - x) < 15 and abs(rest.y - y) < 15]
        found.append((stay.face, near[-1] if near else None))
    return tuple(found)


def throw(seed: int, table: DiceTable) -> FilmedThrow:
    """Return the throw for a seed; successive seeds cycle through the kinds and the rigs.

    Raises UnsettledError if all TRIES draws fail.
    """
    kind, film_rig = KINDS[seed % len(KINDS)], RIGS[seed % len(RIGS)]
    for try_number in range(TRIES):
        made = filmed(kind, f"rendered {seed} {try_number}", film_rig, table)
        if made is not None:
            return made
    raise UnsettledError
