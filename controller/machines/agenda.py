"""The agenda: the effects that the machines publish, their timers, and the pending inspections.

Equipment that might have caused a void must be inspected, for example the ball after it has left the wheel.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from controller.machines.flat import InputRefused
from controller.machines.refusals import REFUSALS
from controller.model.effects import Effect, Lamp
from controller.model.outcomes import Data, Outcome, TableEvent, outcome_id
from controller.model.readings import Input, Reading
from controller.model.verdicts import Notice, Reason

EQUIPMENT_TO_INSPECT = {
    "ball_out": "ball",
    "foreign_object": "wheel",
    "wrong_count": "shoe",
    "card_twice": "shoe",
    "shoe_opened": "shoe",
}
"""The equipment to inspect after a void, by the code of the cause."""


class Inspections:
    """The equipment that awaits inspection. A person confirms each inspection."""

    def __init__(self) -> None:
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """The equipment that awaits inspection."""
        return tuple(self._waiting)

    def restore(self, waiting: Iterable[str]) -> None:
        """Restore the pending inspections of a recorded state."""
        self._waiting = list(waiting)

    def require_after(self, reasons: Iterable[Reason], *, game_equipment: str) -> None:
        """Add the inspections that a void for these reasons requires.

        After cheating, `game_equipment` must be inspected: the dice, the wheel or the shoe.
        """
        for reason in reasons:
            what = game_equipment if reason.code == "cheating" else EQUIPMENT_TO_INSPECT.get(reason.code)
            if what is not None and what not in self._waiting:
                self._waiting.append(what)

    def notices(self) -> tuple[Notice, ...]:
        """Return a notice for each inspection that is still pending when play continues."""
        return tuple(
            Notice(code="not_inspected", seen=f"the {what} was not inspected") for what in self._waiting
        )

    def confirm(self, entered: Input) -> None:
        """Confirm an inspection. Raise InputRefused if it is not pending."""
        if entered.what not in self._waiting:
            pending = ", ".join(self._waiting) or "none"
            raise InputRefused(
                "nothing_to_inspect",
                f"inspected: found {entered.what!r}, expected equipment that awaits inspection"
                f" (now: {pending})",
            )
        self._waiting.remove(entered.what)


NEVER_US = 2**63
"""The due time if no timer is running. It is later than any reading."""


class Agenda:
    """Numbers outcomes, collects effects, and manages the timers. Due times are on the readings' clock."""

    def __init__(self, table: str, session: str, next_seq: int = 1) -> None:
        self.table = table
        self.session = session
        self.next_seq = next_seq
        self.inspections = Inspections()
        self.effects: list[Effect] = []
        self.answer = ""
        """The answer to the person whose input is being handled, such as `Roll 24: No Roll, was 3-4`."""
        self.next_due_us = NEVER_US
        """The due time of the next timer."""
        self._timers: dict[str, int] = {}

    def publish(self, kind: str, t: int, data: Data) -> Outcome:
        """Publish an outcome under the next number."""
        seq = self.next_seq
        self.next_seq = seq + 1
        outcome = Outcome(type=kind, t=t, id=outcome_id(self.table, self.session, seq), seq=seq, data=data)
        self.effects.append(outcome)
        return outcome

    def refuse(self, entered: Input, code: str, message: str | None = None) -> None:
        """Publish the refusal of an input. `message` replaces the catalogue's message for the code."""
        event = TableEvent(
            cause=code, what=entered.name, by=entered.by, who=entered.who, says=message or REFUSALS[code]
        )
        self.publish("input.refused", entered.t, event)

    def refuse_reading(self, reading: Reading, code: str, message: str | None = None) -> None:
        """Publish the refusal of a reading. `message` replaces the catalogue's message for the code."""
        event = TableEvent(cause=code, what=reading.dev, says=message or REFUSALS[code])
        self.publish("input.refused", reading.t, event)

    def set_lamp(self, t: int, name: Literal["puck", "no_more_bets", "line_bet"], shows: str) -> None:
        """Set a lamp or marker to `shows`."""
        self.effects.append(Lamp(t=t, name=name, shows=shows))

    def set_timer(self, name: str, due_us: int) -> None:
        """Set or reset a timer, which fires once."""
        earliest = self._timers.get(name) == self.next_due_us
        self._timers[name] = due_us
        if due_us <= self.next_due_us:
            self.next_due_us = due_us
        elif earliest:
            self._find_next()

    def stop_timer(self, name: str) -> None:
        """Stop a timer if it is running."""
        if self._timers.pop(name, None) == self.next_due_us:
            self._find_next()

    def due_us(self, name: str) -> int | None:
        """Return the due time of a timer; None if it is not running."""
        return self._timers.get(name)

    def due_before(self, t: int) -> Iterator[tuple[str, int]]:
        """Stop and yield each timer that is due before `t`, earliest first."""
        while self.next_due_us < t:
            due_us = self.next_due_us
            name = min(name for name, due in self._timers.items() if due == due_us)
            self.stop_timer(name)
            yield name, due_us

    def _find_next(self) -> None:
        self.next_due_us = min(self._timers.values(), default=NEVER_US)
