"""Fixtures with simulated GPIO lines.

To run the tests on the kernel's edges, replace the fixture `kernel` with one that provides the lines of
gpio-sim or of a chip through the same three calls (`request`, `drive`, `chips`).
"""

import pytest

from tests.drivers.gpio.rig import BeamsBench, FakeKernel, beams, timed, wheel_settings


@pytest.fixture
def kernel() -> FakeKernel:
    return FakeKernel()


@pytest.fixture
def wheel() -> BeamsBench:
    """Return a device with three beams and a drop sensor, open and without faults."""
    inputs = {**beams(3), "drop": timed(12, "ball_drop")}
    bench = BeamsBench(wheel_settings(inputs))
    bench.open().after(10_000)
    return bench
