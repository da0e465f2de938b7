"""What other threads may know of the core at one moment, and of an attempt that waits for a person."""

from collections.abc import Mapping
from typing import NamedTuple

from controller.engine.resume import InFlight
from controller.games.registry import game_of
from controller.machines.setup import First, State
from controller.model.outcomes import Awaited, Happening


class View(NamedTuple):
    """The core's state, for other threads to read."""

    now_us: int
    state: State
    first: First
    attempt_open: bool
    in_flight: bool
    """Whether an attempt is neither decided nor under review."""
    held: bool
    hold_ends_us: int | None
    """Until when a held call can still be stopped; None if none is held."""
    bets_closed: bool
    testing: bool
    halted: bool
    pending: tuple[InFlight, ...]
    allowed: tuple[str, ...]
    """The inputs that make sense now."""
    acted: Mapping[str, str]
    """Which positions of the present deal have played or folded."""
    awaited: Awaited | None
    """What a person must rule on or confirm now."""
    locked_by: Happening | None
    """What locked the table last, as it was published; None if it is not locked or that is not known."""
    lock_changes: int
    recording: str
    readings: int
    late: int

    @property
    def betting(self) -> bool:
        """Whether bets can be placed: not at a table that is closed, locked or in test mode."""
        plays = self.state.table == "open" and self.state.lock == "unlocked" and not self.testing
        return plays and not self.bets_closed

    def must_hide_readings(self, game: str) -> bool:
        """Return whether what the sensors see now would reveal the result to those who bet (R-SPIN-3)."""
        return self.betting and game_of(game).hides_results


class PictureFile(NamedTuple):
    """A file of a camera's pictures that a reading of the attempt names."""

    die: int
    sha256: str


class Drawn(NamedTuple):
    """The drawing as SVG (None: nothing can be drawn to scale), and the pictures that were taken."""

    svg: str | None = None
    pictures: tuple[PictureFile, ...] = ()
