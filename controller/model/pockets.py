"""The colours of a wheel's pockets, which are the same on all wheels."""

from controller.model.outcomes import Colour

RED = frozenset(map(str, (1, 3, 5, 7, 9, 12, 14, 16, 18, 19, 21, 23, 25, 27, 30, 32, 34, 36)))
"""The red numbers. The document does not list them (!R-5)."""
GREEN = frozenset({"0", "00", "000", "0000"})


def colour_of(pocket: str) -> Colour:
    """Return a pocket's colour; the zeros are green."""
    if pocket in GREEN:
        return "green"
    return "red" if pocket in RED else "black"
