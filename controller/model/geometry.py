"""The table's geometry, as a log's header and a table's configuration give it.

Dice tables: x from the left end wall (0) to the right one (`length_mm`), y from the stickperson's rail (0)
to the boxperson's (`width_mm`). Wheels: bowl angles in degrees, counter-clockwise positive seen from above.
"""

from typing import Annotated, Self

import msgspec
from msgspec import Meta

from controller.model.readings import Millimetres, Surface

Positive = Annotated[float, Meta(gt=0, le=1e6)]
Degrees = Annotated[float, Meta(ge=-360, le=360)]
Point = tuple[Millimetres, Millimetres]


class Zone(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A polygon (corner points in millimetres) on which a die rests, whatever the camera calls it."""

    kind: Surface
    polygon: Annotated[tuple[Point, ...], Meta(min_length=3)]
    name: str = ""


class DiceTable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A dice table's inside: wall to wall, and the edge of its dice.

    The walls are measured at the tips of their pyramids, whose ground lies `wall_relief_mm` behind them.
    """

    length_mm: Positive
    width_mm: Positive
    die_mm: Positive
    wall_relief_mm: Annotated[float, Meta(ge=0, le=50)] = 12.0
    zones: tuple[Zone, ...] = ()


class Wheel(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wheel: its pockets clockwise from the rotor's mark, and where its sensors look.

    `beams_deg` are the track beams' bowl angles by beam number, `rotor_index_deg` is where the mark is when
    `rotor_index` fires, `pocket_reader_deg` where the pocket reader looks, `drop_rev_per_s` the nominal ball
    speed at which it leaves the track.
    """

    pockets: str
    pockets_clockwise: Annotated[tuple[str, ...], Meta(min_length=2, max_length=256)]
    beams_deg: Annotated[tuple[Degrees, ...], Meta(min_length=1, max_length=256)]
    pocket_reader_deg: Degrees
    rotor_index_deg: Degrees
    drop_rev_per_s: Annotated[float, Meta(ge=0.05, le=10)]

    @classmethod
    def at_its_word(cls, pockets: str, pockets_clockwise: tuple[str, ...]) -> Self:
        """Describe a wheel whose own word is trusted: its numbers count, the rest is there and not used."""
        return cls(
            pockets=pockets,
            pockets_clockwise=pockets_clockwise,
            beams_deg=(0.0,),
            pocket_reader_deg=0.0,
            rotor_index_deg=0.0,
            drop_rev_per_s=0.5,
        )
