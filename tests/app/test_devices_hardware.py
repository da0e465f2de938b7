"""Commands to devices: lamps, also after a reconnect; the buzzer for a void; a void to its wheel."""

from collections.abc import Callable, Mapping

import pytest

from controller.app.hardware import AttachedDevice, Hardware, Work
from controller.app.inlet import Inlet
from controller.model.outcomes import Outcome, RollCalled, RollNoRoll, SpinNoSpin
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, Switch, WheelStatus
from controller.model.verdicts import Reason
from drivers.gpio.panel import PanelDevice
from drivers.gpio.settings import PanelOutput, PanelSettings
from tests.app.house import ManualClock

Hear = Callable[[AnyReading], object]
FULL = 3


class Bench:
    """A station without links that does all work immediately."""

    def __init__(self, *devices: AttachedDevice) -> None:
        self.turns = 0
        self.hear: Hear = lambda _: None
        self._devices = {device.name: device for device in devices}

    def start(self, hear: Hear) -> None:
        self.hear = hear

    def stop(self, timeout_s: float) -> bool:
        """End immediately."""
        return timeout_s > 0

    def run_on(self, name: str, work: Work) -> None:
        work(self._devices[name], 1_000)


class Board:
    """A board that accepts a few commands at a time."""

    def __init__(self, name: str = "console", does: tuple[str, ...] = ("lamp", "buzzer")) -> None:
        self.name = name
        self.phase = "up"
        self.does = does
        self.published: list[tuple[str, dict[str, str]]] = []
        self.waiting = 0

    def command(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Accept a command if there is room."""
        assert now_us
        if self.waiting == FULL:
            raise OverflowError
        self.waiting += 1
        self.published.append((verb, dict(fields)))
        return len(self.published)

    def status(self) -> Mapping[str, object]:
        return {"phase": self.phase, "does": list(self.does)}

    @property
    def lamps(self) -> dict[str, str]:
        return {fields["name"]: fields["shows"] for verb, fields in self.published if verb == "lamp"}


class Wheel:
    """A smart wheel that counts void commands."""

    name = "wheel"

    def __init__(self) -> None:
        self.voided = 0

    def void_game(self, now_us: int) -> None:
        """Count the call."""
        self.voided += now_us > 0

    def status(self) -> Mapping[str, object]:
        return {}


def panel() -> PanelDevice:
    outputs = {
        lamp: PanelOutput(line=line, active_low=False, lamp=lamp, lit_when=lit, for_ms=0)
        for line, (lamp, lit) in enumerate(
            [("lock", ("locked",)), ("no_more_bets", ()), ("no_roll", ()), ("buzzer", ())], start=5
        )
    }
    return PanelDevice(
        "console", PanelSettings(chip="pinctrl-rp1", factory="gpiod", inputs={}, outputs=outputs)
    )


def lit_on(device: PanelDevice) -> set[str]:
    lit = device.status()["lit"]
    assert isinstance(lit, dict)
    return {lamp for lamp, on in lit.items() if on}


def joined(*devices: AttachedDevice) -> tuple[Hardware, Bench]:
    bench = Bench(*devices)
    hardware = Hardware(bench, {device.name: "any" for device in devices})
    hardware.power_on()
    return hardware, bench


def no_roll() -> Outcome:
    data = RollNoRoll(roll=1, reasons=(), by="sensors", who=None, notices=())
    return Outcome(type="roll.no_roll", t=1, id="t/1/1", seq=1, data=data)


def called() -> Outcome:
    data = RollCalled(
        roll=2,
        dice=(3, 4),
        total=7,
        phase="come_out",
        point=None,
        call="natural",
        point_after=None,
        shooter=None,
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    return Outcome(type="roll.called", t=2, id="t/1/2", seq=2, data=data)


def no_spin(by: str = "dealer", code: str = "called") -> Outcome:
    reasons = (Reason(code=code, rule="R-SPIN-1", seen="seen"),)
    data = SpinNoSpin(spin=1, reasons=reasons, by=by, who=None, notices=())
    return Outcome(type="spin.no_spin", t=1, id="t/1/1", seq=1, data=data)


def test_a_panel_shows_each_lamp_in_the_tables_state() -> None:
    console = panel()
    hardware, _ = joined(console)
    hardware.show("lock", "locked")
    hardware.show("no_more_bets", "on")
    assert lit_on(console) == {"lock", "no_more_bets"}
    hardware.show("lock", "unlocked")
    assert lit_on(console) == {"no_more_bets"}


def test_a_no_roll_sounds_the_buzzer_and_lights_its_lamp_until_the_next_result() -> None:
    console, board = panel(), Board("crew")
    hardware, _ = joined(console, board)
    hardware.note_durable(no_roll())
    assert lit_on(console) == {"no_roll", "buzzer"}
    assert board.published == [("lamp", {"name": "no_roll", "shows": "on"}), ("buzzer", {"ms": "400"})]
    hardware.note_durable(called())
    assert "no_roll" not in lit_on(console)
    assert board.lamps == {"no_roll": "off"}


def test_a_lamp_is_commanded_once_and_again_after_its_board_was_away() -> None:
    board = Board()
    hardware, bench = joined(board)
    hardware.show("lock", "locked")
    hardware.refresh()
    assert len(board.published) == 1
    board.phase = "greeting"
    bench.hear(DeviceDown(t=1, dev="console", code="restarted"))
    hardware.show("lock", "unlocked")
    assert len(board.published) == 1, "an offline board must not receive any data"
    board.phase = "up"
    bench.hear(DeviceUp(t=2, dev="console"))
    assert board.published[1:] == [("lamp", {"name": "lock", "shows": "unlocked"})]


def test_a_lamp_command_that_a_board_did_not_acknowledge_is_sent_again() -> None:
    board = Board()
    hardware, bench = joined(board)
    hardware.show("lock", "locked")
    bench.hear(DeviceFault(t=1, dev="console", code="unanswered"))
    hardware.refresh()
    assert board.published == [("lamp", {"name": "lock", "shows": "locked"})] * 2


def test_a_board_that_accepts_no_more_commands_gets_the_rest_later() -> None:
    board = Board()
    hardware, _ = joined(board)
    lamps = {f"lamp_{number}": "on" for number in range(FULL + 2)}
    for lamp, shows in lamps.items():
        hardware.show(lamp, shows)
    assert len(board.published) == FULL
    board.waiting = 0
    hardware.refresh()
    assert board.lamps == lamps


def test_a_board_without_lamps_is_sent_no_lamp_command() -> None:
    camera = Board("cam", does=("selftest",))
    hardware, _ = joined(camera)
    hardware.show("lock", "locked")
    hardware.note_durable(no_roll())
    assert camera.published == []


@pytest.mark.parametrize(
    ("state", "outcome", "voided"),
    [
        (3, no_spin(), 1),
        (4, no_spin(by="sensors", code="same_direction"), 1),
        (5, no_spin(), 0),
        (1, no_spin(), 0),
        (3, no_spin(by="nobody", code="unruled"), 0),
        (3, no_spin(code="power_lost"), 0),
        (3, no_roll(), 0),
    ],
)
def test_only_the_game_in_progress_on_a_wheel_is_voided(state: int, outcome: Outcome, voided: int) -> None:
    wheel = Wheel()
    hardware, bench = joined(wheel)
    bench.hear(WheelStatus(t=1, dev="wheel", state=state))
    hardware.note_durable(outcome)
    assert wheel.voided == voided


def test_the_core_receives_the_state_of_each_device_and_switch_first() -> None:
    board = Board()
    hardware, bench = joined(board)
    for reading in (
        DeviceDown(t=1, dev="console", code="starting", arrived=1),
        Switch(t=2, dev="console", name="door", open=True, arrived=2),
        DeviceUp(t=3, dev="console", arrived=3),
    ):
        bench.hear(reading)
    clock = ManualClock()
    clock.us = 9
    inlet = Inlet(clock)
    hardware.start(inlet)
    heard = [inlet.take(0).reading for _ in range(inlet.waiting)]
    assert heard == [
        DeviceUp(t=9, dev="console", arrived=9),
        Switch(t=9, dev="console", name="door", open=True, arrived=9),
    ]
    assert hardware.status() == {"console": board.status()}
    assert hardware.stop(1.0)
