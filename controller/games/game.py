"""The interface between a game and the rest of the controller.

A game's package defines a `Game` instance, and the registry lists it. `docs/architecture.md` describes the
steps for adding a game.
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


def _always_false(state: State) -> bool:
    del state
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Game:
    """A game, as seen by the rest of the controller."""

    name: str
    """The name of the game in a rule set's `game` field."""
    sections: tuple[Section, ...]
    """The sections that the game's rule sets must have. No other sections are allowed."""
    geometry: Geometry | None
    """The equipment that table files and log headers must describe; None if the game has none."""
    attempt: AttemptTerms
    """The terms used for the game's attempts: throws, spins or deals."""
    table: MachineTable
    """The game's state machine as data, for the manual."""
    machine: Callable[[Setup, Agenda, Health], GameMachine]
    """Creates the game's machine.

    Raises SetupError if the setup lacks data that the game needs or contains an invalid state.
    """
    wagers: Callable[[], Wagers]
    """Returns the game's wagers. The first call imports their module, which a running table does not need."""
    after_stop: Callable[[State], State] = _unchanged
    """Returns the state in which to restart after the controller has stopped in the given state."""
    bets_stay_closed: Callable[[State], bool] = _always_false
    """Returns whether betting must stay closed until the next game."""
    dealt_face_down: bool = False
    """Whether cards leave the shoe face down and must stay hidden until they are shown."""
    hides_results: bool = False
    """Whether recent readings must be hidden, because they might reveal a result before betting closes."""
    has_puck: bool = False
    """Whether a puck shows the phase and the point."""
