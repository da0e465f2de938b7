"""Settlement of requests in JSON Lines. The error for an invalid line names the field at fault."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Literal, get_args, get_origin

import msgspec

from controller.model.conversion import StrictJsonError, decode_strict
from controller.settlement.book import (
    BOOK_AMOUNT,
    CENTS_FIELDS,
    AnswerLine,
    Book,
    Increase,
    MalformedLine,
    Reduce,
    Refusal,
    Request,
)
from controller.settlement.paytable import MAX_CENTS

_ERROR = re.compile(r"(?P<text>.*?)(?: - at `(?P<path>\$.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<place>\d+)\]|\[\.\.\.\]")
_OF_FIELD = re.compile(r"Object (?P<is>missing required|contains unknown) field `(?P<field>.*)`", re.DOTALL)
_EXPECTED = re.compile(r"Expected (?P<what>.*?)(?:, got .*)?", re.DOTALL)
_KIND = re.compile(r"`(?P<kinds>[a-z |]+)`")
_KINDS = {
    "int": "a whole number",
    "str": "text in quotes",
    "bool": "true or false",
    "array": "a list in brackets",
    "object": "an object in braces",
}
_CENTS = "whole cents, as digits without quotes, a decimal point or an exponent"
_MAX = 120


class Decoder:
    """Decodes request lines for a game's vocabulary."""

    def __init__(self, vocabulary: Sequence[type[Request]]) -> None:
        self._decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(reduce(or_, vocabulary))
        self._kinds = {str(kind.__struct_config__.tag): kind for kind in vocabulary}

    def decode(self, raw: bytes, line: int) -> Request:
        """Decode line number `line`. Raise MalformedLine if it is not a request."""
        try:
            value = decode_strict(raw)
            return self._decoder.decode(raw)
        except msgspec.ValidationError as error:
            raise _malformed_line(value, raw, line, str(error), self._kinds) from error
        except StrictJsonError as error:
            if raw.startswith(BOM_UTF8):
                raise MalformedLine(
                    line, _printable(raw), "one JSON object in UTF-8 without a byte order mark"
                ) from error
            raise MalformedLine(line, f"{error.found} in {_printable(raw)}", error.expected) from error


def _malformed_line(
    value: object, raw: bytes, line: int, error: str, kinds: Mapping[str, type[Request]]
) -> MalformedLine:
    """Return the error in a line of valid JSON. `do` is checked first, then the other fields."""
    do = value.get("do") if isinstance(value, dict) else None
    kind = kinds.get(do) if isinstance(do, str) else None
    if kind is None:
        found = f"`do` {_as_json(do)}" if do is not None else _printable(raw)
        return MalformedLine(line, found, f"a request whose `do` is one of {', '.join(sorted(kinds))}")
    match = _ERROR.fullmatch(error)
    assert match is not None
    text, path = match["text"], match["path"] or "$"
    if of_field := _OF_FIELD.fullmatch(text):
        found = ("no" if of_field["is"] == "missing required" else "an unknown") + f" `{of_field['field']}`"
        return MalformedLine(line, f"{found} in {_printable(raw)}", f"the fields of `{do}`: {_fields(kind)}")
    return MalformedLine(
        line, f"`{path[2:]}` {_as_json(_value_at(value, path))}", _expected(text, path[2:], kind)
    )


def _fields(kind: type[Request]) -> str:
    fields = msgspec.structs.fields(kind)
    return ", ".join(field.name if field.required else f"{field.name} (optional)" for field in fields)


def _value_at(value: object, path: str) -> object:
    """Return the value at a path, up to the first indefinite step, `[...]`, which means any element."""
    for step in _STEP.finditer(path):
        if step["name"] is not None and isinstance(value, dict):
            value = value[step["name"]]
        elif step["place"] is not None and isinstance(value, list):
            value = value[int(step["place"])]
        else:
            break
    return value


def _expected(error: str, field: str, kind: type[Request]) -> str:
    if field in CENTS_FIELDS:
        return _CENTS
    if choices := _choices(kind, field):
        return choices
    what = _EXPECTED.fullmatch(error)
    if what is None:
        return f"a value that this field allows ({error})"
    return _KIND.sub(lambda match: " or ".join(map(_kind, match["kinds"].split(" | "))), what["what"])


def _choices(kind: type[Request], field: str) -> str:
    """Return the possible values of a field, as JSON; empty if they are not an enumeration."""
    hint = next((each.type for each in msgspec.structs.fields(kind) if each.encode_name == field), None)
    members = (hint,) if get_origin(hint) is Literal else get_args(hint)
    words = [_as_json(word) for one in members if get_origin(one) is Literal for word in get_args(one)]
    return " or ".join([_KINDS["bool"], *words] if words and bool in members else words)


def _kind(word: str) -> str:
    return _KINDS.get(word, word)


def _as_json(value: object) -> str:
    return _cut(msgspec.json.encode(value).decode())


def _printable(raw: bytes) -> str:
    return repr(_cut(raw.strip().decode("utf-8", "backslashreplace")))


def _cut(text: str) -> str:
    return text if len(text) <= _MAX else f"{text[: _MAX - 3]}..."


_BETWEEN = f"an amount must be 1 to {MAX_CENTS:,} cents"


def settle(lines: Iterable[bytes], game: Book) -> Iterator[bytes]:
    """Yield the results of request lines as they are decided, and finally the undecided bets.

    Blank lines are skipped. Raise MalformedLine at the first line that is not a request of the game. The
    answers before it remain valid.
    """
    decoder = Decoder(game.vocabulary)
    encoder = msgspec.json.Encoder()
    for number, raw in enumerate(lines, start=1):
        if raw.isspace():
            continue
        request = decoder.decode(raw, number)
        refused = impossible_amount(request)
        answers = game.apply(request) if refused is None else [refused]
        if answers:
            yield encoder.encode_lines(answers)
    if undecided := game.finish():
        yield encoder.encode_lines(undecided)


def impossible_amount(request: Request) -> AnswerLine | None:
    """Return the answer to a request whose amount is out of range; None for other requests."""
    match request:
        case Increase(to=to) if not 1 <= to <= MAX_CENTS:
            return _refusal(to).refuse(request.id, "increase")
        # The game's book refuses a reduction to 0, because only the book knows which request was meant.
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
