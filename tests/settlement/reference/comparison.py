"""Random sessions through both engines, with every line compared."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from random import Random

from controller.settings.paytables import open_book
from controller.settlement.run import settle
from tests.settlement.reference.lines import Line, Rejected, Request, differs
from tests.settlement.reference.random_requests import RANDOM_REQUESTS, Names

WAGERS_PER_SESSION = 60
"""Enough for several hands, games or spins, and few enough to read when the engines differ."""


@dataclass(frozen=True)
class Comparison:
    """One session's result: the numbers of wagers and rejections, and the first difference."""

    wagers: int
    rejected: int
    requests: list[Request]
    difference: str | None


class BothEngines:
    """Both engines under one rule set; a seed and a number determine a session."""

    def __init__(self, ruleset: str) -> None:
        self._ruleset, self._pristine = ruleset, open_book(ruleset)

    def compare(self, seed: int, number: int) -> Comparison:
        """Play one session through both engines, up to the first difference."""
        script = _Script(self._ruleset, Random(f"{self._ruleset}/{seed}/{number}"))
        difference = script.compare_answers(settle(script.requests(), deepcopy(self._pristine)))
        return Comparison(script.wagers, script.rejected, script.asked, difference)


class _Script:
    def __init__(self, ruleset: str, chance: Random) -> None:
        open_table, self._draw = RANDOM_REQUESTS[ruleset]
        self._table, self._chance, self._names = open_table(), chance, Names(chance)
        self.asked: list[Request] = []
        self.wagers = self.rejected = 0
        self._expected: list[Line] = []
        self._silent: str | None = None

    def requests(self) -> Iterator[bytes]:
        """Yield the session's requests, and compute the reference's answer to each.

        The controller's answers are compared before the next request, so any reference lines still left by
        then have no counterpart.
        """
        while self.wagers < WAGERS_PER_SESSION:
            request = self._draw(self._table, self._chance, self._names)
            self.asked.append(request)
            self.wagers += request["do"] == "bet"
            self._expected = self._table.take(request)
            self.rejected += any(isinstance(line, Rejected) for line in self._expected)
            yield json.dumps(request).encode()
            if self._expected:
                self._silent = f"expected {self._expected}, found no answer"
                return
        self._expected = self._table.end()

    def compare_answers(self, answers: Iterator[bytes]) -> str | None:
        """Compare the controller's answers as they come; return the first difference."""
        for answer in answers:
            if self._silent:
                break
            if why := differs(self._expected, [json.loads(line) for line in answer.splitlines()]):
                return why
            self._expected = []
        return self._silent or (f"expected {self._expected} at the end" if self._expected else None)
