"""What other threads may know of the core: all of it at one moment."""

from typing import NamedTuple

from controller.engine.setup import First, State
from controller.journal.recovery import InFlight
from controller.model.attempts import Awaited
from controller.model.outcomes import Happening


class Until(NamedTuple):
    """How far the past goes: to this row, and of this session's readings to those that had come by then."""

    n: int
    arrived_us: int


class View(NamedTuple):
    """How the core stands, for other threads to read."""

    now_us: int
    state: State
    first: First
    attempt_open: bool
    in_flight: bool
    """Whether an attempt is neither decided nor under review."""
    held: bool
    bets_closed: bool
    testing: bool
    halted: bool
    pending: tuple[InFlight, ...]
    allowed: tuple[str, ...]
    """The inputs that make sense now."""
    awaited: Awaited | None
    """What a person must rule on or confirm now."""
    locked_by: Happening | None
    """What locked the table last, as it was told; None where it is not locked or that is not known."""
    lock_changes: int
    recording: str
    readings: int
    late: int
