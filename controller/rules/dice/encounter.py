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

    `t` is in milliseconds from the throw's start, `gap_mm` how far from the wall the die turned or stopped.
    `doubts` are impacts that would make a NO unclear if nothing else explains them; a hit that `leans` on its
    impact is unclear if another die explains it. `code` is the cause of a review where the hit is unclear.
    """

    wall: str
    hit: Hit
    t: float
    seen: str
    gap_mm: float = 0.0
    code: str = ""
    impact: int | None = None
    doubts: tuple[int, ...] = ()
    sharp: bool = False
    """A NO that rests on where the track turned close to the wall, within a few frames."""
    leans: bool = False
    beyond: bool = False
    """The die was seen on the other side of the wall, where no die of a throw that counts can be."""
    points: tuple[Reading, ...] = ()
