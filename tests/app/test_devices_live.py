"""A table with real links and devices: no false outcome, every fault named, and an identical replay."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.app.control import Control
from controller.app.peers import Groups
from controller.app.status import build_status
from controller.cli import main as cli
from controller.model.outcomes import TableEvent
from controller.model.readings import AnyReading, Input
from controller.replay.log import open_log
from drivers.health import DEVICE_FAULTS
from drivers.sim.boards import Board
from tests.app.devices_rig import VirtualSession
from tests.app.house import live_of
from tests.app.pieces import last_session, recordings_named, replayed
from tests.app.rig import until
from tests.sim.fairness import unnamed, wrong_outcomes

Maker = Callable[..., VirtualSession]


PLAYED_BY = {
    "craps": [("unplug", "cam"), ("garbage", "wall-left"), ("restart", "wall-right")],
    "roulette": [("unplug", "wheel"), ("garbage", "wheel"), ("restart", "wheel")],
}
WHAT_TO_DO = tuple(DEVICE_FAULTS[code].do for code in ("unplugged", "no_port"))
LAST_WORD_US = 12_000_000
"""Maximum time from the end of an attempt to its call or review."""
OWN = "max_lateness_ms: 150\n"
"""The table's change to its rule set, which a recording must contain."""


def unwrapped(text: str) -> str:
    """Return a wrapped text as one line."""
    return " ".join(text.split())


@pytest.fixture
def make_session(tmp_path: Path) -> Iterator[Maker]:
    """Yield a function that starts virtual sessions. Switch them off at the end."""
    made: list[VirtualSession] = []

    def make(table: str, **settings: object) -> VirtualSession:
        made.append(VirtualSession(tmp_path, table, **settings))  # type: ignore[arg-type]  # test settings
        made[-1].start()
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.mark.parametrize("table", ["craps", "roulette"])
def test_faults_at_the_cables_cause_no_false_outcome_and_replay_gives_the_same_bytes(
    make_session: Maker, table: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    one = make_session(table, seed=7, attempts=8 if table == "craps" else 3, own=OWN)
    for fault, device in PLAYED_BY[table]:
        played = len(one.played)
        until(lambda: len(one.played) > played or one.virtual.over, "the next attempt")  # noqa: B023 called at once
        one.order(fault, device)
        until(one.is_healthy, f"{fault} of {device} to clear")
    until(lambda: one.virtual.over, "the end of the session")
    ended_us = one.clock.now_us()
    until(lambda: live_of(one.daemon).core.view.now_us > ended_us + LAST_WORD_US, "the last outcome")
    one.stop()

    rows = one.house.rows()
    assert wrong_outcomes(one.played, list(one.effects())) == []
    setup, published = last_session(rows)
    recordings = one.house.options.recordings
    readings = [reading for path in sorted(recordings.iterdir()) for reading in readings_in(path)]
    assert unnamed(one.faults, readings) == []
    troubled = {
        outcome.data.what
        for outcome in one.house.outcomes()
        if outcome.type == "device.down" and isinstance(outcome.data, TableEvent)
    }
    assert {device for fault, device in PLAYED_BY[table] if fault != "garbage"} <= troubled

    live = [row.body for row in published if b'"cause":"self_test"' not in (row.body or b"")]
    assert len([row for row in published if row.name.startswith(("roll.", "spin."))]) > 2
    assert live == replayed(recordings, setup)
    assert recordings_named(published, recordings)
    for path in sorted(recordings.iterdir()):
        assert cli.main(["replay", str(path), "--json"]) == 0
    printed = [line + b"\n" for line in capsysbinary.readouterr().out.splitlines()]
    assert b"".join(printed) == b"".join(line + b"\n" for line in live if line is not None)


def readings_in(path: Path) -> list[AnyReading]:
    with open_log(str(path)) as log:
        return list(log)


def test_a_pulled_cable_is_named_with_its_remedy(
    make_session: Maker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = make_session("craps", attempts=1)
    control = Control(one.daemon, tmp_path / "control", Groups())
    control.start()
    socket = ["--socket", str(tmp_path / "control")]
    assert cli.main(["devices", *socket]) == 0
    assert "node, firmware virtual-1" in capsys.readouterr().out
    one.order("unplug", "wall-left")
    until(lambda: not device(one, "wall-left")["up"], "the pulled cable to be seen")
    reported = device(one, "wall-left")
    assert reported["do"] in WHAT_TO_DO
    assert cli.main(["devices", *socket]) == 1
    shown = unwrapped(capsys.readouterr().out)
    assert "wall-left offline for " in shown
    assert any(what in shown for what in WHAT_TO_DO)
    assert cli.main(["faults", *socket]) == 1
    shown = unwrapped(capsys.readouterr().out)
    assert "device_down" in shown
    assert "wall-left" in shown
    assert any(what in shown for what in WHAT_TO_DO)
    assert cli.main(["devices", "wall-rigth", *socket]) == 1
    assert "its devices are cam, wall-left, wall-right, console" in capsys.readouterr().err
    assert (reported["type"], device(one, "cam")["up"]) == ("node", True)
    until(lambda: bool(device(one, "wall-left")["up"]), "the cable to be plugged in again")
    figures = device(one, "wall-left")["figures"]
    assert isinstance(figures, dict)
    assert (figures["phase"], figures["firmware"]) == ("up", "virtual-1")
    assert cli.main(["devices", "wall-left", *socket]) == 0
    assert "figures.firmware        virtual-1" in capsys.readouterr().out
    until(lambda: cli.main(["faults", *socket]) == 0, "all faults to clear")
    assert capsys.readouterr().out.endswith("no faults\n")
    control.stop()


def device(one: VirtualSession, name: str) -> dict[str, object]:
    devices = build_status(one.daemon)["devices"]
    assert isinstance(devices, dict)
    status: dict[str, object] = devices[name]
    return status


def lamps_of(one: VirtualSession, name: str) -> dict[str, str]:
    """Return the lamps that a board shows."""
    board = one.virtual.cables[name].peer
    assert isinstance(board, Board)
    return board.lamps


def test_lamps_are_lit_on_the_boards_and_again_after_a_board_was_away(make_session: Maker) -> None:
    one = make_session("craps", attempts=1)
    until(lambda: lamps_of(one, "console").get("lock") == "unlocked", "the lock lamp")
    one.order("restart", "console")
    lamps_of(one, "console").clear()
    until(lambda: lamps_of(one, "console").get("lock") == "unlocked", "the lock lamp to be lit again")
    until(lambda: lamps_of(one, "cam") == lamps_of(one, "console"), "the same lamps on every board")
    until(lambda: lamps_of(one, "cam")["fault"] == "none", "the fault lamp to go out")


def test_a_wheel_that_reports_a_failed_part_locks_the_table_until_a_person_has_inspected_it(
    make_session: Maker,
) -> None:
    one = make_session("roulette-ss2", mix={"valid": 1.0})
    until(lambda: len(one.played) > 0, "a spin")
    one.order("wheel_component", "wheel")
    until(lambda: not one.unlocked(), "the lock")
    codes = [fault.code for fault in one.daemon.faults.locking]
    assert codes == ["device_component"]
    one.daemon.approve_devices()
    until(one.unlocked, "play to continue")
    *_, locked = [outcome.data for outcome in one.house.outcomes() if outcome.type == "table.locked"]
    assert isinstance(locked, TableEvent)
    assert (locked.by, locked.cause, locked.says) == ("controller", "device_component", None)


def test_a_void_spin_is_sent_to_the_wheel_that_plays_it(
    make_session: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = make_session("roulette-ss2", mix={"valid": 1.0})
    sent: list[bytes] = []
    hear = one.virtual.receive

    def note(name: str, now_us: int, data: bytes) -> None:
        sent.append(data if name == "wheel" else b"")
        hear(name, now_us, data)

    monkeypatch.setattr(one.virtual, "receive", note)
    until(lambda: bool(build_status(one.daemon)["attempt_open"]), "a ball in the rim")
    called = Input(t=0, dev="control", name="no_spin", by="dealer", who="ann")
    assert one.daemon.inlet.post(called, has_time=False)
    until(lambda: b"*R" in b"".join(sent), "the void at the wheel")
    assert "spin.no_spin" in one.house.types()
