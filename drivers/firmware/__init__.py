"""What runs on the boards: MicroPython for the Raspberry Pi Pico and Pico 2; no part of a table's daemon."""
