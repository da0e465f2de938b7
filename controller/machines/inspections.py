"""What must be inspected before play should go on: a ball that flew out, dice that a person doubts."""

from collections.abc import Iterable

from controller.machines.flat import Refused
from controller.model.readings import Input
from controller.model.verdicts import Notice, Reason

CAUSES = {
    "cheating": "dice",
    "ball_out": "ball",
    "foreign_object": "wheel",
    "wrong_count": "shoe",
    "card_twice": "shoe",
    "shoe_opened": "shoe",
}
"""What a void for this cause leaves to inspect before play goes on."""


class Inspections:
    """The things that await an inspection; each is noted until a person says that it was inspected."""

    def __init__(self) -> None:
        """Start with nothing to inspect."""
        self._waiting: list[str] = []

    @property
    def waiting(self) -> tuple[str, ...]:
        """Name what awaits an inspection."""
        return tuple(self._waiting)

    def go_on_with(self, waiting: Iterable[str]) -> None:
        """Restore what a recorded state says was waiting."""
        self._waiting = list(waiting)

    def ask_after(self, reasons: Iterable[Reason]) -> None:
        """Ask for what these causes of a void leave to inspect."""
        for reason in reasons:
            what = CAUSES.get(reason.code)
            if what is not None and what not in self._waiting:
                self._waiting.append(what)

    def notices(self) -> tuple[Notice, ...]:
        """Return a notice for each inspection that play did not wait for."""
        return tuple(
            Notice(code="not_inspected", seen=f"the {what} was not inspected") for what in self._waiting
        )

    def done(self, entered: Input) -> None:
        """Handle a person's word that it was inspected. Raises Refused when nothing such waits."""
        if entered.what not in self._waiting:
            waits = ", ".join(self._waiting) or "nothing"
            raise Refused(
                "nothing_to_inspect", f"no inspection of {entered.what!r} is waiting; waiting: {waits}"
            )
        self._waiting.remove(entered.what)
