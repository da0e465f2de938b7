"""A board that reports for several of the table's devices over one cable."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.cli.main import main
from controller.cli.simulation import boards_in
from controller.model.outcomes import TableEvent
from controller.model.readings import AnyReading, DeviceDown, WallImpact
from controller.replay.log import open_log
from controller.settings.tables import load_table
from controller.settings.yaml_text import parse_document
from drivers.sim.boards import Sensor
from drivers.sim.faults import FaultRequest, carry_out
from drivers.sim.setting import types_for, virtual_table
from tests.app.devices_rig import VirtualSession
from tests.app.house import live_of
from tests.app.rig import until
from tests.sim.fairness import wrong_outcomes

TABLE = """\
table: pit-3
ruleset: craps-12-034
dice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}
devices:
  cam: {type: node, node: cam, port: /dev/cam, reads: [die_released, die_at, die_rest, die_lost]}
  walls:
    type: node
    node: w1
    port: /dev/walls
    channels:
      1: {dev: wall-left, fields: {wall: left}}
      2: {dev: wall-right, least_peak: 5}
  wall-left: {reads: [wall_impact], wall: left}
  wall-right: {reads: [wall_impact], wall: right}
  console: {type: node, node: con, port: /dev/con, reads: [input, switch]}
"""
LAST_WORD_US = 12_000_000
BROKEN = ("walls", "wall-left", "wall-right")


def written(folder: Path, text: str = TABLE) -> Path:
    path = folder / "pit-3.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def session(tmp_path: Path) -> Iterator[VirtualSession]:
    """Yield a virtual session at a table whose wall sensors are wired to one board."""
    one = VirtualSession(tmp_path, str(written(tmp_path)), seed=7, attempts=8)
    one.start()
    yield one
    one.stop()


def test_a_session_at_a_board_with_channels_is_published_as_it_happened(session: VirtualSession) -> None:
    assert list(session.virtual.cables) == ["cam", "walls", "console"]
    until(lambda: bool(session.played) or session.virtual.over, "the first throw")
    session.order("unplug", "walls")
    until(session.is_healthy, "the board to be found again")
    until(lambda: session.virtual.over, "the end of the session")
    ended_us = session.clock.now_us()
    until(lambda: live_of(session.daemon).core.view.now_us > ended_us + LAST_WORD_US, "the last outcome")
    session.stop()
    assert wrong_outcomes(session.played, list(session.effects())) == []
    readings = list(recorded(session))
    heard = {(reading.dev, reading.wall) for reading in readings if isinstance(reading, WallImpact)}
    assert heard == {("wall-left", "left"), ("wall-right", "right")}
    assert {reading.dev for reading in readings if isinstance(reading, DeviceDown)} >= set(BROKEN)
    published = [outcome.data for outcome in session.house.outcomes() if outcome.type == "device.down"]
    assert {data.what for data in published if isinstance(data, TableEvent)} >= set(BROKEN)


def recorded(session: VirtualSession) -> Iterator[AnyReading]:
    for path in sorted(session.house.options.recordings.iterdir()):
        with open_log(str(path)) as log:
            yield from log


def test_a_fault_of_a_board_is_a_fault_of_each_of_its_devices(tmp_path: Path) -> None:
    path = written(tmp_path)
    settings = load_table(str(path))
    boards = boards_in(parse_document(path), settings)
    table = virtual_table(settings, types_for(settings, boards), seed=1, report=lambda _: None, boards=boards)
    table.start(0)
    carry_out(table, FaultRequest(fault="dead_sensor", device="walls"), 0)
    (unseen,) = table.drop_conditions
    for dev, hidden in (("wall-left", True), ("wall-right", True), ("walls", True), ("cam", False)):
        assert unseen(WallImpact(t=1, dev=dev, wall="left", pos_mm=500, peak=300)) is hidden


def test_a_board_is_sent_the_settings_of_each_channel_in_the_file(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert boards_in(parse_document(path), load_table(str(path))) == {
        "walls": {
            1: Sensor("wall-left", ("wall_impact",), frozenset({"wall"})),
            2: Sensor("wall-right", ("wall_impact",), frozenset({"wall"})),
        }
    }


@pytest.mark.parametrize("channel", ["1: {dev: wall-lfet}", "one: {dev: wall-left}", "1: wall-left"])
def test_a_channel_that_belongs_to_no_device_is_named(
    tmp_path: Path, channel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, TABLE.replace("1: {dev: wall-left, fields: {wall: left}}", channel))
    assert main(["simulate", str(path), "--dir", str(tmp_path / "virtual")]) == 2
    said = capsys.readouterr().err
    assert f"devices.walls.channels.{channel.partition(':')[0]}: found" in said
    assert "one of cam, walls, wall-left, wall-right, console" in said
