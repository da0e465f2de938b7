"""Judge rigid-body throws from rendered images of a camera over the end of the table.

`python -m tests.sim.seen_throws --throws 50` measures each kind of throw with each camera. `--kinds near_miss
near_miss_one_hit` throws dice that stop before the wall.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import get_args

import msgspec

from controller.cli.main import main as tablectl
from controller.model.geometry import DiceTable
from controller.model.readings import AnyReading
from drivers.sim.bodies.flights import Kind
from drivers.sim.bodies.watching import PhysicalTruth
from drivers.sim.filming import FilmRig
from drivers.sim.rendered_throws import KINDS, RIGS, filmed

TABLE = DiceTable(length_mm=3600.0, width_mm=1100.0, die_mm=19.0, wall_relief_mm=0.0)


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The camera's readings of one throw, and its outcome."""

    seed: int
    truth: PhysicalTruth
    faces: tuple[tuple[int, int | None], ...]
    """The true and the reported face of each die that came to rest in view."""
    call: str
    """The type of the outcome that ended the throw."""
    dice: tuple[int, ...]
    """The called faces."""
    reasons: tuple[str, ...]
    """The reasons for a review or a No Roll."""


def throw(seed: int, kind: Kind | None = None, film_rig: FilmRig | None = None) -> Seen | None:
    """Throw, film, read and judge; return None if the dice did not settle as their kind requires."""
    kind = kind or KINDS[seed % len(KINDS)]
    made = filmed(kind, f"seen {seed}", film_rig or RIGS[seed % len(RIGS)], TABLE)
    if made is None:
        return None
    call, dice, reasons = _called(made.readings)
    return Seen(seed=seed, truth=made.truth, faces=made.faces, call=call, dice=dice, reasons=reasons)


def _called(readings: Sequence[AnyReading]) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    header = {
        "log": "table-readings",
        "version": 1,
        "table": "seen",
        "ruleset": "craps-12-034",
        "dice_table": msgspec.to_builtins(TABLE),
    }
    encode = msgspec.json.encode
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seen.jsonl"
        path.write_bytes(b"\n".join([encode(header), *map(encode, readings)]) + b"\n")
        printed = BytesIO()
        with redirect_stdout(TextIOWrapper(printed, write_through=True)) as stream:
            tablectl(["replay", str(path), "--json"])
            stream.flush()
            lines = printed.getvalue().splitlines()
    for line in lines:
        outcome = json.loads(line)
        if outcome["type"] in {"roll.called", "roll.no_roll", "roll.review"}:
            data = outcome["data"]
            reasons = tuple(reason["seen"] for reason in data.get("reasons", ()))
            return outcome["type"], tuple(data.get("dice") or ()), reasons
    return "nothing", (), ()


def count(seens: list[Seen]) -> Counter[str]:
    """Count the right, wrong and undecided faces and calls."""
    found: Counter[str] = Counter()
    for seen in seens:
        for true, read in seen.faces:
            found["face " + ("unread" if read is None else "right" if read == true else "WRONG")] += 1
        if seen.call == "roll.called":
            right = seen.truth.verdict == "valid" and sorted(seen.dice) == sorted(seen.truth.faces)
            found["call right" if right else "call WRONG"] += 1
        elif seen.call == "roll.no_roll":
            found["void right" if seen.truth.verdict == "no_roll" else "void WRONG"] += 1
        else:
            found["review " + _why_reviewed(seen)] += 1
    return found


def _why_reviewed(seen: Seen) -> str:
    """Return the kind of a review: needed, of the release, or needless."""
    if seen.truth.undecidable or len(seen.faces) < 2:
        return "needed"
    # The hand is out of view, and the dice came into view one after the other.
    return "of the release" if any("release of die" in reason for reason in seen.reasons) else "needless"


def main() -> int:
    """Measure the throws; return 1 if a face or a call was wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--throws", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=get_args(Kind), default=KINDS)
    arguments = parser.parse_args()
    kinds = arguments.kinds
    seens = []
    for seed in range(arguments.first, arguments.first + arguments.throws):
        film_rig = RIGS[seed // len(kinds) % len(RIGS)]
        seen = throw(seed, kinds[seed % len(kinds)], film_rig)
        if seen is None:
            continue
        seens.append(seen)
        if any(true != read for true, read in seen.faces) or seen.call != "roll.called":
            sys.stderr.write(f"{seed}: {seen.faces} {seen.call} {seen.reasons} {seen.truth}\n")
            sys.stderr.flush()
    found = count(seens)
    for what, times in sorted(found.items()):
        sys.stdout.write(f"{what}: {times}\n")
    return 1 if any("WRONG" in what for what in found) else 0


if __name__ == "__main__":
    sys.exit(main())
