"""Inputs for whose answer somebody waits: what came of each in the core, told once that is on the disk."""

from collections.abc import Iterable
from threading import Event

from controller.app.inlet import Inlet
from controller.journal.tickets import Ticket
from controller.machines.flat import Refused
from controller.machines.refusals import REFUSALS
from controller.model.effects import Effect, Late
from controller.model.readings import Input, Reading

HALTED = Refused("halted", "the journal takes nothing more, so nothing is decided; see `tablectl faults`")
_LATE = Refused("late", "it came too late to count; enter it again")


ROOM_FOR_READINGS = 0.75
"""The part of the inlet that people's words at the socket leave to what sensors see."""


class Asked:
    """The answer to one input, filled by the core and read by whoever waits."""

    def __init__(self) -> None:
        self.refused: Refused | None = None
        self.allowed: tuple[str, ...] = ()
        """Where it was refused: what would make sense now."""
        self.answer = ""
        """Where it was obeyed: what came of it (`Roll 24: No Roll, was 3-4`), if more than its name says."""
        self._ticket: Ticket | None = None
        self._decided = Event()

    @property
    def says(self) -> str:
        """Say why it was refused."""
        assert self.refused is not None
        return self.refused.says or REFUSALS[self.refused.code]

    def decided(self, ticket: Ticket | None) -> None:
        """Say that it was decided on, and what must be on the disk before that is told."""
        self._ticket = ticket
        self._decided.set()

    def wait(self, timeout_s: float) -> bool:
        """Wait for the answer; False where none came in this time. Not for the core thread."""
        return self._decided.wait(timeout_s) and (self._ticket is None or self._ticket.wait(timeout_s))


class Answers:
    """The inputs under way. Anybody enters one; all else is the core thread's."""

    def __init__(self, inlet: Inlet) -> None:
        """Hand inputs over to this inlet."""
        self._inlet = inlet
        self._waiting: dict[int, tuple[Reading, Asked]] = {}
        self._decided: list[Asked] = []

    def enter(self, entered: Input) -> Asked | None:
        """Hand over an input; give where its answer will be, None where there was no room."""
        asked = Asked()

        def placed(reading: Reading) -> None:
            # The reading is kept with its id, so that no other can have the same one meanwhile.
            self._waiting[id(reading)] = reading, asked

        taken = self._inlet.post(entered, stamped=False, placed=placed, spare=ROOM_FOR_READINGS)
        return asked if taken else None

    def heard(
        self, entered: Reading, refused: Refused | None, allowed: tuple[str, ...] = (), answer: str = ""
    ) -> None:
        """Note what came of an input; that is told with `tell`, after all that it led to."""
        _, asked = self._waiting.pop(id(entered), (None, None))
        if asked is not None:
            asked.refused, asked.allowed, asked.answer = refused, allowed, answer
            self._decided.append(asked)

    def too_late(self, effects: Iterable[Effect]) -> None:
        """Note the inputs among what came too late."""
        if self._waiting:
            for effect in effects:
                if isinstance(effect, Late):
                    self.heard(effect.reading, _LATE)

    def tell(self, ticket: Ticket | None) -> None:
        """Let everybody know whose input was decided on, once this is on the disk."""
        decided, self._decided = self._decided, []
        for asked in decided:
            asked.decided(ticket)
