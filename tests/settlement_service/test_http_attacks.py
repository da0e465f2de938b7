"""Attacks on the HTTP API of the real processes, which must not affect the engine.

Every attack is limited to some megabytes and seconds. After each attack the memory of both processes has not
increased, a request is answered, and the log is short.
"""

import json
import os
import re
import resource
import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from controller.serving.connections import Limits
from controller.settlement_service.http_limits import MAX_BODY
from controller.settlement_service.http_requests import Tokens
from tests.app.rig import until
from tests.publish.broker import Authority
from tests.settlement_service.rig import House, SealedTable, key_in
from tests.settlement_service.service import PATIENCE_S, Service, ask

MAX_OPEN = Limits().max_open
MB = 1_000_000
MAX_GROWTH = 30 * MB
"""Permitted increase of either process's memory; the attacks send 60 MB and more."""
MAX_LOG = 20_000
JSON = b"Content-Type: application/json\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Serve a wheel with one player, under a limit of 256 open files."""
    folder = tmp_path_factory.mktemp("served")
    service = Service(folder, house_in(folder))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        service.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    yield service
    service.close()


def house_in(folder: Path) -> str:
    """Make a database with a wheel, a player and tokens; return its URL."""
    url = f"sqlite:///{folder}/served.db"
    house = House(url)
    house.enrol(SealedTable("wheel-1", key_in(folder)), "roulette")
    house.player("ann", 10_000)
    tokens = Tokens(house.engine)
    tokens.make("till", "staff", "staff-secret")
    tokens.make("ann's", "player", "ann-secret", "ann")
    house.store.close()
    return url


def request(method: str, path: str, *headers: bytes, token: str = "", body: bytes | None = None) -> bytes:
    """Encode a request, with the body's length if there is a body."""
    lines = [f"{method} {path} HTTP/1.1\r\nHost: x\r\n".encode(), *headers]
    if token:
        lines.append(f"Authorization: Bearer {token}\r\n".encode())
    if body is not None:
        lines.append(b"Content-Length: %d\r\n" % len(body))
    return b"".join(lines) + b"\r\n" + (body or b"")


def bet(body: bytes, *headers: bytes, token: str = "ann-secret", key: str = "k") -> bytes:
    return request(
        "POST",
        "/tables/wheel-1/wagers",
        JSON,
        f"Idempotency-Key: {key}\r\n".encode(),
        *headers,
        token=token,
        body=body,
    )


def connect(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), PATIENCE_S)


def answered(connection: socket.socket) -> bytes:
    """Return all bytes received until the other side ends the connection."""
    got = b""
    with suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            got += data
    return got


def said(service: Service, data: bytes) -> tuple[int, dict[str, object]]:
    """Send bytes and return the answer's status and JSON."""
    with connect(service) as connection:
        connection.sendall(data.replace(b"Host: x", b"Host: x\r\nConnection: close", 1))
        head, _, body = answered(connection).partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def children(service: Service) -> list[int]:
    """Return the processes that serve HTTP."""
    assert service.process is not None
    text = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text()
    found = [int(pid) for pid in text.split()]
    for task in Path(f"/proc/{service.process.pid}/task").iterdir():
        found += [int(pid) for pid in (task / "children").read_text().split() if int(pid) not in found]
    return found


def resident(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    text = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert text is not None
    return int(text[1]) * 1024


@pytest.fixture
def unharmed(served: Service) -> Iterator[Service]:
    """Yield the service, and check its memory, its answers and its log afterwards."""
    assert served.process is not None
    served.ask("GET", "/players/ann", token="staff-secret")
    pids = [served.process.pid, *children(served)]
    before, logged = [resident(pid) for pid in pids], len(served.log)
    yield served
    assert served.ask("GET", "/players/ann", token="staff-secret")[0] == 200
    assert served.health() == {"status": "ok", "tables": 1, "halted": 0, "alarms": 0, "broker": "none"}
    assert [served.process.pid, *children(served)] == pids, (
        "the process that serves HTTP must not be restarted"
    )
    assert [resident(pid) - size < MAX_GROWTH for pid, size in zip(pids, before, strict=True)] == [
        True,
        True,
    ]
    assert len(served.log) - logged < MAX_LOG


# --- bodies ---


@pytest.mark.parametrize("token", ["", "no such", "ann-secret"])
def test_a_long_body_is_answered_before_it_is_read(unharmed: Service, token: str) -> None:
    with connect(unharmed) as connection:
        head = request("POST", "/players", JSON, b"Content-Length: 209715200\r\n", token=token)
        connection.sendall(head)
        status = connection.recv(100)
        with suppress(ConnectionError):
            for _ in range(60):
                connection.sendall(b"x" * MB)
    assert status.startswith(b"HTTP/1.1 413" if token == "ann-secret" else b"HTTP/1.1 401")


def test_a_chunked_body_without_a_length_is_cut_off(unharmed: Service) -> None:
    with connect(unharmed) as connection:
        connection.sendall(
            request("POST", "/players", JSON, b"Transfer-Encoding: chunked\r\n", token="staff-secret")
        )
        with suppress(ConnectionError):
            for _ in range(60):
                connection.sendall(b"f4240\r\n" + b"x" * MB + b"\r\n")
        assert answered(connection)[:12] in (b"HTTP/1.1 413", b"")


def test_a_body_of_the_longest_length_is_still_read(unharmed: Service) -> None:
    body = json.dumps({"id": "long", "player": "ann", "wager": "red", "amount": 500}).encode()
    status, answer = said(unharmed, bet(body + b" " * (MAX_BODY - len(body)), key="long"))
    assert status in (200, 409), answer
    assert said(unharmed, bet(body + b" " * (MAX_BODY - len(body) + 1)))[0] == 413


TWO_MEANINGS = {
    "a key given twice": b'{"id":"b","player":"ann","wager":"red","amount":500,"amount":1}',
    "the key escaped": b'{"id":"b","player":"ann","wager":"red","amount":500,"\\u0061mount":1}',
    "NaN": b'{"id":"b","player":"ann","wager":"red","amount":NaN}',
    "Infinity": b'{"id":"b","player":"ann","wager":"red","amount":Infinity}',
    "1E400": b'{"id":"b","player":"ann","wager":"red","amount":1E400}',
    "half a surrogate pair": b'{"id":"b","player":"\\ud800","wager":"red","amount":500}',
    "a NUL in a name": b'{"id":"b","player":"ann\\u0000","wager":"red","amount":500}',
    "no UTF-8": b'{"id":"b","player":"\xff","wager":"red","amount":500}',
    "deeply nested": b"[" * 8000,
    "digits without end": b'{"id":"b","player":"ann","wager":"red","amount":' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", TWO_MEANINGS.values(), ids=TWO_MEANINGS)
def test_ambiguous_json_is_refused_with_a_message(unharmed: Service, body: bytes) -> None:
    status, answer = said(unharmed, bet(body))
    assert (status, answer["rule"]) == (400, "JSON")
    assert str(answer["reason"]).startswith("found ")
    assert "Traceback" not in unharmed.log


@pytest.mark.parametrize(
    "path",
    [
        "/players/ann%00",
        "/players/%ff",
        "/players/%ed%a0%80",
        "/players/ann/results?limit=1E400",
        "/players/ann/results?limit=NaN",
        "/players/ann/results?limit=" + "9" * 5000,
    ],
)
def test_a_path_that_is_not_a_valid_name_is_refused(unharmed: Service, path: str) -> None:
    status, _ = said(unharmed, request("GET", path, token="staff-secret"))
    assert status in (404, 422)


# --- requests inside requests ---

SECOND = request("GET", "/tables", token="staff-secret")
"""A request that an attacker wants answered on another client's connection."""
FRAMED = {
    "two ways to tell the length": b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + SECOND,
    "two lengths": b"Content-Length: 4\r\nContent-Length: 40\r\n\r\n{}  " + SECOND,
    "a length with a sign": b"Content-Length: +4\r\n\r\n{}  " + SECOND,
    "a length in hexadecimal digits": b"Content-Length: 0x4\r\n\r\n{}  " + SECOND,
    "less than nothing": b"Content-Length: -1\r\n\r\n{}  " + SECOND,
    "a length beyond all": b"Content-Length: 99999999999999999999999\r\n\r\n{}  " + SECOND,
    "pieces of another kind": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n" + SECOND,
    "pieces that end twice": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + SECOND,
    "a blank before the colon": b"Content-Length : 2\r\n\r\n{}" + SECOND,
    "a NUL in a header": b"X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}" + SECOND,
    "a change of protocol": b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\nPRI * HTTP/2.0\r\n\r\n"
    + SECOND,
}


@pytest.mark.parametrize("framed", FRAMED.values(), ids=FRAMED)
def test_no_request_can_be_hidden_behind_one_with_an_ambiguous_end(unharmed: Service, framed: bytes) -> None:
    """A proxy may see a different end of the request, and the rest must not count as another request."""
    head = request("POST", "/tables/wheel-1/wagers", JSON, b"Connection: close\r\n", token="ann-secret")[:-2]
    with connect(unharmed) as connection:
        with suppress(ConnectionError):
            connection.sendall(head + framed)
        answer = answered(connection)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer[9:12] in (b"400", b"422")


@pytest.mark.parametrize(
    "header",
    [
        b"X-HTTP-Method-Override: DELETE\r\n",
        b"X-Original-URL: /players/ann\r\n",
        b"X-Forwarded-Prefix: /players/ann\r\n",
        b"X-Remote-User: till\r\n",
    ],
)
def test_no_header_changes_the_request(unharmed: Service, header: bytes) -> None:
    status, answer = said(unharmed, request("GET", "/tables", header, token="ann-secret"))
    assert (status, answer["rule"]) == (403, "HTTP-403")


# --- connections that wait ---


def half(kind: str) -> bytes:
    """Return a part of a request."""
    return {
        "nothing": b"",
        "half a head": b"POST /players HTTP/1.1\r\nHost: x\r\nX-",
        "half a body of a stranger": request("POST", "/players", JSON, b"Content-Length: 100\r\n")[:-1]
        + b"\n{",
        "half a body with a token": request(
            "POST", "/players", JSON, b"Content-Length: 100\r\n", token="ann-secret"
        )
        + b"{",
        "100-continue": request(
            "POST", "/players", JSON, b"Content-Length: 100\r\nExpect: 100-continue\r\n", token="ann-secret"
        ),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["nothing", "half a head", "half a body of a stranger", "half a body with a token", "100-continue"],
)
def test_partial_requests_do_not_block_other_clients(unharmed: Service, kind: str) -> None:
    """The test sends three times as many partial requests as there are connection slots."""
    with ExitStack() as held:
        for _ in range(3 * MAX_OPEN):
            connection = held.enter_context(connect(unharmed))
            with suppress(ConnectionError):
                connection.sendall(half(kind))
        assert unharmed.ask("GET", "/players/ann", token="staff-secret")[0] == 200
        files = len(list(Path(f"/proc/{children(unharmed)[0]}/fd").iterdir()))
        assert files < MAX_OPEN + 40


def test_a_head_sent_byte_by_byte_is_dropped(unharmed: Service) -> None:
    with connect(unharmed) as connection:
        ended = threading.Event()

        def drip() -> None:
            with suppress(OSError):
                for byte in b"GET /health HTTP/1.1\r\n" + b"X-Long: y\r\n" * 10_000:
                    connection.sendall(bytes([byte]))
                    if ended.wait(0.2):
                        return

        thread = threading.Thread(target=drip)
        thread.start()
        assert answered(connection) == b""
        ended.set()
        thread.join()


def test_a_request_whose_body_never_comes_is_dropped(unharmed: Service) -> None:
    with connect(unharmed) as connection:
        connection.sendall(half("half a body with a token"))
        assert answered(connection).startswith(b"HTTP/1.1 408")


def test_an_endless_head_is_refused(unharmed: Service) -> None:
    with connect(unharmed) as connection:
        with suppress(ConnectionError):
            connection.sendall(b"GET /health HTTP/1.1\r\n" + b"X-Long: y\r\n" * 100_000)
        assert answered(connection)[:12] in (b"HTTP/1.1 400", b"")


def test_a_head_of_thousands_of_short_headers_is_refused(unharmed: Service) -> None:
    short = [b"X-%d: y\r\n" % n for n in range(3000)]
    with connect(unharmed) as connection:
        with suppress(ConnectionError):
            connection.sendall(request("GET", "/health", b"Connection: close\r\n", *short))
        assert answered(connection)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")


def test_a_client_that_reads_no_answer_is_disconnected(unharmed: Service) -> None:
    with connect(unharmed) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with suppress(ConnectionError):
            connection.sendall(request("GET", "/openapi.json") * 500)
        assert unharmed.ask("GET", "/players/ann", token="staff-secret")[0] == 200


@pytest.mark.parametrize("begun", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n"])
def test_unfinished_handshakes_do_not_block_other_clients(tmp_path: Path, begun: bytes) -> None:
    tls = Authority(tmp_path).files("api")
    service = Service(tmp_path, house_in(tmp_path), arguments=("--certificate", tls.certificate, tls.key))
    service.start()
    trust = ssl.create_default_context(cafile=tls.ca)
    try:
        with ExitStack() as held:
            for _ in range(3 * MAX_OPEN):
                connection = held.enter_context(connect(service))
                with suppress(ConnectionError):
                    connection.sendall(begun)
            with trust.wrap_socket(connect(service), server_hostname="localhost") as true:
                true.sendall(request("GET", "/health", b"Connection: close\r\n"))
                assert answered(true).startswith(b"HTTP/1.1 200")
            files = len(list(Path(f"/proc/{children(service)[0]}/fd").iterdir()))
            assert files < MAX_OPEN + 40
        assert len(service.log) < MAX_LOG
    finally:
        service.close()


# --- floods ---


def test_a_flood_of_non_http_data_leaves_few_log_lines(unharmed: Service) -> None:
    for _ in range(500):
        with connect(unharmed) as connection, suppress(ConnectionError):
            connection.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")
    assert unharmed.log.count("Invalid HTTP request") <= 20


def test_lookups_of_unknown_tokens_are_limited(unharmed: Service) -> None:
    statuses = [ask(unharmed.port, "GET", "/tables", token=f"guess-{n}")[0] for n in range(200)]
    assert set(statuses) <= {401, 429}
    assert unharmed.ask("GET", "/players/ann", token="staff-secret")[0] == 200


@pytest.mark.parametrize(
    "header",
    [
        b"Authorization: Bearer a\r\nAuthorization: Bearer staff-secret\r\n",
        b"Authorization: Bearer " + b"x" * 5000 + b"\r\n",
        b"Authorization: Basic c3RhZmY6c3RhZmY=\r\n",
        b"Authorization: Bearer \xe4\xf6\r\n",
        b"Authorization:\r\n",
    ],
)
def test_a_malformed_token_is_refused(unharmed: Service, header: bytes) -> None:
    assert said(unharmed, request("GET", "/tables", header))[0] == 401


# --- the process itself ---


@pytest.mark.parametrize("word", [signal.SIGKILL, signal.SIGSEGV])
def test_an_http_process_that_dies_is_restarted_and_the_engine_continues(
    tmp_path: Path, word: signal.Signals
) -> None:
    service = Service(tmp_path, house_in(tmp_path))
    service.start()
    try:
        (before,) = children(service)
        os.kill(before, word)
        until(lambda: bool(children(service)) and children(service) != [before], "another process")
        until(lambda: answers(service), "an answer")
        assert service.process is not None
        assert service.process.poll() is None
    finally:
        service.close()
    until(lambda: not Path(f"/proc/{before}").exists(), "its end")


def test_the_http_process_ends_with_the_engine(tmp_path: Path) -> None:
    service = Service(tmp_path, house_in(tmp_path))
    service.start()
    (served,) = children(service)
    service.kill()
    until(lambda: not Path(f"/proc/{served}").exists(), "its end")


def answers(service: Service) -> bool:
    with suppress(OSError):
        return service.ask("GET", "/players/ann", token="staff-secret")[0] == 200
    return False
