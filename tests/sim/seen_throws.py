"""Throws of bodies, drawn as a camera over the end of the table films them: from pixels to the call.

`python -m tests.sim.seen_throws --throws 50` measures; a slice runs in every test run.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from random import Random

import msgspec
import numpy as np

from controller.cli.main import main as tablectl
from controller.model.geometry import DiceTable
from controller.model.readings import DieRest, WallImpact
from drivers.sim.bodies.casts import UnsettledError, draw
from drivers.sim.bodies.engine import simulate
from drivers.sim.bodies.flights import Flight, Kind
from drivers.sim.bodies.watching import Conditions, PhysicalTruth, Watch
from drivers.sim.filming import Filming, Rigging, Way
from drivers.sim.rendering import IVORY, Lens, Light, Look
from drivers.vision.following import Follower
from drivers.vision.rig import LensFile, Rig, RigFile

TABLE = DiceTable(length_mm=3600.0, width_mm=1100.0, die_mm=19.0, wall_relief_mm=0.0)
KINDS: tuple[Kind, ...] = ("together", "apart", "collide", "at_wall", "backspin", "hard")
BLUE = Look(body=(150, 70, 25), pips=(240, 240, 240), through=0.15)
RIGS = (
    Rigging(Lens(760, 960, 1200.0, (3180.0, 550.0, 1500.0), (3180.0, 550.0, 0.0))),
    Rigging(
        Lens(760, 960, 1200.0, (3160.0, 540.0, 1500.0), (3180.0, 550.0, 0.0), (-0.08, 0.01, 0.0, 0.0)),
        light=Light(lamp=(-0.3, 0.4, 0.8), noise=4.0),
        cloth=(40, 60, 140),
        look=IVORY,
    ),
    Rigging(
        Lens(760, 960, 1200.0, (3210.0, 510.0, 1480.0), (3180.0, 550.0, 0.0)),
        light=Light(lamp=(0.1, 0.5, 0.9), bright=0.8),
        cloth=(70, 70, 75),
        look=BLUE,
    ),
)
"""Casino red on green, ivory on brown through a bent lens, blue on grey with less light."""
LINGERS_US = 450_000
"""How long the film goes on once everything is still."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """One throw, seen and called."""

    seed: int
    truth: PhysicalTruth
    faces: tuple[tuple[int, int | None], ...]
    """The true face of each die that came to rest in sight, and the one that was told."""
    call: str
    """The type of the outcome that closed it."""
    dice: tuple[int, ...]
    """As called."""


def rig_of(rigging: Rigging) -> Rig:
    """Return the rig of a camera, measured without error."""
    lens = rigging.lens
    places = [(2900, 60), (3590, 60), (3590, 1040), (2900, 1040), (3300, 550)]
    pixels = lens.seen(np.array([(x, y, 0.0) for x, y in places]))
    points = tuple(
        (float(x), float(y), float(place[0]), float(place[1]))
        for (x, y), place in zip(pixels, places, strict=True)
    )
    solved = LensFile(
        focal_px=(lens.focal_px, lens.focal_px), middle_px=lens.middle, distortion=lens.distortion
    )
    return Rig(RigFile(camera="cam", table=TABLE, points=points, lens=solved))


def throw(seed: int) -> Seen | None:
    """Throw, film, follow, read and call; None where the dice did not settle in time."""
    try:
        recorder = simulate(draw(KINDS[seed % len(KINDS)], f"seen {seed}", relief_mm=0.0))
    except UnsettledError:
        return None
    flight = recorder.flight()
    if not flight.settled:
        return None
    rigging = RIGS[seed % len(RIGS)]
    camera = Filming(rigging, seed)
    follower = Follower(rig_of(rigging), camera.empty())
    way = Way(recorder.t_us, [(centres * 1000, axes) for centres, axes in recorder.poses])
    readings = [
        reading
        for t_us, picture, still in camera.frames(way, flight.end_us + LINGERS_US)
        for reading in follower.frame(t_us, picture, still)
    ]
    watch = Watch(flight, TABLE, Random(seed), 0, Conditions(knocks=0.0, hides=0.0, drops=0.0))
    heard = [reading for _, reading in watch.feed() if isinstance(reading, WallImpact)]
    rests = [reading for reading in readings if isinstance(reading, DieRest)]
    call, dice = _called([*readings, *heard])
    return Seen(seed=seed, truth=watch.truth, faces=_faces(flight, rigging, rests), call=call, dice=dice)


def _faces(flight: Flight, rigging: Rigging, rests: list[DieRest]) -> tuple[tuple[int, int | None], ...]:
    found: list[tuple[int, int | None]] = []
    for die in (0, 1):
        stay = flight.last_stay(die)
        x, y = flight.tracks[die].at(1e12)
        px, py = rigging.lens.seen(np.array([[x, y, 9.5]]))[0]
        in_sight = 25 < px < rigging.lens.width - 25 and 25 < py < rigging.lens.height - 25
        if stay is None or not in_sight:
            continue
        near = [rest.up for rest in rests if abs(rest.x - x) < 15 and abs(rest.y - y) < 15]
        found.append((stay.face, near[-1] if near else None))
    return tuple(found)


def _called(readings: list[object]) -> tuple[str, tuple[int, ...]]:
    header = {
        "log": "table-readings",
        "version": 1,
        "table": "seen",
        "ruleset": "craps-12-034",
        "dice_table": msgspec.to_builtins(TABLE),
    }
    encode = msgspec.json.encode
    ordered = sorted(readings, key=lambda reading: int(getattr(reading, "t", 0)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seen.jsonl"
        path.write_bytes(b"\n".join([encode(header), *map(encode, ordered)]) + b"\n")
        told = BytesIO()
        with redirect_stdout(TextIOWrapper(told, write_through=True)) as stream:
            tablectl(["replay", str(path), "--json"])
            stream.flush()
            lines = told.getvalue().splitlines()
    for line in lines:
        outcome = json.loads(line)
        if outcome["type"] in {"roll.called", "roll.no_roll", "roll.review"}:
            return outcome["type"], tuple(outcome["data"].get("dice") or ())
    return "nothing", ()


def count(seens: list[Seen]) -> Counter[str]:
    """Return how often what was right, wrong, or left to a person."""
    found: Counter[str] = Counter()
    for seen in seens:
        for true, told in seen.faces:
            found["face " + ("unread" if told is None else "right" if told == true else "WRONG")] += 1
        if seen.call == "roll.called":
            right = seen.truth.verdict == "valid" and sorted(seen.dice) == sorted(seen.truth.faces)
            found["call right" if right else "call WRONG"] += 1
        elif seen.call == "roll.no_roll":
            found["void right" if seen.truth.verdict == "no_roll" else "void WRONG"] += 1
        else:
            in_sight = len(seen.faces) == 2
            needed = seen.truth.undecidable or not in_sight
            found["review needed" if needed else "review needless"] += 1
    return found


def main() -> int:
    """Measure; exit 1 where a face or a call was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--throws", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    seens = []
    for seed in range(arguments.first, arguments.first + arguments.throws):
        seen = throw(seed)
        if seen is None:
            continue
        seens.append(seen)
        if any(true != told for true, told in seen.faces) or seen.call != "roll.called":
            sys.stderr.write(f"{seed}: {seen.faces} {seen.call} {seen.dice} {seen.truth}\n")
            sys.stderr.flush()
    found = count(seens)
    for what, times in sorted(found.items()):
        sys.stdout.write(f"{what}: {times}\n")
    return 1 if any("WRONG" in what for what in found) else 0


if __name__ == "__main__":
    sys.exit(main())
