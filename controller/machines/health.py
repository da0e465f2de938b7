"""What is known of the devices: which are down, and what each is known to send."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from controller.machines.agenda import Agenda
from controller.model.outcomes import Happening
from controller.model.readings import DeviceDown, DeviceFault, DeviceUp, Reading, WallImpact, kind_of

DeviceReading = DeviceUp | DeviceDown | DeviceFault
RETURNS_KEPT = 32
"""More absences than a flaky cable causes within one attempt."""
BLINDNESS = frozenset({"lost_edges", "missed_edge", "babbling", "stuck"})
"""Faults that last while an input sees nothing, or not everything."""


class Health:
    """The devices as their own readings describe them; publishes each change once."""

    def __init__(self, agenda: Agenda, sources: Mapping[str, Iterable[str]] | None = None) -> None:
        """Start with what the configuration says that each device sends (`wall_impact:left` for a wall's)."""
        self.down: dict[str, DeviceDown] = {}
        self.sources: dict[str, tuple[str, ...]] = {d: _in_order(k) for d, k in (sources or {}).items()}
        self.known: set[tuple[str, type[Reading]]] = set()
        """The devices' kinds of readings of which `sent` learns nothing any more."""
        self._walls: set[tuple[str, str]] = set()
        self._agenda = agenda
        self._told: dict[str, DeviceReading] = {}
        self._untold: dict[str, DeviceReading] = {}
        self._gone: dict[str, DeviceReading] = {}
        self._returns: deque[tuple[DeviceReading, DeviceUp]] = deque(maxlen=RETURNS_KEPT)
        self._blind: dict[str, DeviceFault] = {}

    def sent(self, reading: Reading) -> None:
        """Remember that this device sends this kind of reading."""
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

    def see(self, reading: DeviceReading, *, tell: bool) -> None:
        """Handle a device's report of itself; with `tell` off (test mode) it is published later, if it still
        holds."""
        if isinstance(reading, DeviceDown):
            self.down[reading.dev] = reading
            self._gone.setdefault(reading.dev, reading)
        elif isinstance(reading, DeviceUp):
            lost = self.down.pop(reading.dev, None)
            gone = self._gone.pop(reading.dev, lost)
            if gone is not None:
                self._returns.append((gone, reading))
            self._blind.pop(reading.dev, None)
        elif reading.code in BLINDNESS:
            self._blind.setdefault(reading.dev, reading)
        if tell:
            self._publish(reading)
        else:
            self._untold[reading.dev] = reading

    def go_on_with(self, standing: Iterable[DeviceDown | DeviceFault]) -> None:
        """Restore the faults from before this recording, which were reported then."""
        for reading in standing:
            self._told[reading.dev] = reading
            if isinstance(reading, DeviceDown):
                self.down[reading.dev] = reading
            else:
                self._blind[reading.dev] = reading

    @property
    def wrong(self) -> Iterator[DeviceDown | DeviceFault]:
        """Yield what is wrong with devices now: those that are down, and those that do not detect
        everything."""
        yield from self.down.values()
        yield from self._blind.values()

    def standing(self, since_us: int) -> Iterator[DeviceReading]:
        """Yield what is wrong with devices now, and the absences that ended since then, each with its end."""
        yield from (reading for pair in self._returns if pair[1].t >= since_us for reading in pair)
        yield from self.wrong

    def absences(self, now_us: int) -> Iterator[tuple[int, int, str]]:
        """Yield from when to when devices were down, as far back as is kept; until now if one still is."""
        yield from ((gone.t, back.t, gone.dev) for gone, back in self._returns)
        yield from ((self._gone.get(dev, down).t, now_us, dev) for dev, down in self.down.items())

    def publish_pending(self, t: int) -> None:
        """Publish what changed while nothing was published and still holds, as of t."""
        for reading in self._untold.values():
            self._publish(reading, t)
        self._untold.clear()

    def _publish(self, reading: DeviceReading, t: int | None = None) -> None:
        before = self._told.get(reading.dev)
        same = (
            type(before) is type(reading) and before.reason == reading.reason and before.code == reading.code
            if before is not None
            else False
        )
        if same:
            return
        self._told[reading.dev] = reading
        data = Happening(
            cause=str(reading.code) or kind_of(reading), what=reading.dev, says=reading.reason or None
        )
        self._agenda.publish(kind_of(reading).replace("_", "."), reading.t if t is None else t, data)


def _in_order(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds in an order that is the same in every run."""
    return tuple(sorted(set(kinds)))
