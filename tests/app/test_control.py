"""Edge cases of the control socket: connection limits, partial lines, and bytes that are not a request."""

import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import pairwise

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.app import control as control_module
from controller.app.control import Control, _is_disconnected
from controller.app.messages import MAX_LINE
from controller.app.peers import RESERVED_SLOTS, SHARED_SLOTS, Groups
from controller.cli.link import OutOfReachError, ask
from controller.cli.main import main
from tests.app.house import HouseMaker
from tests.app.rig import PATIENCE_S, Json, until

FAULTS = b'{"do":"faults"}\n'
WATCH = b'{"do":"watch","topics":["lamps"]}\n'
CLIENTS = RESERVED_SLOTS["root"] + SHARED_SLOTS
"""Maximum number of connections of one user; the controller and these tests run as the same user."""


def good(answer: Json) -> bool:
    """Return whether this is the answer to `FAULTS`."""
    return answer["ok"] is True and isinstance(answer["faults"], list)


def test_a_watcher_that_sends_nothing_stays_connected() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0.001)
    with ours, theirs:
        assert not _is_disconnected(ours)
        theirs.sendall(b"?")
        assert not _is_disconnected(ours)
        assert ours.recv(1) == b"?"
        theirs.close()
        assert _is_disconnected(ours)


@pytest.fixture
def path(house: HouseMaker, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the control socket of a table whose clients have the time limits of a busy machine."""
    for module, limit in (
        (control_module, "FIRST_LINE_TIMEOUT_S"),
        (control_module, "LINE_TIMEOUT_S"),
        (control_module, "SEND_TIMEOUT_S"),
    ):
        monkeypatch.setattr(module, limit, PATIENCE_S)
    one = house()
    control = Control(one.open(), one.options.socket, Groups())
    control.start()
    yield str(one.options.socket)
    control.stop()


def connected(path: str) -> socket.socket:
    """Connect as a client that has not sent any bytes."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(PATIENCE_S)
    link.connect(path)
    return link


def asked(link: socket.socket, line: bytes = FAULTS) -> Json:
    link.sendall(line)
    return msgspec.json.decode(link.makefile("rb").readline(), type=Json)


def last_words(link: socket.socket) -> list[Json]:
    """Return the remaining answers on a client's connection."""
    answer: list[Json] = []
    with suppress(ConnectionResetError):  # data that the controller did not read
        answer.extend(msgspec.json.decode(line, type=Json) for line in link.makefile("rb"))
    return answer


def is_answered(path: str) -> bool:
    """Return whether one more client is accepted."""
    try:
        return good(ask(path, {"do": "faults"}))
    except OutOfReachError:
        return False


def test_a_client_without_a_place_is_answered_with_the_clients_that_hold_the_places(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as clients:
        inside = [clients.enter_context(connected(path)) for _ in range(CLIENTS)]
        assert all(asked(link, WATCH)["ok"] for link in inside)
        for words in (("status",), ("input", "no_roll"), ("watch", "lamps"), ("test", "cam")):
            assert main([*words, "--socket", path]) == 3
            said = capsys.readouterr().err
            assert said.startswith(
                f"tablectl: {path}: the controller is running, but this user has the maximum number of"
            )
            assert f"processes {os.getpid()}" in said
    until(lambda: is_answered(path), "a free connection once the others are gone")


@pytest.mark.parametrize(
    ("limit", "says"),
    [("LINE_TIMEOUT_S", b'{"do":"sta'), ("LINE_TIMEOUT_S", b"{}\n{"), ("FIRST_LINE_TIMEOUT_S", b"")],
)
def test_clients_that_never_finish_a_line_lose_their_places(
    path: str, monkeypatch: pytest.MonkeyPatch, limit: str, says: bytes
) -> None:
    monkeypatch.setattr(control_module, limit, 0.05)
    with ExitStack() as clients:
        inside = [clients.enter_context(connected(path)) for _ in range(CLIENTS)]
        for link in inside if says else ():
            link.sendall(says)
        assert [last_words(link)[-1]["code"] for link in inside] == ["too_slow"] * CLIENTS
        monkeypatch.setattr(control_module, limit, PATIENCE_S)
        until(lambda: is_answered(path), "a free connection while the clients still hold their ends")


def test_a_line_sent_byte_by_byte_without_an_end_gets_no_extra_time(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_module, "LINE_TIMEOUT_S", 0.05)
    with connected(path) as link:
        with suppress(BrokenPipeError):
            while not select.select([link], [], [], 0)[0]:
                link.send(b"x")
        assert last_words(link)[-1]["code"] == "too_slow"


def test_a_line_that_is_too_long_is_refused_and_the_next_is_answered(path: str) -> None:
    with connected(path) as link:
        link.sendall(FAULTS[:-1] + b" " * MAX_LINE + b"\n" + FAULTS)
        link.shutdown(socket.SHUT_WR)
        refused, answered = last_words(link)
    assert (refused["code"], good(answered)) == ("bad_request", True)
    assert f"{MAX_LINE} bytes" in str(refused["says"])


LINES = st.one_of(
    st.binary(max_size=40).filter(lambda line: b"\n" not in line),
    st.sampled_from(
        [b'{"do":"faults"}', b'{"do":"faults"', b'{"do":"dance"}', b"[[[[", b'{"do":"faults"}\r']
    ),
)


@pytest.fixture
def failed(monkeypatch: pytest.MonkeyPatch) -> list[threading.ExceptHookArgs]:
    """Collect the exceptions that end a thread of the server."""
    raised: list[threading.ExceptHookArgs] = []
    hook: Callable[[threading.ExceptHookArgs], object] = raised.append
    monkeypatch.setattr(threading, "excepthook", hook)
    return raised


@settings(
    derandomize=True,
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(LINES, max_size=12), st.lists(st.integers(0, 400), max_size=6), st.binary(max_size=20))
def test_any_bytes_in_any_pieces_get_one_answer_per_line_and_no_request_is_invented(
    path: str,
    failed: list[threading.ExceptHookArgs],
    lines: list[bytes],
    cuts: list[int],
    unfinished: bytes,
) -> None:
    whole = b"".join(line + b"\n" for line in lines) + FAULTS
    data = whole + unfinished.replace(b"\n", b"")
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    with connected(path) as link:
        for first, end in pairwise(edges):
            link.sendall(data[first:end])
        link.shutdown(socket.SHUT_WR)
        told = last_words(link)
    expected = [line.removesuffix(b"\r") == FAULTS[:-1] for line in [*lines, FAULTS[:-1]]]
    assert [one["ok"] for one in told] == expected
    assert all(good(one) if one["ok"] else one["code"] == "bad_request" for one in told)
    assert failed == []
