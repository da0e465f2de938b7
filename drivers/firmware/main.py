"""A board starts here: it is copied to the root of the board's file system."""

from drivers.firmware.shared.pico import Pico
from drivers.firmware.shared.start import run

run(Pico())
