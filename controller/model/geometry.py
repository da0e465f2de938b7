"""The geometry of a table, as in a log's header and in a table file.

On dice tables, x runs from the left end wall (0) to the right end wall (`length_mm`), and y from the
stickperson's rail (0) to the boxperson's rail (`width_mm`). On wheels, bowl angles are in degrees, positive
counter-clockwise as seen from above.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, NamedTuple, Self

import msgspec
from msgspec import Meta

from controller.model.readings import Millimetres, Surface

Positive = Annotated[float, Meta(gt=0, le=1e6)]
Degrees = Annotated[float, Meta(ge=-360, le=360)]
Point = tuple[Millimetres, Millimetres]


class Zone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A polygon with corners in mm. A die inside it is taken to rest on the surface `kind`, whatever the
    camera reports. A zone of felt or cards does not override the camera."""

    kind: Surface
    polygon: Annotated[tuple[Point, ...], Meta(min_length=3)]
    name: str = ""


class DiceTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The inner dimensions of a dice table, and the edge length of its dice.

    The dimensions are measured at the tips of the walls' pyramids. The base of the walls is `wall_relief_mm`
    behind the tips.
    """

    length_mm: Positive
    width_mm: Positive
    die_mm: Positive
    wall_relief_mm: Annotated[float, Meta(ge=0, le=50)] = 12.0
    zones: tuple[Zone, ...] = ()


class Wheel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wheel: its pockets clockwise from the rotor's mark, and the positions of its sensors.

    `beams_deg` are the bowl angles of the track beams, in numerical order. `rotor_index_deg` is the bowl
    angle of the mark when `rotor_index` fires. `pocket_reader_deg` is the bowl angle of the pocket reader.
    `drop_rev_per_s` is the nominal speed at which the ball leaves the track.
    """

    pockets: str
    pockets_clockwise: Annotated[tuple[str, ...], Meta(min_length=2, max_length=256)]
    beams_deg: Annotated[tuple[Degrees, ...], Meta(min_length=1, max_length=256)]
    pocket_reader_deg: Degrees
    rotor_index_deg: Degrees
    drop_rev_per_s: Annotated[float, Meta(ge=0.05, le=10)]

    @classmethod
    def trusted(cls, pockets: str, pockets_clockwise: tuple[str, ...]) -> Self:
        """Return a wheel whose reports are trusted. Only its pockets are used."""
        return cls(
            pockets=pockets,
            pockets_clockwise=pockets_clockwise,
            beams_deg=(0.0,),
            pocket_reader_deg=0.0,
            rotor_index_deg=0.0,
            drop_rev_per_s=0.5,
        )


_AMERICAN = """
0 28 9 26 30 11 7 20 32 17 5 22 34 15 3 24 36 13 1
00 27 10 25 29 12 8 19 31 18 6 21 33 16 4 23 35 14 2
"""
_EUROPEAN = """
0 32 15 19 4 21 2 25 17 34 6 27 13 36 11 30 8 23
10 5 24 16 33 1 20 14 31 9 22 18 29 7 28 12 35 3 26
"""
STANDARD_POCKETS: Mapping[str, tuple[str, ...]] = {
    "american": tuple(_AMERICAN.split()),
    "european": tuple(_EUROPEAN.split()),
}
"""The pockets of the two standard wheels, clockwise from the zero as seen from above.

They apply to a table file that specifies only `american` or `european`. A log's header lists every
pocket.
"""


class WheelMistake(NamedTuple):
    """A mistake in a wheel's configuration: the key path, what was found, and what was expected."""

    key: tuple[str | int, ...]
    found: str
    expected: str


def pocket_mistakes(pockets: str, order: Sequence[str]) -> Iterator[WheelMistake]:
    """Yield the mistakes in the pockets: an unknown kind of wheel, or missing or repeated pockets."""
    standard = STANDARD_POCKETS.get(pockets)
    if standard is None:
        yield WheelMistake(("pockets",), f"'{pockets}'", f"one of {', '.join(STANDARD_POCKETS)}")
    elif Counter(order) != Counter(standard):
        missing = sorted(set(standard) - set(order), key=int)
        found = f"{len(order)} pockets" + (f" without {', '.join(missing)}" if missing else "")
        expected = f"each of the {len(standard)} pockets of the {pockets} wheel once"
        yield WheelMistake(("pockets_clockwise",), found, expected)


def beam_mistakes(beams_deg: Sequence[float], *, judged: bool) -> Iterator[WheelMistake]:
    """Yield the mistakes in the beams.

    If spins are judged from the beams (`judged`), at least two are required, because one beam can't show the
    ball's direction.
    """
    if judged and len(beams_deg) < 2:
        yield WheelMistake(("beams_deg",), f"{len(beams_deg)} beam", "two beams or more (R-SPIN-1)")
    for number, beam in enumerate(beams_deg):
        if any((beam - other) % 360 == 0 for other in beams_deg[:number]):
            found = f"{beam:g} a second time"
            yield WheelMistake(("beams_deg", number), found, "each beam at a different angle")
