"""Tests of the boards' firmware, under CPython and MicroPython."""
