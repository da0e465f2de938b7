"""What other threads may know of the core: all of it at one moment."""

from typing import NamedTuple

from controller.engine.setup import First, State
from controller.journal.recovery import InFlight


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
    lock_changes: int
    recording: str
    readings: int
    late: int
