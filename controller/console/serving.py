"""Serving the pages: uvicorn with its limits, and connections of which each step has its time."""

import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from controller.console.app import Console
from controller.console.guard import LOOPBACK
from controller.console.link import Link
from controller.console.tls_listening import TlsListening, listening
from controller.console.workbench import Bench
from controller.evidence.folder import FOLDER
from controller.serving.connections import Limits, Server

LIMITS = Limits(max_open=96, exchange_s=300.0)
"""Streams are among them; a technician's download may take its time."""
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
        "ws": "none",
        "loop": "asyncio",
        "access_log": False,
        "log_level": "warning",
        "server_header": False,
        "proxy_headers": False,
        "timeout_keep_alive": round(LIMITS.keep_s),
        "timeout_graceful_shutdown": STOP_S,
        "h11_max_incomplete_event_size": HEAD_BYTES,
    }
    if settings.certificate is not None:
        config |= {"ssl_certfile": settings.certificate, "ssl_keyfile": settings.key}
    hosts = (*LOOPBACK, *settings.hosts, *(() if settings.host in LOOPBACK else (settings.host,)))
    server = _Server(uvicorn.Config(console.app(hosts), **config), ready, console.end_streams)
    kind = TlsListening if settings.secure else socket.socket
    server.run(list(listening(settings.host, settings.port, kind)))


class _Server(Server):
    """Says where it listens, once it does; ends the streams before it stops."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[str], None], end_streams: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config, LIMITS)
        self._ready = ready
        self._end_streams = end_streams

    async def shutdown(self, sockets: Any = None) -> None:  # Any: the library's own
        """End the streams, then stop."""
        await self._end_streams()
        await super().shutdown(sockets)

    async def startup(self, sockets: Any = None) -> None:  # Any: the library's own
        """Accept, then tell."""
        await super().startup(sockets)
        for bound in sockets or ():
            host, port = bound.getsockname()[:2]
            scheme = "https" if self.config.is_ssl else "http"
            self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
