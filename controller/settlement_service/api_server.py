"""The HTTP API in a thread of its own; it knows no broker, whose library a table without one never loads."""

import socket
from collections.abc import Sequence
from threading import Thread

import uvicorn

from controller.settlement_service.api import BrokerState, make_app
from controller.settlement_service.engine import Engine
from controller.settlement_service.faults import SettlementFault

STOP_S = 5.0


class _Server(uvicorn.Server):
    turns = 0
    """Goes up while its loop turns."""

    async def on_tick(self, counter: int) -> bool:
        self.turns += 1
        return await super().on_tick(counter)


class Api:
    """The HTTP API in a thread of its own."""

    def __init__(
        self,
        engine: Engine,
        host: str,
        port: int,
        certificate: Sequence[str] = (),
        broker: BrokerState = lambda: "none",
    ) -> None:
        """Take the port; raises SettlementFault where another program has it."""
        pem, key = (*certificate, None, None)[:2]
        self._server = _Server(
            uvicorn.Config(
                make_app(engine, broker),
                log_level="warning",
                access_log=False,
                ssl_certfile=pem,
                ssl_keyfile=key,
            )
        )
        try:
            self._listener = socket.create_server(
                (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET
            )
        except OSError as error:
            found, expected = error.strerror or str(error), "a port and an address of this machine"
            raise SettlementFault("api_port", f"{host}:{port}", found, expected) from error
        self._thread = Thread(target=self._server.run, args=([self._listener],), name="api", daemon=True)

    @property
    def ready(self) -> bool:
        """Whether requests are answered."""
        return self._server.started

    @property
    def turns(self) -> int:
        """Goes up while it answers."""
        return self._server.turns

    @property
    def alive(self) -> bool:
        """Whether its thread has not ended."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer what is under way, and no more."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(STOP_S)
        self._listener.close()
