"""Faults of a virtual table on somebody's order or by a seed: begun now, ended by themselves."""

from random import Random

import msgspec

from drivers.sim import fault_works as works
from drivers.sim.faults import FAULTS, kind_of
from drivers.sim.stories import Began
from drivers.sim.table import VirtualTable

LONGEST_S = 600.0


class Order(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault that somebody wants: for how long, and a figure or word of its own where it has one."""

    fault: str
    device: str = ""
    seconds: float | None = None
    value: float | None = None
    name: str | None = None


_decode_order = msgspec.json.Decoder(Order).decode


class OrderError(ValueError):
    """An order that can't be; the message says what was found and what was expected."""


def fitting(table: VirtualTable, name: str) -> tuple[str, ...]:
    """Name the devices of a table that can have this fault."""
    fault = FAULTS[name]
    if fault.all_devices:
        return ("",)
    if fault.do is works.swap_cables and sum(kind_of(c) == "node" for c in table.cables.values()) < 2:
        return ()
    return tuple(
        device
        for device, cable in table.cables.items()
        if kind_of(cable) in fault.on and fault.only in ("", device)
    )


def read_order(line: bytes) -> Order:
    """Read an order, one JSON object; raises OrderError."""
    try:
        return _decode_order(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise OrderError(f'{error}; expected such as {{"fault": "unplug", "device": "cam"}}') from error


def carry_out(table: VirtualTable, order: Order, now_us: int) -> Began:
    """Begin a fault now; it ends by itself.

    Raises:
        OrderError: there is no such fault or device, the device can't have it or has another already.
    """
    fault = FAULTS.get(order.fault)
    if fault is None:
        raise OrderError(f"found fault {order.fault!r}, expected one of {', '.join(FAULTS)}")
    devices = fitting(table, order.fault)
    if not devices:
        raise OrderError(f"{order.fault}: no device of this table can have it")
    device = order.device or devices[0]
    if device not in devices:
        raise OrderError(f"{order.fault}: found device {device!r}, expected one of {', '.join(devices)}")
    seconds = fault.seconds if order.seconds is None else order.seconds
    if not 0 < seconds <= LONGEST_S:
        raise OrderError(f"{order.fault}: found {seconds} seconds, expected up to {LONGEST_S:g}")
    concerned = works.concerned(table, fault.do, device)
    if any(map(table.troubled, concerned)) or (fault.all_devices and not table.well):
        raise OrderError(
            f"{order.fault}: a fault stands at {device or 'some device'} already; wait for its end"
        )
    undo = fault.do(works.Site(table, device, now_us, order.value, order.name))
    cable = table.cables.get(device) or next(iter(table.cables.values()))
    short = seconds < fault.seconds
    began = Began(
        t=now_us,
        fault=order.fault,
        device=device,
        seconds=seconds,
        codes=() if short else tuple(fault.codes.get(kind_of(cable), ())),
        sees=fault.sees,
    )
    table.begin(began, undo, now_us + round(seconds * 1e6), also=concerned[1:])
    return began


class Schedule:
    """Faults of a seed: one after another, each at some device, some seconds apart."""

    def __init__(
        self, table: VirtualTable, seed: int, *, every_s: float, without: frozenset[str] = frozenset()
    ) -> None:
        """Draw a fault every so many seconds on average, of all that this table can have."""
        self._table = table
        self._rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
        self._every_s = every_s
        self._stopped = False
        self._names = [name for name in FAULTS if name not in without and fitting(table, name)]

    def start(self, now_us: int) -> None:
        """Begin with the first."""
        self._table.at(now_us + self._gap_us(), self._next)

    def stop(self) -> None:
        """Have no more; those that stand end in their own time."""
        self._stopped = True

    def _next(self, now_us: int) -> None:
        if self._stopped or self._table.over:
            return
        name = self._rng.choice(self._names)
        device = self._rng.choice(fitting(self._table, name))
        concerned = works.concerned(self._table, FAULTS[name].do, device)
        free = not any(map(self._table.troubled, concerned))
        if free and (self._table.well or not FAULTS[name].all_devices):
            carry_out(self._table, Order(fault=name, device=device), now_us)
        self._table.at(now_us + self._gap_us(), self._next)

    def _gap_us(self) -> int:
        return round(self._rng.uniform(0.4, 1.6) * self._every_s * 1e6)
