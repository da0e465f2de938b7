"""Devices on the Raspberry Pi's GPIO lines: timed inputs, and panels of buttons, switches and lamps."""
