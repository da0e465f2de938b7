"""The settlement service: an engine, its HTTP API in a separate process, and its MQTT client in a thread."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread

from controller.model.tables import MqttSettings
from controller.settlement_service.channel import BrokerState
from controller.settlement_service.consuming import BrokerClient, Clock, Say
from controller.settlement_service.engine import Engine
from controller.settlement_service.http_supervisor import STOP_TIMEOUT_S, HttpSupervisor
from controller.settlement_service.key import EngineKey

TURN_S = 0.5
START_S = 60
"""Extension of the start timeout. The service requests it from systemd every turn until the API and the
broker are ready."""
Notify = Callable[..., None]
"""Notifies systemd, as in sd_notify(3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """The settings of the service."""

    host: str
    port: int
    name: str
    certificate: Sequence[str] = ()
    """The PEM files of the API's certificate and key; empty if the API serves this machine only."""
    broker: MqttSettings | None = None
    """The broker from which outcomes are received; None if there is none."""


def serve(
    engine: Engine, serving: Serving, now_us: Clock, say: Say, *, stop: Event, notify: Notify, key: EngineKey
) -> None:
    """Run the service until `stop` is set, and report its state to systemd.

    `key` signs the answers to tables. Raises SettlementFault if the API's port can't be bound.
    """
    broker = None
    if serving.broker is not None:
        broker = BrokerClient(engine, serving.broker, serving.name, now_us, say, key=key)
    http = HttpSupervisor(
        engine,
        serving.host,
        serving.port,
        certificate=serving.certificate,
        broker=lambda: _broker_state(broker),
    )
    thread = Thread(target=broker.run, args=(stop,), name="broker", daemon=True) if broker else None
    try:
        http.start()
        if thread is not None:
            thread.start()
        _supervise(engine, http, broker, stop, notify)
    finally:
        notify("STOPPING=1")
        stop.set()
        http.stop()
        if thread is not None:
            thread.join(STOP_TIMEOUT_S)


def _supervise(
    engine: Engine, http: HttpSupervisor, broker: BrokerClient | None, stop: Event, notify: Notify
) -> None:
    """Report READY when the API and the broker are ready. Notify the watchdog while all parts are running.

    The parts are the HTTP process, the broker's thread and the database. While the database is not writable,
    the watchdog is not notified, and systemd restarts the service.
    """
    ready = False
    before = _turns(http, broker)
    while not stop.wait(TURN_S):
        database = "writable" if engine.write_fault is None else f"NOT WRITABLE ({engine.write_fault})"
        api = "responds" if http.ready else "is starting"
        connection = _CONNECTIONS[_broker_state(broker)]
        status = f"STATUS=HTTP API {api}, broker: {connection}, database: {database}"
        if not ready:
            ready = http.ready and _broker_state(broker) != "away"
            notify("READY=1" if ready else f"EXTEND_TIMEOUT_USEC={START_S}000000", status)
        now = _turns(http, broker)
        if all(turned > earlier for turned, earlier in zip(now, before, strict=True)):
            before = now
            notify("WATCHDOG=1", status)
        else:
            notify(status)


def _turns(http: HttpSupervisor, broker: BrokerClient | None) -> tuple[int, ...]:
    return (http.beats, http.probes, *(() if broker is None else (broker.turns,)))


_CONNECTIONS: Mapping[BrokerState, str] = {
    "none": "none",
    "connected": "connected",
    "away": "not connected",
}


def _broker_state(broker: BrokerClient | None) -> BrokerState:
    if broker is None:
        return "none"
    return "connected" if broker.ready else "away"
