"""Snapshots for other threads: the core's state, and the drawing of an attempt that awaits a ruling."""

from collections.abc import Mapping
from typing import NamedTuple

from controller.engine.resume import InFlight
from controller.games.registry import game_of
from controller.machines.setup import First, State
from controller.model.outcomes import Awaited, TableEvent


class View(NamedTuple):
    """The core's state at one moment."""

    now_us: int
    state: State
    first: First
    attempt_open: bool
    in_flight: bool
    """Whether an attempt is neither decided nor under review."""
    held: bool
    hold_ends_us: int | None
    """When the current hold ends; the call can be stopped until then. None if no call is held."""
    bets_closed: bool
    testing: bool
    halted: bool
    pending: tuple[InFlight, ...]
    allowed: tuple[str, ...]
    """The inputs that are allowed now."""
    acted: Mapping[str, str]
    """`play` or `fold`, for the positions of the current deal that have acted."""
    awaited: Awaited | None
    """The attempt that a person must rule on or confirm now."""
    locked_by: TableEvent | None
    """The published data of the current lock; None if the table is not locked or the data is not known."""
    lock_changes: int
    recording: str
    readings: int
    late: int

    @property
    def betting(self) -> bool:
        """Whether bets are open: never at a table that is closed, locked or in test mode."""
        plays = self.state.table == "open" and self.state.lock == "unlocked" and not self.testing
        return plays and not self.bets_closed

    def must_hide_readings(self, game: str) -> bool:
        """Return whether readings would reveal the result to players who can still bet (R-SPIN-3)."""
        return self.betting and game_of(game).hides_results


class PictureFile(NamedTuple):
    """A file of a camera's pictures, named by a reading of the attempt."""

    die: int
    sha256: str


class Drawn(NamedTuple):
    """The drawing as SVG (None if it can't be drawn to scale), and the camera's pictures."""

    svg: str | None = None
    pictures: tuple[PictureFile, ...] = ()
