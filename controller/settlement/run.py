"""Settle JSON Lines: a game's requests in, its decided bets out."""

from collections.abc import Iterable, Iterator

import msgspec

from controller.settlement.amounts import impossible_amount
from controller.settlement.decoding import Decoder
from controller.settlement.game import Game


def settle(lines: Iterable[bytes], game: Game) -> Iterator[bytes]:
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
