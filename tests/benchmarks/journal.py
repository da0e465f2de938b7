"""Measure the journal next to one bare commit, and the opening and verification of a year's journal.

`python -m tests.benchmarks.journal [--throws N] [--outcomes N]` prints

- the time from a throw's deciding reading to the report of its durable outcome, next to the judge's time and
  one bare SQLite commit that waits for the disk, measured alternately; the goal at p99 is twice their sum;
- for a year's journal, the time and memory for opening it and for verifying all of it.

The exit status is 1 if the goal is missed.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, cycle, islice
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles

import apsw
import msgspec

from controller.engine.session import Session
from controller.journal.chain import Draft, WallTime, seal
from controller.journal.contents import (
    CHECKPOINT,
    SESSION_STARTED,
    Drafter,
    Identity,
    StateAfterRow,
    canonical,
    decode_outcome,
    event_draft,
)
from controller.journal.faults import JournalFault
from controller.journal.head import JournalLocation
from controller.journal.journal import Journal
from controller.journal.keys import Key, load_key, new_key
from controller.journal.opening import head_at, open_journal
from controller.journal.reading import Reader
from controller.journal.store import insert
from controller.journal.totals import checkpoint_body
from controller.journal.writer import Limits
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect, Judged
from controller.rules.dice.judge import judge_throw
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice
from tests.benchmarks.figures import Figure, hand_over

GOAL = 2.0
TABLE = "bench"
PRUNE_BATCH_ROWS = 5000
BARE_ROW = 1000
"""Size in bytes of the bare commit's row."""


class Hand(msgspec.Struct, frozen=True):
    """The session's results for one reading."""

    effects: tuple[Effect, ...]
    state: State
    first: NextNumbers


def play(throws: int) -> tuple[Setup, list[Hand]]:
    """Play simulated throws through an engine session, and return its results."""
    header, feed, _ = dice.simulate(1, n=throws)
    assert header.dice_table is not msgspec.UNSET
    setup = Setup(
        table=TABLE, session="1", ruleset=load_ruleset(header.ruleset), dice_table=header.dice_table
    )
    session = Session(setup)
    hands = [
        Hand(tuple(effects), session.state(), session.first())
        for _, reading in feed
        if (effects := session.feed(reading))
    ]
    return setup, hands


def durable_outcomes(folder: Path, throws: int) -> bool:
    """Print the time to a durable outcome next to its floor; return whether the goal is met."""
    setup, hands = play(throws)
    journaled: list[float] = []
    floor: list[float] = []
    bare = bare_commit(folder / "bare.db")
    place, key = new_table(folder)
    with open_table(place, key) as journal:
        journal.start(identity(setup)).wait()
        for hand in hands:
            judged = next((effect for effect in hand.effects if isinstance(effect, Judged)), None)
            start = time.perf_counter()
            journal.append(hand.effects, hand.state, hand.first).wait()
            waited = time.perf_counter() - start
            if judged is not None:
                judging = seconds(partial(judge, setup, judged))
                journaled.append(judging + waited)
                floor.append(judging + seconds(bare))
    p50, p99 = of(journaled)
    floor50, floor99 = of(floor)
    beside = "judge + one bare commit"
    hand_over(
        Figure("last reading to durable, p50", p50, floor50, "ms", beside),
        Figure("last reading to durable, p99", p99, floor99, "ms", beside),
    )
    sys.stdout.write(
        f"last reading to durable outcome, {len(journaled)} throws: p50 {p50:.2f} ms  p99 {p99:.2f} ms"
        f"  judge + one bare commit: p50 {floor50:.2f} ms  p99 {floor99:.2f} ms"
        f"  ratio p50 {p50 / floor50:.2f}  p99 {p99 / floor99:.2f} (goal {GOAL:g})\n"
    )
    return p99 <= GOAL * floor99


def judge(setup: Setup, judged: Judged) -> None:
    """Judge a throw again."""
    assert setup.dice_table is not None
    assert setup.ruleset.throw is not None
    judge_throw(judged.readings, setup.dice_table, setup.ruleset.throw, decided_at_us=judged.outcome.t)


def bare_commit(path: Path) -> Callable[[], None]:
    """Return a function that commits one row and waits for the disk, the minimum for a durable outcome."""
    connection = apsw.Connection(str(path))
    pragmas = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"
    connection.execute(pragmas).fetchall()
    connection.execute("CREATE TABLE rows (n INTEGER PRIMARY KEY, body BLOB)")
    row = bytes(BARE_ROW)

    def commit() -> None:
        connection.execute("INSERT INTO rows (body) VALUES (?)", (row,))

    return commit


def a_year(folder: Path, outcomes: int) -> None:
    """Print the cost of opening and verifying a year's journal."""
    place, key = new_table(folder)
    # A separate process, so that its memory is not counted here.
    writer = get_context("spawn").Process(target=write_year, args=(folder, outcomes))
    writer.start()
    writer.join()
    size_mb = place.journal.stat().st_size / 1e6
    before_mb = resident_mb()
    start = time.perf_counter()
    open_table(place, key).close()
    opening = time.perf_counter() - start
    opened_mb = resident_mb()
    with Reader(place.journal) as reader:
        start = time.perf_counter()
        found = reader.verify_all(every_signature=False)
        quickly = time.perf_counter() - start
        start = time.perf_counter()
        reader.verify_all()
        verifying = time.perf_counter() - start
    sys.stdout.write(
        f"a year: {found.outcomes:,} outcomes in {found.rows:,} rows, {size_mb:,.0f} MB;"
        f" open and verify from the last checkpoint {opening * 1000:.0f} ms, +{opened_mb - before_mb:.1f} MB;"
        f" verify all {quickly:.1f} s, with every outcome's signature {verifying:.1f} s;"
        f" +{resident_mb() - opened_mb:.1f} MB\n"
    )


def write_year(folder: Path, outcomes: int) -> None:
    """Write a session repeatedly, with many rows per commit and no checkpoint after the last rows."""
    setup, hands = play(30)
    place, key = JournalLocation(folder / "journal.db", folder / "head"), load_key(folder / "key")
    opened = open_journal(place, key, TABLE, now=wall(), vfs=None, accept=None)
    memory, last_n, last_link = opened.totals, opened.last_n, opened.last_link
    drafts = chain([event_draft(SESSION_STARTED, identity(setup), wall())], year_of(hands, outcomes))
    while some := list(islice(drafts, PRUNE_BATCH_ROWS)):
        tail = some[-Limits().rows_between_checkpoints :]
        rows = seal(some[: -len(tail)], last_n, last_link, key)
        for row in rows:
            memory.add(row)
        body = checkpoint_body(memory, closed=False)
        checkpoint = Draft(name=CHECKPOINT, wall=wall(), body=body, signed=True)
        for more in ([checkpoint], tail):
            rows += seal(more, rows[-1].n if rows else last_n, rows[-1].link if rows else last_link, key)
        for row in rows[-len(tail) :]:
            memory.add(row)
        insert(opened.connection, rows, [])
        last_n, last_link = rows[-1].n, rows[-1].link
    opened.head.write(head_at(TABLE, last_n, last_link, memory))
    opened.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    opened.connection.close()
    opened.release.close()


def year_of(hands: Sequence[Hand], outcomes: int) -> Iterator[Draft]:
    """Yield this many of the session's outcomes and their evidence, with new numbers."""
    drafter = Drafter(NextNumbers())
    drafts = [
        (draft, decode_outcome(draft.body) if draft.seq is not None else None)
        for hand in hands
        for draft in drafter.draft_effects(
            hand.effects, StateAfterRow(state=hand.state, first=hand.first), wall()
        )
    ]
    seq = 0
    for draft, outcome in cycle(drafts):
        if outcome is None:
            yield draft
            continue
        seq += 1
        renumbered = msgspec.structs.replace(outcome, seq=seq, id=f"{TABLE}/1/{seq}")
        yield msgspec.structs.replace(draft, seq=seq, body=canonical(renumbered))
        if seq == outcomes:
            return


def new_table(folder: Path) -> tuple[JournalLocation, Key]:
    new_key(folder / "key")
    return JournalLocation(folder / "journal.db", folder / "head"), load_key(folder / "key")


def open_table(place: JournalLocation, key: Key) -> Journal:
    """Open a table's journal, without listeners."""
    return Journal.open(place, key, table=TABLE, wall=wall, on_durable=lambda _: None, alarm=fail)


def fail(fault: JournalFault | None) -> None:
    """End a measurement that a fault has spoiled."""
    if fault is not None:
        sys.exit(str(fault))


def identity(setup: Setup) -> Identity:
    """Return the identity of the session."""
    return Identity(session=1, software="bench", config="", boot="", setup=setup)


def wall() -> WallTime:
    return WallTime(0, synced=False)


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def of(times: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile in milliseconds."""
    cuts = quantiles(times, n=100)
    return cuts[49] * 1000, cuts[98] * 1000


def resident_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--throws", type=int, default=200, help="throws whose outcomes are timed")
    parser.add_argument("--outcomes", type=int, default=30_000, help="a year has about 300000")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        met = durable_outcomes(Path(folder), arguments.throws)
    with tempfile.TemporaryDirectory() as folder:
        a_year(Path(folder), arguments.outcomes)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
