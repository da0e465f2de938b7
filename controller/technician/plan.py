"""Which acts test a device: one for each sensor that the table's file says it is there for."""

from collections.abc import Iterator

from controller.model.rulesets import SensorErrors
from controller.model.tables import Device, TableSettings
from controller.technician.acts import HELD, Act, DrawCard, OpenClose, PressButtons, ShowIt
from controller.technician.dice_acts import LayDie, RollBoth, ThrowAtWall
from controller.technician.wheel_acts import BallInPocket, PlayGame, SpinBall, TurnRotor

MIN_CONFIDENCE = 0.6
"""design: below it a face is not believed; a rule set of dice may say otherwise."""


def acts_for(name: str, settings: TableSettings) -> list[Act]:
    """Return the acts that test this device, in a fitting order; none for one that reads nothing."""
    device = settings.devices[name]
    return [*_dice(name, device, settings), *_wheel(name, device, settings), *_desk(name, device, settings)]


def _dice(name: str, device: Device, settings: TableSettings) -> Iterator[Act]:
    throw, table = settings.rules.throw, settings.dice_table
    errors = SensorErrors() if throw is None else throw.sensors
    if "die_rest" in device.reads:
        yield LayDie(name, MIN_CONFIDENCE if throw is None else throw.min_confidence)
    if "die_at" in device.reads:
        yield RollBoth(name, errors.frame_ms, "die_released" in device.reads)
    if "wall_impact" in device.reads and device.wall is not None and table is not None:
        tracked = any("die_at" in other.reads for other in settings.devices.values())
        yield ThrowAtWall(name, device.wall, table, errors, tracked)


def _wheel(name: str, device: Device, settings: TableSettings) -> Iterator[Act]:
    wheel = settings.wheel
    if wheel is not None and "rotor_index" in device.reads:
        yield TurnRotor(name)
    if wheel is not None and "ball_beam" in device.reads:
        yield SpinBall(name, len(wheel.beams_deg), "ball_drop" in device.reads)
    if wheel is not None and "pocket_ball" in device.reads:
        yield BallInPocket(name, wheel, wheel.pockets_clockwise[0])
    if "wheel_status" in device.reads:
        yield PlayGame(name)


def _desk(name: str, device: Device, settings: TableSettings) -> Iterator[Act]:
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
