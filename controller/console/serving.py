"""Serving the pages: uvicorn with its limits, and a head that must come in time."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.console.app import Console
from controller.console.guard import LOOPBACK
from controller.console.link import Link
from controller.console.tls_listening import listening
from controller.console.workbench import Bench
from controller.evidence.folder import FOLDER

HEAD_S = 5.0
"""A request's head is there so long after the connection was made."""
CONNECTIONS = 96
"""At once: streams among them."""
KEEP_S = 15
STOP_S = 2
HEAD_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where to serve, and whom to speak to."""

    socket: str
    sign_in: str
    name: str
    host: str
    port: int
    hosts: tuple[str, ...] = ()
    """Names beside the loopback's own that this console goes by."""
    certificate: Path | None = None
    key: Path | None = None
    evidence: Path = Path(FOLDER)
    """Where a dice camera keeps its pictures."""
    metrics_to: tuple[str, ...] = ()
    """Addresses beside this machine's own from which Prometheus may ask."""

    @property
    def secure(self) -> bool:
        """Whether the pages go over TLS."""
        return self.certificate is not None

    def fault(self) -> str | None:
        """Describe what is wrong with these settings; None where nothing is."""
        if self.host not in LOOPBACK and not self.secure:
            return (
                f"--host: found {self.host} without TLS, expected --certificate and --key: PINs would go over"
                " the network in the clear"
            )
        if (self.certificate is None) != (self.key is None):
            return "found one of --certificate and --key, expected both"
        if self.certificate is not None:
            return _fault_of(self.certificate, self.key)
        return None


def _fault_of(certificate: Path, key: Path | None) -> str | None:
    try:
        # A key with a passphrase would stop the start to ask a keyboard that is not there.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as error:
        return (
            f"--certificate, --key: found {certificate} and {key} unusable ({error}), expected a certificate"
            " and its own key, both PEM files that this user can read, the key without a passphrase"
        )
    return None


class Prompt(H11Protocol):
    """A connection whose first request comes in time: half-sent ones are given up."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the library has it
        """Begin."""
        super().connection_made(transport)
        self._due = asyncio.get_running_loop().call_later(HEAD_S, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._due is not None:
            self._due.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        begun: object = self.cycle
        if begun is None:
            self.transport.abort()


def serve(settings: Settings, ready: Callable[[str], None], bench: Bench | None = None) -> None:
    """Serve until SIGTERM; raises OSError where the port or the certificate can't be had."""
    console = Console(
        Link(settings.socket, "the controller"),
        Link(settings.sign_in, "the sign-in process"),
        settings.name,
        secure=settings.secure,
        scrapers=(*LOOPBACK, *settings.metrics_to),
        evidence=settings.evidence,
        bench=bench,
    )
    config: Any = {  # Any: the library's own arguments
        "host": settings.host,
        "port": settings.port,
        "http": Prompt,
        "ws": "none",
        "loop": "asyncio",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "limit_concurrency": CONNECTIONS,
        "timeout_keep_alive": KEEP_S,
        "timeout_graceful_shutdown": STOP_S,
        "h11_max_incomplete_event_size": HEAD_BYTES,
    }
    if settings.certificate is not None:
        config |= {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.key}
    hosts = (*LOOPBACK, *settings.hosts, *(() if settings.host in LOOPBACK else (settings.host,)))
    server = _Server(uvicorn.Config(console.app(hosts), **config), ready, console.end_streams)
    server.run(None if settings.certificate is None else list(listening(settings.host, settings.port)))


class _Server(uvicorn.Server):
    """Says where it listens, once it does; ends the streams before it stops."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[str], None], end_streams: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config)
        self._ready = ready
        self._end_streams = end_streams

    async def shutdown(self, sockets: Any = None) -> None:  # Any: the library's own
        """End the streams, then stop."""
        await self._end_streams()
        await super().shutdown(sockets)

    async def startup(self, sockets: Any = None) -> None:  # Any: the library's own
        """Bind, then tell."""
        await super().startup(sockets)
        for server in self.servers:
            for bound in server.sockets:
                host, port = bound.getsockname()[:2]
                scheme = "https" if self.config.is_ssl else "http"
                self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
