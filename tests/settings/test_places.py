"""Configuration is found by name in one place, or by a path."""

from pathlib import Path

import pytest

from controller.settings.mistakes import SettingsError
from controller.settings.places import config_file, config_home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rulesets").mkdir()
    (tmp_path / "rulesets" / "house.yaml").write_text("name: house\n")
    monkeypatch.delenv("TABLE_CONFIG", raising=False)
    return tmp_path


def test_the_shipped_configuration_is_the_default(home: Path) -> None:
    assert home != config_home()
    assert config_file("rulesets", "craps-12-034").is_file()


def test_the_environment_may_name_another_configuration(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_CONFIG", str(home))
    assert config_file("rulesets", "house") == home / "rulesets" / "house.yaml"


def test_a_given_directory_outranks_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_CONFIG", "/nowhere")
    assert config_home(home) == home


def test_a_missing_directory_is_a_mistake(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABLE_CONFIG", str(home / "none"))
    with pytest.raises(SettingsError, match="no directory \\(named by TABLE_CONFIG\\)"):
        config_home()


def test_an_unknown_name_is_refused_with_the_known_ones(home: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        config_file("rulesets", "hose", home)
    (mistake,) = caught.value.mistakes
    assert (mistake.found, mistake.expected, mistake.hint) == (
        "no 'hose'",
        "'house'",
        "did you mean 'house'?",
    )


@pytest.mark.parametrize("name", ["./mine.yaml", "mine.yaml", "tables/mine.yaml"])
def test_a_path_is_used_unchanged(home: Path, name: str) -> None:
    assert config_file("tables", name, home) == Path(name)


@pytest.mark.parametrize("name", ["", "..", "."])
def test_a_name_cannot_climb_out_of_its_folder(home: Path, name: str) -> None:
    with pytest.raises(SettingsError):
        config_file("rulesets", name, home)
