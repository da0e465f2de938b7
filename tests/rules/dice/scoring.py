"""Compare the replay of recorded throws with a truth file, scene by scene.

`python -m tests.rules.dice.scoring LOG...` reads `NAME.truth.json` for each `NAME.jsonl`. The file lists
scenes with `kind`, `verdict` (valid, no_roll) and `faces`; `undecidable` allows a review. The n-th scene is
the n-th roll. The program prints a row for each log and for each scene with a different outcome. The exit
status is 1 if there is such a scene.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from controller.model.outcomes import Outcome, RollCalled, RollNoRoll, RollReview
from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.settings.rulesets import load_ruleset

Score = Literal["right", "review allowed", "review needless", "wrong void", "false", "silent"]
SCORES: tuple[Score, ...] = ("right", "review allowed", "review needless", "wrong void", "false", "silent")
FIRST_OUTCOME = RollCalled | RollNoRoll | RollReview
REVIEW_ALLOWED = frozenset({"merged", "occluded_at_wall"})
"""Scripted scenes in which a review is as correct as the truth's verdict."""
UNSURE = "unsure_face"
"""The camera is unsure of a face and a person sets the dice. The correct first outcome is a review."""


class Scored(NamedTuple):
    """The outcome of one scene."""

    number: int
    kind: str
    score: Score
    published: str


def score_log(path: Path) -> list[Scored]:
    """Replay a log and score each scene of its truth file."""
    scenes = json.loads(path.with_name(f"{path.name.partition('.jsonl')[0]}.truth.json").read_text())
    with open_log(str(path)) as log:
        setup = build_setup(log.header, load_ruleset(log.header.ruleset), log.name)
        outcomes = [effect for effect in replay(log, setup) if isinstance(effect, Outcome)]
    return list(score(scenes, outcomes))


def score(scenes: Sequence[dict[str, object]], outcomes: Iterable[Outcome]) -> Iterator[Scored]:
    first: dict[int, FIRST_OUTCOME] = {}
    for outcome in outcomes:
        if isinstance(outcome.data, FIRST_OUTCOME):
            first.setdefault(outcome.data.roll, outcome.data)
    for number, scene in enumerate(scenes, 1):
        ruled = first.get(number)
        yield Scored(number, str(scene["kind"]), _score(scene, ruled), _outcome_of(ruled))


def _score(scene: dict[str, object], outcome: FIRST_OUTCOME | None) -> Score:
    valid = scene["verdict"] == "valid"
    if outcome is None:
        return "silent"
    if isinstance(outcome, RollReview):
        allowed = scene.get("undecidable") or scene["kind"] in REVIEW_ALLOWED or scene["kind"] == UNSURE
        return "review allowed" if allowed else "review needless"
    if isinstance(outcome, RollNoRoll):
        return "wrong void" if valid else "right"
    faces = scene["faces"]
    assert isinstance(faces, list)
    return "right" if valid and sorted(outcome.dice) == sorted(faces) else "false"


def _outcome_of(outcome: FIRST_OUTCOME | None) -> str:
    if outcome is None:
        return "nothing"
    if isinstance(outcome, RollCalled):
        return f"called {outcome.dice[0]}-{outcome.dice[1]}"
    said = "review" if isinstance(outcome, RollReview) else "no roll"
    return f"{said}: {'; '.join(f'{reason.code}: {reason.seen}' for reason in outcome.reasons)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--quiet", action="store_true", help="only the rows")
    arguments = parser.parse_args()
    total: Counter[Score] = Counter()
    for path in arguments.logs:
        scored = score_log(path)
        counts = Counter(scene.score for scene in scored)
        total += counts
        _say(f"{path.name:<24}" + "  ".join(f"{name} {counts[name]}" for name in SCORES))
        for scene in scored if not arguments.quiet else ():
            if scene.score not in {"right", "review allowed"}:
                _say(f"    #{scene.number} {scene.kind}: {scene.score}; {scene.published}")
    _say(f"{'all':<24}" + "  ".join(f"{name} {total[name]}" for name in SCORES))
    return 1 if total.total() - total["right"] - total["review allowed"] else 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
