"""Compares a disk after a power cut with the outcomes that were published before it."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from controller.app.options import RECORDINGS
from controller.app.recording import ENDING
from controller.journal.contents import ATTEMPT_BEGUN, PRUNED, SESSION_STARTED, AttemptBegun, PruningDecision
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader

ATTEMPTS = ("roll", "spin", "deal")
RECORDING_CLOSED = "recording.closed"
SHOWN = 2
"""Number of results on the board to search, because a review might follow the last result."""


@dataclass(frozen=True)
class Row:
    """A row of the journal, read with SQLite alone, and its `outcome`, if any."""

    n: int
    name: str
    link: str
    body: bytes | None
    outcome: dict[str, Any] | None
    dropped: bool = False
    """Whether the row is an outcome whose body was pruned; only its link in the chain is left."""


@dataclass
class Kept:
    """The journal on a disk; `bad` describes the errors in the file."""

    rows: list[Row] = field(default_factory=list)
    waiting: frozenset[int] = frozenset()
    """The numbers of the rows with unacknowledged outcomes."""
    bad: list[str] = field(default_factory=list)

    @property
    def outcomes(self) -> dict[str, Row]:
        return {row.outcome["id"]: row for row in self.rows if row.outcome}

    def last_result(self) -> dict[str, Any] | None:
        """Return the last outcome that is the result of an attempt; a review is not a result.

        Return None if a pruning in the journal covers this outcome, because the next start completes the
        pruning.
        """
        prunings = [row.body for row in self.rows if row.name == PRUNED and row.body]
        below = max(
            (msgspec.json.decode(body, type=PruningDecision).bodies_below for body in prunings), default=0
        )
        attempts = [row for row in self.rows if row.outcome and _number(row.outcome) is not None]
        for row in reversed(attempts):
            if row.outcome and not row.outcome["type"].endswith((".review", ".corrected")):
                return row.outcome if row.n >= below else None
        return None

    def in_flight(self) -> set[tuple[str, int]]:
        """Return the attempts that began in the last session and have no outcome.

        Attempts before a pruned outcome are left out, because the pruned outcome might be theirs.
        """
        starts = [at for at, row in enumerate(self.rows) if row.name == SESSION_STARTED or row.dropped]
        begun: set[tuple[str, int]] = set()
        for row in self.rows[starts[-1] :] if starts else []:
            if row.name == ATTEMPT_BEGUN and row.body:
                one = msgspec.json.decode(row.body, type=AttemptBegun)
                begun.add((one.attempt, one.number))
            elif row.outcome and (number := _number(row.outcome)) is not None:
                begun.discard((_word(row.outcome), number))
        return begun


def read_disk(disk: Path, work: Path) -> Kept:
    """Return the contents of a copy of the disk after the replay of the file system's journal."""
    shutil.rmtree(work, ignore_errors=True)
    (work / "files").mkdir(parents=True)
    copy = work / "copy.img"
    _run("cp", "--sparse=always", str(disk), str(copy))
    _run("e2fsck", "-fy", str(copy), allowed=(0, 1))
    _run("debugfs", "-R", f"rdump / {work / 'files'}", str(copy))
    path = work / "files" / "journal.db"
    if not path.exists():
        return Kept()
    kept = Kept()
    with sqlite3.connect(path) as database:
        sound = database.execute("pragma integrity_check").fetchone()[0]
        if sound != "ok":
            kept.bad.append(f"integrity: {sound}")
        tables = {name for (name,) in database.execute("select name from sqlite_master")}
        if {"rows", "outbox"} <= tables:
            found = database.execute("select n, name, seq, body, link from rows order by n").fetchall()
            kept.rows = [_row(*one) for one in found]
            kept.waiting = frozenset(n for (n,) in database.execute("select n from outbox"))
    database.close()
    kept.bad += altered_recordings(kept.rows, work / "files" / RECORDINGS)
    try:
        with Reader(path) as reader:
            reader.verify_all()
    except (JournalFault, ValueError, OSError) as error:
        if kept.rows:
            kept.bad.append(f"chain: {error!r}")
    return kept


def altered_recordings(rows: list[Row], folder: Path) -> list[str]:
    """Return the recordings whose file is missing or differs from the journal's row."""
    found = []
    for row in rows:
        if row.name != RECORDING_CLOSED or row.body is None:
            continue
        answer = msgspec.json.decode(row.body)
        path = folder / (answer["name"] + ENDING)
        data = path.read_bytes() if path.exists() else b""
        if (len(data), hashlib.sha256(data).hexdigest()) != (answer["size"], answer["sha256"]):
            found.append(
                f"recording {answer['name']}: {len(data)} of {answer['size']} bytes, or different contents"
            )
    return found


def differences(
    kept: Kept, published: list[dict[str, Any]], acknowledged: Mapping[str, str], before: Kept
) -> list[str]:
    """Return the published outcomes that are not on the disk, and the rows that have disappeared.

    `acknowledged` maps the ids of acknowledged outcomes to their links. The body of a settled outcome may be
    pruned, but not its row.
    """
    found = [
        *kept.bad,
        *(f"pruned but not settled: row {row.n}" for row in kept.rows if _is_owed(row, kept)),
    ]
    outcomes = kept.outcomes
    dropped = {row.link: row for row in kept.rows if row.dropped}
    for message in published:
        outcome = message["outcome"]
        row = outcomes.get(outcome["id"], dropped.get(message["chain"]))
        if row is None:
            found.append(f"lost {outcome['id']} {outcome['type']}")
        elif (not row.dropped and row.outcome != outcome) or row.link != message["chain"]:
            found.append(f"different {outcome['id']}: {row.outcome} instead of {outcome}")
    for outcome_id, link in acknowledged.items():
        row = outcomes.get(outcome_id, dropped.get(link))
        if row is None:
            found.append(f"acknowledged but lost: {outcome_id}")
        elif row.n in kept.waiting:
            found.append(f"acknowledged but waiting again: {outcome_id}")
    if [row.link for row in kept.rows[: len(before.rows)]] != [row.link for row in before.rows]:
        found.append("rows that were there before have changed or are missing")
    return found


def state_differences(before: Kept, after: Kept, board: dict[str, Any]) -> list[str]:
    """Return the differences between the restarted table's state and its state at the cut.

    `board` is the restarted table's board before its first reading. `after` is the disk after the next cut.
    """
    found: list[str] = []
    fresh = [row.outcome for row in after.rows[len(before.rows) :] if row.outcome]
    reviewed = {(_word(one), _number(one)) for one in fresh if one["type"].endswith(".review")}
    if any(one["type"] == "table.unlocked" for one in fresh):
        found += [f"interrupted but not reviewed: {one}" for one in before.in_flight() - reviewed]
    last = before.last_result()
    shown = [one["subject"] for one in board["results"]]  # a correction replaces the outcome that it corrects
    if last and f"{_word(last)}/{_number(last)}" not in shown[:SHOWN]:
        found.append(f"the board's last results are {shown} instead of {last}")
    rolls = [row.outcome for row in before.rows if row.outcome and row.outcome["type"] == "roll.called"]
    if rolls and "point_after" in rolls[-1]["data"] and board.get("puck") is not None:
        point = rolls[-1]["data"]["point_after"]
        if board["point"] != point:
            found.append(f"the point is {board['point']} instead of {point}")
    return found


def _is_owed(row: Row, kept: Kept) -> bool:
    return row.dropped and row.n in kept.waiting


def _row(n: int, name: str, seq: int | None, body: bytes | None, link: bytes) -> Row:
    outcome = msgspec.json.decode(body) if seq is not None and body else None
    return Row(n, name, link.hex(), body, outcome, dropped=seq is not None and body is None)


def _number(outcome: dict[str, Any]) -> int | None:
    word = _word(outcome)
    number: int | None = outcome["data"].get(word) if word in ATTEMPTS else None
    return number


def _word(outcome: dict[str, Any]) -> str:
    return str(outcome["type"].partition(".")[0])


def _run(*command: str, allowed: tuple[int, ...] = (0,)) -> None:
    environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    done = subprocess.run(command, capture_output=True, env=environment, check=False)
    assert done.returncode in allowed, f"{command}: {done.stdout!r} {done.stderr!r}"
