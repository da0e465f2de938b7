"""The topics that each client may write to and read."""

from pathlib import Path

import pytest

from controller.publish.wire import access_list, main, topics_of

EXAMPLE = Path(__file__).parents[2] / "systemd" / "mosquitto" / "acl"
ARGUMENTS = ["--table", "craps-1", "--table", "roulette-1", "--settlement", "settlement"]
ARGUMENTS += ["--staff", "pit", "--players", "wall-1=craps-1"]


def test_each_table_has_its_own_topics() -> None:
    assert topics_of("craps-1") == (
        "tables/craps-1/outcome",
        "tables/craps-1/players",
        "tables/craps-1/status",
        "tables/craps-1/answer",
        "tables/craps-1/open",
        "tables/craps-1/board",
    )


def test_a_players_display_reads_only_its_tables_topics_for_players() -> None:
    rules = access_list(["craps-1"], "settlement", players={"wall-1": "craps-1"})
    assert rules.split("user wall-1\n")[1] == "".join(
        f"topic read tables/craps-1/{word}\n" for word in ("players", "board")
    )


def test_the_shipped_access_list_is_the_generated_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ARGUMENTS) == 0
    assert capsys.readouterr().out == EXAMPLE.read_text(encoding="ascii")


@pytest.mark.parametrize("name", ["a b", "+", "x\ntopic readwrite #"])
def test_a_name_that_would_change_the_list_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--table", name, "--settlement", "s"]) == 2
    assert "expected 1 to 64 letters" in capsys.readouterr().err
    assert main(["--table", "t", "--settlement", name]) == 2
    assert main(["--table", "t", "--settlement", "s", "--players", name]) == 2
