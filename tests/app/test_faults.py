"""The catalogue of faults contains every code, with a remedy and documentation."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path

import pytest

import controller.app
from controller.app.devices import AMOUNTS_TO, DEVICE_DOWN, Devices
from controller.app.faults import CATALOGUE, ActiveFaults, Change, Fault, manual
from controller.cli.main import COMMANDS, parser_for
from controller.journal.faults import DESCRIPTIONS
from controller.journal.faults import FAULTS as JOURNAL_FAULTS
from controller.machines.setup import Setup
from controller.model.readings import DeviceDown
from controller.publish.faults import FAULTS as PUBLISH_FAULTS
from controller.settings.rulesets import load_ruleset
from drivers.health import DEVICE_FAULTS, reason_for

APP = Path(controller.app.__path__[0])
DOCS = APP.parents[1] / "docs"


def test_every_fault_that_the_daemon_raises_is_in_the_catalogue() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in APP.glob("*.py"))
    by_constant = {"inlet_overflow", "self_test_waits", "test_failed", DEVICE_DOWN, *AMOUNTS_TO.values()}
    raised = set(re.findall(r'\bFault\(\s*"(\w+)"', source)) | by_constant
    assert raised == set(CATALOGUE) - set(JOURNAL_FAULTS) - set(PUBLISH_FAULTS)


def test_every_fault_says_what_it_is_what_to_do_and_when_it_clears() -> None:
    for code, kind in CATALOGUE.items():
        assert all((kind.what, kind.cause, kind.next_step, kind.clears)), code


def test_a_fault_is_described_by_a_sentence_and_not_by_its_code() -> None:
    assert set(DESCRIPTIONS) == set(JOURNAL_FAULTS)
    for code, kind in CATALOGUE.items():
        assert len(kind.what.split()) >= 5, f"{code}: {kind.what}"
        assert kind.what.casefold() != code.replace("_", " "), code
        assert kind.cause != kind.what, code


WORDS = re.compile(r"`tablectl ([^`]+)`")
PLACEHOLDER = re.compile(r"[A-Z]+")


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_a_remedy_names_only_commands_and_pages_that_ship(code: str) -> None:
    """Every command, option, page and Makefile target in a remedy exists."""
    says = " ".join(CATALOGUE[code][:4])
    for command, *words in (match.split() for match in WORDS.findall(says)):
        assert command in COMMANDS
        help_ = helped(command, [word for word in words if word.isalpha() and word.islower()])
        for word in words:
            assert word in help_ or PLACEHOLDER.fullmatch(word), f"{command}: {word}"
    for page in re.findall(r"docs/[a-z-]+\.md", says):
        assert (DOCS.parent / page).exists()
    targets = re.findall(r"^([a-z ]+):", (DOCS.parent / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for target in re.findall(r"`make ([a-z]+)`", says):
        assert target in " ".join(targets).split()


def helped(command: str, words: list[str]) -> str:
    printed = io.StringIO()
    for asked in ([command], [command, *words[:1]]):
        before = ["--database", "sqlite:///none"] if command == "settlement" else []
        with suppress(SystemExit), redirect_stdout(printed), redirect_stderr(printed):
            parser_for((command,)).parse_args([asked[0], *before, *asked[1:], "--help"])
    return printed.getvalue()


def test_the_manual_of_faults_is_what_the_catalogue_says() -> None:
    assert (DOCS / "faults.md").read_text(encoding="utf-8") == "\n".join(manual()) + "\n"


def test_a_fault_is_reported_once_when_it_begins_and_once_when_it_ends() -> None:
    heard: list[Change] = []
    board = ActiveFaults(heard.append)
    fault = Fault("clock_stepped", "wall clock", "an hour")
    board.report(fault)
    board.report(fault)
    assert board.locking == (fault,)
    assert board.clear("clock_stepped")
    assert not board.clear("clock_stepped")
    assert heard == [Change(fault, began=True), Change(fault, began=False)]
    assert board.changes() == heard
    assert board.changes() == []


def test_a_recovered_duty_clears_its_own_faults_only() -> None:
    board = ActiveFaults()
    board.report(Fault("journal_disk_full", "journal", "no space"), "journal")
    board.report(Fault("recording_failed", "piece", "no space"), "recorder")
    board.clear_all("journal")
    assert [fault.code for fault in board.present] == ["recording_failed"]


def test_a_fault_is_reported_in_its_present_state_and_journaled_as_it_began() -> None:
    heard: list[Change] = []
    faults = ActiveFaults(heard.append)
    first = Fault("device_down", "wall-left", "its port went away")
    newer = Fault("device_down", "wall-left", "node console answers, node wall-left is expected")
    faults.report(first, "wall-left")
    faults.report(newer, "wall-left")
    assert faults.present == (newer,)
    assert heard == [Change(first, began=True)]
    faults.report(Fault("device_down", "elsewhere", "another place"), "wall-left")
    assert faults.present == (newer,)


def test_a_fault_can_neither_control_a_terminal_nor_forge_a_log_line() -> None:
    heard: list[Change] = []
    faults = ActiveFaults(heard.append)
    engine = "settlement engine \x1b[2J\n<2>table: over"
    for found in ("1\u202e", "2\u202e"):
        faults.report(Fault("settlement_ahead", engine, found), "publish")
    (fault,) = faults.present
    assert (fault.where, fault.found) == (r"settlement engine \x1b[2J\n<2>table: over", r"2\u202e")
    assert faults.clear("settlement_ahead", "publish")
    assert [str(change.fault).isprintable() for change in heard] == [True, True]


def test_a_device_that_is_away_is_reported_with_its_own_cause_and_remedy() -> None:
    faults = ActiveFaults()
    devices = Devices(Setup(table="t", ruleset=load_ruleset("craps-12-034")), faults)
    reason = reason_for("unplugged", "its port went away")
    devices.note(DeviceDown(t=1, dev="cam", code="unplugged", reason=reason))
    (fault,) = faults.present
    assert fault.found == "its port went away"
    assert fault.kind.next_step == DEVICE_FAULTS["unplugged"].do
    assert fault.kind.cause == DEVICE_FAULTS["unplugged"].likely
    assert fault.kind.what == CATALOGUE["device_down"].what
