"""Compare simulated spins of every kind with their truth: `python -m tests.sim.spin_soak --spins 5000`.

The spins are written as recorded logs and replayed. The exit status is 1 if a spin was called falsely, voided
wrongly or lost, or if a review was needless. `--keep FOLDER` keeps the log and the truth of each session with
such a spin, and a description of the error.
"""

import argparse
import io
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import msgspec

from controller.model.outcomes import Outcome
from controller.replay.log import Log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset
from drivers.sim.croupier import SpinTruth
from drivers.sim.scenes import Feed, Header
from drivers.sim.spins import KINDS, simulate, write
from tests.sim.spin_referee import MARKS, Verdict, verdicts

SPINS_PER_SESSION = 10
"""Enough spins for a table to learn a wheel, and few enough to draw many wheels."""
WELL = ("right", "review")
LEAD_S = 3.0
"""The rule sets' `no_more_bets_lead_s` (R-SPIN-3)."""
NEAR_S = 1.0


@dataclass
class Tally:
    """The verdicts on the spins of one kind."""

    marks: Counter[str] = field(default_factory=Counter)
    leads_s: list[float] = field(default_factory=list)

    def count(self, found: Iterable[Verdict]) -> None:
        """Add the verdicts on some spins."""
        for verdict in found:
            self.marks[verdict.mark] += 1
            if verdict.lead_s is not None:
                self.leads_s.append(verdict.lead_s)

    @property
    def late(self) -> int:
        """Return the number of valid spins with bets open at the drop."""
        return sum(lead <= 0 for lead in self.leads_s)

    @property
    def near(self) -> int:
        """Return the number of valid spins whose bets closed within a second of the intended lead."""
        return sum(abs(lead - LEAD_S) <= NEAR_S for lead in self.leads_s)


def outcomes_of(header: Header, feed: Feed) -> list[Outcome]:
    """Write a session as a log and replay it."""
    with io.BytesIO() as stream:
        encode = msgspec.json.Encoder().encode
        stream.write(b"\n".join([encode(header), *(encode(reading) for _, reading in feed)]) + b"\n")
        stream.seek(0)
        log = Log(stream, header.table)
        rules = load_ruleset(log.header.ruleset)
        effects = list(replay(log, build_setup(log.header, rules, header.table)))
    return [effect for effect in effects if isinstance(effect, Outcome)]


def play(kind: str, seed: int, n: int, keep: str | None) -> tuple[str, int, list[SpinTruth], list[Verdict]]:
    header, feed, truths = simulate(kind, seed, n)
    found = verdicts(truths, outcomes_of(header, feed))
    bad = [(truth, verdict) for truth, verdict in zip(truths, found, strict=True) if verdict.mark not in WELL]
    if keep is not None and bad:
        name = f"{kind}-{seed}"
        write(Path(keep), name, header, feed, truths)
        lines = [_why(truths, truth, verdict) for truth, verdict in bad]
        Path(keep, f"{name}.why.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return kind, seed, truths, found


def _why(truths: Sequence[SpinTruth], truth: SpinTruth, verdict: Verdict) -> str:
    scene = truths.index(truth) + 1
    return (
        f"{verdict.mark} scene {scene} at {truth.t0 / 1e6:.3f} s, {truth.kind}:"
        f" published {verdict.published};"
        f" right {'/'.join(truth.accept)} {truth.number} {','.join(truth.reasons)}; {truth.note}"
    )


def soak(
    kinds: Sequence[str], spins: int, first: int, workers: int, keep: str | None, *, quiet: bool
) -> dict[str, Tally]:
    """Play about this many spins, equally many of each kind. Equal arguments produce equal spins."""
    sessions = max(1, -(-spins // (SPINS_PER_SESSION * len(kinds))))
    n = min(SPINS_PER_SESSION, max(1, -(-spins // len(kinds))))
    tallies: dict[str, Tally] = defaultdict(Tally)
    played = 0
    with ProcessPoolExecutor(workers) as pool:
        jobs = [
            pool.submit(play, kind, first + number, n, keep) for number in range(sessions) for kind in kinds
        ]
        for job in as_completed(jobs):
            kind, seed, truths, found = job.result()
            tallies[kind].count(found)
            played += len(found)
            if quiet:
                continue
            for truth, verdict in zip(truths, found, strict=True):
                if verdict.mark not in WELL:
                    _say(f"{kind} seed {seed}: {_why(truths, truth, verdict)}", sys.stderr)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{played} of {len(jobs) * n} spins")
    return tallies


def table(tallies: dict[str, Tally]) -> list[str]:
    """Return a table of the verdicts and the close of bets, by kind."""
    heads = ("spins", *MARKS, "late", "lead")
    lines = [f"{'kind':<28}" + "".join(f"{head:>11}" for head in heads)]
    whole = Tally()
    for kind in sorted(tallies, key=list(KINDS).index):
        own = tallies[kind]
        whole.marks += own.marks
        whole.leads_s += own.leads_s
        lines.append(_row(kind, own))
    lines.append(_row("all", whole))
    share = 100 * whole.near / max(1, len(whole.leads_s))
    lines.append(
        f"No More Bets in {len(whole.leads_s)} good spins: {whole.late} after the drop,"
        f" {share:.1f} % within {NEAR_S:g} s of the lead of {LEAD_S:g} s"
    )
    return lines


def _row(kind: str, tally: Tally) -> str:
    near = f"{100 * tally.near / len(tally.leads_s):.0f} %" if tally.leads_s else ""
    cells = (tally.marks.total(), *(tally.marks[mark] or "" for mark in MARKS), tally.late or "", near)
    return f"{kind:<28}" + "".join(f"{cell:>11}" for cell in cells)


def as_json(tallies: dict[str, Tally]) -> str:
    """Return the table as JSON."""
    return json.dumps(
        {
            kind: {
                "spins": tally.marks.total(),
                **{mark: tally.marks[mark] for mark in MARKS},
                "good": len(tally.leads_s),
                "late": tally.late,
                "near_lead": tally.near,
            }
            for kind, tally in tallies.items()
        }
    )


def _say(line: str, stream: TextIO = sys.stdout) -> None:
    stream.write(line + "\n")
    stream.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spins", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1, help="the seed of each kind's first session")
    parser.add_argument("--kinds", help=f"comma-separated, of: {', '.join(KINDS)}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the logs of sessions with a wrongly judged spin")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args(arguments)
    kinds = args.kinds.split(",") if args.kinds else list(KINDS)
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"--kinds: found {', '.join(unknown)}, expected kinds from: {', '.join(KINDS)}")
    if args.keep:
        Path(args.keep).mkdir(parents=True, exist_ok=True)
    tallies = soak(kinds, args.spins, args.seed, args.workers, args.keep, quiet=args.json)
    for line in [as_json(tallies)] if args.json else table(tallies):
        _say(line)
    marks = sum((tally.marks for tally in tallies.values()), Counter[str]())
    return 1 if sum(count for mark, count in marks.items() if mark not in WELL) else 0


if __name__ == "__main__":
    sys.exit(main())
