"""Ask the judge again, with nothing but the evidence that was kept."""

from collections.abc import Sequence
from typing import NamedTuple

from controller.journal.evidence import Evidence
from controller.machines.setup import Setup
from controller.model.effects import Basis, Verdict
from controller.model.geometry import Wheel
from controller.model.readings import Reading
from controller.model.rulesets import SpinRules
from controller.model.verdicts import SpinVerdict
from controller.rules.cards.deal import judge_deal
from controller.rules.dice.judge import judge_on
from controller.rules.doubt import doubted, objected
from controller.rules.wheel import Learned, SpinWatch
from controller.rules.wheel.checked import CheckedWatch
from controller.rules.wheel.late_close import after_late_close, after_relaunch


class Judgement(NamedTuple):
    """The judge asked again: what it says, and how that differs from what it said then."""

    verdict: Verdict
    differences: tuple[str, ...]


def judge_again(evidence: Evidence, setup: Setup) -> Judgement | None:
    """Judge anew what was kept; None where this version has no judge for it.

    A wheel that is trusted (`revolutions: trusted_wheel`) judges itself.
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
        verdict = doubted(verdict, basis.doubt, attempts.causes if attempts else {})
    verdict = objected(verdict, basis.objection)
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


def _judge_spin(seen: Sequence[Reading], basis: Basis, wheel: Wheel, rules: SpinRules) -> SpinVerdict:
    smart = any("wheel_status" in kinds for kinds in basis.sources.values())
    watch = (CheckedWatch if smart else SpinWatch)(
        wheel, rules, Learned.from_figures(basis.learned), basis.sources
    )
    for reading in seen:
        watch.see(reading)
    verdict = watch.verdict(basis.decided_at_us, basis.called)[0]
    if basis.relaunched:
        verdict = after_relaunch(verdict, rules)
    return after_late_close(verdict, rules) if basis.late_close else verdict
