"""The table's mode: open or closed, locked or unlocked, in test mode or in play."""

from collections.abc import Iterator

from controller.machines.agenda import Agenda
from controller.machines.flat import Arrow, FlatMachine, InputRefused, MachineTable
from controller.model.outcomes import TableEvent
from controller.model.readings import Input, Switch

OPENING_TRANSITIONS = MachineTable(
    name="table",
    initial="open",
    states={"closed": "no game is in progress", "open": "games may be played"},
    triggers={"open_table": "the table opens", "close_table": "the table closes"},
    arrows=(Arrow("open_table", ("closed",), "open"), Arrow("close_table", ("open",), "closed")),
    refusals={("open", "open_table"): "already_open", ("closed", "close_table"): "already_closed"},
)
LOCK_TABLE = MachineTable(
    name="lock",
    initial="unlocked",
    states={"unlocked": "play continues", "locked": "no new attempt counts until a person unlocks the table"},
    triggers={
        "lock": "a person, a switch or a fault locks the table",
        "unlock": "a person unlocks the table",
    },
    arrows=(Arrow("lock", ("unlocked",), "locked"), Arrow("unlock", ("locked",), "unlocked")),
    refusals={("locked", "lock"): "already_locked", ("unlocked", "unlock"): "not_locked"},
)
TEST_TABLE = MachineTable(
    name="test_mode",
    initial="playing",
    states={"playing": "readings count", "testing": "readings do not affect state, ids or meters"},
    triggers={"test_mode_on": "a technician starts testing", "test_mode_off": "testing ends"},
    arrows=(
        Arrow("test_mode_on", ("playing",), "testing"),
        Arrow("test_mode_off", ("testing",), "playing"),
    ),
    refusals={("testing", "test_mode_on"): "already_testing", ("playing", "test_mode_off"): "not_testing"},
)


NOT_READY = "not_ready"
"""The `what` of an `unlock` that is refused because the controller's self-test has not passed."""


class TableMode:
    """The three machines of a table's mode: open or closed, locked or unlocked, and test mode."""

    def __init__(self, agenda: Agenda, *, opening: str = "open", lock: str = "unlocked") -> None:
        self._agenda = agenda
        self._opening = FlatMachine(OPENING_TRANSITIONS, opening, self._publish)
        self._lock = FlatMachine(LOCK_TABLE, lock, self._publish)
        self._test = FlatMachine(TEST_TABLE)

    @property
    def opening(self) -> str:
        """`open` or `closed`."""
        return self._opening.state

    @property
    def lock(self) -> str:
        """`unlocked` or `locked`."""
        return self._lock.state

    @property
    def testing(self) -> bool:
        """Whether test mode is on."""
        return self._test.state == "testing"

    @property
    def why_not_playing(self) -> str | None:
        """The code with which a new attempt is refused; None if the table is in play."""
        if self._opening.state == "closed":
            return "table_closed"
        return "table_locked" if self._lock.state == "locked" else None

    def open(self, entered: Input) -> None:
        """Open the table. Raise InputRefused if it is already open or is locked."""
        if self.lock == "locked":
            raise InputRefused("table_locked")
        self._opening.fire("open_table", entered.t, _by("open_table", entered))

    def close(self, entered: Input) -> None:
        """Close the table. Raise InputRefused if it is already closed."""
        self._opening.fire("close_table", entered.t, _by("close_table", entered))

    def lock_by_input(self, entered: Input) -> None:
        """Lock the table on a person's input. Raise InputRefused if it is already locked."""
        self._lock.fire("lock", entered.t, _by(entered.reason or "lock", entered))

    def unlock(self, entered: Input) -> None:
        """Unlock the table. Raise InputRefused if it is not locked, or if `what` is NOT_READY."""
        if entered.what == NOT_READY and self.lock == "locked":
            raise InputRefused(NOT_READY, entered.reason)
        self._lock.fire("unlock", entered.t, _by(entered.reason or "unlock", entered))

    def lock_by_switch(self, switch: Switch) -> None:
        """Lock the table because a switch opened. Do nothing if it is already locked."""
        if self.lock == "unlocked":
            action = "close it, inspect the table, then unlock"
            message = f"the {switch.name} switch on {switch.dev} opened; {action}"
            opened = TableEvent(cause=f"{switch.name}_open", what=switch.dev, says=message)
            self._lock.fire("lock", switch.t, opened)

    def set_test_mode(self, on: bool) -> None:
        """Switch test mode on or off. Raise InputRefused if nothing would change."""
        self._test.fire("test_mode_on" if on else "test_mode_off")

    def allowed(self) -> Iterator[str]:
        """Yield the table-mode inputs that are allowed now."""
        if self.testing:
            yield "test_mode off"
            return
        if self.lock == "unlocked" or self.opening == "open":
            yield from filter(self._opening.allows, ("open_table", "close_table"))
        yield from filter(self._lock.allows, ("lock", "unlock"))
        yield "test_mode on"

    def _publish(self, trigger: str, t: int, event: TableEvent) -> None:
        self._agenda.publish(_OUTCOME_TYPES[trigger], t, event)


_OUTCOME_TYPES = {
    "open_table": "table.opened",
    "close_table": "table.closed",
    "lock": "table.locked",
    "unlock": "table.unlocked",
}


def _by(cause: str, entered: Input) -> TableEvent:
    return TableEvent(cause=cause, by=entered.by, who=entered.who)
