"""A spin judged by the table's own beams, next to a smart wheel whose number must agree.

The beams judge, since a smart wheel can't prove four revolutions. But a number that the wheel contradicts, or
does not give, is not called.
"""

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import DeviceDown, DeviceUp, Reading, WheelStatus
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel.devices import Sources
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.smart_wheel_game import BALL_IN_RIM, NO_MORE_BETS, RULES, WheelWord
from controller.rules.wheel.watch import SpinWatch

WAIT_FOR_NUMBER_US = 10_000_000
"""A wheel shows its number within a few seconds of the ball's rest, for at least two rotor turns."""


class CheckedWatch(SpinWatch):
    """Follows one spin as `SpinWatch` does, and what the smart wheel reports of it."""

    def __init__(
        self, wheel: Wheel, rules: SpinRules, learned: Learned, sources: Sources | None = None
    ) -> None:
        """As for `SpinWatch`."""
        super().__init__(wheel, rules, learned, sources)
        self.word: WheelWord | None = None
        """What the wheel reports of this spin; None before it has the ball in its rim."""
        self._last_word: WheelStatus | None = None
        self._down: dict[str, DeviceDown] = {}

    @property
    def decided_by(self) -> Reading | None:
        """The reading that decided the spin, once the wheel has reported a number too."""
        by, word = super().decided_by, self.word
        if word is None or self.no_spin_by is not None:
            return by
        if by is None:
            return word.decided_by if self._beams_silent else None
        return None if word.decided_by is None else max(by, word.decided_by, key=lambda reading: reading.t)

    def see(self, reading: Reading) -> None:
        """Handle the next reading."""
        if isinstance(reading, DeviceDown):
            self._down[reading.dev] = reading
        elif isinstance(reading, DeviceUp):
            self._down.pop(reading.dev, None)
        if isinstance(reading, WheelStatus):
            if self.word is None and reading.state in (BALL_IN_RIM, NO_MORE_BETS):
                self.word = WheelWord(self._wheel.pockets_clockwise, self._rules, self._last_word)
                if reading.dev in self._down:
                    self.word.see(self._down[reading.dev])
            self._last_word = reading
        if self.word is not None:
            self.word.see(reading)
        super().see(reading)

    def give_up_at_us(self) -> int | None:
        """Return when the spin is decided without the wheel's number, or without any."""
        by, word = super().decided_by, self.word
        if by is not None:
            return by.t + WAIT_FOR_NUMBER_US
        at_us = super().give_up_at_us()
        return word.give_up_at_us() if at_us is None and word is not None else at_us

    def verdict(self, decided_at_us: int, called: Reason | None = None) -> tuple[SpinVerdict, Learned]:
        """Judge by the beams; a number that the wheel does not confirm goes to review."""
        verdict, learned = super().verdict(decided_at_us, called)
        if verdict.ruling is Ruling.VOID:
            return verdict, learned
        return _checked(verdict, self.word, self._rules), learned

    @property
    def _beams_silent(self) -> bool:
        return super().give_up_at_us() is None


def _checked(verdict: SpinVerdict, word: WheelWord | None, rules: SpinRules) -> SpinVerdict:
    number, own = None if word is None else word.number, verdict.number
    reasons: list[Reason] = []
    if word is None or word.number_by is None:
        reasons.append(_reason(rules, "missing_reading", "the smart wheel gave no number for this spin"))
    elif own is not None and own != number:
        reasons.append(_reason(rules, "conflict", f"the pocket reader saw {own}, the smart wheel {number}"))
    if word is not None and word.number_by is not None and not word.witnessed:
        reasons += word.verdict().reasons
    evidence = (*verdict.evidence, *(word.readings if word is not None else ()))
    if not reasons:
        return msgspec.structs.replace(verdict, number=own or number, evidence=_in_order(evidence))
    reasons = [*verdict.reasons, *reasons]
    return msgspec.structs.replace(
        verdict,
        ruling=Ruling.REVIEW,
        sentence="Review: " + "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons),
        number=own or number,
        reasons=tuple(reasons),
        evidence=_in_order(evidence),
    )


def _in_order(evidence: tuple[Reading, ...]) -> tuple[Reading, ...]:
    once = {id(reading): reading for reading in evidence}
    return tuple(sorted(once.values(), key=lambda reading: reading.t))


def _reason(rules: SpinRules, code: str, seen: str) -> Reason:
    return Reason(code=code, rule=rules.causes.get(code, RULES[code]), seen=seen)
