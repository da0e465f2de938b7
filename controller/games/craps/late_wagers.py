"""Late wagers: wagers lodged during a throw, and their confirmations (C34-MK-1b).

Late wagers do not affect the throw. The table signs a statement of the confirmed wagers, and the settlement
engine uses this statement to decide whether a late wager is valid.
"""

from controller.machines.flat import InputRefused
from controller.machines.refusals import LATE_WAGER_CONFIRMERS
from controller.model.readings import Input


class LateWagers:
    """The wagers lodged during one throw."""

    def __init__(self) -> None:
        self._confirmed: dict[str, dict[str, str]] = {}
        """For each wager, the people who have confirmed it, by role."""

    def clear(self) -> None:
        """Forget all wagers when a new throw begins."""
        self._confirmed.clear()

    def lodge(self, entered: Input) -> None:
        """Record a wager that the settlement engine has reported."""
        if entered.what is not None:
            self._confirmed.setdefault(entered.what, {})

    def confirm(self, entered: Input, *, in_motion: bool) -> str:
        """Record a person's confirmation of a wager and return the answer.

        Raise InputRefused if the wager is unknown, if a die might be at rest, or if the role or the person
        has already confirmed the wager.
        """
        confirmed = None if entered.what is None else self._confirmed.get(entered.what)
        if confirmed is None:
            lodged = ", ".join(self._confirmed) or "none"
            found = "no id" if entered.what is None else repr(entered.what)
            message = (
                f"confirm_late: found {found}, expected a wager lodged during this throw ({lodged});"
                " check the id"
            )
            raise InputRefused("no_late_wager", message)
        if not in_motion:
            raise InputRefused("dice_at_rest")
        person = entered.who or entered.dev
        if entered.by in confirmed:
            raise InputRefused("confirmed_already")
        if person in confirmed.values():
            raise InputRefused("same_person")
        confirmed[entered.by] = person
        missing = [role for role in LATE_WAGER_CONFIRMERS if role not in confirmed]
        return f"Wager {entered.what}: confirmed" + (
            f"; the {missing[0]} must also confirm it" if missing else ""
        )

    @property
    def confirmed(self) -> tuple[str, ...]:
        """The ids of the wagers that both roles have confirmed."""
        return tuple(wager for wager, by in self._confirmed.items() if len(by) == len(LATE_WAGER_CONFIRMERS))

    @property
    def waiting(self) -> bool:
        """Whether a lodged wager still needs a confirmation."""
        return any(len(by) < len(LATE_WAGER_CONFIRMERS) for by in self._confirmed.values())
