"""A wheel whose sensors are lines of a real GPIO chip. Simulated spins drive the lines in real time."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from controller.model.geometry import STANDARD_POCKETS, Wheel
from controller.model.readings import AnyReading, BallBeam, BallDrop, Input, PocketBall, RotorIndex
from drivers.sim import wheel
from drivers.sim.scenes import Scene
from tests.lab.guest.chips import PI_4, Chip
from tests.lab.guest.table import SAMPLES, ReceivedMessage, Table, Watch, rule_pending, status, unlocked
from tests.lab.guest.waiting import must, now_us, until, wait_until

AMERICAN = Wheel(
    pockets="american",
    pockets_clockwise=STANDARD_POCKETS["american"],
    beams_deg=(10, 130, 250),
    pocket_reader_deg=0,
    rotor_index_deg=200,
    drop_rev_per_s=0.433,
)
"""The settings of the sample roulette-gpio.yaml; its lines are below."""

BEAMS = (5, 6, 13)
DROP, INDEX, PHASE, READER = 19, 20, 21, 26
NO_SPIN, PAID, DOOR = 17, 27, 22
LAMPS = {"no-more-bets": 12, "lock": 16, "fault": 23, "no-spin": 24, "buzzer": 25}

BEAM_CUT_US = 2500
"""Time that a 20 mm ball at 6 m/s takes to pass a beam that is a few millimetres wide."""
DROP_US = 18_000
POCKET_US = 52_000
"""Time for which a 45 mm pocket is under the reader, at half a revolution per second."""
MARK_US = 16_000
MARK_APART_US = 8_000
PRESS_US = 150_000
BOUNCE_US = 30
FLICKER_US = 100_000
"""Interruptions within this time belong to one pass, because it is shorter than any revolution of a ball."""
KEPT_TIME_US = 3_000
"""Maximum delay of a driven line in a spin that still matches its truth."""

WORDS = {"spin.called": "valid", "spin.no_spin": "void", "spin.review": "review"}


@dataclass(frozen=True, order=True)
class Edge:
    """An edge of a line: its sensor becomes active (and pulls the line down) or releases it."""

    t_us: int
    line: int
    active: bool


class Lateness(msgspec.Struct, frozen=True):
    """The delays of the driven lines (us), which depend on the load of the host."""

    p50_us: int
    p99_us: int
    worst_us: int


def wheel_chip() -> Chip:
    """Make the table's chip with no active sensor, after a decoy chip with a lower number."""
    Chip("decoy", "decoy", 8)
    return Chip("table")


def table_file(*, panel: bool = True) -> str:
    """Return the sample's settings for a Pi 4, with or without buttons, lamps and door."""
    text = (SAMPLES / "roulette-gpio.yaml").read_text().replace("pinctrl-rp1", PI_4)
    if not panel:
        console, switches = text.index("  console:\n"), text.index("\nswitches:")
        text = text[:console]
        assert console < switches
    return text + "\npublish: {to: socket}\n"


def open_for_play(chip: Chip) -> None:
    """Close the door, wait until all devices are up and the door is reported closed, and unlock."""
    chip.hold(DOOR, high=False)

    def well() -> bool:
        now = status()
        return all(one["up"] for one in now["devices"].values()) and not now["faults"]

    def ready() -> bool:
        if not unlocked():
            rule_pending()
        return unlocked()

    try:
        must("the devices are up", well)
        must("the table is unlocked", ready)
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {status()}") from error


def edges_of(seen: Iterable[tuple[int, AnyReading]], rng: random.Random, bounces: int = 0) -> list[Edge]:
    """Return the edges of the lines for these readings, each with up to `bounces` bounces."""
    spans = [span for _, reading in seen for span in _spans(reading)]
    edges: list[Edge] = []
    for line, own in groupby(sorted(spans), key=lambda span: span[0]):
        for start, end in _joined((start, end) for _, start, end in own):
            for t_us, active in ((start, True), (end, False)):
                edges.append(Edge(t_us, line, active))
                for k in range(rng.randint(0, bounces)):
                    edges.append(Edge(t_us + BOUNCE_US * (2 * k + 1), line, not active))
                    edges.append(Edge(t_us + BOUNCE_US * (2 * k + 2), line, active))
    return sorted(edges)


def _spans(reading: AnyReading) -> list[tuple[int, int, int]]:
    match reading:
        case BallBeam():
            return [(BEAMS[reading.beam], reading.t - BEAM_CUT_US // 2, reading.t + BEAM_CUT_US // 2)]
        case BallDrop():
            return [(DROP, reading.t, reading.t + DROP_US)]
        case PocketBall():
            return [(READER, reading.t - POCKET_US // 2, reading.t + POCKET_US // 2)]
        case RotorIndex():
            start, end = reading.t - MARK_US // 2, reading.t + MARK_US // 2
            apart = -MARK_APART_US if reading.direction == "cw" else MARK_APART_US
            return [(INDEX, start, end), (PHASE, start + apart, end + apart)]
        case Input(name="no_spin"):
            return [(NO_SPIN, reading.t, reading.t + PRESS_US)]
        case Input(name="paid"):
            return [(PAID, reading.t, reading.t + PRESS_US)]
        case _:
            return []


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def simulate_spins(
    kinds: Sequence[str], seed: int, start_us: int, bounces: int = 0
) -> tuple[list[Scene], list[Edge]]:
    """Return successive spins of these kinds, and their edges."""
    rng = random.Random(seed)
    scenes: list[Scene] = []
    edges: list[Edge] = []
    t_us = start_us
    for kind in kinds:
        scene, seen = wheel.spin(kind, rng, t_us, wheel=AMERICAN)
        scenes.append(scene)
        edges += edges_of(seen, rng, bounces)
        t_us = scene.end_us + rng.randint(1_500_000, 3_000_000)
    return scenes, edges


Act = tuple[int, Callable[[], object]]
"""A time, and the function to call then."""


Pull = tuple[int, int]
"""The time at which a line was due, and its delay (us)."""


def play(chip: Chip, edges: Sequence[Edge], acts: Sequence[Act] = ()) -> list[Pull]:
    """Drive the lines and call the functions at their times; return the delay of each line."""
    pulls: list[Pull] = []
    waiting = sorted(acts, key=lambda act: act[0])
    for edge in edges:
        while waiting and waiting[0][0] <= edge.t_us:
            t_us, act = waiting.pop(0)
            wait_until(t_us)
            Thread(target=act, daemon=True).start()
        wait_until(edge.t_us)
        pulls.append((edge.t_us, now_us() - edge.t_us))
        chip.pull(edge.line, not edge.active)
    for t_us, act in waiting:
        wait_until(t_us)
        act()
    return pulls


def lateness(pulls: Sequence[Pull]) -> Lateness:
    """Return the distribution of the delays."""
    late = sorted(late_us for _, late_us in pulls)
    return Lateness(late[len(late) // 2], late[len(late) * 99 // 100], late[-1])


def outcomes_of(
    scene: Scene, following: Scene | None, heard: Sequence[ReceivedMessage]
) -> list[dict[str, Any]]:
    """Return the outcomes of one spin among those received, by their times."""
    end_us = following.start_us if following else scene.end_us + 3_600_000_000
    words = [one.what for one in heard if one.what["type"] in WORDS]
    return [word for word in words if scene.start_us <= word["t"] < end_us]


def differences(
    scenes: Sequence[Scene], heard: Sequence[ReceivedMessage], pulls: Sequence[Pull]
) -> tuple[list[str], list[str]]:
    """Return the spins whose first outcome contradicts the truth, and the spins that are not judged.

    A spin is not judged if the busy host drove a line more than KEPT_TIME_US too late.
    """
    found: list[str] = []
    not_judged: list[str] = []
    for scene, following in zip(scenes, [*scenes[1:], None], strict=True):
        end_us = following.start_us if following else scene.end_us + 1
        late_us = max(late_us for t_us, late_us in pulls if scene.start_us <= t_us < end_us)
        different = _difference(scene, outcomes_of(scene, following, heard))
        if late_us > KEPT_TIME_US:
            not_judged.append(f"{scene.kind}, late by {late_us} us: {different or 'right'}")
        elif different:
            found.append(different)
    return found, not_judged


def _difference(scene: Scene, own: Sequence[dict[str, Any]]) -> str:
    truth = scene.truth
    if not own:
        return f"{scene.kind}: nothing was published"
    word, data = WORDS[own[0]["type"]], own[0]["data"]
    reasons = {reason["code"] for reason in data.get("reasons", ())}
    if word not in truth.allowed:
        return f"{scene.kind}: {word} instead of {truth.verdict}: {data}"
    if word == "valid" and data["number"] != truth.number:
        return f"{scene.kind}: {data['number']} instead of {truth.number}"
    if word == "void" and truth.reasons and not reasons & set(truth.reasons):
        return f"{scene.kind}: void for {sorted(reasons)} instead of {truth.reasons}"
    return ""


def turns_unseen(scene: Scene, edges: Iterable[Edge]) -> float:
    """Return the revolutions from the launch to the first detected interruption of a beam."""
    cuts = [e for e in edges if e.active and e.line in BEAMS and scene.start_us <= e.t_us < scene.end_us]
    turns_us = [
        later.t_us - earlier.t_us
        for line in BEAMS
        for earlier, later in pairwise(cut for cut in cuts if cut.line == line)
        if later.t_us - earlier.t_us > FLICKER_US
    ]
    return (cuts[0].t_us - scene.start_us) / min(turns_us)


def without(edges: Iterable[Edge], *lines: int) -> list[Edge]:
    """Return the edges without those of failed sensors."""
    return [edge for edge in edges if edge.line not in lines]


def shifted(edges: Iterable[Edge], by_us: int) -> list[Edge]:
    return [replace(edge, t_us=edge.t_us + by_us) for edge in edges]


def begin_table(*, panel: bool = True) -> tuple[Chip, Table]:
    """Make the chip, start the controller on it and open it for play."""
    Path("/run/table").mkdir(exist_ok=True)
    chip, table = wheel_chip(), Table(table_file(panel=panel))
    table.start()
    open_for_play(chip)
    return chip, table


def play_one(chip: Chip, kind: str, seed: int, watch: Watch) -> str:
    """Play one spin of this kind, resolve a review, and return the error in the outcome."""
    scenes, edges = simulate_spins([kind], seed, now_us() + 1_000_000)
    pulls = play(chip, edges)
    until(lambda: bool(outcomes_of(scenes[0], None, watch.outcomes)))
    different, not_judged = differences(scenes, watch.outcomes, pulls)
    rule_pending()
    return " / ".join(different + not_judged)
