"""`tablectl rules` and `settle`: settings, pay tables and exact edges, and wagers settled from a file."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from controller.cli.main import main
from controller.cli.screen import rows_of
from controller.settings import paytables
from controller.settings.places import config_home
from controller.settlement.paytable import Chance, Edge, Finding, Report

BET = {"do": "bet", "id": "b1", "player": "p1", "wager": "pass", "amount": 500}
NATURAL = {"do": "roll", "dice": [3, 4]}


def test_show_prints_settings_and_pay_table_with_their_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "roulette"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "roulette: Roulette (roulette)"
    assert any(line.startswith("spin.min_revolutions 4 [R-SPIN-2") for line in lines), lines
    assert any(line.startswith("spin.call_hold_ms 250 ms [") for line in lines), lines
    assert "pays.three 8 to 1 [R-PAY-3]" in lines


def test_show_as_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "craps-v1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["ruleset"]["throw"]["missed_wall"] == "warn"


def test_an_unknown_rule_set_is_refused_with_the_known_ones_by_show(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rules", "show", "roulete"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "found no 'roulete', expected one of 'craps-12-034'" in printed.err
    assert "did you mean 'roulette'?" in printed.err


def test_a_custom_rule_set_is_shown_by_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", str(tmp_path / "own.yaml")]) == 2
    assert "own.yaml" in capsys.readouterr().err


def test_each_value_is_listed_once_with_its_rule_and_reason() -> None:
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


def test_check_prints_exact_edges_next_to_the_documents_and_its_findings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["rules", "check", "craps-v1"]) == 1
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "pass 1.4141 % 7/495, as printed (1.41)" in lines
    assert "dont_pass 1.3636 % 3/220, 1.4026 % of bets decided, as printed (1.36)" in lines
    assert "2 or less points 93.3047 % 4191362/4492125, as printed (0.933047)" in lines
    assert any(line.startswith("uneven_pay:place_6 7:6 on 100 cents pays 116") for line in lines)


def test_check_as_json_gives_exact_fractions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "check", "craps-v1", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    passed = next(edge for edge in report["edges"] if edge["wager"] == "pass")
    assert (passed["edge"], passed["printed"], passed["agrees"]) == ("7/495", "1.41", True)
    assert (report["ruleset"], report["agrees"], report["findings"] != []) == ("craps-v1", True, True)


def report(**changes: object) -> Report:
    nothing_to_say = Report(
        ruleset="r", title="R", edges=(Edge(wager="yo", edge=Fraction(1, 9), printed="11.11"),)
    )
    return replace(nothing_to_say, **changes)  # type: ignore[arg-type]  # each test names its own field


@pytest.mark.parametrize(
    ("checked", "code", "says"),
    [
        (report(), 0, "yo 11.1111 % 1/9, as printed (11.11)"),
        (report(edges=(Edge(wager="yo", edge=Fraction(1, 9), printed="9.09"),)), 1, "1/9, but printed 9.09"),
        (
            report(chances=(Chance(event="e", chance=Fraction(1, 3), printed="0.3"),)),
            0,
            "e 33.3333 % 1/3, as printed (0.3)",
        ),
        (report(findings=(Finding(code="c", wager="yo", rule="C34-1", text="odd"),)), 1, "c:yo odd [C34-1]"),
    ],
)
def test_check_is_exit_1_where_a_document_is_wrong_or_something_was_found(
    checked: Report, code: int, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.cli.rules.check", lambda _: checked)
    assert main(["rules", "check", "r"]) == code
    assert says in " ".join(capsys.readouterr().out.split())


@pytest.fixture
def own_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the shipped configuration that can be changed."""
    shutil.copytree(config_home(), tmp_path / "config")
    monkeypatch.setenv("TABLE_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


def test_findings_that_a_named_person_accepted_with_a_reason_no_longer_cause_exit_1(
    own_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", "check", "roulette"]) == 1
    capsys.readouterr()
    words = ("--who", "Ann Lee", "--reason", "as the document prints them")
    assert main(["rules", "accept", "roulette", "steep:*", *words]) == 0
    assert main(["rules", "check", "roulette"]) == 1, "the others must still be open"
    assert main(["rules", "accept", "roulette", "looks_misprinted:*", "no_printed_odds:high", *words]) == 0
    capsys.readouterr()
    assert main(["rules", "check", "roulette"]) == 0
    said = capsys.readouterr().out
    assert "accepted by Ann Lee" in said
    assert "as the document prints them" in said
    assert (own_config / "accepted" / "roulette.json").exists()


def test_accepted_findings_are_never_stored_in_the_shipped_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TABLE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "of the user"))
    installed = tmp_path / "installed"
    monkeypatch.setattr(paytables, "INSTALLED", installed)
    words = ("rules", "accept", "roulette", "*", "--who", "Ann", "--reason", "known")
    for home in (tmp_path / "of the user" / "table-controller", installed):
        assert main([*words]) == 0
        assert f"saved in {home / 'accepted' / 'roulette.json'}" in capsys.readouterr().out
        assert main(["rules", "check", "roulette"]) == 0
        installed.mkdir(exist_ok=True)
    assert not (config_home() / "accepted").exists()


def test_an_accepted_finding_whose_text_changed_is_open_again(own_config: Path) -> None:
    words = ("--who", "Ann", "--reason", "known")
    assert main(["rules", "accept", "three-card-poker-12-014", "*", *words]) == 0
    file = own_config / "accepted" / "three-card-poker-12-014.json"
    file.write_text(file.read_text(encoding="utf-8").replace("49.93", "12.00"), encoding="utf-8")
    assert main(["rules", "check", "three-card-poker-12-014"]) == 1


def test_accepting_an_unknown_finding_lists_the_known_ones(
    own_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert own_config.exists()
    assert main(["rules", "accept", "roulette", "steep:one", "--who", "Ann", "--reason", "x"]) == 2
    assert "steep:three" in capsys.readouterr().err


def test_an_invalid_file_of_accepted_findings_is_reported(
    own_config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_config / "accepted").mkdir()
    (own_config / "accepted" / "roulette.json").write_text("[1]", encoding="utf-8")
    assert main(["rules", "check", "roulette"]) == 2
    assert "roulette.json" in capsys.readouterr().err


def write_lines(path: Path, *lines: object) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_file_is_settled_line_by_line(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    path = write_lines(tmp_path / "w.jsonl", BET, NATURAL)
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 0
    (line,) = capsysbinary.readouterr().out.splitlines()
    decided = json.loads(line)
    assert (decided["id"], decided["status"], decided["returned"]) == ("b1", "win", 1000)


def test_a_file_without_bets_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_lines(tmp_path / "w.jsonl", NATURAL)
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 0
    assert capsys.readouterr().err == f"tablectl: {path}: found no bets, so nothing was settled\n"


def test_a_byte_order_mark_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.jsonl"
    path.write_text(json.dumps(NATURAL) + "\n", encoding="utf-8-sig")
    assert main(["settle", "--rules", "craps-12-034", str(path)]) == 2
    assert "line 1: found" in (said := capsys.readouterr().err)
    assert "expected one JSON object in UTF-8 without a byte order mark" in said


def test_standard_input_gives_the_same_output(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = write_lines(tmp_path / "w.jsonl", BET, NATURAL)
    main(["settle", "--rules", "craps-12-034", str(path)])
    command = [sys.executable, "-m", "controller.cli.main", "settle", "--rules", "craps-12-034"]
    piped = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
    assert piped.stdout == capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("rules", "lines", "says"),
    [
        ("craps-12-034", [BET, {"do": "shuffle"}], "line 2"),
        ("craps-12-035", [BET], "expected one of 'craps-12-034'"),
    ],
)
def test_bad_input_is_exit_2_and_names_its_place(
    rules: str, lines: list[object], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["settle", "--rules", rules, str(write_lines(tmp_path / "w.jsonl", *lines))]) == 2
    assert says in capsys.readouterr().err


def test_a_missing_file_and_a_directory_are_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path, says in ((tmp_path / "none", "found no readable file"), (tmp_path, "found a directory")):
        assert main(["settle", "--rules", "craps-12-034", str(path)]) == 2
        assert says in capsys.readouterr().err
