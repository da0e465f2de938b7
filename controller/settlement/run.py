"""Settle JSON Lines: a game's requests in, its decided bets out."""

from collections.abc import Iterable, Iterator

import msgspec

from controller.settlement.book import BOOK_AMOUNT, Book, Line, Refusal
from controller.settlement.decoding import Decoder
from controller.settlement.money import MAX_CENTS
from controller.settlement.wire import Increase, Reduce, Request

_BETWEEN = f"an amount is 1 to {MAX_CENTS:,} cents"


def settle(lines: Iterable[bytes], game: Book) -> Iterator[bytes]:
    """Answer request lines with result lines, each as soon as it is known, and end with the bets left.

    Blank lines are skipped. Raises Malformed at the first line that is no request of the game; what was
    answered before stands.
    """
    decoder = Decoder(game.vocabulary)
    encoder = msgspec.json.Encoder()
    for number, raw in enumerate(lines, start=1):
        if raw.isspace():
            continue
        request = decoder.decode(raw, number)
        unheard_of = impossible_amount(request)
        answers = game.apply(request) if unheard_of is None else [unheard_of]
        if answers:
            yield encoder.encode_lines(answers)
    if left := game.finish():
        yield encoder.encode_lines(left)


def impossible_amount(request: Request) -> Line | None:
    """Answer a request whose amount is no sum of money that can be bet; None for every other."""
    match request:
        case Increase(to=to) if not 1 <= to <= MAX_CENTS:
            return _refusal(to).refuse(request.id, "increase")
        case Reduce(to=to) if not 0 <= to <= MAX_CENTS:
            return _refusal(to).refuse(request.id, "reduce")
        case Increase() | Reduce():
            return None
    amount = getattr(request, "amount", None)
    if amount is None or 1 <= amount <= MAX_CENTS:
        return None
    return _refusal(amount).reject(getattr(request, "id", ""), getattr(request, "wager", ""), amount)


def _refusal(found: int) -> Refusal:
    return Refusal(BOOK_AMOUNT, f"{_BETWEEN}; found {found}")
