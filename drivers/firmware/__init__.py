"""The boards' firmware, in MicroPython for the Raspberry Pi Pico and Pico 2."""
