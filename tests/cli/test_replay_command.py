"""`tablectl replay`: its output, its reports, its refusals and its exit codes."""

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from controller.cli import replay as replay_command
from controller.cli.main import main

Fields = dict[str, object]

RECORDED = Path(__file__).parents[1] / "logs"
HEADER: Fields = {
    "log": "table-readings",
    "version": 1,
    "table": "t1",
    "ruleset": "craps-12-034",
    "epoch": "2026-01-01T20:00:00Z",
    "dice_table": {"length_mm": 3600, "width_mm": 1100, "die_mm": 19.0},
}
WHEEL: Fields = {
    "pockets": "european",
    "pockets_clockwise": ["0", "32", "15"],
    "beams_deg": [0, 90, 200],
    "pocket_reader_deg": 45,
    "rotor_index_deg": 0,
    "drop_rev_per_s": 0.5,
}
LOCK: Fields = {
    "t": 1_000_000,
    "dev": "console",
    "kind": "input",
    "name": "lock",
    "by": "supervisor",
    "who": "Ann",
}
UNLOCK: Fields = {**LOCK, "t": 3_723_004_000, "name": "unlock"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log in which a supervisor locks and unlocks the table."""
    return write(tmp_path / "night.jsonl", HEADER, LOCK, UNLOCK)


def write(path: Path, *lines: Fields | str) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(text + "\n" for text in texts))
    return path


class TestPrinting:
    def test_each_outcome_is_one_aligned_line(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["replay", str(log)]) == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines() == [
            "0:00:01.000  table.locked     lock, by supervisor Ann",
            "1:02:03.004  table.unlocked   unlock, by supervisor Ann",
        ]
        assert printed.err == ""

    def test_a_log_without_outcomes_is_reported(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        empty = write(tmp_path / "empty.jsonl", HEADER)
        assert main(["replay", str(empty), "--json"]) == 0
        printed = capsys.readouterr()
        assert printed.out == ""
        assert f"{empty}: found no outcomes in the log" in printed.err
        nothing = write(tmp_path / "nothing.jsonl")
        assert main(["replay", str(empty), "--check", str(nothing)]) == 0
        assert f"{nothing}: found no outcomes in the file, so nothing was compared" in capsys.readouterr().err

    def test_json_has_one_object_per_outcome_with_its_keys_in_order(
        self, log: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", str(log), "--json"]) == 0
        outcomes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [list(outcome) for outcome in outcomes] == [["type", "t", "id", "seq", "data"]] * 2
        assert [(o["type"], o["t"], o["id"], o["seq"]) for o in outcomes] == [
            ("table.locked", 1_000_000, "t1/replay/1", 1),
            ("table.unlocked", 3_723_004_000, "t1/replay/2", 2),
        ]

    def test_standard_input_compressed_or_not_gives_the_same_output(self, log: Path) -> None:
        command = [sys.executable, "-m", "controller.cli.main", "replay", "-", "--json"]
        data = log.read_bytes()
        plain, packed = (
            subprocess.run(command, input=given, capture_output=True, check=True)
            for given in (data, gzip.compress(data))
        )
        assert plain.stdout == packed.stdout
        assert plain.stdout.count(b"\n") == 2

    def test_numbers_and_session_follow_on_from_the_header(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        header = {**HEADER, "session": "s7", "first": {"seq": 41, "roll": 9}, "state": {"lock": "locked"}}
        assert main(["replay", str(write(tmp_path / "a.jsonl", header, UNLOCK)), "--json"]) == 0
        outcome = json.loads(capsys.readouterr().out)
        assert (outcome["type"], outcome["id"], outcome["seq"]) == ("table.unlocked", "t1/s7/41", 41)


class TestReporting:
    def test_a_log_that_was_cut_off_is_replayed_up_to_the_cut(
        self, log: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        log.write_bytes(log.read_bytes()[:-20])
        assert main(["replay", str(log)]) == 0
        printed = capsys.readouterr()
        assert (printed.out.count("\n"), "truncated after line 2" in printed.err) == (1, True)

    def test_unknown_kinds_and_fields_are_counted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        zap: Fields = {"t": 1, "dev": "x", "kind": "zap"}
        path = write(tmp_path / "a.jsonl", HEADER, zap, zap, {**LOCK, "mood": 1})
        assert main(["replay", str(path)]) == 0
        printed = capsys.readouterr()
        assert "ignored 3 unknown kinds or fields: kind `zap` x2, field `mood` of `input` x1" in printed.err
        assert "table.locked" in printed.out

    def test_a_single_unknown_field_is_counted_in_the_singular(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path / "a.jsonl", HEADER, {**LOCK, "mood": 1})
        assert main(["replay", str(path)]) == 0
        assert "ignored 1 unknown kind or field: field `mood` of `input` x1" in capsys.readouterr().err

    def test_lenient_skips_and_counts_bad_lines(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path / "a.jsonl", HEADER, "oops", LOCK, "[]")
        assert main(["replay", str(path), "--lenient"]) == 0
        printed = capsys.readouterr()
        assert f"skipped 2 bad lines, the first: {path}, line 2: found oops" in printed.err
        assert "table.locked" in printed.out

    def test_readings_that_came_too_late_are_counted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        early: Fields = {"t": 5, "dev": "cam", "kind": "die_lost", "die": 1}
        path = write(tmp_path / "a.jsonl", HEADER, LOCK, early)
        assert main(["replay", str(path), "--explain"]) == 0
        printed = capsys.readouterr()
        first = "the first: line 3, die_lost from cam, whose time is off by"
        assert f"1 reading arrived too late to count; {first}" in printed.err
        assert "ms too late, not used: 0.000005 s cam die_lost die=1" in printed.out

    def test_progress_is_shown_on_a_terminal_and_erased_at_the_end(
        self, log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        assert main(["replay", str(log)]) == 0
        assert capsys.readouterr().err.endswith("\r3 lines read\r\x1b[K")

    def test_names_in_a_log_cannot_move_the_cursor(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path / "a.jsonl", HEADER, {**LOCK, "who": "\x1b[2J\r"}, {**LOCK, "kind": "\x1b[2J"})
        assert main(["replay", str(path)]) == 0
        printed = capsys.readouterr()
        assert ("\x1b" in printed.out + printed.err, "\\x1b[2J\\r" in printed.out) == (False, True)


class TestRefusing:
    def refused(self, argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
        assert main(["replay", *argv]) == 2
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("tablectl: ")
        assert printed.err.count("\n") == 1
        return printed.err

    def test_a_bad_line_and_nothing_is_half_done(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(tmp_path / "a.jsonl", HEADER, LOCK, UNLOCK, {**LOCK, "t": "noon"})
        assert (
            'a.jsonl, line 4: found "noon" as `t` of a `input` reading, expected a whole number'
            in self.refused([str(path)], capsys)
        )

    def test_a_missing_log(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert "expected a recorded sensor log; check the name" in self.refused(
            [str(tmp_path / "no")], capsys
        )

    def test_an_unknown_rule_set_and_lists_the_known_ones(
        self, log: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        printed = self.refused([str(log), "--rules", "craps-v2"], capsys)
        assert "found no 'craps-v2', expected one of 'craps-12-034', 'craps-v1'" in printed
        assert "did you mean 'craps-v1'?" in printed

    @pytest.mark.parametrize(
        ("header", "says"),
        [
            (
                {**HEADER, "ruleset": ""},
                "line 1: found a header without `ruleset`, expected a rule set's name",
            ),
            ({**HEADER, "ruleset": "./x.yaml"}, "line 1: found `ruleset` './x.yaml' in the header"),
            (
                {**HEADER, "ruleset": "bingo"},
                "line 1: found `ruleset` 'bingo' in the header, expected",
            ),
            ({**HEADER, "ruleset": "bingo"}, "found no 'bingo', expected one of"),
            ({**HEADER, "ruleset": "roulette"}, "found a header with dice_table, expected `wheel` alone"),
            (
                {**HEADER, "wheel": WHEEL},
                "found a header with dice_table and wheel, expected `dice_table` alone",
            ),
            ({**HEADER, "dice_table": None}, "found a header with no geometry, expected `dice_table` alone"),
            ({**HEADER, "version": 2}, "found 2 as `version` of the header, expected 1"),
            (
                {**HEADER, "state": {"point": 7}},
                "as `state.point` of the header, expected one of 4, 5, 6, 8, 9 or 10",
            ),
        ],
    )
    def test_a_header_without_the_tables_dimensions(
        self, header: Fields, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert says in self.refused([str(write(tmp_path / "a.jsonl", header, LOCK))], capsys)

    def test_a_bad_file_of_expected_outcomes(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        bad = write(log.parent / "e.jsonl", "oops")
        assert "e.jsonl, line 1: found no JSON object" in self.refused(
            [str(log), "--check", str(bad)], capsys
        )


class TestChecking:
    def test_its_own_outcomes_match(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        main(["replay", str(log), "--json"])
        expected = write(log.parent / "e.jsonl", *capsys.readouterr().out.splitlines())
        assert main(["replay", str(log), "--check", str(expected)]) == 0
        printed = capsys.readouterr()
        assert "all 2 expected outcomes match" in printed.err
        assert printed.out.count("\n") == 2

    def test_a_difference_is_exit_1_and_named(self, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
        expected = write(log.parent / "e.jsonl", {"type": "table.locked", "data": {"who": "Bob"}})
        assert main(["replay", str(log), "--check", str(expected), "--json"]) == 1
        assert 'e.jsonl: outcome 1, key `data.who`: found "Ann", expected "Bob"' in capsys.readouterr().err


def test_another_rule_set_can_be_tried_on_a_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(log), "--rules", "craps-v1"]) == 0
    assert capsys.readouterr().out.count("\n") == 2


class TestSeveralLogs:
    NAMES = ("sim-craps-12-034-a", "roulette-american", "sim-three-card-directed")

    def logs(self) -> list[str]:
        return [str(RECORDED / f"{name}.jsonl.gz") for name in self.NAMES]

    @pytest.mark.parametrize("workers", ["1", "3"])
    def test_several_logs_give_the_outcomes_of_each_alone_in_order(
        self, workers: str, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        alone = b""
        for log in self.logs():
            assert main(["replay", log, "--json"]) == 0
            alone += capfdbinary.readouterr().out
        assert main(["replay", *self.logs(), "--json", "--workers", workers]) == 0
        assert capfdbinary.readouterr().out == alone

    def test_more_logs_than_are_replayed_at_a_time(
        self, log: Path, capfdbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        assert main(["replay", str(log)]) == 0
        alone = capfdbinary.readouterr().out
        assert main(["replay", *[str(log)] * 30, "--workers", "2"]) == 0
        assert capfdbinary.readouterr().out == alone * 30

    def test_all_expected_outcomes_are_compared_across_the_logs(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        expected = tmp_path / "both.jsonl"
        pieces = ("sim-craps-12-034-a", "sim-craps-12-034-b")
        expected.write_bytes(b"".join((RECORDED / f"{one}.expected.jsonl").read_bytes() for one in pieces))
        logs = [str(RECORDED / f"{one}.jsonl.gz") for one in pieces]
        assert main(["replay", *logs, "--check", str(expected)]) == 0
        assert "expected outcomes match" in capsys.readouterr().err
        assert main(["replay", *reversed(logs), "--check", str(expected)]) == 1

    def test_a_bad_log_ends_it_after_those_before_it(
        self, log: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        bad = write(tmp_path / "bad.jsonl", HEADER, LOCK, "{")
        assert main(["replay", str(log), str(bad), str(log)]) == 2
        printed = capfd.readouterr()
        assert printed.out.count("table.locked") == 1
        assert f"{bad}, line 3: found" in printed.err

    def test_standard_input_cannot_be_one_of_several_logs(
        self, log: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["replay", str(log), "-"]) == 2
        assert (
            "found standard input among other logs, expected standard input alone" in capsys.readouterr().err
        )

    def test_a_killed_worker_ends_the_replay_with_a_message_saying_what_to_do(
        self, log: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(replay_command, "_replayed", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
        assert main(["replay", str(log), str(log)]) == 1
        printed = capfd.readouterr()
        assert printed.out == ""
        assert "a replay process was killed" in printed.err
        assert "--workers 1" in printed.err

    def test_a_stopped_replay_leaves_no_process(self) -> None:
        command = [sys.executable, "-m", "controller.cli.main", "replay", *self.logs() * 40, "--json"]
        quiet = subprocess.DEVNULL
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=quiet, start_new_session=True
        ) as replay:
            assert replay.stdout is not None
            assert replay.stdout.readline().startswith(b"{")
            replay.terminate()
            replay.stdout.read()  # every worker holds the pipe, which ends after the last worker
        assert replay.returncode == 143
