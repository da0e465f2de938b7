"""Readings that arrive too late to be used. If they would change a verdict, the attempt goes to review.

A verdict based on the absence of a reading is only as reliable as the delivery of readings. The watermark is
the time up to which all readings are assumed to have arrived. A reading that arrives after the watermark has
passed its time does not change what was published, but it can cause a review.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from controller.model.effects import Basis
from controller.model.readings import Reading, kind_of
from controller.model.verdicts import DealVerdict, Reason, Ruling, SpinVerdict, ThrowVerdict

V = TypeVar("V", bound=ThrowVerdict | SpinVerdict | DealVerdict)
Judge = Callable[[Sequence[Reading]], V]
"""A function that judges an attempt by its readings, in time order."""


def judge_with_late(
    judge: Judge[V], readings: Sequence[Reading], basis: Basis, causes: Mapping[str, str]
) -> V:
    """Judge an attempt with and without its late readings. If the verdicts differ, return a review.

    If the verdict without them is already a review, the late readings are added to its reasons. A verdict
    that a person called is returned unchanged.
    """
    verdict = judge(readings)
    if basis.called is not None or not basis.late:
        return verdict
    if verdict.ruling is not Ruling.REVIEW:
        with_late = judge(sorted((*readings, *basis.late), key=lambda reading: reading.t))
        if _meaning(with_late) == _meaning(verdict):
            return verdict
    return with_doubt(verdict, _describe_late(basis.late), causes)


def with_doubt(verdict: V, seen: str, causes: Mapping[str, str]) -> V:
    """Turn a verdict into a review because a reading might be missing. `seen` is the reason.

    The reasons of an earlier review are kept after the new one; other reasons are dropped.
    """
    return _turn_into_review(
        verdict, Reason(code="missing_reading", rule=causes.get("missing_reading", ""), seen=seen)
    )


def with_objection(verdict: V, objection: Reason | None) -> V:
    """Turn a valid verdict into a review if there is an objection to it."""
    if objection is None or verdict.ruling is not Ruling.VALID:
        return verdict
    return _turn_into_review(verdict, objection)


def _turn_into_review(verdict: V, reason: Reason) -> V:
    others = verdict.reasons if verdict.ruling is Ruling.REVIEW else ()
    rule = f" ({reason.rule})" if reason.rule else ""
    further = f". {verdict.sentence.removeprefix('Review: ')}" if others else ""
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.REVIEW,
        reasons=(reason, *others),
        sentence=f"Review: {reason.seen}{rule}{further}",
    )


def _meaning(verdict: ThrowVerdict | SpinVerdict | DealVerdict) -> tuple[object, ...]:
    """Return the verdict's effect on the table. Verdicts with equal effects lead to the same call."""
    match verdict:
        case ThrowVerdict():
            result: object = (verdict.dice, verdict.warning)
        case SpinVerdict():
            result = verdict.number
        case DealVerdict():
            result = verdict.dealt
    called = result if verdict.ruling is Ruling.VALID else None
    return verdict.ruling, called, frozenset(reason.code for reason in verdict.reasons)


def _describe_late(late: Sequence[Reading]) -> str:
    kinds = sorted({f"{kind_of(reading)} from {reading.dev}" for reading in late})
    count = "a reading" if len(late) == 1 else f"{len(late)} readings"
    return f"{count} arrived too late to count ({', '.join(kinds)})"
