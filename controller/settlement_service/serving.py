"""Serve a settlement engine: its HTTP API, and the broker's outcomes in a thread beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Event, Thread

import uvicorn

from controller.publish.settings import MqttSettings
from controller.settlement_service.api import make_app
from controller.settlement_service.consuming import Broker, Clock, Say
from controller.settlement_service.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where the API listens, and the broker that outcomes come from, where there is one."""

    host: str
    port: int
    name: str
    certificate: Sequence[str] = ()
    """Certificate and key of the API, as PEM files; without them only this machine is served."""
    broker: MqttSettings | None = None


def serve(engine: Engine, serving: Serving, now_us: Clock, say: Say) -> None:
    """Serve until the process is told to end (SIGTERM, SIGINT)."""
    stop = Event()
    thread = None
    if serving.broker is not None:
        broker = Broker(engine, serving.broker, serving.name, now_us, say)
        thread = Thread(target=broker.run, args=(stop,), name="broker", daemon=True)
        thread.start()
    certificate, key = (*serving.certificate, None, None)[:2]
    server = uvicorn.Server(
        uvicorn.Config(
            make_app(engine),
            host=serving.host,
            port=serving.port,
            log_level="warning",
            access_log=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
    )
    try:
        server.run()
    finally:
        stop.set()
        if thread is not None:
            thread.join(5.0)
