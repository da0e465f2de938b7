"""What a session starts from: the table, its rules, and the state it continues from."""

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
from controller.rules.wheel.smart_wheel_game import WheelHeard

Count = Annotated[int, Meta(ge=0)]
Memory = TypeVar("Memory")

LOCKING_SWITCHES = frozenset({"door", "tamper"})
"""The switches that lock a table unless its file or its log says otherwise."""


class SetupError(Exception):
    """The setup lacks what its game needs; the message says what, and where to set it."""


class First(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The next numbers, if they do not start at 1."""

    seq: Annotated[int, Meta(ge=1)] = 1
    roll: Annotated[int, Meta(ge=1)] = 1
    spin: Annotated[int, Meta(ge=1)] = 1
    deal: Annotated[int, Meta(ge=1)] = 1
    round: Annotated[int, Meta(ge=1)] = 1


class CarriedReadings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What still applies from earlier readings, for a recording that continues another."""

    devices: tuple[DeviceDown | DeviceFault, ...] = ()
    """The devices that are down, and those known to see nothing or not everything."""
    wheel: WheelHeard | None = None
    """A smart wheel's last state; it numbers its games."""
    bets_opened_us: Count = 0
    """When bets last opened at a card table: a late card from before is not of this deal."""
    plays_from_us: Count = 0
    """When play began; 0 if that was before the first recording."""
    did_not_play: str = ""
    """Why it did not play before, as a refusal's code."""


class State(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session's state between attempts, as a recording's header carries it.

    The memory of a single game has its own key: `high_roller`, `three_card`, and `game` for any other.
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
    """The settlement engine's last answer on a shooter's line bet: the seat, and whether the bet is there."""
    down: tuple[str, ...] = ()
    standing: CarriedReadings | None = None
    """Only in a recording's header: when a session starts, devices report again."""
    inspect: tuple[str, ...] = ()
    """What is waiting for an inspection."""
    dice_set: str | None = None
    """The set of dice in play, as last entered by a person."""
    learned: dict[str, float] = {}
    chips: dict[str, str] = {}
    """The colours of the chips sold at a roulette table, by seat."""
    high_roller: dict[str, object] | None = None
    three_card: dict[str, object] | None = None
    game: dict[str, object] = {}
    call: StandingCall | None = None
    """The last call, while a person may still correct it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything a session needs to know before its first reading."""

    table: str
    ruleset: RuleSet
    session: str = "replay"
    first: First = field(default_factory=First)
    state: State = field(default_factory=State)
    calls: Calls = "automatic"
    """Who makes the calls, unless the state says otherwise."""
    dice_table: DiceTable | None = None
    wheel: Wheel | None = None
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which reading kinds each device sends (`wall_impact:left` for a wall's), if configured."""
    locking_switches: frozenset[str] = LOCKING_SWITCHES
    """Switches whose opening locks the table."""


def written(memory: object) -> dict[str, object]:
    """Return a game's memory as JSON values, with the field names of its type."""
    values: dict[str, object] = msgspec.json.decode(msgspec.json.encode(memory))
    return values


def read_memory(values: Mapping[str, object] | None, convert: Converter[Memory]) -> Memory | None:
    """Return a game's memory from its JSON values and the converter of its type; None if there is none.

    Raises:
        SetupError: they are not a memory of this game.
    """
    if values is None:
        return None
    try:
        return convert(values)
    except msgspec.ValidationError as error:
        raise SetupError(f"the state to continue from is not this game's: {error}") from error
