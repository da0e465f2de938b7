"""The panel: a press is a press, a door's state is never stuck, and no pin silences another."""

import gc
import sys
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import pytest

from controller.model.readings import DeviceFault, DeviceUp, Input, Switch
from drivers.gpio.panel import PanelDevice
from drivers.gpio.settings import PanelInput, PanelOutput, PanelSettings
from drivers.link.gpio_edges import Chip
from drivers.link.link import PortError
from tests.drivers.gpio.rig import CHIP, LABEL, SECOND, Bench, Time, button, door, lamp, times

pytest.importorskip("gpiozero")
import gpiozero
from gpiozero.pins.mock import MockFactory, MockPin

from drivers.link import gpio_panel
from drivers.link.gpio_panel import PanelPort, Pins, lgpio_pins


class PanelBench(Bench):
    """A panel on gpiozero's mock pins, whose clock is the scene's."""

    def __init__(
        self,
        time: Time,
        factory: MockFactory,
        inputs: dict[str, PanelInput],
        outputs: dict[str, PanelOutput] | None = None,
    ) -> None:
        settings = PanelSettings(chip=LABEL, factory="lgpio", inputs=inputs, outputs=outputs or {})
        self.panel = PanelDevice("console", settings)
        self.factory = factory
        self.inputs = inputs
        port = PanelPort(
            LABEL,
            settings.inputs,
            settings.outputs,
            chips=lambda: [CHIP],
            pins=lambda _: Pins(factory),
            holder=lambda _chip, _line: "w1-gpio",
            table_us=lambda ns: ns // 1000,
            clock_ns=time.ns,
        )
        super().__init__(self.panel, port, time)

    def pin(self, line: int) -> MockPin:
        return self.factory.pin(line)

    def drive(self, name: str, active: bool) -> None:
        """Make or break a contact now."""
        read = self.inputs[name]
        pin = self.pin(read.line)
        if active != read.active_low:
            pin.drive_high()
        else:
            pin.drive_low()
        self.turn()

    def press(self, name: str, for_us: int = 80_000) -> int:
        pressed_us = self.time.us
        self.drive(name, active=True)
        self.after(for_us)
        self.drive(name, active=False)
        self.after(30_000)
        return pressed_us


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The scene's time, which gpiozero's mock pins take for theirs."""
    scene = Time()
    monkeypatch.setattr("gpiozero.pins.mock.monotonic", scene.seconds)
    return scene


@pytest.fixture
def factory(time: Time) -> MockFactory:
    return MockFactory()


@pytest.fixture
def panel(time: Time, factory: MockFactory) -> PanelBench:
    inputs = {
        "no-roll": button(17),
        "seat-3": button(27, name="new_shooter", by="stickperson", fields={"seat": "3"}),
        "door": door(22),
    }
    bench = PanelBench(time, factory, inputs)
    bench.pin(22).drive_low()
    bench.open()
    bench.drive("door", active=True)
    bench.after(100_000)
    return bench


def test_a_press_is_told_with_its_role_and_arguments_at_the_moment_of_its_edge(panel: PanelBench) -> None:
    pressed_us = panel.press("seat-3")
    (pressed,) = panel.of(Input)
    assert (pressed.name, pressed.by, pressed.seat) == ("new_shooter", "stickperson", "3")
    assert pressed.t == pytest.approx(pressed_us, abs=1)
    assert pressed.dev == "console"


def test_a_bouncing_contact_is_one_press(panel: PanelBench) -> None:
    for _ in range(6):
        panel.drive("no-roll", active=True)
        panel.after(800)
        panel.drive("no-roll", active=False)
        panel.after(300)
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_press_shorter_than_the_debounce_does_not_swallow_the_next(panel: PanelBench) -> None:
    panel.drive("no-roll", active=True)
    panel.after(2000)
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    assert panel.of(Input) == []
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_callback_outlives_the_collection_of_garbage(panel: PanelBench) -> None:
    gc.collect()
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_the_doors_state_is_told_when_the_panel_opens_and_when_it_changes(panel: PanelBench) -> None:
    assert [(seen.name, seen.open) for seen in panel.of(Switch)][-1] == ("door", False)
    panel.drive("door", active=False)
    panel.after(100_000)
    assert panel.of(Switch)[-1].open
    panel.drive("door", active=True)
    panel.after(100_000)
    assert not panel.of(Switch)[-1].open


def test_a_cut_wire_reads_as_an_open_door(time: Time, factory: MockFactory) -> None:
    bench = PanelBench(time, factory, {"door": door(22)})
    bench.open().after(100_000)  # nothing but the pull-up on the line
    assert [seen.open for seen in bench.of(Switch)] == [True]


def test_a_door_whose_edge_was_missed_is_found_open_within_a_round(panel: PanelBench) -> None:
    panel.pin(22)._change_state(True)  # the level without its callback
    panel.after(1_200_000)
    assert panel.of(Switch)[-1].open
    assert panel.faults() == [("console", "missed_edge")]
    panel.drive("door", active=True)
    panel.after(100_000)
    assert not panel.of(Switch)[-1].open, "not inverted for ever"
    panel.after(2 * SECOND)
    assert panel.health()[-1] == "DeviceUp up"


def test_a_press_whose_edge_was_missed_is_no_press(panel: PanelBench) -> None:
    panel.pin(17)._change_state(False)
    panel.after(1_200_000)
    assert panel.of(Input) == []
    assert ("console", "missed_edge") in panel.faults()
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_button_held_when_the_table_starts_is_no_press(time: Time, factory: MockFactory) -> None:
    bench = PanelBench(time, factory, {"no-roll": button(17)})
    bench.port.open()
    bench.pin(17)._change_state(False)
    bench.told += bench.device.opened(time.us)
    bench.after(200_000)
    bench.drive("no-roll", active=False)
    bench.after(100_000)
    assert bench.of(Input) == []
    bench.press("no-roll")
    assert len(bench.of(Input)) == 1


def test_a_button_that_is_stuck_is_a_fault_and_heals(panel: PanelBench) -> None:
    panel.drive("no-roll", active=True)
    panel.after(31 * SECOND)
    (stuck,) = panel.of(DeviceFault)
    assert stuck.code == "stuck"
    assert "no-roll (GPIO17)" in stuck.reason
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    assert panel.health()[-1] == "DeviceUp up"
    assert len(panel.of(Input)) == 1, "it was pressed once"


def test_a_door_may_stay_open_all_day(panel: PanelBench) -> None:
    panel.drive("door", active=True)
    panel.after(3600 * SECOND)
    assert panel.faults() == []


def test_a_chattering_button_is_a_fault_is_not_listened_to_and_heals(panel: PanelBench) -> None:
    for n in range(400):
        panel.drive("no-roll", active=n % 2 == 0)
        panel.after(600)
    assert ("console", "babbling") in panel.faults()
    assert panel.of(Input) == []
    panel.press("seat-3")
    assert len(panel.of(Input)) == 1, "the other button is heard"
    panel.after(3 * SECOND)
    assert panel.health()[-1] == "DeviceUp up"
    panel.press("no-roll")
    assert len(panel.of(Input)) == 2


def test_an_edge_told_late_keeps_its_own_time(panel: PanelBench, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = panel.pin(17)
    pressed_us = panel.time.us
    pin._change_state(False)  # the factory stamped it now, its thread calls back 30 ms later
    panel.time.us += 30_000
    pin._call_when_changed()
    panel.after(50_000)
    assert times(panel.of(Input)) == pytest.approx([pressed_us], abs=1)


def test_what_a_contact_did_while_it_was_left_alone_is_looked_up_and_no_fault(panel: PanelBench) -> None:
    for n in range(231):
        panel.drive("no-roll", active=n % 2 == 0)
        panel.after(600)
    assert panel.device.status()["troubles"] == ["babbling no-roll"]
    panel.after(3 * SECOND)
    assert panel.faults() == [("console", "babbling")]
    assert panel.health()[-1] == "DeviceUp up"
    assert panel.of(Input) == [], "it is held down, and when that began nobody saw"
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_panel_opened_anew_tells_its_doors_again(panel: PanelBench) -> None:
    count = len(panel.of(Switch))
    panel.close()
    panel.pin(22)._change_state(False)  # closed doors keep the line low
    panel.port.open()
    panel.pin(22).drive_low()
    panel.told += panel.device.opened(panel.time.us)
    panel.after(100_000)
    assert [seen.open for seen in panel.of(Switch)[count:]][-1:] == [False]


@pytest.mark.parametrize("ticks", [1.7e9, -5.0])
def test_a_stamp_of_another_clock_is_not_believed(panel: PanelBench, ticks: float) -> None:
    pin = panel.pin(17)
    pin._change_state(False)
    pin._last_change = ticks
    called_us = panel.time.us
    pin._call_when_changed()
    panel.after(50_000)
    assert times(panel.of(Input)) == [called_us]


def test_closing_one_panel_silences_no_other(time: Time, factory: MockFactory) -> None:
    first = PanelBench(time, factory, {"no-roll": button(17)})
    second = PanelBench(time, factory, {"lock": button(27, name="lock")})
    first.open().after(50_000)
    second.open().after(50_000)
    first.close()
    second.press("lock")
    assert len(second.of(Input)) == 1
    first.port.open()
    first.told += first.device.opened(time.us)
    first.after(50_000)
    first.press("no-roll")
    assert len(first.of(Input)) == 1


def test_a_line_that_another_panel_has_is_refused_and_nothing_is_kept(
    time: Time, factory: MockFactory
) -> None:
    first = PanelBench(time, factory, {"no-roll": button(17)})
    second = PanelBench(time, factory, {"lock": button(27), "again": button(17)})
    first.open()
    with pytest.raises(PortError, match="again: GPIO17") as refused:
        second.port.open()
    assert refused.value.code == "line_busy"
    third = PanelBench(time, factory, {"lock": button(27)})
    third.open()


def test_a_line_that_another_program_has_names_its_holder(time: Time, factory: MockFactory) -> None:
    def refuse(*_: object) -> None:
        raise OSError("GPIO busy")

    factory.pin = refuse
    bench = PanelBench(time, factory, {"no-roll": button(17)})
    with pytest.raises(PortError, match="no-roll: GPIO17 of /dev/gpiochip0 is held by w1-gpio") as refused:
        bench.port.open()
    assert refused.value.code == "line_busy"


def test_lamps_follow_what_they_are_told(time: Time, factory: MockFactory) -> None:
    outputs = {
        "puck-on": lamp(5, "puck", lit_when=("on_*",)),
        "puck-off": lamp(6, "puck", lit_when=("off", "off_*")),
        "bets": lamp(13, "no_more_bets", active_low=True),
        "fault": lamp(19, "fault", dark_when=("none",)),
    }
    bench = PanelBench(time, factory, {}, outputs)
    bench.open()

    def levels() -> list[bool]:
        bench.turn()
        return [bool(bench.pin(line).state) for line in (5, 6, 13, 19)]

    assert levels() == [False, False, True, False]
    bench.panel.show(time.us, "puck", "on_6")
    bench.panel.show(time.us, "no_more_bets", "on")
    bench.panel.show(time.us, "fault", "disk_full")
    assert levels() == [True, False, False, True]
    bench.panel.show(time.us, "puck", "off_dont_pass")
    bench.panel.show(time.us, "no_more_bets", "off")
    bench.panel.show(time.us, "fault", "none")
    bench.panel.show(time.us, "nobody", "on")
    assert levels() == [False, True, True, False]
    assert bench.health()[-1] == "DeviceUp up"


def test_the_buzzer_ends_by_itself(time: Time, factory: MockFactory) -> None:
    bench = PanelBench(time, factory, {}, {"buzzer": lamp(12, "buzzer", for_ms=300)})
    bench.open()
    bench.panel.show(time.us, "buzzer", "on")
    bench.after(200_000)
    assert bench.pin(12).state
    bench.panel.show(time.us, "buzzer", "on")
    bench.after(200_000)
    assert bench.pin(12).state, "told again, it begins again"
    bench.after(200_000)
    assert not bench.pin(12).state


def test_lamps_are_dark_while_closed_and_as_before_when_opened_anew(time: Time, factory: MockFactory) -> None:
    bench = PanelBench(time, factory, {"no-roll": button(17)}, {"bets": lamp(13, "no_more_bets")})
    bench.open().after(50_000)
    bench.panel.show(time.us, "no_more_bets", "on")
    bench.turn()
    states = bench.pin(13).states
    bench.close()
    assert not states[-1].state
    bench.port.open()
    bench.told += bench.device.opened(time.us)
    bench.after(50_000)
    assert bench.pin(13).state
    assert bench.device.status()["lit"] == {"bets": True}


def test_pins_that_fail_take_the_panel_down(panel: PanelBench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: MockPin) -> bool:
        raise OSError("can not read")

    monkeypatch.setattr(MockPin, "_get_state", fail)
    with pytest.raises(PortError, match="can not read") as failed:
        panel.after(2 * SECOND)
    assert failed.value.code == "port_fault"


# --- the pin factory: lgpio, and no other ---


@pytest.fixture
def no_lgpio(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(gpio_panel, "_LGPIO", {})
    monkeypatch.delitem(sys.modules, "lgpio", raising=False)
    return monkeypatch


def _modules(patch: pytest.MonkeyPatch, make: object) -> None:
    lgpio = ModuleType("lgpio")
    vars(lgpio)["error"] = type("error", (Exception,), {})
    patch.setitem(sys.modules, "lgpio", lgpio)
    patch.setitem(sys.modules, "gpiozero.pins.lgpio", SimpleNamespace(LGPIOFactory=make))


class _Made:
    chips: ClassVar[list[int]] = []

    def __init__(self, chip: int) -> None:
        self.chips.append(chip)


def test_the_factory_is_made_for_the_chip_that_was_found_and_once(no_lgpio: pytest.MonkeyPatch) -> None:
    _modules(no_lgpio, _Made)
    first = lgpio_pins(Chip("/dev/gpiochip10", LABEL))
    assert lgpio_pins(Chip("/dev/gpiochip10", LABEL)) is first
    assert _Made.chips == [10]


def test_a_factory_that_can_not_work_is_named_and_no_other_is_taken(no_lgpio: pytest.MonkeyPatch) -> None:
    def fail(chip: int) -> None:
        raise sys.modules["lgpio"].error("can not open gpiochip")

    _modules(no_lgpio, fail)
    with pytest.raises(PortError, match="pin factory lgpio on /dev/gpiochip0: can not open gpiochip") as no:
        lgpio_pins(CHIP)
    assert no.value.code == "no_factory"
    assert gpiozero.Device.pin_factory is None


def test_a_library_that_is_not_installed_is_named(no_lgpio: pytest.MonkeyPatch) -> None:
    no_lgpio.setitem(sys.modules, "lgpio", None)
    with pytest.raises(PortError, match="lgpio") as no:
        lgpio_pins(CHIP)
    assert no.value.code == "no_library"


def test_a_working_directory_that_takes_no_pipe_is_named(no_lgpio: pytest.MonkeyPatch) -> None:
    no_lgpio.chdir("/proc")
    with pytest.raises(PortError, match="the working directory /proc cannot hold a named pipe") as no:
        lgpio_pins(CHIP)
    assert no.value.code == "no_folder"


def test_an_import_that_can_not_make_its_pipe_is_named(no_lgpio: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise FileNotFoundError(2, "No such file or directory", ".lgd-nfy-3")

    no_lgpio.setattr(gpio_panel, "_check_folder", lambda: None)
    no_lgpio.setattr(gpio_panel, "import_module", refuse)
    with pytest.raises(PortError, match="lgd-nfy") as no:
        lgpio_pins(CHIP)
    assert no.value.code == "no_folder"


def test_the_panel_is_up_once_every_contact_is_known(panel: PanelBench) -> None:
    assert len(panel.of(DeviceUp)) == 1
