"""Metrics of the table, the controller and this console, for Prometheus (OpenMetrics text).

The metrics contain no cards, and no values from which a ball could be timed while bets are open (R-SPIN-3).
For example, they do not count all readings, because the count would increase with each pass of the ball.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec
from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from controller.console.answers import Fault
from controller.console.link import Json
from controller.model.conversion import converter_of

__all__ = ["CONTENT_TYPE", "exposition", "read_status", "type_of_line"]


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """The attempt that is waiting for a person, under review or with a proposed result."""

    state: str


class DeviceSample(msgspec.Struct, frozen=True, kw_only=True):
    """A device's type, and whether it is up."""

    type: str = ""
    up: bool = False


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The journal's last row, and the number of rows waiting for the disk."""

    last_row: int = 0
    waiting: int = 0


class Publish(msgspec.Struct, frozen=True, kw_only=True):
    """Whether settlement accepts outcomes, and the number of unacknowledged outcomes."""

    ready: bool = False
    unacknowledged: int | None = None


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """The CPU time and the resident memory of the controller's process."""

    cpu_s: float = 0.0
    resident_bytes: int | None = None


class WallClock(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the machine's clock is synchronized."""

    synchronized: bool = False


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The table's state. The status omits `table` while the table is open."""

    table: str = "open"


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """The part of the controller's status that the metrics use."""

    table: str
    ruleset: str = ""
    lock: str = "locked"
    faults: tuple[Fault, ...] = ()
    wall: WallClock = WallClock()
    awaited: Awaited | None = None
    state: State | None = None
    """None until the controller has opened its journal."""
    next: dict[str, int] = {}
    late: int = 0
    testing: bool = False
    devices: dict[str, DeviceSample] = {}
    journal: Journal = Journal()
    publish: Publish = Publish()
    process: Process = Process()


_status_of = converter_of(Status)


def read_status(value: object) -> Status:
    """Convert a status. Raises `msgspec.ValidationError`."""
    return _status_of(value)


def exposition(status: Status | None, outcome_counts: Counter[str], streams: int) -> bytes:
    """Return all metrics as OpenMetrics text.

    `status` is None if the controller does not respond. `outcome_counts` is the number of outcomes of each
    type since this console started, and `streams` the number of open streams to screens.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Table(status, outcome_counts, streams))
    ProcessCollector(namespace="console", registry=registry)
    PlatformCollector(registry=registry)
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]  # the library leaves it untyped
    return text


class _Table(Collector):
    def __init__(self, status: Status | None, outcome_counts: Counter[str], streams: int) -> None:
        self._status = status
        self._outcome_counts = outcome_counts
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        """Yield each family of metrics."""
        yield _gauge("table_up", "Whether the controller responds", {(): self._status is not None})
        yield _gauge("console_streams", "Open streams to screens", {(): self._streams})
        yield _counter(
            "table_outcomes_told",
            "Outcomes received since the console started",
            ("type",),
            {(type_,): count for type_, count in self._outcome_counts.items()},
        )
        if self._status is not None:
            yield from _families(self._status)


def _families(status: Status) -> Iterator[Metric]:
    table_info = InfoMetricFamily("table", "The table's name and rule set")
    table_info.add_metric((), {"table": status.table, "ruleset": status.ruleset})
    yield table_info
    yield _gauge(
        "table_open",
        "Whether the table is open",
        {(): status.state is not None and status.state.table == "open"},
    )
    yield _gauge("table_locked", "Whether the table is locked", {(): status.lock == "locked"})
    yield _gauge("table_testing", "Whether a technician has the table in test mode", {(): status.testing})
    waits = "" if status.awaited is None else status.awaited.state
    yield _gauge(
        "table_awaits_person",
        "Whether an attempt is waiting for a ruling (review) or a confirmation (proposed)",
        {(why,): why == waits for why in ("review", "proposed")},
        ("why",),
    )
    yield _gauge(
        "table_fault",
        "Active faults",
        {(fault.code, fault.where): 1 for fault in status.faults},
        ("code", "where"),
    )
    yield _gauge(
        "table_device_up",
        "Whether a device responds",
        {(name, device.type): device.up for name, device in status.devices.items()},
        ("device", "type"),
    )
    yield _counter(
        "table_attempts",
        "Rolls, spins or deals since the journal began",
        ("attempt",),
        {(word,): status.next[word] - 1 for word in ("roll", "spin", "deal") if status.next.get(word, 1) > 1},
    )
    yield _counter(
        "table_outcomes", "Outcomes since the journal began", (), {(): status.next.get("seq", 1) - 1}
    )
    yield _counter(
        "table_late_readings",
        "Readings in this session that arrived too late to count",
        (),
        {(): status.late},
    )
    yield _gauge(
        "table_clock_synchronized", "Whether the clock is synchronized", {(): status.wall.synchronized}
    )
    yield _gauge("table_journal_waiting", "Journal rows waiting for the disk", {(): status.journal.waiting})
    yield _gauge("table_settlement_ready", "Whether settlement accepts outcomes", {(): status.publish.ready})
    if status.publish.unacknowledged is not None:
        yield _gauge(
            "table_unacknowledged_outcomes",
            "Outcomes that settlement has not acknowledged",
            {(): status.publish.unacknowledged},
        )
    yield _counter(
        "table_cpu_seconds", "CPU time that the controller's process has used", (), {(): status.process.cpu_s}
    )
    if status.process.resident_bytes is not None:
        yield _gauge(
            "table_resident_bytes",
            "Memory of the controller's process",
            {(): status.process.resident_bytes},
        )


def _gauge(
    name: str, words: str, values: dict[tuple[str, ...], float], labels: Iterable[str] = ()
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, words, labels=tuple(labels))
    for label_values, value in values.items():
        family.add_metric(label_values, float(value))
    return family


def _counter(
    name: str, words: str, labels: Iterable[str], values: dict[tuple[str, ...], float]
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, words, labels=tuple(labels))
    for label_values, value in values.items():
        family.add_metric(label_values, float(value))
    return family


def type_of_line(line: Json) -> str | None:
    """Return the type of the outcome in a line from `watch`; None if the line has no outcome."""
    outcome = line.get("outcome")
    type_ = outcome.get("type") if isinstance(outcome, dict) else None
    return type_ if isinstance(type_, str) else None
