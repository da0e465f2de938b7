"""The findings of the rules on a throw: causes of a No Roll, causes of a review, and notices."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.model.readings import Reading
from controller.model.verdicts import Notice, Reason


@dataclass(slots=True)
class Findings:
    """Causes of a No Roll, causes of a review, and notices, each in the order in which they were found."""

    causes: Mapping[str, str]
    void: list[Reason] = field(default_factory=list)
    review: list[Reason] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    evidence: list[Reading] = field(default_factory=list)

    def no_roll(self, code: str, seen: str, *, die: int | None = None) -> None:
        """Add a conclusive cause of a No Roll."""
        self.void.append(self._reason(code, seen, die))

    def add_review(self, code: str, seen: str, *, die: int | None = None, rule: str | None = None) -> None:
        """Add a cause of a review."""
        self.review.append(self._reason(code, seen, die, rule))

    def note(self, code: str, seen: str, *, die: int | None = None, rule: str | None = None) -> None:
        """Add a notice, which does not change the ruling."""
        self.notices.append(Notice(code=code, seen=seen, die=die, rule=rule))

    def _reason(self, code: str, seen: str, die: int | None, rule: str | None = None) -> Reason:
        return Reason(code=code, rule=rule or self.causes.get(code, ""), seen=seen, die=die)
