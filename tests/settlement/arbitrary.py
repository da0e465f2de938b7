"""Arbitrary requests: a game answers each or reports it as malformed, and each bet ends once."""

import json
from collections.abc import Iterable, Mapping

import msgspec

from controller.settlement.book import AnswerLine, Book, Decided, MalformedLine
from controller.settlement.run import Decoder

Json = Mapping[str, object]


def answer_all(game: Book, requests: Iterable[Json]) -> list[AnswerLine]:
    """Send all requests, skip malformed ones, and return all answers, each of which must fit on the wire."""
    decoder = Decoder(game.vocabulary)
    results: list[AnswerLine] = []
    for number, request in enumerate(requests, start=1):
        try:
            understood = decoder.decode(json.dumps(request).encode(), number)
        except MalformedLine:
            continue
        results += game.apply(understood)
    results += game.finish()
    msgspec.json.Encoder().encode_lines(results)
    return results


def ends(results: Iterable[AnswerLine]) -> list[str]:
    """Return the ids of the ended bets, in order; a rejected bet never began."""
    return [line.id for line in results if isinstance(line, Decided) and line.status != "rejected"]


def keep(request: Json, fields: Mapping[str, tuple[str, ...]]) -> Json:
    """Remove the fields that a request may not have, so that most requests are understood."""
    allowed = ("do", *fields.get(str(request["do"]), ()))
    return {key: value for key, value in request.items() if key in allowed}
