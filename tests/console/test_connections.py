"""The console serves the staff's screens while a stranger keeps connections open."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path

import pytest

from controller.console.app import MAX_DISPLAY_STREAMS
from controller.console.feed import NoRoomError, Stream, Streams
from controller.console.serving import LIMITS
from tests.app.rig import PATIENCE_S
from tests.console.rig import PEOPLE, Screens
from tests.console.test_tls import HOST, make_certificate

Served = tuple[str, int]
GET = b"GET /display HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BEGUN = {
    "nothing": b"",
    "half a head": GET,
    "a whole request, and half of a second": GET + b"\r\n" + GET,
    "half a body": b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "a stream": b"GET /display/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "pages that nobody reads": (GET + b"\r\n") * 40,
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yield the address of a console for this machine."""
    screens = Screens(Path(tmp_path_factory.mktemp("screens")))
    try:
        screens.start_sign_in()
        screens.start_console()
        yield "127.0.0.1", int(screens.url.rpartition(":")[2])
    finally:
        screens.close()


def signed_in(served: Served) -> dict[str, str]:
    """Sign ann in; return the headers of her screen."""
    origin = f"http://{served[0]}:{served[1]}"
    body = json.dumps({"person": "ann", "typed": PEOPLE["ann"][1]})
    with closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S)) as browser:
        browser.request("POST", "/sign-in", body, {"origin": origin, "content-type": "application/json"})
        answer = browser.getresponse()
        assert json.loads(answer.read()) == {"ok": True}
        return {"cookie": str(answer.headers["set-cookie"]).partition(";")[0]}


@pytest.mark.parametrize("begun", BEGUN)
def test_connections_left_open_by_a_stranger_block_no_screen(begun: str, served: Served) -> None:
    """The stranger opens more connections than there are slots."""
    ann = signed_in(served)
    with ExitStack() as held:
        for _ in range(LIMITS.max_open + 40):
            connection = held.enter_context(socket.create_connection(served, timeout=PATIENCE_S))
            with suppress(OSError):
                connection.setblocking(False)
                connection.send(BEGUN[begun])
        with closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S)) as browser:
            browser.request("GET", "/", headers=ann)
            answer = browser.getresponse()
            assert (answer.status, "Staff console" in answer.read().decode()) == (200, True)
        with closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S)) as browser:
            browser.request("GET", "/events", headers=ann)
            answer = browser.getresponse()
            assert answer.status == 200
            assert answer.readline().startswith(b"data: "), "changes must reach the staff"
        assert signed_in(served) != ann, "another person must be able to sign in"


def test_a_client_that_opens_many_displays_ends_only_his_own(served: Served) -> None:
    """The players' display at another address stays connected throughout."""
    with ExitStack() as held:
        display = held.enter_context(
            closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S, source_address=("127.0.0.3", 0)))
        )
        display.request("GET", "/display/events")
        shown = display.getresponse()
        assert shown.readline().startswith(b"data: ")
        many = []
        for _ in range(MAX_DISPLAY_STREAMS + 4):
            one = held.enter_context(closing(http.client.HTTPConnection(*served, timeout=PATIENCE_S)))
            one.request("GET", "/display/events")
            many.append(one.getresponse())
        assert [answer.status for answer in many] == [200] * len(many)
        assert many[0].readline().startswith(b"data: ")
        assert many[0].readline() == b"\n"
        assert many[0].readline() == b"", "the first of many must be ended"
        assert shown.readline() == b"\n"
        assert shown.readline().strip() in (b": beat", b""), "the other one must still be connected"


def test_a_strangers_streams_end_before_any_others() -> None:
    streams, ended = Streams(4), list[str]()
    with ExitStack() as held:

        def feed(owner: str) -> Stream:
            return held.enter_context(streams.hold(owner, lambda: ended.append(owner)))

        pit, wall = feed("pit"), feed("wall")
        first = feed("stranger")
        for _ in range(5):
            feed("stranger")
        assert set(ended) == {"stranger"}
        assert [one.is_open for one in (pit, wall, first)] == [True, True, False]
        assert len(streams) == 4
    assert len(streams) == 0


def test_no_stream_ends_for_another_owner_who_has_as_many() -> None:
    """Otherwise one display too many would end another, which would reconnect and end the next."""
    streams, ended = Streams(3), list[str]()
    with ExitStack() as held:

        def feed(owner: str) -> Stream:
            return held.enter_context(streams.hold(owner, lambda: ended.append(owner)))

        displays = [feed(owner) for owner in ("craps", "pit", "wall")]
        with pytest.raises(NoRoomError):
            feed("another")
        assert ended == []
        again = feed("pit")
        assert ended == ["pit"]
        assert [one.is_open for one in (*displays, again)] == [True, False, True, True]
        assert len(streams) == 3


def test_a_display_without_a_slot_tries_again_and_ends_no_other(served: Served) -> None:
    """Each display has an address of its own."""
    with ExitStack() as held:

        def display(n: int) -> http.client.HTTPResponse:
            one = held.enter_context(
                closing(
                    http.client.HTTPConnection(
                        *served, timeout=PATIENCE_S, source_address=(f"127.0.1.{n + 1}", 0)
                    )
                )
            )
            one.request("GET", "/display/events")
            return one.getresponse()

        shown = [display(n) for n in range(MAX_DISPLAY_STREAMS)]
        assert all(one.readline().startswith(b"data: ") for one in shown)
        refused = display(MAX_DISPLAY_STREAMS)
        assert (refused.status, refused.read()) == (200, b"retry: 5000\n\n")
        assert shown[0].readline() == b"\n"
        assert shown[0].readline().strip() in (b": beat", b""), "the oldest must still be connected"


@pytest.mark.parametrize("begun", [b"", b"\x16\x03\x01"])
def test_unfinished_handshakes_block_no_screen(begun: bytes, tmp_path: Path) -> None:
    crt, key = make_certificate(tmp_path)
    screens = Screens(tmp_path)
    try:
        screens.start_sign_in()
        screens.start_console("--host", HOST, "--certificate", str(crt), "--key", str(key))
        where = HOST, int(screens.url.rpartition(":")[2])
        trusts = ssl.create_default_context(cafile=str(crt))
        with ExitStack() as held:
            for _ in range(LIMITS.max_open + 40):
                connection = held.enter_context(socket.create_connection(where, timeout=PATIENCE_S))
                with suppress(OSError):
                    connection.sendall(begun)
            with closing(http.client.HTTPSConnection(*where, context=trusts, timeout=PATIENCE_S)) as browser:
                browser.request("GET", "/display")
                assert browser.getresponse().status == 200
    finally:
        screens.close()
