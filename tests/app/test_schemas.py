"""Editors check and complete the configuration files with schemas generated from the types."""

import json
from pathlib import Path

import pytest

from controller.app.schemas import main, schemas, stale
from controller.settings.places import config_home


def test_the_schemas_match_the_types() -> None:
    assert stale(config_home() / "schema") == []


def test_a_stale_schema_fails_the_check_and_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TABLE_CONFIG", str(tmp_path))
    assert main(["--check"]) == 1
    assert "table.schema.json: stale" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0


@pytest.mark.parametrize("folder", ["rulesets", "tables", "paytables"])
def test_every_configuration_file_names_its_schema(folder: str) -> None:
    for file in (config_home() / folder).glob("*.yaml"):
        first = file.read_text(encoding="utf-8").splitlines()[0]
        marker = "# yaml-language-server: $schema="
        assert first.startswith(marker), file
        assert (file.parent / first.removeprefix(marker)).is_file(), file


def test_a_schema_contains_limits_allowed_values_and_docstrings() -> None:
    table = json.loads(schemas()["table.schema.json"])
    assert table["additionalProperties"] is False
    assert table["properties"]["calls"]["enum"] == ["automatic", "confirm"]
    throw = table["$defs"]["ThrowRules"]
    assert throw["properties"]["call_hold_ms"]["minimum"] == 0
    assert "spoken No Roll" in throw["properties"]["call_hold_ms"]["description"]
    assert not throw["required"]  # a table may change any part
    rules = json.loads(schemas()["ruleset.schema.json"])
    assert rules["$defs"]["ThrowRules"]["required"] == ["wall"]
