"""Functions that start and end the faults of a virtual table."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from controller.model.readings import AnyReading, BallBeam, DieAt, DieReleased, DieRest, Input, Switch
from drivers.sim.boards import (
    Board,
    Cable,
    Disturbance,
    Script,
    cutting,
    damaging,
    doubling,
    dropping,
    dropping_for_good,
    swapping,
)
from drivers.sim.ss2_wheel import Ss2Wheel
from drivers.sim.table import DropCondition, VirtualTable

Undo = Callable[[int], None]
BURST_US = 100_000
BABBLE_US = 4_000
BABBLE_READINGS = 12
PRESS_US = 200_000
PRESSES = 3
PRESS_AGAIN_US = 700_000
"""Interval between the supervisor's entries of `unlock`, which are repeated because one might be lost."""
DRIFT_STEP_US = 500_000
DRIFT_STEP_PPM = 4.0
"""Maximum change per step; the frequency of a warming crystal changes by a few ppm per second."""


@dataclass(frozen=True, slots=True)
class FaultSite:
    """The place and time of a fault, with its value or name."""

    table: VirtualTable
    device: str
    now_us: int
    value: float | None
    name: str | None

    @property
    def cable(self) -> Cable:
        """Cable of the device."""
        return self.table.cables[self.device]

    def until_undone(self, every_us: int, do: Callable[[int], None]) -> Undo:
        """Repeat an action at this interval until the fault ends."""
        active = True

        def repeat(now_us: int) -> None:
            if active:
                do(now_us)
                self.table.at(now_us + every_us, repeat)

        def undo(_now_us: int) -> None:
            nonlocal active
            active = False

        self.table.at(self.now_us, repeat)
        return undo


FaultAction = Callable[[FaultSite], Undo]
"""Function that begins a fault and returns the function that ends it."""


def affected_devices(table: VirtualTable, action: FaultAction, device: str) -> tuple[str, ...]:
    """Return the devices that a fault affects, `device` first."""
    return (device, _other_node(table, device)) if action is swap_cables else (device,)


def unplug(site: FaultSite) -> Undo:
    """Pull the cable."""
    cable, port = site.cable, site.device
    cable.pull()
    return lambda _now_us: cable.plug(port)


def other_name(site: FaultSite) -> Undo:
    """Plug the cable in under a different name."""
    cable = site.cable
    cable.pull()
    cable.plug(f"{site.device}-other")

    def undo(_now_us: int) -> None:
        cable.pull()
        cable.plug(site.device)

    return undo


def swap_cables(site: FaultSite) -> Undo:
    """Swap the cables of two nodes."""
    one = site.cable
    other = site.table.cables[_other_node(site.table, site.device)]

    def plug(first: str, second: str) -> None:
        for cable in (one, other):
            cable.pull()
        one.plug(first)
        other.plug(second)

    plug(other.name, one.name)
    return lambda _now_us: plug(one.name, other.name)


def _other_node(table: VirtualTable, device: str) -> str:
    nodes = [name for name, cable in table.cables.items() if isinstance(cable.peer, Board)]
    return nodes[nodes.index(device) - 1]


def garbage(site: FaultSite) -> Undo:
    """Send bursts of random bytes with line ends."""
    cable = site.cable

    def burst(now_us: int) -> None:
        for _ in range(2):
            if cable.port is not None:
                cable.to_table.send(now_us, cable.rng.randbytes(cable.rng.randint(4, 40)) + b"\n")

    return site.until_undone(BURST_US, burst)


def _disturb_lines(make: Callable[[], Disturbance]) -> FaultAction:
    def begin(site: FaultSite) -> Undo:
        disturbance = make()
        disturbances = site.cable.to_table.disturbances
        disturbances.append(disturbance)
        return lambda _now_us: disturbances.remove(disturbance)

    return begin


half_lines = _disturb_lines(lambda: cutting(0.1))
bit_errors = _disturb_lines(lambda: damaging(0.1))
lost_lines = _disturb_lines(lambda: dropping(0.2))
lost_for_good = _disturb_lines(lambda: dropping_for_good(0))
repeated_lines = _disturb_lines(lambda: doubling(0.33))
reordered_lines = _disturb_lines(lambda: swapping(0.2, 40_000))


def drift(site: FaultSite) -> Undo:
    """Warm the board up, which gradually changes its clock's rate; let it cool down when the fault ends."""
    clock = site.cable.peer.clock
    healthy_ppm = clock.off_ppm
    target_ppm = 150.0 if site.value is None else site.value

    def warm(now_us: int) -> None:
        step = max(-DRIFT_STEP_PPM, min(DRIFT_STEP_PPM, target_ppm - clock.off_ppm))
        if step and site.cable.peer.clock is clock:
            clock.run(now_us, clock.off_ppm + step)
            site.table.at(now_us + DRIFT_STEP_US, warm)

    def undo(now_us: int) -> None:
        nonlocal target_ppm
        target_ppm = healthy_ppm
        warm(now_us)

    warm(site.now_us)
    return undo


def wild_clock(site: FaultSite) -> Undo:
    """Run the board's clock much faster than any crystal allows."""
    clock = site.cable.peer.clock
    healthy_ppm = clock.off_ppm
    clock.run(site.now_us, 30_000.0 if site.value is None else site.value)
    return lambda now_us: clock.run(now_us, healthy_ppm)


def clock_jump(site: FaultSite) -> Undo:
    """Make the board's clock jump."""
    site.cable.peer.clock.jump(30_000_000 if site.value is None else round(site.value * 1000))
    return _do_nothing


def restart(site: FaultSite) -> Undo:
    """Restart the device while its cable remains plugged in."""
    site.cable.peer.restart(site.now_us)
    return _do_nothing


def babble(site: FaultSite) -> Undo:
    """Make a sensor oscillate."""
    peer = site.cable.peer
    assert isinstance(peer, Board | Script)

    def report(now_us: int) -> None:
        for _ in range(BABBLE_READINGS):
            peer.sense(now_us, Switch(t=now_us, dev=peer.name, name="key", open=False))
        site.cable.flush(now_us)

    return site.until_undone(BABBLE_US, report)


def nonsense(site: FaultSite) -> Undo:
    """Make the firmware report die number 3, which does not exist."""

    def report(now_us: int) -> None:
        fields = {"die": "3", "x": "10", "y": "20"}
        match site.cable.peer:
            case Board() as board if not board.hung:
                board.send_reading(now_us, "die_at", fields, seen_us=now_us)
            case Script() as script:
                script.print_reading("die_at", fields, seen_us=now_us)
            case _:
                pass
        site.cable.flush(now_us)

    return site.until_undone(BURST_US, report)


def silence(site: FaultSite) -> Undo:
    """Make the device hang until the fault ends; its clock keeps running."""
    peer = site.cable.peer
    peer.hung = True

    def undo(_now_us: int) -> None:
        peer.hung = False

    return undo


def deaf(site: FaultSite) -> Undo:
    """Break the device's input."""
    peer = site.cable.peer
    peer.input_broken = True

    def undo(_now_us: int) -> None:
        peer.input_broken = False

    return undo


def stuck_writer(site: FaultSite) -> Undo:
    """Block the device's port."""
    cable = site.cable
    cable.blocked = True

    def undo(_now_us: int) -> None:
        cable.blocked = False

    return undo


def power_cycle(site: FaultSite) -> Undo:
    """Cut the power to all devices, and restore it when the fault ends."""
    cables = site.table.cables.values()
    for cable in cables:
        cable.pull()
        cable.peer.hung = True

    def undo(now_us: int) -> None:
        for cable in cables:
            cable.peer.hung = False
            cable.plug(cable.name)
            cable.peer.start(now_us)

    return undo


def _drop_readings(site: FaultSite, dropped: DropCondition) -> Undo:
    site.table.drop_conditions.append(dropped)
    return lambda _now_us: site.table.drop_conditions.remove(dropped)


def dead_sensor(site: FaultSite) -> Undo:
    """Drop all readings of this board's devices."""
    devices = site.cable.devices
    return _drop_readings(site, lambda reading: reading.dev in devices)


def hidden_die(site: FaultSite) -> Undo:
    """Hide a die from the camera."""
    die = 1 if site.value is None else round(site.value)

    def hides(reading: AnyReading) -> bool:
        return isinstance(reading, DieAt | DieRest | DieReleased) and reading.die == die

    return _drop_readings(site, hides)


def dead_beam(site: FaultSite) -> Undo:
    """Drop all readings of one beam."""
    beam = 0 if site.value is None else round(site.value)
    return _drop_readings(site, lambda reading: isinstance(reading, BallBeam) and reading.beam == beam)


def stuck_button(site: FaultSite) -> Undo:
    """Press a button repeatedly."""
    dice = "cam" in site.table.devices
    name = site.name or ("no_roll" if dice else "no_spin")
    pressed = Input(t=0, dev=site.device, name=name, by="boxperson" if dice else "dealer")

    def press(now_us: int) -> None:
        site.cable.peer.sense(now_us, msgspec.structs.replace(pressed, t=now_us))
        site.cable.flush(now_us)

    return site.until_undone(PRESS_US, press)


def open_door(site: FaultSite) -> Undo:
    """Open the service door; when the fault ends, close it and have the supervisor unlock the table."""
    door = Switch(t=site.now_us, dev=site.device, name=site.name or "door", open=True)
    unlocks = Input(t=0, dev=site.device, name="unlock", by="supervisor", reason="door checked")

    def send(now_us: int, reading: AnyReading) -> None:
        site.cable.peer.sense(now_us, reading)
        site.cable.flush(now_us)

    def press(now_us: int) -> None:
        send(now_us, msgspec.structs.replace(unlocks, t=now_us))

    def undo(now_us: int) -> None:
        send(now_us, msgspec.structs.replace(door, t=now_us, open=False))
        for press_number in range(1, PRESSES + 1):
            site.table.at(now_us + press_number * PRESS_AGAIN_US, press)

    send(site.now_us, door)
    return undo


def wheel_flags(flags: int) -> FaultAction:
    """Return a fault that adds flags to the wheel's reports in play."""

    def begin(site: FaultSite) -> Undo:
        wheel = _wheel(site)
        wheel.add_flags = flags

        def undo(_now_us: int) -> None:
            wheel.add_flags = 0

        return undo

    return begin


def wheel_encoder(site: FaultSite) -> Undo:
    """Make the wheel report 95.3 rpm in play."""
    wheel = _wheel(site)
    wheel.shows_rpm_x10 = 953

    def undo(_now_us: int) -> None:
        wheel.shows_rpm_x10 = None

    return undo


def wheel_no_number(site: FaultSite) -> Undo:
    """Make the wheel proceed to the next game without reporting a number."""
    wheel = _wheel(site)
    wheel.hides_numbers = True

    def undo(_now_us: int) -> None:
        wheel.hides_numbers = False

    return undo


def wheel_self_test(site: FaultSite) -> Undo:
    """Make the wheel report a self-test fault."""
    _wheel(site).send_line(b"*F %d" % (11 if site.value is None else round(site.value)))
    site.cable.flush(site.now_us)
    return _do_nothing


def wheel_setting(site: FaultSite) -> Undo:
    """Commit an invalid setting and power-cycle the wheel; when the fault ends, do the same with the approved
    setting."""
    wheel = _wheel(site)
    correct = wheel.parameters["m"]

    def set_to(now_us: int, values: tuple[float, ...]) -> None:
        wheel.drift("m", values)
        wheel.restart(now_us)
        site.cable.pull()
        site.cable.plug(site.device)

    set_to(site.now_us, (20_000.0,))
    return lambda now_us: set_to(now_us, correct)


def _wheel(site: FaultSite) -> Ss2Wheel:
    wheel = site.cable.peer
    assert isinstance(wheel, Ss2Wheel)
    return wheel


def _do_nothing(_now_us: int) -> None:
    """Do nothing. The fault was momentary."""
