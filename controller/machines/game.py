"""The interface of a game's machine to the session, and its implementation for games played in attempts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Protocol

from controller.model.outcomes import Awaited, DiceOut
from controller.model.readings import AnyReading, Input, Reading
from controller.model.verdicts import Reason
from controller.rules.wheel.smart_wheel_game import WheelGameState


class GameMachine(Protocol):
    """The interface of a game's machine to the session."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""

    @property
    def attempt_in_flight(self) -> bool:
        """Whether an attempt is in progress and not called, or the game awaits some other reading."""

    @property
    def wheel_state(self) -> WheelGameState | None:
        """A smart wheel's last report to this game; None if there is none, or before its first report."""

    @property
    def bets_opened_us(self) -> int:
        """When bets last opened, if a late reading may show that they closed earlier; otherwise 0."""

    @property
    def awaits_play(self) -> bool:
        """Whether Play wagers are accepted now, although bets are closed (T-DEAL-4)."""

    @property
    def dice_out(self) -> DiceOut | None:
        """The state on which a wager with the dice out depends; None if none is accepted now (C34-MK-1b)."""

    def receive(self, reading: AnyReading) -> None:
        """Handle a reading, in time order."""

    def begins_attempt(self, reading: AnyReading) -> bool:
        """Return whether this reading would begin an attempt."""

    def reject_attempt(self, reading: AnyReading) -> None:
        """Handle a reading that began an attempt while the table was not in play: it does not count."""

    def reject_late(self, reading: AnyReading) -> bool:
        """Handle a late reading from when the table was not in play.

        Return whether it may have begun an attempt, in a game whose attempts begin with several readings.
        """

    def enter(self, entered: Input) -> bool:
        """Handle a person's input; return False if this game has no such input. Raises InputRefused."""

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that make sense at t."""

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that came too late to count."""

    def doubt(self, seen: str) -> None:
        """Send the attempt in progress to review because its times can't be trusted; `seen` says why."""

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at t."""

    def reset(self, t: int) -> None:
        """Start a new round at t, because the table opens; if bets were closed, open them."""

    def memory(self) -> Mapping[str, object]:
        """Return the game's state between attempts, keyed by the fields of State."""

    def acted(self) -> Mapping[str, str]:
        """Return `play` or `fold` for each position of the current deal that has acted."""

    def next_numbers(self) -> Mapping[str, int]:
        """Return the game's next numbers, keyed by the fields of First."""

    def stop_judging(self) -> None:
        """Stop judging: the recording is cut off here."""

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review for this reason: the recording ends at t."""


class AttemptsOfGame(Protocol):
    """The attempts of a game, independent of the type of their value and of their judge."""

    ending: bool
    number: int

    @property
    def state(self) -> str: ...

    @property
    def open(self) -> bool: ...

    @property
    def in_progress(self) -> bool: ...

    def awaited(self) -> Awaited | None: ...

    def doubt(self, seen: str) -> None: ...

    def cut_short(self, t: int, reason: Reason) -> None: ...


class PlaysAttempts(ABC):
    """The parts of a machine that its attempts determine; a game overrides those that differ."""

    @property
    @abstractmethod
    def attempts(self) -> AttemptsOfGame:
        """The game's attempts."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""
        return self.attempts.open

    @property
    def attempt_in_flight(self) -> bool:
        """Whether an attempt is in progress and not called."""
        return self.attempts.in_progress or self.attempts.state == "held"

    @property
    def wheel_state(self) -> WheelGameState | None:
        """Return None: no smart wheel reports to this game."""
        return None

    def reject_late(self, reading: Reading) -> bool:
        """Return False: in this game a single reading begins an attempt."""
        del reading
        return False

    @property
    def bets_opened_us(self) -> int:
        """Return 0: no late reading closes bets in this game."""
        return 0

    @property
    def awaits_play(self) -> bool:
        """Return False: this game has no Play wager."""
        return False

    @property
    def dice_out(self) -> DiceOut | None:
        """Return None: this game accepts no wager made with the dice out."""
        return None

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""
        return self.attempts.awaited()

    def acted(self) -> Mapping[str, str]:
        """Return an empty mapping: no position acts in this game."""
        return {}

    def doubt(self, seen: str) -> None:
        """Send the attempt in progress to review because its times can't be trusted."""
        self.attempts.doubt(seen)

    def stop_judging(self) -> None:
        """Stop judging; no outcome is published from here on."""
        self.attempts.ending = True

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review for this reason: the recording ends at t."""
        self.attempts.cut_short(t, reason)
