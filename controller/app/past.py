"""What is past, for technicians at the control socket: the journal's rows and the recordings.

Of what is still under way they learn no more than a watcher does: while bets can be placed on a wheel's spin,
or a hand that was dealt is not decided, all since these bets were opened stays untold (R-SPIN-3, T-DEAL-3).
"""

import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from controller.app.live import Live
from controller.app.messages import (
    AskIdentity,
    AskPast,
    AskRecording,
    AskRow,
    AskRows,
    answer,
    encode,
    refusal,
)
from controller.app.options import JOURNAL_FILE, RECORDINGS
from controller.app.recorder import ENDING
from controller.app.view import Until, View
from controller.journal.reading import Reader
from controller.replay.source import Source

NEVER = 2**62


class _Arrival(msgspec.Struct):
    """Of a recorded line, when it arrived; the header has no time."""

    t: int = 0
    arrived: int | None = None


_decode_arrival = msgspec.json.Decoder(_Arrival).decode


def past_until(view: View, game: str, last_n: int, opened: Until) -> Until:
    """Tell how far the past goes for who may not know what is under way; `last_n` was read before `view`."""
    plays = view.state.table == "open" and view.state.lock == "unlocked" and not view.testing
    betting = plays and not view.bets_closed
    hidden = {"roulette": betting, "three_card": betting or view.attempt_open}
    return opened if hidden.get(game, False) else Until(last_n, view.now_us)


def past(request: AskPast, live: Live, journal: Path) -> Iterator[bytes]:
    """Answer in lines; raises JournalFault where the journal has not what is asked for."""
    with Reader(journal / JOURNAL_FILE) as reader:
        last_n = reader.last_n()
        view = live.core.view
        until = past_until(view, live.setup.ruleset.game, last_n, live.bets_opened)
        match request:
            case AskRow():
                row = reader.find(request.id)
                if row.n > until.n:
                    yield refusal("not_now", "bets are open or its hand is not decided; ask again then")
                else:
                    yield answer(row=row)
            case AskIdentity():
                yield answer(identity=reader.identity_at(request.at), key=reader.key_at(request.at).raw)
            case AskRows():
                origin, held_back = reader.origin, until.n < last_n
                yield answer(table=origin.table, key=origin.public_key, last_n=until.n, held_back=held_back)
                to_n = until.n if request.to_n is None else min(request.to_n, until.n)
                for row in reader.rows(request.from_n, to_n, request.types, evidence=request.evidence):
                    yield encode({"row": row}) + b"\n"
                yield answer(end=True)
            case AskRecording():
                ours = view.recording.rpartition("-")[0]
                limit_us = until.arrived_us if request.name.startswith(f"{ours}-") else NEVER
                yield from _recorded(journal / RECORDINGS / (request.name + ENDING), limit_us)


def _recorded(path: Path, limit_us: int) -> Iterator[bytes]:
    """Give the lines of a recording as far as it is written, up to the first one that came too late."""
    try:
        stream = path.open("rb")
    except OSError as error:
        yield refusal("no_recording", f"{path.name}: {error.strerror}; it was made room for or moved")
        return
    yield answer(recording=path.name)
    rest = b""
    try:
        with stream:
            for block in Source(stream):
                *lines, rest = (rest + block).split(b"\n")
                told = [line for line in lines if _arrival(line) <= limit_us]
                yield encode({"lines": b"".join(line + b"\n" for line in told).decode()}) + b"\n"
                if len(told) < len(lines):
                    break
    except (zlib.error, msgspec.MsgspecError, UnicodeDecodeError) as error:
        yield refusal("damaged", f"{path.name}: {error}; the journal has its outcomes' own evidence")
    else:
        yield answer(end=True)


def _arrival(line: bytes) -> int:
    arrival = _decode_arrival(line)
    return arrival.t if arrival.arrived is None else arrival.arrived
