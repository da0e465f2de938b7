"""Ask the judge again, with nothing but the evidence that was kept."""

from typing import NamedTuple

from controller.engine.setup import Setup
from controller.journal.evidence import Evidence
from controller.model.effects import Verdict
from controller.model.geometry import Wheel
from controller.model.readings import BallOut, DieOffTable, DieRest, ForeignObject, PocketBall, WheelStatus
from controller.model.rulesets import SpinRules
from controller.model.verdicts import SpinVerdict
from controller.rules.dice.judge import judge_throw
from controller.rules.wheel import Learned, SpinWatch
from controller.rules.wheel.checked import CheckedWatch
from controller.rules.wheel.late_close import after_late_close


class Judgement(NamedTuple):
    """The judge asked again: what it says, and how that differs from what it said then."""

    verdict: Verdict
    differences: tuple[str, ...]


def judge_again(evidence: Evidence, setup: Setup) -> Judgement | None:
    """Judge anew what was kept; None where this version has no judge for it.

    A wheel that is trusted (`revolutions: trusted_wheel`) judges itself: its word is kept, not its reasons.
    """
    throw, spin = setup.ruleset.throw, setup.ruleset.spin
    verdict: Verdict
    if evidence.throw is not None and throw is not None and setup.dice_table is not None:
        ends = [r.t for r in evidence.readings if isinstance(r, DieRest | DieOffTable)]
        at_us = max(ends, default=0) if evidence.decided_at_us is None else evidence.decided_at_us
        verdict = judge_throw(
            evidence.readings,
            setup.dice_table,
            throw,
            decided_at_us=at_us,
            warnings=evidence.warnings,
            sources=evidence.known_sources,
        )
    elif evidence.spin is not None and spin is not None and setup.wheel is not None:
        if spin.revolutions == "trusted_wheel":
            return None
        verdict = _judge_spin(evidence, setup.wheel, spin)
    else:
        return None
    return Judgement(verdict, differences(evidence.verdict, verdict))


def differences(then: Verdict, now: Verdict) -> tuple[str, ...]:
    """Say in words where two verdicts differ."""
    if type(then) is not type(now):
        return (f"a {type(then).__name__} then, a {type(now).__name__} now",)
    return tuple(
        f"{name}: then {getattr(then, name)!r}, now {getattr(now, name)!r}"
        for name in then.__struct_fields__
        if getattr(then, name) != getattr(now, name)
    )


def _judge_spin(evidence: Evidence, wheel: Wheel, rules: SpinRules) -> SpinVerdict:
    sources = evidence.known_sources
    smart = any("wheel_status" in kinds for kinds in sources.values())
    watch = (CheckedWatch if smart else SpinWatch)(
        wheel, rules, Learned.from_figures(evidence.learned), sources
    )
    verdict = _at(watch, evidence, evidence.decided_at_us) or _when_decided(watch, evidence)
    return after_late_close(verdict, rules) if evidence.late_close else verdict


def _at(watch: SpinWatch, evidence: Evidence, decided_at_us: int | None) -> SpinVerdict | None:
    if decided_at_us is None:
        return None
    for reading in evidence.readings:
        if reading.t <= decided_at_us:
            watch.see(reading)
    return watch.verdict(decided_at_us)[0]


def _when_decided(watch: SpinWatch, evidence: Evidence) -> SpinVerdict:
    """Judge when the readings decide, and anew where one seen during the call's hold may change it."""
    verdict: SpinVerdict | None = None
    for reading in evidence.readings:
        watch.see(reading)
        if verdict is not None:
            if isinstance(reading, PocketBall | BallOut | ForeignObject | WheelStatus):
                verdict = watch.verdict(reading.t)[0]
        elif watch.decided_by is not None:
            verdict = watch.verdict(watch.decided_by.t)[0]
    return verdict or watch.verdict(evidence.readings[-1].t if evidence.readings else 0)[0]
