"""A player's token with seats, accounts, keys, ids and late bets in unusual spellings."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controller.journal.keys import Key
from controller.settlement_service.http_process import make_app
from controller.settlement_service.http_requests import HttpRequests, Tokens
from tests.settlement_service.rig import House, LocalHandler, SealedTable

ANTE: dict[str, object] = {"id": "new", "player": "ann", "wager": "ante", "amount": 200}


@pytest.fixture
def house(tmp_path: Path, key: Key) -> Iterator[House]:
    """Yield an API: ann sits at seat 3, bob at 5 with an Ante up; bob has a Pass bet at the dice table."""
    house = House(f"sqlite:///{tmp_path}/settlement.db")
    tables = {name: SealedTable(name, key) for name in ("cards", "craps")}
    house.enrol(tables["cards"], "three-card-poker-12-014")
    house.enrol(tables["craps"], "craps-12-034")
    for player, seat in (("ann", "3"), ("bob", "5")):
        house.player(player, 10_000)
        house.desk.seat(house.new_identity(), "cards", seat, player)
    house.bets(tables["cards"], "bob", "bob-ante", "ante", 200, seat="5")
    house.bets(tables["craps"], "bob", "bob-pass", "pass", 100)
    for name in ("ann", "bob"):
        Tokens(house.engine).make(f"{name}'s", "player", f"{name}-secret", name)
    Tokens(house.engine).make("till", "staff", "staff-secret")
    yield house
    house.store.close()


@pytest.fixture
def client(house: House) -> TestClient:
    return TestClient(make_app(LocalHandler(HttpRequests(house.engine))), raise_server_exceptions=False)


def asks(client: TestClient, path: str, body: object, key: str = "k", who: str = "ann") -> int:
    headers = {"Authorization": f"Bearer {who}-secret", "Idempotency-Key": key}
    return client.post(path, json=body, headers=headers).status_code


@pytest.mark.parametrize(
    "seat",
    [
        "05",
        "5 ",
        " 5",
        "5.0",
        "+5",
        "\uff15",
        "5\u200b",
        "\u0665",
        "5\n",
        5,
        5.0,
        True,
        ["5"],
        {"5": 1},
        "",
        None,
    ],
)
def test_no_spelling_gives_access_to_another_players_seat(
    house: House, client: TestClient, seat: object
) -> None:
    assert asks(client, "/tables/cards/wagers", {**ANTE, "seat": seat}) in (409, 422)
    assert house.balance("player:ann") == 10_000
    assert house.proof().faults == ()


@pytest.mark.parametrize("player", ["bob ", "BOB", "bob\u200b", ["bob"], None, "", "ann,bob", "\u0430nn"])
def test_no_spelling_gives_access_to_another_players_account(
    house: House, client: TestClient, player: object
) -> None:
    assert asks(client, "/tables/cards/wagers", {**ANTE, "player": player, "seat": "3"}) in (403, 422)
    assert [house.balance(f"player:{name}") for name in ("ann", "bob")] == [10_000, 9_700]


@pytest.mark.parametrize("late", [1, "true", "yes", [1], {"a": 1}, "TRUE"])
def test_no_spelling_of_late_lodges_a_late_bet(house: House, client: TestClient, late: object) -> None:
    bet = {"id": "l", "player": "ann", "wager": "field", "amount": 100, "late": late}
    assert asks(client, "/tables/craps/wagers", bet) in (403, 422)
    assert house.balance("player:ann") == 10_000


def test_another_players_key_reveals_nothing_of_his_request(house: House, client: TestClient) -> None:
    path, bet = (
        "/tables/cards/wagers",
        {**ANTE, "player": "bob", "wager": "pair_plus", "amount": 100, "seat": "5"},
    )
    assert asks(client, path, bet, "same", "bob") == 200
    assert asks(client, path, bet, "same") == 403
    assert asks(client, path, {**ANTE, "id": "own", "seat": "3"}, "same") == 200, (
        "each caller must have his own keys"
    )
    assert house.balance("player:bob") == 9_600


@pytest.mark.parametrize("wager", ["bob-ante:bonus", "bob-ante", "bob-ante.", "game:1"])
def test_an_id_like_another_players_line_pays_no_one_else(
    house: House, client: TestClient, wager: str
) -> None:
    taken = asks(client, "/tables/cards/wagers", {**ANTE, "id": wager, "seat": "3"})
    assert (taken, house.balance("player:bob")) == (
        409 if wager.startswith("bob-ante") and not wager.endswith(".") else 200,
        9_700,
    )
    assert asks(client, "/tables/cards/wagers/bob-ante/changes", {"do": "remove"}) == 409
    assert house.proof().faults == ()


@pytest.mark.parametrize(
    "change", [{"do": "no_action"}, {"do": "remove", "player": "bob"}, {"do": "increase", "to": 1}]
)
def test_no_change_of_another_players_wager_is_accepted(
    house: House, client: TestClient, change: object
) -> None:
    assert asks(client, "/tables/craps/wagers/bob-pass/changes", change) in (409, 422)
    assert house.balance("player:bob") == 9_700


@pytest.mark.parametrize(
    "path",
    ["/players/ann%2F..%2Fbob", "/players/ann/../bob", "/players//bob", "/players/bob%00", "/players/bob%20"],
)
def test_no_spelling_of_a_path_reads_another_players_account(client: TestClient, path: str) -> None:
    answer = client.get(path, headers={"Authorization": "Bearer ann-secret"})
    assert answer.status_code in (403, 404, 422), answer.text
