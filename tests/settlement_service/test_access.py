"""Permissions over HTTP, as a table of routes, objects and roles. Every cell is tested."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
from fastapi.testclient import TestClient

from controller.journal.keys import Key
from controller.settlement_service.channel import ACCESS, Action
from controller.settlement_service.channel import Role as TokenRole
from controller.settlement_service.http_process import make_app
from controller.settlement_service.http_requests import HttpRequests, Tokens
from tests.settlement_service.rig import House, LocalHandler, SealedTable

ROLES = ("no token", "unknown token", "revoked token", "reader", "player", "staff")
"""From the weakest to the strongest role; each acts after the roles before it."""
BET: dict[str, object] = {"id": "new", "player": "ann", "wager": "red", "amount": 100}
ANTE: dict[str, object] = {"id": "new", "player": "ann", "wager": "ante", "amount": 200}
ODDS: dict[str, object] = {"id": "new", "player": "ann", "wager": "pass_odds", "amount": 100}
FORBIDDEN = (401, 401, 401, 403, 403)


@dataclass(frozen=True)
class Row:
    """A route with one object, and the answer to each role."""

    method: str
    route: str
    what: str
    path: dict[str, str]
    cells: tuple[int, ...]
    body: dict[str, object] | None = None
    says: str = ""
    """Text in the refusal of the strongest role."""


TABLE = (
    Row("GET", "/health", "anything", {}, (200,) * 6),
    Row("POST", "/players", "a new account", {}, (*FORBIDDEN, 200), {"player": "new"}),
    Row("POST", "/players", "an account there is", {}, (*FORBIDDEN, 409), {"player": "bob"}, "ACCOUNT"),
    Row("GET", "/players/{player}", "one's own", {"player": "ann"}, (401, 401, 401, 200, 200, 200)),
    Row("GET", "/players/{player}", "another's", {"player": "bob"}, (401, 401, 401, 200, 403, 200)),
    Row("GET", "/players/{player}", "nobody's", {"player": "eve"}, (401, 401, 401, 404, 403, 404)),
    Row("GET", "/players/{player}/results", "one's own", {"player": "ann"}, (401, 401, 401, 200, 200, 200)),
    Row("GET", "/players/{player}/results", "another's", {"player": "bob"}, (401, 401, 401, 200, 403, 200)),
    Row(
        "POST", "/players/{player}/deposits", "one's own", {"player": "ann"}, (*FORBIDDEN, 200), {"cents": 5}
    ),
    Row(
        "POST", "/players/{player}/deposits", "another's", {"player": "bob"}, (*FORBIDDEN, 200), {"cents": 5}
    ),
    Row(
        "POST",
        "/players/{player}/withdrawals",
        "one's own",
        {"player": "ann"},
        (*FORBIDDEN, 200),
        {"cents": 5},
    ),
    Row(
        "POST",
        "/players/{player}/withdrawals",
        "another's",
        {"player": "bob"},
        (*FORBIDDEN, 200),
        {"cents": 5},
    ),
    Row("GET", "/tables", "all", {}, (401, 401, 401, 200, 403, 200)),
    Row("GET", "/tables/{table}/rounds", "all", {"table": "wheel"}, (401, 401, 401, 200, 403, 200)),
    Row("GET", "/alarms", "all", {}, (401, 401, 401, 200, 403, 200)),
    Row(
        "PUT",
        "/tables/{table}/seats/{seat}",
        "a free seat",
        {"table": "cards", "seat": "9"},
        (*FORBIDDEN, 200),
        {"player": "ann"},
    ),
    Row(
        "PUT",
        "/tables/{table}/seats/{seat}",
        "one's own",
        {"table": "cards", "seat": "3"},
        (*FORBIDDEN, 200),
        {"player": "ann"},
    ),
    Row(
        "PUT",
        "/tables/{table}/seats/{seat}",
        "one with another's wagers",
        {"table": "cards", "seat": "7"},
        (*FORBIDDEN, 409),
        {"player": "ann"},
        "SEATED",
    ),
    Row(
        "PUT",
        "/tables/{table}/seats/{seat}",
        "the dealer's",
        {"table": "cards", "seat": "dealer"},
        (*FORBIDDEN, 409),
        {"player": "ann"},
        "SEATED",
    ),
    Row(
        "PUT",
        "/tables/{table}/seats/{seat}",
        "the dealer's, in capitals",
        {"table": "cards", "seat": "DEALER "},
        (*FORBIDDEN, 409),
        {"player": "ann"},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "one's own account",
        {"table": "wheel"},
        (401, 401, 401, 403, 200, 409),
        BET,
        "BOOK-ID",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers/batch",
        "one's own account",
        {"table": "wheel"},
        (401, 401, 401, 403, 200, 200),
        {"wagers": [{**BET, "id": "one"}, {**BET, "id": "two"}]},
    ),
    Row(
        "POST",
        "/tables/{table}/wagers/batch",
        "one of another's account among them",
        {"table": "wheel"},
        (*FORBIDDEN, 200),
        {"wagers": [{**BET, "id": "three"}, {**BET, "id": "four", "player": "bob"}]},
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "another's account",
        {"table": "wheel"},
        (*FORBIDDEN, 200),
        {**BET, "player": "bob"},
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "a table there is not",
        {"table": "none"},
        (401, 401, 401, 403, 409, 409),
        BET,
        "TABLE",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "one's own seat",
        {"table": "cards"},
        (401, 401, 401, 403, 200, 409),
        {**ANTE, "seat": "3"},
        "BOOK-ID",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "another's seat",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        {**ANTE, "seat": "5"},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "a free seat",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 200),
        {**ANTE, "seat": "9"},
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "the dealer's seat",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        {**ANTE, "seat": "dealer"},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "the dealer's seat, in capitals",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        {**ANTE, "seat": "Dealer "},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "a seat with another's ante",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        {**ANTE, "wager": "pair_plus", "amount": 100, "seat": "7"},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "Play on another's ante",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        {**ANTE, "wager": "play", "seat": "7"},
        "SEATED",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "no seat",
        {"table": "cards"},
        (401, 401, 401, 403, 409, 409),
        ANTE,
        "BOOK-FORM",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "odds behind another's bet",
        {"table": "craps"},
        (401, 401, 401, 403, 409, 409),
        {**ODDS, "base": "bob-pass"},
        "C34-",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers",
        "a late bet",
        {"table": "craps"},
        (*FORBIDDEN, 409),
        {**BET, "wager": "field", "late": True},
        "C34-MK-1b",
    ),
    Row(
        "GET",
        "/tables/{table}/wagers/{wager}",
        "one's own",
        {"table": "craps", "wager": "ann-field"},
        (401, 401, 401, 200, 200, 200),
    ),
    Row(
        "GET",
        "/tables/{table}/wagers/{wager}",
        "another's",
        {"table": "craps", "wager": "bob-pass"},
        (401, 401, 401, 200, 404, 200),
    ),
    Row(
        "GET",
        "/tables/{table}/wagers/{wager}",
        "none there is",
        {"table": "craps", "wager": "none"},
        (401, 401, 401, 404, 404, 404),
    ),
    Row(
        "POST",
        "/tables/{table}/wagers/{wager}/changes",
        "one's own",
        {"table": "craps", "wager": "ann-field"},
        (401, 401, 401, 403, 200, 409),
        {"do": "remove"},
        "BOOK-ID",
    ),
    Row(
        "POST",
        "/tables/{table}/wagers/{wager}/changes",
        "another's",
        {"table": "craps", "wager": "bob-field"},
        (401, 401, 401, 403, 409, 200),
        {"do": "remove"},
    ),
    Row(
        "POST",
        "/tables/{table}/wagers/{wager}/changes",
        "none there is",
        {"table": "craps", "wager": "none"},
        (401, 401, 401, 403, 409, 409),
        {"do": "remove"},
        "BOOK-ID",
    ),
)


@pytest.fixture
def house(tmp_path: Path, key: Key) -> Iterator[House]:
    """Yield a house: ann sits at seat 3 and bob at 5, bob has an Ante at 7, and both have craps bets up."""
    house = House(f"sqlite:///{tmp_path}/settlement.db")
    tables = {name: SealedTable(name, key) for name in ("wheel", "cards", "craps")}
    for name, rules in (
        ("wheel", "roulette"),
        ("cards", "three-card-poker-12-014"),
        ("craps", "craps-12-034"),
    ):
        house.enrol(tables[name], rules)
    for player, seat in (("ann", "3"), ("bob", "5")):
        house.player(player, 10_000)
        house.desk.seat(house.new_identity(), "cards", seat, player)
    house.bets(tables["cards"], "bob", "bob-ante", "ante", 200, seat="7")
    house.bets(tables["craps"], "bob", "bob-pass", "pass", 100)
    house.bets(tables["craps"], "bob", "bob-field", "field", 100)
    house.bets(tables["craps"], "ann", "ann-field", "field", 100)
    tokens = Tokens(house.engine)
    tokens.make("screen", "reader", "reader")
    tokens.make("till", "staff", "staff")
    tokens.make("ann's", "player", "player", "ann")
    tokens.make("old", "staff", "revoked token")
    tokens.revoke("old")
    yield house
    house.store.close()


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.method} {row.route}: {row.what}")
def test_each_role_gets_the_answer_in_the_table(row: Row, house: House) -> None:
    client = TestClient(make_app(LocalHandler(HttpRequests(house.engine))), raise_server_exceptions=False)
    for role, expected in zip(ROLES, row.cells, strict=True):
        before = [house.balance(f"player:{player}") for player in ("ann", "bob")]
        headers = {"Idempotency-Key": f"key-{ROLES.index(role)}"}
        if role != "no token":
            headers["Authorization"] = f"Bearer {role}"
        answer = client.request(row.method, row.route.format(**row.path), json=row.body, headers=headers)
        assert (role, answer.status_code) == (role, expected), answer.text
        if expected >= 400:
            assert [house.balance(f"player:{player}") for player in ("ann", "bob")] == before
    if row.says:
        assert answer.json()["rule"].startswith(row.says), answer.text
    assert house.proof().faults == ()


def test_every_route_and_action_is_in_the_table() -> None:
    """A new route, action or role must be added to the table."""
    app = make_app(LocalHandler(None))  # type: ignore[arg-type]  # no query is made
    hidden = {
        str(getattr(route, "path", ""))
        for route in app.routes
        if not getattr(route, "include_in_schema", True)
    }
    assert hidden == {"/openapi.json"}
    paths = app.openapi()["paths"]
    routes = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert routes == {(row.method, row.route) for row in TABLE}
    assert set(ACCESS) == set(get_args(Action))
    assert all(set(reach) == set(get_args(TokenRole)) for reach in ACCESS.values())


def test_a_player_moved_from_a_seat_may_no_longer_use_it(house: House) -> None:
    client = TestClient(make_app(LocalHandler(HttpRequests(house.engine))))
    house.desk.seat(house.new_identity(), "cards", "3", "bob")
    headers = {"Authorization": "Bearer player", "Idempotency-Key": "k"}
    answer = client.post("/tables/cards/wagers", json={**ANTE, "seat": "3"}, headers=headers)
    assert (answer.status_code, answer.json()["rule"]) == (409, "SEATED")


def test_a_revoked_token_is_refused_at_the_next_request(house: House) -> None:
    client = TestClient(make_app(LocalHandler(HttpRequests(house.engine))))
    headers = {"Authorization": "Bearer player"}
    assert client.get("/players/ann", headers=headers).status_code == 200
    Tokens(house.engine).revoke("ann's")
    assert client.get("/players/ann", headers=headers).status_code == 401
