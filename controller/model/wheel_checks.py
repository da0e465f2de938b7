"""What must fit together in a wheel's description, in a table's file and in a log's header alike."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controller.model.pockets import STANDARD_POCKETS


class WheelMistake(NamedTuple):
    """What is wrong with a wheel: at which key (and place in it), what was found, what was expected."""

    key: tuple[str | int, ...]
    found: str
    expected: str


def pocket_mistakes(pockets: str, order: Sequence[str]) -> Iterator[WheelMistake]:
    """Find what is wrong with the pockets: an unknown kind of wheel, or not each of its pockets once."""
    standard = STANDARD_POCKETS.get(pockets)
    if standard is None:
        yield WheelMistake(("pockets",), f"'{pockets}'", f"one of {', '.join(STANDARD_POCKETS)}")
    elif Counter(order) != Counter(standard):
        missing = sorted(set(standard) - set(order), key=int)
        found = f"{len(order)} pockets" + (f" without {', '.join(missing)}" if missing else "")
        expected = f"each of the {len(standard)} pockets of the {pockets} wheel once"
        yield WheelMistake(("pockets_clockwise",), found, expected)


def beam_mistakes(beams_deg: Sequence[float], *, judged: bool) -> Iterator[WheelMistake]:
    """Find what is wrong with the beams; `judged` by them, it takes two to tell which way the ball runs."""
    if judged and len(beams_deg) < 2:
        yield WheelMistake(("beams_deg",), f"{len(beams_deg)} beam", "two beams or more (R-SPIN-1)")
    for number, beam in enumerate(beams_deg):
        if any((beam - other) % 360 == 0 for other in beams_deg[:number]):
            found = f"{beam:g} a second time"
            yield WheelMistake(("beams_deg", number), found, "each beam at an angle of its own")
