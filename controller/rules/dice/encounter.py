"""A die's encounter with a wall: whether it was a hit, and what a person is told of it."""

from dataclasses import dataclass
from enum import IntEnum

from controller.model.readings import Reading


class Hit(IntEnum):
    """Whether a die hit a wall, in order of what it is worth."""

    NO = 0
    UNCLEAR = 1
    YES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Encounter:
    """What happened to a die near a wall, or that nothing did.

    `t` is in milliseconds from the throw's start, `gap_mm` how far the die's face was from the wall's tips
    when it turned or stopped. `code` is the cause of a review where the hit is unclear, `impact` the number
    of the impact that is its sound.
    """

    wall: str
    hit: Hit
    t: float
    seen: str
    gap_mm: float = 0.0
    code: str = ""
    impact: int | None = None
    points: tuple[Reading, ...] = ()
