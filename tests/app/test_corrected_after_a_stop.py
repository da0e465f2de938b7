"""A call is corrected before or after a power cut. The accounts are those of a correct call."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest

from controller.app.daemon import Daemon
from controller.model.outcomes import Outcome, SpinCalled
from controller.model.readings import AnyReading, Card, Input
from controller.settings.tables import load_table
from drivers.sim import wheel
from tests.app.house import House, HouseMaker, live_of, play, unlocked
from tests.app.test_money_kills import copy_at_rest
from tests.scenes import SECOND_US, TABLE, input_at, throw
from tests.settlement_service.postgres import BINARIES, Cluster
from tests.settlement_service.rig import House as Bank
from tests.settlement_service.rig import SealedTable, key_in

Bet = tuple[str, int, dict[str, object]]


@dataclass(frozen=True)
class Case:
    """A game: the readings of a wrong call, those of the correct call, and the correcting ruling."""

    table: str
    wrong: list[AnyReading]
    right: list[AnyReading]
    ruling: Input
    bets: tuple[Bet, ...] = ()


def craps() -> Case:
    named = input_at(SECOND_US, "new_shooter", seat="3")
    bets: tuple[Bet, ...] = (("pass", 500, {}), ("field", 200, {}))
    ruling = input_at(0, "set_dice", dice=[5, 6], what="1")
    since = input_at(8 * SECOND_US, "new_shooter", seat="5")
    return Case(
        "craps",
        [named, *throw(2 * SECOND_US, (2, 2)), since],
        [named, *throw(2 * SECOND_US, (5, 6)), since],
        ruling,
        bets,
    )


def roulette() -> Case:
    _, feed, _ = wheel.simulate(3, {"valid": 1.0}, 1, wheel=wheel.AMERICAN)
    readings = [reading for _, reading in feed]
    after = max(reading.t for reading in readings) + 5 * SECOND_US
    at_once = input_at(after, "set_number", "dealer", number="17", what="1")
    ruling = input_at(0, "set_number", "dealer", number="17", what="1")
    bets: tuple[Bet, ...] = (("straight", 100, {"numbers": ["17"]}), ("low", 100, {}), ("even", 100, {}))
    return Case("roulette", readings, [*readings, at_once], ruling, bets)


def three_card() -> Case:
    def dealt(second: str) -> list[AnyReading]:
        hands = {"1": ["Qh", second, "2c"], "dealer": ["3s", "Kc", "8d"]}
        cards = [(face, seat) for seat, hand in hands.items() for face in hand]
        out: list[AnyReading] = [input_at(SECOND_US, "seats", "dealer", seats=["1"])]
        for number, (face, seat) in enumerate(cards):
            t = (2 + number) * SECOND_US
            out.append(Card(t=t, dev="shoe", rank=face[0], suit=face[1], to=seat))  # type: ignore[arg-type]  # a suit
        return [*out, input_at(20 * SECOND_US, "play", "dealer", seat="1")]

    ruling = input_at(0, "set_card", "dealer", card="Qd", seat="1", what="1 Jd")
    bets: tuple[Bet, ...] = (("ante", 200, {"seat": "1"}), ("pair_plus", 100, {"seat": "1"}))
    return Case("three-card", dealt("Jd"), dealt("Qd"), ruling, bets)


def high_roller() -> Case:
    drawn = [
        input_at(SECOND_US, "draw_button", "dealer", seat="1", card="Q"),
        input_at(2 * SECOND_US, "draw_button", "dealer", seat="2", card="9"),
        input_at(3 * SECOND_US, "buy", "dealer", seat="1", count=1),
        input_at(4 * SECOND_US, "set_card", "dealer", seat="1", card="9"),
        input_at(5 * SECOND_US, "buy", "dealer", seat="2", count=1),
        input_at(6 * SECOND_US, "set_card", "dealer", seat="2", card="7"),
    ]
    ruling = input_at(0, "set_dice", "dealer", dice=[3, 4], what="1")
    start = 10 * SECOND_US
    return Case("high-roller", [*drawn, *throw(start, (3, 6))], [*drawn, *throw(start, (3, 4))], ruling)


CASES = {"craps": craps, "roulette": roulette, "three-card": three_card, "high-roller": high_roller}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster | None]:
    """Yield a PostgreSQL cluster if PostgreSQL is installed."""
    one = None if BINARIES is None else Cluster()
    yield one
    if one is not None:
        one.remove()


def opened(house: HouseMaker, case: Case) -> House:
    """Create the case's table with the length of the simulated table and automatic calls."""
    made = house(table=case.table)
    settings = load_table(case.table)
    if settings.dice_table is not None:
        settings = replace(settings, dice_table=TABLE)
    made.settings = replace(settings, calls="automatic")
    return made


def power_cut(house: House, daemon: Daemon, disk: Path) -> tuple[House, Daemon]:
    """Cut the power, and start from the state of the disk."""
    copy_at_rest(house.options.journal, disk)
    after = House(disk, replace(house.options, journal=disk), settings=house.settings)
    after.clock.reach(daemon.clock.now_us())
    for each in house.daemons:
        each.close()
    return after, after.open()


def corrected(house: House, case: Case, disk: Path, *, cut_first: bool) -> list[Outcome]:
    """Correct a wrong call before or after a power cut, and return all outcomes."""
    daemon = house.open()
    unlocked(daemon)
    start = daemon.clock.now_us()
    play(daemon, shifted(case.wrong, start))
    if cut_first:
        house, daemon = power_cut(house, daemon, disk)
    play(daemon, shifted([case.ruling], daemon.clock.now_us() + 5 * SECOND_US))
    if not cut_first:
        house, daemon = power_cut(house, daemon, disk)
    assert live_of(daemon).core.view.state.call is not None, "the call can no longer be corrected"
    published = house.outcomes()
    for each in house.daemons:
        each.close()
    return published


def shifted(readings: list[AnyReading], by_us: int) -> list[AnyReading]:
    return [msgspec.structs.replace(reading, t=reading.t + by_us) for reading in readings]


def accounts_of(published: list[Outcome], case: Case, url: str, folder: Path) -> dict[str, int]:
    folder.mkdir(exist_ok=True)
    table = SealedTable(case.table, key_in(folder), first_seq=published[0].seq)
    bank = Bank(url)
    bank.enrol(table, load_table(case.table).rules.name)
    bank.player("ann", 10_000)
    for number, (wager, amount, more) in enumerate(case.bets):
        bank.bets(table, "ann", f"b{number}", wager, amount, **more)
    bank.takes(map(table.sealed, published))
    proof = bank.proof()
    bank.store.close()
    assert proof.faults == ()
    return dict(proof.accounts)


@pytest.mark.parametrize("game", CASES)
@pytest.mark.parametrize("cut_first", [False, True], ids=["before the cut", "after the cut"])
def test_a_correction_and_a_power_cut_leave_the_accounts_as_if_the_call_had_been_right(
    house: HouseMaker, tmp_path: Path, game: str, cluster: Cluster | None, cut_first: bool
) -> None:
    case = CASES[game]()
    published = corrected(opened(house, case), case, tmp_path / "disk", cut_first=cut_first)
    assert [o.type for o in published if o.type.endswith(".corrected")], [o.type for o in published]
    right = played_right(house, case, tmp_path)
    by_hand = accounts_of(right, case, f"sqlite:///{tmp_path}/right.db", tmp_path / "right")
    assert accounts_of(published, case, f"sqlite:///{tmp_path}/wrong.db", tmp_path / "wrong") == by_hand
    if cluster is not None:
        url = cluster.database(f"{game}_{cut_first}".replace("-", "_").lower())
        assert accounts_of(published, case, url, tmp_path / "postgres") == by_hand


def played_right(house: HouseMaker, case: Case, tmp_path: Path) -> list[Outcome]:
    """Return the outcomes of another table whose first call is correct."""
    one = opened(house, case)
    one.options = replace(one.options, journal=tmp_path / "another", socket=tmp_path / "another.sock")
    daemon = one.open()
    unlocked(daemon)
    play(daemon, shifted(case.right, daemon.clock.now_us()))
    published = one.outcomes()
    for each in one.daemons:
        each.close()
    return right_at_once(published)


def right_at_once(published: list[Outcome]) -> list[Outcome]:
    """Set the ruling's number in the call and remove the ruling."""
    rulings = [o for o in published if o.type == "spin.corrected"]
    if not rulings:
        return published
    number = getattr(rulings[0].data, "number", None)
    return [
        msgspec.structs.replace(outcome, data=msgspec.structs.replace(outcome.data, number=number))
        if isinstance(outcome.data, SpinCalled)
        else outcome
        for outcome in published
        if outcome.type != "spin.corrected"
    ]
