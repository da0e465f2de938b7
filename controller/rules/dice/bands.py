"""What a touch looks like: the physical bands that explanations are held against, and their prices.

Every explanation of a throw has a price: the squared standard deviations by which it misses what was seen and
heard, and for each thing that it takes for granted twice the logarithm of how seldom that happens. They add
up, since each is twice the logarithm of a probability.
"""

from math import log, pi, sqrt

from controller.model.geometry import DiceTable

STANDS = 9.0
"""An explanation this much dearer than the best is ruled out: three standard deviations."""

LEAST_EDGES = 0.5
"""A die that touches with a face has its centre half an edge away."""
MOST_EDGES = sqrt(3.0) / 2.0
"""One that touches with a corner has it up to half a space diagonal away."""
MEAN_EDGES = 0.75
"""Mean reach of a cube over all orientations: three quarters of its edge."""
MISS_EDGES = 0.6
"""One that did not touch has it as near as this at most: one in twenty reaches no further."""
FLAT_EDGES = sqrt(2.0) / 2.0
"""One that lies flat touches with an upright edge at most: its centre is half a face's diagonal away."""

KNOCK = 2.0 * log(10.0)
"""A knock on the wall by something else, there and then: a hand that knocks at every tenth turn of a die."""
CAUSELESS = 6.0
"""A turn that nothing on the table explains: one die in twenty meets an obstacle that was not seen."""
FELT = 2.0 * log(4.0)
"""A silent turn by no more than a landing gives: a die that tumbles beside a wall lands there, one in four
before it is a frame further."""
PUSHED = 2.0 * log(2.0)
"""A turn away from the wall by the other die, which was in reach and nearer the wall: every other die that
turns there was turned by it, and the rest by the wall."""
ABOVE = 2.0 * log(10.0)
"""A push by a die that lies or flies so far above or below the other that they seem to share a place: of ten
that meet at a wall one does so with their centres nearer than an edge, as seen from above."""
BETWEEN_FRAMES = 2.0 * log(1.5)
"""A push of dice that met between two frames, told by where they were at the first: two of three."""
BESIDE = 9.0
"""So much dearer a story may be in which the other die threw one back into the wall beside it: both strike
and are struck within a frame, where no track shows it. In 168 watchings of two such throws, at 60 to 120
frames/s and 2 mm, what happened was dearer than the best by at most 17.1."""
SHOVED = 2.0 * log(3.0)
"""A die so pushed strikes the wall again, within the frame: one in three that are struck as near to it."""
SHOVED_MS = 30.0
"""So soon after its own touch: three frames, in which it gets no further than a few edges from the wall."""
BROKEN = CAUSELESS + STANDS
"""A touch by the way in alone, whose way out something else broke before the next frame. So dear that a sound
which the other die made rules it out; one that nothing else made leaves a doubt, and never proves a touch."""
ALONE = 2.0
"""What is added within the contact band where the other die was out of reach: only chips are left to turn it
there, one die in fifty. Further off chips are as likely as the wall, and a knock may be heard with them."""
ALONE_HARD = 5.0
"""The same for a turn by more than any landing gives: chips give way to such a die, one in 250. Of 7,571
such turns in 12,060 watchings eight were no touch: six where the dice had met, two watchings of one throw."""
ALONE_ERRORS = 2.5
"""Within so many errors of the band too, where a turn is more than any landing gives: obstacles are as rare
there. Within three, nine instead of five of 100 turns 7.5 mm short of it are called if somebody knocks right
then and there; of 12,060 watchings five fewer needed a person."""
HARD_ERRORS = 1.0
"""A change of speed counts for so many of its own errors less: by five in six it was no less than that."""
CAUSELESS_M_PER_S = 0.6
"""The most speed that the felt takes from a tumbling die between two frames; less needs no cause."""
THUMPS = 1.0
"""A soft impact at a turn may be the die's landing there, whose spin turned it: landings are often heard."""
STEEP = 2.0 * log(3.0)
"""A landing so steep that friction stops the die before it takes its full share: then it may be loud for its
turn. Of dice that fell for long, one in three comes down so."""
LANDED_M_PER_S = 4.0
"""No landing turns a die by more: thrown down from a metre it strikes felt at five metres a second and leaves
it at up to three; friction of 0.5 turns half of that. In 1,558 landings beside walls the most was 3.6."""
SOFT_SHARE_FAR = 0.5
"""A sound softer than this share of what such a turn makes at the wall may be one: felt passes a sixteenth of
a landing a centimetre off, which is 2 to 4.5 times what friction (0.5 to 0.22) turns; places vary by 1.7."""
SOFT_SHARE = 0.25
"""The same, of middling friction and places, for a die so near that most ways to fly would have touched."""
SOFT_SPREAD = 0.28
"""The spread of loudness (its logarithm) beyond those shares: two places, each from three quarters to 1.3,
and how much of what turned a die was in its hardest blow."""
LANDING_M_PER_S = 1.0
"""A landing is no louder than a die that a wall turns by this: felt passes a twelfth beside it, one that
leaves felt at three of its five metres a second gives it eight, and places vary by 1.3."""
SOFT_ERRORS = 2.0
"""Between the two shares lie so many errors of a track point: so well is it known which of them holds."""
UNHEARD = 4.0
"""A touch that a working sensor did not hear: one in seven is softer than its threshold."""
RINGS = 1.0
"""An impact that may be an earlier one's ringing: one hit in four rings, so this is hardly any price."""
RATTLES = 2.0 * log(20.0)
"""A second impact of one touch, too loud to be its ringing: of 7,751 dice that struck a wall one in forty did
so within a frame; walls differ."""
AT_ONCE_MS = 3.0
AT_ONCE = 2.0 * log(100.0)
"""The same so soon, less than the delays of impacts differ by and a wall needs to fall silent: of those 7,751
none. Two such sounds are two dice's."""
SHARED = 0.0
"""Two dice that land together make one impact; that they did is no news where both turned there and then."""

RING_SHARE = 0.6
"""Ringing is weaker than this share of its hit."""
PLACE_ERRORS = 4.0
"""Standard deviations of an impact's place along its wall within which it may be at the die."""
THERE = 2.0 * log(2.0 * PLACE_ERRORS / sqrt(2.0 * pi))
"""What is added to a knock heard right at a die, less its squared errors: a knock may be anywhere within
PLACE_ERRORS, and two in three of a die's own sounds are within one error."""
PLACE_FREE = 2.0
"""Within so many its place says nothing against the die."""
CLOCKS_MS = 1.0
"""Spare time around an impact's least and greatest delay: clocks are within a millisecond."""

BOUNCE_MM_PER_MS = 0.25
"""How well a die's place is known for each millisecond since it was last seen: a bounce on the felt changes
its speed by up to half a metre a second, at any time between two frames."""
LANDING_SHARE = 0.15
"""So much of the speed that it struck at may a die off a wall lose as it lands while a frame is lost: rubber
throws it up at a fifth of that speed, and felt of friction 0.5 takes half of (1 + 0.5) times that."""
OWN_TURN_M_PER_S = 0.2
"""A die whose speed towards the wall changed by less did not turn so that a sensor could hear it."""
OWN_TURN_ERRORS = 3.0
"""Nor one whose change of speed is within so many of its own errors."""
BACK_M_PER_S = 0.15
"""A die that leaves a wall at this speed turned there; one that does not may have come to rest."""


def contact_least(table: DiceTable) -> float:
    """Return the least distance, in mm, from a wall's tips to the centre of a die that touches it."""
    return LEAST_EDGES * table.die_mm - table.wall_relief_mm


def contact_most(table: DiceTable) -> float:
    """Return the greatest distance, in mm, from a wall's tips to the centre of a die that touches it."""
    return MOST_EDGES * table.die_mm


def reach_price(edges: float) -> float:
    """Return the price of a cube's reaching no further than so many edges from its centre, however it turns.

    The share of all orientations that do grows from half an edge to half a space diagonal as the power 2.3 of
    the way; nearer than MISS_EDGES what a track's error allows counts instead.
    """
    way = (max(edges, MISS_EDGES) - LEAST_EDGES) / (MOST_EDGES - LEAST_EDGES)
    return max(-2.0 * 2.3 * log(way), 0.0)
