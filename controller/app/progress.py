"""How far the attempts of a table have come, as its outcomes tell it."""

from controller.engine.setup import First
from controller.journal.contents import WORDS, Word
from controller.model.outcomes import Outcome


class Progress:
    """Knows the last attempt of each kind that ended or went to review."""

    def __init__(self, first: First) -> None:
        """Start with everything before these numbers ended."""
        self._ended: dict[Word, int] = {word: getattr(first, word) - 1 for word in WORDS}
        self._reviewed = dict(self._ended)

    def follow(self, outcome: Outcome) -> None:
        """Take an outcome, whether it concerns an attempt or not."""
        reached = self._reviewed if outcome.type.endswith(".review") else self._ended
        for word in WORDS:
            number = getattr(outcome.data, word, None)
            if isinstance(number, int):
                reached[word] = max(reached[word], number)

    def open_before(self, first: First) -> bool:
        """Tell whether an attempt before these numbers waits for its call or for a ruling."""
        return any(getattr(first, word) - 1 > self._ended[word] for word in WORDS)

    def undecided_before(self, first: First) -> bool:
        """Tell whether an attempt before these numbers is not decided, or its call not made."""
        decided = {word: max(self._ended[word], self._reviewed[word]) for word in WORDS}
        return any(getattr(first, word) - 1 > decided[word] for word in WORDS)


def begun_between(before: First, now: First) -> list[tuple[Word, int]]:
    """Name the attempts that have begun since these were the next numbers."""
    return [(word, getattr(now, word) - 1) for word in WORDS if getattr(now, word) > getattr(before, word)]
