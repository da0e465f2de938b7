"""Tests of the panel: presses, door states, outputs, and babbling lines."""

import errno
import os

import pytest

from controller.model.readings import DeviceFault, DeviceUp, Input, Switch
from drivers.gpio.panel import PanelDevice
from drivers.gpio.settings import PanelInput, PanelOutput, PanelSettings
from drivers.link.gpio_edges import Chip
from drivers.link.link import PortError
from tests.drivers.gpio.rig import LABEL, SECOND, Bench, FakeKernel, Time, button, door, lamp, times

pytest.importorskip("gpiozero")
import gpiozero

from drivers.link.gpio_panel import PanelPort


class PanelBench(Bench):
    def __init__(
        self,
        kernel: FakeKernel,
        inputs: dict[str, PanelInput],
        outputs: dict[str, PanelOutput] | None = None,
    ) -> None:
        settings = PanelSettings(chip=LABEL, factory="gpiod", inputs=inputs, outputs=outputs or {})
        self.panel = PanelDevice("console", settings)
        self.kernel = kernel
        self.inputs = inputs
        time = Time()
        port = PanelPort(
            LABEL,
            settings.inputs,
            settings.outputs,
            chips=lambda: kernel.chips,
            request=kernel.request,
            request_output=kernel.request_output,
            holder=kernel.holder,
            table_us=lambda ns: ns // 1000,
            clock_ns=time.ns,
        )
        super().__init__(self.panel, port, time)

    def drive(self, name: str, active: bool) -> None:
        self.kernel.drive(self.inputs[name].line, active, self.time.us)
        self.turn()

    def press(self, name: str, duration_us: int = 80_000) -> int:
        pressed_us = self.time.us
        self.drive(name, active=True)
        self.after(duration_us)
        self.drive(name, active=False)
        self.after(30_000)
        return pressed_us

    def high(self, line: int) -> bool:
        self.turn()
        return self.kernel.levels[line][-1]


@pytest.fixture
def panel(kernel: FakeKernel) -> PanelBench:
    inputs = {
        "no-roll": button(17),
        "seat-3": button(27, name="new_shooter", by="stickperson", fields={"seat": "3"}),
        "door": door(22),
    }
    bench = PanelBench(kernel, inputs)
    bench.open()
    bench.drive("door", active=True)
    bench.after(100_000)
    return bench


def test_a_press_is_reported_with_its_role_and_arguments_at_the_time_of_its_edge(panel: PanelBench) -> None:
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


def test_a_press_shorter_than_the_debounce_does_not_hide_the_next(panel: PanelBench) -> None:
    panel.drive("no-roll", active=True)
    panel.after(2000)
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    assert panel.of(Input) == []
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_the_doors_state_is_reported_when_the_panel_opens_and_when_it_changes(panel: PanelBench) -> None:
    assert [(seen.name, seen.open) for seen in panel.of(Switch)][-1] == ("door", False)
    panel.drive("door", active=False)
    panel.after(100_000)
    assert panel.of(Switch)[-1].open
    panel.drive("door", active=True)
    panel.after(100_000)
    assert not panel.of(Switch)[-1].open


def test_a_cut_wire_reads_as_an_open_door(kernel: FakeKernel) -> None:
    bench = PanelBench(kernel, {"door": door(22)})
    bench.open().after(100_000)  # only the pull-up on the line
    assert [seen.open for seen in bench.of(Switch)] == [True]


def test_a_door_whose_edge_was_missed_is_found_open_at_the_next_poll(panel: PanelBench) -> None:
    panel.kernel.miss(22, active=False)  # the level without its edge
    panel.after(1_200_000)
    assert panel.of(Switch)[-1].open
    assert panel.faults() == [("console", "missed_edge")]
    panel.drive("door", active=True)
    panel.after(100_000)
    assert not panel.of(Switch)[-1].open, "the reported state must not remain inverted"
    panel.after(2 * SECOND)
    assert panel.health()[-1] == "DeviceUp up"


def test_a_press_whose_edge_was_missed_is_not_reported(panel: PanelBench) -> None:
    panel.kernel.miss(17, active=True)
    panel.after(1_200_000)
    assert panel.of(Input) == []
    assert ("console", "missed_edge") in panel.faults()
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_button_held_when_the_table_starts_is_not_a_press(kernel: FakeKernel) -> None:
    bench = PanelBench(kernel, {"no-roll": button(17)})
    kernel.miss(17, active=True)
    bench.open()
    bench.after(200_000)
    bench.drive("no-roll", active=False)
    bench.after(100_000)
    assert bench.of(Input) == []
    bench.press("no-roll")
    assert len(bench.of(Input)) == 1


def test_a_stuck_button_is_a_fault_that_clears(panel: PanelBench) -> None:
    panel.drive("no-roll", active=True)
    panel.after(31 * SECOND)
    (stuck,) = panel.of(DeviceFault)
    assert stuck.code == "stuck"
    assert "no-roll (GPIO17)" in stuck.reason
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    assert panel.health()[-1] == "DeviceUp up"
    assert len(panel.of(Input)) == 1, "the press must be reported once"


def test_a_door_may_stay_open_all_day(panel: PanelBench) -> None:
    panel.drive("door", active=True)
    panel.after(3600 * SECOND)
    assert panel.faults() == []


def test_a_chattering_button_is_a_fault_is_ignored_and_recovers(panel: PanelBench) -> None:
    for n in range(400):
        panel.drive("no-roll", active=n % 2 == 0)
        panel.after(600)
    assert ("console", "babbling") in panel.faults()
    assert panel.of(Input) == []
    panel.press("seat-3")
    assert len(panel.of(Input)) == 1, "the other button must still work"
    panel.after(3 * SECOND)
    assert panel.health()[-1] == "DeviceUp up"
    panel.press("no-roll")
    assert len(panel.of(Input)) == 2


def test_an_edge_read_late_keeps_its_own_time(panel: PanelBench) -> None:
    pressed_us = panel.time.us
    panel.kernel.drive(17, True, pressed_us)  # the port's thread reads the edge 30 ms later
    panel.time.us += 30_000
    panel.after(50_000)
    assert times(panel.of(Input)) == [pressed_us]


def test_the_state_of_an_ignored_contact_is_polled_and_is_not_a_fault(panel: PanelBench) -> None:
    for n in range(231):
        panel.drive("no-roll", active=n % 2 == 0)
        panel.after(600)
    assert panel.device.status()["troubles"] == ["babbling no-roll"]
    panel.after(3 * SECOND)
    assert panel.faults() == [("console", "babbling")]
    assert panel.health()[-1] == "DeviceUp up"
    assert panel.of(Input) == [], "the button is held down, but the time of the press is unknown"
    panel.drive("no-roll", active=False)
    panel.after(100_000)
    panel.press("no-roll")
    assert len(panel.of(Input)) == 1


def test_a_panel_reopened_reports_its_doors_again(panel: PanelBench) -> None:
    count = len(panel.of(Switch))
    panel.close()
    panel.port.open()
    panel.reported += panel.device.on_open(panel.time.us)
    panel.after(100_000)
    assert [seen.open for seen in panel.of(Switch)[count:]][-1:] == [False]


def test_closing_one_panel_silences_no_other(kernel: FakeKernel) -> None:
    first = PanelBench(kernel, {"no-roll": button(17)})
    second = PanelBench(kernel, {"lock": button(27, name="lock")})
    first.open().after(50_000)
    second.open().after(50_000)
    first.close()
    second.press("lock")
    assert len(second.of(Input)) == 1
    first.port.open()
    first.reported += first.device.on_open(first.time.us)
    first.after(50_000)
    first.press("no-roll")
    assert len(first.of(Input)) == 1


def test_a_line_in_use_by_another_panel_is_refused_and_no_line_is_kept(kernel: FakeKernel) -> None:
    first = PanelBench(kernel, {"no-roll": button(17)})
    second = PanelBench(kernel, {"lock": button(27), "again": button(17)})
    first.open()
    with pytest.raises(PortError, match="again: GPIO17") as refused:
        second.port.open()
    assert refused.value.code == "line_busy"
    third = PanelBench(kernel, {"lock": button(27)})
    third.open()


def test_a_line_in_use_by_another_program_is_reported_with_its_holder(kernel: FakeKernel) -> None:
    kernel.refused[17] = OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    bench = PanelBench(kernel, {"no-roll": button(17)})
    with pytest.raises(PortError, match="no-roll: GPIO17 of /dev/gpiochip0 is in use by w1-gpio") as refused:
        bench.port.open()
    assert refused.value.code == "line_busy"


def test_lamps_follow_their_commands(kernel: FakeKernel) -> None:
    outputs = {
        "puck-on": lamp(5, "puck", lit_when=("on_*",)),
        "puck-off": lamp(6, "puck", lit_when=("off", "off_*")),
        "bets": lamp(13, "no_more_bets", active_low=True),
        "fault": lamp(19, "fault", dark_when=("none",)),
    }
    bench = PanelBench(kernel, {}, outputs)
    bench.open()

    def levels() -> list[bool]:
        return [bench.high(line) for line in (5, 6, 13, 19)]

    assert levels() == [False, False, True, False]
    bench.panel.show(bench.time.us, "puck", "on_6")
    bench.panel.show(bench.time.us, "no_more_bets", "on")
    bench.panel.show(bench.time.us, "fault", "disk_full")
    assert levels() == [True, False, False, True]
    bench.panel.show(bench.time.us, "puck", "off_dont_pass")
    bench.panel.show(bench.time.us, "no_more_bets", "off")
    bench.panel.show(bench.time.us, "fault", "none")
    bench.panel.show(bench.time.us, "nobody", "on")
    assert levels() == [False, True, True, False]
    assert bench.health()[-1] == "DeviceUp up"


def test_the_buzzer_ends_by_itself(kernel: FakeKernel) -> None:
    bench = PanelBench(kernel, {}, {"buzzer": lamp(12, "buzzer", for_ms=300)})
    bench.open()
    bench.panel.show(bench.time.us, "buzzer", "on")
    bench.after(200_000)
    assert bench.high(12)
    bench.panel.show(bench.time.us, "buzzer", "on")
    bench.after(200_000)
    assert bench.high(12), "a new command must start the time limit again"
    bench.after(200_000)
    assert not bench.high(12)


def test_lamps_are_dark_while_closed_and_as_before_when_reopened(kernel: FakeKernel) -> None:
    bench = PanelBench(kernel, {"no-roll": button(17)}, {"bets": lamp(13, "no_more_bets")})
    bench.open().after(50_000)
    bench.panel.show(bench.time.us, "no_more_bets", "on")
    assert bench.high(13)
    bench.close()
    assert not kernel.levels[13][-1]
    assert kernel.outputs == {}
    bench.port.open()
    bench.reported += bench.device.on_open(bench.time.us)
    bench.after(50_000)
    assert bench.high(13)
    assert bench.device.status()["lit"] == {"bets": True}


def test_failing_lines_take_the_panel_down(panel: PanelBench) -> None:
    panel.kernel.broken = True
    with pytest.raises(PortError, match="Input/output error") as failed:
        panel.after(2 * SECOND)
    assert failed.value.code == "port_fault"


def test_a_lamp_whose_chip_is_gone_takes_the_panel_down_and_is_lit_once_the_chip_is_back(
    kernel: FakeKernel,
) -> None:
    bench = PanelBench(kernel, {"no-roll": button(17)}, {"bets": lamp(13, "no_more_bets")})
    bench.open().after(50_000)
    kernel.broken = True
    bench.panel.show(bench.time.us, "no_more_bets", "on")
    with pytest.raises(PortError, match="No such device") as failed:
        bench.turn()
    assert failed.value.code == "port_fault"
    bench.close()
    assert kernel.outputs == {}
    kernel.broken = False
    kernel.chips[:] = [Chip("/dev/gpiochip9", LABEL)]
    assert bench.port.open() == "/dev/gpiochip9 [pinctrl-rp1]"
    bench.reported += bench.device.on_open(bench.time.us)
    bench.after(50_000)
    assert bench.high(13)
    bench.press("no-roll")
    assert len(bench.of(Input)) == 1


def test_gpiozeros_own_choice_of_a_pin_factory_is_never_used(
    kernel: FakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpiozero.Device, "pin_factory", None)
    bench = PanelBench(kernel, {"no-roll": button(17)}, {"bets": lamp(13, "no_more_bets")})
    bench.open()
    assert gpiozero.Device.pin_factory is None


def test_a_lamp_in_use_by_another_program_is_reported_with_its_holder_and_no_line_is_kept(
    kernel: FakeKernel,
) -> None:
    kernel.refused[13] = OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    bench = PanelBench(kernel, {"no-roll": button(17)}, {"bets": lamp(13, "no_more_bets")})
    with pytest.raises(PortError, match="bets: GPIO13 of /dev/gpiochip0 is in use by w1-gpio") as refused:
        bench.port.open()
    assert refused.value.code == "line_busy"
    assert kernel.lines == {}


def test_the_panel_is_up_once_every_contact_is_known(panel: PanelBench) -> None:
    assert len(panel.of(DeviceUp)) == 1
