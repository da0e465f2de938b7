"""The board as a display receives it in the middle of a game, without secret data."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest
from jsonschema import Draft202012Validator

from controller.journal.chain import Row, WallTime, genesis, seal
from controller.journal.contents import outcome_draft
from controller.journal.keys import Key, load_key, new_key
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import (
    Awaited,
    Bets,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollReview,
    ShooterChanged,
    SpinCalled,
    TableEvent,
)
from controller.model.verdicts import Reason
from controller.publish.players import (
    RESULTS,
    TableBoard,
    board_after,
    board_awaiting,
    board_bytes,
    first_board,
)
from controller.publish.schemas import FOLDER
from tests.publish.broker import needs_mosquitto, running
from tests.publish.house import House, Settlement, pinned, until

WALL = WallTime(0, synced=True)


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    path: Path = tmp_path_factory.mktemp("key") / "key"
    new_key(path)
    return load_key(path)


UNCLEAR = Reason(code="wall_unclear", rule="C34-INV-1", seen="die 1 turned 9 mm short", die=1)


def awaited(state: Literal["review", "proposed"], may: tuple[str, ...] = ("set_dice", "no_roll")) -> Awaited:
    proposes = "3-4" if state == "proposed" else ""
    return Awaited(
        attempt="roll", number=1, state=state, reasons=(UNCLEAR,), seen="3-4", proposes=proposes, may=may
    )


class Table:
    """A table that publishes outcomes, and its board."""

    def __init__(self, key: Key, game: str = "craps") -> None:
        self._key = key
        self._link = genesis("t", key.public.raw, WALL)
        self.seq = 1
        self.rows: list[Row] = []
        self.board = first_board("t", "1", game, State(), NextNumbers())

    def publishes(self, type_: str, data: Data) -> TableBoard:
        outcome = Outcome(type=type_, t=self.seq, id=f"t/1/{self.seq}", seq=self.seq, data=data)
        row = seal([outcome_draft(outcome, WALL)], self.seq - 1, self._link, self._key)[0]
        self._link = row.link
        self.seq += 1
        self.rows.append(row)
        self.board = board_after(self.board, row)
        return self.board

    def rolls(self, roll: int, dice: tuple[int, int], point: int | None, after: int | None) -> TableBoard:
        return self.publishes(
            "roll.called",
            RollCalled(
                roll=roll,
                dice=dice,
                total=sum(dice),
                phase="point" if point else "come_out",
                point=point,
                call="no_decision",
                point_after=after,
                shooter="3",
                grade="sensors",
                notices=(),
                by=None,
                who=None,
            ),
        )

    def reviews(self, roll: int) -> TableBoard:
        return self.publishes(
            "roll.review", RollReview(roll=roll, reasons=(UNCLEAR,), dice=(3, 4), notices=())
        )


@pytest.fixture
def table(key: Key) -> Table:
    return Table(key)


def test_the_board_shows_point_puck_shooter_and_bets(table: Table) -> None:
    table.publishes("shooter.changed", ShooterChanged(shooter="3", cause="new_shooter"))
    table.publishes("bets.closed", Bets(round=1, cause="dice_released"))
    table.rolls(1, (2, 2), None, 4)
    board = table.publishes("bets.opened", Bets(round=2, cause="result"))
    assert (board.phase, board.point, board.puck, board.shooter) == ("point", 4, 4, "3")
    assert (board.bets, board.round, board.sequence) == ("open", 2, 4)
    assert table.rolls(2, (1, 3), 4, None).puck == "off"


def test_the_board_holds_the_last_ten_results_newest_first(table: Table) -> None:
    for roll in range(1, 15):
        table.rolls(roll, (1, 1), None, None)
    assert [one.subject for one in table.board.results] == [f"roll/{n}" for n in range(14, 14 - RESULTS, -1)]


def test_a_correction_replaces_the_result_that_it_corrects(table: Table) -> None:
    table.rolls(1, (2, 2), None, 4)
    ruled = RollCorrected(
        roll=1,
        corrects="t/1/1",
        ruling="set_dice",
        by="boxperson",
        who="bob",
        dice=(5, 6),
        total=11,
        phase="come_out",
    )
    board = table.publishes("roll.corrected", ruled)
    (one,) = board.results
    assert (one.corrected, one.subject, board.puck) == (True, "roll/1", "off")
    assert b"bob" not in board_bytes(board)


@pytest.mark.parametrize("state", ["review", "proposed"])
def test_an_awaited_attempt_is_shown_with_its_number_what_is_missing_and_the_allowed_inputs(
    table: Table, state: Literal["review", "proposed"]
) -> None:
    board = board_awaiting(table.reviews(1), awaited(state))
    shown = board.awaited
    assert shown is not None
    assert (shown.attempt, shown.number, shown.state) == ("roll", 1, state)
    assert (shown.missing[0].code, shown.missing[0].die) == ("wall_unclear", 1)
    assert shown.may == ("set_dice", "no_roll")
    assert board_awaiting(board, None).awaited is None


@pytest.mark.parametrize("state", ["review", "proposed"])
def test_the_board_shows_neither_readings_nor_a_proposal(
    table: Table, state: Literal["review", "proposed"]
) -> None:
    written = board_bytes(board_awaiting(table.reviews(1), awaited(state)))
    for secret in (b"9 mm", b"3-4", b"seen", b"proposes"):
        assert secret not in written


def test_the_allowed_inputs_on_the_board_follow_the_table(table: Table) -> None:
    before = board_awaiting(table.board, awaited("review", ("no_roll",)))
    after = board_awaiting(before, awaited("review"))
    assert after.awaited is not None
    assert after.awaited.may == ("set_dice", "no_roll")
    assert board_awaiting(after, awaited("review")) is after


def test_a_table_that_opens_again_has_no_point_and_no_shooter(table: Table) -> None:
    table.rolls(1, (2, 2), None, 4)
    table.publishes("table.closed", TableEvent(cause="close_table"))
    board = table.publishes("table.opened", TableEvent(cause="open_table"))
    assert (board.state, board.puck, board.shooter) == ("open", "off", None)


def test_the_board_shows_no_timing_of_ball_or_rotor(key: Key) -> None:
    wheel = Table(key, "roulette")
    board = wheel.publishes(
        "spin.called",
        SpinCalled(
            spin=1,
            number="17",
            colour="black",
            revolutions=9.5,
            grade="sensors",
            notices=(),
            by="dealer",
            who="dot",
            dropped_us=123_456_789,
        ),
    )
    written = board_bytes(board)
    for secret in (b"9.5", b"123456789", b"dot"):
        assert secret not in written
    assert b'"17"' in written
    assert (board.puck, board.phase) == (None, None)


def test_a_repeated_outcome_does_not_change_the_board(table: Table) -> None:
    board = table.rolls(1, (2, 2), None, 4)
    assert board_after(board, table.rows[0]) is board


def test_the_board_conforms_to_its_schema(table: Table) -> None:
    table.rolls(1, (2, 2), None, 4)
    board = board_awaiting(table.reviews(2), awaited("proposed"))
    schema = msgspec.json.decode((FOLDER / "board.schema.json").read_bytes())
    Draft202012Validator(schema).validate(msgspec.json.decode(board_bytes(board)))


@needs_mosquitto
def test_a_client_that_connects_during_a_game_finds_the_board_at_the_broker(tmp_path: Path) -> None:
    from controller.model.tables import MqttSettings  # noqa: PLC0415 - for this test only
    from controller.publish.mqtt import MqttSink  # noqa: PLC0415 - as above

    with running(tmp_path) as mosquitto:
        settings = MqttSettings(host="127.0.0.1", port=mosquitto.port)

        def sink(house: House) -> MqttSink:
            return MqttSink(
                "craps", settings, house.alarms, now_us=house.clock, random_fraction=lambda: 0.5, pin=pinned()
            )

        house = House(tmp_path, sink)
        house.play(5)
        display = Settlement(settings, topic="tables/+/board", name="display")
        seen: list[bytes] = []
        display.books.enter = lambda payload: seen.append(payload) or []  # type: ignore[method-assign, func-returns-value]  # it only looks
        until(lambda: house.idle, house.turn)
        display.come()
        until(lambda: bool(seen), house.turn, display.turn)
        board = msgspec.json.decode(seen[-1], type=TableBoard)
        assert board.results
        display.drop()
        house.close()
