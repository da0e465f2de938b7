"""The board: what a display or a console needs when it starts in mid-game, retained at the broker.

It is made of outcomes alone, and of each only of what players may see (`controller.publish.players`), so that
it tells nobody anything before its time.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Raw

from controller.engine.setup import First, State
from controller.journal.chain import Row
from controller.model.outcomes import (
    Bets,
    Data,
    RollCalled,
    RollCorrected,
    Seat,
    ShooterChanged,
    data_of,
)
from controller.publish.players import player_data

RESULTS = 10
"""Results that the board holds, as a display shows them."""
LOOK_BACK = 4000
"""Rows of the journal that are read at a start for the newest results: an hour's and more."""
Puck = Literal["off", 4, 5, 6, 8, 9, 10]
_MAY: Mapping[str, tuple[str, ...]] = {
    "roll": ("set_dice", "no_roll"),
    "spin": ("set_number", "no_spin"),
    "deal": ("set_card", "misdeal"),
}
"""What a person may say to an attempt under review; the last of each voids it."""
_WORDS = tuple(_MAY)


class BoardResult(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt came out: `data` is what players may see of the outcome, as on the players' topic."""

    type: str
    subject: str
    sequence: int
    corrected: bool = False
    """Whether a person's ruling took the place of what was told first."""
    data: Raw


class BoardReview(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that a person must rule on: its number, what is missing, and what may be said."""

    attempt: Literal["roll", "spin", "deal"]
    number: int
    missing: Raw
    """The reasons, as players may see them: code, rule, die."""
    may: tuple[str, ...]


class TableBoard(msgspec.Struct, frozen=True, kw_only=True):
    """What a table's board shows; `sequence` is the newest outcome in it.

    `phase`, `point` (None: off), `puck` and `shooter` are those of craps. `results` are the last ten, the
    newest first, corrections in their places. `review` is what waits for a person now.
    """

    table: str
    session: str
    sequence: int
    state: Literal["open", "closed"]
    lock: Literal["unlocked", "locked"]
    bets: Literal["open", "closed"]
    round: int
    phase: Literal["come_out", "point"] | None = None
    point: int | None = None
    puck: Puck | None = None
    shooter: Seat | None = None
    results: tuple[BoardResult, ...] = ()
    review: BoardReview | None = None


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    seq: int
    data: Raw


class _Reasons(msgspec.Struct, frozen=True, kw_only=True):
    reasons: Raw = Raw(b"[]")


_decode = msgspec.json.Decoder(_Told).decode
_decode_reasons = msgspec.json.Decoder(_Reasons).decode
_decode_codes = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_encode = msgspec.json.Encoder().encode


def first_board(table: str, session: str, game: str, state: State, first: First) -> TableBoard:
    """Return a table's board as it goes on from this state, before any outcome is followed."""
    board = TableBoard(
        table=table,
        session=session,
        sequence=0,
        state=state.table,
        lock=state.lock,
        bets="open",
        round=first.round,
        shooter=state.shooter,
    )
    return _with_point(board, state.point) if game == "craps" else board


def follow(board: TableBoard, row: Row) -> TableBoard:
    """Return the board after one more outcome's row; one whose body was dropped changes nothing."""
    if row.seq is None or row.body is None or row.seq <= board.sequence:
        return board
    told = _decode(row.body)
    data = data_of(told.type, told.data)
    board = msgspec.structs.replace(_moved(board, told.type, data), sequence=told.seq)
    word, _, what = told.type.partition(".")
    if word not in _WORDS:
        return board
    return _reviewed(board, told, word, data) if what == "review" else _with_result(board, told, word, data)


def board_bytes(board: TableBoard) -> bytes:
    """Return a board's bytes."""
    return _encode(board)


def _moved(board: TableBoard, type_: str, data: Data) -> TableBoard:
    replace = msgspec.structs.replace
    match type_, data:
        case "bets.opened" | "bets.closed", Bets(round=round_):
            return replace(board, bets="open" if type_ == "bets.opened" else "closed", round=round_)
        case "table.opened", _:
            anew = replace(board, state="open", shooter=None, review=None)
            return anew if board.puck is None else _with_point(anew, None)
        case "table.closed", _:
            return replace(board, state="closed")
        case "table.locked", _:
            return replace(board, lock="locked")
        case "table.unlocked", _:
            return replace(board, lock="unlocked")
        case _, ShooterChanged(shooter=shooter):
            return replace(board, shooter=shooter)
        case _, RollCalled(phase=str(), point_after=point):
            return _with_point(board, point)
        case _, RollCorrected(dice=(_, _), phase=str(), point_after=point):
            return _with_point(board, point)
        case _, RollCorrected(dice=None, point=point) if board.puck is not None and point is not None:
            return _with_point(board, point)
        case _:
            return board


def _with_point(board: TableBoard, point: int | None) -> TableBoard:
    puck: Puck = "off" if point is None else point  # type: ignore[assignment]  # a point is one of these numbers
    phase: Literal["come_out", "point"] = "come_out" if point is None else "point"
    return msgspec.structs.replace(board, phase=phase, point=point, puck=puck)


def _reviewed(board: TableBoard, told: _Told, word: str, data: Data) -> TableBoard:
    shown = player_data(told.type, told.data)
    number = getattr(data, word, None)
    if shown is None or not isinstance(number, int):
        return board
    missing = _decode_reasons(shown).reasons
    lost = any(bytes(reason.get("code", Raw())) == b'"power_lost"' for reason in _decode_codes(missing))
    review = BoardReview(
        attempt=word,  # type: ignore[arg-type]  # `follow` looked
        number=number,
        missing=missing,
        may=_MAY[word][-1:] if lost else _MAY[word],
    )
    return msgspec.structs.replace(board, review=review)


def _with_result(board: TableBoard, told: _Told, word: str, data: Data) -> TableBoard:
    shown, number = player_data(told.type, told.data), getattr(data, word, None)
    if shown is None or number is None:
        return board
    subject = f"{word}/{number}"
    corrected = told.type.endswith(".corrected")
    result = BoardResult(
        type=told.type, subject=subject, sequence=told.seq, corrected=corrected, data=Raw(shown)
    )
    others = tuple(one for one in board.results if one.subject != subject)
    at = next((i for i, one in enumerate(board.results) if one.subject == subject), 0)
    results = (*others[:at], result, *others[at:])[:RESULTS]
    review = board.review
    if review is not None and (review.attempt, review.number) == (word, number):
        review = None
    return msgspec.structs.replace(board, results=results, review=review)
