"""The physical limits that explanations of a throw are compared with, and the prices of their assumptions.

Every explanation has a price: the squared deviations, in standard deviations, between it and what the cameras
and wall sensors reported, plus minus twice the logarithm of the probability of each event that it assumes.
Prices can be added because each is minus twice the logarithm of a probability.
"""

from math import log, pi, sqrt

from controller.model.geometry import DiceTable

STANDS = 9.0
"""An explanation whose price exceeds the best one's by more than this is ruled out: three standard
deviations."""

LEAST_EDGES = 0.5
"""Smallest distance, in edges, from a wall to the centre of a die that touches it: it touches with a face."""
MOST_EDGES = sqrt(3.0) / 2.0
"""Largest distance, in edges: the die touches with a corner, half a space diagonal from its centre."""
MEAN_EDGES = 0.75
"""Mean reach of a cube over all orientations, in edges."""
MISS_EDGES = 0.6
"""Smallest distance, in edges, for a die that did not touch: in one orientation of twenty it reaches no
further."""
FLAT_EDGES = sqrt(2.0) / 2.0
"""Largest distance, in edges, for a die that lies flat: it touches with an upright edge, half a face diagonal
from its centre."""

KNOCK = 2.0 * log(10.0)
"""Price of a knock on the wall by something else at the place and time of a turn: a hand that knocks at one
in ten of a die's turns."""
CAUSELESS = 6.0
"""Price of a turn that nothing on the table explains: one die in twenty meets an obstacle that was not
seen."""
PUSHED = 2.0 * log(2.0)
"""Price of a turn away from the wall caused by the other die, which was in reach and nearer the wall: half of
the dice that turn there are turned by the other die, the rest by the wall."""
ABOVE = 2.0 * log(10.0)
"""Price of a push by a die so far above or below the other that they seem to overlap: of ten pairs that meet
at a wall, one has its centres less than an edge apart as seen from above."""
BETWEEN_FRAMES = 2.0 * log(1.5)
"""Price of a push between two frames that is inferred from the dice's positions at the first: two in
three."""
BESIDE = 9.0
"""Extra margin, beyond STANDS, for a story in which the other die threw one back into the wall beside it: all
of this happens within a frame, where no track shows it. In 168 simulated observations of two such throws, at
60 to 120 frames/s and 2 mm, the price of what happened exceeded the best one's by at most 17.1."""
SHOVED = 2.0 * log(3.0)
"""Price of a die that is pushed in this way striking the wall again within the frame: one in three of those
struck this near to it."""
SHOVED_MS = 36.0
"""Longest time from the die's own touch to that second strike: three frames at 90 a second, in which it moves
no further than a few edges from the wall, and the errors of the sensor's delay. In 16,080 simulated
observations the longest that mattered was 31 ms."""
BROKEN = CAUSELESS + STANDS
"""Price of a touch shown by the incoming path alone, because something else changed the outgoing path before
the next frame. It is high enough for a sound that the other die made to rule the touch out; a sound that
nothing else made leaves a doubt, and never proves a touch."""
ALONE = 2.0
"""Added to the price of no touch within the contact band while the other die was out of reach: only chips can
have turned the die there, one in fifty. Further out chips are as likely as the wall, and a knock may be heard
at the same time."""
ALONE_HARD = 5.0
"""The same for a turn larger than any landing causes: chips give way to such a die, one in 250. Of 7,571 such
turns in 12,060 simulated observations eight were not touches: in six the dice had met, and two are
observations of one throw."""
ALONE_ERRORS = 2.5
"""For a turn larger than any landing causes, ALONE_HARD also applies within this many errors outside the
band: obstacles are as rare there. With three, nine instead of five of 100 turns 7.5 mm outside the band are
called if somebody knocks at that place and moment; of 12,060 simulated observations five fewer needed a
person."""
HARD_ERRORS = 1.0
"""A change of speed is reduced by this many of its own errors: in five cases of six the true change was no
smaller."""
CAUSELESS_M_PER_S = 0.6
"""Largest loss of speed that felt causes in a tumbling die between two frames; a smaller one needs no other
cause."""
THUMPS = 1.0
"""Price of a soft impact at a turn being the die's landing there, with the spin turning the die: landings are
often heard."""
STEEP = 2.0 * log(3.0)
"""Price of a landing so steep that friction stops the die before it has its full effect, so that the landing
may be loud for its turn. Of dice that fell for long, one in three comes down this steeply."""
LANDED_M_PER_S = 4.0
"""Largest turn that a landing causes: a die thrown down from a metre strikes felt at 5 m/s and leaves it at
up to 3 m/s; friction of 0.5 turns half of that. In 1,558 landings beside walls the maximum was 3.6 m/s."""
SOFT_SHARE_FAR = 0.5
"""A sound softer than this share of what such a turn makes at the wall may be a landing: a centimetre away
felt transmits a sixteenth of a landing, which is 2 to 4.5 times what friction (0.5 to 0.22) turns; loudness
varies by a factor of 1.7 with the place."""
SOFT_SHARE = 0.25
"""The same with middling friction and places, for a die so near that it would have touched in most
orientations."""
SOFT_SPREAD = 0.28
"""The spread of loudness (its logarithm) beyond those shares: from two places, each 0.75 to 1.3, and from how
much of the turn came from the die's hardest blow."""
LANDING_M_PER_S = 1.0
"""A landing is no louder than a die that a wall turns by this: beside the wall felt transmits a twelfth, a
die that strikes felt at 5 m/s and leaves it at 3 m/s transfers 8 m/s, and loudness varies by a factor of 1.3
with the place."""
SOFT_ERRORS = 2.0
"""The range, in errors of a track point, over which SOFT_SHARE changes to SOFT_SHARE_FAR: the position is not
known better than that."""
UNHEARD = 4.0
"""Price of a touch that a working sensor did not hear: one in seven is softer than its threshold."""
RINGS = 1.0
"""Price of an impact being an earlier one's ringing: low, because one hit in four rings."""
RATTLES = 2.0 * log(20.0)
"""Price of a second impact of one touch that is too loud to be ringing: of 7,751 dice that struck a wall, one
in forty made one within a frame; walls differ."""
AT_ONCE_MS = 3.0
AT_ONCE = 2.0 * log(100.0)
"""Price of a second impact within AT_ONCE_MS, which is less than the delays of impacts differ by and less
than a wall needs to fall silent: of those 7,751 dice none made one. Two such sounds come from two dice."""
SHARED = 0.0
"""Price of two dice making one impact together: none, because both are known to have turned at that place and
time."""

RING_SHARE = 0.6
"""Ringing has a lower peak than this share of its hit's."""
PLACE_ERRORS = 4.0
"""Largest distance along the wall, in standard deviations, between an impact and a die that may have made
it."""
THERE = 2.0 * log(2.0 * PLACE_ERRORS / sqrt(2.0 * pi))
"""Added to the price of a knock heard right at a die, less the squared errors of its position: a knock may be
anywhere within PLACE_ERRORS, whereas two in three of a die's own sounds are within one error."""
PLACE_FREE = 2.0
"""An impact's position within this many standard deviations is no evidence against the die."""
CLOCKS_MS = 1.0
"""Margin, in ms, around an impact's minimum and maximum delay: clocks agree to within a millisecond."""

BOUNCE_MM_PER_MS = 0.25
"""Growth of a die's position error for each millisecond since it was last seen: a bounce on the felt, at any
time between two frames, changes its speed by up to 0.5 m/s."""
LANDING_SHARE = 0.15
"""Largest share of its striking speed that a die may lose by landing after it leaves a wall, while a frame is
lost: rubber throws it up at a fifth of that speed, and felt of friction 0.5 takes half of (1 + 0.5) times
that."""
OWN_TURN_M_PER_S = 0.2
"""Smallest change of speed towards the wall that makes a turn a sensor can hear."""
OWN_TURN_ERRORS = 3.0
"""A change of speed within this many of its own errors is not such a turn either."""
BACK_M_PER_S = 0.15
"""A die that leaves a wall at this speed or faster turned there; a slower one may have come to rest."""


def contact_least(table: DiceTable) -> float:
    """Return the least distance, in mm, from a wall's tips to the centre of a die that touches it."""
    return LEAST_EDGES * table.die_mm - table.wall_relief_mm


def contact_most(table: DiceTable) -> float:
    """Return the greatest distance, in mm, from a wall's tips to the centre of a die that touches it."""
    return MOST_EDGES * table.die_mm


def reach_price(edges: float) -> float:
    """Return the price of a cube reaching no further than `edges` from its centre, in a random orientation.

    The share of orientations with a reach below `edges` grows from 0 at half an edge to 1 at half a space
    diagonal, as the power 2.3 of the fraction of that range. Below MISS_EDGES the price stays constant,
    because the error of the track is priced instead.
    """
    way = (max(edges, MISS_EDGES) - LEAST_EDGES) / (MOST_EDGES - LEAST_EDGES)
    return max(-2.0 * 2.3 * log(way), 0.0)
