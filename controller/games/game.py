"""The interface of a game to the rest of the controller: a `Game` value in each game's package.

To add a game, write a package with such a value, add a line to the registry, and write the configuration.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from controller.machines.agenda import Agenda
from controller.machines.flat import MachineTable
from controller.machines.game import GameMachine
from controller.machines.health import Health
from controller.machines.lifecycle import AttemptTerms
from controller.machines.setup import Setup, State
from controller.settlement.wagers import Wagers

Geometry = Literal["dice_table", "wheel"]
Section = Literal["throw", "craps", "spin", "high_roller", "deal"]


def _unchanged(state: State) -> State:
    return state


def _never(state: State) -> bool:
    del state
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """A game's name, machine, wagers and properties."""

    name: str
    """The name of the game in a rule set's `game` field."""
    sections: tuple[Section, ...]
    """The sections that the game's rule sets must have. No other sections are allowed."""
    geometry: Geometry | None
    """What a table file and a log header must describe: the dice table, the wheel, or neither."""
    attempt: AttemptTerms
    """The terms of the game's attempts: throws, spins or deals."""
    table: MachineTable
    """The game's machine as data, for the manual."""
    machine: Callable[[Setup, Agenda, Health], GameMachine]
    """Creates the game's machine; raises SetupError if the setup lacks something that the game needs."""
    wagers: Callable[[], Wagers]
    """Returns the game's wagers, which are imported only where wagers are settled."""
    after_stop: Callable[[State], State] = _unchanged
    """Returns the state from which to continue after the controller stopped in the given state."""
    bets_stay_closed: Callable[[State], bool] = _never
    """Returns whether bets must stay closed until the next game, whatever closed them."""
    dealt_face_down: bool = False
    """Whether cards leave the shoe face down, so that they must be hidden until they are shown."""
    hides_results: bool = False
    """Whether recent readings may reveal a result while bets are still accepted, and so must be hidden."""
    has_puck: bool = False
    """Whether a puck shows the phase and the point."""
