"""`tablectl rules show`: every setting and pay table row, readable or as JSON."""

import json
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.cli.tables import rows_of


def test_show_prints_settings_and_pay_table_with_their_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "roulette"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "roulette: Roulette (roulette)"
    assert "spin.min_revolutions 4" in lines
    assert "pays.three 8 to 1 [R-PAY-3]" in lines


def test_show_as_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "craps-v1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ruleset"]["throw"]["missed_wall"] == "warn"


def test_an_unknown_rule_set_lists_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "roulete"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "found no 'roulete', expected one of 'craps-12-034'" in told.err
    assert "did you mean 'roulette'?" in told.err


def test_a_rule_set_of_ones_own_is_shown_by_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "show", str(tmp_path / "own.yaml")]) == 2
    assert "own.yaml" in capsys.readouterr().err


def test_rows_give_each_value_once_with_its_rule_and_reason() -> None:
    document = {
        "throw": {"far": True, "delay_ms": [0.5, 2.0], "least": None},
        "pays": {"yo": {"pays": [15, 1], "rule": "C34-PAY-9"}},
        "unit": {"value": 1, "rule": "!X-8", "reason": "Whole cents."},
        "rows": [{"low": 2, "high": 3}],
    }
    assert list(rows_of(document)) == [
        ("throw.far", "yes"),
        ("throw.delay_ms", "0.5, 2"),
        ("throw.least", "-"),
        ("pays.yo", "15 to 1  [C34-PAY-9]"),
        ("unit", "1  [!X-8]  Whole cents."),
        ("rows", "low: 2, high: 3"),
    ]
