"""`transitions`, wrapped once: tables of data in which every cell of (state, trigger) is an arrow or a
refusal.

The library drives: its events are fired, its model holds the state, and its callback reports each move. Its
pitfalls are excluded: no automatic transitions, no queue (a queued refusal reports success), no guards (a
refused guard is silent).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from transitions import EventData, Machine, State, Transition


@dataclass(frozen=True, slots=True)
class Arrow:
    """From each of these states this trigger leads to that one."""

    trigger: str
    sources: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True, eq=False)
class MachineTable:
    """One machine as data: its states and triggers with a sentence each, its arrows and its refusals.

    A table is equal only to itself.
    """

    name: str
    initial: str
    states: Mapping[str, str]
    triggers: Mapping[str, str]
    arrows: tuple[Arrow, ...]
    refusals: Mapping[tuple[str, str], str]
    cells: Mapping[tuple[str, str], str] = field(init=False)

    def __post_init__(self) -> None:
        cells: dict[tuple[str, str], str] = {}
        for arrow in self.arrows:
            for source in arrow.sources:
                self._require_known(source, arrow.trigger, arrow.to)
                if (source, arrow.trigger) in cells:
                    raise ValueError(f"{self.name}: two arrows for {arrow.trigger} from {source}")
                cells[source, arrow.trigger] = arrow.to
        for state, trigger in self.refusals:
            self._require_known(state, trigger, state)
        for state in self.states:
            for trigger in self.triggers:
                if ((state, trigger) in cells) == ((state, trigger) in self.refusals):
                    raise ValueError(f"{self.name}: {trigger} in {state} must be an arrow or a refusal")
        object.__setattr__(self, "cells", cells)

    def _require_known(self, source: str, trigger: str, to: str) -> None:
        for word, known in ((source, self.states), (to, self.states), (trigger, self.triggers)):
            if word not in known:
                raise ValueError(f"{self.name}: nothing is named {word}")


class InputRefused(Exception):
    """A trigger that its state does not allow; `code` names the refusal in the catalogue."""

    def __init__(self, code: str, says: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.says = says


def would(do: Callable[[], object]) -> bool:
    """Return whether this pure call succeeds without a refusal."""
    try:
        do()
    except InputRefused:
        return False
    return True


Moved = Callable[..., None]
"""Called on a transition: its trigger, then the arguments with which it was fired."""


class FlatMachine:
    """One machine at work: the model in which the library's machine of its table keeps the state."""

    def __init__(self, table: MachineTable, state: str | None = None, moved: Moved | None = None) -> None:
        """Start in `state` (by default the table's initial one); `moved` is called for each move."""
        self.table = table
        self.state = table.initial
        """The state it is in; the library writes it."""
        self.moved = moved
        self._machine = _library_machine(table, tells=moved is not None)
        if state is not None:
            self.restore(state)

    def fire(self, trigger: str, *about: object) -> None:
        """Fire the library's event of this trigger; `about` is passed on to `moved`.

        Raises:
            InputRefused: the present state does not allow it; nothing has changed.
        """
        if not self.allows(trigger):
            raise InputRefused(self.table.refusals[self.state, trigger])
        self._machine.events[trigger].trigger(self, *about)

    def allows(self, trigger: str) -> bool:
        """Return whether the present state allows this trigger."""
        event = self._machine.events.get(trigger)
        return event is not None and self.state in event.transitions

    def restore(self, state: str) -> None:
        """Restore an earlier state: for corrections and for starting from a recorded state."""
        self._machine.set_state(state, self)


class _PlainState(State):
    """A state without callbacks on entering or leaving: the machine reports its moves."""

    def enter(self, event_data: EventData) -> None:
        """Do nothing."""

    def exit(self, event_data: EventData) -> None:
        """Do nothing."""


class _PlainTransition(Transition):
    """A move without conditions or callbacks, so that none is looked up."""

    def execute(self, event_data: EventData) -> bool:
        """Change the model's state, and have the machine report it."""
        model = event_data.model
        assert isinstance(model, FlatMachine)
        assert self.dest is not None
        model.state = self.dest
        event_data.machine.callbacks(event_data.machine.after_state_change, event_data)
        return True


class _PlainMachine(Machine):
    """The library's machine with the states and moves of a flat table."""

    state_cls = _PlainState
    transition_cls = _PlainTransition


@cache
def _library_machine(table: MachineTable, *, tells: bool) -> Machine:
    """Return the library's machine of a table, made once for all models that report their moves, or do not.

    It lists none of its models, and so keeps none of them alive.
    """
    return _PlainMachine(
        model=None,
        states=list(table.states),
        initial=table.initial,
        transitions=[[a.trigger, list(a.sources), a.to] for a in table.arrows],
        after_state_change=_notify if tells else None,
        auto_transitions=False,
        queued=False,
        send_event=True,
    )


def _notify(event: EventData) -> None:
    model = event.model
    assert isinstance(model, FlatMachine)
    assert event.event is not None
    assert model.moved is not None
    model.moved(event.event.name, *event.args)
