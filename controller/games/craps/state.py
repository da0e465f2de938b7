"""What a craps game remembers between rolls."""

from dataclasses import dataclass

from controller.model.outcomes import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsState:
    """The phase, the point that is on, the shooter, and what is counted of this shooter."""

    phase: str = "come_out"
    point: int | None = None
    shooter: Seat | None = None
    warnings: int = 0
    invalid_rolls: int = 0
