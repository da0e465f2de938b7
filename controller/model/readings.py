"""Readings: one flat record for each thing that a sensor saw or a person did.

`t` is integer microseconds on the table's monotonic clock, lengths are millimetres, angles degrees
(counter-clockwise positive seen from above). x runs from the left end wall to the right one, y from the
stickperson's rail to the boxperson's. On the wire `kind` names the type.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Microseconds = Annotated[int, Meta(ge=0, le=2**53)]
"""285 years: the largest value that every JSON reader keeps exactly."""
Millimetres = Annotated[float, Meta(ge=-1e6, le=1e6)]
"""A kilometre either way: no table is larger."""
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", min_length=64, max_length=64)]
"""The SHA-256 that names a file of pictures, in hexadecimal digits."""
Die = Literal[1, 2]
Face = Literal[1, 2, 3, 4, 5, 6]
Wall = Literal["left", "right", "front", "back"]
Turning = Literal["cw", "ccw"]
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
    """What every reading carries: its time, its device and, in a recording, when it arrived.

    Its fields are plain values and tuples of them, so no reading can be part of a cycle.
    """

    t: Microseconds
    dev: str
    arrived: Microseconds | None = None


class DieReleased(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_released"):
    """A die leaves the shooter's hand; with `in_flight` it had left a hand out of the camera's sight before.

    Its place is then where the camera first saw it, and tells nothing of where the shooter stands.
    """

    die: Die
    x: Millimetres
    y: Millimetres
    in_flight: bool = False


class DieAt(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_at"):
    """A point of a die's track: the die's centre in one camera frame.

    `error_mm` is its standard error towards the walls that dice must hit, where the camera knows it; else the
    table's setting holds.
    """

    die: Die
    x: Millimetres
    y: Millimetres
    error_mm: Annotated[float, Meta(gt=0, le=1000)] | None = None


class DieRest(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_rest"):
    """A die at rest: the face up (None when no one face is), and what it lies on.

    `resting_sides` are the faces that rest on chips or another object; empty when the die is flat. `pictures`
    names the file of what the camera saw; no judge reads it.
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
    """The camera lost a die: hidden, or gone. `pictures` names the file of what it saw until then."""

    die: Die
    pictures: Sha256 | None = None


class DieContact(Reading, frozen=True, kw_only=True, tag_field="kind", tag="die_contact"):
    """A die touched something, in flight or at rest."""

    die: Die
    with_: str = msgspec.field(name="with")


class WallImpact(Reading, frozen=True, kw_only=True, tag_field="kind", tag="wall_impact"):
    """A knock on a wall: where along it (y on the end walls, x on the others), and how hard in ADC counts."""

    wall: Wall
    pos_mm: Millimetres
    peak: Annotated[float, Meta(ge=0, le=1e9)]


class BallBeam(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_beam"):
    """The ball cut the track beam of this number."""

    beam: Annotated[int, Meta(ge=0, le=255)]


class BallDrop(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_drop"):
    """The ball left the track."""


class BallOut(Reading, frozen=True, kw_only=True, tag_field="kind", tag="ball_out"):
    """The ball was seen outside the wheel."""


class RotorIndex(Reading, frozen=True, kw_only=True, tag_field="kind", tag="rotor_index"):
    """The rotor's mark passed the index sensor, turning this way."""

    direction: Turning


class PocketBall(Reading, frozen=True, kw_only=True, tag_field="kind", tag="pocket_ball"):
    """The pocket reader saw the ball in a pocket that passed under it."""


class ForeignObject(Reading, frozen=True, kw_only=True, tag_field="kind", tag="foreign_object"):
    """Something that is not the ball: in the track, on the rotor, on the felt."""

    where: str


class WheelStatus(Reading, frozen=True, kw_only=True, tag_field="kind", tag="wheel_status"):
    """A smart wheel reader's own word, as an SS2 reader gives it.

    `state`: 1 before the game, 2 place bets, 3 ball in rim, 4 no more bets, 5 winning number, 6 closed, 7 no
    ball in the track. `spin` is the wheel's own count, `number` its last winning number: the game before's
    until state 5. `flags` add: 1 ball not sensed, 2 ball runs with the rotor, 4 component fault, 8 launch
    failed. `direction` is the rotor's. `announced` is a winning number told in a line of its own before this
    word. `unheard_ms` tells that the reader was silent before it for longer than it should be.
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
    """A card left the shoe; rank or suit None when it could not be read."""

    rank: str | int | None = None
    suit: Literal["c", "d", "h", "s"] | None = None
    to: str | int | None = None


class DeviceUp(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_up"):
    """A device came up, or came back."""

    reason: str = ""
    code: str | int = ""


class DeviceDown(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_down"):
    """A device is gone: unplugged, silent, or not what it should be."""

    reason: str = ""
    code: str | int = ""


class DeviceFault(Reading, frozen=True, kw_only=True, tag_field="kind", tag="device_fault"):
    """A device is there but not well."""

    reason: str = ""
    code: str | int = ""


class Switch(Reading, frozen=True, kw_only=True, tag_field="kind", tag="switch"):
    """A door, key, tamper or lid switch changed."""

    name: str
    open: bool


class Input(Reading, frozen=True, kw_only=True, tag_field="kind", tag="input"):
    """What a person did at a console: `by` is the role, `who` the person where known.

    The arguments are taken as they come; the game machines refuse those that make no sense.
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
    """Return whether a reading shows a card: nobody may see it before every position has acted."""
    return isinstance(reading, Card) or (isinstance(reading, Input) and reading.name == "set_card")


def kind_of(reading: Reading) -> str:
    """Return the word that names this reading's type on the wire."""
    tag = type(reading).__struct_config__.tag
    assert isinstance(tag, str)
    return tag
