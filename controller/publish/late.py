"""The table's record of wagers made with the dice out, and its statements that wagers were confirmed in time.

C34-MK-1b: while the dice are in motion, a wager is valid if the dealer and the boxperson confirm it. The
table states that a wager is confirmed if its contents and both confirmations were on the disk while both dice
were still in motion. Nobody who made or confirmed the wager could have known the result of the throw.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol

from controller.model.outcomes import DiceOut
from controller.publish.betting import Betting, OpenStatement
from controller.publish.events import LateWagersQuery

MAX_LODGED = 16
"""Maximum number of wagers lodged per throw. A crew can't confirm more during the two seconds of a throw."""

REQUIRED_ROWS = 3
"""Number of journal rows that prove a wager: its contents and two confirmations."""


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
    """A time at which all the wager's rows were on the disk."""
    published: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the wager's contents and both confirmations are on the disk."""
        return len(self.rows) >= REQUIRED_ROWS and all(row.durable for row in self.rows)


class LateWagers:
    """Records the late wagers of the throw in progress, and states which of them were confirmed in time."""

    def __init__(self, table: str, session: str, now_us: Callable[[], int] | None = None) -> None:
        """Make statements for this table.

        `now_us` is the table's monotonic clock; without it, time advances with the readings.
        """
        self._table = table
        self._session = session
        self._now_us = now_us
        self._lock = Lock()
        self._lodged: dict[str, _Lodged] = {}
        self._round: int | None = None
        """The round of bets that the release of the dice closed; None while no dice are out."""
        self._data_us = 0
        self.say: Callable[[OpenStatement], None] = _discard

    def lodge(self, ask: LateWagersQuery, keep: Callable[[], Receipt | None]) -> bool:
        """Lodge a wager made during the throw in progress. Any thread may call this.

        `keep` journals the wager's contents, and returns None if the journal is full. Return False if `keep`
        returns None, the wager belongs to another throw or is already lodged, or too many are lodged.
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
        """Record the row of a confirmation. Call this from the core's thread only."""
        with self._lock:
            if (lodged := self._lodged.get(wager)) is not None:
                lodged.rows.append(row)

    def note(self, betting: Betting, now_us: int) -> None:
        """Update the state of the throw, and send a statement for each wager confirmed in time.

        Call this from the core's thread only.
        """
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
        """Mark and return the wagers that were confirmed and on the disk while the dice were in motion."""
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
        """Return the current time, which might be later than the newest reading."""
        return self._data_us if self._now_us is None else self._now_us()


def _discard(_statement: OpenStatement) -> None:
    """Discard a statement."""
