"""The lines of the reference engines, and their comparison with the controller's lines."""

from collections.abc import Iterable
from dataclasses import dataclass

Request = dict[str, object]
"""A request in JSON, with amounts in cents."""

ANY_RULE: frozenset[str] = frozenset()
"""The rules of a refusal that the documents assign to no particular id."""


@dataclass(frozen=True)
class Settled:
    """A bet that is decided, taken down or still up; amounts in cents."""

    id: str
    wager: str
    status: str
    stake: int
    payout: int
    returned: int


@dataclass(frozen=True)
class Rejected:
    """A bet that was never accepted, and each rule that forbids it."""

    id: str
    wager: str
    rules: frozenset[str]


@dataclass(frozen=True)
class Refused:
    """A request that changes nothing, and each rule that forbids it."""

    do: str
    rules: frozenset[str]
    id: str | None = None


@dataclass(frozen=True)
class Reduced:
    """A reduced stake, with the amount returned in cents."""

    id: str
    returned: int


@dataclass(frozen=True)
class Pot:
    """The division of a High Roller game's money, in cents."""

    gross: int
    rake: int
    bonus: int
    prize: int
    bonus_paid: int
    winner: str


@dataclass(frozen=True)
class Recorded:
    """A Bonus Pot that became rake, in cents."""

    rake: int


Line = Settled | Rejected | Refused | Reduced | Pot | Recorded


def differs(expected: Iterable[Line], lines: list[dict[str, object]]) -> str | None:
    """Return the first difference of the controller's lines from the expected lines, in any order."""
    left = list(lines)
    for line in expected:
        found = next((each for each in left if matches(line, each)), None)
        if found is None:
            return f"expected {line}\n  found {left}"
        left.remove(found)
    return f"found unexpected lines: {left}" if left else None


def matches(line: Line, results: dict[str, object]) -> bool:
    """Return whether a line of the controller is the expected one, to the cent."""
    match line:
        case Settled():
            return all(results.get(key) == value for key, value in vars(line).items())
        case Rejected():
            known = results.get("status") == "rejected" and (results.get("id"), results.get("wager")) == (
                line.id,
                line.wager,
            )
            empty = results.get("payout") == 0 and results.get("returned") == 0
            return known and empty and _under(line.rules, str(results.get("reason")).split(": ")[0])
        case Refused():
            known = (results.get("do"), results.get("status")) == (line.do, "refused")
            named = line.id is None or results.get("id") == line.id
            return known and named and _under(line.rules, str(results.get("rule")))
        case Reduced():
            reduced = results.get("status") == "reduced" and results.get("id") == line.id
            return reduced and results.get("returned") == line.returned
        case Pot():
            parted = all(results.get(key) == value for key, value in vars(line).items())
            return results.get("wager") == "pot" and parted
        case Recorded():
            return results.get("status") == "recorded" and results.get("rake") == line.rake


def _under(rules: frozenset[str], rule: str) -> bool:
    return not rules or rule in rules
