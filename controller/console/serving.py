"""The console's HTTP server, which limits its connections and refuses plain HTTP on a TLS port."""

import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn

from controller.console.app import Console
from controller.console.guard import LOOPBACK
from controller.console.link import Link
from controller.console.technician import Bench
from controller.evidence.pictures import FOLDER
from controller.serving.connections import Limits, Server

TLS_HANDSHAKE = 0x16
"""The first byte of every TLS connection: a handshake record (RFC 8446, 5.1)."""
DEFER_ACCEPT_S = 5
"""Time after which the kernel reports a connection on which no data has arrived."""
_WORDS = b"This console accepts HTTPS only; use https:// instead of http://.\n"
HTTPS_ONLY = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
    b"connection: close\r\ncache-control: no-store\r\n\r\n%b" % (len(_WORDS), _WORDS)
)
_NO_WAIT = socket.MSG_DONTWAIT
_DISCARDED_BYTES = 65_536


class TlsListeningSocket(socket.socket):
    """A listening socket that accepts TLS connections, and answers plain HTTP with an error."""

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next TLS connection. Raises ConnectionAbortedError after answering plain HTTP."""
        connection, address = super().accept()
        if _began_plain(connection):
            _answer(connection)
            raise ConnectionAbortedError
        return connection, address


def listening_sockets(host: str, port: int, kind: type[socket.socket]) -> Sequence[socket.socket]:
    """Return sockets of this class, bound to all addresses of a host. Raises OSError."""
    bound: list[socket.socket] = []
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, type_, protocol, _, address in dict.fromkeys(infos):
            one = kind(family, type_, protocol)
            bound.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if kind is TlsListeningSocket:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, DEFER_ACCEPT_S)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _began_plain(connection: socket.socket) -> bool:
    try:
        first = connection.recv(1, socket.MSG_PEEK | _NO_WAIT)
    except OSError:
        return False  # The client has sent nothing yet. The time limit of the handshake applies.
    return first != b"" and first[0] != TLS_HANDSHAKE


def _answer(connection: socket.socket) -> None:
    with connection:
        try:
            # Closing the connection with unread data would reset it, and the answer could be lost.
            connection.recv(_DISCARDED_BYTES, _NO_WAIT)
            connection.send(HTTPS_ONLY, _NO_WAIT)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            return  # The client has disconnected.


LIMITS = Limits(max_open=96, exchange_s=300.0)
"""Limits on connections. An exchange can take minutes, because a technician's download can be slow."""
STOP_S = 2
HEAD_BYTES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options of `tablectl console`."""

    socket: str
    sign_in: str
    name: str
    host: str
    port: int
    hosts: tuple[str, ...] = ()
    """Host names of this console, in addition to `host` and the names of the loopback interface."""
    certificate: Path | None = None
    key: Path | None = None
    evidence: Path = Path(FOLDER)
    """The folder with the dice camera's pictures."""
    metrics_to: tuple[str, ...] = ()
    """Addresses from which Prometheus may read the metrics, in addition to the loopback addresses."""

    @property
    def secure(self) -> bool:
        """Whether the pages are served over TLS."""
        return self.certificate is not None

    def fault(self) -> str | None:
        """Return a message about an invalid setting; None if all are valid."""
        if self.host not in LOOPBACK and not self.secure:
            return (
                f"--host {self.host} needs --certificate and --key, because PINs would otherwise be sent"
                " unencrypted over the network"
            )
        if (self.certificate is None) != (self.key is None):
            return "found only one of --certificate and --key, expected both"
        if self.certificate is not None:
            return _certificate_fault(self.certificate, self.key)
        return None


def _certificate_fault(certificate: Path, key: Path | None) -> str | None:
    try:
        # Without `password`, OpenSSL would ask for a key's passphrase at the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=lambda: b"")
    except (OSError, ValueError) as error:
        return (
            f"can't use --certificate {certificate} with --key {key} ({error}); expected a certificate and"
            " its key without a passphrase, in PEM files that this user can read"
        )
    return None


def serve(settings: Settings, ready: Callable[[str], None], bench: Bench | None = None) -> None:
    """Serve until SIGTERM. Raises OSError if the port or the certificate can't be used."""
    console = Console(
        Link(settings.socket, "the controller"),
        Link(settings.sign_in, "the sign-in process"),
        settings.name,
        secure=settings.secure,
        scrapers=(*LOOPBACK, *settings.metrics_to),
        evidence=settings.evidence,
        bench=bench,
    )
    config: Any = {  # the library's arguments
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
    kind = TlsListeningSocket if settings.secure else socket.socket
    server.run(list(listening_sockets(settings.host, settings.port, kind)))


class _Server(Server):
    """A server that reports its addresses after it starts, and ends the streams before it stops."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[str], None], end_streams: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config, LIMITS)
        self._ready = ready
        self._end_streams = end_streams

    async def shutdown(self, sockets: Any = None) -> None:  # the library's type
        """End the streams, then shut down."""
        await self._end_streams()
        await super().shutdown(sockets)

    async def startup(self, sockets: Any = None) -> None:  # the library's type
        """Start, then report the addresses."""
        await super().startup(sockets)
        for bound in sockets or ():
            host, port = bound.getsockname()[:2]
            scheme = "https" if self.config.is_ssl else "http"
            self._ready(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")
