"""Disturbed lines of a wheel and a panel: a line in use, a chip removed, bursts of edges."""

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import gpiod
import msgspec
from gpiod.line import Direction

from tests.lab.guest.chips import PI_4, Chip
from tests.lab.guest.table import Table, Watch, open_files, rule_pending, status
from tests.lab.guest.waiting import must, now_us, until, wait_until
from tests.lab.guest.wheel import (
    BEAMS,
    LAMPS,
    Edge,
    begin_table,
    differences,
    open_for_play,
    outcomes_of,
    play,
    play_one,
    simulate_spins,
    table_file,
    wheel_chip,
)

OTHER = "another-program"
BURST_AT_US = 3_000_000
"""Delay of a burst after the launch, when the ball is running."""
STOP_US = 20_000
"""Duration of the reader's stop before and after a burst."""


class Troubled(msgspec.Struct, frozen=True, kw_only=True):
    """The devices' reports while their lines were disturbed, and the play afterwards."""

    troubles: dict[str, str] = {}
    """Each device's report while it was down."""
    others_up: bool = True
    """Whether the other devices were up during that time."""
    down_after_us: int = 0
    up_after_us: int = 0
    words: list[str] = []
    """The first outcome of each disturbed spin."""
    wrong: list[str] = []
    """Outcomes that are neither correct nor a review."""
    after: list[str] = []
    """The errors in the outcomes of later spins."""
    faults: list[str] = []
    """The faults that began; after a burst, the devices' reports."""
    late: int = 0
    open_files: tuple[int, int] = (0, 0)
    exit_code: int = 0


def _devices() -> dict[str, tuple[bool, str]]:
    return {name: (one["up"], str(one["says"])) for name, one in status()["devices"].items()}


def _all_up() -> bool:
    return all(up for up, _ in _devices().values())


def _down() -> dict[str, str]:
    return {name: says for name, (up, says) in _devices().items() if not up}


def held(device: str) -> Troubled:
    """Start the controller while another program holds a line of this device; then release the line."""
    Path("/run/table").mkdir(exist_ok=True)
    line = BEAMS[1] if device == "wheel" else LAMPS["lock"]
    chip, table = wheel_chip(), Table(table_file())
    with ExitStack() as holding:
        settings = gpiod.LineSettings(direction=Direction.INPUT)
        holding.enter_context(
            gpiod.request_lines(f"/dev/{chip.name}", consumer=OTHER, config={line: settings})
        )
        table.start()
        must(f"{device} reports the program that holds its line", lambda: OTHER in _down().get(device, ""))
        troubles = _down()
    up_us = must("all devices are up", _all_up)
    watch = Watch("outcomes", "faults")
    open_for_play(chip)
    after = [play_one(chip, "valid", 31, watch)]
    return Troubled(troubles=troubles, up_after_us=up_us, after=after, exit_code=table.stop())


def chip_goes(seed: int) -> Troubled:
    """Unbind the chip during a spin, bind it again, and continue to play."""
    chip, table = begin_table()
    watch, files = Watch("outcomes", "faults"), open_files(table.pid)
    scenes, edges = simulate_spins(["valid"], seed, now_us() + 1_000_000)
    cut_us = scenes[0].start_us + BURST_AT_US
    play(chip, [edge for edge in edges if edge.t_us < cut_us])
    wait_until(cut_us)
    chip.go()
    down_us = must("wheel and console are down", lambda: len(_down()) == 2, every_s=0.01)
    troubles = _down()
    chip.come()
    up_us = must("both are up again", _all_up, every_s=0.01)
    wait_until(scenes[0].end_us + 1_000_000)
    until(lambda: bool(outcomes_of(scenes[0], None, watch.outcomes)))
    words = [one["type"] for one in outcomes_of(scenes[0], None, watch.outcomes)[:1]]
    faults = [f"{code} {where}" for code, where in watch.faults_begun()]
    rule_pending()
    after = [play_one(chip, kind, seed + n, watch) for n, kind in enumerate(("valid", "short_spin"), 1)]
    return Troubled(
        troubles=troubles,
        down_after_us=down_us,
        up_after_us=up_us,
        words=words,
        after=after,
        faults=faults,
        open_files=(files, open_files(table.pid)),
        exit_code=table.stop(),
    )


def labels() -> list[Troubled]:
    """Start with two chips that have the same label, and then with none; each time, restore a single chip."""
    Path("/run/table").mkdir(exist_ok=True)
    chip, twin = wheel_chip(), Chip("twin", PI_4, 8)
    found = []
    for take_away, right in ((None, twin.go), (chip.go, chip.come)):
        if take_away:
            take_away()
        table = Table(table_file())
        table.start()
        must(
            "both report their findings",
            lambda: ["label" in says for says in _down().values()] == [True] * 2,
        )
        troubles = _down()
        right()
        up_us = must("all devices are up", _all_up)
        watch = Watch("outcomes")
        open_for_play(chip)
        after = [play_one(chip, "valid", 41, watch)]
        found.append(Troubled(troubles=troubles, up_after_us=up_us, after=after, exit_code=table.stop()))
    return found


def burst(edges: int, apart_us: int, seed: int) -> Troubled:
    """Stop the controller during a spin, change a beam's line this often, and resume the controller."""
    chip, table = begin_table()
    watch = Watch("outcomes", "faults")
    scenes, seen = simulate_spins(["valid"], seed, now_us() + 1_000_000)
    from_us = scenes[0].start_us + BURST_AT_US
    to_us = from_us + edges * apart_us
    noise = [Edge(from_us + n * apart_us, BEAMS[1], n % 2 == 0) for n in range(edges)]
    others = [e for e in seen if e.line != BEAMS[1] or not from_us - STOP_US <= e.t_us <= to_us + STOP_US]
    acts = [
        (from_us - STOP_US, lambda: os.kill(table.pid, signal.SIGSTOP)),
        (to_us + STOP_US, lambda: os.kill(table.pid, signal.SIGCONT)),
    ]
    pulls = play(chip, sorted(others + noise), acts)
    until(lambda: bool(outcomes_of(scenes[0], None, watch.outcomes)))
    different, _ = differences(scenes, watch.outcomes, pulls)
    words = [one["type"] for one in outcomes_of(scenes[0], None, watch.outcomes)[:1]]
    faults = [str(one.what["data"]) for one in watch.outcomes if one.what["type"] == "device.fault"]
    rule_pending()
    after = [play_one(chip, "valid", seed + 1, watch)]
    return Troubled(
        wrong=[] if words == ["spin.review"] else different,
        words=words,
        after=after,
        faults=sorted(set(faults)),
        late=max(late_us for _, late_us in pulls),
        exit_code=table.stop(),
    )


def stuck() -> Troubled:
    """Block a beam for longer than any ball would; then clear it."""
    chip, table = begin_table()
    watch = Watch("outcomes")

    def faults() -> list[str]:
        return [str(one.what["data"]) for one in watch.outcomes if one.what["type"] == "device.fault"]

    chip.pull(BEAMS[2], high=False)
    must("the beam is reported as stuck", lambda: any("stuck" in fault for fault in faults()))
    troubles = {"wheel": _devices()["wheel"][1]}
    chip.pull(BEAMS[2], high=True)
    up_us = must("the wheel has recovered", lambda: "stuck" not in _devices()["wheel"][1])
    after = [play_one(chip, "valid", 61, watch)]
    return Troubled(
        troubles=troubles, up_after_us=up_us, after=after, faults=faults(), exit_code=table.stop()
    )
