"""Every log in tests/logs replays to its stored outcomes."""

from pathlib import Path

import pytest

from controller.model.outcomes import Outcome
from controller.replay.log import open_log
from controller.replay.run import as_json, build_setup, compare, read_expected, replay
from controller.settings.rulesets import load_ruleset
from tests.replay.cases import Case, find_cases

LOGS = Path(__file__).parents[1] / "logs"
CASES = find_cases(LOGS)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_recorded_log_gives_its_outcomes(case: Case) -> None:
    assert case.expected.exists(), (
        f"{case.log.name} has no expected outcomes: make them with `tablectl replay {case.log.name} --json"
        f" > {case.expected.name}`, read them line by line, and keep them only if every one is right"
    )
    with open_log(str(case.log)) as log:
        setup = build_setup(log.header, load_ruleset(log.header.ruleset), log.name)
        outcomes = [as_json(effect) for effect in replay(log, setup) if isinstance(effect, Outcome)]
    difference = compare(outcomes, read_expected(str(case.expected)))
    assert difference is None, f"{case.log.name}: {difference}"


def test_expected_outcomes_have_their_log() -> None:
    there = {case.expected.name for case in CASES}
    assert {path.name for path in LOGS.glob("*.expected.jsonl")} == there
