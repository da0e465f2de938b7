"""State machines that are defined by tables and built on the `transitions` library.

Each cell of a machine's table, for one state and one trigger, is an arrow or a refusal. The library fires
events, stores the state in its model, and reports each transition through a callback. Its automatic
transitions, queue and guards are not used. The queue would report success for an event that is refused later,
and a guard gives no reason for a refusal.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from transitions import EventData, Machine, State, Transition


@dataclass(frozen=True, slots=True)
class Arrow:
    """A transition from each of the states `sources` to the state `to`, on `trigger`."""

    trigger: str
    sources: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True, eq=False)
class MachineTable:
    """A machine as data: the states and triggers with their descriptions, the arrows and the refusals.

    Tables compare by identity.

    Raises:
        ValueError: a cell does not have exactly one arrow or refusal, or a state or trigger is unknown.
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
    """The current state does not allow an input.

    `code` is the refusal's code in the catalogue. `message`, if set, replaces the catalogue's message.
    """

    def __init__(self, code: str, message: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.message = message


def is_allowed(do: Callable[[], object]) -> bool:
    """Return whether `do()` raises no InputRefused. The call must have no side effects."""
    try:
        do()
    except InputRefused:
        return False
    return True


Moved = Callable[..., None]
"""Called on each transition, with the trigger and the arguments of `fire`."""


class FlatMachine:
    """A running machine. The library changes its state according to the machine's table."""

    def __init__(self, table: MachineTable, state: str | None = None, moved: Moved | None = None) -> None:
        """Start in `state` or, by default, in the initial state. `moved` is called on each transition."""
        self.table = table
        self.state = table.initial
        """The current state. Only the library writes it."""
        self.moved = moved
        self._machine = _library_machine(table, reports_moves=moved is not None)
        if state is not None:
            self.restore(state)

    def fire(self, trigger: str, *about: object) -> None:
        """Fire a trigger. The arguments `about` are passed to `moved`.

        Raises:
            InputRefused: the current state does not allow the trigger. The state does not change.
        """
        if not self.allows(trigger):
            raise InputRefused(self.table.refusals[self.state, trigger])
        self._machine.events[trigger].trigger(self, *about)

    def allows(self, trigger: str) -> bool:
        """Return whether the current state allows a trigger."""
        event = self._machine.events.get(trigger)
        return event is not None and self.state in event.transitions

    def restore(self, state: str) -> None:
        """Set the state without a transition, for a correction or a recorded state."""
        self._machine.set_state(state, self)


class _PlainState(State):
    """A state without callbacks. The machine reports its transitions instead."""

    def enter(self, event_data: EventData) -> None:
        """Do nothing."""

    def exit(self, event_data: EventData) -> None:
        """Do nothing."""


class _PlainTransition(Transition):
    """A transition without conditions or callbacks, so the library need not look them up."""

    def execute(self, event_data: EventData) -> bool:
        """Change the model's state and run the machine's callbacks."""
        model = event_data.model
        assert isinstance(model, FlatMachine)
        assert self.dest is not None
        model.state = self.dest
        event_data.machine.callbacks(event_data.machine.after_state_change, event_data)
        return True


class _PlainMachine(Machine):
    """The library's machine, with plain states and transitions."""

    state_cls = _PlainState
    transition_cls = _PlainTransition


@cache
def _library_machine(table: MachineTable, *, reports_moves: bool) -> Machine:
    """Return the library's machine for a table. All models of the table share this machine.

    The machine does not register its models, so it does not keep them alive.
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
