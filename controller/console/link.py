"""The way to the controller and to the sign-in process: JSON lines over their unix sockets."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

import msgspec

Json = dict[str, object]

ANSWER_S = 12.0
"""An answer must arrive within this time: an input waits five seconds for the table's answer."""
MAX_ANSWER = 4 * 2**20
"""The most bytes of an answer: the drawing of a throw has about a hundred thousand."""
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Json).decode


class LinkError(Exception):
    """Nobody answers at a socket; the message names it and what to do."""


class Link:
    """One socket. Requests follow one another over one connection, which is reopened if it was lost."""

    def __init__(self, path: str, whom: str) -> None:
        """Ask the process that listens at this path; `whom` names it in messages."""
        self._path = path
        self._whom = whom
        self._turn = asyncio.Lock()
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, **request: object) -> Json:
        """Ask and return the answer; raises LinkError."""
        line = _encode(request) + b"\n"
        async with self._turn:
            fresh = self._open is None
            try:
                return await self._exchange(line)
            except LinkError:
                # A connection kept from before may have been closed meanwhile; a word is never said twice.
                if fresh or request.get("do") == "input":
                    raise
                return await self._exchange(line)

    async def once(self, **request: object) -> Json:
        """Ask over a connection of its own, so that nobody waits for another's answer; raises LinkError."""
        own = Link(self._path, self._whom)
        try:
            return await own.ask(**request)
        finally:
            await own.close()

    async def lines(self, **request: object) -> AsyncGenerator[Json, None]:
        """Ask over a connection of its own, and yield every line that comes; raises LinkError at its end."""
        reader, writer = await self._connect()
        try:
            writer.write(_encode(request) + b"\n")
            while line := await reader.readline():
                yield _decode(line)
        except (OSError, ValueError) as error:
            raise self._gone(error) from error
        finally:
            writer.close()
        raise self._gone(None)

    async def close(self) -> None:
        """Hang up."""
        if self._open is not None:
            self._open[1].close()
            self._open = None

    async def _exchange(self, line: bytes) -> Json:
        if self._open is None:
            self._open = await self._connect()
        reader, writer = self._open
        try:
            writer.write(line)
            async with asyncio.timeout(ANSWER_S):
                await writer.drain()
                answer = await reader.readline()
            if not answer.endswith(b"\n"):
                raise ConnectionResetError("it hung up")
            return _decode(answer)
        except (OSError, TimeoutError, ValueError) as error:
            await self.close()
            raise self._gone(error) from error
        except asyncio.CancelledError:
            await self.close()
            raise

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(ANSWER_S):
                return await asyncio.open_unix_connection(self._path, limit=MAX_ANSWER)
        except (OSError, TimeoutError) as error:
            raise self._gone(error) from error

    def _gone(self, error: BaseException | None) -> LinkError:
        found = ""
        with suppress(AttributeError):
            found = getattr(error, "strerror", None) or str(error or "")
        because = f" ({found})" if found else ""
        return LinkError(f"{self._whom} does not answer at {self._path}{because}")
