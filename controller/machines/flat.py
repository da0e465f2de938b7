"""`transitions`, wrapped once: tables of data whose every cell of (state, trigger) is an arrow or a refusal.

The library's traps are closed here: no automatic transitions, no queue (a queued refusal reports success), no
guards (a refused guard is silent) and no trigger from within a trigger.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from transitions import Machine


@dataclass(frozen=True, slots=True)
class Arrow:
    """From each of these states this trigger leads there."""

    trigger: str
    sources: tuple[str, ...]
    to: str


@dataclass(frozen=True, slots=True, eq=False)
class MachineTable:
    """One machine as data: its states and triggers with a sentence each, its arrows and its refusals.

    A table is equal to itself alone.
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
                self._must_know(source, arrow.trigger, arrow.to)
                if (source, arrow.trigger) in cells:
                    raise ValueError(f"{self.name}: two arrows for {arrow.trigger} from {source}")
                cells[source, arrow.trigger] = arrow.to
        for state, trigger in self.refusals:
            self._must_know(state, trigger, state)
        for state in self.states:
            for trigger in self.triggers:
                if ((state, trigger) in cells) == ((state, trigger) in self.refusals):
                    raise ValueError(f"{self.name}: {trigger} in {state} must be an arrow or a refusal")
        object.__setattr__(self, "cells", cells)

    def _must_know(self, source: str, trigger: str, to: str) -> None:
        for word, known in ((source, self.states), (to, self.states), (trigger, self.triggers)):
            if word not in known:
                raise ValueError(f"{self.name}: nothing is named {word}")


class Refused(Exception):
    """A trigger that its state does not allow; `code` names the refusal in the catalogue."""

    def __init__(self, code: str, says: str | None = None) -> None:
        super().__init__(code)
        self.code = code
        self.says = says


def would(do: Callable[[], object]) -> bool:
    """Return whether this pure deed is not refused."""
    try:
        do()
    except Refused:
        return False
    return True


class _Model:
    state: str


@cache
def _library_machine(table: MachineTable) -> Machine:
    """Return the library's machine of a table, made once: what is in which state, each model says."""
    return Machine(
        model=None,
        states=list(table.states),
        initial=table.initial,
        transitions=[[a.trigger, list(a.sources), a.to] for a in table.arrows],
        auto_transitions=False,
        queued=False,
        send_event=True,
    )


@cache
def _arrows(table: MachineTable) -> Mapping[tuple[str, str], str]:
    """Return where each arrow of a table's machine leads, by state and trigger."""
    return {
        (source, trigger): str(arrow.dest)
        for trigger, event in _library_machine(table).events.items()
        for source, (arrow,) in event.transitions.items()
    }


class FlatMachine:
    """One machine at work on its table."""

    def __init__(
        self,
        table: MachineTable,
        state: str | None = None,
        watch: Callable[[str, str, str], None] | None = None,
    ) -> None:
        """Start in `state` (the table's initial one by default); `watch` hears each (trigger, from, to)."""
        self.table = table
        self.state = state or table.initial
        """The state it is in."""
        self._watch = watch
        self._firing = False
        self._model = _Model()
        self._machine = _library_machine(table)
        self._machine.set_state(self.state, self._model)
        self._arrows = _arrows(table)

    def fire(self, trigger: str) -> None:
        """Follow this trigger's arrow.

        Raises:
            Refused: the present state does not allow it; nothing has changed.
            RuntimeError: fired from within another trigger, which is a defect.
        """
        if self._firing:
            raise RuntimeError(f"{self.table.name}: {trigger} fired from within a trigger")
        source = self.state
        to = self._arrows.get((source, trigger))
        if to is None:
            raise Refused(self.table.refusals[source, trigger])
        self._firing = True
        try:
            # The library's own way there looks for guards and callbacks, of which these machines have none.
            self._machine.set_state(to, self._model)
            self.state = to
            if self._watch is not None:
                self._watch(trigger, source, to)
        finally:
            self._firing = False

    def allows(self, trigger: str) -> bool:
        """Tell whether this trigger has an arrow from the present state."""
        return (self.state, trigger) in self._arrows

    def restore(self, state: str) -> None:
        """Go back to a state it was in before: for corrections and for starting from a recorded state."""
        self._machine.set_state(state, self._model)
        self.state = state
