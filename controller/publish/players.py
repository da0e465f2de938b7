"""The outcomes for players, and the table's board, which a display or console reads when it starts.

This module lists the keys of each type of outcome that players receive. Players do not receive the timing of
the rotor and the ball, because the rotor keeps turning until the next spin. They also do not receive messages
for staff, staff names, proofs, or the hands of positions that folded.

The board, which the broker retains, names the attempt that is waiting for a person, but contains neither
the attempt's readings nor its proposed result.
"""

from collections.abc import Iterable, Mapping
from queue import SimpleQueue
from typing import Literal

import msgspec
from msgspec import Raw

from controller.games.registry import game_of
from controller.journal.chain import Row
from controller.journal.reading import Outbox, check_contents, find_row_number
from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import (
    Awaited,
    Bets,
    Data,
    RollCalled,
    RollCorrected,
    Seat,
    ShooterChanged,
    data_of,
)

_ROLL = ("roll", "dice", "total", "phase", "point", "call", "point_after", "shooter", "run_out")
_HIGH_ROLLER = ("game", "player", "remaining", "next_player")
_DEALT = ("deal", "hands", "dealer", "folds", "qualifies", "announcement", "results")

PLAYER_KEYS: Mapping[str, tuple[str, ...]] = {
    "roll.called": (*_ROLL, "grade", *_HIGH_ROLLER),
    "roll.no_roll": ("roll", "reasons"),
    "roll.review": ("roll", "reasons"),
    "roll.corrected": (*_ROLL, "corrects", "ruling", "reasons", *_HIGH_ROLLER),
    "spin.called": ("spin", "number", "colour", "grade"),
    "spin.no_spin": ("spin", "reasons"),
    "spin.review": ("spin", "reasons"),
    "spin.corrected": ("spin", "corrects", "ruling", "number", "colour", "reasons"),
    "deal.called": (*_DEALT, "grade"),
    "deal.void": ("deal", "reasons"),
    "deal.review": ("deal", "reasons"),
    "deal.corrected": (*_DEALT, "corrects", "ruling", "reasons"),
    "cards.bought": ("game", "player", "count"),
    "card.pitched": ("game", "player", "card", "replaces"),
    "game.started": ("game", "button", "seats", "cards", "card_cents", "final"),
    "game.void": ("game", "reasons"),
    "game.won": ("game", "player", "total", "pot", "bonus_paid"),
    "player.eliminated": ("game", "players"),
    "roll.declined": ("game", "player"),
    "bonus.paid": ("player", "amount", "cause"),
    "bets.opened": ("round",),
    "bets.closed": ("round",),
    "shooter.changed": ("shooter",),
    "table.opened": (),
    "table.closed": (),
    "table.locked": (),
    "table.unlocked": (),
}
"""The types of outcome that players receive, and their keys. High Roller's cards lie face up (H-DEAL-1)."""

REASON_KEYS = ("code", "rule", "die")
"""The keys of a reason that players receive. A reason's `seen` contains measurements."""

_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_hands = msgspec.json.Decoder(dict[str, msgspec.Raw] | None).decode
_decode_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_decode_list = msgspec.json.Decoder(list[dict[str, msgspec.Raw]]).decode
_encode = msgspec.json.Encoder().encode


def player_data(type_: str, data: msgspec.Raw) -> bytes | None:
    """Return an outcome's data for players; None for a type that is not for players."""
    keys = PLAYER_KEYS.get(type_)
    if keys is None:
        return None
    outcome = _decode(data)
    kept = {key: outcome[key] for key in keys if key in outcome}
    if "reasons" in kept:
        reasons = _decode_list(kept["reasons"])
        bare = [{key: reason[key] for key in REASON_KEYS if key in reason} for reason in reasons]
        kept["reasons"] = msgspec.Raw(_encode(bare))
    if "hands" in kept:
        kept["hands"] = _without_folded_hands(kept["hands"], _decode_strings(outcome["folds"]))
    if "results" in kept:
        kept["results"] = _without_rank_of_folds(kept["results"])
    return _encode(kept)


def _without_folded_hands(hands: msgspec.Raw, folds: tuple[str, ...]) -> msgspec.Raw:
    """Remove the hands of players who folded. They return their cards face down."""
    shown = _decode_hands(hands)
    if shown is None:
        return hands
    return msgspec.Raw(_encode({seat: cards for seat, cards in shown.items() if seat not in folds}))


def _without_rank_of_folds(results: msgspec.Raw) -> msgspec.Raw:
    kept = [result for result in _decode_list(results) if bytes(result["result"]) != b'"fold"']
    return msgspec.Raw(_encode(kept))


RESULTS = 10
"""Maximum number of results on the board."""
LOOK_BACK = 4000
"""Number of journal rows read at startup to find the newest results. These rows cover more than an hour."""
Puck = Literal["off", 4, 5, 6, 8, 9, 10]
_WORDS = ("roll", "spin", "deal")


class BoardResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of an attempt. `data` is the outcome's data for players, as on the players' topic."""

    type: str
    subject: str
    sequence: int
    corrected: bool = False
    """Whether a person's ruling replaced an earlier result."""
    data: Raw


class BoardReason(msgspec.Struct, frozen=True, kw_only=True):
    """A reason without the sensors' measurements."""

    code: str
    rule: str | None
    die: int | None


class BoardAwaited(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt that is waiting for a person, the reasons (`missing`), and the rulings accepted now (`may`).

    In the state `proposed` (`calls: confirm`) a person must accept a call, which the board does not contain.
    """

    attempt: Literal["roll", "spin", "deal"]
    number: int
    state: Literal["review", "proposed"]
    missing: tuple[BoardReason, ...]
    may: tuple[str, ...]


class TableBoard(msgspec.Struct, frozen=True, kw_only=True):
    """A table's board. `sequence` is the number of the newest outcome included.

    `phase`, `point` (null: off), `puck` and `shooter` are for craps. `results` are the last ten results,
    newest first; a corrected result keeps its place. `awaited` is the attempt that is waiting for a person.
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
    awaited: BoardAwaited | None = None


class _OutcomeBody(msgspec.Struct, frozen=True, kw_only=True):
    type: str
    seq: int
    data: Raw


_decode_outcome = msgspec.json.Decoder(_OutcomeBody).decode
_encode_board = msgspec.json.Encoder().encode


def first_board(table: str, session: str, game: str, state: State, first: NextNumbers) -> TableBoard:
    """Return a table's board at startup, without any outcome."""
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
    return _with_point(board, state.point) if game_of(game).has_puck else board


def board_after(board: TableBoard, row: Row) -> TableBoard:
    """Return the board with an outcome's row applied. A row whose body was pruned changes nothing."""
    if row.seq is None or row.body is None or row.seq <= board.sequence:
        return board
    outcome = _decode_outcome(row.body)
    data = data_of(outcome.type, outcome.data)
    board = msgspec.structs.replace(_apply_change(board, outcome.type, data), sequence=outcome.seq)
    word, _, what = outcome.type.partition(".")
    if word not in _WORDS or what == "review":
        return board
    return _with_result(board, outcome, word, data)


def board_awaiting(board: TableBoard, awaited: Awaited | None) -> TableBoard:
    """Return the board with the attempt that is waiting for a person; the same board if nothing changed."""
    shown = None
    if awaited is not None:
        shown = BoardAwaited(
            attempt=awaited.attempt,
            number=awaited.number,
            state=awaited.state,
            missing=tuple(BoardReason(code=r.code, rule=r.rule, die=r.die) for r in awaited.reasons),
            may=awaited.may,
        )
    return board if board.awaited == shown else msgspec.structs.replace(board, awaited=shown)


def board_bytes(board: TableBoard) -> bytes:
    """Encode a board."""
    return _encode_board(board)


class PublishedBoard:
    """Keeps a table's board up to date for publishing.

    Any thread may call `note` and `note_awaited`. Only the publishing thread may call `changed`.
    """

    def __init__(self, first: TableBoard) -> None:
        """Start from this board, which contains no outcome from the journal."""
        self._board = first
        self._rows: SimpleQueue[Row] = SimpleQueue()
        self._awaited: Awaited | None = None
        self._is_whole = False

    def note(self, rows: Iterable[Row]) -> None:
        """Record outcomes that have become durable."""
        for row in rows:
            self._rows.put(row)

    def note_awaited(self, awaited: Awaited | None) -> None:
        """Record the attempt that is waiting for a person, if there is one."""
        self._awaited = awaited

    def changed(self, reader: Outbox, last_seq: int) -> bytes | None:
        """Return the encoded board if it has changed; otherwise None.

        The first call applies the journal's earlier outcomes. `last_seq` is the number of the newest outcome.
        Raises JournalFault if the journal can't be read.
        """
        board = self._board
        if not self._is_whole:
            newest = find_row_number(reader, last_seq) if last_seq else None
            for row in reader.rows(max(1, newest - LOOK_BACK)) if newest is not None else ():
                check_contents(row, reader.path)
                board = board_after(board, row)
        while not self._rows.empty():
            board = board_after(board, self._rows.get())
        board = board_awaiting(board, self._awaited)
        if board is self._board and self._is_whole:
            return None
        self._is_whole = True
        self._board = board
        return board_bytes(board)


def _apply_change(board: TableBoard, type_: str, data: Data) -> TableBoard:
    replace = msgspec.structs.replace
    match type_, data:
        case "bets.opened" | "bets.closed", Bets(round=round_):
            return replace(board, bets="open" if type_ == "bets.opened" else "closed", round=round_)
        case "table.opened", _:
            reopened = replace(board, state="open", shooter=None)
            return reopened if board.puck is None else _with_point(reopened, None)
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


def _with_result(board: TableBoard, outcome: _OutcomeBody, word: str, data: Data) -> TableBoard:
    shown, number = player_data(outcome.type, outcome.data), getattr(data, word, None)
    if shown is None or number is None:
        return board
    subject = f"{word}/{number}"
    corrected = outcome.type.endswith(".corrected")
    result = BoardResult(
        type=outcome.type, subject=subject, sequence=outcome.seq, corrected=corrected, data=Raw(shown)
    )
    others = tuple(one for one in board.results if one.subject != subject)
    at = next((i for i, one in enumerate(board.results) if one.subject == subject), 0)
    results = (*others[:at], result, *others[at:])[:RESULTS]
    return msgspec.structs.replace(board, results=results)
