"""From a table's settings to a virtual table: its devices, its game, its people."""

from collections.abc import Callable, Mapping
from random import Random

from controller.model.tables import TableSettings
from drivers.devices.homography import Homography
from drivers.sim import dice, show, ss2_games, three_card, wheel
from drivers.sim.boards import Board, Peer, Script, Sensor
from drivers.sim.cables import Cable
from drivers.sim.faults import DeviceKind
from drivers.sim.lens import lens_of
from drivers.sim.routes import AmbiguousError, route_by
from drivers.sim.shoe import VirtualShoe
from drivers.sim.ss2_wheel import Ss2Wheel
from drivers.sim.stories import Story
from drivers.sim.table import VirtualTable
from drivers.sim.technician import Technician

Mix = Mapping[str, float]
Boards = Mapping[str, Mapping[int, Sensor]]
"""By name the boards that speak for others, and what hangs on each of their channels."""


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
"""What the evenings call the devices that see each kind; an impact is its wall's (`wall-left`)."""


class NoEveningError(ValueError):
    """A table that nobody can play at yet; the message says why."""


def virtual_table(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    *,
    seed: int,
    tell: Callable[[Story], None],
    attempts: int | None = None,
    mix: Mix | None = None,
    lens: Homography | None = None,
    boards: Boards | None = None,
) -> VirtualTable:
    """Make the virtual hardware of a table, with an evening of this seed.

    `types` are the devices' types by name, a node where nothing is said; `mix` are the kinds of attempts by
    weight; through a `lens` scripts print places of their image. A device on a channel of one of `boards`
    has no cable of its own.

    Raises:
        NoEveningError: the file lacks what its game is played on.
    """
    play = _play(settings, mix)
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    cables = []
    boards = boards or {}
    elsewhere = _on_channels(boards)
    for name, device in settings.devices.items():
        own = Random(rng.getrandbits(64))  # noqa: S311 - as above: one device's chances are not another's
        kind = types.get(name, _type_for(device.reads))
        if name in boards:
            cables.append(Cable(Board(name, (), own, sensors=boards[name]), own))
        elif name not in elsewhere:
            cables.append(Cable(_peer(name, kind, tuple(device.reads), own, lens), own))
    try:
        route = route_by(settings.devices, OWN_NAMES)
    except AmbiguousError as error:
        raise NoEveningError(f"{settings.table}: {error}") from error
    evening = show.Show(play, seed, attempts, an_act=_an_act(settings))
    return VirtualTable(cables, evening, rng=rng, tell=tell, route=route)


def with_technician(
    settings: TableSettings,
    types: Mapping[str, DeviceKind],
    *,
    seed: int,
    tell: Callable[[Story], None],
    boards: Boards | None = None,
) -> VirtualTable:
    """Make a virtual table at which nobody plays, but a technician does what its test lamp asks for.

    Scripts print places of their image.
    """
    felt = settings.dice_table
    lens = None if felt is None else lens_of(felt)
    table = virtual_table(settings, types, seed=seed, tell=tell, attempts=0, lens=lens, boards=boards)
    trusted = settings.rules.spin is not None and settings.rules.spin.revolutions == "trusted_wheel"
    table.looks.append(Technician(table, felt, None if trusted else settings.wheel).look)
    return table


def with_own_cameras(settings: TableSettings, types: Mapping[str, DeviceKind]) -> dict[str, DeviceKind]:
    """Let each camera be a script that knows its image alone; a board would map it to the table itself."""
    cameras = {name for name, device in settings.devices.items() if "die_at" in device.reads}
    return {
        name: "json-camera" if kind == "node" and name in cameras else kind for name, kind in types.items()
    }


def types_for(settings: TableSettings, boards: Boards | None = None) -> Mapping[str, DeviceKind]:
    """Give the type of each device at a cable whose file names none: a wheel with its own word, or a node."""
    elsewhere = _on_channels(boards or {})
    return {
        name: _type_for(device.reads) for name, device in settings.devices.items() if name not in elsewhere
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


def _an_act(settings: TableSettings) -> int:
    game = settings.rules.game
    return {"high_roller": show.GAMES_AN_ACT, "three_card": show.DEALS_AN_ACT}.get(game, show.ACT_ATTEMPTS)


def _play(settings: TableSettings, mix: Mix | None) -> show.Play:
    rules = settings.rules
    if rules.game == "craps" and settings.dice_table is not None and rules.throw is not None:
        lenient = rules.throw.missed_wall == "warn"
        name: dice.Rules = "craps-v1" if lenient else "craps-12-034"
        return show.of_dice(settings.dice_table, name, mix or dice.BODIES)
    if rules.game == "high_roller" and settings.dice_table is not None:
        return show.of_high_roller(settings.dice_table)
    if rules.game == "three_card":
        return show.of_three_card(mix or three_card.SENSED)
    if rules.game == "roulette" and settings.wheel is not None and rules.spin is not None:
        if rules.spin.revolutions == "trusted_wheel":
            return show.of_smart_wheel(settings.wheel.pockets_clockwise, mix or ss2_games.USUAL)
        return show.of_wheel(settings.wheel, rules.name, mix or wheel.USUAL)
    raise NoEveningError(
        f"found rule set {rules.name!r} of {rules.game} without a `dice_table` or `wheel`:"
        " expected the table's measures, by which dice fly and the ball runs"
    )
