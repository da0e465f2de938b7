"""Simulates the signals of four piezo sensors along a wall for a die that hits the wall.

A wave travels from the impact at constant speed. Its front rises while the die presses on the wall, and
becomes flatter with the distance. The wave weakens with the distance, is reflected by the wall's ends and
edges, and rings in the panel. Amplifier noise and mains hum are added. All random values depend on a seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

Signal = NDArray[np.floating]
STEP_US = 10
TIMES_US = np.arange(-3_000, 40_000, STEP_US)
"""Times of the signal's samples relative to the impact."""
AT_MM = (25, 375, 725, 1075)
LENGTH_MM = 1100
HEIGHT_MM = 250
SENSORS_AT_MM = 75
"""The sensors' height above the felt. Dice strike at heights from 20 to 130 mm."""
SPEED_M_S = 500
THRESHOLD = 0.03
"""The comparators' threshold, as a fraction of the signal of a hard hit directly at the sensor. It is six
times the noise."""
HYSTERESIS = 0.012
NOISE = 0.005
HUM = 0.004
ADC_FULL = 3000
"""ADC counts of the peak detector for a signal of 1."""


@dataclass(frozen=True)
class Hit:
    """The impact of a die on the wall."""

    pos_mm: float
    height_mm: float
    force: float
    """1 for a hard hit, 0.2 for a die that barely reaches the wall."""
    press_us: float
    """The contact time, 300 us on hard rubber and 800 us on soft rubber."""


@dataclass(frozen=True)
class PiezoSignals:
    """The comparators' edges (sensor, active, us after the impact), and the peak in counts."""

    edges: list[tuple[int, bool, int]]
    peak: int


def drawn(rng: Random) -> Hit:
    force = math.exp(rng.uniform(math.log(0.25), math.log(2)))
    return Hit(rng.uniform(0, LENGTH_MM), rng.uniform(20, 130), force, rng.uniform(300, 800))


def sense_hit(hit: Hit, rng: Random, *, dead: Sequence[int] = ()) -> PiezoSignals:
    """Return the sensors' signals for a hit. The sensors in `dead` have failed."""
    edges: list[tuple[int, bool, int]] = []
    peak = 0.0
    for sensor in range(len(AT_MM)):
        if sensor not in dead:
            signal = _signal(hit, sensor, rng)
            peak = max(peak, float(np.abs(signal).max()))
            edges += _edges(sensor, signal)
    return PiezoSignals(sorted(edges, key=lambda edge: edge[2]), round(ADC_FULL * min(1.0, peak)))


def _signal(hit: Hit, sensor: int, rng: Random) -> Signal:
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, NOISE, len(TIMES_US))
    phase, gain = rng.uniform(0, 2 * math.pi), rng.uniform(0.8, 1.25)
    tone_hz, fades_us = rng.uniform(1500, 3500), rng.uniform(2_000, 5_000)
    signal: Signal = noise + HUM * np.sin(phase + 2 * math.pi * 50e-6 * TIMES_US)
    for x_mm, left in ((hit.pos_mm, 1.0), (-hit.pos_mm, -0.4), (2 * LENGTH_MM - hit.pos_mm, -0.4)):
        for z_mm, again in (
            (hit.height_mm, 1.0),
            (-hit.height_mm, -0.3),
            (2 * HEIGHT_MM - hit.height_mm, -0.3),
        ):
            way_mm = math.hypot(x_mm - AT_MM[sensor], z_mm - SENSORS_AT_MM)
            way_us = way_mm / SPEED_M_S * 1000
            strength = gain * hit.force * left * again / (1 + way_mm / 150)
            signal += strength * _wave(TIMES_US - way_us, hit.press_us / 2 + 0.1 * way_us, tone_hz, fades_us)
    return signal


def _wave(past_us: Signal, rise_us: float, tone_hz: float, fades_us: float) -> Signal:
    """Return a wave of strength 1: the half sine of the push, followed by ringing."""
    front = np.sin(math.pi / 2 * np.clip(past_us / rise_us, 0.0, 1.0))
    push = np.sin(math.pi * np.clip(past_us / (2 * rise_us), 0.0, 1.0))
    tone = np.sin(2e-6 * math.pi * tone_hz * past_us) * np.exp(-np.maximum(past_us, 0.0) / fades_us)
    wave: Signal = push + 0.5 * front * tone
    return wave


def _edges(sensor: int, signal: Signal) -> list[tuple[int, bool, int]]:
    edges: list[tuple[int, bool, int]] = []
    active, last_us = False, 0
    loud = np.abs(signal)
    for n in np.flatnonzero(loud > THRESHOLD - HYSTERESIS).tolist() if loud.max() > THRESHOLD else ():
        at_us = int(TIMES_US[n])
        if active and at_us > last_us + STEP_US:
            edges.append((sensor, False, last_us + STEP_US))
            active = False
        if not active and loud[n] > THRESHOLD:
            active = True
            edges.append((sensor, True, at_us))
        last_us = at_us
    if active:
        edges.append((sensor, False, last_us + STEP_US))
    return edges
