"""The interface of a game's machine to the session, and a base class for games that consist of attempts."""

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
        """Whether an attempt awaits its call or a ruling."""

    @property
    def attempt_in_flight(self) -> bool:
        """Whether an attempt is in progress or not yet called, or the game awaits a card."""

    @property
    def wheel_state(self) -> WheelGameState | None:
        """The last report of a smart wheel; None if there has been none."""

    @property
    def bets_opened_us(self) -> int:
        """The time at which betting opened, in a game where a delayed reading can close it; otherwise 0."""

    @property
    def awaits_play(self) -> bool:
        """Whether Play is accepted now, while betting is closed (T-DEAL-4)."""

    @property
    def dice_out(self) -> DiceOut | None:
        """The state for late wagers; None if they are not accepted now (C34-MK-1b)."""

    def receive(self, reading: AnyReading) -> None:
        """Handle the next reading, in time order."""

    def begins_attempt(self, reading: AnyReading) -> bool:
        """Return whether this reading begins an attempt."""

    def reject_attempt(self, reading: AnyReading) -> None:
        """Handle the first reading of an attempt that does not count, because the table is not in play."""

    def reject_late(self, reading: AnyReading) -> bool:
        """Handle a delayed reading from a time when the table was not in play.

        Return whether it might have begun an attempt. Only games whose attempts begin with several readings
        need this method.
        """

    def enter(self, entered: Input) -> bool:
        """Handle a person's input and return True, or return False if the game has no such input.

        Raise InputRefused if the input is not allowed.
        """

    def awaited(self) -> Awaited | None:
        """Return the attempt that needs a person's ruling or confirmation; None if there is none."""

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that are allowed at `t`."""

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used."""

    def doubt(self, seen: str) -> None:
        """Send the attempt in progress to review because its times are unreliable. `seen` is the reason."""

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""

    def reset(self, t: int) -> None:
        """Start a new round when the table opens at `t`, and open betting if it is closed."""

    def memory(self) -> Mapping[str, object]:
        """Return the state to keep between attempts, keyed by the fields of State."""

    def acted(self) -> Mapping[str, str]:
        """Return `play` or `fold` for each position that has acted in the current deal."""

    def next_numbers(self) -> Mapping[str, int]:
        """Return the game's next numbers, keyed by the fields of NextNumbers."""

    def stop_judging(self) -> None:
        """Stop judging, because the recording is cut off here."""

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review with this reason when the recording ends at `t`."""


class AttemptsOfGame(Protocol):
    """The attempts of a game, regardless of the types of their values and verdicts."""

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
    """The methods of a game's machine that depend only on its attempts. A game overrides them as needed."""

    @property
    @abstractmethod
    def attempts(self) -> AttemptsOfGame:
        """The game's attempts."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt awaits its call or a ruling."""
        return self.attempts.open

    @property
    def attempt_in_flight(self) -> bool:
        """Whether an attempt is in progress or not yet called."""
        return self.attempts.in_progress or self.attempts.state == "held"

    @property
    def wheel_state(self) -> WheelGameState | None:
        """Always None, because no smart wheel reports to this game."""
        return None

    def reject_late(self, reading: Reading) -> bool:
        """Return False, because a single reading begins an attempt in this game."""
        del reading
        return False

    @property
    def bets_opened_us(self) -> int:
        """Always 0, because delayed readings do not close betting in this game."""
        return 0

    @property
    def awaits_play(self) -> bool:
        """Always False, because this game has no Play wager."""
        return False

    @property
    def dice_out(self) -> DiceOut | None:
        """Always None, because this game accepts no late wagers."""
        return None

    def awaited(self) -> Awaited | None:
        """Return the attempt that needs a person's ruling or confirmation; None if there is none."""
        return self.attempts.awaited()

    def acted(self) -> Mapping[str, str]:
        """Return an empty mapping, because no position acts in this game."""
        return {}

    def doubt(self, seen: str) -> None:
        """Send the attempt in progress to review because its times are unreliable. `seen` is the reason."""
        self.attempts.doubt(seen)

    def stop_judging(self) -> None:
        """Stop judging. No outcome is published afterwards."""
        self.attempts.ending = True

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review with this reason when the recording ends at `t`."""
        self.attempts.cut_short(t, reason)
