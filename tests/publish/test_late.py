"""The table's statement about a wager made with the dice out: the rows that must be on the disk first."""

from dataclasses import dataclass, field

from controller.model.outcomes import DiceOut
from controller.publish.betting import Betting, OpenStatement
from controller.publish.events import LateWagersQuery
from controller.publish.late import MAX_LODGED, LateWagers
from tests.publish.house import Clock

ROUND = 7


@dataclass
class Row:
    """A row whose write the test completes."""

    durable: bool = False


@dataclass
class Throw:
    """A throw at a table whose clock the test advances."""

    clock: Clock = field(default_factory=lambda: Clock(1_000_000))
    words: list[OpenStatement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.desk = LateWagers("craps-1", "3", self.clock)
        self.desk.say = self.words.append
        self.rows: list[Row] = []

    def row(self) -> Row:
        self.rows.append(Row())
        return self.rows[-1]

    def turns(self, moving_us: int | None, *confirmed: str, out: bool = True) -> list[OpenStatement]:
        """Run one turn of the core; return the statements that it sent."""
        before = len(self.words)
        dice_out = DiceOut(confirmed, moving_us) if out else None
        self.desk.note(Betting(None, ROUND, 12, 0, dice_out), self.clock.now)
        return self.words[before:]

    def lodges(self, wager: str = "b1", round_: int = ROUND) -> bool:
        ask = LateWagersQuery(
            table="craps-1",
            round=round_,
            nonce=f"{len(self.rows):032x}",
            wager=wager,
            digest="0f" * 32,
            says="ann: yo, 500 cents",
            by="settlement",
        )
        return self.desk.lodge(ask, self.row)

    def add_confirmation(self, wager: str = "b1") -> None:
        for _ in range(2):
            self.desk.add_confirmation(wager, self.row())

    def on_the_disk(self) -> None:
        for row in self.rows:
            row.durable = True


def lodged() -> Throw:
    throw = Throw()
    throw.turns(None)
    assert throw.lodges()
    return throw


def test_the_statement_is_sent_once_all_rows_are_on_disk_and_the_dice_have_moved_since() -> None:
    throw = lodged()
    heard_us = throw.clock.now
    throw.add_confirmation()
    throw.clock.now += 100_000
    assert throw.turns(throw.clock.now, "b1") == []
    throw.on_the_disk()
    kept_us = throw.clock.now
    assert throw.turns(kept_us, "b1") == []
    throw.clock.now += 200_000
    (word,) = throw.turns(kept_us + 1, "b1")
    nonce = f"{0:032x}"
    assert (word.takes, word.round, word.sequence, word.until) == ("late", ROUND, 12, kept_us + 1)
    assert (word.heard, word.late) == ({nonce: heard_us}, {nonce: "0f" * 32})
    assert throw.turns(kept_us + 2, "b1") == []


def test_with_a_disk_that_stalls_until_the_dice_are_at_rest_no_statement_is_sent() -> None:
    throw = lodged()
    throw.add_confirmation()
    last_moved_us = throw.clock.now + 500_000
    throw.clock.now += 900_000
    throw.on_the_disk()
    assert throw.turns(last_moved_us, "b1") == []


def test_a_queue_that_lags_does_not_backdate_a_row() -> None:
    """The core processes readings from a second ago, but the row reaches the disk now."""
    throw = lodged()
    throw.add_confirmation()
    throw.on_the_disk()
    data_us = throw.clock.now
    throw.clock.now += 1_000_000
    throw.desk.note(Betting(None, ROUND, 12, 0, DiceOut(("b1",), data_us + 500_000)), data_us)
    assert throw.words == []


def test_a_single_confirmation_is_not_enough() -> None:
    throw = lodged()
    throw.desk.add_confirmation("b1", throw.row())
    throw.on_the_disk()
    throw.turns(throw.clock.now, "b1")
    assert throw.turns(throw.clock.now + 500_000, "b1") == []


def test_an_id_is_lodged_only_once_per_throw_so_its_contents_are_those_confirmed() -> None:
    throw = lodged()
    assert not throw.lodges()
    assert throw.lodges("b2")


def test_a_wager_for_another_throw_or_without_dice_out_is_not_lodged() -> None:
    throw = Throw()
    assert not throw.lodges()
    throw.turns(None)
    assert not throw.lodges(round_=ROUND - 1)
    assert throw.lodges()
    throw.turns(None, out=False)
    assert not throw.lodges("b2")
    throw.add_confirmation()
    throw.on_the_disk()
    throw.turns(throw.clock.now, "b1")
    assert throw.turns(throw.clock.now + 1, "b1") == []


def test_a_flood_of_late_wagers_takes_few_rows() -> None:
    throw = Throw()
    throw.turns(None)
    assert sum(throw.lodges(f"b{i}") for i in range(10 * MAX_LODGED)) == MAX_LODGED == len(throw.rows)
