"""Readings that came too late to count: if they would change a verdict, a person decides.

A verdict that rests on something not seen is only as good as the lines that came in time (a reading beyond
the watermark never changes what was published, but it is not ignored either).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from controller.model.effects import Basis
from controller.model.readings import Reading, kind_of
from controller.model.verdicts import DealVerdict, Reason, Ruling, SpinVerdict, ThrowVerdict

V = TypeVar("V", bound=ThrowVerdict | SpinVerdict | DealVerdict)
Judge = Callable[[Sequence[Reading]], V]
"""Judges an attempt on these readings, in time order."""


def judge_with_late(
    judge: Judge[V], readings: Sequence[Reading], basis: Basis, causes: Mapping[str, str]
) -> V:
    """Judge an attempt with and without what came too late: if the verdicts differ, it is a review.

    A person's call stands.
    """
    verdict = judge(readings)
    if basis.called is not None or not basis.late:
        return verdict
    if verdict.ruling is not Ruling.REVIEW:
        with_late = judge(sorted((*readings, *basis.late), key=lambda reading: reading.t))
        if _worth(with_late) == _worth(verdict):
            return verdict
    return doubted(verdict, _came_late(basis.late), causes)


def doubted(verdict: V, seen: str, causes: Mapping[str, str]) -> V:
    """Send a verdict to a person, listing what speaks against it before what the review asks anyway."""
    return _reviewed(
        verdict, Reason(code="missing_reading", rule=causes.get("missing_reading", ""), seen=seen)
    )


def objected(verdict: V, objection: Reason | None) -> V:
    """Send a result that would count to a person if something speaks against it."""
    if objection is None or verdict.ruling is not Ruling.VALID:
        return verdict
    return _reviewed(verdict, objection)


def _reviewed(verdict: V, reason: Reason) -> V:
    others = verdict.reasons if verdict.ruling is Ruling.REVIEW else ()
    rule = f" ({reason.rule})" if reason.rule else ""
    further = f". {verdict.sentence.removeprefix('Review: ')}" if others else ""
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.REVIEW,
        reasons=(reason, *others),
        sentence=f"Review: {reason.seen}{rule}{further}",
    )


def _worth(verdict: ThrowVerdict | SpinVerdict | DealVerdict) -> tuple[object, ...]:
    """Return what a verdict means for the table: two with the same worth lead to the same call."""
    match verdict:
        case ThrowVerdict():
            result: object = (verdict.dice, verdict.warning)
        case SpinVerdict():
            result = verdict.number
        case DealVerdict():
            result = verdict.dealt
    called = result if verdict.ruling is Ruling.VALID else None
    return verdict.ruling, called, frozenset(reason.code for reason in verdict.reasons)


def _came_late(late: Sequence[Reading]) -> str:
    kinds = sorted({f"{kind_of(reading)} of {reading.dev}" for reading in late})
    count = "a reading" if len(late) == 1 else f"{len(late)} readings"
    return f"{count} came too late to count ({', '.join(kinds)})"
