"""The GPIO of the machine that the scenes run on.

`kernel` is the seam for a real chip: a fixture that provides gpio-sim's lines with the same three calls
(`request`, `drive`, `chips`) runs the same scenes on the kernel's own edges.
"""

import pytest

from tests.drivers.gpio.rig import BeamsBench, FakeKernel, beams, timed, wheel_settings


@pytest.fixture
def kernel() -> FakeKernel:
    return FakeKernel()


@pytest.fixture
def wheel() -> BeamsBench:
    """Return three beams and a drop sensor, open and healthy."""
    inputs = {**beams(3), "drop": timed(12, "ball_drop")}
    bench = BeamsBench(wheel_settings(inputs))
    bench.open().after(10_000)
    return bench
