"""A table that is killed repeatedly, and the checks after each kill."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

import msgspec

from controller.engine.session import Session
from controller.journal.chain import Row
from controller.journal.contents import (
    ATTEMPT_BEGUN,
    SESSION_STARTED,
    AttemptBegun,
    Identity,
    StateAfterRow,
    decode_outcome,
)
from controller.journal.head import JournalLocation
from controller.journal.keys import load_key
from controller.journal.opening import Recovered
from controller.journal.reading import Reader
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect
from controller.model.outcomes import ATTEMPT_KINDS, Outcome
from controller.model.readings import AnyReading, Input
from controller.replay.source import decode_reading
from tests.app.rig import Table, lines_of, tick, until
from tests.journal.rig import recover

GAP_US = 30_000_000
"""Time from the last reading before a kill to the first reading after it."""
STEP = 40
"""Number of readings fed together until an attempt is in progress."""
LOOKS = 500
"""Number of polls of the file before each query to the daemon."""


@dataclass
class KilledTable:
    """The runs of one table, each ended by a kill."""

    table: Table
    session_feed: list[tuple[int, AnyReading]]
    seed: int
    links: list[bytes] = field(default_factory=list)
    """The chain links after the last kill."""
    kills: int = 0
    cut_off: int = 0
    """Number of attempts that kills have interrupted."""
    _fed: list[bytes] = field(default_factory=list)
    _place: int = 0
    _shift_us: int = 0
    _last_us: int = 0
    """The arrival time of the last reading fed."""

    @property
    def name(self) -> str:
        """Return the table's name, even if its file is given as a path."""
        return Path(self.table.name).stem

    def run_until_killed(self) -> None:
        """Start, play for some time, kill the daemon, and check its files.

        Of every three kills, the first happens during an attempt and the second at any point of play. The
        third happens either before play or at any point of it. Each kill waits for a report or a write of the
        daemon, never for a fixed time.
        """
        chance = random.Random(self.seed * 1000 + self.kills)
        kind = self.kills % 3
        if kind == 0:
            self._kill_in_attempt()
        elif kind == 2 and chance.random() < 0.5:
            self._kill_before_play(chance.randrange(0, 8))
        else:
            self._kill_in_play(chance)
        self.kills += 1
        self.check()

    def _kill_before_play(self, writes: int) -> None:
        """Kill before any reading is fed. The state of the new session follows from the last run."""
        self.table.start(ready=False)
        self._wait_for_writes(writes, self.table.answers)
        self.table.kill()

    def _kill_in_attempt(self) -> None:
        """Kill when the journal has recorded an open attempt."""
        self._begin_to_play()
        while not _in_flight(self.table.rows()):
            self.table.feed(self._next_lines(STEP))
            until(self._taken, "the readings to be taken and journaled")
        self.table.kill()

    def _kill_in_play(self, chance: random.Random) -> None:
        """Kill while readings arrive, usually between a write and its commit."""
        self._begin_to_play()
        lines = self._next_lines(chance.randrange(1, 700))
        feeder = threading.Thread(target=self.table.feed, args=(lines,), daemon=True)
        feeder.start()
        self._wait_for_writes(chance.randrange(0, 12), self._taken)
        self.table.kill()
        feeder.join()

    def _begin_to_play(self) -> None:
        self.table.start()
        self._check_start()
        self._open_for_play()
        self._fed = []
        self._go_on_after_a_gap()

    def _wait_for_writes(self, count: int, all_written: Callable[[], bool]) -> None:
        """Wait for `count` writes of the WAL, or until all writes are complete."""
        left, last = count, self._last_write()

        def written() -> bool:
            nonlocal left, last
            for _ in range(LOOKS):
                if not left:
                    return True
                now = self._last_write()
                left -= now != last
                last = now
            return all_written()

        until(written, f"{count} writes of the journal")

    def _last_write(self) -> tuple[int, int]:
        wal = self.table.journal / "journal.db-wal"
        found = wal.stat() if wal.exists() else None
        return (0, 0) if found is None else (found.st_size, found.st_mtime_ns)

    def _taken(self) -> bool:
        """Return whether the core has processed every line, and the results are on the disk."""
        status = self.table.status()
        journal = status["journal"]
        assert isinstance(journal, dict)
        return status["table_time_us"] == self._last_us and journal["waiting"] == 0

    def close(self) -> int:
        """Start, stop in order, and return the exit code."""
        self.table.start()
        self._check_start()
        return self.table.terminate()

    # --- checks ---

    def check(self) -> None:
        rows, recovered = self._read()
        links = [row.link for row in rows]
        assert links[: len(self.links)] == self.links, "earlier rows have changed or are missing"
        self.links = links
        outcomes = [(row, decode_outcome(row.body)) for row in rows if row.seq is not None and row.body]
        assert [outcome.seq for _, outcome in outcomes] == list(range(1, len(outcomes) + 1))
        self._check_published(outcomes)
        self._check_ids(rows)
        self._check_state(rows, recovered)

    def _read(self) -> tuple[list[Row], Recovered]:
        """Return the rows and the state recovered from them.

        A commit that was interrupted before it reached the WAL's index stays invisible while a helper process
        of the killed daemon is still reading. It may become visible between the two reads.
        """
        place = JournalLocation(self.table.journal / "journal.db", self.table.journal / "journal.head")
        key = load_key(self.table.journal / "table.key").public
        rows: list[Row] = []
        found: list[Recovered] = []

        def same_commits() -> bool:
            with Reader(place.journal) as reader:
                reader.verify_all()
                rows[:] = reader.rows(evidence=True)
            found[:] = [recover(place, key, self.name)]
            return found[0].last_n == rows[-1].n

        until(same_commits, "rows and state of the same commits")
        return rows, found[0]

    def _check_published(self, outcomes: list[tuple[Row, Outcome]]) -> None:
        kept = {outcome.id: (row.body, row.link.hex()) for row, outcome in outcomes}
        for line in self.table.published:
            outcome = line["outcome"]
            assert isinstance(outcome, dict)
            body, link = kept[outcome["id"]]
            assert body is not None
            assert msgspec.json.decode(body) == outcome
            assert link == line["chain"]

    def _check_ids(self, rows: list[Row]) -> None:
        session = 0
        for row in rows:
            if row.name == SESSION_STARTED and row.body:
                identity = msgspec.json.decode(row.body, type=Identity)
                assert identity.session == session + 1
                session = identity.session
            elif row.seq is not None and row.body:
                assert decode_outcome(row.body).id == f"{self.name}/{session}/{row.seq}"

    def _check_state(self, rows: list[Row], recovered: Recovered) -> None:
        """Check the journal's state against an engine that is fed the same lines."""
        start = max(place for place, row in enumerate(rows) if row.name == SESSION_STARTED)
        unlocked = next((p for p in range(start, len(rows)) if rows[p].name == "table.unlocked"), None)
        if unlocked is None:
            return
        setup = _setup_before(rows[start:unlocked])
        published = [decode_outcome(row.body) for row in rows[unlocked:] if row.seq is not None and row.body]
        states = _Model(setup, self._fed).states_after(published)
        assert (recovered.state, recovered.first) in states, (
            f"the journal is at {recovered.state} {recovered.first}, the engine at one of {states}"
        )

    def _check_start(self) -> None:
        """Check that every attempt in flight at the kill is under review because of the power loss.

        The rows of the killed session are known only after the next session has opened the journal. Only a
        writer finds a commit that was interrupted before it reached the WAL's index.
        """
        if not self.links:
            return
        session = int(str(self.table.status()["session"]))
        # The daemon may be ready before a slow disk has the first row of its session.
        until(
            lambda: _start_of(self.table.rows(), session) is not None, f"the first row of session {session}"
        )
        rows = self.table.rows()
        start = _start_of(rows, session)
        in_flight = _in_flight(rows[:start])
        self.cut_off += len(in_flight)
        until(
            lambda: _reviews(self.table.rows()[start:]) == in_flight,
            f"reviews of {in_flight} in {rows[start:]}",
        )

    def _open_for_play(self) -> None:
        if self.table.status()["pending"]:
            seq = len([row for row in self.table.rows() if row.seq is not None])
            assert self.table.enter("void")["ok"]
            until(
                lambda: len([row for row in self.table.rows() if row.seq is not None]) > seq,
                "the ruling on the interrupted attempt",
            )
        self.table.unlock()

    def _next_lines(self, count: int) -> list[bytes]:
        """Return at least the next `count` readings, and a tick."""
        start = self._place
        end = min(start + count, len(self.session_feed))
        while end < len(self.session_feed) and self.session_feed[end][0] <= self.session_feed[end - 1][0] + 1:
            end += 1
        chosen = self.session_feed[start:end]
        shift_us = self._shift_us
        self._last_us = chosen[-1][0] + shift_us + 1
        self._place = end
        if end == len(self.session_feed):
            self._place = 0
            self._go_on_after_a_gap()
        lines = [*lines_of(chosen, shift_us), tick(self._last_us)]
        self._fed += lines
        return lines

    def _go_on_after_a_gap(self) -> None:
        """Continue on the same clock, as on a machine that was not switched off."""
        self._shift_us = self._last_us - self.session_feed[self._place][0] + GAP_US


class _Model:
    """The engine without a daemon, fed the daemon's lines."""

    def __init__(self, setup: Setup, lines: list[bytes]) -> None:
        self._session = Session(setup)
        unlock = Input(t=0, arrived=0, dev="control", name="unlock", by="boxperson", who="ann")
        self._readings: list[AnyReading] = [unlock, *(decode_reading(line) for line in lines)]

    def states_after(self, published: list[Outcome]) -> list[tuple[State, NextNumbers]]:
        """Return the states that are possible after these outcomes.

        The engine must publish the same outcomes.
        """
        said: list[Outcome] = []
        states = [(self._session.state(), self._session.first())]
        for reading in self._readings:
            effects: list[Effect] = list(self._session.feed(reading))
            outcomes = [effect for effect in effects if isinstance(effect, Outcome)]
            if outcomes and len(said) >= len(published):
                break
            said += outcomes
            now = (self._session.state(), self._session.first())
            if outcomes:
                states = [now]
            elif now[0] != states[-1][0]:
                states.append(now)
        for ours, theirs in zip_longest(said, published):
            assert ours == theirs, f"the engine published {ours}, the journal has {theirs}"
        return states


def _setup_before(rows: list[Row]) -> Setup:
    assert rows[0].body is not None
    setup = msgspec.json.decode(rows[0].body, type=Identity).setup
    afters = [msgspec.json.decode(row.after, type=StateAfterRow) for row in rows if row.after is not None]
    if not afters:
        return setup
    return replace(setup, state=afters[-1].state, first=afters[-1].first)


def _start_of(rows: list[Row], session: int) -> int | None:
    """Return the index of a session's first row, or None before it is written."""
    for place, row in enumerate(rows):
        started = row.name == SESSION_STARTED and row.body
        if started and msgspec.json.decode(started, type=Identity).session == session:
            return place
    return None


def _in_flight(rows: list[Row]) -> list[tuple[str, int]]:
    """Return the attempts that had begun and were neither ended nor under review."""
    open_now: dict[tuple[str, int], None] = {}
    for row in rows:
        if row.name == ATTEMPT_BEGUN and row.body:
            begun = msgspec.json.decode(row.body, type=AttemptBegun)
            open_now[begun.attempt, begun.number] = None
        elif row.seq is not None and row.body:
            data = decode_outcome(row.body).data
            for word in ATTEMPT_KINDS:
                open_now.pop((word, getattr(data, word, 0)), None)
    return list(open_now)


def _reviews(rows: list[Row]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for row in rows:
        if row.name.endswith(".review") and row.body:
            word = row.name.partition(".")[0]
            data = decode_outcome(row.body).data
            assert [reason.code for reason in getattr(data, "reasons", ())] == ["power_lost"]
            found.append((word, getattr(data, word)))
    return found
