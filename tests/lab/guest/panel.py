"""A panel on real lines: lamps compared with the table's state, door, key and buttons."""

import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from tests.lab.guest.chips import Chip
from tests.lab.guest.table import Table, Watch, rule_pending, say, status, unlocked
from tests.lab.guest.waiting import must, now_us, until, wait_until
from tests.lab.guest.wheel import (
    DOOR,
    LAMPS,
    open_for_play,
    outcomes_of,
    play,
    simulate_spins,
    table_file,
    wheel_chip,
)

KEY = 18
LOOK_S = 0.02
SHORT_US = 1_000_000


class Lit(msgspec.Struct, frozen=True):
    """A period in which a lamp was lit, in us of the table's clock. A period without an end lasted until the
    test's end."""

    lamp: str
    from_us: int
    to_us: int | None


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """The states of the lines during the test."""

    locked: dict[str, bool]
    """The lamps after a person's lock, with the door open, and in play."""
    door_open: dict[str, bool]
    in_play: dict[str, bool]
    door_locks: bool
    key: list[bool]
    """The reported states of the key (open or not), from its first reading on."""
    drop_us: int
    spin_us: tuple[int, int]
    """The launch and the end of the spin that was called."""
    words: list[str]
    reasons: list[list[str]]
    lit: list[Lit]
    exit_code: int


class Lamps:
    """Records the lit lamps, read from the lines."""

    def __init__(self, chip: Chip) -> None:
        self.lit: list[Lit] = []
        self._chip = chip
        threading.Thread(target=self._look, daemon=True).start()

    def now(self) -> dict[str, bool]:
        """Return every lamp's level."""
        return {name: self._chip.is_high(line) for name, line in LAMPS.items()}

    def _look(self) -> None:
        since: dict[str, int] = {}
        while True:
            for name, high in self.now().items():
                if high:
                    since.setdefault(name, now_us())
                elif name in since:
                    self.lit.append(Lit(name, since.pop(name), now_us()))
            time.sleep(LOOK_S)


def _with_key() -> str:
    text = table_file()
    door = "      door: {line: 22,"
    key = (
        f"      key: {{line: {KEY}, kind: switch, name: key, open_when: active, pull: up, active_low: true,"
        " debounce_us: 20000}\n"
    )
    assert door in text
    return text.replace(door, key + door).replace("  door: lock\n", "  door: lock\n  key: note\n")


def lamps() -> Panel:
    """Lock and unlock, open and close the door, turn the key, and play a void spin and a called spin."""
    Path("/run/table").mkdir(exist_ok=True)
    chip, table = wheel_chip(), Table(_with_key())
    table.start()
    watch = Watch("outcomes", "readings")
    open_for_play(chip)
    seen = Lamps(chip)
    _settle()
    say("lock")
    _settle()
    locked = seen.now()
    say("unlock")
    _settle()
    in_play = seen.now()
    chip.pull(DOOR, high=True)
    door_locks = until(lambda: not unlocked())
    _settle()
    door_open = seen.now()
    chip.pull(DOOR, high=False)
    must("the door's fault is over", lambda: not status()["faults"])
    rule_pending()
    for high in (False, True):
        chip.hold(KEY, high)
        _settle()
    words, reasons = [], []
    spin_us, drop_us = (0, 0), 0
    for kind in ("dealer_no_spin", "valid"):
        scenes, edges = simulate_spins([kind], 51, now_us() + 1_000_000)
        pulls = play(chip, edges)
        assert pulls
        until(lambda: bool(outcomes_of(scenes[0], None, watch.outcomes)))  # noqa: B023 - called immediately
        published: list[dict[str, Any]] = outcomes_of(scenes[0], None, watch.outcomes)[:1]
        words += [one["type"] for one in published]
        reasons += [[reason["code"] for reason in one["data"].get("reasons", ())] for one in published]
        spin_us = scenes[0].start_us, scenes[0].end_us
        drop_us = scenes[0].truth.drop_us or 0
        wait_until(now_us() + 6_000_000)
    keys = [
        one.what["open"]
        for one in watch.readings
        if one.what["kind"] == "switch" and one.what["name"] == "key"
    ]
    return Panel(
        locked=locked,
        door_open=door_open,
        in_play=in_play,
        door_locks=door_locks,
        key=keys,
        drop_us=drop_us,
        spin_us=spin_us,
        words=words,
        reasons=reasons,
        lit=sorted(seen.lit, key=lambda one: one.from_us),
        exit_code=table.stop(),
    )


def _settle() -> None:
    wait_until(now_us() + SHORT_US)


class Idle(msgspec.Struct, frozen=True):
    """The resources that the controller uses while nobody plays."""

    wakeups_per_s: float
    threads: int
    resident_kib: int


def idle(seconds: int) -> Idle:
    """Count how often the controller's threads wake up."""
    chip = wheel_chip()
    Path("/run/table").mkdir(exist_ok=True)
    table = Table(table_file())
    table.start()
    open_for_play(chip)
    _settle()
    before, began_us = _switches(table.pid), now_us()
    wait_until(began_us + seconds * 1_000_000)
    took_s = (now_us() - began_us) / 1e6
    after = _switches(table.pid)
    memory = Path(f"/proc/{table.pid}/status").read_text().split("VmRSS:")[1].split()[0]
    threads = len(list(Path(f"/proc/{table.pid}/task").iterdir()))
    table.stop()
    return Idle(round((after - before) / took_s, 1), threads, int(memory))


def _switches(pid: int) -> int:
    """Return the number of voluntary context switches of a process's threads."""
    counts = [
        int(task.joinpath("status").read_text().split("\nvoluntary_ctxt_switches:")[1].split()[0])
        for task in Path(f"/proc/{pid}/task").iterdir()
    ]
    return sum(counts)
