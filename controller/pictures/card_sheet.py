"""What has no plan and no curve, in words: a deal's hands, a smart wheel's word, a person's ruling."""

from collections.abc import Sequence

from controller.model.verdicts import DealVerdict
from controller.pictures.drawing import Drawing
from controller.pictures.exhibit import Exhibit
from controller.pictures.sheet import MARGIN, WIDTH, column, titled

_ROWS = 32


def draw_words(exhibit: Exhibit, sentence: str, when: str, lines: Sequence[str]) -> Drawing:
    """Write a sheet of words."""
    drawing = titled(exhibit, sentence, when)
    column(drawing, (MARGIN, 130), WIDTH - 2 * MARGIN, "What it rests on", lines, most=_ROWS)
    return drawing


def hand_lines(verdict: DealVerdict) -> list[str]:
    """Give a deal's hands, a line each; one that is not whole has none."""
    dealt = verdict.dealt
    if dealt is None:
        return []
    hands = [
        f"seat {seat}: {' '.join(cards)}{', folded' if seat in dealt.folds else ''}"
        for seat, cards in dealt.hands.items()
    ]
    return [*hands, f"dealer: {' '.join(dealt.dealer)}"]
