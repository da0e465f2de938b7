"""Craps wagers that a player called with the dice out, and who has confirmed each aloud (C34-MK-1b).

Nothing here changes a throw: whether a wager stands is the settlement engine's, on the table's word.
"""

from controller.machines.flat import InputRefused
from controller.machines.roles import CONFIRM_BY
from controller.model.readings import Input


class LateWagers:
    """The wagers lodged during one throw."""

    def __init__(self) -> None:
        self._confirmed: dict[str, dict[str, str]] = {}
        """By wager who confirmed it, by role."""

    def clear(self) -> None:
        """Forget them: another throw begins."""
        self._confirmed.clear()

    def lodge(self, entered: Input) -> None:
        """Record that this wager waits to be confirmed, on the settlement engine's word."""
        if entered.what is not None:
            self._confirmed.setdefault(entered.what, {})

    def confirm(self, entered: Input, *, in_motion: bool) -> str:
        """Record that a person confirms a wager; return the answer to tell. Raises InputRefused."""
        confirmed = None if entered.what is None else self._confirmed.get(entered.what)
        if confirmed is None:
            waiting = ", ".join(self._confirmed) or "none"
            raise InputRefused("no_late_wager", f"no such wager waits in this throw (waiting: {waiting})")
        if not in_motion:
            raise InputRefused("dice_at_rest")
        person = entered.who or entered.dev
        if entered.by in confirmed:
            raise InputRefused("confirmed_already")
        if person in confirmed.values():
            raise InputRefused("same_person")
        confirmed[entered.by] = person
        missing = [role for role in CONFIRM_BY if role not in confirmed]
        return f"Wager {entered.what}: confirmed" + (f"; the {missing[0]} has yet to" if missing else "")

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The wagers that both have confirmed."""
        return tuple(wager for wager, by in self._confirmed.items() if len(by) == len(CONFIRM_BY))

    @property
    def waiting(self) -> bool:
        """Whether one was lodged that not both have confirmed."""
        return any(len(by) < len(CONFIRM_BY) for by in self._confirmed.values())
