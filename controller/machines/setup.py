"""The setup of a session: the table, its rules, and the state to continue from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from controller.machines.lifecycle import StandingCall
from controller.model.conversion import Converter
from controller.model.geometry import DiceTable, Wheel
from controller.model.outcomes import Seat
from controller.model.readings import DeviceDown, DeviceFault
from controller.model.rulesets import Calls, RuleSet
from controller.rules.wheel.smart_wheel_game import WheelGameState

Count = Annotated[int, Meta(ge=0)]
Memory = TypeVar("Memory")

LOCKING_SWITCHES = frozenset({"door", "tamper"})
"""The switches that lock a table when they open, unless the table's file or log specifies others."""


class SetupError(Exception):
    """The setup lacks data that its game needs, or its state is invalid."""


class NextNumbers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The next numbers of a session. Each starts at 1 by default."""

    seq: Annotated[int, Meta(ge=1)] = 1
    roll: Annotated[int, Meta(ge=1)] = 1
    spin: Annotated[int, Meta(ge=1)] = 1
    deal: Annotated[int, Meta(ge=1)] = 1
    round: Annotated[int, Meta(ge=1)] = 1


class CarriedReadings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state that results from earlier readings, for a recording that continues another."""

    devices: tuple[DeviceDown | DeviceFault, ...] = ()
    """The devices that are down, and those that do not detect all events."""
    wheel: WheelGameState | None = None
    """The last report of a smart wheel, with the wheel's spin number."""
    bets_opened_us: Count = 0
    """The time at which betting last opened at a card table. Earlier cards belong to an earlier deal."""
    plays_from_us: Count = 0
    """The time at which play began; 0 if that was before the first recording."""
    did_not_play: str = ""
    """The code with which attempts before `plays_from_us` are refused."""


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session's state between attempts, as stored in a recording's header.

    Craps and roulette use separate fields, such as `point` and `chips`. High Roller and Three Card Poker use
    `high_roller` and `three_card`. Other games use `game`.
    """

    table: Literal["open", "closed"] = "open"
    lock: Literal["unlocked", "locked"] = "unlocked"
    calls: Calls | None = None
    point: Literal[4, 5, 6, 8, 9, 10] | None = None
    shooter: Seat | None = None
    warnings: Count = 0
    invalid_rolls: Count = 0
    run_out: bool = False
    line_bet: tuple[Seat, bool] | None = None
    """The settlement engine's last report on a shooter's line bet: the seat, and whether the bet is up."""
    down: tuple[str, ...] = ()
    standing: CarriedReadings | None = None
    """Used only in a recording's header. At the start of a session, devices report again."""
    inspect: tuple[str, ...] = ()
    """The equipment that awaits inspection."""
    dice_set: str | None = None
    """The set of dice in play, as last entered by a person."""
    learned: dict[str, float] = {}
    chips: dict[str, str] = {}
    """The colours of the chips sold at a roulette table, by seat."""
    high_roller: dict[str, object] | None = None
    three_card: dict[str, object] | None = None
    game: dict[str, object] = {}
    call: StandingCall | None = None
    """The last call, if it can still be corrected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The settings and the state with which a session starts."""

    table: str
    ruleset: RuleSet
    session: str = "replay"
    first: NextNumbers = field(default_factory=NextNumbers)
    state: State = field(default_factory=State)
    calls: Calls = "automatic"
    """Who makes the calls. The setting in `state`, if any, takes precedence."""
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The configured kinds of reading of each device, such as `wall_impact:left` for a sensor on the left
    wall."""
    locking_switches: frozenset[str] = LOCKING_SWITCHES
    """The switches that lock the table when they open."""


def to_json_values(memory: object) -> dict[str, object]:
    """Return a game's state as JSON values, with the field names of its type."""
    values: dict[str, object] = msgspec.json.decode(msgspec.json.encode(memory))
    return values


def read_memory(values: Mapping[str, object] | None, convert: Converter[Memory]) -> Memory | None:
    """Return a game's state, converted from JSON values by `convert`; None if there are no values.

    Raises:
        SetupError: the values are not a state of this game.
    """
    if values is None:
        return None
    try:
        return convert(values)
    except msgspec.ValidationError as error:
        raise SetupError(
            f"state: found values that are not a state of this game ({error}), expected the state of an"
            " earlier session of this game"
        ) from error
