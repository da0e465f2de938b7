"""Reads the upper faces of dice at rest from one picture.

A face is accepted only if its pips form a lattice, its colour is even between the pips, its sides are at the
distance given by the die's size, and no spot is left over. Contradictory evidence is recorded as a doubt with
a reason. A picture with a doubt is refused, because an undetected misreading is the worst fault that a camera
can have.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np
import numpy.typing as npt

from drivers.vision.arrays import Array
from drivers.vision.faces import Body, Face, evenness, find_body, find_faces, single_faces
from drivers.vision.pips import EDGE_PX, Pips, find_pips, sample
from drivers.vision.sizes import continues_as_grid, find_contradiction, larger_edge, straight_sides

# Minimum edge of a die. A smaller die's pips can be only five pixels wide and might vanish in noise.
MIN_PX = 45.0
MIN_CONFIDENCE = 0.6  # minimum confidence of a reported face
# Minimum distance between the centres of two dice, in edges. Dice that touch are an edge apart; a die's flank
# is nearer to its top.
MIN_CENTRE_DISTANCE = 0.82
# Minimum fraction of the area between a face's pips that has the face's colour, by number. Other colours are
# due to engraved numbers, glare and, on a 6, the narrow gaps between the pips.
MIN_EVENNESS = {1: 0.85, 2: 0.85, 3: 0.8, 4: 0.7, 5: 0.7, 6: 0.55}
# Maximum RMS distance of the pips from the lattice, in edges, by number: 0.01 was measured.
MAX_LATTICE_ERROR = {1: 0.0, 2: 0.0, 3: 0.03, 4: 0.02, 5: 0.02, 6: 0.02}
# Range of a side's distance from the centre, in edges: one half, plus the effects of height and size.
SIDE = (0.37, 0.76)
WIDTH = (0.78, 1.42)  # range of the width of a 1, 2 or 3 from side to side, in edges
SIDE_STEP = 9.0  # minimum step at a side, in grey levels, averaged along the side
MAX_LOPSIDED = 0.17  # maximum difference between the distances of two opposite sides, in edges
OWN_SIDE = (0.45, 0.62)  # range of the distance of a 1's sides seen from above, in edges: about one half
MAX_OWN_DIFFERENCE = 0.07  # maximum deviation of such a distance from the mean of the middle two, in edges
MIN_CLEAR_STEP = 30.0  # minimum step at a clear side, in grey levels; false sides on a larger face reach 25
FAR_SIDE = 0.7  # minimum distance of a 2's farthest side from each of its pips, in edges
# Beyond a side of a 1, a touching die would cover the area at these distances from the 1's centre, in edges.
BEYOND = np.linspace(0.6, 0.9, 9, dtype=np.float32)
MIN_BEYOND_FRACTION = (
    0.6  # minimum fraction of that area with the 1's colour; pips and the gap have other colours
)
# Minimum score of a second reading of one die, relative to the first, at which it casts doubt on the first.
RIVAL_FRACTION = 0.72


@dataclass(frozen=True, slots=True)
class DieSeen:
    """One die in a picture."""

    x: float
    y: float
    """The position of the face's centre in pixels."""
    up: int | None
    """The face; None if there are doubts."""
    confidence: float
    """0 to 1."""
    doubts: tuple[str, ...] = ()
    side: tuple[float, float] | None = None
    """The direction of one of the face's sides; None for a 1."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The dice in one picture, and the reason if the picture is refused."""

    dice: tuple[DieSeen, ...]
    refused: str | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    face: Face
    body: Body
    score: float
    doubts: tuple[str, ...]


def read_picture(image: Array, die_px: float, dice: int | None = None) -> Reading:
    """Return the dice in a picture (height, width, 3) in which a die's edge is `die_px` pixels long.

    The picture is refused if it does not show exactly `dice` dice; None accepts any number.

    Raises:
        ValueError: If `die_px` is not positive.
    """
    if die_px <= 0:
        raise ValueError(f"found a die's edge of {die_px} pixels, expected more than 0")
    if die_px < MIN_PX:
        return Reading((), f"found a die's edge of {die_px:g} pixels, expected {MIN_PX:g} or more")
    height, width = image.shape[:2]
    if min(width, height) < die_px:
        return Reading(
            (),
            f"found a picture of {width} x {height} pixels, smaller than a die's edge of {die_px:g} pixels",
        )
    scale = EDGE_PX / die_px
    interpolation = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    work = cv2.resize(image, None, fx=scale, fy=scale, interpolation=interpolation)
    weighed = _find_dice(work, scale)
    seen = [
        DieSeen(
            round(float(one.face.centre[0]) / scale, 1),
            round(float(one.face.centre[1]) / scale, 1),
            one.face.up if not one.doubts else None,
            round(one.score, 2),
            one.doubts,
            (float(one.body.axes[0][0]), float(one.body.axes[0][1])) if one.face.up > 1 else None,
        )
        for one in weighed
    ]
    return Reading(tuple(seen), _refusal(seen, dice))


def _refusal(seen: list[DieSeen], dice: int | None) -> str | None:
    unsure = [die for die in seen if die.up is None]
    sure = len(seen) - len(unsure)
    if unsure:
        die = unsure[0]
        return f"the die at {die.x:.0f}, {die.y:.0f} is uncertain: {die.doubts[0]}"
    if dice is not None and sure != dice:
        return f"found {sure} dice, expected {dice}"
    return None


def _find_dice(image: Array, scale: float) -> list[_Candidate]:
    """Return the certain and doubtful dice in a picture in which a die's edge is `EDGE_PX` long."""
    pips = find_pips(image)
    soft = cv2.GaussianBlur(image, (0, 0), 1.0)
    chosen: list[_Candidate] = []
    faces = find_faces(pips)
    # Find the 4s to 6s first, then the 2s and 3s, then the 1s, each from the remaining spots.
    for lowest, highest in ((4, 6), (2, 3), (1, 1)):
        taken = {row for one in chosen for row in one.face.rows}
        tier = (
            single_faces(pips) if highest == 1 else [face for face in faces if lowest <= face.up <= highest]
        )
        free = [
            face
            for face in tier
            if not taken & set(face.rows) and not (highest == 1 and _covered(face, chosen))
        ]
        chosen = _choose(chosen, [one for face in free if (one := _judge_face(soft, pips, face)) is not None])
    taken = {row for one in chosen for row in one.face.rows}
    left = [_doubt_left_spots(one, pips, taken) for one in chosen]
    return [_doubt_size(soft, one, pips, [each.face for each in chosen], scale) for one in left]


def _covered(face: Face, chosen: list[_Candidate]) -> bool:
    return any(np.hypot(*(face.centre - one.face.centre)) < 0.7 * EDGE_PX for one in chosen)


def _judge_face(image: Array, pips: Pips, face: Face) -> _Candidate | None:
    even = evenness(image, pips, face)
    if (
        even < MIN_EVENNESS[face.up]
        or face.lattice_error > MAX_LATTICE_ERROR[face.up]
        or _has_extra_pip(pips, face)
    ):
        return None
    body = _fill_touched_side(image, pips, face, _fill_cut_side(image, face, find_body(image, pips, face)))
    doubts: list[str] = []
    right = (body.sides > SIDE[0]) & (body.sides < SIDE[1]) & (body.steps > SIDE_STEP)
    level = [abs(float(body.sides[a] - body.sides[a + 1])) < MAX_LOPSIDED for a in (0, 2)]
    count = int(right.sum())
    width = [float(body.sides[a] + body.sides[a + 1]) for a in (0, 2)]
    if face.up <= 3 and (count < (4 if face.up == 1 else 3) or not all(level)):
        return None
    if face.up <= 3 and not (WIDTH[0] < min(width) and max(width) < WIDTH[1]):
        return None
    if face.up > 3 and count < 2:
        return None
    quality = float((pips.fit * np.minimum(1.0, pips.aspect / 0.8))[list(face.rows)].min())
    score = (
        min(1.0, quality * 1.1)
        * min(1.0, even / 0.95)
        * (0.7 + 0.075 * count)
        * (1 - 4 * min(0.2, face.lattice_error))
    )
    if _is_cut(image, face, body):
        doubts.append("the picture's border cuts it off")
    missed = _find_possible_pip(image, pips, face, body)
    if missed:
        doubts.append(missed)
    ones = [one for one in _find_ones(face, pips) if _stands_alone(image, pips, one)] if face.up == 2 else []
    if any(_is_one(image, pips, one) for one in ones):
        return None
    if ones:
        doubts.append("it is a 2, or a 1 next to another die's pip")
    if score < MIN_CONFIDENCE:
        doubts.append(f"its {face.up} is not clear ({score:.2f})")
    return _Candidate(face, body, score, tuple(doubts))


def _find_ones(face: Face, pips: Pips) -> list[Face]:
    none = np.zeros((2, 2), np.float32)
    return [Face(1, (row,), pips.centre[row], none, 0.0) for row in face.rows]


def _is_one(image: Array, pips: Pips, one: Face) -> bool:
    """Return whether one pip of an apparent 2 is certainly a 1.

    A 2 has a side farther than FAR_SIDE from each pip.
    """
    if float(find_body(image, pips, one).sides.max()) > FAR_SIDE:
        return False
    seen = _judge_face(image, pips, one)
    return seen is not None and not seen.doubts


def _stands_alone(image: Array, pips: Pips, one: Face) -> bool:
    """Return whether one pip of an apparent 2 might be the 1 of a die that touches another die.

    A 1 is in the centre of an even face, and a pip of a 2 is near a corner. The side at which the dice touch
    might be invisible.
    """
    return len(_own_sides(find_body(image, pips, one))) >= 3 and evenness(image, pips, one) > MIN_EVENNESS[1]


def _own_sides(body: Body) -> npt.NDArray[np.intp]:
    """Return the sides that are equally far from the centre, at about half an edge."""
    middle = float(np.sort(body.sides)[1:3].mean())
    alike = (np.abs(body.sides - middle) < MAX_OWN_DIFFERENCE) & (OWN_SIDE[0] < middle < OWN_SIDE[1])
    return np.flatnonzero(alike)


def _fill_touched_side(image: Array, pips: Pips, face: Face, body: Body) -> Body:
    """Return the body, with a 1's side that another die touches replaced by a copy of the opposite side.

    The step between two touching tops is barely visible, and the area beyond it has the face's colour.
    """
    own = _own_sides(body)
    if face.up != 1 or len(own) != 3:
        return body
    hidden = int(({0, 1, 2, 3} - set(own.tolist())).pop())
    axis = (1 - 2 * (hidden % 2)) * body.axes[hidden // 2]
    across = body.axes[1 - hidden // 2]
    out, along = np.meshgrid(BEYOND, BEYOND - BEYOND.mean())
    places = face.centre + EDGE_PX * (out[..., None] * axis + along[..., None] * across)
    colour, contrast = pips.around[face.rows[0]], abs(float(pips.contrast[face.rows[0]]))
    difference = np.abs(sample(image, places.astype(np.float32)).astype(np.float32) - colour).max(axis=2)
    if float((difference < max(25.0, 0.4 * contrast)).mean()) < MIN_BEYOND_FRACTION:
        return body
    sides, steps = body.sides.copy(), body.steps.copy()
    sides[hidden], steps[hidden] = sides[hidden ^ 1], steps[hidden ^ 1]
    return replace(body, sides=sides, steps=steps)


def _has_extra_pip(pips: Pips, face: Face) -> bool:
    rows = list(face.rows)
    offsets = pips.centre - face.centre
    if face.up == 1:
        inside = np.hypot(*offsets.T) < 0.58 * EDGE_PX
    else:
        sides = np.stack([face.diagonals[0] + face.diagonals[1], face.diagonals[0] - face.diagonals[1]]) / 2
        u = np.linalg.solve(sides.T, offsets.T)
        inside = np.abs(u).max(axis=0) < 1.45
    alike = (np.sign(pips.contrast) == np.sign(pips.contrast[rows[0]])) & (
        np.abs(pips.contrast) > 0.5 * np.abs(pips.contrast[rows]).min()
    )
    same_size = (pips.radius > 0.72 * pips.radius[rows].min()) & (pips.radius < 1.4 * pips.radius[rows].max())
    inside &= alike & same_size & (pips.fit * pips.aspect > 0.6)
    inside[rows] = False
    near = np.hypot(*(pips.centre[:, None] - pips.centre[rows][None]).transpose(2, 0, 1)).min(axis=1)
    inside &= near > 0.5 * pips.radius[rows[0]]
    return bool(inside.any())


def _find_possible_pip(image: Array, pips: Pips, face: Face, body: Body) -> str | None:
    """Return a doubt if unrecognized pip-like spots would change the face to another number."""
    rows = list(face.rows)
    ink = np.median(pips.inside[rows], axis=0)
    paper = np.median(pips.around[rows], axis=0)
    towards = (ink - paper) / max(1.0, float(((ink - paper) ** 2).sum()))
    for other, places in _other_places(face, body):
        levels = [
            _ink_level(image, place, paper, towards, float(pips.radius[rows].mean())) for place in places
        ]
        if min(levels) > 0.35:
            return f"something that resembles a pip could make its {face.up} a {other}"
    return None


def _other_places(face: Face, body: Body) -> list[tuple[int, list[Array]]]:
    """Return the numbers into which additional pips would turn a face, with the positions of these pips.

    A number may occur twice, because a 1 can become a 3 along either diagonal, and a 4 can
    become a 6 along either side.
    """
    one, two = face.diagonals
    centre = face.centre
    if face.up == 1:
        one, two = (
            0.25 * EDGE_PX * (body.axes[0] + body.axes[1]),
            0.25 * EDGE_PX * (body.axes[0] - body.axes[1]),
        )
        return [(3, [centre + one, centre - one]), (3, [centre + two, centre - two])]
    if face.up == 2:
        return [(3, [centre]), (4, [centre + two, centre - two])]
    if face.up == 3:
        return [(5, [centre + two, centre - two])]
    if face.up == 4:
        side, other = (one + two) / 2, (one - two) / 2
        return [(5, [centre]), (6, [centre + side, centre - side]), (6, [centre + other, centre - other])]
    return []


def _ink_level(image: Array, place: Array, paper: Array, towards: Array, radius: float) -> float:
    """Return a spot's median colour on a scale from the face's colour (0) to the pips' colour (1)."""
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    spots = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    places = np.concatenate([place[None], place + 0.35 * radius * spots, place + 0.65 * radius * spots])
    values = sample(image, places.astype(np.float32)).astype(np.float32)
    return float(np.median((values - paper) @ towards))


def _is_cut(image: Array, face: Face, body: Body) -> bool:
    """Return whether a possible pip of the face would lie beyond the picture's border."""
    one, two = face.diagonals
    if face.up == 1:
        one, two = (
            0.29 * EDGE_PX * (body.axes[0] + body.axes[1]),
            0.29 * EDGE_PX * (body.axes[0] - body.axes[1]),
        )
    places = face.centre + 1.25 * np.stack([one, -one, two, -two])
    size = np.array([image.shape[1], image.shape[0]])
    return bool(((places < 0) | (places > size - 1)).any())


def _fill_cut_side(image: Array, face: Face, body: Body) -> Body:
    """Return the body, with a side beyond the picture's border replaced by a copy of the opposite side."""
    directions = np.stack([body.axes[0], -body.axes[0], body.axes[1], -body.axes[1]])
    places = face.centre + 0.55 * EDGE_PX * directions
    size = np.array([image.shape[1], image.shape[0]])
    hidden = np.flatnonzero(((places < 0) | (places > size - 1)).any(axis=1))
    if len(hidden) != 1:
        return body
    sides, steps = body.sides.copy(), body.steps.copy()
    sides[hidden], steps[hidden] = sides[hidden ^ 1], steps[hidden ^ 1]
    return replace(body, sides=sides, steps=steps)


def _choose(chosen: list[_Candidate], seen: list[_Candidate]) -> list[_Candidate]:
    """Add the best new candidate for each further die; a close rival adds a doubt to a chosen candidate."""
    chosen = list(chosen)
    for one in sorted(seen, key=lambda each: -each.score * _area(each) * (1 + 0.15 * each.face.up)):
        near = [
            at
            for at, other in enumerate(chosen)
            if np.hypot(*(one.face.centre - other.face.centre)) < MIN_CENTRE_DISTANCE * EDGE_PX
        ]
        if not near:
            chosen.append(one)
        for at in near:
            first = chosen[at]
            no_common_pip = not set(one.face.rows) & set(first.face.rows)
            rival = one.score * _area(one) > RIVAL_FRACTION * first.score * _area(first)
            if rival and no_common_pip and one.face.up != first.face.up and not first.doubts:
                chosen[at] = replace(first, doubts=(f"it is a {first.face.up} or a {one.face.up}",))
    return chosen


def _doubt_left_spots(one: _Candidate, pips: Pips, taken: set[int]) -> _Candidate:
    """Add a doubt to a die if a clear spot on it resembles its pips but belongs to no face."""
    rows = list(one.face.rows)
    like = (
        (pips.fit * pips.aspect > 0.75)
        & (np.sign(pips.contrast) == np.sign(pips.contrast[rows[0]]))
        & (np.abs(pips.contrast) > 0.6 * np.abs(pips.contrast[rows]).min())
        & (pips.radius > 0.8 * pips.radius[rows].min())
        & (pips.radius < 1.25 * pips.radius[rows].max())
        & (np.hypot(*(pips.centre - one.face.centre).T) < 0.6 * EDGE_PX)
    )
    like[list(taken)] = False
    for row in np.flatnonzero(like):
        nearest = np.hypot(*(pips.centre[list(taken)] - pips.centre[row]).T).min()
        if nearest > 1.2 * pips.radius[row]:
            return replace(one, doubts=(*one.doubts, f"a spot next to its {one.face.up} belongs to no face"))
    return one


def _doubt_size(image: Array, one: _Candidate, pips: Pips, faces: Sequence[Face], scale: float) -> _Candidate:
    """Add a doubt to a die if its face is part of a larger face or a grid, or contradicts the given edge."""
    others = [face for face in faces if face is not one.face]
    whole = {row for face in faces if _is_whole_one(image, pips, face) for row in face.rows}
    edge_px = None if whole & set(one.face.rows) else larger_edge(image, pips, one.face, others, whole)
    if edge_px is not None:
        measured = f"about {edge_px / scale:.0f} pixels, not {EDGE_PX / scale:.0f} as given"
        return replace(
            one,
            doubts=(*one.doubts, f"its {one.face.up} is part of a larger face; a die's edge is {measured}"),
        )
    if continues_as_grid(image, pips, one.face, {row for face in faces for row in face.rows}):
        return replace(one, doubts=(*one.doubts, f"its {one.face.up} continues as a grid"))
    contradiction = find_contradiction(image, pips, one.face, one.body)
    if contradiction is not None:
        given = f"measure a die's edge in the picture ({EDGE_PX / scale:.0f} pixels were given)"
        return replace(one, doubts=(*one.doubts, f"its {one.face.up}'s {contradiction}; {given}"))
    return one


def _is_whole_one(image: Array, pips: Pips, face: Face) -> bool:
    """Return whether a face is a 1 with at least three clear sides.

    Another die might be flush with the fourth side. The edge between the two tops is then barely visible, and
    the other die's pips appear to be on the 1's face.
    """
    if face.up != 1:
        return False
    body = find_body(image, pips, face)
    own = np.intersect1d(_own_sides(body), straight_sides(image, face, body))
    clear = len(own) >= 3 and float(body.steps[own].min()) > MIN_CLEAR_STEP
    return clear and float(body.sides.max()) < SIDE[1]


def _area(one: _Candidate) -> float:
    """Return a face's area in die faces, computed from the nearer side of each pair of opposite sides.

    The opposite sides of an apparent 4, formed by pips of two touching dice, are at different distances.
    """
    widths = []
    for first, second in (one.body.sides[:2], one.body.sides[2:]):
        both = first > 0.0 and second > 0.0
        widths.append(float(np.clip(2 * min(first, second) if both else first + second, 0.3, 1.1)))
    return widths[0] * widths[1]
