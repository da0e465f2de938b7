"""The console's connections to the controller and the sign-in process: JSON lines over Unix sockets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

Json = dict[str, object]

ANSWER_TIMEOUT_S = 12.0
"""Maximum time for an answer. An input can wait up to 5 s for the table's decision."""
MAX_ANSWER_BYTES = 4 * 2**20
"""Maximum size of an answer. A throw's drawing takes about 100,000 bytes."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode


class LinkError(Exception):
    """A socket does not respond. The message names the process and the socket."""


class Link:
    """A client of one socket. `ask` keeps a connection open and sends one request at a time."""

    def __init__(self, path: str, peer: str) -> None:
        """Use the socket at this path; `peer` names the process in messages."""
        self._path = path
        self._peer = peer
        self._turn = asyncio.Lock()
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, **request: object) -> Json:
        """Send a request and return the answer. Raises LinkError."""
        line = _encode(request) + b"\n"
        async with self._turn:
            fresh = self._open is None
            try:
                return await self._exchange(line)
            except LinkError:
                # The peer might have closed the idle connection, so a new one is tried. An input must not be
                # sent twice.
                if fresh or request.get("do") == "input":
                    raise
                return await self._exchange(line)

    async def once(self, **request: object) -> Json:
        """Send a request on a new connection and return the answer. Raises LinkError.

        Other requests do not wait for this one.
        """
        own = Link(self._path, self._peer)
        try:
            return await own.ask(**request)
        finally:
            await own.close()

    async def lines(self, **request: object) -> AsyncGenerator[Json, None]:
        """Send a request on a new connection and yield each received line.

        Raises LinkError when the connection ends.
        """
        reader, writer = await self._connect()
        try:
            writer.write(_encode(request) + b"\n")
            while line := await reader.readline():
                yield _decode(line)
        except (OSError, ValueError) as error:
            raise self._link_error(error) from error
        finally:
            writer.close()
        raise self._link_error(None)

    async def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    async def _exchange(self, line: bytes) -> Json:
        if self._open is None:
            self._open = await self._connect()
        reader, writer = self._open
        try:
            writer.write(line)
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                await writer.drain()
                answer = await reader.readline()
            if not answer.endswith(b"\n"):
                raise ConnectionResetError("it closed the connection")
            return _decode(answer)
        except (OSError, TimeoutError, ValueError) as error:
            await self.close()
            raise self._link_error(error) from error
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                return await asyncio.open_unix_connection(self._path, limit=MAX_ANSWER_BYTES)
        except (OSError, TimeoutError) as error:
            raise self._link_error(error) from error

    def _link_error(self, error: BaseException | None) -> LinkError:
        found = ""
        with suppress(AttributeError):
            found = getattr(error, "strerror", None) or str(error or "")
        because = f" ({found})" if found else ""
        return LinkError(f"{self._peer} does not respond on {self._path}{because}")
