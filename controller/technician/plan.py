"""The test steps for a device, which depend on its kinds of readings, and the remedies for failed sensors."""

from collections.abc import Iterator, Mapping

from controller.model.rulesets import SensorErrors
from controller.model.tables import DeclaredDevice, TableSettings
from controller.technician.steps import (
    SHOW_REQUESTS,
    DrawCard,
    LayDie,
    OpenClose,
    PressButtons,
    RollBoth,
    ShowObject,
    Step,
    ThrowAtWall,
)
from controller.technician.wheel_steps import BallInPocket, PlayGame, SpinBall, TurnRotor

MIN_CONFIDENCE = 0.6
"""Minimum confidence in a face under a rule set that sets no limit."""
_CAMERA = (
    "clean its lens and light, and remove anything that hides the felt; then run: tablectl calibrate camera"
    " {device}"
)
_WINDOW = "clean its window, and check its cable"
REMEDIES: Mapping[str, str] = {
    "device": "check its plug and its power; `tablectl faults` shows what is wrong with it",
    **dict.fromkeys(
        ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"), _CAMERA
    ),
    "wall_impact": "press the sensor and its plug firmly into place; then run: tablectl calibrate walls"
    " {device}",
    "ball_beam": "clean both ends of the beam, and check its cable; then run: tablectl calibrate wheel"
    " {device}",
    "ball_drop": _WINDOW,
    "rotor_index": "clean the rotor's mark, and move the sensor closer; then run: tablectl calibrate wheel"
    " {device}",
    "pocket_ball": "clean the reader's window; then run: tablectl calibrate wheel {device}",
    "wheel_status": "read the wheel's own display; docs/devices/ss2.md explains each state",
    "foreign_object": _WINDOW,
    "ball_out": _WINDOW,
    "card": "clean the shoe's window, and draw the same card again",
    "input": "press only this button again; check its wire and its line in the table's file",
}
"""Remedies by kind of reading; `{device}` is the device's name."""
_WIRE = "check its wire, and its line in the table's file"
"""Remedy for a switch, a lamp or the buzzer, identified by its name rather than by a kind of reading."""


def steps_for(name: str, settings: TableSettings) -> list[Step]:
    """Return the test steps for a device, in order; a device without sensors has none."""
    device = settings.devices[name]
    return [
        *_dice(name, device, settings),
        *_wheel(name, device, settings),
        *_console(name, device, settings),
    ]


def _dice(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Step]:
    throw, table = settings.rules.throw, settings.dice_table
    errors = SensorErrors() if throw is None else throw.sensors
    if "die_rest" in device.reads:
        yield LayDie(name, MIN_CONFIDENCE if throw is None else throw.min_confidence)
    if "die_at" in device.reads:
        yield RollBoth(name, errors.frame_ms, "die_released" in device.reads)
    if "wall_impact" in device.reads and device.wall is not None and table is not None:
        tracked = any("die_at" in other.reads for other in settings.devices.values())
        yield ThrowAtWall(name, device.wall, table, errors, tracked)


def _wheel(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Step]:
    wheel = settings.wheel
    if wheel is not None and "rotor_index" in device.reads:
        yield TurnRotor(name)
    if wheel is not None and "ball_beam" in device.reads:
        yield SpinBall(name, len(wheel.beams_deg), "ball_drop" in device.reads)
    if wheel is not None and "pocket_ball" in device.reads:
        yield BallInPocket(name, wheel, wheel.pockets_clockwise[0])
    if "wheel_status" in device.reads:
        yield PlayGame(name)


def _console(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Step]:
    if "switch" in device.reads:
        for switch in settings.switches:
            yield OpenClose(name, switch)
    if "input" in device.reads:
        yield PressButtons(name)
    if "card" in device.reads:
        yield DrawCard(name)
    for kind in device.reads:
        if kind in SHOW_REQUESTS:
            yield ShowObject(name, kind)


def next_step(device: str, sensor: str) -> str:
    """Return the remedy for a failed sensor, and the command that tests the sensor again."""
    kind = sensor.partition(" ")[0]
    remedy = REMEDIES.get(kind, _WIRE).format(device=device)
    only = "" if kind == "device" else f" --only {kind}" if kind in REMEDIES else ""
    return f"{remedy}; then run: tablectl test {device}{only}"
