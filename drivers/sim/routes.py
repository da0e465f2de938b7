"""Which device of a table's file tells what the virtual evening gives to be seen: the one that reads it."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import msgspec

from controller.model.readings import AnyReading, WallImpact, kind_of
from controller.model.tables import Device

Key = tuple[str, str | None]
"""A kind of reading, and the wall where it is an impact's."""
Route = Callable[[AnyReading], AnyReading]
SHARED = frozenset({"input", "switch"})
"""What several devices may send alike: people press whichever console is nearest."""


class AmbiguousError(ValueError):
    """Two devices read the same, and nothing tells which of them sees what; the message names them."""


def route_by(devices: Mapping[str, Device], own_names: Mapping[str, str]) -> Route:
    """Return what gives each reading to the device that reads its kind; a name of the evening's own is kept.

    `own_names` are those names by kind. A reading that no device reads keeps its name, and is not heard.

    Raises:
        AmbiguousError: two devices read one kind, and neither has the evening's own name.
    """
    readers: dict[Key, list[str]] = defaultdict(list)
    for name, device in devices.items():
        for kind in device.reads:
            readers[kind, device.wall if kind == "wall_impact" else None].append(name)
    for (read, wall), names in readers.items():
        own = f"wall-{wall}" if wall else own_names.get(read, "none")
        if len(names) > 1 and own not in names and read not in SHARED:
            raise AmbiguousError(
                f"found {read} read by {' and '.join(names)}, expected one of them, or one named {own!r}:"
                " a virtual table can't tell which of them sees what"
            )

    def routed(reading: AnyReading) -> AnyReading:
        wall = reading.wall if isinstance(reading, WallImpact) else None
        names = readers.get((kind_of(reading), wall), ())
        if not names or reading.dev in names:
            return reading
        return msgspec.structs.replace(reading, dev=names[0])

    return routed
