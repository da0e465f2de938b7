"""The board's entry point, copied to the root of its file system."""

from drivers.firmware.shared.pico import Pico
from drivers.firmware.shared.start import run

run(Pico())
