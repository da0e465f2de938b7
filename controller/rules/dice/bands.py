"""Physical limits of dice at a wall, and the cost of each assumption about a throw.

The cost of an assumption is -2 times the natural logarithm of its probability. A deviation from a measured
value costs its square, in standard deviations, and an event of probability p costs -2 ln(p). The cost of an
explanation is the sum of the costs of its assumptions. The package `controller.rules.dice` defines the other
terms.
"""

from math import log, pi, sqrt

from controller.model.geometry import DiceTable

MARGIN = 9.0
"""An explanation is ruled out if its cost exceeds that of the cheapest explanation by more than this (three
standard deviations)."""
SEPARATE_IMPACTS_MARGIN = 12.0
"""Margin for an explanation in which both dice hit a wall and each made a separate impact (3.5 standard
deviations). It is wider than MARGIN because a No Roll is final. In 40,160 simulated throws, the wider margin
sent to review one true hit that MARGIN would have ruled out, and caused four needless reviews."""

CERTAIN_MARGIN = 2.0 * MARGIN
"""Margin at which an explanation is so improbable that the search for further explanations ends (4.2 standard
deviations)."""
UNPROVEN_MARGIN = MARGIN - 1.0
"""Maximum difference in cost between a touch and a miss that a track without an impact can show. It is
smaller than MARGIN, because a track alone never proves a touch."""

MIN_CONTACT_EDGES = 0.5
"""Minimum distance, in edges, from a wall to the centre of a die that touches it. The die touches with a
face."""
MAX_CONTACT_EDGES = sqrt(3.0) / 2.0
"""Maximum distance, in edges, from a wall to the centre of a die that touches it. The die touches with a
corner, which is half a space diagonal from the centre."""
MEAN_EDGES = 0.75
"""Mean distance, in edges, from a wall to the centre of a die that touches it, over all orientations."""
FLAT_EDGES = sqrt(2.0) / 2.0
"""Maximum distance, in edges, from a wall to the centre of a die that lies flat and touches it. The die
touches with an upright edge, which is half a face diagonal from the centre."""
MISS_EDGES = 0.6
"""Minimum distance, in edges, from a wall to the centre of a die that did not touch it. In one orientation in
twenty, a die does not reach even this far."""

KNOCK = 2.0 * log(10.0)
"""Cost of a knock at the position and time of a turn. The judge assumes a knock at one in ten turns."""
CAUSELESS = 6.0
"""Cost of a turn for which the readings show no cause. One die in twenty meets an obstacle that the camera
did not see."""
PUSHED = 2.0 * log(2.0)
"""Cost of a push away from the wall by the other die, if that die was in reach and nearer to the wall. Of the
dice that turn in this position, half are turned by the other die and half by the wall."""
OVERLAP = 2.0 * log(10.0)
"""Cost of a push by a die that is above or below the pushed die, so that the two seem to overlap. In one in
ten pairs that meet at a wall, the centres are less than an edge apart when seen from above."""
BETWEEN_FRAMES = 2.0 * log(1.5)
"""Cost of a push between two frames that is inferred from the positions of the dice in the first frame. Two
in three such inferences are correct."""
KNOCKED_BACK_MARGIN = 9.0
"""Added to MARGIN for a story in which one die knocked the other back into the wall beside it. The two
strikes follow each other so quickly that the tracks barely show them. In 168 simulated observations of two
such throws (60 to 120 frames/s, 2 mm noise), the true story cost at most 17.1 more than the cheapest one."""
SHOVE = 2.0 * log(3.0)
"""Cost of a second strike within SHOVE_MS by a die that is knocked back into the wall. One in three dice that
are struck so near the wall strikes it again."""
SHOVE_MS = 45.0
"""Maximum time, in ms, between a die's touch and its second strike after it is knocked back. It is four
frames at 90 frames/s, in which the die moves at most a few edges from the wall. The latest second strike
that was judged wrongly with a shorter limit came after 39 ms."""
BROKEN = CAUSELESS + MARGIN
"""Cost of a touch that only the incoming path shows, because something changed the outgoing path before the
next frame. At this cost the touch is ruled out if the other die made the impact. Otherwise the touch remains
in doubt, but is never proven."""
LONE_DIE = 2.0
"""Added to the cost of no touch if the die turned in the contact band while the other die was out of reach.
Only chips can then have turned the die, and they cause one such turn in fifty. Farther from the wall, chips
are as likely a cause as the wall, and a knock may coincide with the turn."""
LONE_DIE_HARD = 5.0
"""The value used instead of LONE_DIE for a turn larger than any that a landing causes. Chips give way to such
a die, and cause only one such turn in 250. Of 7,571 such turns in 12,060 simulated observations, eight were
not touches. In six of these the dice had met, and the other two were observations of the same throw."""
LONE_DIE_ERRORS = 2.5
"""Distance from the contact band, in position errors, up to which LONE_DIE_HARD also applies. Obstacles are
just as rare there as in the band. The limit was tested on 100 turns 7.5 mm outside the band, each with a
knock at the same position and time. Five of these turns are judged to be hits; with a limit of 3, nine would
be. A limit of 3 would also send five fewer of 12,060 simulated observations to review."""
HARD_ERRORS = 1.0
"""Number of standard errors by which a measured change of speed is reduced. In five cases out of six, the
true change is no smaller than the reduced one."""
MAX_CAUSELESS_M_PER_S = 0.6
"""Maximum change of speed, in m/s, that felt alone causes in a tumbling die between two frames. A smaller
change needs no other cause."""
THUMP = 1.0
"""Cost of explaining a soft impact at a turn as the thump of a landing in which spin turned the die. Wall
sensors often detect landings."""
STEEP_LANDING = 2.0 * log(3.0)
"""Maximum cost of explaining an impact as a thump, even if it is loud for its turn. In a steep landing,
friction ends before it has its full effect, so the die barely turns. One in three dice that have fallen for a
long time lands so steeply."""
MAX_LANDING_M_PER_S = 4.0
"""Maximum change of speed along the table, in m/s, that a landing causes. A die thrown down from a height of
one metre strikes felt at 5 m/s and leaves it at up to 3 m/s. With a friction coefficient of 0.5, the speed
along the table changes by half of this vertical change of 8 m/s. In 1,558 simulated landings beside walls the
maximum was 3.6 m/s."""
SOFT_FRACTION_FAR = 0.5
"""An impact softer than this fraction of a hit with the same turn may be a thump. At a distance of one
centimetre, felt transmits a sixteenth of a landing's blow. That blow is 2 to 4.5 times the turn that friction
causes (coefficients 0.5 to 0.22). Loudness varies by a factor of 1.7 with the position."""
SOFT_FRACTION = 0.25
"""The value used instead of SOFT_FRACTION_FAR for a die so near the wall that it would have touched in most
orientations. It is the fraction for medium friction and a typical position."""
SOFT_SPREAD = 0.28
"""Standard deviation of the logarithm of a thump's loudness above SOFT_FRACTION and SOFT_FRACTION_FAR. The
positions of the thump and of the compared hit each contribute a factor of 0.75 to 1.3. The rest comes from
variation in the fraction of the turn that the die's hardest blow caused."""
LANDING_M_PER_S = 1.0
"""A thump is at most as loud as a hit that changes a die's speed by this many m/s. Beside the wall, felt
transmits a twelfth of a blow. A die that strikes felt at 5 m/s and leaves it at 3 m/s changes its speed by 8
m/s. Loudness varies by a factor of 1.3 with the position."""
SOFT_ERRORS = 2.0
"""Distance, in position errors of a track point, over which SOFT_FRACTION changes to SOFT_FRACTION_FAR. A
die's position is no more precise than this."""
UNHEARD = 4.0
"""Cost of a touch that a working sensor did not detect. One touch in seven is softer than the sensor's
threshold."""
FELL_FLAT = 2.0 * log(4.5)
"""Added to UNHEARD if the die lies flat and neither a face nor an upright edge reaches the wall. It makes a
silent stop a miss if the face is at least 7 mm from the wall, where only a corner reaches. Nearer stops go to
review. In 7,500 simulated throws, 13 dice came to rest silently with their face 4 to 7 mm from a wall, and
eight of them had touched it."""
RINGING = 1.0
"""Cost of explaining an impact as the ringing of an earlier one. It is low because one hit in four rings."""
RATTLE = 2.0 * log(20.0)
"""Cost of a second impact that one touch made and that is too loud to be ringing. Of 7,751 simulated dice
that struck a wall, one in forty made such an impact within a frame. The judge assumes one in twenty, because
real walls vary."""
SIMULTANEOUS_MS = 3.0
"""Time, in ms, within which one die does not strike a wall twice. A wall rings longer than that after a
blow."""
SIMULTANEOUS = 2.0 * log(100.0)
"""Cost of a second impact of one touch within SIMULTANEOUS_MS. None of the 7,751 dice counted for RATTLE made
such an impact. Two impacts so close in time come from two dice."""
SHARED_IMPACT = 0.0
"""Cost of one impact by both dice. It is zero because both dice are known to have turned at that position and
time."""

RING_FRACTION = 0.6
"""Maximum peak of ringing, as a fraction of the peak of its hit."""
PLACE_ERRORS = 4.0
"""Maximum distance along the wall, in standard deviations, between an impact and a die that may have made
it."""
DICE_REACH_ERRORS = 2.0
"""Position errors beyond the distance at which two corners meet within which one die may push another. It is
1.4 standard deviations of the difference between two positions."""
KNOCK_AT_DIE = 2.0 * log(2.0 * PLACE_ERRORS / sqrt(2.0 * pi))
"""Added to the cost of a knock at a die's position, less the squared error of that position. A knock may be
anywhere within PLACE_ERRORS, whereas two in three of a die's impacts are reported within one standard
error."""
MAX_MATCH_COST = KNOCK + 4.0 * MARGIN
"""Maximum cost of a turn as the source of an impact. A match that costs more is not considered, because a
knock and an undetected touch explain the same readings at a lower cost."""
PLACE_TOLERANCE = 2.0
"""An impact whose position deviates by at most this many standard deviations is no evidence against the
die."""
CLOCK_MARGIN_MS = 1.0
"""Tolerance, in ms, on an impact's minimum and maximum delay. The devices' clocks agree to within a
millisecond."""

BOUNCE_MM_PER_MS = 0.25
"""Increase of a die's position error, in mm, per millisecond since the camera last saw the die. A bounce on
the felt between two frames changes the die's speed by up to 0.5 m/s."""
LANDING_FRACTION = 0.15
"""Maximum fraction of its striking speed that a die may lose in a landing during a lost frame after it leaves
a wall. Rubber throws the die up at a fifth of that speed. Felt with a friction coefficient of 0.5 and a
restitution of 0.5 then takes 0.5 (1 + 0.5) times the upward speed."""
SLOWED = MARGIN
"""Cost of assuming that felt or a second touch slowed a die after it left the wall and before the next frame,
so that its paths intersect outside the contact band. At this cost a touch is never proven, but remains in
doubt if an impact matches it."""
UNSEEN_FRACTION = 0.4
"""The value used instead of LANDING_FRACTION for a die that was hidden after it left the wall. It leaves at
up to 0.4 times its striking speed, and may have come to rest before it reappears."""
SLOWED_UNSEEN = 2.0 * log(3.0)
"""The value used instead of SLOWED if the die was hidden at that time. One in three dice lands, or meets a
side wall, before it reappears."""
OWN_TURN_M_PER_S = 0.2
"""Minimum change of speed away from the wall, in m/s, in a turn that a sensor can detect."""
OWN_TURN_ERRORS = 3.0
"""Minimum change of speed, in standard errors, in such a turn."""
BACK_M_PER_S = 0.15
"""Minimum speed, in m/s, of a die that turned at a wall and leaves it. A slower die may have come to rest
there."""


def min_contact_mm(table: DiceTable) -> float:
    """Return the minimum distance, in mm, from a wall's tips to the centre of a die that touches the wall."""
    return MIN_CONTACT_EDGES * table.die_mm - table.wall_relief_mm


def max_contact_mm(table: DiceTable) -> float:
    """Return the maximum distance, in mm, from a wall's tips to the centre of a die that touches the wall."""
    return MAX_CONTACT_EDGES * table.die_mm


def reach_cost(edges: float) -> float:
    """Return the cost of an orientation in which a cube extends at most `edges` from its centre.

    The fraction of such orientations increases from 0 at half an edge to 1 at half a space diagonal. Below
    MISS_EDGES the cost is constant, because the track's position error then limits the certainty.
    """
    return max(-2.0 * log(_fraction_below(max(edges, MISS_EDGES))), 0.0)


def reaching_cost(table: DiceTable, place_mm: float, sd_mm: float) -> float:
    """Return the cost of a die touching a wall with an edge or a corner before it falls flat.

    `place_mm` is the distance of the die's centre from the wall's tips, and `sd_mm` its standard error. The
    result is the cost at the most likely distance, because fewer orientations reach the wall from farther
    away.
    """
    if place_mm <= FLAT_EDGES * table.die_mm:
        return 0.0
    return min(
        (max(place_mm - edges * table.die_mm, 0.0) / sd_mm) ** 2
        - 2.0 * log((1.0 - _fraction_below(edges)) / (1.0 - _fraction_below(FLAT_EDGES)))
        for edges in _REACHES
    )


def fell_flat_cost(table: DiceTable, place_mm: float, sd_mm: float) -> float:
    """Return the cost of a die touching a wall before it came to rest flat, `place_mm` from the wall's tips.

    A flat die touches with a face or an upright edge, at the cost of its distance only. A touch with an edge
    or a corner adds `FELL_FLAT` and the cost of the orientation.
    """
    flat = max(place_mm - FLAT_EDGES * table.die_mm, 0.0) / sd_mm
    return min(flat * flat, FELL_FLAT + reaching_cost(table, place_mm, sd_mm))


def _fraction_below(edges: float) -> float:
    """Return the fraction of orientations in which a cube extends less than `edges` from its centre."""
    return float(((edges - MIN_CONTACT_EDGES) / (MAX_CONTACT_EDGES - MIN_CONTACT_EDGES)) ** _REACH_POWER)


_REACH_POWER = 2.3
"""Exponent of the approximation in `_fraction_below`. For a cube in a random orientation, it is accurate to
0.02 below 0.7 edges, and to 0.07 beyond."""
_REACHES = tuple(FLAT_EDGES + (MAX_CONTACT_EDGES - FLAT_EDGES) * n / 10 for n in range(10))
"""Distances, in edges, from the reach of an upright edge to just below that of a corner."""
