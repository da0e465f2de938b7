"""The Raspberry Pi's own lines: beams and index on kernel edges, a panel of buttons, switches and lamps."""
