"""Devices on the Raspberry Pi's own GPIO lines: timed inputs, and a panel of buttons, switches and lamps."""
