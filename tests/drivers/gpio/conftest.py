"""The GPIO of the machine that the scenes run on.

`kernel` is the seam for a real chip: a fixture that hands in gpio-sim's lines under the same three calls
(`request`, `drive`, `chips`) runs the same scenes on the kernel's own edges.
"""

import pytest

from tests.drivers.gpio.rig import FakeKernel


@pytest.fixture
def kernel() -> FakeKernel:
    return FakeKernel()
