"""A shadow of a table that is run by people: it publishes nothing, and its calls are compared."""

import json
from pathlib import Path

import pytest

from controller.app.hardware import Hardware
from controller.app.options import Options, mistakes_in
from controller.cli.main import main
from controller.cli.run import shadow_settings
from controller.engine.session import Session
from controller.machines.setup import NextNumbers, State
from controller.model.readings import AnyReading
from controller.settings.tables import load_table
from tests.app.rig import Table
from tests.journal.rig import Rig, append, begin, durable, rig_in, session_steps, setup_at
from tests.scenes import SECOND_US, input_at, throw


def journaled(rig: Rig, readings: list[AnyReading]) -> str:
    """Play readings from the first one on; return their journal."""
    with rig.open() as journal:
        begin(journal)
        for step in session_steps(Session(setup_at(NextNumbers(), State())), readings):
            durable(append(journal, step))
    return str(rig.place.journal)


def rolls_entered() -> list[AnyReading]:
    """Return rolls that the dealer enters as called or differently, and one that the dealer decides."""
    at = [number * 20 * SECOND_US for number in range(1, 6)]
    return [
        *throw(at[0], (4, 4)),
        input_at(at[0] + 8 * SECOND_US, "set_dice", dice=[4, 4], who="Ann"),
        *throw(at[1], (2, 1)),
        input_at(at[1] + 8 * SECOND_US, "set_dice", dice=[2, 3], who="Ann"),
        *throw(at[2], (5, 5), confidence=0.4),
        input_at(at[2] + 8 * SECOND_US, "set_dice", dice=[5, 5], who="Bo"),
        *throw(at[3], (2, 2)),
        *throw(at[4], (2, 1), short_mm=(0.0, 300.0)),
        input_at(at[4] + 8 * SECOND_US, "no_roll", who="Ann"),
        input_at(at[4] + 10 * SECOND_US, "dice_collected"),
    ]


def test_each_attempt_is_compared_with_the_last_input_entered_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journaled(rig_in(tmp_path), rolls_entered())
    assert main(["shadow", "--journal", journal, "--json"]) == 1
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["agreement"], one["called"], one["entered"]) for one in printed] == [
        ("agrees", "4-4", "4-4"),
        ("differs", "1-2", "2-3"),
        ("review", None, "5-5"),
        ("not_entered", "2-2", None),
        ("agrees", "void", "void"),
    ]
    assert printed[1]["by"] == "boxperson Ann"


def test_the_report_counts_names_and_draws_every_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = journaled(rig_in(tmp_path), rolls_entered())
    drawn = tmp_path / "drawn"
    assert main(["shadow", "--journal", journal, "--pictures", str(drawn)]) == 1
    out = capsys.readouterr().out
    assert "5 attempts" in out
    assert "2  agree" in out
    assert "called 1-2; entered 2-3 by boxperson Ann" in out
    assert "review (low confidence); entered 5-5 by boxperson Bo" in out
    assert sorted(path.name for path in drawn.iterdir()) == ["2.svg", "3.svg"]


def test_a_report_without_differences_is_exit_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shadow", "--journal", journaled(rig_in(tmp_path), rolls_entered()[:7])]) == 0
    assert "differences" not in capsys.readouterr().out


class Deaf:
    """A station that must receive no request."""

    turns = 0

    def run_on(self, name: str, work: object) -> None:
        raise AssertionError(f"{name} received a request: {work}")


def test_a_shadow_lights_no_lamp() -> None:
    hardware = Hardware(Deaf(), {"console": "node"}, quiet=True)  # type: ignore[arg-type]  # it is all that is used
    hardware.show("review", "on")


def test_a_shadow_calls_by_itself_and_has_no_sink() -> None:
    settings = shadow_settings(load_table("craps"))
    assert (settings.calls, settings.publish.to, settings.publish.mqtt) == ("automatic", "socket", None)


def options(folder: Path, *, shadow: bool) -> Options:
    return Options(table="craps", journal=folder, socket=folder / "s", head=folder / "head", shadow=shadow)


@pytest.mark.parametrize("was_shadow", [True, False])
def test_a_shadows_journal_and_a_tables_are_never_confused(was_shadow: bool, tmp_path: Path) -> None:
    (tmp_path / "journal.db").touch()
    if was_shadow:
        (tmp_path / "shadow").touch()
    wrong = [str(mistake) for mistake in mistakes_in(options(tmp_path, shadow=not was_shadow), {})]
    right = [str(mistake) for mistake in mistakes_in(options(tmp_path, shadow=was_shadow), {})]
    assert any("--journal" in one for one in wrong)
    assert not any("--journal" in one for one in right)


def test_a_shadow_publishes_nothing_and_cannot_be_started_as_a_table(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.arguments = (*table.arguments, "--shadow")
    table.start()
    try:
        assert table.status()["shadow"] is True
        assert table.ask(do="outbox")["code"] == "shadow"
        assert table.ask(do="settled", id="x", chain="00" * 32)["code"] == "shadow"
    finally:
        table.terminate()
    assert table.journal.joinpath("shadow").exists()
