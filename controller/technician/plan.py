"""The acts that test a device, one for each sensor it is there for, and what to do if one fails."""

from collections.abc import Iterator, Mapping

from controller.model.rulesets import SensorErrors
from controller.model.tables import DeclaredDevice, TableSettings
from controller.technician.acts import (
    HELD,
    Act,
    DrawCard,
    LayDie,
    OpenClose,
    PressButtons,
    RollBoth,
    ShowIt,
    ThrowAtWall,
)
from controller.technician.wheel_acts import BallInPocket, PlayGame, SpinBall, TurnRotor

MIN_CONFIDENCE = 0.6
"""design: below it a face is not trusted; a rule set of dice may say otherwise."""
_CAMERA = (
    "clean its lens and its light, take away what hides the felt; then tablectl calibrate camera {device}"
)
_WINDOW = "clean its window, look at its cable"
STEPS: Mapping[str, str] = {
    "device": "tablectl faults says what is wrong with it; look at its plug and its power first",
    **dict.fromkeys(
        ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"), _CAMERA
    ),
    "wall_impact": "press the sensor and its cable home; then tablectl calibrate walls {device}",
    "ball_beam": "clean both ends of the beam, look at its cable; then tablectl calibrate wheel {device}",
    "ball_drop": _WINDOW,
    "rotor_index": "clean the rotor's mark, set the sensor nearer; then tablectl calibrate wheel {device}",
    "pocket_ball": "clean the reader's window; then tablectl calibrate wheel {device}",
    "wheel_status": "read the wheel's own display; docs/devices/ss2.md says what each state means",
    "foreign_object": _WINDOW,
    "ball_out": _WINDOW,
    "card": "clean the shoe's window, and draw the same card again",
    "input": "press the button again by itself; look at its wire and its line in the table's file",
}
"""The remedies by kind of reading; `{device}` is the device's name."""
_WIRE = "look at its wire, and at its line in the table's file"
"""The remedy for a switch, a lamp or the buzzer, which have names of their own."""


def acts_for(name: str, settings: TableSettings) -> list[Act]:
    """Return the acts that test this device, in a fitting order; none for one that reads nothing."""
    device = settings.devices[name]
    return [*_dice(name, device, settings), *_wheel(name, device, settings), *_desk(name, device, settings)]


def _dice(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Act]:
    throw, table = settings.rules.throw, settings.dice_table
    errors = SensorErrors() if throw is None else throw.sensors
    if "die_rest" in device.reads:
        yield LayDie(name, MIN_CONFIDENCE if throw is None else throw.min_confidence)
    if "die_at" in device.reads:
        yield RollBoth(name, errors.frame_ms, "die_released" in device.reads)
    if "wall_impact" in device.reads and device.wall is not None and table is not None:
        tracked = any("die_at" in other.reads for other in settings.devices.values())
        yield ThrowAtWall(name, device.wall, table, errors, tracked)


def _wheel(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Act]:
    wheel = settings.wheel
    if wheel is not None and "rotor_index" in device.reads:
        yield TurnRotor(name)
    if wheel is not None and "ball_beam" in device.reads:
        yield SpinBall(name, len(wheel.beams_deg), "ball_drop" in device.reads)
    if wheel is not None and "pocket_ball" in device.reads:
        yield BallInPocket(name, wheel, wheel.pockets_clockwise[0])
    if "wheel_status" in device.reads:
        yield PlayGame(name)


def _desk(name: str, device: DeclaredDevice, settings: TableSettings) -> Iterator[Act]:
    if "switch" in device.reads:
        for switch in settings.switches:
            yield OpenClose(name, switch)
    if "input" in device.reads:
        yield PressButtons(name)
    if "card" in device.reads:
        yield DrawCard(name)
    for kind in device.reads:
        if kind in HELD:
            yield ShowIt(name, kind)


def next_step(device: str, sensor: str) -> str:
    """Return what to do about this sensor, and how to test it again."""
    kind = sensor.partition(" ")[0]
    step = STEPS.get(kind, _WIRE).format(device=device)
    only = "" if kind == "device" else f" --only {kind}" if kind in STEPS else ""
    return f"{step}; then tablectl test {device}{only}"
