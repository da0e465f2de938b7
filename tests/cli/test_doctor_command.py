"""`tablectl doctor`: a line per finding, the exit code, and an archive without secrets."""

import json
import os
import tarfile
from pathlib import Path

import pytest

from controller.cli import doctor
from controller.cli.main import main


@pytest.fixture(autouse=True)
def _nobody_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_call", lambda _: None)
    monkeypatch.chdir(tmp_path)


def examine(tmp_path: Path, *words: str) -> int:
    where = ("--journal", str(tmp_path / "journal"), "--socket", str(tmp_path / "control.sock"))
    return main(["doctor", *words, *where])


def test_a_table_that_does_not_run_is_a_finding_with_its_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert examine(tmp_path, "craps") == 1
    told = capsys.readouterr().out
    assert "no controller responds" in told
    assert "-> systemctl start table, or tablectl run TABLE" in told
    assert "not checked" in told.splitlines()[-1]


def test_a_journal_and_a_head_file_closed_to_this_user_hide_no_other_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only root and the controller may read an installed journal."""
    looked = Path.exists

    def exists(path: Path) -> bool:
        if path.name == "journal.head":
            raise PermissionError(13, "Permission denied", str(path))
        return looked(path)

    monkeypatch.setattr(Path, "exists", exists)
    monkeypatch.setattr(os, "access", lambda *_: False)
    (tmp_path / "journal").mkdir()
    assert examine(tmp_path) == 1
    assert f"{tmp_path / 'journal'}: not accessible to this user; run as root" in capsys.readouterr().out


def test_without_a_name_it_examines_the_table_that_the_service_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = (Path(__file__).parents[2] / "systemd/table.service").read_text(encoding="utf-8")
    assert f"tablectl run {doctor.TABLE} " in unit
    installed = tmp_path / "table.yaml"
    installed.write_text("table: {", encoding="utf-8")
    monkeypatch.setattr(doctor, "TABLE", str(installed))
    assert examine(tmp_path) == 1
    assert "found text that is not YAML" in capsys.readouterr().out


def with_another_table_running(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Run a controller that has loaded another file; return that file."""
    own = (tmp_path / "virtual.yaml").resolve()
    shipped = Path(__file__).parents[2] / "config/tables/craps.yaml"
    own.write_text(
        shipped.read_text(encoding="utf-8").replace("table: craps", "table: own"), encoding="utf-8"
    )
    status = {
        "table": "own",
        "headline": "open",
        "lock": "unlocked",
        "file": str(own),
        "journal_folder": str(tmp_path / "its-own-journal"),
        "faults": [],
        "self_test": [],
    }
    monkeypatch.setattr(doctor, "status_at", lambda _: (status, ""))
    return own


def test_without_a_name_it_examines_the_file_and_the_journal_of_the_table_that_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = with_another_table_running(monkeypatch, tmp_path)
    main(["doctor"])
    told = capsys.readouterr().out
    assert f"{own}: own, craps-12-034" in told
    assert str(tmp_path / "its-own-journal") in told


def test_a_named_file_other_than_the_running_tables_is_reported_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = with_another_table_running(monkeypatch, tmp_path)
    main(["doctor", "craps", "--json"])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (other,) = (one for one in found if "but the running controller loaded" in one["says"])
    assert str(own) in other["says"]
    assert other["remedy"] == "omit the name to examine the running table's own file"
    main(["doctor", str(own)])
    assert "but the running controller loaded" not in capsys.readouterr().out


def test_each_line_of_json_is_one_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert examine(tmp_path, "--json") == 1
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert all(set(one) == {"state", "about", "says", "remedy"} for one in found)
    assert {"python", "clock", "disk", "controller"} <= {one["about"] for one in found}


def test_the_archive_holds_the_report_and_no_secret_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = "00112233445566778899aabbccddeeff"
    table = tmp_path / "mine.yaml"
    table.write_text(
        "table: mine\nruleset: craps-12-034\ndice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}\n"
        f"devices:\n  cam: {{type: node, node: cam, port: /dev/serial/by-id/x, key: {key}}}\n"
    )
    assert examine(tmp_path, str(table), "--bundle", "support.tar.gz") == 1
    assert "keys, passwords and tokens are left out" in capsys.readouterr().err
    assert (tmp_path / "support.tar.gz").stat().st_mode & 0o077 == 0
    with tarfile.open(tmp_path / "support.tar.gz") as archive:
        members = {entry.name: archive.extractfile(entry) for entry in archive}
        text = b"".join(member.read() for member in members.values() if member is not None).decode()
    assert {"table-support/doctor.jsonl", "table-support/versions.txt"} <= set(members)
    assert "table: mine" in text
    assert key not in text


def test_the_archive_holds_no_secret_written_into_the_wrong_line(tmp_path: Path) -> None:
    """Neither the report nor the copy of the file may contain the misplaced value."""
    table = tmp_path / "mine.yaml"
    table.write_text(
        "table: mine\nruleset: craps-12-034\ncalls: hunter2\nmax_lateness_ms: [hunter2]\nnote: &hunter2 x\n"
        "devices:\n  cam: {type: node, node: cam hunter2, port: /dev/serial/by-id/x, reads: [die_at]}\n"
        "publish: {to: mqtt, mqtt: {host: 'ann:hunter2@broker', port: hunter2, tls: hunter2}}\n"
    )
    assert examine(tmp_path, str(table), "--bundle", "support.tar.gz") == 1
    with tarfile.open(tmp_path / "support.tar.gz") as archive:
        members = {entry.name: archive.extractfile(entry) for entry in archive}
        texts = {name: member.read().decode() for name, member in members.items() if member is not None}
    assert [name for name, text in texts.items() if "hunter2" in text] == []
    assert "publish.mqtt.port: found (left out), expected" in texts["table-support/doctor.jsonl"]


def test_an_archive_that_cannot_be_written_is_exit_2_and_leaves_no_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert examine(tmp_path, "--bundle", str(tmp_path / "no/such/folder.tar.gz")) == 2
    assert "does not exist" in capsys.readouterr().err


def test_an_archive_of_an_unknown_table_says_so_in_place_of_its_file(tmp_path: Path) -> None:
    assert examine(tmp_path, "no-such-table", "--bundle", "support.tar.gz") == 1
    with tarfile.open(tmp_path / "support.tar.gz") as archive:
        member = archive.extractfile("table-support/table.yaml")
        assert member is not None
        assert b"found no 'no-such-table'" in member.read()
