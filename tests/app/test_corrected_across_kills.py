"""A call is corrected before and after a kill -9. The accounts are those of a correct first call.

The daemon and its settlement engine run in one process, which is killed after the answer to the ruling.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from controller.model.outcomes import SpinCalled
from controller.model.readings import AnyReading, Input
from drivers.sim import dice, wheel
from tests.app.house import HouseMaker
from tests.app.money import MoneySession
from tests.app.rig import lines_of, tick, until
from tests.app.test_corrected_after_a_stop import CASES, Bet, Case, accounts_of, played_right
from tests.scenes import SECOND_US, input_at
from tests.settlement_service.postgres import Cluster, needs_postgres

CHIPS = 10_000
FIRST_RULINGS = {
    "craps": input_at(0, "set_dice", dice=[3, 3], what="1"),
    "roulette": input_at(0, "set_number", "dealer", number="20", what="1"),
    "three-card": input_at(0, "set_card", "dealer", card="9d", seat="1", what="1 Jd"),
    "high-roller": input_at(0, "set_dice", "dealer", dice=[5, 5], what="1"),
}
"""Invalid first rulings; each call is corrected once more after the kill."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    one = Cluster()
    yield one
    one.remove()


IN_SHORT = {("craps", "postgres"), ("high-roller", "sqlite")}
"""The pairs in every test run; `make soak` runs the others."""
PAIRS = [
    pytest.param(
        game,
        kind,
        id=f"{game}-{kind}",
        marks=[
            *([needs_postgres] if kind == "postgres" else []),
            *([] if (game, kind) in IN_SHORT else [pytest.mark.slow]),
        ],
    )
    for game in CASES
    for kind in ("sqlite", "postgres")
]


def database_of(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{tmp_path}/killed.db"
    cluster: Cluster = request.getfixturevalue("cluster")
    return cluster.database(f"k{tmp_path.name}".replace("-", "_").lower())


@pytest.mark.parametrize(("game", "kind"), PAIRS)
def test_a_correction_before_and_one_after_a_kill_leave_the_accounts_as_if_the_call_had_been_right(
    house: HouseMaker, tmp_path: Path, request: pytest.FixtureRequest, game: str, kind: str
) -> None:
    database = database_of(kind, request, tmp_path)
    case = case_of(game)
    published = played_right(house, case, tmp_path)
    spun = next((outcome.data for outcome in published if isinstance(outcome.data, SpinCalled)), None)
    if spun is not None:
        ruling = input_at(0, "set_number", "dealer", number=spun.number, what="1")
        straight: Bet = ("straight", 100, {"numbers": [spun.number]})
        bets = (straight, *case.bets[1:])
        case = replace(case, ruling=ruling, bets=bets)
    right = accounts_of(published, case, f"sqlite:///{tmp_path}/right.db", tmp_path / "right")
    assert killed(case, FIRST_RULINGS[game], tmp_path / "killed", database) == right


def case_of(game: str) -> Case:
    """Return the game's case. The correct number at the wheel comes from another simulated spin."""
    if game != "roulette":
        case = CASES[game]()
        return replace(case, ruling=msgspec.structs.replace(case.ruling, what=_named_then(case.ruling)))
    wrong, right = (
        [r for _, r in wheel.simulate(seed, {"valid": 1.0}, 1, wheel=wheel.AMERICAN)[1]] for seed in (3, 4)
    )
    return replace(CASES[game](), wrong=wrong, right=right)


def _named_then(ruling: Input) -> str | None:
    """Return the attempt, or the first ruling's card, that the second ruling replaces."""
    return "1 9d" if ruling.name == "set_card" else ruling.what


def killed(case: Case, first: Input, folder: Path, database: str) -> dict[str, int]:
    """Correct a wrong call, kill, correct it again, kill again; return every account."""
    folder.mkdir()
    length = dice.TABLE.length_mm if case.table == "high-roller" else None
    session = MoneySession(
        folder, case.table, [], lambda _after, _made: [], length_mm=length, database=database
    )
    try:
        session.start()
        session.ask("POST", "/players", {"player": "ann"})
        session.ask("POST", "/players/ann/deposits", {"cents": CHIPS})
        for number, (wager, amount, more) in enumerate(case.bets):
            bet = {"id": f"b{number}", "player": "ann", "wager": wager, "amount": amount, **more}
            answer = session.ask("POST", f"/tables/{session.name}/wagers", bet)
            assert isinstance(answer, dict)
            assert "balance" in answer, answer
        plays(session, case.wrong)
        for ruling in (first, case.ruling):
            rules(session, ruling)
            session.table.kill()
            session.start()
        assert session.table.terminate() == 0
    finally:
        session.close()
    house = session.house()
    proof = house.proof()
    house.store.close()
    assert proof.faults == ()
    return dict(proof.accounts)


def plays(session: MoneySession, readings: list[AnyReading]) -> None:
    """Feed the readings, and wait until they are called and settled."""
    since_us = session.status("table_time_us")
    assert isinstance(since_us, int)
    session.table.feed(lines_of([(reading.t, reading) for reading in readings], since_us))
    end_us = since_us + max(reading.t for reading in readings) + 20 * SECOND_US
    session.table.feed([tick(end_us), tick(end_us + 1)])
    until(lambda: session.status("table_time_us") == end_us + 1, "the call")
    assert not session.status("attempt_open")
    session.settled()


def rules(session: MoneySession, ruling: Input) -> None:
    """Enter a ruling, whose answer follows the write to the disk."""
    arguments = {
        name: value
        for name, value in msgspec.to_builtins(ruling).items()
        if name not in ("kind", "t", "dev", "name", "by", "who") and value is not None
    }
    answer = session.table.enter(ruling.name, ruling.by, wait_s=30, **arguments)
    assert answer.get("obeyed") is True, answer
