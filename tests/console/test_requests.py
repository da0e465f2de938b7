"""Requests to the console: no server error, inputs only as the signed-in person, none from another site."""

import asyncio
import string
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from typing import cast

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from starlette.types import Message, Scope

from controller.console.app import Console
from controller.console.guard import COOKIE, MAX_BODY_BYTES, SCREEN_COOKIE, Guard
from controller.console.link import Json, Link, LinkError

ORIGIN = "http://localhost"
OURS = {"origin": ORIGIN, "content-type": "application/json"}


class FakeTable:
    """Replaces the control socket: records requests, and returns the state of an open craps table."""

    def __init__(self) -> None:
        self.said: list[Json] = []
        self.reached = True

    async def ask(self, **request: object) -> Json:
        if not self.reached:
            raise LinkError("the controller does not respond on /run/table/control.sock")
        match request["do"]:
            case "table":
                floor = {"table": "craps", "ruleset": "craps-12-034", "title": "Craps", "game": "craps"}
                may = {"boxperson": ["no_roll", "set_dice", "lock"]}
                return {"ok": True, "floor": {**floor, "up": True, "lock": "unlocked", "may": may}}
            case "input" | "approve":
                self.said.append(request)
                return {"ok": True, "says": "done"}
            case _:
                return {"ok": False, "code": "not_now", "says": "not now"}

    once = ask

    async def lines(self, **_: object) -> AsyncGenerator[Json, None]:
        await asyncio.Event().wait()  # no update is ever published
        yield {}


class FakeDesk:
    """Replaces the sign-in process: ann's PIN is 1234, and every token names its person."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.screens: list[object] = []

    async def ask(self, **request: object) -> Json:
        session = request.get("session")
        if request["do"] == "sign_in":
            self.screens.append(request["screen"])
        match request["do"]:
            case "people":
                return {"ok": True, "people": ["ann"]}
            case "sign_in" if (request["person"], request["typed"]) == ("ann", "1234"):
                self.open.add("secret")
                return {
                    "ok": True,
                    "session": "secret",
                    "person": "ann",
                    "roles": ["boxperson"],
                    "screen": "ours",
                }
            case "token" if session in self.open and request["role"] == "boxperson":
                return {"ok": True, "token": "ann as boxperson"}
            case "session" if session in self.open:
                return {"ok": True}
            case "sign_out":
                self.open.clear()
                return {"ok": True}
            case _:
                return {"ok": False, "code": "wrong", "says": "that is not right"}


class House:
    """A console between a fake table and a fake desk."""

    def __init__(self) -> None:
        self.table, self.desk = FakeTable(), FakeDesk()
        self.console = Console(cast("Link", self.table), cast("Link", self.desk), "pit 1", secure=False)
        self.cookie = ""
        guard: Guard = self.console.app(("localhost",))
        self.client = TestClient(guard, base_url=ORIGIN, raise_server_exceptions=True)

    def sign_in(self) -> dict[str, str]:
        """Sign ann in, and return the headers of her page's requests."""
        assert self.client.post("/sign-in", json={"person": "ann", "typed": "1234"}, headers=OURS).json()[
            "ok"
        ]
        session = self.console.sessions.of(self.client.cookies[COOKIE])
        assert session is not None
        return {**OURS, "x-console-page": session.csrf}

    def page(self) -> dict[str, str]:
        """Return the headers of ann's page; sign her in again if she was signed out."""
        self.client.cookies.clear()
        session = self.console.sessions.of(self.cookie)
        if session is None or not self.desk.open:
            page = self.sign_in()
            self.cookie = self.client.cookies[COOKIE]
            return page
        self.client.cookies.set(COOKIE, self.cookie)
        return {**OURS, "x-console-page": session.csrf}


@pytest.fixture
def house() -> House:
    return House()


FUZZED = House()


def test_an_input_is_sent_with_the_token_of_the_signed_in_person(house: House) -> None:
    page = house.sign_in()
    answer = house.client.post("/say", json={"name": "no_roll", "what": "24"}, headers=page)
    assert answer.json() == {"ok": True, "says": "done"}
    (said,) = house.table.said
    assert (said["name"], said["what"], said["token"]) == ("no_roll", "24", "ann as boxperson")


def test_a_browser_names_itself_at_its_next_sign_in_and_nowhere_else(house: House) -> None:
    house.sign_in()
    assert house.desk.screens == [None]
    kept = next(one for one in house.client.cookies.jar if one.name == SCREEN_COOKIE)
    assert (kept.value, kept.path) == ("ours", "/sign-in")
    assert kept.has_nonstandard_attr("HttpOnly")
    house.sign_in()
    assert house.desk.screens == [None, "ours"]


def test_a_ruling_without_its_attempt_is_not_forwarded(house: House) -> None:
    answer = house.client.post("/say", json={"name": "no_roll"}, headers=house.sign_in())
    assert (answer.status_code, answer.json()["code"]) == (400, "unbound")
    assert house.table.said == []


def test_an_approval_is_sent_with_the_token_of_the_signed_in_person(house: House) -> None:
    page = house.sign_in()
    answer = house.client.post("/approve", json={"approve": "clock"}, headers=page)
    assert answer.json()["says"] == "Approved. Unlock the table when it is ready."
    (said,) = house.table.said
    assert (said["do"], said["what"], said["token"]) == ("approve", "clock", "ann as boxperson")
    for body in ({"approve": "journal"}, {"approve": "clock", "who": "eve"}, {}):
        assert house.client.post("/approve", json=body, headers=page).status_code == 400
    assert house.client.post("/approve", json={"approve": "clock"}, headers=OURS).status_code == 403
    assert len(house.table.said) == 1


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"origin": "http://elsewhere.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": ""}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"x-console-page": "another"}, 403),
        ({"x-console-page": ""}, 403),
        ({"host": "elsewhere.example"}, 421),
        ({"host": "localhost.elsewhere.example"}, 421),
    ],
)
def test_an_input_from_another_site_or_page_is_refused(
    house: House, change: dict[str, str], status: int
) -> None:
    page = {**house.sign_in(), **change}
    answer = house.client.post("/say", content=b'{"name":"no_roll","what":"1"}', headers=page)
    assert answer.status_code == status
    assert house.table.said == []


def test_nobody_enters_or_sees_anything_before_signing_in_or_after_signing_out(house: House) -> None:
    word = {"name": "no_roll", "what": "1"}
    assert house.client.post("/say", json=word, headers={**OURS, "x-console-page": ""}).status_code == 401
    assert house.client.get("/events").status_code == 401
    assert house.client.get("/picture/1").status_code == 401
    assert "data-panel" not in house.client.get("/").text
    page = house.sign_in()
    assert house.client.post("/sign-out", json={}, headers=page).json()["ok"]
    assert house.client.post("/say", json=word, headers=page).status_code == 401
    assert house.table.said == []


def test_a_session_ended_by_the_sign_in_process_is_over_at_the_console_too(house: House) -> None:
    page = house.sign_in()
    house.desk.open.clear()
    answer = house.client.post("/say", json={"name": "lock"}, headers=page)
    assert (answer.status_code, answer.json()["code"]) == (401, "signed_out")
    assert house.client.get("/events").status_code == 401


def test_the_cookie_is_inaccessible_to_scripts_and_other_sites(house: House) -> None:
    answer = house.client.post("/sign-in", json={"person": "ann", "typed": "1234"}, headers=OURS)
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


@pytest.mark.parametrize(
    "path", ["/", "/display", "/static/staff.js", "/nowhere", "/picture/1", "/technician"]
)
def test_every_answer_has_the_strict_headers(house: House, path: str) -> None:
    headers = house.client.get(path).headers
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", ["/", "/display"])
def test_a_page_loads_nothing_from_elsewhere_and_has_no_script_in_it(house: House, path: str) -> None:
    text = house.client.get(path).text
    assert "http://" not in text.replace(ORIGIN, "")
    assert "https://" not in text
    assert "<script>" not in text
    assert "style=" not in text


def test_a_body_that_is_too_long_is_refused(house: House) -> None:
    page = house.sign_in()
    answer = house.client.post("/say", content=b'{"name":"' + b"x" * MAX_BODY_BYTES + b'"}', headers=page)
    assert answer.status_code == 413


def test_a_missing_controller_is_reported_with_a_message(house: House) -> None:
    page = house.sign_in()
    house.table.reached = False
    answer = house.client.post("/say", json={"name": "lock"}, headers=page)
    assert (answer.status_code, answer.json()["code"]) == (503, "out_of_reach")
    assert house.client.get("/picture/1").status_code == 503


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "1.0", "٣", "x"])
def test_a_picture_with_an_invalid_number_is_not_found(house: House, number: str) -> None:
    house.sign_in()
    assert house.client.get(f"/picture/{number}").status_code == 404


@pytest.mark.parametrize("path", ["/display/", "//::", "/static/\x00", "/static/../../app.py"])
def test_a_path_that_no_browser_sends_is_not_found(house: House, path: str) -> None:
    status: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            status.append(message["status"])

    scope: Scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path,
        "query_string": b"\xff", "headers": [(b"host", b"localhost")], "root_path": "",
    }  # fmt: skip

    async def answered() -> None:
        await house.console.app(("localhost",))(scope, receive, send)

    with ThreadPoolExecutor(1) as thread:  # the browser's tests have a loop in this thread
        thread.submit(asyncio.run, answered()).result()
    assert status == [404]


TEXT = st.text(max_size=80)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
KEYS = (
    *("name", "approve", "dice", "seat", "seats", "number", "card", "count", "reason", "what", "on"),
    *("by", "token", "role", "person", "typed"),
)
URL = string.ascii_letters + string.digits + string.punctuation
WORDS = ("no_roll", "set_dice", "accept", "void", "misdeal", "lock", "unlock", "test_mode", "settled", "buy")
SAID = st.fixed_dictionaries(
    {"name": st.sampled_from(WORDS)},
    optional={
        "what": st.sampled_from(("1", "24", "game")) | TEXT,
        "dice": st.lists(st.integers(1, 6), min_size=2, max_size=2)
        | st.lists(st.integers(-1, 8), max_size=3),
        "seat": TEXT,
        "on": st.booleans(),
        "of_review": st.booleans(),
    },
)
"""Requests as a screen sends them."""
CLAIMS = st.sampled_from(({"by": "manager"}, {"who": "eve"}, {"token": "forged"}, {"do": "approve"}))
CLAIMED = st.tuples(SAID, CLAIMS).map(lambda both: both[0] | both[1])
"""Requests with fields that a screen must not set."""
ASKED = (
    SAID
    | CLAIMED
    | st.fixed_dictionaries({"approve": st.sampled_from(("identity", "device", "clock", "journal"))})
    | st.fixed_dictionaries({"role": st.sampled_from(("boxperson", "manager"))})
    | st.fixed_dictionaries(
        {"person": st.sampled_from(("ann", "eve")), "typed": st.sampled_from(("1234", "1"))}
    )
)
BODIES = (
    ASKED.map(msgspec.json.encode)
    | st.binary(max_size=200)
    | VALUES.map(msgspec.json.encode)
    | st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6).map(msgspec.json.encode)
)
PATHS = st.sampled_from(
    (
        "/",
        "/say",
        "/sign-in",
        "/sign-out",
        "/role",
        "/approve",
        "/events",
        "/display",
        "/picture/1",
        "/picture/" + "9" * 40,
        "/technician",
        "/technician/sensors/events",
        "/technician/recordings/..%2f..%2fjournal.db",
        "/technician/begin",
        "/technician/answer",
        "/technician/stop",
    )
) | st.text(URL, max_size=30).map(lambda text: "/" + text.lstrip("/"))  # the client takes // for a host
HEADER = st.text(string.printable.replace("\r", "").replace("\n", ""), max_size=60)


@settings(max_examples=150, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(
    signed_in=st.booleans(),
    method=st.just("POST") | st.sampled_from(("GET", "POST", "PUT", "DELETE", "OPTIONS")),
    path=st.sampled_from(("/say", "/approve")) | PATHS,
    body=SAID.map(msgspec.json.encode) | BODIES,
    headers=st.just({})
    | st.dictionaries(
        st.sampled_from(("origin", "x-console-page", "content-type", "sec-fetch-site", "cookie")),
        HEADER,
        max_size=2,
    ),
)
def test_no_request_is_a_server_error_and_inputs_are_entered_only_as_the_signed_in_person(
    signed_in: bool, method: str, path: str, body: bytes, headers: dict[str, str]
) -> None:
    house = FUZZED
    house.table.said.clear()
    house.client.cookies.clear()
    page = house.page() if signed_in else OURS
    if path == "/events" and method == "GET":
        headers = {**headers, "cookie": ""}  # a stream does not end
    answer = house.client.request(method, path, content=body, headers={**page, **headers})
    assert answer.status_code != 500, answer.text
    assert signed_in or house.table.said == []
    for said in house.table.said:
        assert said["token"] == "ann as boxperson"
        assert said.get("by", "boxperson") == "boxperson"
