"""A smart wheel, a shoe and a camera script behind real USB serial ports, played and unplugged."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from controller.model.geometry import STANDARD_POCKETS
from controller.model.readings import Card
from drivers.sim import ss2_wheel, three_card
from drivers.sim.boards import Board, Script, VirtualShoe
from drivers.sim.scenes import Feed, Scene
from drivers.sim.ss2_wheel import Ss2Wheel
from tests.lab.guest.table import SAMPLES, rule_pending
from tests.lab.guest.throws import LEAD_US, Boards, Found, craps_boards
from tests.lab.guest.waiting import must, now_us, wait_until

CONSOLE = ("input", "switch")
FIRST, SECOND = "/dev/serial/by-id/usb-Table_Board_0001-if00", "/dev/serial/by-id/usb-Table_Board_0002-if00"
BY_PATH = "/dev/serial/by-path/platform-xhci-hcd.1-usb-0:{}:1.0-port0"
IN_PLAY_US = 3_000_000
"""Time from the ball's launch to the pull of the cable, before the wheel reports a number."""
IN_THROW_US = 400_000
CARDS_SEEN = 3
"""Number of cards that have left the shoe when its cable is pulled."""


def _shifted(by_us: int, scenes: Sequence[Scene], feed: Feed) -> tuple[list[Scene], Feed]:
    later = [
        msgspec.structs.replace(one, start_us=one.start_us + by_us, end_us=one.end_us + by_us)
        for one in scenes
    ]
    return later, [(at + by_us, msgspec.structs.replace(seen, t=seen.t + by_us)) for at, seen in feed]


class SmartWheelTable(Boards):
    """The sample's smart wheel, with the settings of the simulated one."""

    def __init__(self) -> None:
        text = (SAMPLES / "roulette-ss2.yaml").read_text()
        text = text.replace(BY_PATH.format(1), SECOND).replace(", r: [28000, 32000]", "")
        text = text.replace("approved_mode: 1157", f"approved_mode: {int(ss2_wheel.MODE)}")
        self.wheel = Ss2Wheel("wheel", random.Random(1))
        super().__init__({"console": Board("console", CONSOLE, random.Random(2)), "wheel": self.wheel}, text)

    def games(self, kinds: Sequence[str], seed: int) -> list[Scene]:
        all_scenes: list[Scene] = []
        from_us = now_us() + LEAD_US
        for n, kind in enumerate(kinds):
            pockets = STANDARD_POCKETS["american"]
            changes, feed, scenes = ss2_wheel.simulate(seed + n, pockets, {kind: 1.0}, 1)
            scenes, feed = _shifted(from_us, scenes, feed)
            later = [replace(change, at_us=change.at_us + from_us) for change in changes]
            self.cables["wheel"].play(lambda: self.wheel.play(later))  # noqa: B023 - called immediately
            self.sense(feed)
            all_scenes += scenes
            from_us = scenes[-1].end_us + 1_000_000
        return all_scenes


def smart_wheel(kinds: Sequence[str], seed: int) -> Found:
    """Play these kinds of games."""
    table = SmartWheelTable()
    return _ended(table, table.found(table.games(kinds, seed)))


def smart_wheel_unplugged(seed: int) -> list[Found]:
    """Pull the wheel's cable while its ball runs and plug it in after the number; then play another game."""
    table = SmartWheelTable()
    scenes = table.games(["valid"], seed)
    return _pulled(
        table, "wheel", scenes, scenes[0].start_us + IN_PLAY_US, lambda: table.games(["valid"], seed + 1)
    )


class ShoeTable(Boards):
    """The sample's shoe."""

    def __init__(self) -> None:
        text = (SAMPLES / "three-card.yaml").read_text().replace(BY_PATH.format(2), SECOND)
        text = text.replace(
            "    lid_open:", "    unread: [NR]\n    alive: [OK]\n    silent_s: 3.0\n    lid_open:"
        )
        console = Board("console", CONSOLE, random.Random(2))
        super().__init__({"console": console, "shoe": VirtualShoe("shoe")}, text)
        self.card_us = 0
        """The time at which the card after CARDS_SEEN leaves the shoe."""

    def deals(self, count: int, seed: int, *, after_fault: bool = False) -> list[Scene]:
        """Start a simulated deal soon."""
        feed, scenes = three_card.deals(seed, {"plain": 1.0}, count, after_fault=after_fault)
        scenes, feed = _shifted(now_us() + LEAD_US, scenes, feed)
        self.card_us = [seen.t for _, seen in feed if isinstance(seen, Card)][CARDS_SEEN]
        self.sense(feed)
        return scenes[1:] if after_fault else scenes


def shoe(count: int, seed: int) -> Found:
    """Deal this many times."""
    table = ShoeTable()
    return _ended(table, table.found(table.deals(count, seed)))


def shoe_unplugged(seed: int) -> list[Found]:
    """Pull the shoe's cable during a deal and plug it in afterwards; then clear up and deal again."""
    table = ShoeTable()
    scenes = table.deals(1, seed)
    return _pulled(
        table, "shoe", scenes, table.card_us - 1_000, lambda: table.deals(1, seed + 1, after_fault=True)
    )


class ScriptTable(Boards):
    """The sample's craps table with a camera script instead of its camera board."""

    def __init__(self) -> None:
        text = (SAMPLES / "craps.yaml").read_text()
        board = f"    type: node\n    node: cam\n    port: {FIRST}\n"
        assert board in text
        text = text.replace(board, f"    type: json-camera\n    clock: own\n    port: {FIRST}\n")
        super().__init__({**craps_boards(), "cam": Script("cam", random.Random(3), stamps=True)}, text)


def script(kinds: Sequence[str], seed: int) -> Found:
    """Make throws of these kinds."""
    table = ScriptTable()
    return _ended(table, table.found(table.throw(kinds, seed)))


def script_unplugged(seed: int) -> list[Found]:
    """Pull the camera's cable during a throw and plug it in afterwards; then throw again."""
    table = ScriptTable()
    scenes = table.throw(["valid"], seed)
    return _pulled(
        table, "cam", scenes, scenes[0].start_us + IN_THROW_US, lambda: table.throw(["valid"], seed + 1)
    )


def _pulled(
    table: Boards, device: str, scenes: list[Scene], at_us: int, again: Callable[[], list[Scene]]
) -> list[Found]:
    """Pull a device's cable in the last scene; return the results of this scene and of another one."""
    wait_until(at_us)
    cable = table.cables[device]
    cable.unplug()
    down_us = must(f"{device} is down", lambda: not table.is_up(device), every_s=0.01)
    wait_until(scenes[-1].end_us + 500_000)
    cable.plug()
    up_us = must(f"{device} is up", lambda: table.is_up(device), every_s=0.01)
    broken = table.found(scenes, down_after_us=[down_us], up_after_us=[up_us])
    rule_pending()
    since = len(table.watch.faults)
    return [broken, _ended(table, table.found(again(), since))]


def _ended(table: Boards, found: Found) -> Found:
    return msgspec.structs.replace(found, exit_code=table.table.stop())
