"""Serve the HTTP API: `python -m controller.settlement_service.http_process FILE FILE [PEM KEY]`.

The engine starts it with two open files: the listening socket, and the channel to the engine
(http_supervisor.py). It owns nothing: no database, no key, no token. It ends when the engine is gone.
"""

import asyncio
import gc
import itertools
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec
import uvicorn

from controller.serving.connections import Server
from controller.settlement_service.api import make_app
from controller.settlement_service.channel import (
    BEAT,
    MAX_TOLD,
    Broken,
    Frames,
    HttpAnswer,
    HttpRequest,
    frame,
    refusal,
)
from controller.settlement_service.http_limits import MAX_HEAD

MAX_LINES = 20
"""Lines a minute."""
MINUTE_S = 60.0
MAX_CHARACTERS = 2000
"""Of a line, or of a traceback."""


class FewLines(logging.Handler):
    """Writes a limited number of lines; the times are the records' own."""

    def __init__(self, write: Callable[[str], object]) -> None:
        """Write lines this way."""
        super().__init__()
        self._write = write
        self._since_s = 0.0
        self._lines = 0
        self._left_out = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record, or count it."""
        if not 0 <= record.created - self._since_s < MINUTE_S:
            if self._left_out:
                self._write(f"{self._left_out} more lines were left out\n")
            self._since_s, self._lines, self._left_out = record.created, 0, 0
        if self._lines >= MAX_LINES:
            self._left_out += 1
            return
        self._lines += 1
        text = self.format(record)
        self._write(f"{text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + '...'}\n")


BEAT_S = 1.0
HEALTH_S = 1.0
"""The engine's report of its health is of no use later."""
ANSWER_S = 10.0
NICENESS = 5
"""Play has priority on a busy machine."""
_decode: Callable[[bytes], HttpAnswer] = msgspec.json.Decoder(HttpAnswer).decode


_ENGINE_GONE = refusal(
    503,
    "ENGINE",
    "the engine has ended, and it is not known whether this was done; ask again with the same key",
)


class Remote:
    """The engine at the other end of the channel."""

    def __init__(self, channel: socket.socket) -> None:
        """Ask over this channel."""
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[HttpAnswer]] = {}
        self._health: asyncio.Task[HttpAnswer] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._gone = False

    async def ask(self, ask: HttpRequest) -> HttpAnswer:
        """Ask the engine; simultaneous questions about its health share one answer."""
        if ask.do != "health":
            return await self._asked(ask, ANSWER_S)
        if self._health is None or self._health.done():
            self._health = asyncio.create_task(self._asked(ask, HEALTH_S))
        return await asyncio.shield(self._health)

    async def _asked(self, ask: HttpRequest, within_s: float) -> HttpAnswer:
        if self._gone:
            return _ENGINE_GONE
        number = next(self._numbers)
        answer: asyncio.Future[HttpAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._write(frame(number, msgspec.json.encode(ask)))
            async with asyncio.timeout(within_s):
                return await answer
        except TimeoutError:
            return refusal(
                503, "DATABASE", f"the engine or its database gave no answer within {within_s:g} s"
            )
        finally:
            del self._waiting[number]

    async def run(self, server: Server) -> None:
        """Follow the engine until it is gone, then stop the server."""
        reader, self._writer = await asyncio.open_connection(sock=self._channel)
        beating = asyncio.create_task(self._beat(server))
        frames = Frames(MAX_TOLD)
        with suppress(OSError, Broken, msgspec.MsgspecError):
            while data := await reader.read(65_536):
                for number, payload in frames.feed(data):
                    answer = self._waiting.get(number)
                    if answer is not None and not answer.done():
                        answer.set_result(_decode(payload))
        beating.cancel()
        self._gone = True
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_result(_ENGINE_GONE)
        server.should_exit = True

    async def _beat(self, server: Server) -> None:
        while True:
            if server.started:
                self._write(frame(BEAT, b""))
            await asyncio.sleep(BEAT_S if server.started else BEAT_S / 20)

    def _write(self, data: bytes) -> None:
        if self._writer is not None:
            self._writer.write(data)


async def serve(listener: socket.socket, channel: socket.socket, certificate: tuple[str, ...]) -> None:
    """Serve until the engine is gone."""
    remote = Remote(channel)
    pem, key = (*certificate, None, None)[:2]
    config = uvicorn.Config(
        make_app(remote),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_graceful_shutdown=2,
        ssl_certfile=pem,
        ssl_keyfile=key,
    )
    server = Server(config)
    gc.collect()
    gc.freeze()  # A full collection over all modules would stop a request for 50 ms.
    hearing = asyncio.create_task(remote.run(server))
    await server.serve([listener])
    hearing.cancel()


def main() -> None:
    """Serve on the open files."""
    listening, speaking, *certificate = sys.argv[1:]
    logging.basicConfig(
        handlers=[FewLines(sys.stderr.write)], level=logging.WARNING, format="HTTP API: %(message)s"
    )
    with suppress(OSError):
        os.nice(NICENESS)
    with socket.socket(fileno=int(listening)) as listener, socket.socket(fileno=int(speaking)) as channel:
        asyncio.run(serve(listener, channel, tuple(certificate)))


if __name__ == "__main__":
    main()
