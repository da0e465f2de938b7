"""Serve the HTTP API: `python -m controller.settlement_service.http_process FILE FILE [PEM KEY]`.

The engine starts it (front.py) with two open files: the socket that listens, and the channel to the engine.
It owns nothing: no database, no key, no token. When the engine is gone it ends.
"""

import asyncio
import itertools
import logging
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress

import msgspec
import uvicorn

from controller.settlement_service.api import make_app
from controller.settlement_service.asks import Ask, Told, refusal
from controller.settlement_service.bounds import MAX_HEAD
from controller.settlement_service.channel import BEAT, MAX_TOLD, Broken, Frames, frame
from controller.settlement_service.connections import Server
from controller.settlement_service.quiet import FewLines

BEAT_S = 1.0
HEALTH_S = 1.0
"""The engine's word on its health is worth nothing later."""
ANSWER_S = 10.0
NICENESS = 5
"""Play goes first on a machine that is busy."""
_decode: Callable[[bytes], Told] = msgspec.json.Decoder(Told).decode


class Remote:
    """The engine's counter at the other end of the channel."""

    def __init__(self, channel: socket.socket) -> None:
        """Ask over this channel."""
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Told]] = {}
        self._health: asyncio.Task[Told] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, ask: Ask) -> Told:
        """Ask the engine; all who ask for its health at once get one answer."""
        if ask.do != "health":
            return await self._asked(ask, ANSWER_S)
        if self._health is None or self._health.done():
            self._health = asyncio.create_task(self._asked(ask, HEALTH_S))
        return await asyncio.shield(self._health)

    async def _asked(self, ask: Ask, within_s: float) -> Told:
        number = next(self._numbers)
        answer: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
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
