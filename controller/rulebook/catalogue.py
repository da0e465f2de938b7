"""The catalogue of rules: each id with its document, its lines there, and its sense."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from controller.rulebook.documents import CRAPS_12_034, CRAPS_V1, GAPS, HIGH_ROLLER, ROULETTE, THREE_CARD

DOCUMENTS: Mapping[str, str] = {
    "C34": "Craps 12 034",
    "CV1": "Craps Version 1",
    "R": "Roulette",
    "T": "Three Card Poker 12 014",
    "H": "High Roller 12 005",
    "!X": "several documents",
    "!34": "Craps 12 034",
    "!V1": "Craps Version 1",
    "!R": "Roulette",
    "!T": "Three Card Poker 12 014",
    "!H": "High Roller 12 005",
}
"""Which document an id is of, by what it begins with; `!` marks what the document leaves open."""
ID = re.compile(
    r"(?:(?:C34|CV1)-[A-Z0-9]+(?:-[0-9]+[a-z]*)?|[RTH]-[A-Z]+-[0-9]+[a-z]*|!(?:X|34|V1|R|T|H)-[0-9]+)\b"
)
"""An id where it is cited."""
_TEXTS = (CRAPS_12_034, CRAPS_V1, ROULETTE, THREE_CARD, HIGH_ROLLER, GAPS)


class Rule(NamedTuple):
    """One rule, or one gap and what the product does there."""

    id: str
    document: str
    lines: str
    """The lines of the document, from 1; `-` where it says nothing, `several` where documents differ."""
    sense: str

    @property
    def place(self) -> str:
        """Describe where it stands."""
        if self.lines == "-":
            return f"{self.document}, which says nothing of it"
        if self.lines == "several":
            return "several documents, which differ"
        return f"{self.document}, line{'s' if re.search('[-,]', self.lines) else ''} {self.lines}"


@cache
def rules() -> Mapping[str, Rule]:
    """Return every rule by its id."""
    return {rule.id: rule for text in _TEXTS for rule in _parsed(text)}


def _parsed(text: str) -> Iterator[Rule]:
    for line in re.sub(r"\n  ", " ", text).splitlines():
        ids, lines, sense = line.split("|")
        first, *others = ids.split(",")
        stem = first.rpartition("-")[0]
        for id_ in (first, *(f"{stem}-{other}" for other in others)):
            yield Rule(id_, DOCUMENTS[id_.partition("-")[0]], lines, sense)
