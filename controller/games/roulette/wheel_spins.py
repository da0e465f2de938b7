"""What the spins of every wheel have in common: the round they drive, and which spin a person rules on."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import InputRefused
from controller.machines.health import Health
from controller.machines.lifecycle import SPIN
from controller.machines.results import Decided, Results
from controller.model.effects import Basis
from controller.model.geometry import Wheel
from controller.model.readings import Input, Reading
from controller.model.rulesets import Calls, SpinRules
from controller.model.verdicts import Reason, SpinVerdict
from controller.rules.wheel import Learned
from controller.rules.wheel.smart_wheel_game import WheelGames, WheelHeard

HIDES_A_SPIN_US = 2_000_000
"""Shorter than any ball's way from the hand to its pocket: a wheel not seen for less hid none."""


class WheelGame(Results[str], Protocol):
    """What a wheel game does with its spins."""

    @property
    def bets_open(self) -> bool:
        """Whether bets can still be placed."""

    def no_more_bets(self, t: int, cause: str = "ball_speed") -> None:
        """The ball is about to drop, or a person must rule first: close the bets."""

    def dropped(self, t: int) -> None:
        """The ball left the track."""

    def rule(self, entered: Input) -> None:
        """Handle a ruling on the present or the last spin; raises InputRefused where there is none."""


class WheelSpins(ABC):
    """The spins of one wheel as their life-cycle and the table's people know them."""

    last_entry: Input | None = None
    """None: a spin is seen by sensors alone."""

    launch_told_by: ClassVar[str]
    """The kind of reading without which nobody knows of a launch."""

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
        """Begin after spin number `last`, knowing what was learned of the wheel and what a smart one said."""
        self.learned = learned
        self.games = WheelGames(heard)
        self._game = game
        self._rules = rules
        self._wheel = wheel
        self._agenda = agenda
        self._health = health
        self._basis = Basis(decided_at_us=0)
        self.late_pulse_us = 0
        """When a track beam was cut that was told too late to count, while no spin was open."""
        self.attempts: Attempts[str, SpinVerdict] = Attempts(
            SPIN, game, self, agenda, rules, calls=calls, last=last
        )

    # --- what the game asks ---

    @abstractmethod
    def see(self, reading: Reading) -> None:
        """Handle a reading, in time order."""

    @abstractmethod
    def timer(self, name: str, t: int) -> None:
        """Handle a timer of ours that is due at t."""

    @abstractmethod
    def would_launch(self, reading: Reading) -> bool:
        """Return whether this reading could begin a spin.

        Asked while the table does not play, and so that spin is known and never counts later.
        """

    def turn_away_late(self, reading: Reading) -> bool:
        """Note a reading of while the table did not play, told late; return whether it may begin a spin.

        Nothing by default: a smart wheel's words have no time but their arrival.
        """
        del reading
        return False

    @abstractmethod
    def launch_seen(self, t: int) -> None:
        """Begin the spin of which only the first signs were seen by t: a person speaks of it."""

    def hold_no_spin(self, entered: Input) -> bool:
        """Hold a No Spin that is said before a ball is seen; return whether it is held."""
        del entered
        return False

    @property
    @abstractmethod
    def revolutions(self) -> float | None:
        """What the present spin's ball provably ran in the track; None where that is not counted."""

    def ruling_is_for_last(self, ruling: Input, *, new_round: bool) -> None:
        """Make sure that a ruling after the call is for the spin that was decided last.

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
        """Return what tells that another spin may have been launched since the last was decided."""
        if new_round:
            return "bets were closed or opened by hand"
        if self.late_pulse_us > self.attempts.over_us:
            return "a cut track beam was reported too late"
        if self.attempts.away:
            return "the controller was restarted"
        for since_us, until_us, dev in self._health.absences(t):
            kinds = self._health.sources.get(dev)
            hidden_us = until_us - max(since_us, self.attempts.over_us)
            if hidden_us >= HIDES_A_SPIN_US and (kinds is None or self.launch_told_by in kinds):
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
        """Return whether the ball is seen to run, so that nobody can say yet where it lies."""

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
        """Return whether the ball lies, as far as is known at t."""
        return not (self.attempts.under_way and self._runs(t))

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the present spin."""
        return tuple(self._seen)

    def basis(self) -> Basis:
        """Return what the last verdict rests on beside them."""
        return self._basis

    def decided(self, decided: Decided) -> None:
        """Wait no longer for the drop or the number of a spin that is void or under review."""
        if decided != "called":
            self._stop_timers()
