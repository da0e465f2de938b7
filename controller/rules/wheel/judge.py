"""The ruling on a spin. Every rule is checked, and every cause of the ruling is listed with its evidence.

Conclusive grounds for a No Spin outrank causes of a review, which are then omitted. A ground that is based on
missing readings is conclusive only if every device that should have sent them was working.
"""

from collections.abc import Sequence
from math import isfinite

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import TURNING_IN_WORDS, DeviceDown, DeviceFault, DeviceUp, Reading
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel import causes
from controller.rules.wheel.ball import BallRun
from controller.rules.wheel.causes import Case, time_of
from controller.rules.wheel.devices import Sources
from controller.rules.wheel.learned import Learned, measure_losses, times_to_drop
from controller.rules.wheel.trace import SpinTrace, lap_before, laps

_MIN_PULSES_TO_LEARN = 6
"""Minimum passes of a run from which the drop speed is learned. They cover at least a lap of a wheel with up
to five beams."""
_LAP_SEPARATION_TURNS = 0.95
"""Turns between the two laps whose loss of speed is measured."""
_LATE_CLOSE = "bets were still open when the ball dropped"
_UNRULED = "the ball was launched again before anybody could rule on this spin"


def judge_spin(
    readings: Sequence[Reading],
    wheel: Wheel,
    rules: SpinRules,
    *,
    decided_at_us: int,
    learned: Learned,
    called: Reason | None = None,
    sources: Sources | None = None,
) -> SpinVerdict:
    """Rule on one spin from its readings up to `decided_at_us`.

    `readings` are in time order: first the `device_down` readings still in force and the last
    `INDEX_PASSES_KEPT` index passes before the spin, then all readings from its first `ball_beam` on.
    `called` is a person's No Spin, which is listed with the grounds that were conclusive at that time.
    `sources` lists the kinds of readings that each device sends; an unlisted device is assumed to matter.

    Readings of other kinds, readings after the decision and implausible readings are ignored.
    """
    return judge_and_learn(
        readings, wheel, rules, decided_at_us=decided_at_us, learned=learned, called=called, sources=sources
    )[0]


def judge_and_learn(
    readings: Sequence[Reading],
    wheel: Wheel,
    rules: SpinRules,
    *,
    decided_at_us: int,
    learned: Learned,
    called: Reason | None = None,
    sources: Sources | None = None,
) -> tuple[SpinVerdict, Learned]:
    """Rule on a spin as `judge_spin` does; return the verdict and the updated learned values."""
    seen = [reading for reading in sorted(readings, key=time_of) if reading.t <= decided_at_us]
    trace = SpinTrace(wheel, rules, learned, sources)
    for reading in seen:
        trace.receive(reading)
    return judge_trace(trace, seen, decided_at_us, called)


def judge_trace(
    trace: SpinTrace, seen: Sequence[Reading], decided_at_us: int, called: Reason | None
) -> tuple[SpinVerdict, Learned]:
    """Rule on a spin that has been traced; `seen` holds its readings, none later than the decision."""
    case = Case(trace, trace.ball(), seen, decided_at_us)
    evidence = tuple(seen)
    if not _EVIDENCE.issuperset(map(type, evidence)):
        evidence = tuple([reading for reading in evidence if type(reading) in _EVIDENCE])
    verdict = _rule_on(case, called, evidence)
    return verdict, _learn(case)


def is_void(trace: SpinTrace, seen: Sequence[Reading], now_us: int) -> bool:
    """Return whether the traced readings make a No Spin certain."""
    case = Case(trace, trace.ball(), seen, now_us)
    return any(rule(case) is not None for rule in causes.NO_SPIN_RULES)


_EVIDENCE = frozenset({*causes.SENSED, DeviceDown, DeviceFault, DeviceUp})


def _rule_on(case: Case, called: Reason | None, evidence: tuple[Reading, ...]) -> SpinVerdict:
    voids = [reason for rule in causes.NO_SPIN_RULES if (reason := rule(case)) is not None]
    if called is not None:
        voids.insert(0, called)
    reviews = [reason for rule in causes.REVIEW_RULES if (reason := rule(case)) is not None]
    confirmed = case.trace.pockets.confirmed
    number = None if confirmed is None else confirmed.number
    if voids:
        ruling, reasons = Ruling.VOID, voids
    elif reviews:
        ruling, reasons = Ruling.REVIEW, reviews
    else:
        ruling, reasons = Ruling.VALID, []
    ball = case.ball
    return SpinVerdict(
        ruling=ruling,
        sentence=_sentence(case, ruling, number, reasons),
        number=number,
        revolutions=None if ball is None else round(ball.turns, 3),
        revolutions_from=None if ball is None else round(ball.turns_from, 3),
        revolutions_to=None if not isfinite(case.max_turns) else round(case.max_turns, 3),
        reasons=tuple(reasons),
        notices=tuple(causes.notices(case)),
        evidence=evidence,
    )


def _sentence(case: Case, ruling: Ruling, number: str | None, reasons: Sequence[Reason]) -> str:
    if ruling is not Ruling.VALID:
        head = "No Spin" if ruling is Ruling.VOID else "Review"
        return f"{head}: " + "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons)
    assert case.ball is not None
    ball, rotor = case.ball.direction, case.rotor_direction
    assert ball is not None
    assert rotor is not None
    reads = case.trace.pockets.agreeing
    return (
        f"{number}: the ball ran {TURNING_IN_WORDS[ball]} against the {TURNING_IN_WORDS[rotor]} rotor"
        f" (R-SPIN-1) for {case.turns_seen()} (R-SPIN-2), and {len(reads)} pocket readings on as many turns"
        " agree (R-SPIN-4)"
    )


def _learn(case: Case) -> Learned:
    learned, trace, ball = case.learned, case.trace, case.ball
    if (
        ball is not None
        and case.drop_fits
        and not ball.silent_s
        and len(ball.passes) >= _MIN_PULSES_TO_LEARN
        and not trace.foreign
    ):
        left_s = times_to_drop(
            [(at_us / 1e6, speed) for at_us, speed in laps(ball.passes)], ball.end_us / 1e6
        )
        losses = measure_losses([(at_us / 1e6, speed) for at_us, speed in _separate_laps(ball)])
        speed = trace.drop_speed(ball) or ball.end_speed
        learned = learned.after_drop(speed, trace.slowing.loss(speed), losses, left_s)
    if trace.pockets.seen:
        return learned.after_reads(missed=trace.pockets.missed)
    return learned.after_silence() if case.silent_turns_passed else learned


def _separate_laps(ball: BallRun) -> list[tuple[float, float]]:
    """Return laps far enough apart for the loss of speed between two of them to exceed its error."""
    separate: list[tuple[float, float]] = []
    due = 0.0
    for at in ball.passes:
        if at.turns >= due and (lap := lap_before(at)) is not None:
            separate.append(lap)
            due = at.turns + _LAP_SEPARATION_TURNS
    return separate


def after_late_close(verdict: SpinVerdict, rules: SpinRules) -> SpinVerdict:
    """Apply the rule set's policy for bets that were open at the drop; only a valid verdict changes."""
    if verdict.ruling is not Ruling.VALID or rules.late_close == "valid":
        return verdict
    void = rules.late_close == "void"
    reason = Reason(code="late_close", rule=rules.causes.get("late_close", "R-SPIN-3"), seen=_LATE_CLOSE)
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.VOID if void else Ruling.REVIEW,
        sentence=f"{'No Spin' if void else 'Review'}: {_LATE_CLOSE} ({reason.rule})",
        reasons=(reason,),
    )


def after_relaunch(verdict: SpinVerdict, rules: SpinRules) -> SpinVerdict:
    """Return the verdict on a spin that the next launch ended.

    A review becomes a No Spin, because nobody can rule on it any more.
    """
    if verdict.ruling is not Ruling.REVIEW:
        return verdict
    unruled = Reason(code="unruled", rule=rules.causes.get("unruled", "!R-8"), seen=_UNRULED)
    reasons = (*verdict.reasons, unruled)
    causes_in_words = "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons)
    return msgspec.structs.replace(
        verdict, ruling=Ruling.VOID, reasons=reasons, sentence=f"No Spin: {causes_in_words}"
    )
