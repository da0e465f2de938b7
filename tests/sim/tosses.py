"""Compare the physics models with real tosses.

Usage: `python -m tests.sim.tosses CUBE_TOSSES.npz [--tosses N] [--physics own]`.

The tosses are those of ContactNets (Pfrommer, Halm, Posa 2020): an acrylic cube of 10.48 cm and 0.37 kg on
wood, motion-captured at 148 Hz. Friction 0.18 and restitution 0.125 are the authors' nominal values. Each
toss is repeated in a model from its initial state. Both are measured from their poses only.
docs/dice-physics.md contains the results.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drivers.sim.bodies.casts import Body, Cast, Surface
from drivers.sim.bodies.recording import CORNERS, Recorder

Floats = NDArray[np.float64]
FRAME_S = 1 / 148
CUBE_M, CUBE_KG = 0.1048, 0.37
WOOD = Surface(friction=0.18, restitution=0.125, impact_s=0.004)
AIR_FRAMES = 5
"""Number of frames that determine the initial speed and spin."""
FLOOR_M = 50.0
Simulate = Callable[[Cast], Recorder]


@dataclass(frozen=True, slots=True)
class Poses:
    """A cube's centres (n, 3) in metres and axes (n, 3, 3), by frame."""

    places: Floats
    axes: Floats

    @property
    def lowest(self) -> Floats:
        """Return the height of the lowest corner."""
        corners = self.places[:, None, :] + np.einsum("nij,kj->nki", self.axes, CORNERS * CUBE_M)
        return np.asarray(corners[:, :, 2].min(axis=1))


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of a toss from its first impact to rest."""

    bounce: float
    """Vertical speed of the centre after the first impact, relative to the speed before it."""
    slowed: float
    """Horizontal speed after the first impact, relative to the speed before it."""
    way: float
    """Distance from the first impact to rest, in edges."""
    time: float
    """Time from the first impact to rest, in units of sqrt(edge / g)."""
    turns: float
    """Rotation from the first impact to rest."""


def measured(poses: Poses) -> Measures | None:
    """Measure a toss, or return None if no free fall was recorded before its first impact."""
    lowest, places = poses.lowest, poses.places
    below = np.nonzero(lowest < 0.1 * CUBE_M)[0]
    if not below.size or below[0] < AIR_FRAMES:
        return None
    blow = int(below[0])
    while blow + 1 < len(lowest) and lowest[blow + 1] < lowest[blow]:
        blow += 1
    if blow + 6 > len(places):
        return None
    speed = np.diff(places, axis=0) / FRAME_S
    angle = np.array([_angle(a.T @ b) for a, b in zip(poses.axes, poses.axes[1:], strict=False)])
    before, after = speed[blow - 3 : blow - 1].mean(axis=0), speed[blow + 1 : blow + 3].mean(axis=0)
    still = (np.linalg.norm(speed, axis=1) > 0.05) | (angle / FRAME_S > 0.5)
    last = int(np.nonzero(still)[0][-1]) + 1 if still.any() else blow
    last = max(last, blow + 1)
    return Measures(
        bounce=float(after[2] / -before[2]) if before[2] < -0.3 else float("nan"),
        slowed=float(np.linalg.norm(after[:2])) / max(0.05, float(np.linalg.norm(before[:2]))),
        way=float(np.linalg.norm(places[last, :2] - places[blow, :2])) / CUBE_M,
        time=(last - blow) * FRAME_S / (CUBE_M / 9.81) ** 0.5,
        turns=float(angle[blow:last].sum()) / (2 * np.pi),
    )


def _angle(turned: Floats) -> float:
    return float(np.arccos(np.clip((np.trace(turned) - 1) / 2, -1, 1)))


def real(rows: Floats) -> Poses:
    """Return a real toss. Its rows are in half-widths, and the resting cube defines the floor."""
    half = CUBE_M / 2
    places = rows[:, :3].astype(float) * half
    places[:, 2] += half - places[-1, 2]
    return Poses(places, np.array([_matrix(q) for q in rows[:, 3:7].astype(float)]))


def thrown_again(poses: Poses, simulate: Simulate) -> Poses:
    """Simulate a toss from its initial state."""
    n = AIR_FRAMES
    times = np.arange(n) * FRAME_S
    fallen = poses.places[:n] + np.outer(times**2, [0, 0, 9.81 / 2])
    slope, start = np.polyfit(times, fallen, 1)
    turn = poses.axes[n - 1] @ poses.axes[0].T
    angle = _angle(turn)
    spin = np.zeros(3)
    if angle > 1e-6:
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
        spin = axis / (2 * np.sin(angle)) * angle / times[-1]
    x, y, z = start.tolist()
    body = Body(
        place=(x + FLOOR_M / 2, y + FLOOR_M / 2, z),
        orientation=_quaternion(poses.axes[0]),
        speed=(slope[0], slope[1], slope[2]),
        spin=(spin[0], spin[1], spin[2]),
    )
    idle = Body(place=(5.0, 5.0, CUBE_M / 2), orientation=(1, 0, 0, 0), speed=(0, 0, 0), spin=(0, 0, 0))
    recorder = simulate(
        Cast(
            kind="apart",
            seed="toss",
            bodies=(body, idle),
            die_m=CUBE_M,
            mass_kg=CUBE_KG,
            length_m=FLOOR_M,
            width_m=FLOOR_M,
            felt=WOOD,
        )
    )
    t = np.array(recorder.t_us) * 1e-6
    frames = np.searchsorted(t, np.arange(0, t[-1], FRAME_S))
    return Poses(
        np.array([recorder.poses[i][0][0] for i in frames]),
        np.array([recorder.poses[i][1][0] for i in frames]),
    )


def _matrix(q: Floats) -> Floats:
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(m: Floats) -> tuple[float, float, float, float]:
    k = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0, m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [0, 0, m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [0, 0, 0, m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    values, vectors = np.linalg.eigh(k, UPLO="U")
    w, x, y, z = vectors[:, int(np.argmax(values))].tolist()
    return (w, x, y, z)


def quartiles(found: list[Measures]) -> Mapping[str, tuple[float, float, float]]:
    table = {}
    for name in ("bounce", "slowed", "way", "time", "turns"):
        low, middle, high = np.nanquantile([getattr(each, name) for each in found], [0.25, 0.5, 0.75])
        table[name] = (float(low), float(middle), float(high))
    return table


def simulator(physics: str) -> Simulate:
    """Return the function that simulates a cast with this physics model."""
    if physics == "own":
        from tests.sim import own_physics  # noqa: PLC0415 - imported only if selected

        return own_physics.simulate
    from drivers.sim.bodies import engine  # noqa: PLC0415 - the extra is needed only for the engine

    return engine.simulate


def compare(tosses: Iterator[Floats], simulate: Simulate) -> tuple[list[Measures], list[Measures]]:
    """Return the measures of the real tosses and of their simulations."""
    theirs: list[Measures] = []
    ours: list[Measures] = []
    for rows in tosses:
        poses = real(rows)
        one = measured(poses)
        other = measured(thrown_again(poses, simulate)) if one else None
        if one and other:
            theirs.append(one)
            ours.append(other)
    return theirs, ours


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--tosses", type=int, default=100)
    parser.add_argument("--physics", choices=("mujoco", "own"), default="mujoco")
    arguments = parser.parse_args()
    data = np.load(arguments.file)
    names = list(data.keys())
    step = max(1, len(names) // arguments.tosses)
    theirs, ours = compare((data[name] for name in names[::step]), simulator(arguments.physics))
    sys.stdout.write(f"{len(theirs)} tosses; quartiles: real | {arguments.physics}\n")
    for (name, real_), mine in zip(quartiles(theirs).items(), quartiles(ours).values(), strict=True):
        low, middle, high = real_
        sys.stdout.write(f"{name:>8} {low:6.2f} {middle:6.2f} {high:6.2f} | ")
        sys.stdout.write(" ".join(f"{value:6.2f}" for value in mine) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
