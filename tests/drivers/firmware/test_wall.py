"""Tests of the wall board with simulated signals, under CPython and MicroPython."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")
pytest.importorskip("numpy", reason="numpy comes with the `vision` extra")

from controller.model.readings import WallImpact
from tests.drivers.firmware.bench import PYTHONS, Bench, install
from tests.drivers.firmware.piezo import AT_MM, LENGTH_MM, SPEED_M_S, Hit, drawn, sense_hit

PINS = (2, 3, 4, 5)
PULSE = 19
SETTINGS = {
    "board": "wall",
    "name": "wall-left",
    "sensors": list(PINS),
    "at_mm": list(AT_MM),
    "length_mm": LENGTH_MM,
    "speed_m_s": SPEED_M_S,
}
ALONE = Path(__file__).parent / "wall_alone.py"
WITHIN_MM = 25
WITHIN_US = 2000
HITS = 200
UNPLACED = 0.02
"""Of the impacts with at least a quarter of a hard hit's force, the largest fraction that may be unlocated.
"""
APART_US = 100_000
PULSED_US = 100
"""The time from the rise of the pulse pin to the wave's start at the first sensor."""

Said = list[tuple[str, list[tuple[str, str]], int]]
Edge = tuple[int, int, int]
"""A pin, a level, and a time in microseconds."""
Board = Callable[[Sequence[Sequence[Edge]]], list[Said]]
Maker = Callable[[dict[str, object]], Bench]


@cache
def struck() -> list[tuple[Hit, list[Edge]]]:
    """Return random hits and their edges, APART_US apart."""
    rng = Random(1)
    hits = [drawn(rng) for _ in range(HITS)]
    return [(hit, edges_of(hit, rng, n * APART_US)) for n, hit in enumerate(hits)]


def edges_of(hit: Hit, rng: Random, at_us: int = 0, *, dead: Sequence[int] = ()) -> list[Edge]:
    """Return the comparator edges on the pins for a die that strikes at `at_us`."""
    edges = sense_hit(hit, rng, dead=dead).edges
    return [(PINS[sensor], 0 if active else 1, at_us + us) for sensor, active, us in edges]


@pytest.fixture(params=PYTHONS)
def python(request: pytest.FixtureRequest) -> str:
    python = PYTHONS[request.param]
    if python is None:
        pytest.skip("needs MicroPython's unix port (Debian 13: apt install micropython, or set MICROPYTHON)")
    return python


@pytest.fixture
def board(python: str, tmp_path: Path) -> Board:
    root = tmp_path / "board"
    root.mkdir()
    install(root, SETTINGS)

    def say(lines: Sequence[Sequence[Edge]]) -> list[Said]:
        ran = subprocess.run(
            [python, str(ALONE), json.dumps(SETTINGS)],
            input="".join(json.dumps(line) + "\n" for line in lines),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(root), "MICROPYPATH": f"{root}:.frozen"},
        )
        return [json.loads(line) for line in ran.stdout.splitlines()]

    return say


def test_a_die_is_placed_within_25_mm_and_2_ms_or_reported_as_missed(board: Board) -> None:
    unplaced = 0
    for n, ((hit, _), said) in enumerate(zip(struck(), board([edges for _, edges in struck()]), strict=True)):
        if [kind for kind, _, _ in said] == ["device_down", "device_up"]:
            unplaced += 1
            continue
        ((kind, fields, at_us),) = said
        assert kind == "wall_impact"
        assert abs(float(dict(fields)["pos_mm"]) - hit.pos_mm) <= WITHIN_MM, hit
        assert abs(at_us - n * APART_US) <= WITHIN_US, hit
    assert unplaced <= UNPLACED * HITS


def test_two_dice_slightly_apart_are_two_impacts(board: Board) -> None:
    rng = Random(2)
    first, second = Hit(240, 60, 0.8, 400), Hit(810, 90, 0.6, 500)
    (said,) = board([sorted(edges_of(first, rng) + edges_of(second, rng, 40_000), key=lambda edge: edge[2])])
    assert [kind for kind, _, _ in said] == ["wall_impact", "wall_impact"]
    for (_, fields, _), hit in zip(said, (first, second), strict=True):
        assert abs(float(dict(fields)["pos_mm"]) - hit.pos_mm) <= WITHIN_MM


def test_a_signal_of_one_sensor_only_is_not_an_impact(board: Board) -> None:
    assert board([[(PINS[1], 0, 0), (PINS[1], 1, 40)]]) == [[]]


def test_arrival_times_that_fit_no_place_are_reported_as_missed(board: Board) -> None:
    (said,) = board([[(PINS[0], 0, 0), (PINS[3], 0, 30), (PINS[1], 0, 1900), (PINS[2], 0, 2000)]])
    assert [kind for kind, _, _ in said] == ["device_down", "device_up"]
    assert dict(said[0][1])["code"] == "unplaced"


@pytest.fixture
def bench(python: str, tmp_path: Path) -> Iterator[Maker]:
    made: list[Bench] = []

    def make(settings: dict[str, object]) -> Bench:
        made.append(Bench(tmp_path, python, settings, wall="left"))
        return made[-1]

    yield make
    for one in made:
        one.close()


def pulsed(speed_m_s: float, *, deaf: Sequence[int] = ()) -> dict[str, object]:
    """Return the settings of a board with a `pulse` pin, on a wall with this wave speed."""
    ways_mm = {n: AT_MM[n] - AT_MM[0] for n in (1, 2, 3) if n not in deaf}
    echo = [(PINS[n], round(PULSED_US + way_mm / speed_m_s * 1000)) for n, way_mm in ways_mm.items()]
    return {**SETTINGS, "pulse": PULSE, "echo": echo}


def test_a_wall_boards_hello_reports_the_measured_error(bench: Maker) -> None:
    wall = bench(pulsed(SPEED_M_S))
    wall.up()
    error_mm = wall.device.status()["error_mm"]
    assert isinstance(error_mm, float)
    assert 0 < error_mm <= WITHIN_MM
    for edge in edges_of(Hit(600, 75, 1.0, 400), Random(3)):
        wall.drive(edge[0], edge[1], after_us=edge[2] + 10_000)
    assert abs(wall.wait(WallImpact).pos_mm - 600) <= WITHIN_MM


def test_a_wall_with_another_wave_speed_than_its_settings_reports_no_error_and_fails_its_self_test(
    bench: Maker,
) -> None:
    wall = bench(pulsed(SPEED_M_S * 1.2))
    wall.up()
    assert wall.device.status()["error_mm"] is None
    wall.command("selftest")
    answer = wall.answer()
    assert not answer.ok
    assert answer.message.startswith("wave speed ")
    assert answer.message.endswith("speed_m_s is 500")


def test_a_deaf_sensor_fails_the_self_test(bench: Maker) -> None:
    wall = bench(pulsed(SPEED_M_S, deaf=(2,)))
    wall.up()
    wall.command("selftest")
    answer = wall.answer()
    assert (answer.ok, answer.message) == (
        False,
        "sensors that did not detect the pulse (numbered from 0): 2",
    )
