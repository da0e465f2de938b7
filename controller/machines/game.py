"""What the session asks of a game's machine, and the answers of every machine that plays by attempts."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Protocol

from controller.model.outcomes import Awaited, DiceOut
from controller.model.readings import AnyReading, Input, Reading
from controller.model.verdicts import Reason
from controller.rules.wheel.smart_wheel_game import WheelHeard


class GameMachine(Protocol):
    """A game's machine, as the session uses it."""

    @property
    def open_attempt(self) -> bool:
        """Whether an attempt still waits for its call or for a ruling."""

    @property
    def attempt_under_way(self) -> bool:
        """Whether an attempt is in progress and not called, or the next reading of something else is
        awaited."""

    @property
    def heard(self) -> WheelHeard | None:
        """A smart wheel's last report to this game; None if there is none, or none has arrived yet."""

    @property
    def bets_opened_us(self) -> int:
        """When bets last opened, if a late reading may have closed them before; else 0."""

    @property
    def awaits_play(self) -> bool:
        """Whether Play wagers are accepted now, although bets are closed (T-DEAL-4)."""

    @property
    def dice_out(self) -> DiceOut | None:
        """What wagers made with the dice out depend on; None if none is accepted now (C34-MK-1b)."""

    def see(self, reading: AnyReading) -> None:
        """Handle a reading, in time order."""

    def begins_attempt(self, reading: AnyReading) -> bool:
        """Return whether this reading would begin an attempt."""

    def turned_away(self, reading: AnyReading) -> None:
        """Record that this reading began an attempt while the table was not in play: none of it counts."""

    def turned_away_late(self, reading: AnyReading) -> bool:
        """Record a late reading from a time when the table was not in play.

        Return whether it may have begun an attempt, if it takes more than one reading to know.
        """

    def enter(self, entered: Input) -> bool:
        """Handle a person's input; False if this game has no such input. Raises InputRefused."""

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""

    def allowed(self, t: int) -> Iterator[str]:
        """Yield the inputs that make sense at t."""

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that came too late to count."""

    def doubt(self, seen: str) -> None:
        """Leave the attempt in progress to a person, for the reason that its times can't be trusted."""

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at t."""

    def reset(self, t: int) -> None:
        """Start again: the table opens, and closed bets open with it."""

    def remembers(self) -> Mapping[str, object]:
        """Return what the game remembers between attempts, by the fields of State."""

    def acted(self) -> Mapping[str, str]:
        """Return what each position of the present deal has done: play or fold."""

    def next_numbers(self) -> Mapping[str, int]:
        """Return the game's next numbers, by the fields of First."""

    def stop_judging(self) -> None:
        """Stop judging: the recording is cut off here."""

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review for this reason: the recording ends at t."""


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
    """The answers of a machine that follow from its attempts. A game that differs overrides them."""

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
        """Whether an attempt is in progress and not called."""
        return self.attempts.under_way or self.attempts.state == "held"

    @property
    def heard(self) -> WheelHeard | None:
        """None: no smart wheel reports to this game."""
        return None

    def turned_away_late(self, reading: Reading) -> bool:
        """Note nothing: one reading begins an attempt of this game."""
        del reading
        return False

    @property
    def bets_opened_us(self) -> int:
        """0: no late reading closes bets in this game."""
        return 0

    @property
    def awaits_play(self) -> bool:
        """Whether bets are accepted while they are closed: not in this game."""
        return False

    @property
    def dice_out(self) -> DiceOut | None:
        """None: this game accepts no wager made with the dice out."""
        return None

    def awaited(self) -> Awaited | None:
        """Return what a person must rule on or confirm now."""
        return self.attempts.awaited()

    def acted(self) -> Mapping[str, str]:
        """Return nothing: no position acts in this game."""
        return {}

    def doubt(self, seen: str) -> None:
        """Leave the attempt in progress to a person: its times can't be trusted."""
        self.attempts.doubt(seen)

    def stop_judging(self) -> None:
        """Stop judging: only what was published stands."""
        self.attempts.ending = True

    def cut_short(self, t: int, reason: Reason) -> None:
        """Send the attempt in progress to review for this reason: the recording ends at t."""
        self.attempts.cut_short(t, reason)
