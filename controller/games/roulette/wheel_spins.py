"""What the spins of every wheel share, and the spins of a smart wheel whose report is trusted.

A smart wheel's states drive the round at a table whose rule set trusts it (`revolutions: trusted_wheel`). The
wheel's ball in the rim is the launch, its own No More Bets closes the bets, its number is called when it was
witnessed.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import InputRefused
from controller.machines.health import Health
from controller.machines.lifecycle import SPIN, Decided, Results
from controller.model.effects import Basis
from controller.model.geometry import Wheel
from controller.model.readings import Input, Reading, WheelStatus
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Reason, Ruling, SpinVerdict
from controller.rules.wheel import Learned
from controller.rules.wheel.smart_wheel_game import WheelGames, WheelHeard, WheelWord

HIDES_A_SPIN_US = 2_000_000
"""Shorter than any ball's run from the hand to its pocket: a wheel that was unobserved for less than this
hid none.
"""


class WheelGame(Results[str], Protocol):
    """What a wheel game does with its spins."""

    @property
    def bets_open(self) -> bool:
        """Whether bets can still be placed."""

    def no_more_bets(self, t: int, cause: str = "ball_speed") -> None:
        """Close the bets: the ball is about to drop, or a person must rule first."""

    def dropped(self, t: int) -> None:
        """Handle the ball's drop from the track."""

    def rule(self, entered: Input) -> None:
        """Handle a ruling on the present or the last spin; raises InputRefused if there is none."""


class WheelSpins(ABC):
    """The spins of one wheel as their life-cycle and the table's people know them."""

    last_entry: Input | None = None
    """None: a spin is seen only by sensors."""

    launch_reported_by: ClassVar[str]
    """The kind of reading without which a launch is not noticed."""

    def __init__(
        self,
        game: WheelGame,
        rules: SpinRules,
        wheel: Wheel,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        learned: Learned,
        heard: WheelHeard | None = None,
        last: int = 0,
    ) -> None:
        """Begin after spin number `last`, knowing what was learned of the wheel and what a smart one
        reported.
        """
        self.learned = learned
        self.games = WheelGames(heard)
        self._game = game
        self._rules = rules
        self._wheel = wheel
        self._agenda = agenda
        self._health = health
        self._basis = Basis(decided_at_us=0)
        self.late_pulse_us = 0
        """When a track beam was cut while no spin was open, reported too late to count."""
        self.attempts: Attempts[str, SpinVerdict] = Attempts(
            SPIN, game, self, agenda, rules, calls=calls, last=last
        )

    # --- what the game asks ---

    @abstractmethod
    def see(self, reading: Reading) -> None:
        """Handle a reading, in time order."""

    @abstractmethod
    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at t."""

    @abstractmethod
    def would_launch(self, reading: Reading) -> bool:
        """Return whether this reading could begin a spin.

        Asked while the table does not play, and so that spin is known and never counts later.
        """

    def turn_away_late(self, reading: Reading) -> bool:
        """Record a late reading from while the table was not in play; return whether it may begin a spin.

        Nothing by default: a smart wheel's reports have no time other than their arrival.
        """
        del reading
        return False

    @abstractmethod
    def launch_seen(self, t: int) -> None:
        """Begin the spin of which only the first signs were seen by t: a person refers to it."""

    def hold_no_spin(self, entered: Input) -> bool:
        """Hold a No Spin that is called before a ball is seen; return whether it is held."""
        del entered
        return False

    @property
    @abstractmethod
    def revolutions(self) -> float | None:
        """How far the present spin's ball provably ran in the track; None if that is not counted."""

    def ruling_is_for_last(self, ruling: Input, *, new_round: bool) -> None:
        """Check that a ruling after the call is for the spin that was decided last.

        `new_round` tells that the dealer has closed or opened bets since then. `what` names the spin.

        Raises:
            InputRefused: it may be for a spin that nobody saw, or names another one.
        """
        attempts, number = self.attempts, self.attempts.number
        if ruling.what is not None:
            attempts.require_attempt(ruling)
            return
        corrects = attempts.state == "called" or (
            attempts.state == SPIN.void and ruling.name == SPIN.set_result
        )
        seen = self._sign_of_another(ruling.t, new_round=new_round) if corrects else None
        if seen is not None:
            says = (
                f"{seen} since spin {number} was decided, so this may be for a spin that nobody saw: "
                f"to rule on spin {number} add what={number}; what no sensor saw is spun again"
            )
            raise InputRefused("which_spin", says)

    def _sign_of_another(self, t: int, *, new_round: bool) -> str | None:
        """Return the evidence that another spin may have been launched since the last was decided."""
        if new_round:
            return "bets were closed or opened by hand"
        if self.late_pulse_us > self.attempts.over_us:
            return "a cut track beam was reported too late"
        if self.attempts.away:
            return "the controller was restarted"
        for since_us, until_us, dev in self._health.absences(t):
            kinds = self._health.sources.get(dev)
            hidden_us = until_us - max(since_us, self.attempts.over_us)
            if hidden_us >= HIDES_A_SPIN_US and (kinds is None or self.launch_reported_by in kinds):
                return f"{dev} was down for {hidden_us / 1e6:.1f} s"
        return None

    def _stop_timers(self) -> None:
        for name in ("no_more_bets", "give_up"):
            self._agenda.stop_timer(name)

    # --- what the life-cycle asks ---

    @abstractmethod
    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the present spin on what was seen up to t."""

    @property
    @abstractmethod
    def _seen(self) -> Sequence[Reading]:
        """Every reading of the present spin."""

    @abstractmethod
    def _runs(self, t: int) -> bool:
        """Return whether the ball is known to run, so that nobody can say yet where it lies."""

    def value_of(self, verdict: SpinVerdict) -> str | None:
        """Return the number seen."""
        return verdict.number

    def value_entered(self, entered: Input) -> str:
        """Return the number a person entered; raises InputRefused while the ball runs or for no pocket."""
        if not self.result_can_be_entered(entered.t):
            raise InputRefused("result_not_in")
        number = str(entered.number)
        if number not in self._wheel.pockets_clockwise:
            says = f"set_number: this wheel has no pocket {number!r}; enter one it has"
            raise InputRefused("bad_argument", says)
        return number

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether the ball is at rest, as far as is known at t."""
        return not (self.attempts.under_way and self._runs(t))

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the present spin."""
        return tuple(self._seen)

    def basis(self) -> Basis:
        """Return what the last verdict rests on apart from the readings."""
        return self._basis

    def decided(self, decided: Decided) -> None:
        """Stop waiting for the drop or the number of a spin that is void or under review."""
        if decided != "called":
            self._stop_timers()


SILENCE_US = 1_000_000
"""The wheel reports its state twice a second: after this long without a report two may be missing."""
IN_ONE_GO_US = 250_000
"""States that arrive faster than the wheel sends them were held back in the cable."""


class SmartSpins(WheelSpins):
    """The spins of one smart wheel, from the ball in its rim to the ruling."""

    launch_reported_by = "wheel_status"

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
        """Handle a timer that is due at t."""
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
        """Begin nothing on a person's input: the wheel reports no launch before the ball is in its rim."""

    @property
    def revolutions(self) -> float | None:
        """None: they are not counted, but taken from the wheel's report."""
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
        """Return the time as of which bets close when the wheel is heard by t to have closed them
        (R-SPIN-3). Its states carry no time of their own. What comes after a silence may be as old as the
        silence: bets were accepted meanwhile, from people who could see the wheel.
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
