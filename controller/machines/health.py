"""The health of the devices: their faults, and the kinds of reading that each device sends."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from controller.machines.agenda import Agenda
from controller.model.outcomes import TableEvent
from controller.model.readings import DeviceDown, DeviceFault, DeviceUp, Reading, WallImpact, kind_of

DeviceReading = DeviceUp | DeviceDown | DeviceFault
MAX_ENDED_ABSENCES = 32
"""The number of ended absences kept. A loose cable causes fewer within one attempt."""
BLINDING_FAULTS = frozenset({"lost_edges", "missed_edge", "babbling", "stuck"})
"""The codes of faults that prevent a device from detecting some or all events."""


class Health:
    """The health of the devices, as they report it. Each change is published once."""

    def __init__(self, agenda: Agenda, sources: Mapping[str, Iterable[str]] | None = None) -> None:
        """Start with each device's configured kinds of reading, such as `wall_impact:left`."""
        self.down: dict[str, DeviceDown] = {}
        self.sources: dict[str, tuple[str, ...]] = {d: _in_order(k) for d, k in (sources or {}).items()}
        self.known: set[tuple[str, type[Reading]]] = set()
        """The pairs of device and reading type that `sent` has recorded. Its caller can skip these pairs."""
        self._walls: set[tuple[str, str]] = set()
        self._agenda = agenda
        self._published: dict[str, DeviceReading] = {}
        self._pending: dict[str, DeviceReading] = {}
        self._first_down: dict[str, DeviceReading] = {}
        self._ended_absences: deque[tuple[DeviceReading, DeviceUp]] = deque(maxlen=MAX_ENDED_ABSENCES)
        self._blind: dict[str, DeviceFault] = {}

    def sent(self, reading: Reading) -> None:
        """Record that the reading's device sends readings of this kind."""
        if isinstance(reading, WallImpact):
            if (reading.dev, reading.wall) not in self._walls:
                self._walls.add((reading.dev, reading.wall))
                self._learn(reading, f":{reading.wall}")
        elif (reading.dev, type(reading)) not in self.known:
            self.known.add((reading.dev, type(reading)))
            self._learn(reading, "")

    def _learn(self, reading: Reading, wall: str) -> None:
        kinds = self.sources.get(reading.dev, ())
        self.sources[reading.dev] = _in_order((*kinds, kind_of(reading) + wall))

    def receive(self, reading: DeviceReading, *, publish: bool) -> None:
        """Handle a device's report on its health.

        Without `publish` (in test mode), the change is held for `publish_pending`.
        """
        if isinstance(reading, DeviceDown):
            self.down[reading.dev] = reading
            self._first_down.setdefault(reading.dev, reading)
        elif isinstance(reading, DeviceUp):
            last_down = self.down.pop(reading.dev, None)
            first_down = self._first_down.pop(reading.dev, last_down)
            if first_down is not None:
                self._ended_absences.append((first_down, reading))
            self._blind.pop(reading.dev, None)
        elif reading.code in BLINDING_FAULTS:
            self._blind.setdefault(reading.dev, reading)
        if publish:
            self._publish(reading)
        else:
            self._pending[reading.dev] = reading

    def restore(self, standing: Iterable[DeviceDown | DeviceFault]) -> None:
        """Restore the faults published before this recording."""
        for reading in standing:
            self._published[reading.dev] = reading
            if isinstance(reading, DeviceDown):
                self.down[reading.dev] = reading
            else:
                self._blind[reading.dev] = reading

    @property
    def current_faults(self) -> Iterator[DeviceDown | DeviceFault]:
        """The current faults: devices that are down, and devices that do not detect all events."""
        yield from self.down.values()
        yield from self._blind.values()

    def absences_and_faults(self, since_us: int) -> Iterator[DeviceReading]:
        """Yield both reports of each absence that has ended since `since_us`, then the current faults."""
        yield from (reading for pair in self._ended_absences if pair[1].t >= since_us for reading in pair)
        yield from self.current_faults

    def absences(self, now_us: int) -> Iterator[tuple[int, int, str]]:
        """Yield the start, end and device of each known absence. A current absence ends at `now_us`."""
        yield from ((down.t, up.t, down.dev) for down, up in self._ended_absences)
        yield from ((self._first_down.get(dev, down).t, now_us, dev) for dev, down in self.down.items())

    def publish_pending(self, t: int) -> None:
        """Publish the held changes as of `t`, except those that have been reversed."""
        for reading in self._pending.values():
            self._publish(reading, t)
        self._pending.clear()

    def _publish(self, reading: DeviceReading, t: int | None = None) -> None:
        before = self._published.get(reading.dev)
        same = (
            type(before) is type(reading) and before.reason == reading.reason and before.code == reading.code
            if before is not None
            else False
        )
        if same:
            return
        self._published[reading.dev] = reading
        data = TableEvent(
            cause=str(reading.code) or kind_of(reading), what=reading.dev, says=reading.reason or None
        )
        self._agenda.publish(kind_of(reading).replace("_", "."), reading.t if t is None else t, data)


def _in_order(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds, sorted so that the order is the same in every run."""
    return tuple(sorted(set(kinds)))
