"""The base class of all spins, and the spins of a trusted smart wheel.

With `revolutions: trusted_wheel` in the rule set, a smart wheel's reports drive the round. The report of the
ball in the rim is treated as the launch, and the report of No More Bets closes betting. The reported number
is called if all earlier reports of the spin have arrived.
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
from controller.rules.wheel.smart_wheel_game import SmartWheelGame, WheelGames, WheelGameState

HIDES_A_SPIN_US = 2_000_000
"""The shortest gap in observation that can hide a whole spin."""


class WheelGame(Results[str], Protocol):
    """The wheel game's part in the life cycle of its spins."""

    @property
    def bets_open(self) -> bool:
        """Whether betting is open."""

    def no_more_bets(self, t: int, cause: str = "ball_speed") -> None:
        """Close betting, because the ball is about to drop or the spin needs a person's ruling."""

    def on_ball_drop(self, t: int) -> None:
        """Handle the ball's drop from the track."""

    def rule(self, entered: Input) -> None:
        """Handle a ruling on the current or the last spin. Raise InputRefused if there is no such spin."""


class WheelSpins(ABC):
    """The spins of one wheel."""

    last_entry: Input | None = None
    """Always None, because no input contributes to the detected number."""

    launch_reported_by: ClassVar[str]
    """The kind of reading that is required to detect a launch."""

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
        wheel_state: WheelGameState | None = None,
        last: int = 0,
    ) -> None:
        """Start after spin `last`, with the learned properties of the wheel.

        `wheel_state` is the recorded state of a smart wheel's games.
        """
        self.learned = learned
        self.games = WheelGames(wheel_state)
        self._game = game
        self._rules = rules
        self._wheel = wheel
        self._agenda = agenda
        self._health = health
        self._basis = Basis(decided_at_us=0)
        self.late_pulse_us = 0
        """The time of the latest track pulse that arrived too late to be used, while no spin was open."""
        self.attempts: Attempts[str, SpinVerdict] = Attempts(
            SPIN, game, self, agenda, rules, calls=calls, last=last
        )

    # --- called by the game ---

    @abstractmethod
    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""

    @abstractmethod
    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""

    @abstractmethod
    def would_launch(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play, and return whether it might begin a spin.

        Such a spin never counts.
        """

    def reject_late(self, reading: Reading) -> bool:
        """Handle a delayed reading from a time when the table was not in play.

        Return whether it might begin a spin. A smart wheel's report never does, because it is timestamped on
        arrival.
        """
        del reading
        return False

    @abstractmethod
    def begin_pending(self, t: int) -> None:
        """If pulses are pending at `t`, begin their spin, because a person's input refers to it."""

    def hold_no_spin(self, entered: Input) -> bool:
        """Hold a No Spin that is called before any pulse, and return whether it is held."""
        del entered
        return False

    @property
    @abstractmethod
    def revolutions(self) -> float | None:
        """The number of revolutions that the readings prove for the current spin; None if not counted."""

    def require_last_spin(self, ruling: Input, *, new_round: bool) -> None:
        """Check that a ruling after the call is for the last decided spin, which can be named in `what`.

        `new_round` says whether the dealer has closed or opened betting since the call.

        Raises:
            InputRefused: the ruling names another spin, or might be for a spin that no sensor detected.
        """
        attempts, number = self.attempts, self.attempts.number
        if ruling.what is not None:
            attempts.require_attempt(ruling)
            return
        corrects = attempts.state == "called" or (
            attempts.state == SPIN.void and ruling.name == SPIN.set_result
        )
        seen = self._sign_of_another_spin(ruling.t, new_round=new_round) if corrects else None
        if seen is not None:
            message = (
                f"after spin {number} was decided, {seen}, so the ruling might be for an undetected spin. "
                f"To rule on spin {number}, add what={number}. An undetected spin must be repeated"
            )
            raise InputRefused("which_spin", message)

    def _sign_of_another_spin(self, t: int, *, new_round: bool) -> str | None:
        """Return the evidence of another launch since the last decision; None if there is none."""
        if new_round:
            return "bets were closed or opened by hand"
        if self.late_pulse_us > self.attempts.over_us:
            return "an interrupted track beam was reported too late"
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

    # --- the AttemptJudge interface ---

    @abstractmethod
    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the current spin on its readings up to `t`."""

    @property
    @abstractmethod
    def _seen(self) -> Sequence[Reading]:
        """All readings of the current spin."""

    @abstractmethod
    def _runs(self, t: int) -> bool:
        """Return whether the ball might still be running at `t`."""

    def value_of(self, verdict: SpinVerdict) -> str | None:
        """Return the number that the sensors detected."""
        return verdict.number

    def value_entered(self, entered: Input) -> str:
        """Return the entered number. Raise InputRefused if the ball is running or the pocket is unknown."""
        if not self.result_can_be_entered(entered.t):
            raise InputRefused("result_not_in")
        number = str(entered.number)
        if number not in self._wheel.pockets_clockwise:
            message = f"set_number: found {number!r}, expected a pocket of this wheel; enter it again"
            raise InputRefused("bad_argument", message)
        return number

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether the ball might be at rest at `t`."""
        return not (self.attempts.in_progress and self._runs(t))

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the current spin."""
        return tuple(self._seen)

    def basis(self) -> Basis:
        """Return the data, other than the readings, on which the last verdict was based."""
        return self._basis

    def on_decision(self, decided: Decided) -> None:
        """Stop the timers of a spin that is void or under review."""
        if decided != "called":
            self._stop_timers()


SILENCE_US = 1_000_000
"""A silence that suggests missing reports. The wheel reports its state every 0.5 s."""
BURST_US = 250_000
"""Reports closer together than this were delayed in transit; the wheel sends them at longer intervals."""


class SmartSpins(WheelSpins):
    """The spins of one smart wheel, from the ball in the rim to the ruling."""

    launch_reported_by = "wheel_status"

    _wheel_game: SmartWheelGame | None = None
    _dropped = False

    # --- readings and timers ---

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        before = self.games.last
        if isinstance(reading, WheelStatus):
            self._note_pause(reading.t)
        begins = self.games.receive(reading) if isinstance(reading, WheelStatus) else None
        game = self._wheel_game
        if game is not None and (self.attempts.in_progress or self.attempts.state == "held"):
            game.receive(reading)
            self._after(game, reading)
        if begins is not None:
            self._begin(before, reading)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        if name == "hold":
            self.attempts.make_call()
        elif name == "give_up" and self.attempts.in_progress:
            self._decide(t)

    def would_launch(self, reading: Reading) -> bool:
        """Handle a reading while the table is not in play, and return whether it begins a spin.

        Such a spin never counts.
        """
        return isinstance(reading, WheelStatus) and self.games.receive(reading) is not None

    def begin_pending(self, t: int) -> None:
        """Do nothing, because a smart wheel's spin has no pending pulses."""

    @property
    def revolutions(self) -> float | None:
        """Always None, because the wheel counts the revolutions."""
        return None

    def _begin(self, before: WheelStatus | None, reading: Reading) -> None:
        if self.attempts.state == "held":
            self.attempts.make_call()
        self.attempts.begin(reading.t)
        game = SmartWheelGame(self._wheel.pockets_clockwise, self._rules, before)
        self._wheel_game = game
        self._dropped = False
        down = self._health.down.get(reading.dev)
        for seen in (reading,) if down is None else (down, reading):
            game.receive(seen)
        self._after(game, reading)

    def _after(self, game: SmartWheelGame, reading: Reading) -> None:
        if game.closed_by is reading:
            self._game.no_more_bets(self._closed_by_us(reading.t))
        if not self.attempts.in_progress:
            if game.verdict().ruling is not Ruling.VALID:
                self._decide(reading.t)
        elif game.decided_by is not None:
            self._decide(game.decided_by.t)
        else:
            self._agenda.set_timer("give_up", game.give_up_at_us())

    def _decide(self, t: int) -> None:
        self._stop_timers()
        self._basis = Basis(decided_at_us=t)
        game = self._wheel_game
        assert game is not None
        verdict = game.verdict()
        if not self.attempts.ending and verdict.ruling is not Ruling.VOID:
            self._close(game, t)
        self.attempts.on_verdict(t, verdict)

    def _close(self, game: SmartWheelGame, t: int) -> None:
        """Close betting if it is still open, because the ball has dropped or the spin needs a ruling."""
        if self._dropped:
            return
        closed_us = self._closed_by_us(t)
        if game.number is None:
            self._game.no_more_bets(closed_us, "wheel_fault")
            return
        self._dropped = True
        self._game.on_ball_drop(closed_us if self._game.bets_open else t)

    def _note_pause(self, t: int) -> None:
        last = self.games.last
        if last is None:
            return
        if t - last.t > SILENCE_US:
            self.games.before_silence_us = last.t
        elif t - last.t > BURST_US:
            self.games.before_silence_us = None

    def _closed_by_us(self, t: int) -> int:
        """Return the time from which a wheel's report that arrives at `t` closes betting (R-SPIN-3).

        The reports carry no timestamp. A report after a silence might describe a state as old as the start of
        the silence, and people who could see the wheel might have bet during the silence.
        """
        if self.games.before_silence_us is not None:
            return self.games.before_silence_us
        last = self.games.last
        return t if last is None or t - last.t <= SILENCE_US else last.t

    # --- the AttemptJudge interface ---

    def judge(self, t: int, called: Reason | None) -> SpinVerdict:
        """Judge the current spin on the readings so far."""
        assert self._wheel_game is not None
        self._basis = Basis(decided_at_us=t, called=called)
        return self._wheel_game.verdict(called)

    @property
    def _seen(self) -> Sequence[Reading]:
        return self._wheel_game.readings if self._wheel_game is not None else ()

    def _runs(self, t: int) -> bool:
        del t
        return True
