"""Gather what a calibration needs, from a technician at the running table or from a recording."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from controller.cli.guide import Guide
from controller.model.geometry import DiceTable
from controller.model.keys import KeyPath
from controller.model.readings import AnyReading, Wall
from controller.model.rulesets import SensorErrors
from controller.model.tables import Device, TableSettings
from controller.technician.acts import Act
from controller.technician.calibration import Calibrated, UnfitError
from controller.technician.camera import Laid, LayAt, calibrate_camera, laid_in, named_places
from controller.technician.dice_acts import ThrowAtWall
from controller.technician.walls import Listen, calibrate_wall, sorted_out
from controller.technician.wheel import calibrate_wheel
from controller.technician.wheel_acts import BallInPocket, SpinBall
from drivers.cameras.homography import CalibratedSettings, Homography, Point, plane_of
from drivers.node.device import NodeSettings

ROUGH_MM = 400.0
"""A die seen so far from where it was to be laid lies elsewhere, however rough the calibration."""


class AskedError(ValueError):
    """Usage that makes no sense for this table; the message says what was found and what was expected."""


class Given(NamedTuple):
    """What was asked for, the table, and where readings come from: a guide, or a recording."""

    arguments: argparse.Namespace
    settings: TableSettings
    guide: Guide | None
    recorded: Sequence[AnyReading]

    @property
    def name(self) -> str:
        """Give the device's name."""
        name: str = self.arguments.device
        return name

    def device(self) -> Device:
        """Give the device; raises AskedError where there is none of this name."""
        devices = self.settings.devices
        if self.name not in devices:
            raise AskedError(f"found no device {self.name!r}, expected one of {', '.join(devices)}")
        return devices[self.name]

    def felt(self) -> DiceTable:
        """Give the dice table; raises AskedError where there is none."""
        if self.settings.dice_table is None:
            raise AskedError("found no dice_table in the table's file, expected one")
        return self.settings.dice_table


class _Hears:
    """Passes an act's readings on, and keeps them all."""

    def __init__(self, act: Act) -> None:
        self.readings: list[AnyReading] = []
        self.sensor, self.word, self.ask = act.sensor, act.word, act.ask
        self.enough, self.findings = act.enough, act.findings
        self._act = act

    def hear(self, reading: AnyReading) -> None:
        self.readings.append(reading)
        self._act.hear(reading)


# --- camera ---


def camera(given: Given) -> Calibrated:
    """Calibrate a camera; raises AskedError or UnfitError."""
    device, table = given.device(), given.felt()
    plane = _plane(given.name, device)
    places = _places(given.arguments, table)
    if given.guide is None:
        seen = laid_in(given.recorded, given.name)
        if len(seen) != len(places):
            names = ", ".join(places)
            raise UnfitError(
                f"found {len(seen)} dice laid one after the other, expected {len(places)}: {names};"
                " name those that were laid with --points, in their order"
            )
        told = dict(zip(places, seen, strict=True))
    else:
        told = _laid(given.guide, given.name, places, rough=plane is not None)
    laid = [Laid(name, places[name], _image(plane, place)) for name, place in told.items()]
    return calibrate_camera(laid, table, given.name, plane)


def _plane(name: str, device: Device) -> Homography | None:
    """Give the calibration in force: through it the readings' places go back to the camera's own."""
    settings = device.settings
    if not isinstance(settings, CalibratedSettings):
        raise AskedError(
            f"{name}: found a device of type {device.type or 'none'}, expected a jevois or a json-camera:"
            " any other tells millimetres of the table by itself, and is calibrated in its own program"
        )
    return plane_of(settings.calibration, settings.error_mm) if settings.calibration else None


def _image(plane: Homography | None, place: Point) -> Point:
    seen = place if plane is None else plane.to_image(*place)
    if seen is None:
        raise UnfitError(f"found a die at {place}, which the calibration in force can't have seen")
    return seen


def _places(arguments: argparse.Namespace, table: DiceTable) -> dict[str, Point]:
    known = dict(named_places(table))
    own = dict(_point(text) for text in arguments.point)
    if arguments.points is None:
        return known | own
    places: dict[str, Point] = {}
    for name in arguments.points.split(","):
        if name not in known | own:
            raise AskedError(f"--points: found {name!r}, expected one of {', '.join(known | own)}")
        if name in places:
            raise AskedError(f"--points: found {name!r} twice, expected each once")
        places[name] = (known | own)[name]
    return places | own


def _point(text: str) -> tuple[str, Point]:
    name, _, place = text.partition("=")
    try:
        x, y = (float(part) for part in place.split(","))
    except ValueError:
        raise AskedError(f"--point: found {text!r}, expected such as spot=1200,300") from None
    return name, (x, y)


def _laid(guide: Guide, name: str, places: dict[str, Point], *, rough: bool) -> dict[str, Point]:
    told: dict[str, Point] = {}
    for place_name, place in places.items():
        act = LayAt(name, place_name, place)
        ending = guide.perform(act, name)
        if ending == "skipped" or len(act.rests) != 1:
            guide.tell(f"  {place_name}: left out; {act.findings()[0].says}")
            continue
        rest = next(iter(act.rests.values()))
        off = max(abs(rest.x - place[0]), abs(rest.y - place[1]))
        if rough and off > ROUGH_MM:
            guide.tell(f"  {place_name}: left out; seen {off:.0f} mm away, so the die lies elsewhere")
            continue
        told[place_name] = (rest.x, rest.y)
    return told


# --- walls ---


def walls(given: Given) -> Calibrated:
    """Calibrate a wall sensor; raises AskedError or UnfitError."""
    device, table = given.device(), given.felt()
    if device.wall is None:
        raise AskedError(f"{given.name}: found no wall, expected a device that reads wall_impact at a wall")
    at, before = _threshold(given.name, given.settings)
    throw = given.settings.rules.throw
    errors = SensorErrors() if throw is None else throw.sensors
    if given.guide is None:
        ringing_us = round(errors.ringing_ms * 1000)
        dice, noise = sorted_out(given.recorded, given.name, device.wall, table, ringing_us)
        return calibrate_wall(at, dice, noise, (), before)
    quiet, knocks = _heard(given.guide, given.name, device.wall, given.arguments.knocks)
    loudest = []
    for _ in range(given.arguments.throws):
        act = ThrowAtWall(given.name, device.wall, table, errors, tracked=False)
        given.guide.perform(act, given.name)
        loudest += [max(impact.peak for impact in act.impacts)] if act.impacts else []
    return calibrate_wall(at, loudest, quiet, knocks, before)


def _heard(guide: Guide, name: str, wall: Wall, count: int) -> tuple[list[float], list[float]]:
    quiet = Listen(name, wall, f"quiet_{wall}", "hands off the table: the room is listened to")
    guide.perform(quiet, name)
    peaks: list[float] = []
    for number in range(count):
        ask = f"knock on the rail beside the {wall} wall ({number + 1} of {count})"
        knock = Listen(name, wall, f"knock_{wall}", ask, most=1)
        guide.perform(knock, name)
        peaks += knock.peaks
    return quiet.peaks, peaks


def _threshold(name: str, settings: TableSettings) -> tuple[KeyPath, float]:
    """Give where the threshold stands in the file (at the device, or its board's channel), and what it is."""
    for speaker, device in settings.devices.items():
        board = device.settings
        if not isinstance(board, NodeSettings):
            continue
        for number, channel in board.channels.items():
            if channel.dev == name:
                return ("devices", speaker, "channels", number, "least_peak"), channel.least_peak
        if speaker == name and not board.channels:
            return ("devices", name, "least_peak"), board.least_peak
    raise AskedError(
        f"{name}: found no sensor node that speaks for it, expected one: others compare by themselves"
    )


# --- wheel ---


def wheel(given: Given) -> Calibrated:
    """Calibrate a wheel; raises AskedError or UnfitError."""
    device, wheel_ = given.device(), given.settings.wheel
    if wheel_ is None or "ball_beam" not in device.reads:
        raise AskedError(f"{given.name}: found no ball_beam in its reads, expected a wheel's own sensors")
    number = given.arguments.pocket
    if number is not None and number not in wheel_.pockets_clockwise:
        raise AskedError(f"--pocket: found {number!r}, expected one of {', '.join(wheel_.pockets_clockwise)}")
    if given.guide is None:
        own = [reading for reading in given.recorded if reading.dev == given.name]
        return calibrate_wheel(own, wheel_, number=number)
    spinning: list[AnyReading] = []
    for _ in range(given.arguments.spins):
        spin = _Hears(SpinBall(given.name, len(wheel_.beams_deg), "ball_drop" in device.reads))
        given.guide.perform(spin, given.name)
        spinning += spin.readings
    number = number or wheel_.pockets_clockwise[0]
    resting = _Hears(BallInPocket(given.name, wheel_, number))
    ending = given.guide.perform(resting, given.name)
    return calibrate_wheel(
        spinning, wheel_, resting=resting.readings, number=None if ending == "skipped" else number
    )
