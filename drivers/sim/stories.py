"""What a virtual table tells of itself, one JSON line each: attempts with their truth, and faults."""

import msgspec

from drivers.sim.scenes import Scene


class Played(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="told", tag="attempt"):
    """An attempt was made: what happened, and which faults may have hidden some of it.

    It is over at `ends_us`, when the next one begins. What is told of a disturbed one may be a review instead
    of its call, or nothing where the table could not see it; never something that did not happen.
    """

    t: int
    attempt: int
    scene: Scene
    ends_us: int
    disturbed_by: tuple[str, ...] = ()


class Began(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault"):
    """A fault began: the codes that the table must tell of this device, and what a technician should see."""

    t: int
    fault: str
    device: str
    seconds: float
    codes: tuple[str, ...]
    sees: str


class Over(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault_over"):
    """A fault is over; the device must be well again soon."""

    t: int
    fault: str
    device: str


Story = Played | Began | Over
