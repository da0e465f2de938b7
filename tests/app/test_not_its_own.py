"""A device sends only its own readings, and no sensor enters rulings or reports for another device."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from controller.app.device_types import Kinds, hardware_of
from controller.app.faults import ActiveFaults
from controller.app.hardware import Hardware, Work
from controller.app.inlet import Inlet
from controller.model.readings import (
    AnyReading,
    BallOut,
    Card,
    DeviceUp,
    DieAt,
    DieRest,
    ForeignObject,
    Input,
    PocketBall,
    Switch,
    WallImpact,
)
from controller.settings.places import config_file
from controller.settings.tables import load_table
from tests.app.house import ManualClock

READS: Mapping[str, tuple[str, ...]] = {
    "camera": ("die_at", "die_rest"),
    "wall": ("wall_impact",),
    "shoe": ("card", "switch"),
    "console": ("input", "switch"),
    "light": (),
}


class Station:
    """A station without links."""

    turns = 0

    def start(self, hear: Callable[[AnyReading], object]) -> None:
        self.hear = hear

    def stop(self, timeout_s: float) -> bool:
        """End immediately."""
        return timeout_s > 0

    def run_on(self, name: str, work: Work) -> None:
        """Do nothing."""


class Wired:
    """The devices of a table, with the faults and the inlet for their readings."""

    def __init__(self) -> None:
        self.station, self.faults, self.inlet = Station(), ActiveFaults(), Inlet(ManualClock())
        hardware = Hardware(self.station, {}, reads=READS, faults=self.faults)
        hardware.start(self.inlet)

    def says(self, reading: AnyReading) -> list[str]:
        """Send a reading from a device; return the active faults."""
        self.station.hear(reading)
        return [f"{fault.where}: {fault.found}" for fault in self.faults.present]

    @property
    def waiting(self) -> int:
        return self.inlet.waiting


@pytest.fixture
def wired() -> Wired:
    return Wired()


def entered(dev: str, name: str = "set_dice", by: str = "boxperson") -> Input:
    return Input(t=1, dev=dev, name=name, by=by)


@pytest.mark.parametrize("name", ["set_dice", "unlock", "no_roll", "played", "test_mode"])
@pytest.mark.parametrize("dev", ["camera", "wall", "shoe", "light", "stranger"])
def test_no_sensor_enters_an_input_of_a_person(name: str, dev: str, wired: Wired) -> None:
    assert wired.says(entered(dev, name)) == [f"{dev}: an input by boxperson"]
    assert wired.waiting == 0


@pytest.mark.parametrize("by", ["settlement", "controller"])
def test_no_console_enters_an_input_of_the_settlement_engine_or_the_controller(by: str, wired: Wired) -> None:
    """Only the engine reports line bets, and only the controller enters its locks."""
    assert wired.says(entered("console", "line_bet", by)) == [f"console: an input by {by}"]
    assert wired.waiting == 0


@pytest.mark.parametrize(
    "reading",
    [
        DieRest(t=1, dev="console", die=1, x=1.0, y=1.0, up=6, confidence=1.0),
        WallImpact(t=1, dev="camera", wall="right", pos_mm=10.0, peak=100),
        Card(t=1, dev="camera", rank="A", suit="s"),
        DieAt(t=1, dev="shoe", die=1, x=1.0, y=1.0),
    ],
)
def test_no_device_reports_for_the_sensors_of_another(reading: AnyReading, wired: Wired) -> None:
    (found,) = wired.says(reading)
    assert found.startswith(f"{reading.dev}: a ")
    assert wired.waiting == 0


@pytest.mark.parametrize(
    "reading",
    [
        DieRest(t=1, dev="camera", die=1, x=1.0, y=1.0, up=6, confidence=1.0),
        BallOut(t=1, dev="camera"),
        PocketBall(t=1, dev="wall"),
        Switch(t=1, dev="console", name="key", open=True),
        Switch(t=1, dev="camera", name="shoe_lid", open=True),
        ForeignObject(t=1, dev="camera", where="felt"),
        entered("console"),
    ],
)
def test_readings_count_if_the_device_is_set_up_for_them_or_no_other_device_is(
    reading: AnyReading, wired: Wired
) -> None:
    """A camera may report more than its entry lists, if no other device is set up for those readings."""
    assert wired.says(reading) == []
    assert wired.waiting == 1


def test_C34_MK_1b_a_board_that_names_two_people_is_one(wired: Wired) -> None:
    """A person who wires two buttons must not be able to confirm a late wager alone."""
    for by, who in (("dealer", "ann"), ("boxperson", "bob")):
        word = Input(t=1, dev="console", name="confirm_late", by=by, who=who, what="b7")
        assert wired.says(word) == []
    heard = [wired.inlet.take(0).reading for _ in range(2)]
    assert [(one.by, one.who) for one in heard if isinstance(one, Input)] == [
        ("dealer", None),
        ("boxperson", None),
    ]


def test_the_fault_clears_when_the_device_starts_again(wired: Wired) -> None:
    wired.says(entered("camera"))
    assert [fault.kind.locks for fault in wired.faults.present] == [False]
    assert wired.says(DeviceUp(t=2, dev="camera")) == []


def test_a_panel_button_enters_a_persons_input_whatever_reads_leaves_out(tmp_path: Path) -> None:
    """The file lists the panel's inputs by line; `reads` lists only the readings lost without the panel."""
    text = config_file("tables", "roulette-gpio").read_text("utf-8")
    file = tmp_path / "table.yaml"
    file.write_text(text.replace("reads: [input, switch]", "reads: [switch]"), "utf-8")
    station, inlet = Station(), Inlet(ManualClock())
    settings = load_table(str(file), kinds=Kinds(here=False))
    hardware = hardware_of(settings, lambda: 0, lambda _pairs: station)  # type: ignore[arg-type, return-value]  # the parts of it that are used
    hardware.start(inlet)
    station.hear(entered("console", "no_spin", "dealer"))
    assert inlet.waiting == 1
    station.hear(entered("wheel", "no_spin", "dealer"))
    assert inlet.waiting == 1, "no device may list the beams"
