"""The table's part in wagers made with the dice out: it records them and states which were confirmed in time.

C34-MK-1b: between the dice leaving the hand and coming to rest, a wager is valid if dealer and boxperson
confirm it. The table states that a wager is confirmed only if its contents and both confirmations were on the
disk while both dice were still in motion. Nobody who made or confirmed the wager can then have known how the
dice would come to rest.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from controller.model.outcomes import DiceOut
from controller.publish.betting import Betting, OpenStatement
from controller.publish.events import LateWagersQuery

MAX_LODGED = 16
"""Maximum number of wagers lodged per throw: more than a crew can confirm aloud in its two seconds."""

REQUIRED_ROWS = 3
"""The number of journal rows that prove a wager: its contents and two confirmations."""


class Receipt(Protocol):
    """The journal's receipt for a row."""

    @property
    def durable(self) -> bool:
        """Whether the row is on the disk."""


@dataclass(slots=True)
class _Lodged:
    ask: LateWagersQuery
    received_us: int
    rows: list[Receipt] = field(default_factory=list)
    durable_us: int | None = None
    """A time by which all the wager's rows were on the disk."""
    published: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the wager's contents and both confirmations are on the disk."""
        return len(self.rows) >= REQUIRED_ROWS and all(row.durable for row in self.rows)


class LateWagers:
    """The wagers of the throw in progress, and the table's statement for those confirmed in time."""

    def __init__(self, table: str, session: str, now_us: Callable[[], int] | None = None) -> None:
        """Serve this table; `now_us` is its monotonic clock, or None if time advances with the readings."""
        self._table = table
        self._session = session
        self._now_us = now_us
        self._lock = Lock()
        self._lodged: dict[str, _Lodged] = {}
        self._round: int | None = None
        """The round whose dice are out; None while none are."""
        self._data_us = 0
        self.say: Callable[[OpenStatement], None] = _discard

    def lodge(self, ask: LateWagersQuery, keep: Callable[[], Receipt | None]) -> bool:
        """Accept a wager made during the throw in progress; any thread may call this.

        `keep` journals the wager's contents, and returns None if the journal accepts nothing more. Return
        False if `keep` returns None, if the wager belongs to another throw or is already lodged, or if too
        many are lodged.
        """
        with self._lock:
            fits = ask.round == self._round and ask.wager not in self._lodged
            if not fits or len(self._lodged) >= MAX_LODGED or (row := keep()) is None:
                return False
            self._lodged[ask.wager] = _Lodged(ask, self._clock_us(), [row])
        return True

    @property
    def lodged(self) -> tuple[tuple[str, str], ...]:
        """The id and description of each wager lodged during the throw in progress."""
        with self._lock:
            return tuple((wager, lodged.ask.says) for wager, lodged in self._lodged.items())

    def add_confirmation(self, wager: str, row: Receipt) -> None:
        """Record the row of a confirmation; only for the core's thread."""
        with self._lock:
            if (lodged := self._lodged.get(wager)) is not None:
                lodged.rows.append(row)

    def note(self, betting: Betting, now_us: int) -> None:
        """Update the throw's state, and send the statement if it is due; only for the core's thread."""
        self._data_us = now_us
        dice_out = betting.dice_out
        with self._lock:
            self._round = None if dice_out is None else betting.round
            if dice_out is None:
                self._lodged.clear()
            due = [] if dice_out is None else self._due(dice_out)
        for lodged in due:
            assert dice_out is not None
            assert dice_out.moving_us is not None
            self.say(
                OpenStatement(
                    table=self._table,
                    session=self._session,
                    round=betting.round,
                    takes="late",
                    sequence=betting.sequence,
                    t=now_us,
                    until=dice_out.moving_us,
                    heard={lodged.ask.nonce: lodged.received_us},
                    late={lodged.ask.nonce: lodged.ask.digest},
                )
            )

    def _due(self, dice_out: DiceOut) -> list[_Lodged]:
        """Mark and return wagers that were confirmed and on the disk while the dice were in motion."""
        due: list[_Lodged] = []
        for wager in dice_out.confirmed:
            lodged = self._lodged.get(wager)
            if lodged is None or lodged.published:
                continue
            if lodged.durable_us is None and lodged.is_complete:
                lodged.durable_us = self._clock_us()
            durable_us, moving_us = lodged.durable_us, dice_out.moving_us
            lodged.published = durable_us is not None and moving_us is not None and durable_us < moving_us
            if lodged.published:
                due.append(lodged)
        return due

    def _clock_us(self) -> int:
        """Return the current time, which may be later than that of the readings processed so far."""
        return self._data_us if self._now_us is None else self._now_us()


def _discard(_statement: OpenStatement) -> None:
    """Discard a statement, which has no receiver yet."""
