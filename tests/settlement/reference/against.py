"""Random evenings through both engines, with every line compared."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from controller.settings.paytables import open_book
from controller.settlement.run import settle
from tests.settlement.reference.evenings import EVENINGS, Names
from tests.settlement.reference.lines import Line, Rejected, Request, differs

WAGERS_AN_EVENING = 60
"""Long enough for several hands, games or spins, short enough to read when the engines differ."""


@dataclass(frozen=True)
class Evening:
    """The number of wagers, the number never accepted, and where the engines differ."""

    wagers: int
    rejected: int
    requests: list[Request]
    difference: str | None


class Against:
    """One rule set: numbered evenings, the same for the same seed."""

    def __init__(self, ruleset: str) -> None:
        self._ruleset, self._pristine = ruleset, open_book(ruleset)

    def evening(self, seed: int, number: int) -> Evening:
        """Play one evening through both engines, up to the first difference."""
        script = _Script(self._ruleset, Random(f"{self._ruleset}/{seed}/{number}"))
        difference = script.hold_against(settle(script.requests(), deepcopy(self._pristine)))
        return Evening(script.wagers, script.rejected, script.asked, difference)


class _Script:
    def __init__(self, ruleset: str, chance: Random) -> None:
        open_table, self._draw = EVENINGS[ruleset]
        self._table, self._chance, self._names = open_table(), chance, Names(chance)
        self.asked: list[Request] = []
        self.wagers = self.rejected = 0
        self._expected: list[Line] = []
        self._silent: str | None = None

    def requests(self) -> Iterator[bytes]:
        """Yield the evening's requests, with the reference's answer computed as each is sent.

        The product's answers are taken before it reads the next request, so any lines of the reference that
        are left by then were not answered.
        """
        while self.wagers < WAGERS_AN_EVENING:
            request = self._draw(self._table, self._chance, self._names)
            self.asked.append(request)
            self.wagers += request["do"] == "bet"
            self._expected = self._table.take(request)
            self.rejected += any(isinstance(line, Rejected) for line in self._expected)
            yield json.dumps(request).encode()
            if self._expected:
                self._silent = f"expected {self._expected}, nothing told"
                return
        self._expected = self._table.end()

    def hold_against(self, answers: Iterator[bytes]) -> str | None:
        """Compare the product's answers as they come; return the first difference."""
        for answer in answers:
            if self._silent:
                break
            if why := differs(self._expected, [json.loads(line) for line in answer.splitlines()]):
                return why
            self._expected = []
        return self._silent or (f"expected {self._expected} at the end" if self._expected else None)
