"""Simulate rigid-body throws and compare the controller's outcomes with the ground truth.

`python -m tests.sim.dice_soak --throws 10000` prints a table with these columns for each kind of throw:
right, review that the truth allows, needless review, wrong void, wrong reason, unreported, false. The exit
status is 1 if any of the last four counts is not zero.

Simulation takes longer than judging. `--save FILE` stores the flights, and `--flights FILE` (or `shipped` for
the shipped flights) judges stored flights under other conditions.
"""

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TextIO, get_args

import msgspec

from controller.model.outcomes import Outcome, RollReview
from controller.replay.log import Log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset
from drivers.sim.bodies.casts import RELIEFS_MM, UnsettledError
from drivers.sim.bodies.flights import Flight, Kind, pack, shipped, unpack
from drivers.sim.bodies.watching import Conditions
from drivers.sim.dice import TABLE
from drivers.sim.scenes import Disagreement, disagreements
from tests.sim import own_physics
from tests.sim.body_logs import ThrowLog, observe

KINDS: tuple[Kind, ...] = get_args(Kind)
NEAR_MISSES: tuple[Kind, ...] = ("near_miss", "near_miss_one_hit")
THROWS_PER_LOG = 10
COLUMNS = ("right", "review allowed", "needless review", "wrong void", "wrong reason", "unreported", "false")
BAD = ("wrong void", "wrong reason", "unreported", "false")


@dataclass(frozen=True, slots=True)
class Job:
    """The throws of one log, observed under each of the conditions."""

    kind: Kind
    seed: str
    throws: int
    relief_mm: float
    physics: str
    conditions: tuple[Conditions, ...]
    fails: str | None
    flights: bytes = b""
    """The packed flights; empty before the simulation."""


@dataclass(slots=True)
class Score:
    """The results of a job, by condition and column."""

    kind: Kind
    seconds: float = 0.0
    throws: int = 0
    drawn_again: int = 0
    said: Counter[tuple[str, str]] = field(default_factory=Counter)
    why: Counter[tuple[str, str]] = field(default_factory=Counter)
    words: list[str] = field(default_factory=list)
    flights: bytes = b""


def outcomes_of(played: ThrowLog) -> list[Outcome]:
    """Replay a log in the same way as `tablectl replay`."""
    log = Log(BytesIO(played.log()), played.name)
    ruleset = load_ruleset(log.header.ruleset)
    return [
        effect
        for effect in replay(log, build_setup(log.header, ruleset, log.name))
        if isinstance(effect, Outcome)
    ]


def flights_of(job: Job, score: Score) -> list[Flight]:
    """Return the job's flights. Replace a throw that does not settle by another draw."""
    if job.flights:
        return list(unpack(job.flights))
    thrown = thrower(job.physics)
    made: list[Flight] = []
    number = 0
    while len(made) < job.throws:
        try:
            made.append(thrown(job.kind, f"{job.seed}-{number}", relief_mm=job.relief_mm))
        except UnsettledError:
            score.drawn_again += 1
        number += 1
    return made


def thrower(physics: str) -> Callable[..., Flight]:
    """Return the function that simulates throws in this physics model."""
    if physics == "own":
        return own_physics.thrown
    from drivers.sim.bodies import engine  # noqa: PLC0415 - the extra is needed only for the engine

    return engine.thrown


def play(job: Job) -> Score:
    """Observe and replay the throws of a job, and compare the outcomes with the truth."""
    score = Score(job.kind, throws=job.throws)
    begun = time.process_time()
    flights = flights_of(job, score)
    score.seconds = time.process_time() - begun
    score.flights = job.flights or pack(flights)
    for conditions in job.conditions:
        name = f"{job.physics}-{job.kind}-{job.seed}-{conditions.fps:g}fps-{conditions.noise_mm:g}mm"
        played = observe(name, flights, table=TABLE, conditions=conditions)
        _compare(job, score, conditions, played)
    return score


def label_of(conditions: Conditions) -> str:
    return f"{conditions.fps:g} frames/s, {conditions.noise_mm:g} mm"


def _compare(job: Job, score: Score, conditions: Conditions, played: ThrowLog) -> None:
    published = outcomes_of(played)
    label = label_of(conditions)
    found: dict[int, Disagreement] = {}
    for disagreement in disagreements(played.scenes, published):
        found.setdefault(disagreement.attempt, disagreement)
    reviewed = {outcome.data.roll for outcome in published if isinstance(outcome.data, RollReview)}
    columns: set[str] = set()
    for number, truth in enumerate(played.truths, 1):
        each = found.get(number)
        if each is None:
            column = "review allowed" if number in reviewed else "right"
        else:
            column = _column(each)
            columns.add(column)
            seed = f"{truth.kind} seed {truth.seed} relief {job.relief_mm:g}"
            score.words.append(
                f"{column}: {seed} [{played.name} #{number}] {each.told}; truth {_truth_in_words(truth)}"
            )
        score.said[label, column] += 1
        if number in reviewed:
            score.why[label, "+".join(truth.why) or "none"] += 1
    if job.fails and columns:
        folder = Path(job.fails)
        played.write(folder if columns & set(BAD) else folder / "needless")


def _column(each: Disagreement) -> str:
    if each.fault == "needless_review":
        return "needless review"
    if each.fault == "needless_void":
        return "wrong void"
    if each.fault == "wrong_reasons":
        return "wrong reason"
    return "unreported" if each.fault == "silent" else "false"


def _truth_in_words(truth: msgspec.Struct) -> str:
    return msgspec.json.encode(truth).decode()


def jobs(arguments: argparse.Namespace) -> Iterator[Job]:
    """Distribute the throws over the kinds; a fifth of them are near misses."""
    conditions = tuple(
        Conditions(
            fps=fps, noise_mm=noise, exchanges=arguments.exchanges, reports_error=arguments.tells_error
        )
        for fps in arguments.fps
        for noise in arguments.noise
    )
    if arguments.flights:
        yield from _kept(arguments, conditions)
        return
    able = own_physics.KINDS if arguments.physics == "own" else KINDS
    kinds: Sequence[Kind] = [kind for kind in arguments.kinds or KINDS if kind in able]
    shares = dict.fromkeys(kinds, 1.0)
    if "near_miss" in shares and len(kinds) > 2:
        shares["near_miss"] = 0.2 * len(kinds)
    weight = sum(shares.values())
    number = 0
    counts = {
        kind: max(1, round(arguments.throws * shares[kind] / weight / THROWS_PER_LOG)) for kind in kinds
    }
    for turn in range(max(counts.values())):
        for kind in kinds:
            if turn < counts[kind]:
                number += 1
                relief = RELIEFS_MM[number % len(RELIEFS_MM)]
                seed = f"{arguments.seed}-{turn}"
                count = min(THROWS_PER_LOG, arguments.throws)
                yield Job(kind, seed, count, relief, arguments.physics, conditions, arguments.fails)


def _kept(arguments: argparse.Namespace, conditions: tuple[Conditions, ...]) -> Iterator[Job]:
    """Yield jobs with stored flights, up to ten of one kind and relief in each."""
    if arguments.flights == "shipped":
        flights = [flight for kept in shipped().values() for flight in kept]
    else:
        flights = list(unpack(Path(arguments.flights).read_bytes()))
    alike: dict[tuple[Kind, float], list[Flight]] = {}
    for flight in flights:
        if arguments.kinds is None or flight.kind in arguments.kinds:
            alike.setdefault((flight.kind, flight.relief_mm), []).append(flight)
    for (kind, relief), own in alike.items():
        for turn in range(0, len(own), THROWS_PER_LOG):
            some = own[turn : turn + THROWS_PER_LOG]
            seed = f"{relief:g}mm-{turn // THROWS_PER_LOG}"
            packed = pack(some)
            yield Job(kind, seed, len(some), relief, "kept", conditions, arguments.fails, packed)


def say(line: str, *, to: TextIO = sys.stdout) -> None:
    """Print a line and flush it."""
    to.write(line + "\n")
    to.flush()


def table_of(totals: Counter[tuple[str, Kind, str]], label: str) -> Iterator[str]:
    yield f"{label:<20} {'throws':>7} " + " ".join(f"{column:>15}" for column in COLUMNS)
    kinds = [kind for kind in KINDS if any(totals[label, kind, column] for column in COLUMNS)]
    for kind in [*kinds, None]:
        counts = [sum(totals[label, k, column] for k in ([kind] if kind else kinds)) for column in COLUMNS]
        yield f"{kind or 'all':<20} {sum(counts):>7} " + " ".join(f"{count:>15}" for count in counts)


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--throws", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--fps", type=float, nargs="+", default=[90.0], help="frames per second (default: 90)"
    )
    parser.add_argument(
        "--noise", type=float, nargs="+", default=[2.0], help="error of a track point in mm (default: 2)"
    )
    parser.add_argument(
        "--tells-error", action="store_true", help="the camera reports the error of its points"
    )
    parser.add_argument(
        "--exchanges",
        type=float,
        default=0.25,
        help="fraction of the dice's meetings at which the camera swaps their names",
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, metavar="KIND", help="only these kinds")
    parser.add_argument("--physics", choices=("mujoco", "own"), default="mujoco")
    parser.add_argument("--save", metavar="FILE", help="save the flights to this file")
    parser.add_argument(
        "--flights", metavar="FILE", help="play the flights in FILE, or the `shipped` flights"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fails", metavar="DIR", help="write the logs with disagreements to this folder")
    parser.add_argument(
        "--json", action="store_true", help="print only the counts, as JSON; the rest goes to standard error"
    )
    parser.add_argument("--quiet", action="store_true", help="do not print each disagreement")
    return parser.parse_args(words)


def main() -> int:
    arguments = parse()
    log = partial(say, to=sys.stderr if arguments.json else sys.stdout)
    totals: Counter[tuple[str, Kind, str]] = Counter()
    why: Counter[tuple[str, str]] = Counter()
    kept: list[Flight] = []
    todo = list(jobs(arguments))
    throws, seconds, begun, last_said = 0, 0.0, time.monotonic(), time.monotonic()
    with multiprocessing.get_context("spawn").Pool(arguments.workers) as pool:
        for score in pool.imap_unordered(play, todo):
            throws += score.throws
            seconds += score.seconds
            for (label, column), count in score.said.items():
                totals[label, score.kind, column] += count
            why.update(score.why)
            if arguments.save:
                kept += unpack(score.flights)
            for line in [] if arguments.quiet else score.words:
                log(line)
            if time.monotonic() - last_said > 10:
                last_said = time.monotonic()
                log(
                    f"... {throws} throws in {last_said - begun:.0f} s,"
                    f" {seconds / throws:.2f} s of a core each"
                )
    if arguments.save:
        Path(arguments.save).write_bytes(pack(sorted(kept, key=lambda flight: (flight.kind, flight.seed))))
    labels = sorted({label for label, _, _ in totals})
    for label in labels:
        log("")
        for line in table_of(totals, label):
            log(line)
        reviews = ", ".join(f"{count} {reason}" for (at, reason), count in why.most_common() if at == label)
        log(f"reviews by the doubt that the truth states: {reviews or 'none'}")
    if arguments.json:
        rows = [
            {"conditions": label, "kind": kind, **{column: totals[label, kind, column] for column in COLUMNS}}
            for label in labels
            for kind in KINDS
        ]
        say(msgspec.json.encode(rows).decode())
    log(f"{throws} throws, {time.monotonic() - begun:.0f} s")
    return 1 if any(totals[label, kind, column] for label, kind, column in totals if column in BAD) else 0


if __name__ == "__main__":
    sys.exit(main())
