"""What the session asks of a game's machine, and what every machine that plays on attempts answers alike."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Protocol

from controller.model.outcomes import Awaited, DiceOut
from controller.model.readings import AnyReading, Input, Reading
from controller.model.verdicts import Reason
from controller.rules.wheel.smart_wheel_game import WheelHeard


class GameMachine(Protocol):
    """A game's machine, as the session knows it."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""

    @property
    def attempt_under_way(self) -> bool:
        """Whether an attempt goes on and is not called, or something else whose next reading is awaited."""

    @property
    def heard(self) -> WheelHeard | None:
        """What a smart wheel said to this game; None if it has none, or that said nothing yet."""

    @property
    def bets_opened_us(self) -> int:
        """When bets opened last, where a reading that is told late may have closed them before; 0 else."""

    @property
    def awaits_play(self) -> bool:
        """Whether Play wagers are taken now, though bets are closed (T-DEAL-4)."""

    @property
    def dice_out(self) -> DiceOut | None:
        """What wagers made with the dice out depend on; None if none is taken now (C34-MK-1b)."""

    def see(self, reading: AnyReading) -> None:
        """Handle a reading, in time order."""

    def begins_attempt(self, reading: AnyReading) -> bool:
        """Return whether this reading would begin an attempt."""

    def turned_away(self, reading: AnyReading) -> None:
        """Note that this reading began an attempt while the table did not play: no rest of it counts."""

    def turned_away_late(self, reading: AnyReading) -> bool:
        """Note a reading of while the table did not play that is told too late to be seen in order.

        Return whether it may have begun an attempt, where it takes more than one reading to tell.
        """

    def enter(self, entered: Input) -> bool:
        """Handle a person's input; False when this game has no such input. Raises InputRefused."""

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that make sense at t."""

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that came too late to count."""

    def doubt(self, seen: str) -> None:
        """Leave what is under way to a person: its times can't be believed, and why."""

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at t."""

    def reset(self, t: int) -> None:
        """Start again: the table opens, and bets that were closed open with it."""

    def remembers(self) -> Mapping[str, object]:
        """Return what the game remembers between attempts, by the fields of State."""

    def acted(self) -> Mapping[str, str]:
        """Return what the positions of the present deal did so far: play or fold, by position."""

    def next_numbers(self) -> Mapping[str, int]:
        """Return the game's next numbers, by the fields of First."""

    def stop_judging(self) -> None:
        """Judge no more: the recording is cut off here."""

    def cut_short(self, t: int, reason: Reason) -> None:
        """Put what is in flight under review for this reason: the recording ends at t."""


class AttemptsOfGame(Protocol):
    """The attempts of a game, as its machine knows them whatever their value and their judge."""

    ending: bool
    number: int

    @property
    def state(self) -> str: ...

    @property
    def open(self) -> bool: ...

    @property
    def under_way(self) -> bool: ...

    def awaited(self) -> Awaited | None: ...

    def doubt(self, seen: str) -> None: ...

    def cut_short(self, t: int, reason: Reason) -> None: ...


class PlaysAttempts(ABC):
    """What a machine answers by its attempts alone. A game that differs in one of these says so itself."""

    @property
    @abstractmethod
    def attempts(self) -> AttemptsOfGame:
        """The game's attempts."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""
        return self.attempts.open

    @property
    def attempt_under_way(self) -> bool:
        """Whether an attempt goes on and is not called."""
        return self.attempts.under_way or self.attempts.state == "held"

    @property
    def heard(self) -> WheelHeard | None:
        """Nothing: no smart wheel speaks to this game."""
        return None

    def turned_away_late(self, reading: Reading) -> bool:
        """Note nothing: one reading begins an attempt of this game."""
        del reading
        return False

    @property
    def bets_opened_us(self) -> int:
        """0: nothing that is told late closes bets in this game."""
        return 0

    @property
    def awaits_play(self) -> bool:
        """Whether bets are taken while they are closed: not in this game."""
        return False

    @property
    def dice_out(self) -> DiceOut | None:
        """Nothing: this game takes no wager that is made with the dice out."""
        return None

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""
        return self.attempts.awaited()

    def acted(self) -> Mapping[str, str]:
        """Return nothing: no position acts in this game."""
        return {}

    def doubt(self, seen: str) -> None:
        """Leave the attempt under way to a person: its times can't be believed."""
        self.attempts.doubt(seen)

    def stop_judging(self) -> None:
        """Judge no more: only what was told stands."""
        self.attempts.ending = True

    def cut_short(self, t: int, reason: Reason) -> None:
        """Put the attempt in flight under review for this reason: the recording ends at t."""
        self.attempts.cut_short(t, reason)
