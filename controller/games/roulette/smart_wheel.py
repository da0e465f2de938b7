"""Spins of a smart wheel that a table takes at its word: its reader's states drive the round.

For a table whose rule set trusts the wheel (`revolutions: trusted_wheel`). The wheel's ball in the rim is the
launch, its own No More Bets closes the bets, its number is called when it was witnessed.
"""

from collections.abc import Sequence

from controller.games.roulette.wheel_spins import WheelSpins
from controller.model.effects import Basis
from controller.model.readings import Reading, WheelStatus
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel.smart_wheel_game import WheelWord

SILENCE_US = 1_000_000
"""The wheel tells its state twice a second: whoever heard nothing for so long may have missed two."""
IN_ONE_GO_US = 250_000
"""States that follow each other sooner than the wheel tells them come in one go: a cable stood still."""


class SmartSpins(WheelSpins):
    """The spins of one smart wheel, from the ball in its rim to the ruling."""

    launch_told_by = "wheel_status"

    _word: WheelWord | None = None
    _dropped = False
    # --- readings and timers ---

    def see(self, reading: Reading) -> None:
        """Handle a reading, in time order."""
        before = self.games.last
        if isinstance(reading, WheelStatus):
            self._note_pause(reading.t)
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
            self._game.no_more_bets(self._closed_by_us(reading.t))
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
        closed_us = self._closed_by_us(t)
        if word.number is None:
            self._game.no_more_bets(closed_us, "wheel_fault")
            return
        self._dropped = True
        self._game.dropped(closed_us if self._game.bets_open else t)

    def _note_pause(self, t: int) -> None:
        last = self.games.last
        if last is None:
            return
        if t - last.t > SILENCE_US:
            self.games.before_silence_us = last.t
        elif t - last.t > IN_ONE_GO_US:
            self.games.before_silence_us = None

    def _closed_by_us(self, t: int) -> int:
        """Return the moment as of which bets close that the wheel is heard to have closed by t (R-SPIN-3).

        Its states have no time of their own. What comes after a silence may be as old as that: the table's
        word was given meanwhile, to people who saw the wheel.
        """
        if self.games.before_silence_us is not None:
            return self.games.before_silence_us
        last = self.games.last
        return t if last is None or t - last.t <= SILENCE_US else last.t

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
