"""A place in a configuration file, and what may be written there."""

KeyPath = tuple[str | int, ...]
"""Where a value is inside a document: keys, and positions in lists."""
Setting = float | tuple[float, ...] | tuple[tuple[float, ...], ...]
"""What a calibration writes: a number, a list of numbers, or rows of them."""
