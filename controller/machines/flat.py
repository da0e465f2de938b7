"""A wrapper around the `transitions` library, for machines defined by tables.

In a machine's table, every (state, trigger) cell is an arrow or a refusal. The library fires the events,
holds the state in its model and reports each transition through a callback. Three of its features are not
used: automatic transitions, the queue (it reports success for an event that is refused later) and guards (one
that refuses an event does not say why).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from transitions import EventData, Machine, State, Transition


@dataclass(frozen=True, slots=True)
class Arrow:
    """A transition: from each of the states `sources`, `trigger` leads to the state `to`."""

    trigger: str
    sources: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True, eq=False)
class MachineTable:
    """One machine as data: its states and triggers with their descriptions, its arrows and its refusals.

    Tables compare by identity. ValueError is raised if a cell is neither an arrow nor a refusal, or is both,
    and for an unknown state or trigger.
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
                raise ValueError(f"{self.name}: found {word}, expected one of {', '.join(known)}")


class InputRefused(Exception):
    """The current state does not allow a trigger.

    `code` names the refusal in the catalogue. `message`, if set, replaces the catalogue's sentence.
    """

    def __init__(self, code: str, message: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


def is_allowed(do: Callable[[], object]) -> bool:
    """Return whether this call completes without raising InputRefused. The call must have no side effects."""
    try:
        do()
    except InputRefused:
        return False
    return True


Moved = Callable[..., None]
"""Called on a transition with its trigger and the arguments of `fire`."""


class FlatMachine:
    """A running machine: the model whose state the library sets according to the machine's table."""

    def __init__(self, table: MachineTable, state: str | None = None, moved: Moved | None = None) -> None:
        """Start in `state` (by default the table's initial one); `moved` is called for each transition."""
        self.table = table
        self.state = table.initial
        """The current state, written by the library."""
        self.moved = moved
        self._machine = _library_machine(table, reports_moves=moved is not None)
        if state is not None:
            self.restore(state)

    def fire(self, trigger: str, *about: object) -> None:
        """Fire this trigger; the arguments `about` are passed on to `moved`.

        Raises:
            InputRefused: the current state does not allow the trigger; the state is unchanged.
        """
        if not self.allows(trigger):
            raise InputRefused(self.table.refusals[self.state, trigger])
        self._machine.events[trigger].trigger(self, *about)

    def allows(self, trigger: str) -> bool:
        """Return whether the current state allows this trigger."""
        event = self._machine.events.get(trigger)
        return event is not None and self.state in event.transitions

    def restore(self, state: str) -> None:
        """Set the state without a transition, for a correction or to start from a recorded state."""
        self._machine.set_state(state, self)


class _PlainState(State):
    """A state without callbacks on entering or leaving; the machine reports its transitions instead."""

    def enter(self, event_data: EventData) -> None:
        """Do nothing."""

    def exit(self, event_data: EventData) -> None:
        """Do nothing."""


class _PlainTransition(Transition):
    """A transition without conditions or callbacks, so that the library need not look any up."""

    def execute(self, event_data: EventData) -> bool:
        """Change the model's state, then run the machine's callbacks."""
        model = event_data.model
        assert isinstance(model, FlatMachine)
        assert self.dest is not None
        model.state = self.dest
        event_data.machine.callbacks(event_data.machine.after_state_change, event_data)
        return True


class _PlainMachine(Machine):
    """The library's machine with the states and transitions of a flat table."""

    state_cls = _PlainState
    transition_cls = _PlainTransition


@cache
def _library_machine(table: MachineTable, *, reports_moves: bool) -> Machine:
    """Return the library's machine for a table, which all models of that table share.

    The machine does not register its models, so it does not keep any of them alive.
    """
    return _PlainMachine(
        model=None,
        states=list(table.states),
        initial=table.initial,
        transitions=[[a.trigger, list(a.sources), a.to] for a in table.arrows],
        after_state_change=_notify if reports_moves else None,
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
