"""Simulate spins with a second, independent physics model (`own_wheel_bodies`), and score their outcomes.

The model plays a scene and returns its ground truth; the sensors' readings are then disturbed. If the
readings do not determine the truth (`_undecidable`), a review is as correct as the truth.

`python -m tests.sim.own_wheel --spins 1500 --seed 1 [--keep DIR]` prints the scores by kind.
"""

import argparse
import json
import math
import random
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

from tests.replay.score_spins import SCORES, Scored, outcomes_of, read_truth, score
from tests.sim.own_wheel_bodies import STATED_LOSS, TURN, Ball, Rim, SensorReadings, World, draw_rim, turns_of

NEEDED_TURNS = 4.0
UNSURE_TURNS = 0.15
"""Uncertainty of the number of revolutions, due to that of the time of the drop."""
SPINS_A_LOG = 20
LAID, UNHEARD = "laid by hand", "no beam heard the ball"
KINDS = {
    "strong": 34,
    "weak": 14,
    "near_four": 10,
    "pushed_before": 8,
    "pushed_in_run": 5,
    "dead_midway": 5,
    "same_way": 6,
    "caught": 6,
    "second_ball": 4,
    "laid_by_hand": 3,
    "jumped_out": 3,
    "foreign_object": 3,
}
"""Relative frequency of each kind."""


def launch_speed(kind: str, rim: Rim, angle: float, way: int, rng: random.Random) -> float:
    """Return the speed of a dealer's launch, in rad/s without sign."""
    if kind == "weak":
        return rim.critical() * rng.uniform(1.03, 1.7)
    if kind != "near_four":
        return rng.uniform(1.2, 3.0) * TURN
    want = rng.uniform(3.4, 4.6)
    low, high = rim.critical(), rim.critical() * 3
    for _ in range(9):
        middle = (low + high) / 2
        low, high = (middle, high) if turns_of(rim, angle, way * middle) < want else (low, middle)
    return high


def play_spin(world: World, kind: str, rows: list[dict[str, object]]) -> dict[str, object]:
    """Play one scene, add its readings to `rows`, and return its truth."""
    rng, rim = world.rng, world.rim
    world.balls, world.heard, world.jumps = [], SensorReadings(), kind == "jumped_out"
    _between(world, kind)
    start_s = world.t_s - 0.005
    way = 1 if world.rotor < 0 else -1
    if kind == "same_way":
        way = -way
    angle = rng.uniform(0, TURN)
    speed = launch_speed(kind, rim, angle, way, rng)
    if kind == "laid_by_hand":
        pitch = TURN / len(rim.names)
        ball = Ball(angle, 0.0, "pocket", relative=rng.randrange(len(rim.names)) * pitch)
        world.balls.append(ball)
        world.run(rng.uniform(5, 8) * TURN / abs(world.rotor))
        return _tell(world, kind, start_s, ball, 0.0, rows)
    ball = Ball(angle, way * speed)
    world.balls.append(ball)
    launched_s = world.t_s
    if kind in ("weak", "near_four"):
        said: dict[str, object] = {"kind": "input", "dev": "console", "name": "no_more_bets", "by": "dealer"}
        world.heard.others.append((world.t_s + rng.uniform(0.8, 1.6), said))
    if kind == "caught":
        until = rng.uniform(0.5, 6) * TURN
        while ball.turned < until and ball.phase == "track":
            world.step()
        world.balls = []
        world.run(rng.uniform(1.5, 6))
        ball = Ball(rng.uniform(0, TURN), way * rng.uniform(1.2, 3.0) * TURN)
        world.balls, launched_s = [ball], world.t_s
    event_s = world.t_s + rng.uniform(1.5, 5)
    while ball.phase not in ("pocket", "gone"):
        if world.t_s >= event_s:
            event_s = math.inf
            if kind == "second_ball":
                world.balls.append(Ball(rng.uniform(0, TURN), way * rng.uniform(1.0, 2.2) * TURN))
            elif kind == "foreign_object" and ball.phase == "track":
                where = rng.choice(("track", "rotor"))
                world.heard.others.append((world.t_s, {"kind": "foreign_object", "where": where}))
            elif kind == "pushed_in_run" and ball.phase == "track":
                world.push(rng.uniform(0.03, 0.15))
        world.step()
    if ball.phase == "gone" and rng.random() < 0.7:
        world.heard.others.append((world.t_s + rng.uniform(0.1, 1.0), {"kind": "ball_out"}))
    world.run(rng.uniform(6, 8) * TURN / abs(world.rotor))
    return _tell(world, kind, start_s, ball, launched_s, rows)


def _between(world: World, kind: str) -> None:
    rng = world.rng
    world.run(rng.uniform(2, 5))
    slow = abs(world.rotor) < 0.22 * TURN
    if rng.random() < 0.15:
        world.push(-1 - rng.uniform(0.9, 1.1), during_s=2.0)
        world.run(2.1)
    elif slow:
        world.push(rng.uniform(0.25, 0.45) * TURN / abs(world.rotor) - 1, during_s=1.0)
        world.run(1.1)
    world.run(4.2 * TURN / abs(world.rotor))
    if kind == "pushed_before" or rng.random() < 0.1:
        world.push(rng.uniform(0.03, 0.15))
        world.run(rng.uniform(0.5, 12))


def _tell(
    world: World, kind: str, start_s: float, ball: Ball, launched_s: float, rows: list[dict[str, object]]
) -> dict[str, object]:
    rim, rng, heard = world.rim, world.rng, world.heard
    own = [beam for beam in heard.beams if beam[0] >= launched_s]
    dead, dead_from_s = rim.dead, 0.0
    if kind == "dead_midway" and own:
        dead_from_s = rng.choice(own)[0]
        dead = rng.choice([b for b in range(len(rim.beams_deg)) if b != rim.dead])
    readings: list[tuple[float, dict[str, object]]] = list(heard.others)
    kept: list[tuple[float, int, float]] = []
    for at_s, beam, turns in heard.beams:
        silent = beam == rim.dead or (beam == dead and at_s >= dead_from_s)
        if silent or rng.random() < rim.loss:
            continue
        kept.append((at_s, beam, turns))
        pulse = {"kind": "ball_beam", "beam": beam}
        readings.append((at_s + rng.gauss(0, rim.jitter_s), pulse))
        if rng.random() < rim.doubles:
            readings.append((at_s + rng.uniform(0.003, 0.015), pulse))
    strays = 0
    while own and rng.random() < 1 - math.exp(-rim.strays_per_s * (own[-1][0] - launched_s)) and strays < 5:
        strays += 1
        beam = rng.randrange(len(rim.beams_deg))
        readings.append((rng.uniform(own[0][0], own[-1][0]), {"kind": "ball_beam", "beam": beam}))
    index_kept = [one for one in heard.index if rng.random() >= rim.index_loss]
    for at_s, way in index_kept:
        pulse = {"kind": "rotor_index", "direction": way}
        readings.append((at_s + rng.gauss(0, rim.jitter_s / 2), pulse))
        if rng.random() < rim.doubles / 2:
            readings.append((at_s + rng.uniform(0.004, 0.02), pulse))
    reads_kept = [at_s for at_s in heard.reads if rng.random() >= rim.read_loss]
    readings += [(at_s + rng.gauss(0, rim.jitter_s), {"kind": "pocket_ball"}) for at_s in reads_kept]
    for at_s, what in sorted(readings, key=lambda one: one[0]):
        rows.append({"t": round(at_s * 1e6), "dev": "wheel", **what})
    run = [beam for beam in kept if beam[0] >= launched_s]
    turns = ball.turned / TURN
    low, high = _seen_turns(rim, run, turns)
    verdict, reasons = _verdict(kind, turns)
    why = _undecidable(world, kind, ball, own, run, (low, high), reads_kept, index_kept, strays)
    word = {"valid": "call", "no_spin": "void"}[verdict]
    accept = [word] if why is None else [word, "review"]
    number = rim.names[ball.pocket] if verdict == "valid" and ball.pocket is not None else None
    note = {
        "turns": round(turns, 3),
        "low": round(low, 3),
        "high": round(high, 3),
        "beams": len(rim.beams_deg),
        "loss": round(rim.loss, 3),
        "ghosts": strays,
        "dead": dead,
    }
    return {
        "kind": kind,
        "t0": round(start_s * 1e6),
        "t_drop": round(ball.left_s * 1e6) if ball.left_s is not None else None,
        "number": number,
        "verdict": verdict,
        "reasons": reasons,
        "accept": accept,
        "undecidable": why,
        "note": note,
    }


def _verdict(kind: str, turns: float) -> tuple[str, list[str]]:
    causes = {
        "same_way": "same_direction",
        "jumped_out": "ball_out",
        "foreign_object": "foreign_object",
        "second_ball": "foreign_object",
        "laid_by_hand": "too_few_revolutions",
    }
    if kind in causes:
        return "no_spin", [causes[kind]]
    return ("valid", []) if turns >= NEEDED_TURNS else ("no_spin", ["too_few_revolutions"])


def _seen_turns(rim: Rim, run: list[tuple[float, int, float]], turns: float) -> tuple[float, float]:
    """Return the minimum and maximum number of revolutions that the pulses allow."""
    if not run:
        return 0.0, turns + 1
    _, first, before = run[0]
    live = [d for b, d in enumerate(rim.beams_deg) if b != rim.dead]
    arcs = sorted((d - rim.beams_deg[first]) % 360 / 360 for d in live if d != rim.beams_deg[first])
    arc = max(arcs[0], 1 - arcs[-1]) if arcs else 1.0
    return turns - before, turns - before + arc + (arc if rim.loss else 0.0)


def _undecidable(
    world: World,
    kind: str,
    ball: Ball,
    own: list[tuple[float, int, float]],
    run: list[tuple[float, int, float]],
    seen: tuple[float, float],
    reads: list[float],
    index: list[tuple[float, str]],
    strays: int,
) -> str | None:
    """Return the reason why the readings do not determine the truth, or None if they do."""
    rim = world.rim
    if kind == "laid_by_hand":
        return LAID
    if not run:
        return UNHEARD
    if kind in ("second_ball", "jumped_out"):
        return "no sensor reports it"
    live = {b for _, b, _ in run}
    if len(live) < 2 or len(run) < 3:
        return "too few beams detected the ball to show its direction"
    low, high = seen
    if kind != "same_way" and low < NEEDED_TURNS + UNSURE_TURNS and high > NEEDED_TURNS - UNSURE_TURNS:
        return "the pulses allow both more and fewer than four turns"
    working = [beam for beam in own if beam[1] != rim.dead]
    if len(run) < (1 - STATED_LOSS) * len(working) and kind != "dead_midway":
        return "more pulses were lost than stated"
    marks = [b[2] for b in run] + [ball.turned / TURN]
    if max(b - a for a, b in pairwise(marks)) > 0.95:
        return "a turn without a pulse"
    if strays > 0.1 * len(run):
        return "more stray pulses than stated"
    if kind in ("same_way", "foreign_object"):
        return None
    if not _confirmed(world, ball, reads, index):
        return "no three readings in a row between detected index passes"
    return None


def _confirmed(world: World, ball: Ball, reads: list[float], index: list[tuple[float, str]]) -> bool:
    """Return whether the resting ball was read in three consecutive, detected revolutions of the rotor."""
    turn_s = TURN / abs(world.rotor)
    passes = [at_s for at_s, _ in index]
    in_row, last_s = 0, -math.inf
    for at_s in (r for r in reads if r >= ball.since_s):
        before = max((p for p in passes if p <= at_s), default=None)
        after = min((p for p in passes if p > at_s), default=None)
        whole = before is not None and after is not None and after - before < 1.3 * turn_s
        in_row = (in_row + 1 if at_s - last_s < 1.5 * turn_s else 1) if whole else 0
        last_s = at_s
        if in_row == 3:
            return True
    return False


def write_log(path: Path, seed: int, spins: int) -> None:
    """Write a log of one wheel's spins, with a truth file beside it."""
    rng = random.Random(seed)
    rim = draw_rim(rng)
    world = World(rim, rng)
    rows: list[dict[str, object]] = []
    kinds = rng.choices(list(KINDS), list(KINDS.values()), k=spins)
    truths = [play_spin(world, kind, rows) for kind in kinds]
    header = {
        "log": "table-readings",
        "version": 1,
        "table": f"own-wheel-{seed}",
        "ruleset": "roulette",
        "epoch": "2026-01-01T20:00:00Z",
        "wheel": {
            "pockets": rim.pockets,
            "pockets_clockwise": rim.names,
            "beams_deg": rim.beams_deg,
            "pocket_reader_deg": rim.reader_deg,
            "rotor_index_deg": rim.index_deg,
            "drop_rev_per_s": round(rim.critical() / TURN * rng.uniform(0.97, 1.03), 3),
        },
    }
    path.write_text("".join(json.dumps(row) + "\n" for row in (header, *rows)))
    truth_of(path).write_text(json.dumps(truths, indent=1))


def truth_of(path: Path) -> Path:
    return path.with_name(path.name.partition(".jsonl")[0] + ".truth.json")


def judged(path: Path) -> list[Scored]:
    """Replay a log and return the score of each scene.

    A spin begins with its first pulse. Without a pulse, and after a ball placed by hand, a missing outcome is
    correct.
    """
    scored = score(read_truth(truth_of(path)), outcomes_of(path))
    return [
        Scored(one.truth, "right", one.published)
        if one.score == "swallowed" and one.truth.undecidable in (LAID, UNHEARD)
        else one
        for one in scored
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spins", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="a folder for the logs that were judged")
    arguments = parser.parse_args()
    table: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as scratch:
        folder: Path = arguments.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(math.ceil(arguments.spins / SPINS_A_LOG)):
            seed = arguments.seed * 1000 + number
            path = folder / f"own-wheel-{seed}.jsonl"
            write_log(path, seed, min(SPINS_A_LOG, arguments.spins - number * SPINS_A_LOG))
            for place, one in enumerate(judged(path), 1):
                table[one.truth.kind][one.score] += 1
                table["all"][one.score] += 1
                if one.score not in ("right", "allowed review"):
                    line = f"{path.name} scene {place} {one.truth.kind} {one.truth.number}: {one.score}"
                    sys.stdout.write(f"{line}: {one.published}\n")
                    sys.stdout.flush()
    sys.stdout.write(f"{'kind':<16}" + "".join(f"{word:>17}" for word in SCORES) + "\n")
    for kind in (*KINDS, "all"):
        sys.stdout.write(f"{kind:<16}" + "".join(f"{table[kind][word]:>17}" for word in SCORES) + "\n")
    bad = table["all"]
    return 1 if bad["false"] + bad["wrong void"] + bad["swallowed"] else 0


if __name__ == "__main__":
    sys.exit(main())
