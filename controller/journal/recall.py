"""Recall one outcome: what was told, what it rested on, who ruled, and whether the judge still agrees."""

from typing import NamedTuple

from controller.journal.chain import Row
from controller.journal.contents import Identity, outcome_of
from controller.journal.evidence import Evidence, unpack
from controller.journal.faults import JournalFault
from controller.journal.reading import Rows, check_contents
from controller.journal.rejudging import Judgement, judge_again
from controller.model.effects import Judged
from controller.model.outcomes import DealCorrected, Outcome, RollCorrected, SpinCorrected

CORRECTIONS_WITHIN = 2000
"""Rows after an outcome among which its corrections are looked for: they come before it is settled."""


class Recalled(NamedTuple):
    """One outcome and all that stands behind it."""

    row: Row
    outcome: Outcome
    identity: Identity | None
    evidence: Evidence | None
    """None where the outcome needs none, or it was pruned (`row.evidence_digest` then is still there)."""
    judged_again: Judgement | None
    """None without evidence, or where this version has no judge for it."""
    ruled_by: str | None
    """The role, and the person where known, that ruled; None where the sensors did."""
    corrections: tuple[Outcome, ...]
    signed: bool

    @property
    def judged(self) -> Judged | None:
        """Give the verdict with all that it rests on, as the engine handed it out; None without evidence."""
        return None if self.evidence is None else judged_of(self.outcome, self.evidence)


def recall(reader: Rows, told_id: str) -> Recalled:
    """Recall an outcome by its id.

    Raises:
        JournalFault: there is none of this id, it was pruned, or it is not what its digests say.
    """
    row = reader.find(told_id)
    if row.body is None:
        found = "its digest alone: its contents were pruned"
        raise JournalFault(
            "journal_ack_unknown", f"{reader.path}, row {row.n}", found, "an outcome's contents"
        )
    check_contents(row, reader.path)
    outcome = outcome_of(row.body)
    identity = reader.identity_at(row.n)
    evidence = None if row.evidence is None else unpack(row.evidence)
    signature = row.signature
    return Recalled(
        row=row,
        outcome=outcome,
        identity=identity,
        evidence=evidence,
        judged_again=None if evidence is None or identity is None else judge_again(evidence, identity.setup),
        ruled_by=_ruled_by(outcome),
        corrections=tuple(_corrections(reader, outcome, row.n)),
        signed=signature is not None and reader.key_at(row.n).signed(row.link, signature),
    )


def judged_of(outcome: Outcome, evidence: Evidence) -> Judged:
    """Give the verdict behind an outcome as the engine handed it out."""
    return Judged(outcome=outcome, verdict=evidence.verdict, readings=evidence.readings, basis=evidence.basis)


def _ruled_by(outcome: Outcome) -> str | None:
    by, who = getattr(outcome.data, "by", None), getattr(outcome.data, "who", None)
    if by in (None, "sensors"):
        return None
    return f"{by} {who}" if who else str(by)


def _corrections(reader: Rows, outcome: Outcome, n: int) -> list[Outcome]:
    if not outcome.type.startswith(("roll.", "spin.", "deal.")):
        return []
    corrections: list[Outcome] = []
    wanted = {outcome.id}
    types = (f"{outcome.type[:4]}.corrected",)
    for row in reader.rows(n + 1, n + CORRECTIONS_WITHIN, types):
        told = outcome_of(row.body) if row.body is not None else None
        data = None if told is None else told.data
        if not isinstance(data, RollCorrected | SpinCorrected | DealCorrected):
            continue
        if told is not None and data.corrects in wanted:
            corrections.append(told)
            wanted.add(told.id)
    return corrections
