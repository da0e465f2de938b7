"""The physical limits with which explanations of a throw are compared, and the costs of their assumptions.

Every explanation has a cost: the sum of its squared deviations, in standard deviations, from what the
cameras and wall sensors reported, plus -2 ln(p) for each event of probability p that it assumes. Costs can
be added because each is -2 times the natural logarithm of a probability.
"""

from math import log, pi, sqrt

from controller.model.geometry import DiceTable

MARGIN = 9.0
"""An explanation is ruled out if its cost exceeds the lowest cost by more than this (three standard
deviations)."""
SEPARATE_IMPACTS_MARGIN = 12.0
"""The same for the explanation in which each die hit a wall and made a sound of its own (3.5 standard
deviations). It is wider because a No Roll is final: in 40,160 simulated throws it sent one true hit to review
that MARGIN had ruled out, at the cost of four needless reviews."""

MIN_CONTACT_EDGES = 0.5
"""Smallest distance, in edges, from a wall to the centre of a die that touches it: a face touches."""
MAX_CONTACT_EDGES = sqrt(3.0) / 2.0
"""Largest such distance, in edges: a corner touches, half a space diagonal from the centre."""
MEAN_EDGES = 0.75
"""Mean reach of a cube over all orientations, in edges."""
FLAT_EDGES = sqrt(2.0) / 2.0
"""Largest distance, in edges, for a die that lies flat and touches: an upright edge touches, half a face
diagonal from the centre."""
MISS_EDGES = 0.6
"""Minimum distance, in edges, for a die that did not touch: in one of twenty orientations a die reaches no
further."""

KNOCK = 2.0 * log(10.0)
"""Cost of a knock on the wall by something other than the dice, at the position and time of a turn: somebody
is assumed to knock at one in ten of a die's turns."""
CAUSELESS = 6.0
"""Cost of a turn that nothing on the table explains: one die in twenty meets an obstacle that was not
seen."""
PUSHED = 2.0 * log(2.0)
"""Cost of a turn away from the wall caused by the other die, which was in reach and nearer the wall: of the
dice that turn in such a position, half are turned by the other die, the rest by the wall."""
OVERLAP = 2.0 * log(10.0)
"""Cost of a push by a die so far above or below the other that they seem to overlap: in one of ten pairs
that meet at a wall, the centres are less than an edge apart as seen from above."""
BETWEEN_FRAMES = 2.0 * log(1.5)
"""Cost of a push between two frames that is inferred from the dice's positions in the first of them: two in
three such inferences are right."""
KNOCKED_BACK_MARGIN = 9.0
"""Added to MARGIN for a story in which one die knocked the other back into the wall beside it: the two
strikes come so soon after each other that the tracks hardly show them. In 168 simulated observations of two
such throws, at 60 to 120 frames/s and 2 mm, the cost of the true story exceeded the lowest cost by at most
17.1."""
SHOVE = 2.0 * log(3.0)
"""Cost of a die that is knocked back in this way and strikes the wall again within SHOVE_MS: of the dice
that are struck so near the wall, one in three does so."""
SHOVE_MS = 36.0
"""Maximum time from the die's own touch to that second strike: three frames at 90 frames/s, in which the die
moves no further than a few edges from the wall, plus the uncertainty of the sensor's delay. In 16,080
simulated observations the longest time that mattered was 31 ms."""
BROKEN = CAUSELESS + MARGIN
"""Cost of a touch shown by the incoming path alone, because something else changed the outgoing path before
the next frame. It is high enough that the touch is ruled out if the other die made the sound. If nothing else
made the sound, the touch remains in doubt; it is never proven."""
LONE_DIE = 2.0
"""Added to the cost of no touch within the contact band while the other die was out of reach: only chips can
then have turned the die, and they do so in one turn of fifty. Farther out, chips are as likely a cause as the
wall, and a knock may be heard at the same time."""
LONE_DIE_HARD = 5.0
"""The same for a turn larger than any that a landing causes: chips give way to such a die, so they cause only
one such turn in 250. Of 7,571 such turns in 12,060 simulated observations, eight were not touches: in six the
dice had met, and the other two are observations of one throw."""
LONE_DIE_ERRORS = 2.5
"""For a turn larger than any that a landing causes, LONE_DIE_HARD also applies within this many errors
outside the band, because obstacles are just as rare there. With 3, nine instead of five of 100 turns 7.5 mm
outside the band, each with a knock at the same position and moment, would be called hits, and five fewer of
12,060 simulated observations would need a person."""
HARD_ERRORS = 1.0
"""A change of speed is reduced by this many of its own errors: in five of six cases the true change was no
smaller."""
MAX_CAUSELESS_M_PER_S = 0.6
"""Maximum loss of speed that felt causes in a tumbling die between two frames; a smaller loss needs no other
cause."""
THUMP = 1.0
"""Cost of explaining a soft impact at a turn as the sound of a landing in which the die's spin turned it:
landings are often heard."""
STEEP_LANDING = 2.0 * log(3.0)
"""Cost of a landing so steep that friction stops the die before it has its full effect; such a landing may
sound loud for its turn. One in three dice that have fallen for a long time comes down this steeply."""
MAX_LANDING_M_PER_S = 4.0
"""Maximum change of speed along the table that a landing causes: a die thrown down from a metre strikes felt
at 5 m/s and leaves it at up to 3 m/s; a friction coefficient of 0.5 turns the die by half of that change of 8
m/s. In 1,558 landings beside walls the maximum was 3.6 m/s."""
SOFT_FRACTION_FAR = 0.5
"""A sound softer than this fraction of the sound that such a turn makes at the wall may be a landing: at a
distance of a centimetre, felt transmits a sixteenth of a landing's blow, and that blow is 2 to 4.5 times the
turn that friction (coefficients 0.5 to 0.22) causes. Loudness varies by a factor of 1.7 with the position."""
SOFT_FRACTION = 0.25
"""The same fraction with medium friction and at a typical place, for a die so near that it would have touched
in most orientations."""
SOFT_SPREAD = 0.28
"""The spread of loudness (of its logarithm) beyond those fractions. It comes from the two places, each with a
factor of 0.75 to 1.3, and from the part of the turn that the die's hardest blow caused."""
LANDING_M_PER_S = 1.0
"""A landing is no louder than a hit in which the wall changes a die's speed by this: beside the wall, felt
transmits a twelfth of the blow; a die that strikes felt at 5 m/s and leaves it at 3 m/s changes its speed by
8 m/s; and loudness varies by a factor of 1.3 with the position."""
SOFT_ERRORS = 2.0
"""The range, in errors of a track point, over which SOFT_FRACTION changes to SOFT_FRACTION_FAR: the position
is not known more precisely."""
UNHEARD = 4.0
"""Cost of a touch that a working sensor did not hear: one in seven is softer than the sensor's threshold."""
FELL_FLAT = 2.0 * log(4.5)
"""Added to UNHEARD if the die lies flat and no face or upright edge reaches the wall. It sets where a silent
stop becomes a miss: with the face 7 mm from the wall, which only a corner reaches from there. Nearer stops go
to review: of 13 dice that came to rest silently with their face 4 to 7 mm from a wall, in 7,500 simulated
throws, eight had touched it."""
RINGING = 1.0
"""Cost of explaining an impact as the ringing of an earlier one: low, because one hit in four rings."""
RATTLE = 2.0 * log(20.0)
"""Cost of a second impact of one touch that is too loud to be ringing: of 7,751 dice that struck a wall, one
in forty made one within a frame; walls differ."""
SIMULTANEOUS_MS = 3.0
SIMULTANEOUS = 2.0 * log(100.0)
"""Cost of a second impact of one touch within SIMULTANEOUS_MS: a wall needs longer than that to fall silent,
and none of those 7,751 dice made such an impact. Two such sounds come from two dice."""
SHARED_IMPACT = 0.0
"""Cost of two dice making one impact together: zero, because both are known to have turned at that position
and time."""

RING_FRACTION = 0.6
"""The peak of ringing is below this fraction of the peak of its hit."""
PLACE_ERRORS = 4.0
"""Maximum distance along the wall, in standard deviations, between an impact and a die that may have made
it."""
KNOCK_AT_DIE = 2.0 * log(2.0 * PLACE_ERRORS / sqrt(2.0 * pi))
"""Added, less the squared errors of the knock's position, to the cost of a knock that is heard exactly where
a die is: a knock may be anywhere within PLACE_ERRORS, whereas two in three of a die's own sounds are within
one error."""
PLACE_TOLERANCE = 2.0
"""An impact's position within this many standard deviations is no evidence against the die."""
CLOCK_MARGIN_MS = 1.0
"""Margin, in ms, around an impact's minimum and maximum delay: clocks agree to within a millisecond."""

BOUNCE_MM_PER_MS = 0.25
"""Growth of a die's position error for each millisecond since it was last seen: a bounce on the felt, at any
time between two frames, changes its speed by up to 0.5 m/s."""
LANDING_FRACTION = 0.15
"""Maximum fraction of its striking speed that a die may lose by landing after it leaves a wall, during a lost
frame: rubber throws it up at a fifth of that speed, and felt with a friction coefficient of 0.5 takes half of
(1 + 0.5) times that."""
SLOWED = MARGIN
"""Cost of the assumption that felt or a second touch slowed a die between leaving the wall and the next
frame, so that its paths intersect outside the contact band. It is so high that such a touch is never proven,
but remains in doubt if a sound fits it."""
OWN_TURN_M_PER_S = 0.2
"""Minimum change of speed towards the wall in a turn that a sensor can hear."""
OWN_TURN_ERRORS = 3.0
"""A change of speed within this many of its own errors is not such a turn either."""
BACK_M_PER_S = 0.15
"""A die that leaves a wall at this speed or faster turned there; a slower one may have come to rest."""


def min_contact_mm(table: DiceTable) -> float:
    """Return the minimum distance, in mm, from a wall's tips to the centre of a die that touches the wall."""
    return MIN_CONTACT_EDGES * table.die_mm - table.wall_relief_mm


def max_contact_mm(table: DiceTable) -> float:
    """Return the maximum distance, in mm, from a wall's tips to the centre of a die that touches the wall."""
    return MAX_CONTACT_EDGES * table.die_mm


def reach_cost(edges: float) -> float:
    """Return the cost of a random orientation in which a cube reaches no further than `edges` from its
    centre.

    The fraction of orientations with a reach below `edges` grows from 0 at half an edge to 1 at half a space
    diagonal, as the power 2.3 of the position within that range. Below MISS_EDGES the cost stays constant,
    because the error of the track is counted instead.
    """
    return max(-2.0 * log(_fraction_below(max(edges, MISS_EDGES))), 0.0)


def reaching_cost(table: DiceTable, place_mm: float, sd_mm: float) -> float:
    """Return the cost of a die touching a wall with an edge or a corner before it falls flat.

    `place_mm` is the distance of its centre from the wall's tips, `sd_mm` its standard error. The farther
    away the centre, the fewer orientations reach the wall; the cost is that of the most likely distance.
    """
    if place_mm <= FLAT_EDGES * table.die_mm:
        return 0.0
    return min(
        (max(place_mm - edges * table.die_mm, 0.0) / sd_mm) ** 2
        - 2.0 * log((1.0 - _fraction_below(edges)) / (1.0 - _fraction_below(FLAT_EDGES)))
        for edges in _REACHES
    )


def fell_flat_cost(table: DiceTable, place_mm: float, sd_mm: float) -> float:
    """Return the cost of a die touching a wall before it fell flat at rest at `place_mm`.

    Flat, it touches with a face or an upright edge, which costs nothing but its distance; an edge or a corner
    costs `FELL_FLAT` and the orientation.
    """
    flat = max(place_mm - FLAT_EDGES * table.die_mm, 0.0) / sd_mm
    return min(flat * flat, FELL_FLAT + reaching_cost(table, place_mm, sd_mm))


def _fraction_below(edges: float) -> float:
    """Return the fraction of a cube's orientations that reach less far than `edges` from its centre."""
    return float(((edges - MIN_CONTACT_EDGES) / (MAX_CONTACT_EDGES - MIN_CONTACT_EDGES)) ** 2.3)


_REACHES = tuple(FLAT_EDGES + (MAX_CONTACT_EDGES - FLAT_EDGES) * n / 10 for n in range(10))
"""Distances from the reach of an edge to nearly that of a corner, which only one orientation has."""
