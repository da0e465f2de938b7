"""Kill a playing controller at random instants, repeatedly on one journal, and check the journal.

In each round a process opens the journal, publishes the interrupted attempt, and continues to play. It is
killed with SIGKILL, either from outside after some outcomes, or by its disk in the middle of a write or just
before a sync. It reports through a pipe the queued and the durable outcomes, for comparison.

`python -m tests.journal.soak --kills N` repeats this N times.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec

from controller.engine.resume import opening_outcomes, resume
from controller.engine.session import Session
from controller.games.craps.game import CRAPS
from controller.journal.chain import WallTime
from controller.journal.contents import canonical
from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.keys import load_key
from controller.journal.reading import Reader
from controller.journal.writer import Limits, Ticket
from controller.machines.setup import NextNumbers, State
from tests.journal.disks import Disk, mounted
from tests.journal.rig import (
    NAME,
    NIGHT_US,
    Rig,
    Step,
    append,
    identity,
    recover,
    rig_in,
    session_steps,
    setup_at,
    throws,
)

LIMITS = Limits(rows_between_checkpoints=10, wal_pages=6, max_per_commit=4)
THROWS = 12
MAX_ANSWER = 30
MAX_OPERATIONS = 250


class Handed(msgspec.Struct, tag="handed"):
    """The next entry of the queue: outcome numbers and digests, and the state afterwards."""

    outcomes: list[tuple[int, str]]
    state: State
    first: NextNumbers


class Durable(msgspec.Struct, tag="told"):
    """An outcome that the journal reported durable to the player."""

    seq: int
    link: str


_decode = msgspec.json.Decoder(Handed | Durable).decode


class DeadlyDisk(Disk):
    """Kills its process after a number of operations: in the middle of a write, or just before a sync."""

    def __init__(self, operations: int) -> None:
        self.left = operations

    def before_write(self, name: str) -> None:  # noqa: ARG002 any file
        self._count()

    def before_sync(self, name: str) -> None:  # noqa: ARG002 any file
        self._count()

    def wrote(self, name: str, offset: int, data: bytes) -> None:  # noqa: ARG002 any file
        self._count()

    def _count(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def play(folder: Path, pipe: int, seed: int, operations: int) -> None:
    """Play on the journal in this folder until killed, or for `THROWS` throws."""
    disk = DeadlyDisk(operations)
    key = load_key(folder / "key")
    with mounted(disk) as vfs:
        journal = Journal.open(
            Rig(folder, key).place,
            key,
            table=NAME,
            wall=lambda: WallTime(NIGHT_US, synced=False),
            on_durable=lambda ticket: _report_durable(pipe, ticket),
            alarm=_no_alarm,
            limits=LIMITS,
            vfs=vfs,
        )
        recovered = journal.recovered
        locked = msgspec.structs.replace(recovered.state, lock="locked")
        resumed = resume(CRAPS, locked, recovered.first, recovered.in_flight, ())
        owed, first = opening_outcomes(resumed, setup_at(resumed.first, resumed.state, recovered.session), 0)
        journal.start(identity(setup_at(first, recovered.state, recovered.session)))
        chance = random.Random(seed)
        played = session_steps(
            Session(setup_at(first, recovered.state, recovered.session)),
            throws(THROWS, 1_000_000 + chance.randrange(1_000_000)),
        )
        for step in [Step(tuple(owed), recovered.state, first), *played]:
            outcomes = [(o.seq, sha256(canonical(o)).hexdigest()) for o in step.outcomes]
            _report(pipe, Handed(outcomes, step.state, step.first))
            ticket = append(journal, step)
            if chance.random() < 0.5:
                ticket.wait()
        journal.close()


def kill_once(folder: Path, chance: random.Random) -> str:
    """Start a player, kill it, and return a description of its end.

    Raises:
        AssertionError: The journal broke a guarantee.
    """
    inside = chance.random() < 0.5
    operations = chance.randrange(1, MAX_OPERATIONS) if inside else 0
    most_told = MAX_ANSWER if inside else chance.randrange(MAX_ANSWER)
    seed = chance.randrange(2**32)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            play(folder, writing, seed, operations)
        except BaseException:  # noqa: BLE001 a forked process must not continue as its parent
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    handed, durable = _listen(reading, pid, most_told)
    _, status = os.waitpid(pid, 0)
    _check(folder, handed, durable)
    if status == 0:
        return "ended"
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    return "killed inside a write" if inside and len(durable) < most_told else "killed from outside"


def _listen(pipe: int, pid: int, most_told: int) -> tuple[list[Handed], list[Durable]]:
    handed: list[Handed] = []
    durable: list[Durable] = []
    with os.fdopen(pipe, "rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                break
            match _decode(line):
                case Handed() as step:
                    handed.append(step)
                case Durable() as outcome:
                    durable.append(outcome)
            if len(durable) >= most_told:
                os.kill(pid, signal.SIGKILL)
    return handed, durable


def _check(folder: Path, handed: list[Handed], durable: list[Durable]) -> None:
    rig = Rig(folder, load_key(folder / "key"))
    try:
        recovered = recover(rig.place, rig.key.public, NAME)
    except JournalFault as fault:
        if fault.code != "journal_absent" or durable:
            raise
        return
    with Reader(rig.place.journal) as reader:
        reader.verify_all()
        rows = {row.seq: row for row in reader.rows() if row.seq is not None}
        waiting = [row.seq for row in reader.outbox(1_000_000)]
    assert waiting == list(rows) == list(range(1, len(rows) + 1)), "a number is missing"
    assert recovered.first.seq == len(rows) + 1
    for outcome in durable:
        assert rows[outcome.seq].link.hex() == outcome.link, f"published outcome {outcome.seq} is missing"
    written = [outcome for step in handed for outcome in step.outcomes]
    kept = [(seq, sha256(row.body or b"").hexdigest()) for seq, row in rows.items()]
    kept = [one for one in kept if written and one[0] >= written[0][0]]
    assert kept == written[: len(kept)], "the rows are not a prefix of what was written"
    last = next((step for step in reversed(handed) if step.outcomes and step.outcomes[-1][0] in rows), None)
    if last is not None:
        assert recovered.state == last.state
        assert recovered.first == last.first


def _report(pipe: int, line: Handed | Durable) -> None:
    os.write(pipe, msgspec.json.encode(line) + b"\n")


def _report_durable(pipe: int, ticket: Ticket) -> None:
    for row in ticket.outcomes:
        _report(pipe, Durable(row.seq or 0, row.link.hex()))


def _no_alarm(fault: JournalFault | None) -> None:
    if fault is not None:
        os.kill(os.getpid(), signal.SIGABRT)


def main() -> int:
    """Kill the player this many times, and print how the runs ended."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        rig_in(Path(folder))
        while ends.total() - ends["ended"] < arguments.kills:
            ends[kill_once(Path(folder), chance)] += 1
    sys.stdout.write(f"SQLite {apsw.sqlite_lib_version()}: {dict(ends)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
