"""Faults of a virtual table, their symptoms, and the requests that begin them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal

import msgspec

from drivers.sim import fault_actions as actions
from drivers.sim.boards import Board, Cable, Script, VirtualShoe
from drivers.sim.fault_actions import FaultAction
from drivers.sim.scenes import FaultBegan
from drivers.sim.ss2_wheel import Ss2Wheel
from drivers.sim.table import VirtualTable

DeviceKind = Literal["node", "json-camera", "ss2", "shoe"]
_ANY: tuple[DeviceKind, ...] = ("node", "json-camera", "ss2", "shoe")
_NODE: tuple[DeviceKind, ...] = ("node",)
_WHEEL: tuple[DeviceKind, ...] = ("ss2",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One kind of fault. `symptoms` are what a technician sees; `seconds` is the default duration."""

    what: str
    symptoms: str
    action: FaultAction
    seconds: float
    on: tuple[DeviceKind, ...] = _ANY
    codes: Mapping[DeviceKind, tuple[str, ...]] = field(default_factory=dict)
    """Codes by type of device. The table must report one of them for the device if the fault lasts for
    `seconds`.
    """
    only_device: str = ""
    """Name of the only device that can have this fault; empty if any device of these types can."""
    all_devices: bool = False


def _for_any_device(*codes: str) -> Mapping[DeviceKind, tuple[str, ...]]:
    return dict.fromkeys(_ANY, codes)


_PULLED = ("unplugged", "no_port")
FAULTS: Mapping[str, Fault] = {
    "unplug": Fault(
        what="the cable is unplugged until the fault ends",
        symptoms="device_down unplugged, then no_port; device_up within 3 s of the cable being plugged in",
        action=actions.unplug,
        seconds=3.0,
        codes=_for_any_device(*_PULLED),
    ),
    "other_name": Fault(
        what="the cable is plugged in under a different name (NAME-other) until the fault ends",
        symptoms="device_down unplugged, then no_port with the name of the missing port",
        action=actions.other_name,
        seconds=4.0,
        codes=_for_any_device(*_PULLED),
    ),
    "swap_cables": Fault(
        what="the cables of this node and of a second node are swapped until the fault ends",
        symptoms="device_down wrong_device for both nodes, with the name of the node that responds",
        action=actions.swap_cables,
        seconds=6.0,
        on=_NODE,
        codes=_for_any_device("wrong_device"),
    ),
    "garbage": Fault(
        what="bursts of random bytes arrive from the device",
        symptoms="a node: device_fault noisy_line; its readings still count. A script or a shoe:"
        " device_down bad_reading. An SS2 wheel: the counter malformed rises",
        action=actions.garbage,
        seconds=4.0,
        codes={"node": ("noisy_line",), "json-camera": ("bad_reading",), "shoe": ("bad_reading",)},
    ),
    "half_lines": Fault(
        what="about one line in ten is cut off, and the next line is appended to it",
        symptoms="a node: the table requests lines again, and the counters half and recovered rise;"
        " sentences_lost if the requests fail. A script or a shoe: device_down bad_reading. An SS2"
        " wheel: the counter malformed rises",
        action=actions.half_lines,
        seconds=3.0,
    ),
    "bit_errors": Fault(
        what="one bit is flipped in about one line in ten",
        symptoms="the table requests lines again, and the counters bad_crc and recovered rise; noisy_line"
        " if the errors continue",
        action=actions.bit_errors,
        seconds=3.0,
        on=_NODE,
    ),
    "lost_lines": Fault(
        what="about one line in five is lost",
        symptoms="the table requests lines again, and the counters gaps and recovered rise; sentences_lost"
        " if the requests fail",
        action=actions.lost_lines,
        seconds=3.0,
        on=_NODE,
    ),
    "lost_for_good": Fault(
        what="every second sentence from a node is lost, even when it is repeated",
        symptoms="device_down sentences_lost; device_up half a second after the last loss",
        action=actions.lost_for_good,
        seconds=3.0,
        on=_NODE,
        codes=_for_any_device("sentences_lost"),
    ),
    "repeated_lines": Fault(
        what="about one line in three arrives twice",
        symptoms="the counter repeated rises; no reading counts twice",
        action=actions.repeated_lines,
        seconds=4.0,
        on=_NODE,
    ),
    "reordered_lines": Fault(
        what="about one line in five is delayed by up to 40 ms; later lines can overtake it",
        symptoms="the counters gaps and recovered rise",
        action=actions.reordered_lines,
        seconds=4.0,
        on=_NODE,
    ),
    "drift": Fault(
        what="the board warms up until its clock runs 150 ppm fast (value: a different error in ppm)",
        symptoms="drift_ppm in the device's status changes; times remain correct",
        action=actions.drift,
        seconds=40.0,
        on=("node", "json-camera"),
    ),
    "wild_clock": Fault(
        what="the board's clock runs 3 % fast (value: a different error in ppm)",
        symptoms="device_down clock_step, repeatedly",
        action=actions.wild_clock,
        seconds=8.0,
        on=_NODE,
        codes=_for_any_device("clock_step"),
    ),
    "clock_jump": Fault(
        what="the board's clock jumps by 30 s (value: a different number of milliseconds)",
        symptoms="device_down bad_clock with the next reading, clock_step within 4 s, then device_up; the"
        " fault lasts half a second, and `tablectl devices` shows it as the device's last fault",
        action=actions.clock_jump,
        seconds=5.0,
        on=_NODE,
        codes=_for_any_device("clock_step", "bad_clock"),
    ),
    "restart": Fault(
        what="the board's supply voltage dips, and the board restarts",
        symptoms="a node: device_down restarted, device_up a quarter of a second later. A script:"
        " bad_clock, because its clock starts at a different value",
        action=actions.restart,
        seconds=1.0,
        on=("node", "json-camera"),
        codes={"node": ("restarted",), "json-camera": ("bad_clock",)},
    ),
    "babble": Fault(
        what="a sensor oscillates and produces three thousand readings a second",
        symptoms="device_down babbling; device_up half a second after the last of these readings",
        action=actions.babble,
        seconds=1.5,
        on=("node", "json-camera"),
        codes=_for_any_device("babbling"),
    ),
    "nonsense": Fault(
        what="the firmware reports die number 3, which does not exist",
        symptoms="device_down bad_reading, with one of the readings; device_up half a second after the"
        " last such reading",
        action=actions.nonsense,
        seconds=1.0,
        on=("node", "json-camera"),
        codes=_for_any_device("bad_reading"),
    ),
    "silence": Fault(
        what="the device hangs, and neither receives nor sends",
        symptoms="device_down silent after 1.5 s (an SS2 wheel: 5 s, a shoe: 3 s); the port is reopened,"
        " except a shoe's",
        action=actions.silence,
        seconds=7.0,
        codes=_for_any_device("silent"),
    ),
    "deaf": Fault(
        what="the wire from the table to the board is broken",
        symptoms="device_down deaf after 1.9 s; the port is reopened",
        action=actions.deaf,
        seconds=5.0,
        on=_NODE,
        codes=_for_any_device("deaf"),
    ),
    "stuck_writer": Fault(
        what="the device's port accepts no bytes (only with real ports)",
        symptoms="device_down stuck_writer half a second after the table sends data",
        action=actions.stuck_writer,
        seconds=5.0,
        on=_NODE,
        codes=_for_any_device("stuck_writer"),
    ),
    "power_cycle": Fault(
        what="all devices lose power at the same time, and restart when the fault ends",
        symptoms="device_down for all devices; after the power returns, device_up within 1 s"
        " for nodes and within 4 s for a wheel",
        action=actions.power_cycle,
        seconds=3.0,
        codes=_for_any_device(*_PULLED),
        all_devices=True,
    ),
    "dead_sensor": Fault(
        what="the board works, but its sensors detect nothing",
        symptoms="no fault; throws and spins go to review because readings are missing or contradictory",
        action=actions.dead_sensor,
        seconds=15.0,
        on=("node", "json-camera", "shoe"),
    ),
    "hidden_die": Fault(
        what="an object hides die 1 from the camera (value: a different die)",
        symptoms="no device fault; the throw goes to review, or is called if the hidden part is irrelevant",
        action=actions.hidden_die,
        seconds=2.0,
        on=("node", "json-camera"),
        only_device="cam",
    ),
    "dead_beam": Fault(
        what="track beam 0 detects nothing (value: a different beam)",
        symptoms="no effect on calls, because the other beams count the ball's turns",
        action=actions.dead_beam,
        seconds=60.0,
        on=_NODE,
        only_device="wheel",
    ),
    "stuck_button": Fault(
        what="a console button sticks and sends no_roll or no_spin five times a second (name: a"
        " different input)",
        symptoms="input.refused repeatedly between attempts; an attempt during this time is a No Roll or No"
        " Spin; soon afterwards the fault button_stuck, which locks the table until ten seconds after the"
        " last input",
        action=actions.stuck_button,
        seconds=3.0,
        on=_NODE,
        only_device="console",
    ),
    "open_door": Fault(
        what="the service door is opened; when the fault ends, it is closed and the supervisor unlocks the"
        " table",
        symptoms="table.locked because of the door; throws and spins do not count until table.unlocked",
        action=actions.open_door,
        seconds=5.0,
        on=_NODE,
        only_device="console",
    ),
    "wheel_component": Fault(
        what="the wheel reports a failed component (flag 4) in play",
        symptoms="device_fault component; a spin in progress goes to review",
        action=actions.wheel_flags(4),
        seconds=60.0,
        on=_WHEEL,
        codes=_for_any_device("component"),
    ),
    "wheel_encoder": Fault(
        what="the wheel's encoder reports 95.3 rpm in play",
        symptoms="device_fault rotor_speed, and the fault device_doubtful until the speed in a game is"
        " normal; a spin in progress goes to review",
        action=actions.wheel_encoder,
        seconds=60.0,
        on=_WHEEL,
        codes=_for_any_device("rotor_speed"),
    ),
    "wheel_no_number": Fault(
        what="the wheel proceeds to the next game without reporting a number",
        symptoms="the spin goes to review because its number was not reported",
        action=actions.wheel_no_number,
        seconds=60.0,
        on=_WHEEL,
    ),
    "wheel_cut_frames": Fault(
        what="the wheel's buffer overflows; about one frame in ten is cut off, and the next frame is appended"
        " to it",
        symptoms="the counter malformed rises; a result between two missing frames goes to review",
        action=actions.half_lines,
        seconds=10.0,
        on=_WHEEL,
    ),
    "wheel_self_test": Fault(
        what="the wheel's self-test reports that sensor 1 is stuck (value: a different self-test code)",
        symptoms="device_fault self_test_11, and the fault device_component, which locks the table until a"
        " person approves the wheel or the wheel restarts",
        action=actions.wheel_self_test,
        seconds=1.0,
        on=_WHEEL,
        codes=_for_any_device("self_test_11"),
    ),
    "wheel_setting": Fault(
        what="parameter m is set to 20000 rpm, and the wheel is power-cycled; when the fault ends, the"
        " parameter is corrected",
        symptoms="device_fault power_cycle if a number was shown; then device_down configuration, with"
        " both values",
        action=actions.wheel_setting,
        seconds=25.0,
        on=_WHEEL,
        codes=_for_any_device("configuration", "power_cycle"),
    ),
}


def device_kind(cable: Cable) -> DeviceKind:
    """Return the type of a cable's device."""
    match cable.peer:
        case Board():
            return "node"
        case Script():
            return "json-camera"
        case VirtualShoe():
            return "shoe"
        case _:
            assert isinstance(cable.peer, Ss2Wheel)
            return "ss2"


MAX_SECONDS = 600.0


class FaultRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A request to begin a fault on a device; some faults take a value or a name."""

    fault: str
    device: str = ""
    seconds: float | None = None
    value: float | None = None
    name: str | None = None


_decode_request = msgspec.json.Decoder(FaultRequest).decode


class FaultRequestError(ValueError):
    """Raised for a request that cannot be carried out."""


def devices_able(table: VirtualTable, name: str) -> tuple[str, ...]:
    """Return the devices of a table that can have this fault; ("",) for a fault that affects all devices."""
    fault = FAULTS[name]
    if fault.all_devices:
        return ("",)
    if (
        fault.action is actions.swap_cables
        and sum(device_kind(c) == "node" for c in table.cables.values()) < 2
    ):
        return ()
    return tuple(
        device
        for device, cable in table.cables.items()
        if device_kind(cable) in fault.on and fault.only_device in ("", device)
    )


def parse_request(line: bytes) -> FaultRequest:
    """Parse a request, which is one JSON object. Raises FaultRequestError."""
    try:
        return _decode_request(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise FaultRequestError(
            f'{error}; expected {{"fault": "unplug", "device": "cam"}} or similar'
        ) from error


def carry_out(table: VirtualTable, request: FaultRequest, now_us: int) -> FaultBegan:
    """Begin a fault and schedule its end.

    Raises:
        FaultRequestError: If there is no such fault or device, the device cannot have this fault or already
            has one, or the duration is out of range.
    """
    fault = FAULTS.get(request.fault)
    if fault is None:
        raise FaultRequestError(f"found fault {request.fault!r}, expected one of {', '.join(FAULTS)}")
    devices = devices_able(table, request.fault)
    if not devices:
        raise FaultRequestError(
            f"{request.fault}: no device of this table can have this fault; choose a different fault"
        )
    device = request.device or devices[0]
    if device not in devices:
        expected = "none, because the fault affects all devices"
        if not fault.all_devices:
            expected = f"one of {', '.join(devices)}"
        raise FaultRequestError(f"{request.fault}: found device {device!r}, expected {expected}")
    seconds = fault.seconds if request.seconds is None else request.seconds
    if not 0 < seconds <= MAX_SECONDS:
        raise FaultRequestError(
            f"{request.fault}: found {seconds:g} seconds, expected more than 0 and at most {MAX_SECONDS:g}"
        )
    affected_devices = actions.affected_devices(table, fault.action, device)
    faulty = next(filter(table.has_fault, affected_devices), None)
    if faulty or (fault.all_devices and not table.is_faultless):
        raise FaultRequestError(
            f"{request.fault}: {faulty or 'a device'} already has a fault; wait until that fault ends"
        )
    undo = fault.action(actions.FaultSite(table, device, now_us, request.value, request.name))
    cable = table.cables.get(device) or next(iter(table.cables.values()))
    shortened = seconds < fault.seconds
    began = FaultBegan(
        t=now_us,
        fault=request.fault,
        device=device,
        seconds=seconds,
        codes=() if shortened else tuple(fault.codes.get(device_kind(cable), ())),
        sees=fault.symptoms,
    )
    table.begin(began, undo, now_us + round(seconds * 1e6), also_affected=affected_devices[1:])
    return began


class Schedule:
    """A random sequence of faults on random devices at random intervals."""

    def __init__(
        self, table: VirtualTable, seed: int, *, every_s: float, without: frozenset[str] = frozenset()
    ) -> None:
        """Draw from the faults that this table can have, except `without`; `every_s` is the mean interval."""
        self._table = table
        self._rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
        self._every_s = every_s
        self._stopped = False
        self._names = [name for name in FAULTS if name not in without and devices_able(table, name)]

    def start(self, now_us: int) -> None:
        """Schedule the first fault."""
        self._table.at(now_us + self._gap_us(), self._next)

    def stop(self) -> None:
        """Begin no further faults; active faults still last for their full duration."""
        self._stopped = True

    def _next(self, now_us: int) -> None:
        if self._stopped or self._table.over:
            return
        name = self._rng.choice(self._names)
        device = self._rng.choice(devices_able(self._table, name))
        affected_devices = actions.affected_devices(self._table, FAULTS[name].action, device)
        free = not any(map(self._table.has_fault, affected_devices))
        if free and (self._table.is_faultless or not FAULTS[name].all_devices):
            carry_out(self._table, FaultRequest(fault=name, device=device), now_us)
        self._table.at(now_us + self._gap_us(), self._next)

    def _gap_us(self) -> int:
        return round(self._rng.uniform(0.4, 1.6) * self._every_s * 1e6)
