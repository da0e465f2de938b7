"""Score a replay of spins against their ground truth, scene by scene.

`python -m tests.replay.score_spins LOG...` reads the truth of each log from `LOG.truth.json`. It prints the
outcomes of every scene whose score is not `right`, then a line of totals. A truth file lists the scenes in
order: `kind`, `t0` (microseconds), `number`, `verdict`, `reasons`, and optionally `accept`, the acceptable
rulings (`call`, `void`, `review`). An outcome belongs to the scene that was running when the outcome was
published.

The exit status is 1 if a scene has the score `false`, `wrong void` or `swallowed`.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from controller.model.outcomes import Bets, Outcome, SpinCalled, SpinNoSpin, SpinReview
from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset

Score = Literal["right", "allowed review", "needless review", "wrong void", "false", "swallowed"]
SCORES: tuple[Score, ...] = (
    "right",
    "allowed review",
    "needless review",
    "wrong void",
    "false",
    "swallowed",
)
_MAY_BE_REVIEWED = frozenset({"ball_out", "edge_short", "edge_long"})
"""Kinds of scene in which a review is also correct."""


class Truth(msgspec.Struct, frozen=True):
    """The ground truth of one scene."""

    kind: str
    t0: int
    verdict: Literal["valid", "no_spin", "review"]
    number: str | None = None
    reasons: tuple[str, ...] = ()
    accept: tuple[Literal["call", "void", "review"], ...] = ()
    undecidable: str | None = None
    t_drop: int | None = None

    @property
    def accepted(self) -> frozenset[str]:
        if self.accept:
            return frozenset(self.accept)
        word = {"valid": "call", "no_spin": "void", "review": "review"}[self.verdict]
        return frozenset({word, "review"} if self.kind in _MAY_BE_REVIEWED else {word})


_decode = msgspec.json.Decoder(list[Truth]).decode


class Scored(msgspec.Struct, frozen=True):
    """The score of one scene, and a summary of its outcomes."""

    truth: Truth
    score: Score
    published: str


def outcomes_of(path: Path) -> list[Outcome]:
    """Replay a log and return its outcomes in order."""
    with open_log(str(path)) as log:
        setup = build_setup(log.header, load_ruleset(log.header.ruleset), log.name)
        return [effect for effect in replay(log, setup) if isinstance(effect, Outcome)]


def read_truth(path: Path) -> list[Truth]:
    """Read a truth file.

    Raises:
        msgspec.ValidationError: The file is not a truth file.
    """
    return _decode(path.read_bytes())


def score(truths: Sequence[Truth], outcomes: Iterable[Outcome]) -> list[Scored]:
    """Score each scene by the outcomes published between its start and the start of the next scene."""
    spins = [o for o in outcomes if isinstance(o.data, SpinCalled | SpinNoSpin | SpinReview)]
    starts = [truth.t0 for truth in truths]
    ends = [*starts[1:], 1 << 62]
    return [
        _score_one(truth, [o for o in spins if start <= o.t < end])
        for truth, start, end in zip(truths, starts, ends, strict=True)
    ]


def _score_one(truth: Truth, outcomes: Sequence[Outcome]) -> Scored:
    published = [o for o in outcomes if not _unruled(o)]
    words = "; ".join(_words(o) for o in published) or "nothing"
    calls = [o.data for o in published if isinstance(o.data, SpinCalled)]
    accepted = truth.accepted
    if any("call" not in accepted or call.number != truth.number for call in calls) or len(calls) > 1:
        return Scored(truth, "false", words)
    if not published:
        return Scored(truth, "swallowed", words)
    last = published[-1].data
    match last:
        case SpinCalled():
            verdict: Score = "right"
        case SpinNoSpin():
            verdict = "right" if "void" in accepted else "wrong void"
        case _:
            verdict = "allowed review" if "review" in accepted else "needless review"
    return Scored(truth, verdict, words)


def _unruled(outcome: Outcome) -> bool:
    data = outcome.data
    return isinstance(data, SpinNoSpin) and data.by == "nobody"


def _words(outcome: Outcome) -> str:
    data = outcome.data
    if isinstance(data, SpinCalled):
        return f"called {data.number} after {data.revolutions}"
    assert isinstance(data, SpinNoSpin | SpinReview)
    word = "no spin" if isinstance(data, SpinNoSpin) else "review"
    return f"{word}: " + ", ".join(f"{reason.code} ({reason.seen})" for reason in data.reasons)


def bets_closed(
    truths: Sequence[Truth], outcomes: Sequence[Outcome], lead_s: float = 3.0
) -> list[float | None]:
    """Return the delay of No More Bets in each valid spin, in seconds; a negative delay is early.

    No More Bets is due `lead_s` before the drop. The delay is None if the ball's speed did not close the
    bets. Spins without a close of bets are left out.
    """
    ends = [*(truth.t0 for truth in truths[1:]), 1 << 62]
    errors: list[float | None] = []
    for truth, end in zip(truths, ends, strict=True):
        if truth.verdict != "valid" or truth.t_drop is None:
            continue
        closed = [o for o in outcomes if isinstance(o.data, Bets) and o.type == "bets.closed"]
        here = [o for o in closed if truth.t0 <= o.t < end]
        if not here:
            continue
        by_speed = isinstance(here[0].data, Bets) and here[0].data.cause == "ball_speed"
        errors.append((here[0].t - truth.t_drop) / 1e6 + lead_s if by_speed else None)
    return errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true", help="one object for each log instead of lines")
    arguments = parser.parse_args()
    bad = 0
    for path in arguments.logs:
        truths = read_truth(path.with_name(path.name.partition(".jsonl")[0] + ".truth.json"))
        outcomes = outcomes_of(path)
        scored = score(truths, outcomes)
        sums = Counter(one.score for one in scored)
        errors = bets_closed(truths, outcomes)
        near = sum(error is not None and abs(error) <= 1.0 for error in errors)
        late = sum(error is None or error > 3.0 for error in errors)
        bad += sums["wrong void"] + sums["false"] + sums["swallowed"]
        if arguments.json:
            row: dict[str, str | int] = {"log": path.name, "bets_within_1_s": near}
            row |= {word: sums[word] for word in SCORES}
            sys.stdout.write(json.dumps(row) + "\n")
            continue
        for i, one in enumerate(scored, 1):
            if one.score != "right":
                truth = one.truth
                accept = "/".join(sorted(truth.accepted))
                sys.stdout.write(
                    f"  {i} {truth.kind} {truth.t0} {accept} {truth.number}: {one.score}: {one.published}\n"
                )
        row_text = ", ".join(f"{sums[word]} {word}" for word in SCORES if sums[word])
        sys.stdout.write(
            f"{path.name}: {row_text} of {len(scored)};"
            f" bets within 1 s {near} of {len(errors)}, late {late}\n"
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
