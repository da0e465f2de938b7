"""Connections over HTTP: how many there may be, and how long each may take with each step.

Whoever comes when all places are taken gets the place of the connection that has waited longest without a
request under way, strangers' first: half-sent requests keep nobody out.
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
    """What a server's connections may take."""

    max_open: int = 64
    """Connections at once; a process may have 1,024 files or fewer."""
    handshake_s: float = 5.0
    head_s: float = 5.0
    """A request's head must be complete this long after the connection was made."""
    keep_s: float = 15.0
    """How long a connection may be idle between two requests, the next one's head included."""
    exchange_s: float = 20.0
    """From a request's head to the end of its answer, whichever side is slow; streams are exempt."""


AGAIN_S = 0.2
BACKLOG = 128
"""Connections that the kernel holds until they are accepted."""
HIGH_WATER = 65_536
"""Bytes of an answer that may wait for its reader."""


class _Guest(Protocol):
    trusted: bool

    @property
    def busy(self) -> bool: ...

    @property
    def stuck(self) -> bool: ...

    def leave(self) -> None: ...


class Places:
    """Who is connected, in the order they came."""

    def __init__(self, most: int) -> None:
        """Offer this many places."""
        self._most = most
        self._guests: dict[_Guest, None] = {}
        self.counts: Counter[str] = Counter()
        """The number of connections by the noteworthy way in which they ended."""

    def take(self, guest: _Guest) -> bool:
        """Admit a guest, at another's cost where need be; False if all are being answered."""
        if len(self._guests) >= self._most:
            waiting = [known for known in self._guests if not known.busy]
            waiting = waiting or [known for known in self._guests if known.stuck]
            oldest = next((known for known in waiting if not known.trusted), next(iter(waiting), None))
            if oldest is None:
                self.counts["found no place"] += 1
                return False
            self.counts["made place for others"] += 1
            self.free(oldest)
            oldest.leave()
        self._guests[guest] = None
        return True

    def free(self, guest: _Guest) -> None:
        """Free the place of a guest who has left."""
        self._guests.pop(guest, None)

    def __len__(self) -> int:
        """How many are inside."""
        return len(self._guests)


class _Opening:
    """A connection whose handshake is not over."""

    trusted = False
    busy = False
    stuck = False

    def __init__(self, task: "asyncio.Task[None]") -> None:
        self._task = task

    def leave(self) -> None:
        """End it."""
        self._task.cancel()


class Bounded(H11Protocol):
    """One connection, each of whose steps has its time."""

    def __init__(
        self, places: Places, limits: Limits, **of_uvicorn: Any
    ) -> None:  # Any: the library's own arguments
        """Make a connection that has its place among these."""
        super().__init__(**of_uvicorn)
        self.trusted = False
        """Whether it carried a valid token, or a signed-in person's session."""
        self._places = places
        self._limits = limits
        self._due: asyncio.TimerHandle | None = None

    @property
    def busy(self) -> bool:
        """Whether a request that is here whole is being answered."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    @property
    def stuck(self) -> bool:
        """Whether its answer waits for a reader that does not read."""
        return bool(self.transport.get_write_buffer_size())

    def leave(self) -> None:
        """End it at once."""
        self.transport.abort()

    def endless(self) -> None:
        """Let the answer that is under way take as long as it likes: it is a stream."""
        self._within(None)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the library has it
        """Begin."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(HIGH_WATER)
        self.app_state = {**self.app_state, "connection": self}
        if not self._places.take(self):
            transport.abort()
        self._within(self._limits.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._within(None)
        self._places.free(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Handle bytes."""
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._within(self._limits.exchange_s)

    def on_response_complete(self) -> None:
        """Wait for the next request, or go on with one that is here already."""
        before = self.cycle
        self._within(self._limits.keep_s)
        super().on_response_complete()
        if self.cycle is not before:
            self._within(self._limits.exchange_s)

    def _within(self, seconds: float | None) -> None:
        if self._due is not None:
            self._due.cancel()
        self._due = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

    def _too_slow(self) -> None:
        self._places.counts["too slow"] += 1
        self.transport.abort()


class Server(uvicorn.Server):
    """Accepts by itself, so that a handshake has its place and its time as well."""

    def __init__(self, config: uvicorn.Config, limits: Limits | None = None) -> None:
        super().__init__(config)
        self.limits = limits or Limits()
        self.places = Places(self.limits.max_open)
        self._tasks: set[asyncio.Task[None]] = set()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept at the sockets that are given."""
        assert sockets is not None
        await self.lifespan.startup()
        self.servers = []
        for listener in sockets:
            listener.listen(BACKLOG)
            listener.setblocking(False)
            self._keep(self._accept(listener))
        self.started = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and end what is open."""
        for task in list(self._tasks):
            task.cancel()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Say once a minute what was turned away."""
        if counter % 600 == 599 and self.places.counts:
            told = ", ".join(f"{count} {what}" for what, count in sorted(self.places.counts.items()))
            uvicorn.server.logger.warning("connections in the last minute: %s", told)
            self.places.counts.clear()
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
                continue  # gone, or answered where it was accepted
            except OSError:
                self.places.counts["could not be accepted"] += 1
                await asyncio.sleep(AGAIN_S)
                continue
            if self.config.ssl is None:
                await self._open(connection)
            else:
                self._shake_hands(connection)

    def _shake_hands(self, connection: socket.socket) -> None:
        opening = _Opening(self._keep(self._open(connection)))
        if not self.places.take(opening):
            opening.leave()
        opening._task.add_done_callback(lambda _: self.places.free(opening))  # noqa: SLF001 - its own module's

    async def _open(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()

        def protocol() -> Bounded:
            return Bounded(
                self.places,
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
            self.places.counts["no handshake"] += 1
            connection.close()
