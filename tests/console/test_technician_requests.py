"""The technician's requests: for technicians only, each from the right page, and no server error."""

from collections.abc import AsyncGenerator, Sequence
from typing import cast

import msgspec
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from controller.console.app import Console
from controller.console.guard import COOKIE
from controller.console.link import Json, Link
from controller.console.technician import Answer, CheckResult, Does, PageLine
from tests.console.test_requests import BODIES, ORIGIN, OURS, FakeDesk, FakeTable

PAGES = ("", "/sensors", "/work", "/recordings", "/checks")
STREAMS = ("/events", "/sensors/events", "/work/events")
POSTS = ("/begin", "/answer", "/stop")
BEGIN = {"does": "test", "device": "cam"}


class TechniciansTable(FakeTable):
    """Returns a status, recordings and a log; records each request with its token."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[object] = []
        self.device: dict[str, object] = {"up": True, "reads": ["die_at"], "figures": {}}

    async def ask(self, **request: object) -> Json:
        if "token" in request:
            self.tokens.append(request["token"])
        match request["do"]:
            case "status":
                return {"ok": True, "status": {"table": "craps", "devices": {"cam": self.device}}}
            case "recordings":
                return {"ok": True, "recordings": [{"name": "craps-1-1"}]}
            case "log":
                return {"ok": True, "log": [{"at": "now", "says": "<b>"}]}
            case _:
                return await super().ask(**request)

    once = ask

    async def lines(self, **request: object) -> AsyncGenerator[Json, None]:
        self.tokens.append(request["token"])
        if request["do"] == "recording":
            yield {"ok": True}
            yield {"lines": "a line\n"}
            yield {"ok": True, "end": True}


class TechniciansDesk(FakeDesk):
    """Signs tom in as a technician and as a dealer."""

    async def ask(self, **request: object) -> Json:
        if request["do"] == "sign_in" and request["person"] == "tom":
            self.open.add("secret")
            return {
                "ok": True,
                "session": "secret",
                "person": "tom",
                "roles": ["technician", "dealer"],
                "screen": "one",
            }
        if request["do"] == "token" and self.open:
            return {"ok": True, "token": f"tom as {request['role']}"}
        return await super().ask(**request)


class FakeWork:
    """A test that waits for its first step."""

    def __init__(self, device: str) -> None:
        self.title, self.asks, self.over = f"Test of {device}", "throw one die", False
        self.answers: Sequence[Answer] = ("done", "skip")
        self.lines = (PageLine("fail", "<script>"),)
        self.given: list[Answer] = []

    def answer(self, given: Answer) -> None:
        self.given.append(given)

    def stop(self) -> None:
        self.over = True


class FakeBench:
    """Begins a test without a table."""

    def __init__(self) -> None:
        self.begun: list[tuple[Does, str, str]] = []
        self.work: FakeWork | None = None

    def begin(self, does: Does, device: str, token: str) -> FakeWork:
        self.begun.append((does, device, token))
        self.work = FakeWork(device)
        return self.work

    def doctor(self) -> Sequence[CheckResult]:
        return (CheckResult("fault", "disk", "it is full", "make room"),)


class Shop:
    """A console at which tom has signed in."""

    def __init__(self) -> None:
        self.table, self.desk, self.bench = TechniciansTable(), TechniciansDesk(), FakeBench()
        self.console = Console(
            cast("Link", self.table), cast("Link", self.desk), "pit 1", secure=False, bench=self.bench
        )
        self.client = TestClient(self.console.app(("localhost",)), base_url=ORIGIN, follow_redirects=False)
        self.page: dict[str, str] = {}

    def sign_in(self) -> "Shop":
        self.client.post("/sign-in", json={"person": "tom", "typed": "1"}, headers=OURS)
        session = self.console.sessions.of(self.client.cookies[COOKIE])
        assert session is not None
        self.page = {**OURS, "x-console-page": session.csrf}
        return self

    def post(self, path: str, body: object, headers: dict[str, str] | None = None) -> tuple[int, Json]:
        answer = self.client.post(f"/technician{path}", json=body, headers=headers or self.page)
        return answer.status_code, msgspec.json.decode(answer.content, type=Json)


@pytest.fixture
def shop() -> Shop:
    return Shop().sign_in()


@pytest.mark.parametrize("path", PAGES)
def test_a_technicians_page_is_escaped_and_loads_nothing_from_elsewhere(shop: Shop, path: str) -> None:
    answer = shop.client.get(f"/technician{path}")
    assert answer.status_code == 200
    for never in ("http://", "https://", "<script>", "style=", "<b></time>"):
        assert never not in answer.text


def test_the_facts_about_a_device_are_separated(shop: Shop) -> None:
    shop.table.device = {"says": "device_down: no data", "figures": {"clock_error_us": 12}}
    assert '"facts-line">clock within 12 µs; no data</p>' in shop.client.get("/technician").text
    shop.table.device |= {
        "up": True,
        "readings_per_s": 90.0,
        "figures": {"clock_error_us": 12, "troubles": ["x"]},
    }
    assert (
        '"facts-line">90.0 readings/s, clock within 12 µs; no data</p>' in shop.client.get("/technician").text
    )


@pytest.mark.parametrize("path", [*PAGES, *STREAMS, "/recordings/craps-1-1"])
def test_nothing_is_shown_before_signing_in_or_in_another_role(path: str) -> None:
    shop = Shop()
    assert shop.client.get(f"/technician{path}").status_code in (303, 401)
    shop.sign_in()
    assert shop.client.post("/role", json={"role": "dealer"}, headers=shop.page).json()["ok"]
    answer = shop.client.get(f"/technician{path}")
    assert answer.status_code == 403
    assert "for technicians" in answer.text
    assert shop.table.tokens == []


@pytest.mark.parametrize("path", POSTS)
def test_a_post_from_another_page_site_or_role_does_nothing(shop: Shop, path: str) -> None:
    body = {"/begin": BEGIN, "/answer": {"answer": "done"}, "/stop": {}}[path]
    for change in ({"x-console-page": "another"}, {"x-console-page": ""}):
        assert shop.post(path, body, {**shop.page, **change})[0] == 403
    foreign = {**shop.page, "origin": "http://elsewhere.example"}
    assert shop.client.post(f"/technician{path}", json=body, headers=foreign).status_code == 403
    shop.client.post("/role", json={"role": "dealer"}, headers=shop.page)
    status, answer = shop.post(path, body)
    assert (status, answer["code"]) == (403, "not_your_role")
    assert shop.bench.begun == []


def test_a_test_begins_as_the_signed_in_person_and_is_answered_and_ended(shop: Shop) -> None:
    with shop.client:
        assert shop.post("/begin", BEGIN) == (200, {"ok": True})
        assert shop.bench.begun == [("test", "cam", "tom as technician")]
        assert shop.post("/begin", BEGIN)[1]["code"] == "busy"
        assert shop.post("/answer", {"answer": "done"})[0] == 200
        assert shop.post("/answer", {"answer": "yes"})[1]["code"] == "not_now"
        assert shop.post("/stop", {})[0] == 200
        assert shop.post("/answer", {"answer": "done"})[1]["code"] == "not_now"
    assert shop.bench.work is not None
    assert shop.bench.work.given == ["done"]


@pytest.mark.parametrize("device", ["", "../x", "a b", "x" * 200, "cam\n"])
def test_an_unknown_device_is_not_tested(shop: Shop, device: str) -> None:
    assert shop.post("/begin", {"does": "test", "device": device})[0] == 400
    assert shop.bench.begun == []


def test_a_recording_is_sent_as_a_file_with_the_technicians_token(shop: Shop) -> None:
    answer = shop.client.get("/technician/recordings/craps-1-1")
    assert answer.text == "a line\n"
    assert answer.headers["content-disposition"] == 'attachment; filename="craps-1-1.jsonl"'
    assert shop.table.tokens == ["tom as technician"]
    assert shop.client.get("/technician/recordings/a%22b").status_code == 404


FUZZED = Shop().sign_in()


@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(path=st.sampled_from(POSTS), body=BODIES)
def test_no_body_causes_a_server_error(path: str, body: bytes) -> None:
    answer = FUZZED.client.post(f"/technician{path}", content=body, headers=FUZZED.page)
    assert answer.status_code in (400, 409, 413)
    assert FUZZED.bench.begun == []
