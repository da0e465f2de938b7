"""Cuts the power of a table in play repeatedly, and compares its disk with its published outcomes."""

import fcntl
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from tests.lab import games
from tests.lab.guest import cut_table
from tests.lab.kept import Kept, differences, read_disk, state_differences
from tests.lab.machine import Machine, empty_disk

LIVES = 10
"""Number of cuts after which the table is replaced by another game's table on new disks."""
DISK_MIB = 64
EARLY = 0.15
"""Fraction of the cuts that are made during a start."""
EARLY_S = (0.5, 6.0)
MEAN_S = 1.2
"""Mean time from the first published outcome to the cut, in seconds."""
HUNG_S = 300
MOMENTS = {
    "in the opening": 1,
    "before a commit": 60,
    "in a commit": 60,
    "between commit and tell": 60,
    "between tell and head": 60,
    "behind a checkpoint": 6,
    "in a write-back": 6,
    "in a pruning": 3,
    "in a rotation": 1,
}
"""The journal's most critical moments, each with a number. The cut is made at a random occurrence of the
moment, up to this number."""
IN_UPGRADE = "upgrade: "
"""Prefix of the names of moments in an upgrade."""
ENOUGH = 30
"""Minimum number of cuts for the rule of three."""


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """One cut in the ledger: the number of outcomes published in that run, and the errors found."""

    release: str
    game: str
    told: int
    acknowledged: int
    in_flight: int
    began: bool
    """Whether the table had started before the cut."""
    bad: list[str]
    moment: str = ""
    """The moment of the journal or of an upgrade at the cut; empty for a random time."""


class Ledger:
    """The cuts of all runs, one per line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, cut: Cut) -> None:
        with self._path.open("ab") as ledger:
            fcntl.flock(ledger, fcntl.LOCK_EX)
            ledger.write(msgspec.json.encode(cut) + b"\n")

    def cuts(self) -> list[Cut]:
        lines = self._path.read_bytes().splitlines() if self._path.exists() else []
        return [msgspec.json.decode(line, type=Cut) for line in lines]


def in_words(cuts: list[Cut]) -> str:
    """Return a summary of these cuts.

    If none of n cuts loses data, the probability of a loss is below 3/n at 95 % confidence.
    """
    held = sum(not cut.bad for cut in cuts)
    published, closed = sum(cut.told for cut in cuts), sum(cut.acknowledged for cut in cuts)
    upgrades = sum(cut.moment.startswith(IN_UPGRADE) for cut in cuts)
    worst = sum(bool(cut.moment) for cut in cuts) - upgrades
    enough = held == len(cuts) >= ENOUGH
    bound = f"; probability of a loss at most 3/n = {3 / len(cuts):.2%}" if enough else ""
    return (
        f"{held} of {len(cuts)} passed; {sum(not cut.began for cut in cuts)} cuts during a start, "
        f"{sum(bool(cut.in_flight) for cut in cuts)} with an attempt in progress, "
        f"{worst} at a critical moment of the journal, {upgrades} during an upgrade; "
        f"{published} outcomes published, {closed} acknowledged"
        f"{bound}"
    )


@dataclass
class CutTable:
    """One game's table, whose disks are kept from run to run."""

    game: str
    release: str
    folder: Path
    make: Callable[..., Machine]
    chance: random.Random
    told: list[dict[str, Any]] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """The link of each outcome's row, by the outcome's id."""
    kept: Kept = field(default_factory=Kept)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._disks = [empty_disk(self.folder / name, DISK_MIB) for name in ("data.img", "head.img")]

    def run_with_cuts(self, moments: Sequence[str]) -> Iterator[Cut]:
        """Run the table and cut its power at each of these moments; an empty name is a random time."""
        for moment in moments:
            yield self._live_and_be_cut(moment)

    def _live_and_be_cut(self, moment: str) -> Cut:
        machine = self.make(disks=self._disks, tells=True)
        games.lay_out(self.game, machine.folder)
        nth = self.chance.randint(1, MOMENTS.get(moment, 1))
        machine.start(cut_table.play, self.chance.randrange(10**6), moment, nth)
        words = self._listen_for(moment, machine) if moment else self._listen(machine)
        before = self.kept
        published = [one["what"] for one in words if one["kind"] == "told"]
        closed = {one["what"]["id"]: one["what"]["chain"] for one in words if one["kind"] == "acknowledged"}
        self.told += published
        self.acknowledged |= closed
        self.kept = read_disk(self._disks[0], self.folder / "looked-at")
        bad = differences(self.kept, self.told, self.acknowledged, before)
        for one in words:
            if one["kind"] == "start":
                bad += state_differences(before, self.kept, one["what"]["board"])
            elif one["kind"] == "locked":
                bad.append(f"could not be unlocked: {one['what']}")
        return Cut(
            release=self.release,
            game=self.game,
            told=len(published),
            acknowledged=len(closed),
            in_flight=len(self.kept.in_flight()),
            began=any(one["kind"] == "start" for one in words),
            bad=bad,
            moment=moment,
        )

    def _listen_for(self, moment: str, machine: Machine) -> list[dict[str, Any]]:
        """Read the guest's messages until the moment comes, and cut the power immediately."""
        words: list[dict[str, Any]] = []
        began = time.monotonic()
        while not any(one["kind"] == "moment" for one in words):
            assert machine.runs, f"the guest ended early:\n{machine.console()}"
            assert time.monotonic() < began + HUNG_S, f"{moment}: did not come within {HUNG_S} s"
            words += [json.loads(line) for line in machine.heard(1.0)]
        machine.cut()
        words += [json.loads(line) for line in machine.last_words()]
        return words

    def _listen(self, machine: Machine) -> list[dict[str, Any]]:
        """Read the guest's messages until a random time, and cut the power."""
        words: list[dict[str, Any]] = []
        began = time.monotonic()
        moment = began + self.chance.uniform(*EARLY_S) if self.chance.random() < EARLY else None
        while moment is None or time.monotonic() < moment:
            left = 1.0 if moment is None else max(0.0, moment - time.monotonic())
            words += [json.loads(line) for line in machine.heard(min(left, 1.0))]
            kinds = {one["kind"] for one in words}
            assert machine.runs, f"the guest ended early:\n{machine.console()}"
            if moment is None and {"told", "unlocked"} <= kinds:
                moment = time.monotonic() + self.chance.expovariate(1 / MEAN_S)
            elif moment is None and ("locked" in kinds or time.monotonic() > began + HUNG_S):
                break
        machine.cut()
        words += [json.loads(line) for line in machine.last_words()]
        return words
