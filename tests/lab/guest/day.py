"""A day at a wheel in virtual time, and the memory, files and descriptors used."""

import os
import random
from pathlib import Path

import msgspec

from tests.lab.guest.table import JOURNAL, Table, Watch, ask, open_files, rule_pending, unlocked
from tests.lab.guest.waiting import now_us, until, wait_until
from tests.lab.guest.wheel import begin_table, differences, outcomes_of, play, simulate_spins

HOUR_US = 3_600_000_000
KINDS = ("valid", "valid", "valid", "hop", "short_spin", "dealer_no_spin", "glitchy")
HOURS = Path("/lab/out/hours.jsonl")
"""A file that receives each hour's figures at the end of the hour."""


class Hour(msgspec.Struct, frozen=True):
    """The controller's figures at the end of an hour."""

    resident_kib: int
    """All resident memory, including pages of files, which the kernel reclaims when it needs memory."""
    own_kib: int
    """The process's private memory, which increases only if the controller keeps more data."""
    descriptors: int
    threads: int
    files: int
    """The size of the folder with the journal and the recordings."""
    kib: int


class Day(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a day."""

    spins: int
    different: list[str]
    hours: list[Hour]
    exit_code: int


def play_day(hours: int, spins_an_hour: int, seed: int) -> Day:
    """Play this many spins in each hour, settle their outcomes, and record the controller's figures."""
    chip, table = begin_table()
    watch, rng = Watch("outcomes"), random.Random(seed)
    begin_us, found, different = now_us(), [], []
    for hour in range(hours):
        for n in range(spins_an_hour):
            at_us = begin_us + hour * HOUR_US + n * HOUR_US // spins_an_hour
            scenes, edges = simulate_spins(
                [rng.choice(KINDS)], rng.randrange(1 << 30), max(at_us, now_us() + 500_000)
            )
            pulls = play(chip, edges)
            until(lambda: bool(outcomes_of(scenes[0], None, watch.outcomes)))  # noqa: B023 - called immediately
            wrong, _ = differences(scenes, watch.outcomes, pulls)
            different += wrong
            watch.outcomes.clear()
            rule_pending()
            _settle()
        wait_until(begin_us + (hour + 1) * HOUR_US)
        found.append(_now(table))
        with HOURS.open("ab") as lines:
            lines.write(msgspec.json.encode(found[-1]) + b"\n")
    assert unlocked()
    return Day(spins=hours * spins_an_hour, different=different, hours=found, exit_code=table.stop())


def _settle() -> None:
    while box := ask(do="outbox", limit=20, after=0).get("outbox"):
        for one in box:
            ask(do="settled", id=one.get("outcome", one)["id"], chain=one["chain"])


def _now(table: Table) -> Hour:
    files = [path for path in JOURNAL.rglob("*") if path.is_file()]
    status = dict(line.split(":", 1) for line in Path(f"/proc/{table.pid}/status").read_text().splitlines())
    return Hour(
        resident_kib=_kib(status["VmRSS"]),
        own_kib=_kib(status["RssAnon"]),
        descriptors=open_files(table.pid),
        threads=len(os.listdir(f"/proc/{table.pid}/task")),
        files=len(files),
        kib=sum(path.stat().st_size for path in files) // 1024,
    )


def _kib(size: str) -> int:
    number, unit = size.split()
    assert unit == "kB"
    return int(number)
