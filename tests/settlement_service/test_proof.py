"""The proof finds changes made to the database."""

import pytest
from sqlalchemy import text

from tests.settlement_service.rig import House, SealedTable


@pytest.mark.parametrize(
    ("change", "finds"),
    [
        ("UPDATE balances SET cents = cents + 1 WHERE account = 'player:ann'", "its entries add up to"),
        ("UPDATE entries SET cents = cents + 1 WHERE account = 'player:ann'", "out of balance"),
        ("DELETE FROM entries WHERE movement = 1", "has no entries"),
        ("DELETE FROM movements WHERE id = 1", "which does not exist"),
        ("DELETE FROM outcomes WHERE seq = 2", "found outcome 3, expected outcome 2"),
        ("UPDATE outcomes SET chain = 'x' WHERE seq = 2", "has another outcome's number, id or hash"),
        ("UPDATE tables SET next_seq = 9", "is waiting for outcome 9"),
        ("UPDATE wagers SET stake = 1", "its wagers add up to"),
        ("DELETE FROM steps WHERE n = 1", "can't be replayed"),
        ("UPDATE steps SET body = replace(body, '\"1\"', '\"2\"')", "in the replay"),
        ("UPDATE keys SET public_key = zeroblob(32)", "is not signed"),
    ],
)
def test_the_check_finds_the_change(house: House, roulette: SealedTable, change: str, finds: str) -> None:
    house.player("ann", 1_000)
    house.bets(roulette, "ann", "b1", "red", 100)
    house.takes(roulette.spins("1"))
    assert house.proof().faults == ()
    with house.store.transaction() as connection:
        connection.execute(text(change))
    assert any(finds in fault for fault in house.proof().faults), house.proof().faults
