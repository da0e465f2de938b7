"""What is known of the devices and switches since the start, for the self-test and the status."""

from typing import NamedTuple

from controller.engine.setup import Setup
from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp, Input, Switch, kind_of


class Seen(NamedTuple):
    """One device: what its last word of health was, how much it sent, and when last."""

    up: bool
    says: str
    readings: int
    last_us: int


class Devices:
    """Written by the core's thread, read by others."""

    def __init__(self, setup: Setup) -> None:
        """Expect nothing yet."""
        self._locking = setup.locking_switches
        self._seen: dict[str, Seen] = {}
        self._open: dict[tuple[str, str], bool] = {}

    def saw(self, reading: AnyReading) -> None:
        """Take note of a reading."""
        if isinstance(reading, Input) and reading.dev in ("controller", "control"):
            return
        before = self._seen.get(reading.dev)
        count = 1 if before is None else before.readings + 1
        says, up = ("", True) if before is None else (before.says, before.up)
        if isinstance(reading, DeviceUp | DeviceDown | DeviceFault):
            up = not isinstance(reading, DeviceDown)
            says = f"{kind_of(reading)}: {reading.reason}" if reading.reason else kind_of(reading)
        elif isinstance(reading, Switch):
            self._open[reading.dev, reading.name] = reading.open
        self._seen[reading.dev] = Seen(up, says, count, reading.arrived or reading.t)

    @property
    def seen(self) -> dict[str, Seen]:
        """Give every device that was heard of, by its name."""
        return self._seen.copy()

    def missing(self, wanted: frozenset[str]) -> tuple[str, ...]:
        """Name those that are down or were never heard of."""
        seen = self.seen
        return tuple(sorted(name for name in wanted if name not in seen or not seen[name].up))

    @property
    def open_switches(self) -> tuple[str, ...]:
        """Name the locking switches that are open."""
        opened = self._open.copy()
        return tuple(
            sorted(
                f"{name} on {dev}"
                for (dev, name), is_open in opened.items()
                if is_open and name in self._locking
            )
        )
