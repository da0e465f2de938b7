"""Recall of an attempt: its outcomes, evidence and rulings, and a second judgement of the stored evidence."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from controller.journal.chain import Row
from controller.journal.contents import Evidence, Identity, decode_outcome, unpack
from controller.journal.faults import JournalFault
from controller.journal.reading import Rows, check_contents
from controller.machines.setup import Setup
from controller.model.effects import Basis, Judged, Verdict
from controller.model.geometry import Wheel
from controller.model.outcomes import (
    ATTEMPT_KINDS,
    DealCorrected,
    Outcome,
    RollCorrected,
    SpinCorrected,
    attempt_of,
)
from controller.model.readings import Reading
from controller.model.rulesets import SpinRules
from controller.model.verdicts import SpinVerdict
from controller.rules.cards.deal import judge_deal
from controller.rules.dice.judge import judge_on
from controller.rules.doubt import with_doubt, with_objection
from controller.rules.wheel import Learned, SpinWatch
from controller.rules.wheel.judge import after_late_close, after_relaunch
from controller.rules.wheel.watch import CheckedWatch

_SLICE_ROWS = 500
_ENDINGS = ("called", "no_roll", "no_spin", "void", "review", "corrected")
_CLOSED = "bets.closed"
_NAMES = frozenset({_CLOSED, *(f"{kind}.{ending}" for kind in ATTEMPT_KINDS for ending in _ENDINGS)})


class AttemptRows(NamedTuple):
    """The rows of an attempt, in order, and the row that closed the bets before it, if there is one."""

    number: int
    rows: tuple[Row, ...]
    closed: Row | None


def find_attempt(reader: Rows, number: int | None = None, member: Row | None = None) -> AttemptRows:
    """Return the rows of one attempt: the attempt with the outcome in row `member`, attempt `number`, or by
    default the last attempt.

    Raises JournalFault if the attempt does not exist or its outcomes were pruned.
    """
    if member is not None:
        if member.body is None:
            raise _pruned_fault(reader, member)
        number = _attempt(member)
        if number is None:
            raise _no_such_outcome(
                reader, f"row {member.n}, {member.name}, which is not an outcome of a throw, spin or deal"
            )
    found: list[Row] = []
    last_n = reader.last_n() if member is None else member.n + CORRECTION_ROWS
    for row in _newest_first(reader, last_n):
        if found and row.name == _CLOSED:
            return _attempt_rows(found, row)
        attempt = _attempt(row)
        if attempt is not None and number in (None, attempt):
            number = attempt
            found.append(row)
        elif attempt is not None and found:
            break
    if not found:
        raise _no_such_outcome(
            reader, "no throw, spin or deal" + ("" if number is None else f" numbered {number}")
        )
    return _attempt_rows(found, None)


def _attempt_rows(found: list[Row], closed: Row | None) -> AttemptRows:
    number = _attempt(found[0])
    assert number is not None
    return AttemptRows(number, tuple(reversed(found)), closed)


def _attempt(row: Row) -> int | None:
    return None if row.body is None or row.seq is None else attempt_of(decode_outcome(row.body))


def _newest_first(reader: Rows, last_n: int) -> Iterator[Row]:
    while last_n > 0:
        first_n = max(last_n - _SLICE_ROWS + 1, 1)
        yield from reversed(list(reader.rows(first_n, last_n, _NAMES, evidence=True)))
        last_n = first_n - 1


def _no_such_outcome(reader: Rows, found: str) -> JournalFault:
    return JournalFault("journal_no_such_outcome", reader.path, found, "an attempt with an outcome")


def _pruned_fault(reader: Rows, row: Row) -> JournalFault:
    found = "only a digest, because the contents were pruned"
    return JournalFault(
        "journal_no_such_outcome", f"{reader.path}, row {row.n}", found, "an outcome's contents"
    )


class Judgement(NamedTuple):
    """The verdict of a second judgement, and its differences from the original verdict."""

    verdict: Verdict
    differences: tuple[str, ...]


def judge_again(evidence: Evidence, setup: Setup) -> Judgement | None:
    """Judge stored evidence again; return None if this version has no judge for it.

    A trusted wheel (`revolutions: trusted_wheel`) decides its own spins and has no judge.
    """
    throw, spin, deal = setup.ruleset.throw, setup.ruleset.spin, setup.ruleset.deal
    basis = evidence.basis
    seen = [reading for reading in evidence.readings if reading.t <= basis.decided_at_us]
    verdict: Verdict
    if evidence.throw is not None and throw is not None and setup.dice_table is not None:
        verdict = judge_on(seen, setup.dice_table, throw, basis)
    elif evidence.spin is not None and spin is not None and setup.wheel is not None:
        if spin.revolutions == "trusted_wheel":
            return None
        verdict = _judge_spin(seen, basis, setup.wheel, spin)
    elif evidence.deal is not None and deal is not None:
        verdict = judge_deal(
            seen,
            evidence.deal.seats,
            deal,
            decided_at_us=basis.decided_at_us,
            sources=basis.sources,
            called=basis.called,
        )
    else:
        return None
    if basis.doubt:
        attempts = throw or spin or deal
        verdict = with_doubt(verdict, basis.doubt, attempts.causes if attempts else {})
    verdict = with_objection(verdict, basis.objection)
    return Judgement(verdict, differences(evidence.verdict, verdict))


def differences(original: Verdict, current: Verdict) -> tuple[str, ...]:
    """Return a description of each field in which two verdicts differ."""
    if type(original) is not type(current):
        return (f"originally a {type(original).__name__}, now a {type(current).__name__}",)
    return tuple(
        f"{name}: originally {getattr(original, name)!r}, now {getattr(current, name)!r}"
        for name in original.__struct_fields__
        if getattr(original, name) != getattr(current, name)
    )


def _judge_spin(seen: Sequence[Reading], basis: Basis, wheel: Wheel, rules: SpinRules) -> SpinVerdict:
    smart = any("wheel_status" in kinds for kinds in basis.sources.values())
    watch = (CheckedWatch if smart else SpinWatch)(
        wheel, rules, Learned.from_figures(basis.learned), basis.sources
    )
    for reading in seen:
        watch.receive(reading)
    verdict = watch.verdict(basis.decided_at_us, basis.called)[0]
    if basis.relaunched:
        verdict = after_relaunch(verdict, rules)
    return after_late_close(verdict, rules) if basis.late_close else verdict


CORRECTION_ROWS = 2000
"""Number of later rows searched for corrections. Only recent attempts can be corrected."""


class RecalledOutcome(NamedTuple):
    """One outcome with its evidence, rulings, corrections and signature."""

    row: Row
    outcome: Outcome
    identity: Identity | None
    evidence: Evidence | None
    """None if there is no evidence, or if the evidence was pruned (`row.evidence_digest` is then set)."""
    judged_again: Judgement | None
    """None if there is no evidence or no identity, or if this version has no judge for the evidence."""
    ruled_by: str | None
    """The role of the person who ruled, and the person's name if recorded; `nobody` if the attempt became
    void without a ruling; None if the sensors decided."""
    corrections: tuple[Outcome, ...]
    signed: bool

    @property
    def judged(self) -> Judged | None:
        """The verdict and its evidence as reported by the engine; None if there is no evidence."""
        return None if self.evidence is None else build_judged(self.outcome, self.evidence)


def recall(reader: Rows, outcome_id: str) -> RecalledOutcome:
    """Return an outcome by its id, with its evidence, rulings and corrections.

    Raises JournalFault if no outcome has this id, or if the outcome was pruned or its row does not match its
    digests.
    """
    row = reader.find(outcome_id)
    if row.body is None:
        raise _pruned_fault(reader, row)
    check_contents(row, reader.path)
    outcome = decode_outcome(row.body)
    identity = reader.identity_at(row.n)
    evidence = None if row.evidence is None else unpack(row.evidence)
    signature = row.signature
    return RecalledOutcome(
        row=row,
        outcome=outcome,
        identity=identity,
        evidence=evidence,
        judged_again=None if evidence is None or identity is None else judge_again(evidence, identity.setup),
        ruled_by=_ruled_by(outcome),
        corrections=tuple(_corrections(reader, outcome, row.n)),
        signed=signature is not None and reader.key_at(row.n).verify(row.link, signature),
    )


def build_judged(outcome: Outcome, evidence: Evidence) -> Judged:
    """Return the verdict of an outcome as reported by the engine."""
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
    for row in reader.rows(n + 1, n + CORRECTION_ROWS, types):
        published = decode_outcome(row.body) if row.body is not None else None
        data = None if published is None else published.data
        if not isinstance(data, RollCorrected | SpinCorrected | DealCorrected):
            continue
        if published is not None and data.corrects in wanted:
            corrections.append(published)
            wanted.add(published.id)
    return corrections
