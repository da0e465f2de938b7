"""Which throw, spin or deal an outcome tells of."""

from controller.model.outcomes import Outcome

_ATTEMPTS = frozenset({"roll", "spin", "deal"})


def attempt_of(outcome: Outcome) -> int | None:
    """Give the number of the throw, spin or deal that an outcome tells of; None for all others.

    A table has attempts of one kind alone, so the number names one.
    """
    word = outcome.type.partition(".")[0]
    number = getattr(outcome.data, word, None) if word in _ATTEMPTS else None
    return number if isinstance(number, int) else None
