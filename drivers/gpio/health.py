"""How the table's devices behind some GPIO lines are: what stands against each, told when it changes."""

from collections.abc import Iterable
from dataclasses import dataclass

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp
from drivers.gpio.troubles import reason_for

PASSES_US = 1_000_000
"""A trouble of a moment stands for so long."""
AGAIN_US = 50_000
"""Lost again while it stands is told again, but not oftener than this."""
BACKDATED_US = 100_000
"""Edges were lost before it was noticed. The fault bears that time, as far as the table still takes it."""


@dataclass(slots=True)
class _Standing:
    seen: str
    told_us: int
    passes_us: int | None


class GpioHealth:
    """The troubles of one or more of the table's devices."""

    def __init__(self, devices: Iterable[str]) -> None:
        """Begin with all of them down."""
        self._down: dict[str, bool] = dict.fromkeys(devices, True)
        self._standing: dict[str, dict[tuple[str, str], _Standing]] = {dev: {} for dev in self._down}

    @property
    def is_down(self) -> bool:
        """Whether the lines are not there."""
        return any(self._down.values())

    @property
    def troubles(self) -> list[str]:
        """Name what stands, each as `code input`."""
        return [" ".join(key) for standing in self._standing.values() for key in standing]

    def stands(self, dev: str, code: str, source: str) -> bool:
        """Tell whether this trouble stands."""
        return (code, source) in self._standing[dev]

    def down(self, now_us: int, code: str, seen: str) -> list[AnyReading]:
        """All devices are gone, and with them what else stood against them."""
        reason = reason_for(code, seen)
        for dev in self._down:
            self._down[dev] = True
            self._standing[dev].clear()
        return [DeviceDown(t=now_us, dev=dev, code=code, reason=reason, arrived=now_us) for dev in self._down]

    def up(self, now_us: int, seen: str) -> list[AnyReading]:
        """All devices are there; what stood against them while they were down is told again."""
        told: list[AnyReading] = []
        for dev in [dev for dev, was_down in self._down.items() if was_down]:
            self._down[dev] = False
            told.append(DeviceUp(t=now_us, dev=dev, code="up", reason=seen, arrived=now_us))
            told += [_fault(now_us, dev, code, s.seen) for (code, _), s in self._standing[dev].items()]
        return told

    def fault(
        self, now_us: int, dev: str, code: str, source: str, seen: str, *, since_us: int, passes: bool = False
    ) -> list[AnyReading]:
        """Take a trouble of one input; one that `passes` is over by itself."""
        key = (code, source)
        standing = self._standing[dev].get(key)
        ends_us = now_us + PASSES_US if passes else None
        if standing is not None:
            standing.passes_us = ends_us
            if not passes or now_us - standing.told_us < AGAIN_US:
                return []
        self._standing[dev][key] = _Standing(seen, now_us, ends_us)
        return [_fault(now_us, dev, code, seen, since_us)]

    def over(self, now_us: int, dev: str, code: str, source: str) -> list[AnyReading]:
        """End a trouble; the device is well when it was the last one."""
        if self._standing[dev].pop((code, source), None) is None or self._standing[dev] or self._down[dev]:
            return []
        return [DeviceUp(t=now_us, dev=dev, code="up", reason=f"{source} is well again", arrived=now_us)]

    def tick(self, now_us: int) -> list[AnyReading]:
        """End what passes by itself."""
        told: list[AnyReading] = []
        for dev, standing in self._standing.items():
            for (code, source), trouble in list(standing.items()):
                if trouble.passes_us is not None and trouble.passes_us <= now_us:
                    told += self.over(now_us, dev, code, source)
        return told

    def next_deadline(self) -> int | None:
        """Give when the next trouble passes."""
        ends = (t.passes_us for standing in self._standing.values() for t in standing.values())
        return min((end for end in ends if end is not None), default=None)


def _fault(now_us: int, dev: str, code: str, seen: str, since_us: int | None = None) -> DeviceFault:
    t_us = now_us if since_us is None else min(now_us, max(since_us, now_us - BACKDATED_US, 0))
    return DeviceFault(t=t_us, dev=dev, code=code, reason=reason_for(code, seen), arrived=now_us)
