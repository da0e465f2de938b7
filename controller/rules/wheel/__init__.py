"""The spin judge: whether a spin counts, its number, and the time of No More Bets.

`SpinWatch` follows a running spin, `judge_spin` rules on a spin, and `Learned` holds the values that a table
learns about its wheel. All results follow from the readings, without a clock or I/O.
"""

from controller.rules.wheel.devices import SURELY_SEEN_US, Sources
from controller.rules.wheel.judge import judge_and_learn, judge_spin
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.rotor import INDEX_PASSES_KEPT, PocketRead
from controller.rules.wheel.trace import DROP_SENSOR_DELAY_US
from controller.rules.wheel.watch import SpinWatch

__all__ = [
    "DROP_SENSOR_DELAY_US",
    "INDEX_PASSES_KEPT",
    "SURELY_SEEN_US",
    "Learned",
    "PocketRead",
    "Sources",
    "SpinWatch",
    "judge_and_learn",
    "judge_spin",
]
