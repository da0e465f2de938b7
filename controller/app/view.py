"""The core's state as a snapshot for other threads, and the drawing of an attempt that awaits a ruling."""

from collections.abc import Mapping
from typing import NamedTuple

from controller.engine.resume import InFlight
from controller.games.registry import game_of
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import Awaited, TableEvent


class View(NamedTuple):
    """The core's state at one moment."""

    now_us: int
    state: State
    first: NextNumbers
    attempt_open: bool
    in_flight: bool
    """Whether an attempt is in progress, that is, neither decided nor under review."""
    held: bool
    hold_ends_us: int | None
    """The end of the current hold, until which the call can be stopped; None if no call is held."""
    bets_closed: bool
    testing: bool
    halted: bool
    pending: tuple[InFlight, ...]
    allowed: tuple[str, ...]
    acted: Mapping[str, str]
    """The positions of the current deal that have acted, each with `play` or `fold`."""
    awaited: Awaited | None
    """The attempt that a person must rule on or confirm now."""
    locked_by: TableEvent | None
    """The published data of the current lock; None if the table is unlocked or the data is unavailable."""
    lock_changes: int
    recording: str
    readings: int
    late: int

    @property
    def betting(self) -> bool:
        """Whether bets are open, which requires a table that is open, unlocked and not in test mode."""
        plays = self.state.table == "open" and self.state.lock == "unlocked" and not self.testing
        return plays and not self.bets_closed

    def must_hide_readings(self, game: str) -> bool:
        """Return whether readings would reveal the result to players while bets are open (R-SPIN-3)."""
        return self.betting and game_of(game).hides_results


class PictureFile(NamedTuple):
    """The digest of a camera's picture file, as stated in a reading of the attempt."""

    die: int
    sha256: str


class AttemptDrawing(NamedTuple):
    """The drawing as SVG (None if the attempt can't be drawn to scale), and the camera's pictures."""

    svg: str | None = None
    pictures: tuple[PictureFile, ...] = ()
