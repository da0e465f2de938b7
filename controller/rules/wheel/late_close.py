"""The policy for a spin whose bets were still open at the drop (R-SPIN-3)."""

import msgspec

from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict

SEEN = "bets were still open when the ball dropped"


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
