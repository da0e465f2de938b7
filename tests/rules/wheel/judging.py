"""Helpers that judge simulated spins."""

from collections.abc import Sequence
from dataclasses import dataclass

from controller.model.readings import BallBeam, ForeignObject, PocketBall, Reading, RotorIndex
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, SpinVerdict
from controller.rules.wheel import INDEX_PASSES_KEPT, Learned, Sources, SpinWatch, judge_spin
from tests.rules.wheel.simulator import Scene, Spin, spin

RULES = SpinRules()
KNOWN = Learned(spins=10.0, drop_rev_per_s=0.5, deceleration_rev_per_s2=0.05, pocket_reader_works=1.0)
"""A wheel that has been in play."""
PLAIN = spin(Scene())
"""A valid spin."""
CALLED = Reason(code="called", rule="R-IRR-1", seen="the dealer called No Spin")


def as_kept(readings: Sequence[Reading]) -> list[Reading]:
    """Return the readings that a table keeps: some from before the first pulse, and all later ones."""
    first = next((i for i, r in enumerate(readings) if isinstance(r, BallBeam)), len(readings))
    marks = [r for r in readings[:first] if isinstance(r, RotorIndex)]
    others = [r for r in readings[:first] if not isinstance(r, RotorIndex)]
    return [*others, *marks[-INDEX_PASSES_KEPT:], *readings[first:]]


def judged(
    spin: Spin,
    readings: Sequence[Reading] | None = None,
    *,
    rules: SpinRules = RULES,
    learned: Learned = KNOWN,
    until_us: int | None = None,
    called: Reason | None = None,
    sources: Sources | None = None,
) -> SpinVerdict:
    """Judge a spin by all its readings. The default decision time is that of the last reading."""
    seen = as_kept(spin.readings if readings is None else readings)
    return judge_spin(
        seen,
        spin.scene.wheel,
        rules,
        decided_at_us=seen[-1].t if until_us is None else until_us,
        learned=learned,
        called=called,
        sources=sources,
    )


def codes(verdict: SpinVerdict) -> list[str]:
    return [reason.code for reason in verdict.reasons]


@dataclass
class Played:
    """The result of a spin that a table watched live."""

    watch: SpinWatch
    verdict: SpinVerdict
    learned: Learned
    decided_us: int
    closed_us: int | None
    """The time of No More Bets."""


def played(
    spin: Spin,
    readings: Sequence[Reading] | None = None,
    *,
    rules: SpinRules = RULES,
    learned: Learned = KNOWN,
) -> Played:
    """Pass a spin's readings to a watch as a table does. The first decision is the result."""
    watch = SpinWatch(spin.scene.wheel, rules, learned)
    closing_us: int | None = None
    closed_us: int | None = None
    give_up_us: int | None = None
    for reading in as_kept(spin.readings if readings is None else readings):
        if closed_us is None and closing_us is not None and closing_us <= reading.t:
            closed_us = closing_us
        if give_up_us is not None and give_up_us < reading.t:
            break
        watch.receive(reading)
        if isinstance(reading, BallBeam):
            due_us = watch.no_more_bets_at_us()
            closing_us = None if due_us is None else max(due_us, reading.t)
        give_up_us = watch.give_up_at_us()
        if watch.decided_by is not None:
            give_up_us = watch.decided_by.t
            break
    assert give_up_us is not None
    verdict, after = watch.verdict(give_up_us)
    return Played(watch, verdict, after, give_up_us, closed_us)


def pocket_read(t: int) -> PocketBall:
    return PocketBall(t=t, dev="wheel")


def object_at(t: int, where: str) -> ForeignObject:
    return ForeignObject(t=t, dev="wheel", where=where)
