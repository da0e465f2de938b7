"""One act of a guided test: what the technician is asked for, and what the readings made of it tell."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from controller.model.readings import AnyReading

Status = Literal["pass", "fail", "skipped"]
Figure = float | int | str | None
ACT_S = 60.0
"""How long a technician has for one act (s), where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What an act told of one sensor: in words with the limit, and as figures (the unit is in the name)."""

    sensor: str
    status: Status
    says: str
    figures: Mapping[str, Figure] = field(default_factory=dict)


class Act(Protocol):
    """Hears the readings that follow its request, in order of arrival."""

    @property
    def sensor(self) -> str:
        """Name what it is about, as `--only` takes it: a kind of reading, or a switch."""

    @property
    def word(self) -> str:
        """Give the word that the lamp `test` shows."""

    @property
    def ask(self) -> str:
        """Say what the technician is to do."""

    def hear(self, reading: AnyReading) -> None:
        """Take a reading of any device."""

    def enough(self, quiet_s: float) -> bool:
        """Tell whether nothing more is to come, when nothing was heard for so long."""

    def findings(self) -> Sequence[Finding]:
        """Say what was found, also where too little was heard."""


def judged(sensor: str, says: str, *faults: str, **figures: Figure) -> Finding:
    """Make a finding that is a fail where there are faults; they follow what was seen."""
    status: Status = "fail" if faults else "pass"
    return Finding(sensor=sensor, status=status, says="; ".join((says, *faults)), figures=figures)


def unseen(sensor: str, expected: str) -> Finding:
    """Make the finding of a sensor that told nothing."""
    return Finding(sensor=sensor, status="fail", says=f"nothing seen, expected {expected}")
