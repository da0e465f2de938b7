"""An HTTP server that limits the number of connections and the duration of each step of a connection.

If all slots are taken, a new connection replaces the oldest idle connection or, if none is idle, the oldest
whose client does not read its answer. Untrusted connections are replaced first. Therefore clients that send
incomplete requests can't exclude other clients.
"""

import asyncio
import socket
import ssl
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits on a server's connections."""

    max_open: int = 64
    """Maximum number of simultaneous connections; a process is often limited to 1,024 open files."""
    handshake_s: float = 5.0
    head_s: float = 5.0
    """Maximum time from the start of a connection to the end of the first request's head."""
    keep_s: float = 15.0
    """Maximum time from an answer to the end of the next request's head."""
    exchange_s: float = 20.0
    """Maximum time from the end of a request's head to the end of the answer; streams are exempt."""


ACCEPT_RETRY_S = 0.2
BACKLOG = 128
"""The length of the kernel's queue of connections to accept."""
MAX_UNREAD_BYTES = 65_536
"""The number of unread bytes at which writing to a client pauses."""


class _Connection(Protocol):
    trusted: bool

    @property
    def busy(self) -> bool: ...

    @property
    def stuck(self) -> bool: ...

    def abort(self) -> None: ...


class Slots:
    """The slots of open connections, in order of arrival."""

    def __init__(self, max_open: int) -> None:
        self._max_open = max_open
        self._connections: dict[_Connection, None] = {}
        self.counts: Counter[str] = Counter()
        """The number of connections that the server refused or ended, by reason."""

    def take(self, connection: _Connection) -> bool:
        """Admit a connection, if necessary in place of another; return False if none can be replaced."""
        if len(self._connections) >= self._max_open:
            waiting = [known for known in self._connections if not known.busy]
            waiting = waiting or [known for known in self._connections if known.stuck]
            oldest = next((known for known in waiting if not known.trusted), next(iter(waiting), None))
            if oldest is None:
                self.counts["refused, all slots busy"] += 1
                return False
            self.counts["ended for a new connection"] += 1
            self.free(oldest)
            oldest.abort()
        self._connections[connection] = None
        return True

    def free(self, connection: _Connection) -> None:
        """Free the slot of a connection that has ended."""
        self._connections.pop(connection, None)

    def __len__(self) -> int:
        return len(self._connections)


class _Handshake:
    """A connection during its TLS handshake."""

    trusted = False
    busy = False
    stuck = False

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self._task = task

    def abort(self) -> None:
        """End the connection."""
        self._task.cancel()


class LimitedConnection(H11Protocol):
    """A connection with a time limit for each step."""

    def __init__(
        self, slots: Slots, limits: Limits, **of_uvicorn: Any
    ) -> None:  # Any: the library's own arguments
        super().__init__(**of_uvicorn)
        self.trusted = False
        """Whether a request had a valid token."""
        self._slots = slots
        self._limits = limits
        self._timer: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a request has been received completely, but not answered yet."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    @property
    def stuck(self) -> bool:
        """Whether an answer is waiting for a client that does not read it."""
        return bool(self.transport.get_write_buffer_size())

    def abort(self) -> None:
        """End the connection at once."""
        self.transport.abort()

    def remove_time_limit(self) -> None:
        """Stop the timer for the current answer, which is a stream."""
        self._set_time_limit(None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # library's type
        """Take a slot, and start the timer for the first request."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(MAX_UNREAD_BYTES)
        self.app_state = {**self.app_state, "connection": self}
        if not self._slots.take(self):
            transport.abort()
        self._set_time_limit(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Free the slot."""
        self._set_time_limit(None)
        self._slots.free(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle received bytes."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._set_time_limit(self._limits.exchange_s)

    def on_response_complete(self) -> None:
        """Start the timer for the next request, which might already have arrived."""
        before = self.cycle
        self._set_time_limit(self._limits.keep_s)
        super().on_response_complete()
        if self.cycle is not before:
            self._set_time_limit(self._limits.exchange_s)

    def _set_time_limit(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._handle_timeout)

    def _handle_timeout(self) -> None:
        self._slots.counts["too slow"] += 1
        self.transport.abort()


class Server(uvicorn.Server):
    """A server whose slots and time limits also apply to TLS handshakes."""

    def __init__(self, config: uvicorn.Config, limits: Limits | None = None) -> None:
        super().__init__(config)
        self.limits = limits or Limits()
        self.slots = Slots(self.limits.max_open)
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start accepting connections on these sockets."""
        assert sockets is not None
        await self.lifespan.startup()
        self.servers = []
        for listener in sockets:
            listener.listen(BACKLOG)
            listener.setblocking(False)
            self._keep(self._accept(listener))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting connections, and close the open connections."""
        for task in list(self._tasks):
            task.cancel()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Log, once a minute, the numbers of refused and ended connections, by reason."""
        if counter % 600 == 599 and self.slots.counts:
            reasons = ", ".join(f"{count} {what}" for what, count in sorted(self.slots.counts.items()))
            uvicorn.server.logger.warning("connections in the last minute: %s", reasons)
            self.slots.counts.clear()
        return await super().on_tick(counter)

    def _keep(self, work: Any) -> "asyncio.Task[None]":
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, _ = await loop.sock_accept(listener)
            except ConnectionAbortedError:
                continue  # The client has disconnected.
            except OSError:
                self.slots.counts["could not be accepted"] += 1
                await asyncio.sleep(ACCEPT_RETRY_S)
                continue
            if self.config.ssl is None:
                await self._open(connection)
            else:
                self._start_handshake(connection)

    def _start_handshake(self, connection: socket.socket) -> None:
        handshake = _Handshake(self._keep(self._open(connection)))
        if not self.slots.take(handshake):
            handshake.abort()
        handshake._task.add_done_callback(lambda _: self.slots.free(handshake))  # noqa: SLF001 - of this module

    async def _open(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()

        def protocol() -> LimitedConnection:
            return LimitedConnection(
                self.slots,
                self.limits,
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )

        tls = self.config.ssl
        handshake_s = None if tls is None else self.limits.handshake_s
        try:
            await loop.connect_accepted_socket(
                protocol, connection, ssl=tls, ssl_handshake_timeout=handshake_s
            )
        except (OSError, ssl.SSLError):
            self.slots.counts["no handshake"] += 1
            connection.close()
