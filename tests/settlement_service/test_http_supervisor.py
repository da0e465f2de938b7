"""The channel between the engine and the process that serves HTTP, and its checks."""

import asyncio
import socket
import subprocess
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.settlement_service import http_supervisor as front_module
from controller.settlement_service.channel import (
    MAX_REQUEST,
    Broken,
    Frames,
    HttpAnswer,
    HttpRequest,
    frame,
)
from controller.settlement_service.http_process import Remote
from controller.settlement_service.http_supervisor import HttpSupervisor
from tests.app.rig import until
from tests.publish.broker import free_port
from tests.settlement_service.rig import House


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.binary(max_size=50)), max_size=5), st.integers(1, 20))
def test_frames_are_split_correctly_and_never_exceed_their_limit(
    sent: list[tuple[int, bytes]], step: int
) -> None:
    data = b"".join(frame(number, payload) for number, payload in sent)
    frames = Frames(50)
    assert [found for at in range(0, len(data), step) for found in frames.feed(data[at : at + step])] == sent
    with pytest.raises(Broken):
        frames.feed(frame(1, b"x" * 51)[:12])


class FakeServer:
    """A process that sends what a test specifies."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, says: bytes) -> None:
        self.runs = 0
        self.there: socket.socket | None = None
        self._says = says
        monkeypatch.setattr(front_module, "RESTART_DELAY_S", 0.05)
        monkeypatch.setattr(
            HttpSupervisor, "_start_process", lambda _front, other_end: self.started(other_end)
        )

    def started(self, there: socket.socket) -> "subprocess.Popen[bytes]":
        self.runs += 1
        there.sendall(self._says)
        self.close()
        self.there = there.dup()
        return subprocess.Popen(["sleep", "60"])

    def close(self) -> None:
        if self.there is not None:
            self.there.close()


@pytest.fixture
def said() -> list[str]:
    return []


def served(house: House, said: list[str]) -> HttpSupervisor:
    front = HttpSupervisor(house.engine, "127.0.0.1", free_port(), say=said.append)
    front.start()
    return front


BAD: dict[str, bytes] = {
    "no JSON": frame(1, b"hello"),
    "no deed": frame(1, b'{"do":"enrol"}'),
    "a frame without end": frame(1, b"x" * (MAX_REQUEST + 1))[:100],
    "noise": bytes(range(255, 0, -1)) * 40,
}


@pytest.mark.parametrize("says", BAD.values(), ids=BAD)
def test_a_message_that_is_not_a_request_ends_the_http_process(
    house: House, said: list[str], monkeypatch: pytest.MonkeyPatch, says: bytes
) -> None:
    liar = FakeServer(monkeypatch, says)
    front = served(house, said)
    until(lambda: liar.runs > 2, "another run")
    front.stop()
    liar.close()
    assert "sent an invalid request" in said[0]
    assert not front.ready


def test_a_request_without_a_valid_token_is_refused_even_on_the_channel(
    house: House, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house.player("ann", 100)
    ask = HttpRequest(do="deposit", digest="0" * 64, key="k", player="ann", cents=5)
    liar = FakeServer(monkeypatch, frame(7, msgspec.json.encode(ask)))
    front = served(house, said)
    until(lambda: liar.there is not None, "a connection")
    assert liar.there is not None
    ((number, payload),) = heard(liar.there)
    front.stop()
    liar.close()
    assert (number, msgspec.json.decode(payload, type=HttpAnswer).status) == (7, 401)
    assert house.balance("player:ann") == 100


def heard(there: socket.socket) -> list[tuple[int, bytes]]:
    frames = Frames(10_000)
    while not (found := frames.feed(there.recv(4096))):
        pass
    return found


def test_an_http_process_that_sends_nothing_is_restarted(
    house: House, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(front_module, "TURN_S", 0.01)
    monkeypatch.setattr(front_module, "SILENT_TURNS", 5)
    liar = FakeServer(monkeypatch, b"")
    front = served(house, said)
    until(lambda: liar.runs > 2, "another run")
    front.stop()
    liar.close()
    assert "stopped responding" in said[0]


def test_the_http_process_gets_no_credential(
    monkeypatch: pytest.MonkeyPatch, house: House, said: list[str]
) -> None:
    for name in ("NOTIFY_SOCKET", "CREDENTIALS_DIRECTORY", "PGPASSWORD", "DATABASE"):
        monkeypatch.setenv(name, "secret")
    got: dict[str, Any] = {}  # Any: arbitrary arguments of a process start

    def popen(command: list[str], **more: object) -> "subprocess.Popen[bytes]":
        got.update(more, command=command)
        raise OSError(1, "raised by the test")

    monkeypatch.setattr(subprocess, "Popen", popen)
    front = served(house, said)
    until(lambda: "env" in got, "its environment")
    front.stop()
    assert "secret" not in str(got)
    assert {"CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET"}.isdisjoint(got["env"])


def test_a_client_waiting_when_the_engine_is_killed_gets_a_message_and_may_repeat() -> None:
    """The message says to repeat the request with the same key."""

    class Stopping:
        started = False
        should_exit = False

    async def asked() -> tuple[HttpAnswer, HttpAnswer]:
        engine, channel = socket.socketpair()
        remote, server = Remote(channel), Stopping()
        following = asyncio.create_task(remote.run(server))  # type: ignore[arg-type]  # all that it uses of one
        while remote._writer is None:
            await asyncio.sleep(0)
        waiting = asyncio.create_task(remote.ask(HttpRequest(do="tables")))
        await asyncio.to_thread(engine.recv, 1)
        engine.close()
        answer = await waiting
        await following
        assert server.should_exit
        return answer, await remote.ask(HttpRequest(do="tables"))

    for answer in asyncio.run(asked()):
        assert answer.status == 503
        assert b"repeat the request with the same key" in bytes(answer.body)
