"""Whole numbers on the command line, each with the range that makes sense for it."""

import argparse
from collections.abc import Callable

ROWS = 2**62
"""More rows than a journal ever has; SQLite's own numbers end at 2^63."""
SEEDS = 2**63 - 1
MANY = 100_000
"""More attempts than anybody watches."""


def whole(least: int, most: int) -> Callable[[str], int]:
    """Give a reader of whole numbers in a range; anything else is a usage error that says the range."""

    def number(text: str) -> int:
        try:
            found = int(text) if len(text) < 40 else most + 1
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            shown = text if len(text) < 40 else f"{text[:20]}..."
            raise argparse.ArgumentTypeError(
                f"found {shown!r}, expected a whole number from {least} to {most}"
            )
        return found

    return number
