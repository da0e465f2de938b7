"""The interface of a game to the rest of the controller: a `Game` value in each game's package.

A new game is a package with such a value, a line in the registry, and its configuration.
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
    """Its name in a rule set's `game`."""
    sections: tuple[Section, ...]
    """The sections that its rule sets must have; they may have no others."""
    geometry: Geometry | None
    """What a table's file and a log's header must describe: the dice table, the wheel, or neither."""
    attempt: AttemptTerms
    """The terms of its attempts: throws, spins or deals."""
    table: MachineTable
    """Its machine as data, for the manual."""
    machine: Callable[[Setup, Agenda, Health], GameMachine]
    """Creates its machine; raises SetupError if the setup lacks something that the game needs."""
    wagers: Callable[[], Wagers]
    """Returns its wagers, which are imported only where wagers are settled."""
    after_stop: Callable[[State], State] = _unchanged
    """Returns the state to continue from after the controller was stopped in this state."""
    bets_stay_closed: Callable[[State], bool] = _never
    """Returns whether no bet is accepted before the next game, whatever closed the bets."""
    dealt_face_down: bool = False
    """Whether cards leave the shoe face down, so that they must be hidden until they are shown."""
    hides_results: bool = False
    """Whether recent readings may reveal a result while bets are still accepted, and so must be hidden."""
    has_puck: bool = False
    """Whether a puck shows the phase and the point."""
