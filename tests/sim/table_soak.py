"""Play virtual tables at ten times real time, with a fault every few seconds.

`python -m tests.sim.table_soak [--seconds 180] [--speed 10] [--seed 1]` divides the seconds among the tables
and adds one minute of table time to each. The exit status is 1 if an outcome was false, a fault was not
reported, a device did not come up again, or memory use increased.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from drivers.sim.faults import Schedule
from drivers.sim.scenes import FaultBegan
from tests.sim.fairness import unnamed, wrong_outcomes
from tests.sim.live_table import LiveTable

TABLES = ("craps", "roulette-ss2", "three-card", "craps-v1", "roulette", "high-roller")
EVERY_S = (7.0, 40.0)
"""Mean intervals between faults, in seconds: a short one, and one that leaves whole spins undisturbed."""
SETTLE_US = 60_000_000
"""Time at the end in which all faults end and every device must come up."""
HUNG_S = 60.0
"""Time without progress of the table's clock after which the table counts as hung."""
GROWN_KB = 20_000
_FIRST_US = 12_000_000


def say(line: str) -> None:
    """Print a line and flush it."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def resident_kb() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4


def play(table: str, seed: int, seconds: float, speed: float, every_s: float) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="table-soak-") as folder:
        live = LiveTable(table, Path(folder), speed=speed, seed=seed)
        began_us, began_s = live.clock.now_us(), time.monotonic()
        schedule = Schedule(live.table, seed, every_s=every_s)
        schedule.start(began_us + _FIRST_US)
        wrong: list[str] = []
        live.start()
        try:
            ends_us = began_us + round(seconds * 1e6)
            stands_us, since_s = began_us, began_s
            while live.clock.now_us() < ends_us + SETTLE_US and not wrong:
                time.sleep(0.1)  # the table's threads advance the clock
                if live.clock.now_us() >= ends_us:
                    schedule.stop()
                if live.clock.now_us() != stands_us:
                    stands_us, since_s = live.clock.now_us(), time.monotonic()
                elif time.monotonic() - since_s > HUNG_S:
                    wrong.append(f"{table}: hung at {(stands_us - began_us) / 1e6:.0f} s")
        finally:
            live.stop()
    faults = [story for story in live.stories if isinstance(story, FaultBegan)]
    wrong += [f"{table}: {each}" for each in wrong_outcomes(live.played, live.effects)]
    wrong += [f"{table}: not reported: {each}" for each in unnamed(faults, live.readings)]
    if not live.all_up():
        wrong.append(f"{table}: not up again: {[(dev, live.health(dev)[-3:]) for dev in live.devices]}")
    disturbed = sum(bool(story.disturbed_by) for story in live.played)
    took_s = time.monotonic() - began_s
    say(
        f"{table}: {len(live.played)} attempts, {disturbed} disturbed by {len(faults)} faults,"
        f" {len(live.readings)} readings, {live.session.late} late, in {took_s:.0f} s"
    )
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=180, help="total duration in seconds (default: 180)")
    parser.add_argument("--speed", type=float, default=10, help="speed relative to real time (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first session (default: 1)")
    arguments = parser.parse_args()
    wrong: list[str] = []
    held_kb: list[int] = []
    seconds = arguments.seconds * arguments.speed / len(TABLES) / len(EVERY_S)
    for part, every_s in enumerate(EVERY_S):
        for number, table in enumerate(TABLES):
            seed = arguments.seed + 10 * part + number
            wrong += play(table, seed, seconds, arguments.speed, every_s)
        held_kb.append(resident_kb())
    if held_kb[1] > held_kb[0] + GROWN_KB:
        wrong.append(f"memory grew from {held_kb[0]} to {held_kb[1]} kB in the second half")
    if wrong:
        say("\n".join([*wrong, f"virtual tables: {len(wrong)} problems, {held_kb[1]} kB of memory"]))
    else:
        say(
            "virtual tables: no false outcome, every fault reported, every device up again;"
            f" {held_kb[1]} kB of memory"
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
