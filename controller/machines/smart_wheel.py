"""Spins of a smart wheel that a table takes at its word: its reader's states drive the round.

For a table whose rule set trusts the wheel (`revolutions: trusted_wheel`). The wheel's ball in the rim is the
launch, its own No More Bets closes the bets, its number is called when it was witnessed.
"""

from controller.machines.attempts import Attempts, Result
from controller.machines.desk import Desk
from controller.machines.flat import Refused
from controller.machines.health import Health
from controller.machines.lifecycle import SPIN
from controller.machines.spins import WheelGame
from controller.model.effects import Basis
from controller.model.geometry import Wheel
from controller.model.outcomes import Data
from controller.model.readings import Input, Reading, WheelStatus
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel import Learned
from controller.rules.wheel.wheel_word import WheelGames, WheelWord


class SmartSpins:
    """The spins of one smart wheel, from the ball in its rim to the ruling."""

    def __init__(
        self,
        game: WheelGame,
        rules: SpinRules,
        wheel: Wheel,
        desk: Desk,
        health: Health,
        *,
        calls: Calls,
        learned: Learned,
        last: int = 0,
    ) -> None:
        """Begin after spin number `last`; `learned` is kept as it is, since nothing is measured here."""
        self.learned = learned
        self.revolutions: float | None = None
        """Not counted: they are taken on the wheel's word."""
        self._game = game
        self._rules = rules
        self._wheel = wheel
        self._desk = desk
        self._health = health
        self._games = WheelGames()
        self._word: WheelWord | None = None
        self._basis = Basis(decided_at_us=0)
        self._dropped = False
        self.attempts: Attempts[str, SpinVerdict] = Attempts(
            SPIN, self, desk, calls=calls, call_hold_ms=rules.call_hold_ms, causes=rules.causes, last=last
        )

    # --- readings and timers ---

    def see(self, reading: Reading) -> None:
        """Take a reading, in time order."""
        before = self._games.last
        begins = self._games.see(reading) if isinstance(reading, WheelStatus) else None
        word = self._word
        if word is not None and (self.attempts.under_way or self.attempts.state == "held"):
            word.see(reading)
            self._after(word, reading)
        if begins is not None:
            self._begin(before, reading)

    def timer(self, name: str, t: int) -> None:
        """Take a timer of ours that is due at t."""
        if name == "hold":
            self.attempts.hold_over()
        elif name == "give_up" and self.attempts.under_way:
            self._decide(t)

    def would_launch(self, reading: Reading) -> bool:
        """Tell whether this reading begins a spin.

        Asked while the table does not play, and so that spin is known and never counts later.
        """
        return isinstance(reading, WheelStatus) and self._games.see(reading) is not None

    def launch_seen(self) -> None:
        """Begin nothing on a person's word: the wheel tells of no launch before the ball is in its rim."""

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
            self._desk.set_timer("give_up", word.give_up_at_us())

    def _decide(self, t: int) -> None:
        self._desk.stop_timer("give_up")
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

    def snapshot(self) -> object:
        """Give the game's state."""
        return self._game.snapshot()

    def restore(self, snapshot: object) -> None:
        """Put the game's state back."""
        self._game.restore(snapshot)

    def value_of(self, verdict: SpinVerdict) -> str | None:
        """Give the number seen."""
        return verdict.number

    def value_entered(self, entered: Input) -> str:
        """Give the number a person entered; raises Refused while the ball runs or for no pocket."""
        if self.attempts.under_way:
            raise Refused("result_not_in")
        return self._wheel_has(str(entered.number))

    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the present spin on what was seen so far."""
        assert self._word is not None
        self._basis = Basis(decided_at_us=t, called=called)
        return self._word.verdict(called)

    def readings(self) -> tuple[Reading, ...]:
        """Give every reading of the present spin."""
        return tuple(self._word.readings) if self._word is not None else ()

    def basis(self) -> Basis:
        """Give what the last verdict rests on beside them."""
        return self._basis

    def began(self, t: int) -> None:
        """Tell the game that a spin begins."""
        self._game.began(t)

    def call(self, result: Result[str]) -> Data:
        """Let the game apply a spin that counts."""
        return self._game.call(result)

    def no_result(self, result: Result[str]) -> Data:
        """Let the game apply a No Spin; the wheel is to be told that its game is void."""
        self._desk.stop_timer("give_up")
        return self._game.no_result(result)

    def review(self, result: Result[str]) -> Data:
        """Let the game say what a review tells."""
        self._desk.stop_timer("give_up")
        return self._game.review(result)

    def correct(self, result: Result[str], corrects: str, ruling: str) -> Data:
        """Let the game apply a correction."""
        return self._game.correct(result, corrects, ruling)

    def follow_up(self, t: int) -> None:
        """Let the game publish what follows."""
        self._game.follow_up(t)

    def _wheel_has(self, number: str) -> str:
        if number not in self._wheel.pockets_clockwise:
            says = f"set_number: this wheel has no pocket {number!r}; enter one it has"
            raise Refused("bad_argument", says)
        return number
