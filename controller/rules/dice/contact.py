"""A contact: a moment at which a die may have touched a wall, with the costs of its explanations."""

from dataclasses import dataclass, field
from math import inf

from controller.model.readings import Reading
from controller.rules.dice import bands
from controller.rules.dice.motion import Turn
from controller.rules.dice.paths import Approach, points_around

SAME_TURN_MS = 15.0
"""Maximum time, in ms, between two contacts that are one turn. No die returns to a wall within a frame."""
SLOW_TURN_MS = 28.0
"""Maximum time, in ms, between an impact and a turn in the track that are the same contact. A slow turn
extends over two frames."""


@dataclass(slots=True, kw_only=True)
class Contact:
    """A moment at which a die may have touched a wall, with the costs of its explanations.

    `t` is the time in ms from the throw's start. `gap_mm` is the distance of the die's face from the wall's
    tips. `touch` is the cost of a touch that no sensor detected, `miss` the cost of no touch, and `landed`
    the cost of no touch if a landing on the felt turned the die. `heard` maps the number of each impact that
    this touch may have made to the cost of that explanation. `knock` is the cost of explaining such an impact
    as a knock.
    """

    wall: str
    t: float
    gap_mm: float
    did: str
    touch: float
    miss: float
    landed: float = 0.0
    heard: dict[int, float] = field(default_factory=dict)
    knock: float = bands.KNOCK
    placed: dict[int, float] = field(default_factory=dict)
    """Amount added to the cost of a knock, for each impact by its number. It depends on the impact's distance
    from the die."""
    misfit: float = inf
    """Deviation of the turn and its impact from those of a touch, in squared errors; infinite without an
    impact."""
    code: str = ""
    seen: str = ""
    cause_certainty: float = 0.0
    """Certainty, from 0 to 1, that something other than the felt caused the turn."""
    change: float = 0.0
    """Change of the die's speed away from the wall, in m/s."""
    min_change: float = 0.0
    """`change` less its standard error."""
    cause: float = 0.0
    """The part of `miss` and `landed` that is the cost of the turn's cause."""
    sd: float = 0.0
    """Standard error of the position at which the die turned, in mm."""
    reach: float = 0.0
    """Cost of an orientation in which the die did not reach the wall from the position where it turned."""
    proof: float = 0.0
    """Minimum cost of no touch if an impact at this moment can only have been a knock."""
    clear: bool = False
    """Whether the turn exceeds the noise of the track."""
    hidden: bool = False
    rests: bool = False
    """Whether the die came to rest at the wall. An earlier touch of this wall may then have lasted until
    now."""
    beyond: bool = False
    points: tuple[Reading, ...] = ()

    @property
    def doubtful(self) -> bool:
        """Return whether a touch that no sensor detected remains possible."""
        return self.touch - self.miss <= bands.MARGIN


def turn_contact(approach: Approach, turn: Turn, k: int) -> Contact:
    """Return a contact for a turn after point k, without the costs of its explanations."""
    return Contact(
        wall=approach.wall,
        t=turn.t,
        gap_mm=turn.place - 0.5 * approach.scene.table.die_mm,
        did="turned back",
        sd=turn.sd,
        reach=bands.reach_cost(turn.place / approach.scene.table.die_mm),
        touch=inf,
        miss=0.0,
        change=turn.change,
        min_change=turn.change - bands.HARD_ERRORS * turn.change_sd,
        points=points_around(approach, k, k + 1),
    )
