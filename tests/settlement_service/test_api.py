"""The HTTP API: permissions, idempotency keys, and requests of every form."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from sqlalchemy import update

from controller.journal.keys import Key
from controller.settlement_service import http_requests, schema
from controller.settlement_service.http_process import make_app
from controller.settlement_service.http_requests import HttpRequests, Tokens, digest_of
from controller.settlement_service.store import Store
from tests.settlement_service.rig import House, LocalHandler, SealedTable, key_in

STAFF, ANN, READER = "staff-secret", "ann-secret", "reader-secret"


def served(house: House, key: Key) -> TestClient:
    """Serve a house with a player, a craps table and a wheel."""
    house.enrol(SealedTable("craps-1", key), "craps-12-034")
    house.enrol(SealedTable("wheel-1", key), "roulette")
    house.player("ann", 10_000)
    tokens = Tokens(house.engine)
    tokens.make("till", "staff", STAFF)
    tokens.make("ann's", "player", ANN, "ann")
    tokens.make("screen", "reader", READER)
    return TestClient(make_app(LocalHandler(HttpRequests(house.engine))), raise_server_exceptions=False)


@pytest.fixture
def client(house: House, key: Key) -> TestClient:
    return served(house, key)


def headers(secret: str, key: str = "k1") -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}", "Idempotency-Key": key}


CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
BOUNDED = settings(
    max_examples=4, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
WAGER = {"id": "b1", "player": "ann", "wager": "red", "amount": 500}


def test_a_player_bets_and_reads_his_balance(client: TestClient, house: House) -> None:
    made = client.post("/tables/wheel-1/wagers", json=WAGER, headers=headers(ANN))
    assert (made.status_code, made.json()["balance"]) == (200, 9_500)
    account = client.get("/players/ann", headers=headers(ANN)).json()
    assert account["balance"] == 9_500
    assert [wager["stake"] for wager in account["wagers"]] == [500]
    assert client.get("/tables/wheel-1/wagers/b1", headers=headers(ANN)).json()["status"] == "up"


def test_a_request_repeated_with_the_same_key_is_done_once(client: TestClient, house: House) -> None:
    answers = [
        client.post("/players/ann/deposits", json={"cents": 700}, headers=headers(STAFF)) for _ in range(3)
    ]
    assert [answer.json()["balance"] for answer in answers] == [10_700] * 3
    assert house.balance("player:ann") == 10_700


def test_another_request_under_the_same_key_is_refused(client: TestClient) -> None:
    client.post("/players/ann/deposits", json={"cents": 700}, headers=headers(STAFF))
    other = client.post("/players/ann/deposits", json={"cents": 800}, headers=headers(STAFF))
    assert (other.status_code, other.json()["rule"]) == (409, "KEY")


def test_a_refusal_names_the_rule(client: TestClient) -> None:
    refused = client.post("/tables/wheel-1/wagers", json={**WAGER, "amount": 50}, headers=headers(ANN))
    assert refused.status_code == 409
    assert refused.json()["rule"].startswith(("R-", "!R-"))


class TestSeveralWagersAtOnce:
    BATCH = "/tables/wheel-1/wagers/batch"

    def wagers(self, *amounts: int) -> list[dict[str, object]]:
        return [{**WAGER, "id": f"b{n}", "amount": amount} for n, amount in enumerate(amounts)]

    def test_each_wager_is_accepted_or_refused_on_its_own(self, client: TestClient, house: House) -> None:
        client.post("/players/ann/withdrawals", json={"cents": 9_000}, headers=headers(STAFF))
        wagers = self.wagers(400, 500, 50, 600)
        wagers[1]["wager"] = "even"
        wagers[1]["amount"] = 700
        made = client.post(self.BATCH, json={"wagers": wagers}, headers=headers(ANN))
        assert made.status_code == 200
        first, too_dear, too_small, last = made.json()
        assert (first["id"], first["granted"]["balance"], first["refused"]) == ("b0", 600, None)
        assert (too_dear["id"], too_dear["granted"], too_dear["refused"]["rule"]) == ("b1", None, "FUNDS")
        assert too_small["refused"]["rule"].startswith(("R-", "!R-"))
        assert last["granted"]["balance"] == 0
        assert house.balance("player:ann") == 0
        assert house.proof().faults == ()

    def test_repeated_wagers_are_made_once(self, client: TestClient, house: House) -> None:
        once = client.post(self.BATCH, json={"wagers": self.wagers(100, 200)}, headers=headers(ANN))
        again = client.post(self.BATCH, json={"wagers": self.wagers(100, 200)}, headers=headers(ANN))
        more = client.post(self.BATCH, json={"wagers": self.wagers(100, 200, 300)}, headers=headers(ANN))
        assert again.json() == once.json() == more.json()[:2]
        assert more.json()[2]["granted"]["balance"] == house.balance("player:ann") == 9_400

    def test_another_wager_under_the_same_key_and_id_is_refused(
        self, client: TestClient, house: House
    ) -> None:
        client.post(self.BATCH, json={"wagers": self.wagers(500)}, headers=headers(ANN))
        other = client.post(self.BATCH, json={"wagers": self.wagers(600)}, headers=headers(ANN))
        assert other.json()[0]["refused"]["rule"] == "KEY"
        assert house.balance("player:ann") == 9_500

    @pytest.mark.parametrize(
        ("wagers", "secret", "status", "rule"),
        [
            ([WAGER, WAGER], ANN, 409, "BOOK-ID"),
            ([{**WAGER, "late": True}], STAFF, 409, "C34-MK-1b"),
            ([{**WAGER, "late": True}], ANN, 403, "HTTP-403"),
            ([WAGER, {**WAGER, "id": "b2", "player": "bob"}], ANN, 403, "HTTP-403"),
            ([], ANN, 422, None),
            ([{**WAGER, "id": f"b{n}"} for n in range(51)], ANN, 422, None),
        ],
    )
    def test_a_request_refused_as_a_whole_accepts_no_wager(
        self,
        client: TestClient,
        house: House,
        wagers: list[dict[str, object]],
        secret: str,
        status: int,
        rule: str | None,
    ) -> None:
        refused = client.post(self.BATCH, json={"wagers": wagers}, headers=headers(secret))
        assert (refused.status_code, refused.json().get("rule")) == (status, rule)
        assert house.balance("player:ann") == 10_000

    def test_fifty_wagers_of_the_longest_names_fit(self, client: TestClient, house: House) -> None:
        spots = [{"wager": "straight", "numbers": [str(n % 37)]} for n in range(50)]
        wagers = [{**WAGER, **spot, "id": f"{n:0>64}", "amount": 100} for n, spot in enumerate(spots)]
        made = client.post(self.BATCH, json={"wagers": wagers}, headers=headers(ANN, "k" * 64))
        assert made.status_code == 200
        assert house.balance("player:ann") == 5_000


def test_a_wager_is_removed(client: TestClient, house: House) -> None:
    client.post("/tables/wheel-1/wagers", json=WAGER, headers=headers(ANN))
    back = client.post("/tables/wheel-1/wagers/b1/changes", json={"do": "remove"}, headers=headers(ANN, "k2"))
    assert back.json()["balance"] == 10_000
    assert house.proof().faults == ()


@pytest.mark.parametrize(
    ("method", "path", "body", "secret", "status"),
    [
        ("get", "/players/ann", None, None, 401),
        ("get", "/players/ann", None, "no such secret", 401),
        ("get", "/players/bob", None, ANN, 403),
        ("get", "/players/ann", None, READER, 200),
        ("get", "/players/nobody", None, STAFF, 404),
        ("get", "/tables", None, ANN, 403),
        ("get", "/alarms", None, READER, 200),
        ("post", "/players", {"player": "bob"}, ANN, 403),
        ("post", "/players", {"player": "bob"}, READER, 403),
        ("post", "/players/ann/deposits", {"cents": 1}, ANN, 403),
        ("post", "/players/ann/withdrawals", {"cents": 10_001}, STAFF, 409),
        ("post", "/players/ann/withdrawals", {"cents": 0}, STAFF, 422),
        ("post", "/tables/wheel-1/wagers", {**WAGER, "player": "bob"}, ANN, 403),
        ("post", "/tables/wheel-1/wagers", WAGER, READER, 403),
        ("post", "/tables/craps-1/wagers", {**WAGER, "late": True}, ANN, 403),
        ("post", "/tables/nowhere/wagers", WAGER, ANN, 409),
        ("get", "/health", None, None, 200),
    ],
)
def test_who_may_do_what(
    client: TestClient,
    method: str,
    path: str,
    body: dict[str, object] | None,
    secret: str | None,
    status: int,
) -> None:
    given = headers(secret) if secret else {"Idempotency-Key": "k"}
    assert client.request(method, path, json=body, headers=given).status_code == status


def test_a_revoked_token_is_refused(client: TestClient, house: House) -> None:
    Tokens(house.engine).revoke("ann's")
    assert client.get("/players/ann", headers=headers(ANN)).status_code == 401


def test_no_secret_is_stored(client: TestClient, house: House, tmp_path: Path) -> None:
    house.store.close()
    kept = (tmp_path / "settlement.db").read_bytes()
    assert digest_of(STAFF).encode() in kept
    assert STAFF.encode() not in kept


def test_health_counts_tables_and_alarms_beyond_those_that_are_listed(
    house: House, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_requests, "MAX_LISTED", 1)
    with house.engine.work() as work:
        work.connection.execute(update(schema.tables).values(halted="outcome 1 can't be applied"))
        for table in ("craps-1", "wheel-1"):
            work.alarm(table, "table_halted", "outcome 1 can't be applied")
    assert client.get("/health").json() == {
        "status": "attention",
        "tables": 2,
        "halted": 2,
        "alarms": 2,
        "broker": "none",
    }


def test_a_database_that_does_not_answer_is_reported(house: House, client: TestClient) -> None:
    house.engine._store = Store("postgresql://nobody@127.0.0.1:1/none")
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["rule"]) == (503, "DATABASE")


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("fuzz")
    house = House(f"sqlite:///{folder}/settlement.db")
    yield served(house, key_in(folder))
    assert house.proof().faults == ()
    house.store.close()


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_no_request_breaks_the_api(fuzzed: TestClient, mode: GenerationMode) -> None:
    """Every request, valid or not, is answered as the document states, and never with 5xx."""
    document = schemathesis.openapi.from_asgi("/openapi.json", fuzzed.app)
    operations = [found.ok() for found in document.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == sum(map(len, document.raw_schema["paths"].values())) > 11
    for operation in operations:

        @BOUNDED
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case[Any]) -> None:
            case.call_and_validate(headers={"Authorization": f"Bearer {STAFF}"}, checks=CHECKS)

        with contextlib.suppress(Unsatisfiable):  # an operation without input has no invalid input
            check()
