"""Throws sensed by four boards behind real USB serial ports, and disturbances of their cables."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from drivers.sim import dice
from drivers.sim.boards import Board, Peer
from drivers.sim.scenes import Feed, Scene
from tests.lab.guest.cables import Cable, Gadget, names
from tests.lab.guest.judging import judged, outcomes_on
from tests.lab.guest.table import (
    SAMPLES,
    Table,
    Watch,
    open_files,
    rule_pending,
    serial_ports,
    status,
    unlocked,
)
from tests.lab.guest.waiting import must, now_us, until, wait_until

READS = {
    "cam": ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"),
    "wall-left": ("wall_impact",),
    "wall-right": ("wall_impact",),
    "console": ("input", "switch"),
}
BETWEEN_US = 2_500_000
LEAD_US = 1_500_000


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The outcomes of throws while the boards were disturbed; times in us."""

    throws: int
    words: list[str]
    wrong: list[str]
    """Calls that the truth does not allow, or with wrong dice."""
    needless: list[str]
    """Voids and missing outcomes that contradict the truth."""
    faults: list[str]
    down_after_us: list[int] = []
    up_after_us: list[int] = []
    all_up: bool = True
    open_files: tuple[int, int] = (0, 0)
    """The controller's open descriptors before and after."""
    exit_code: int = 0


def craps_boards() -> dict[str, Peer]:
    """Create the sample's four boards, in the order of their serial numbers."""
    rng = random.Random(1)
    return {name: Board(name, reads, random.Random(rng.random())) for name, reads in READS.items()}


class Boards:
    """Boards on their cables, the controller that reads them, and a watcher.

    The serial number of the n-th board is n, counted from 1, as in the samples.
    """

    def __init__(self, peers: Mapping[str, Peer] | None = None, text: str | None = None) -> None:
        peers = craps_boards() if peers is None else peers
        self.cables = {
            name: Cable(Gadget(n, f"000{n + 1}"), peer) for n, (name, peer) in enumerate(peers.items())
        }
        must("all ports have their names", lambda: len(names()) == len(peers))
        text = (SAMPLES / "craps.yaml").read_text() if text is None else text
        self.table = Table(text + "\npublish: {to: socket}\n")
        self.table.start()
        self.watch = Watch("outcomes", "faults")
        must("the table is unlocked", unlocked)
        self.open_files = open_files(self.table.pid)

    def is_up(self, *devices: str) -> bool:
        """Return whether these devices are up; all devices if none is named."""
        found = status()["devices"]
        return all(found[name]["up"] for name in devices or found)

    def sense(self, feed: Feed) -> None:
        """Pass to each board's sensors the readings that this board reports."""
        for at_us, reading in feed:
            if reading.dev in self.cables:
                self.cables[reading.dev].sense(at_us, reading)

    def throw(self, kinds: Sequence[str], seed: int) -> list[Scene]:
        """Pass throws of these kinds to the boards' sensors, starting soon."""
        rng, scenes, t_us = random.Random(seed), [], now_us() + LEAD_US
        for kind in kinds:
            scene, feed = dice.throw(kind, rng, t_us)
            scenes.append(scene)
            self.sense(feed)
            t_us = scene.end_us + BETWEEN_US
        return scenes

    def found(self, scenes: Sequence[Scene], since: int = 0, **more: Any) -> Found:
        """Wait for the end of the last throw and return the results of all."""
        wait_until(scenes[-1].end_us + 1_000_000)
        until(lambda: bool(outcomes_on(scenes[-1], None, self.watch.outcomes)))
        words, wrong, needless = judged(scenes, self.watch.outcomes)
        faults = [f"{code} {where}" for code, where in self.watch.faults_begun(since)]
        counts = (self.open_files, open_files(self.table.pid))
        return Found(
            throws=len(scenes),
            words=words,
            wrong=wrong,
            needless=needless,
            faults=sorted(set(faults)),
            open_files=counts,
            **more,
        )

    def recover(self) -> None:
        """Wait until every board is up, and rule on the attempt that is waiting for a person."""
        until(self.is_up)
        rule_pending()


def plain(seed: int, kinds: Sequence[str]) -> Found:
    """Throw without any disturbance."""
    boards = Boards()
    found = boards.found(boards.throw(kinds, seed))
    return msgspec.structs.replace(found, exit_code=boards.table.stop())


def unplugged(devices: Sequence[str], seed: int) -> list[Found]:
    """Pull each of these boards' cables during a throw, and plug it in again after the throw."""
    boards, all_found = Boards(), []
    for device in devices:
        since, cable = len(boards.watch.faults), boards.cables[device]
        scenes = boards.throw(["valid", "valid"], seed)
        wait_until(scenes[0].start_us + 400_000)
        cable.unplug()
        down_us = must(f"{device} is down", lambda: not boards.is_up(device), every_s=0.01)  # noqa: B023
        wait_until(scenes[0].end_us + 500_000)
        cable.plug()
        up_us = must(f"{device} is up", lambda: boards.is_up(device), every_s=0.01)  # noqa: B023
        all_found.append(boards.found(scenes, since, down_after_us=[down_us], up_after_us=[up_us]))
        boards.recover()
    boards.table.stop()
    return all_found


def renumbered(seed: int) -> tuple[Found, dict[str, tuple[str, str]]]:
    """Plug two boards in again in reverse order, so that their ports exchange their numbers."""
    boards = Boards()
    before = names()
    low, high = sorted(("cam", "wall-left"), key=lambda device: before[boards.cables[device].by_id])
    for device in (low, high):
        boards.cables[device].unplug()
    left = set(before) - {boards.cables[device].by_id for device in (low, high)}
    must("both names are gone", lambda: set(names()) == left)
    must("both are down", lambda: not boards.is_up("cam") and not boards.is_up("wall-left"))
    must("their numbers are free", lambda: len(serial_ports(boards.table.pid)) == len(left))
    for device in (high, low):
        boards.cables[device].plug()
        must("its name is back", lambda: boards.cables[device].by_id in names())  # noqa: B023
    must("all are up", boards.is_up)
    after = names()
    boards.recover()
    found = boards.found(boards.throw(["valid", "valid"], seed), all_up=boards.is_up())
    boards.table.stop()
    return found, {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def swapped(seed: int) -> tuple[Found, dict[str, str]]:
    """Swap the boards of the two walls; return the throws during that time, and the devices' reports."""
    boards = Boards()
    left, right = boards.cables["wall-left"], boards.cables["wall-right"]
    for cable in (left, right):
        cable.unplug()
    left.gadget.name("0003")
    right.gadget.name("0002")
    for cable in (left, right):
        cable.plug()
    must("four ports have their names", lambda: len(names()) == len(READS))
    troubled = lambda: all(  # noqa: E731
        status()["devices"][name]["trouble"] for name in ("wall-left", "wall-right")
    )
    until(troubled)
    troubles = {name: str(one["trouble"]) for name, one in status()["devices"].items() if one["trouble"]}
    found = boards.found(boards.throw(["valid"], seed))
    boards.table.stop()
    return found, troubles


def garbage(device: str, seed: int, size: int) -> Found:
    """Put random bytes on a board's wire during a throw."""
    return _disturbed(device, seed, lambda cable: cable.say(random.Random(seed).randbytes(size)))


def silent(device: str, seed: int) -> Found:
    """Hang a board during a throw. Its cable is intact, but it sends no more data."""
    boards = Boards()
    scenes = boards.throw(["valid", "valid"], seed)
    wait_until(scenes[0].start_us + 300_000)
    boards.cables[device].board.hung = True
    down_us = must(f"{device} is down", lambda: not boards.is_up(device), every_s=0.01)
    wait_until(scenes[0].end_us + 1_000_000)
    boards.cables[device].board.hung = False
    up_us = must(f"{device} is up", lambda: boards.is_up(device), every_s=0.01)
    found = boards.found(scenes, down_after_us=[down_us], up_after_us=[up_us])
    boards.table.stop()
    return found


def bus_reset(times: int, seed: int) -> Found:
    """Repeatedly remove all boards together and plug them in again in any order; then throw."""
    boards, ups = Boards(), []
    for n in range(times):
        for cable in boards.cables.values():
            cable.unplug()
        must("a board is down", lambda: not boards.is_up())
        back = list(boards.cables.values())
        random.Random(n).shuffle(back)
        for cable in back:
            cable.plug()
        ups.append(must("all are up", boards.is_up, every_s=0.01))
    boards.recover()
    found = boards.found(boards.throw(["valid"] * 3, seed), up_after_us=ups)
    return msgspec.structs.replace(found, exit_code=boards.table.stop())


def _disturbed(device: str, seed: int, disturb: Callable[[Cable], None]) -> Found:
    boards = Boards()
    scenes = boards.throw(["valid", "valid"], seed)
    wait_until(scenes[0].start_us + 300_000)
    disturb(boards.cables[device])
    found = boards.found(scenes)
    boards.recover()
    after = boards.found(boards.throw(["valid"], seed + 1))
    boards.table.stop()
    return msgspec.structs.replace(
        found,
        throws=found.throws + after.throws,
        words=found.words + after.words,
        wrong=found.wrong + after.wrong,
        needless=found.needless + after.needless,
    )
