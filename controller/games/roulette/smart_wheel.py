"""Spins of a smart wheel that a table takes at its word: its reader's states drive the round.

For a table whose rule set trusts the wheel (`revolutions: trusted_wheel`). The wheel's ball in the rim is the
launch, its own No More Bets closes the bets, its number is called when it was witnessed.
"""

from collections.abc import Sequence

from controller.games.roulette.wheel_spins import WheelSpins
from controller.model.effects import Basis
from controller.model.readings import Reading, WheelStatus
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel.wheel_word import WheelWord


class SmartSpins(WheelSpins):
    """The spins of one smart wheel, from the ball in its rim to the ruling."""

    launch_told_by = "wheel_status"

    _word: WheelWord | None = None
    _dropped = False

    # --- readings and timers ---

    def see(self, reading: Reading) -> None:
        """Handle a reading, in time order."""
        before = self.games.last
        begins = self.games.see(reading) if isinstance(reading, WheelStatus) else None
        word = self._word
        if word is not None and (self.attempts.under_way or self.attempts.state == "held"):
            word.see(reading)
            self._after(word, reading)
        if begins is not None:
            self._begin(before, reading)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer of ours that is due at t."""
        if name == "hold":
            self.attempts.hold_over()
        elif name == "give_up" and self.attempts.under_way:
            self._decide(t)

    def would_launch(self, reading: Reading) -> bool:
        """Return whether this reading begins a spin.

        Asked while the table does not play, and so that spin is known and never counts later.
        """
        return isinstance(reading, WheelStatus) and self.games.see(reading) is not None

    def launch_seen(self, t: int) -> None:
        """Begin nothing on a person's word: the wheel tells of no launch before the ball is in its rim."""

    @property
    def revolutions(self) -> float | None:
        """Not counted: they are taken on the wheel's word."""
        return None

    def _begin(self, before: WheelStatus | None, reading: Reading) -> None:
        if self.attempts.state == "held":
            self.attempts.hold_over()
        self.attempts.begin(reading.t)
        word = WheelWord(self._wheel.pockets_clockwise, self._rules, before)
        self._word = word
        self._dropped = False
        down = self._health.down.get(reading.dev)
        for seen in (reading,) if down is None else (down, reading):
            word.see(seen)
        self._after(word, reading)

    def _after(self, word: WheelWord, reading: Reading) -> None:
        if word.closed_by is reading:
            self._game.no_more_bets(reading.t)
        if not self.attempts.under_way:
            if word.verdict().ruling is not Ruling.VALID:
                self._decide(reading.t)
        elif word.decided_by is not None:
            self._decide(word.decided_by.t)
        else:
            self._agenda.set_timer("give_up", word.give_up_at_us())

    def _decide(self, t: int) -> None:
        self._stop_timers()
        self._basis = Basis(decided_at_us=t)
        word = self._word
        assert word is not None
        verdict = word.verdict()
        if not self.attempts.ending and verdict.ruling is not Ruling.VOID:
            self._close(word, t)
        self.attempts.judged(t, verdict)

    def _close(self, word: WheelWord, t: int) -> None:
        """Close the bets that are still open: the ball has dropped, or a person must rule first."""
        if self._dropped:
            return
        if word.number is None:
            self._game.no_more_bets(t, "wheel_fault")
            return
        self._dropped = True
        self._game.dropped(t)

    # --- what the life-cycle asks of its game ---

    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the present spin on what was seen so far."""
        assert self._word is not None
        self._basis = Basis(decided_at_us=t, called=called)
        return self._word.verdict(called)

    @property
    def _seen(self) -> Sequence[Reading]:
        return self._word.readings if self._word is not None else ()

    def _runs(self, t: int) -> bool:
        del t
        return True
