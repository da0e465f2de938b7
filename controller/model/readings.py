"""Readings: the observations of sensors and the inputs of people, each as one flat record.

`t` is in integer microseconds on the table's monotonic clock. Lengths are in mm. Angles are in degrees,
positive counter-clockwise as seen from above. x runs from the left end wall to the right end wall, and y from
the stickperson's rail to the boxperson's rail. On the wire, `kind` names the type.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Microseconds = Annotated[int, Meta(ge=0, le=2**53)]
"""At most 2**53 (285 years), the largest integer that every JSON parser represents exactly."""
Millimetres = Annotated[float, Meta(ge=-1e6, le=1e6)]
"""A length. No table is larger than a kilometre."""
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", min_length=64, max_length=64)]
"""The SHA-256 of a picture file in hexadecimal digits, which is also the file's name."""
Die = Literal[1, 2]
Face = Literal[1, 2, 3, 4, 5, 6]
Wall = Literal["left", "right", "front", "back"]
Turning = Literal["cw", "ccw"]
TURNING_IN_WORDS: Mapping[Turning, str] = {"cw": "clockwise", "ccw": "counter-clockwise"}
Surface = Literal[
    "felt",
    "cards",
    "chips",
    "bank",
    "rail",
    "cup",
    "die",
    "slot",
    "tray",
    "shoe",
    "discard",
    "object",
    "unknown",
]


class Reading(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True, gc=False
):
    """The fields of every reading: the time, the device and, in a recording, the time of arrival.

    All fields are plain values or tuples of them, so no reading is in a reference cycle (`gc=False`).
    """

    t: Microseconds
    dev: str
    arrived: Microseconds | None = None


class DieReleased(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_released"):
    """A die leaves the shooter's hand.

    With `in_flight`, the die left the hand outside the camera's view. The position is then where the camera
    first detected the die, and does not show where the shooter stands.
    """

    die: Die
    x: Millimetres
    y: Millimetres
    in_flight: bool = False


class DieAt(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_at"):
    """A point of a die's track: the die's centre in one camera frame.

    `error_mm` is the point's standard error perpendicular to the walls that dice must hit. The default is the
    table's setting.
    """

    die: Die
    x: Millimetres
    y: Millimetres
    error_mm: Annotated[float, Meta(gt=0, le=1000)] | None = None


class DieRest(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_rest"):
    """A die at rest, with the face that is up (None if no single face is) and the surface that it lies on.

    `resting_sides` are the faces that lie on chips or another object; empty if the die is flat. `pictures` is
    the SHA-256 of the camera's picture file, which the judge does not read.
    """

    die: Die
    x: Millimetres
    y: Millimetres
    up: Face | None = None
    confidence: Annotated[float, Meta(ge=0, le=1)]
    tilt_deg: Annotated[float, Meta(ge=-360, le=360)] = 0.0
    on: Surface = "unknown"
    resting_sides: tuple[Face, ...] = ()
    pictures: Sha256 | None = None


class DieOffTable(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_off_table"):
    """A die left the table."""

    die: Die


class DieLost(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_lost"):
    """The camera lost a die. `pictures` is the SHA-256 of the file with the last pictures of the die."""

    die: Die
    pictures: Sha256 | None = None


class DieContact(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_contact"):
    """A die touched something, in flight or at rest."""

    die: Die
    with_: str = msgspec.field(name="with")


class WallImpact(Reading, frozen=True, kw_only=True, tag_field="kind", tag="wall_impact"):
    """An impact on a wall. `pos_mm` is the position along the wall: y on the end walls, x on the others.

    `peak` is the peak amplitude in counts of the sensor's converter.
    """

    wall: Wall
    pos_mm: Millimetres
    peak: Annotated[float, Meta(ge=0, le=1e9)]


class BallBeam(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_beam"):
    """The ball interrupted the track beam with number `beam`."""

    beam: Annotated[int, Meta(ge=0, le=255)]


class BallDrop(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_drop"):
    """The ball left the track."""


class BallOut(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_out"):
    """The ball was detected outside the wheel."""


class RotorIndex(Reading, frozen=True, kw_only=True, tag_field="kind", tag="rotor_index"):
    """The rotor's mark passed the index sensor."""

    direction: Turning


class PocketBall(Reading, frozen=True, kw_only=True, tag_field="kind", tag="pocket_ball"):
    """The pocket reader detected the ball in a pocket."""


class ForeignObject(Reading, frozen=True, kw_only=True, tag_field="kind", tag="foreign_object"):
    """An object other than the ball in the track, on the rotor or on the felt."""

    where: str


class WheelStatus(Reading, frozen=True, kw_only=True, tag_field="kind", tag="wheel_status"):
    """A smart wheel's report of its state, as an SS2 wheel sends it.

    `state` is 1 before the game, 2 place bets, 3 ball in rim, 4 no more bets, 5 winning number, 6 closed, or
    7 no ball in the track. `spin` is the wheel's own spin number. `number` is the last winning number, which
    is the previous game's number until state 5. `flags` is the sum of 1 for a ball that is not detected, 2
    for a ball that runs with the rotor, 4 for a component fault, and 8 for a failed launch. `direction` is
    the direction of the rotor. `announced` is a winning number that the wheel sent on a separate line before
    this report. `unheard_ms` is the silence before the report, if it was too long.
    """

    state: Annotated[int, Meta(ge=0, le=255)]
    spin: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    number: str | int | None = None
    flags: Annotated[int, Meta(ge=0, le=255)] = 0
    rotor_rpm_x10: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    direction: Turning | None = None
    announced: str | None = None
    unheard_ms: Annotated[int, Meta(ge=0, le=2**53)] = 0


class Card(Reading, frozen=True, kw_only=True, tag_field="kind", tag="card"):
    """A card left the shoe. The rank or the suit is None if it was not read."""

    rank: str | int | None = None
    suit: Literal["c", "d", "h", "s"] | None = None
    to: str | int | None = None


class DeviceUp(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_up"):
    """A device came online, for the first time or again."""

    reason: str = ""
    code: str | int = ""


class DeviceDown(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_down"):
    """A device is offline: unplugged, silent, or not the expected device."""

    reason: str = ""
    code: str | int = ""


class DeviceFault(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_fault"):
    """A device works but has a fault."""

    reason: str = ""
    code: str | int = ""


class Switch(Reading, frozen=True, kw_only=True, tag_field="kind", tag="switch"):
    """A door, key, tamper or lid switch changed state."""

    name: str
    open: bool


class Input(Reading, frozen=True, kw_only=True, tag_field="kind", tag="input"):
    """A person's input at a console. `by` is the role, and `who` the person, if known.

    The arguments are not validated here. The game machines refuse impossible arguments.
    """

    name: str
    by: str
    who: str | None = None
    dice: tuple[int, ...] | None = None
    seat: str | int | None = None
    seats: tuple[str | int, ...] | None = None
    number: str | int | None = None
    card: str | None = None
    count: int | None = None
    reason: str | None = None
    what: str | None = None
    on: bool | None = None


AnyReading = (
    DieReleased
    | DieAt
    | DieRest
    | DieOffTable
    | DieLost
    | DieContact
    | WallImpact
    | BallBeam
    | BallDrop
    | BallOut
    | RotorIndex
    | PocketBall
    | ForeignObject
    | WheelStatus
    | Card
    | DeviceUp
    | DeviceDown
    | DeviceFault
    | Switch
    | Input
)
"""Any reading, distinguished by `kind`."""


def names_card(reading: AnyReading | Reading) -> bool:
    """Return whether a reading reveals a card.

    In a game dealt face down, nobody may see such a reading until all positions have acted.
    """
    return isinstance(reading, Card) or (isinstance(reading, Input) and reading.name == "set_card")


def kind_of(reading: Reading) -> str:
    """Return the name of the reading's type on the wire."""
    tag = type(reading).__struct_config__.tag
    assert isinstance(tag, str)
    return tag
