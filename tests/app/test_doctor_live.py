"""`tablectl doctor` on a running daemon: its findings, and an archive without secrets."""

import json
import tarfile
from pathlib import Path

import pytest

from controller.cli import doctor
from controller.cli.main import main
from controller.journal.keys import CREDENTIAL
from controller.technician import machine_checks
from tests.app.rig import Json, Table, tick, until
from tests.scenes import SECOND_US

PASSWORD = "correct-horse-battery"
TOKEN = "eyJhbGciOi.s3cr3t"


@pytest.fixture(autouse=True)
def _no_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_call", lambda _: None)


def examined(table: Table, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Json]:
    """Run the doctor; return its findings by subject."""
    where = ("--journal", str(table.journal), "--socket", table.socket)
    code = main(["doctor", str(table.folder / "craps.yaml"), "--json", *where, *words])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == int(any(one["state"] in {"fault", "warning"} for one in found))
    return {one["about"]: one for one in found}


def test_a_running_controller_and_its_journal_are_reported(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    table.start()
    table.unlock()
    table.feed([tick(SECOND_US)])
    until(lambda: table.status()["lock"] == "unlocked", "play to begin")
    until(lambda: "'verified': 'whole'" in str(table.status()["journal"]), "the whole journal to be read")
    found = examined(table, capsys)
    assert found["controller"]["state"] == "ok"
    assert found["running journal"]["says"] == "its whole chain is verified"
    assert found["journal"]["state"] == "ok"
    assert ": sound: " in str(found["journal"]["says"])
    assert "active fault" not in found
    table.kill()
    found = examined(table, capsys)
    assert found["controller"]["state"] == "fault"
    assert found["journal"]["state"] == "ok"
    assert "running journal" not in found


def test_no_secret_of_the_environment_the_credentials_or_the_journals_folder_gets_into_the_archive(
    table: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table.start()
    key = (table.journal / "table.key").read_text(encoding="ascii")
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / CREDENTIAL).write_text(key, encoding="ascii")
    (credentials / CREDENTIAL).chmod(0o600)
    (credentials / "broker-key").write_text(PASSWORD, encoding="ascii")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    monkeypatch.setenv("DATABASE", f"postgresql://table:{PASSWORD}@books/settlement")
    monkeypatch.setenv("SETTLEMENT_TOKEN", TOKEN)
    archive = tmp_path / "support.tar.gz"
    examined(table, capsys, "--bundle", str(archive))
    with tarfile.open(archive) as packed:
        members = {entry.name: packed.extractfile(entry) for entry in packed}
        text = b"".join(member.read() for member in members.values() if member is not None).decode()
    assert "table-support/status.json" in members
    assert '"lock"' in text
    secret = "".join(line for line in key.splitlines() if not line.startswith("-----"))
    for planted in (PASSWORD, TOKEN, secret, secret[-24:], "PRIVATE KEY"):
        assert planted not in text


def test_a_journal_that_is_still_being_verified_is_reported_as_such() -> None:
    status = {"table": "craps", "headline": "open", "journal": {"verified": "from the last checkpoint"}}
    findings = {finding.about: finding.says for finding in machine_checks.controller(status, "")}
    assert findings["running journal"] == (
        "its chain is verified from the last checkpoint; the rest is being verified in the background"
    )
