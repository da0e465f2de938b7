"""What the course of play makes of a verdict: bets still open at the drop (R-SPIN-3), the next ball too
soon."""

import msgspec

from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict

SEEN = "bets were still open when the ball dropped"
UNRULED = "the ball was sent off again before anybody could rule on it"


def after_late_close(verdict: SpinVerdict, rules: SpinRules) -> SpinVerdict:
    """Apply the rule set's policy to the verdict on such a spin; only a valid one is changed by it."""
    if verdict.ruling is not Ruling.VALID or rules.late_close == "valid":
        return verdict
    void = rules.late_close == "void"
    reason = Reason(code="late_close", rule=rules.causes.get("late_close", "R-SPIN-3"), seen=SEEN)
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.VOID if void else Ruling.REVIEW,
        sentence=f"{'No Spin' if void else 'Review'}: {SEEN} ({reason.rule})",
        reasons=(reason,),
    )


def after_relaunch(verdict: SpinVerdict, rules: SpinRules) -> SpinVerdict:
    """Return the verdict on a spin that the next launch ended: a review that nobody can rule on is a No
    Spin."""
    if verdict.ruling is not Ruling.REVIEW:
        return verdict
    unruled = Reason(code="unruled", rule=rules.causes.get("unruled", "!R-8"), seen=UNRULED)
    reasons = (*verdict.reasons, unruled)
    says = "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons)
    return msgspec.structs.replace(verdict, ruling=Ruling.VOID, reasons=reasons, sentence=f"No Spin: {says}")
