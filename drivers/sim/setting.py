"""Builds a virtual table from the settings in a table's file."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from random import Random
from typing import Protocol

import msgspec

from controller.model.geometry import DiceTable
from controller.model.homography import Homography, Pair, Point, fit
from controller.model.readings import AnyReading, WallImpact, kind_of
from controller.model.tables import DeclaredDevice, TableSettings
from drivers.sim import dice, practice, ss2_wheel, three_card, wheel
from drivers.sim.boards import Board, Cable, Peer, Script, Sensor, VirtualShoe
from drivers.sim.bodies import flights
from drivers.sim.faults import DeviceKind
from drivers.sim.scenes import Story
from drivers.sim.ss2_wheel import Ss2Wheel
from drivers.sim.table import (
    ATTEMPTS_PER_ACT,
    DEALS_PER_ACT,
    GAMES_PER_ACT,
    Act,
    Play,
    SessionActs,
    VirtualTable,
    deals_play,
    high_roller_play,
    single_rolls_play,
    smart_wheel_play,
    spins_play,
    throws_play,
)
from drivers.sim.technician import Technician

Key = tuple[str, str | None]
"""Kind of reading, and the wall if the reading is an impact."""
Route = Callable[[AnyReading], AnyReading]
SHARED = frozenset({"input", "switch"})
"""Kinds of reading that several devices are allowed to send. A table can have more than one console."""


class AmbiguousError(ValueError):
    """Raised if the simulator cannot choose between two devices that send the same kind of reading."""


def route_by(devices: Mapping[str, DeclaredDevice], own_names: Mapping[str, str]) -> Route:
    """Return a function that assigns each reading to the device that sends its kind.

    `own_names` maps kinds of reading to the device names in simulated sessions. If several devices send a
    kind, the device with that name is used. A reading that no device sends keeps its device name, and the
    virtual table drops it.

    Raises:
        AmbiguousError: If several devices send one kind, and none has the name in `own_names`.
    """
    readers: dict[Key, list[str]] = defaultdict(list)
    for name, device in devices.items():
        for kind in device.reads:
            readers[kind, device.wall if kind == "wall_impact" else None].append(name)
    for (read, wall), names in readers.items():
        own = f"wall-{wall}" if wall else own_names.get(read, "none")
        if len(names) > 1 and own not in names and read not in SHARED:
            raise AmbiguousError(
                f"more than one device sends {read}: {' and '.join(names)}; keep one of them, or name one"
                f" {own!r}"
            )

    def routed(reading: AnyReading) -> AnyReading:
        wall = reading.wall if isinstance(reading, WallImpact) else None
        names = readers.get((kind_of(reading), wall), ())
        if not names or reading.dev in names:
            return reading
        return msgspec.structs.replace(reading, dev=names[0])

    return routed


_IMAGE_CORNERS: tuple[Point, ...] = ((62.0, 421.0), (1228.0, 437.0), (1171.0, 58.0), (109.0, 66.0))
"""Corners of the felt in a 1280 x 480 pixel image, taken from the stickperson's side."""
_GUESS_ERRORS_MM: tuple[Point, ...] = ((30.0, -20.0), (-40.0, 15.0), (25.0, 25.0), (-30.0, -25.0))
"""Errors, in millimetres, of the corners' positions in a table's file before calibration."""


def measure_lens(table: DiceTable) -> Homography:
    """Return the homography from the table's plane to the image."""
    return fit(list(zip(_corners(table), _IMAGE_CORNERS, strict=True)))


def first_guess(table: DiceTable) -> list[Pair]:
    """Return an uncalibrated camera's point pairs: corners in the image, with rough table positions."""
    corners = ((x + dx, y + dy) for (x, y), (dx, dy) in zip(_corners(table), _GUESS_ERRORS_MM, strict=True))
    return list(zip(_IMAGE_CORNERS, corners, strict=True))


def _corners(table: DiceTable) -> tuple[Point, ...]:
    length, width = table.length_mm, table.width_mm
    return ((0.0, 0.0), (length, 0.0), (length, width), (0.0, width))


Mix = Mapping[str, float]
Boards = Mapping[str, Mapping[int, Sensor]]
"""Sensors by channel, for each board that carries several devices."""


OWN_NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"), "cam"
    ),
    **dict.fromkeys(
        ("ball_beam", "ball_drop", "ball_out", "rotor_index", "foreign_object", "wheel_status"), "wheel"
    ),
    "pocket_ball": "pockets",
    "card": "shoe",
}
"""Device names in simulated sessions, by kind of reading. A wall's sensor is named after the wall:
`wall-left`, for example."""


class UnplayableTableError(ValueError):
    """Raised if no session can be simulated with a table's settings."""


def virtual_table(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    *,
    seed: int,
    report: Callable[[Story], None],
    attempts: int | None = None,
    mix: Mix | None = None,
    lens: Homography | None = None,
    boards: Boards | None = None,
    one_by_one: Play | None = None,
) -> VirtualTable:
    """Create a table's virtual hardware and its session; the same seed produces the same session.

    `types` maps device names to types; a device without an entry has the default type for its readings.
    `mix` maps kinds of attempt to weights. With a `lens`, camera scripts report image coordinates. Devices on
    the channels of `boards` have no cables of their own. `one_by_one`, which plays one attempt per act,
    replaces the play for the table's game.

    Raises:
        UnplayableTableError: If the file lacks the geometry for its game, or two devices send the same kind
            of reading.
    """
    play = one_by_one or _play(settings, mix)
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    cables = []
    boards = boards or {}
    channel_devices = _on_channels(boards)
    for name, device in settings.devices.items():
        device_rng = Random(rng.getrandbits(64))  # noqa: S311 - as above; one generator per device
        kind = types.get(name, _type_for(device.reads))
        if name in boards:
            cables.append(Cable(Board(name, (), device_rng, sensors=boards[name]), device_rng))
        elif name not in channel_devices:
            cables.append(Cable(_peer(name, kind, tuple(device.reads), device_rng, lens), device_rng))
    try:
        route = route_by(settings.devices, OWN_NAMES)
    except AmbiguousError as error:
        raise UnplayableTableError(f"{settings.table}: {error}") from error
    show = SessionActs(
        play, seed, attempts, attempts_per_act=1 if one_by_one else _attempts_per_act(settings)
    )
    return VirtualTable(cables, show, rng=rng, report=report, route=route)


def with_technician(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    *,
    seed: int,
    report: Callable[[Story], None],
    boards: Boards | None = None,
) -> VirtualTable:
    """Create a virtual table with a technician and no players.

    The technician carries out the test steps that the test lamp shows. Camera scripts report image
    coordinates.
    """
    felt = settings.dice_table
    lens = None if felt is None else measure_lens(felt)
    table = virtual_table(settings, types, seed=seed, report=report, attempts=0, lens=lens, boards=boards)
    trusted = settings.rules.spin is not None and settings.rules.spin.revolutions == "trusted_wheel"
    table.observers.append(Technician(table, felt, None if trusted else settings.wheel).look)
    return table


def with_rendered_camera(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    throws: Callable[[int, DiceTable], "RenderedThrows"],
    *,
    seed: int,
    report: Callable[[Story], None],
    attempts: int | None = None,
    boards: Boards | None = None,
) -> VirtualTable:
    """Create a virtual table whose camera reads rendered pictures, one throw at a time.

    `throws` creates the source of rendered throws from a seed and a table.

    Raises:
        UnplayableTableError: If the game is not craps, the table's size has no precomputed throws, or two
            devices send the same kind of reading.
    """
    felt = settings.dice_table
    if settings.rules.game != "craps" or felt is None or not flights.fits(felt):
        raise UnplayableTableError(
            f"{settings.table}: rendered throws need a 3600 by 1100 mm craps table with 19 mm dice;"
            " choose such a table"
        )
    rendered = throws(seed, felt)
    table = virtual_table(
        settings, types, seed=seed, report=report, attempts=attempts, boards=boards, one_by_one=rendered.play
    )
    table.cue = rendered.ready
    return table


class RenderedThrows(Protocol):
    """Source of rendered throws, which are computed in the background.

    `tablectl simulate` implements this protocol with `drivers.sim.rendered_throws`, which needs optional
    packages; this module does not.
    """

    def ready(self) -> bool:
        """Return whether the next throw has been computed."""
        ...

    def play(self, seed: int, count: int, after_fault: bool, /) -> Act:
        """Return the next throw."""
        ...


def for_practice(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    *,
    seed: int,
    report: Callable[[Story], None],
    attempts: int | None = None,
    boards: Boards | None = None,
    cue: Callable[[], bool],
    begun: Callable[[Act], None],
    stage: Callable[[], str],
) -> VirtualTable:
    """Create a virtual table at which a person does the staff's work.

    Each attempt begins when `cue` returns True. `begun` receives each attempt as it begins. `stage` returns
    the stage of a High Roller game.

    Raises:
        UnplayableTableError: If the file lacks the geometry for its game, or two devices send the same kind
            of reading.
    """
    table = virtual_table(
        settings,
        types,
        seed=seed,
        report=report,
        attempts=attempts,
        boards=boards,
        one_by_one=_practice_play(settings, stage),
    )
    table.cue = cue
    table.act_listeners.append(begun)
    table.drop_conditions.append(lambda reading: practice.is_persons_input(settings.rules.game, reading))
    return table


def _practice_play(settings: TableSettings, stage: Callable[[], str]) -> Play:
    rules = settings.rules
    if rules.game == "high_roller" and settings.dice_table is not None:
        return single_rolls_play(settings.dice_table, practice.ROLLS, stage)
    if rules.game == "three_card":
        return practice.without_pauses(practice.first_only(_play(settings, practice.DEALS)), rules.game)
    if rules.spin is None:
        return practice.without_pauses(practice.second_only(_play(settings, practice.DICE)), rules.game)
    trusted = rules.spin.revolutions == "trusted_wheel"
    mix = practice.SMART_WHEEL if trusted else practice.WHEEL
    return practice.without_pauses(practice.second_only(_play(settings, mix)), rules.game)


def with_own_cameras(settings: TableSettings, types: Mapping[str, DeviceKind]) -> dict[str, DeviceKind]:
    """Return the types with each camera board replaced by a camera script.

    Only a camera script can report image coordinates.
    """
    cameras = {name for name, device in settings.devices.items() if "die_at" in device.reads}
    return {
        name: "json-camera" if kind == "node" and name in cameras else kind for name, kind in types.items()
    }


def types_for(settings: TableSettings, boards: Boards | None = None) -> Mapping[str, DeviceKind]:
    """Return the default type of each device with a cable: a shoe, an SS2 wheel or a node."""
    channel_devices = _on_channels(boards or {})
    return {
        name: _type_for(device.reads)
        for name, device in settings.devices.items()
        if name not in channel_devices
    }


def _on_channels(boards: Boards) -> frozenset[str]:
    return frozenset(sensor.dev for sensors in boards.values() for sensor in sensors.values())


def _type_for(reads: tuple[str, ...]) -> DeviceKind:
    if "card" in reads:
        return "shoe"
    return "ss2" if "wheel_status" in reads else "node"


def _peer(name: str, kind: DeviceKind, reads: tuple[str, ...], rng: Random, lens: Homography | None) -> Peer:
    match kind:
        case "node":
            return Board(name, reads, rng)
        case "json-camera":
            return Script(name, rng, stamps=True, lens=lens)
        case "ss2":
            return Ss2Wheel(name, rng)
        case "shoe":
            return VirtualShoe(name)


def _attempts_per_act(settings: TableSettings) -> int:
    game = settings.rules.game
    return {"high_roller": GAMES_PER_ACT, "three_card": DEALS_PER_ACT}.get(game, ATTEMPTS_PER_ACT)


def _play(settings: TableSettings, mix: Mix | None) -> Play:
    rules = settings.rules
    if rules.game == "craps" and settings.dice_table is not None and rules.throw is not None:
        lenient = rules.throw.missed_wall == "warn"
        name: dice.Rules = "craps-v1" if lenient else "craps-12-034"
        return throws_play(settings.dice_table, name, mix or dice.RIGID_BODY_MIX)
    if rules.game == "high_roller" and settings.dice_table is not None:
        return high_roller_play(settings.dice_table)
    if rules.game == "three_card":
        return deals_play(mix or three_card.SENSED)
    if rules.game == "roulette" and settings.wheel is not None and rules.spin is not None:
        if rules.spin.revolutions == "trusted_wheel":
            return smart_wheel_play(settings.wheel.pockets_clockwise, mix or ss2_wheel.USUAL)
        return spins_play(settings.wheel, rules.name, mix or wheel.USUAL)
    raise UnplayableTableError(
        f"{settings.table}: the table's file lacks the geometry for its rule set {rules.name!r}"
        f" ({rules.game}); add `dice_table` for a dice game, or `wheel` for roulette"
    )
