"""Devices: from a protocol's messages to readings of the table, and their health. No I/O, no clock."""
