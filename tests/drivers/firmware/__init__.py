"""The boards' firmware, under CPython and MicroPython."""
