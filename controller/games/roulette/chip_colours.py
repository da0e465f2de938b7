"""Whose chips have which colour: each player's own, and none that looks like money (R-PLACE-2)."""

from collections.abc import Iterable, Mapping

from controller.machines.flat import InputRefused
from controller.model.readings import Input


class ChipColours:
    """The colours of the non-value chips in play, by seat, as the dealer sells and takes back stacks."""

    def __init__(self, value_colours: Iterable[str], sold: Mapping[str, str]) -> None:
        """Begin with these colours sold; no stack may look like the house's value chips."""
        self._value_colours = frozenset(colour.casefold() for colour in value_colours)
        self.by_seat: dict[str, str] = dict(sold)

    def enter(self, entered: Input) -> None:
        """Sell a seat a colour (`what`), or take its chips back without one. Raises InputRefused."""
        seat = "" if entered.seat is None else str(entered.seat)
        if not seat:
            raise InputRefused("bad_argument", "chips needs the seat that the stack is for; enter it again")
        colour = (entered.what or "").strip().casefold()
        if not colour:
            if self.by_seat.pop(seat, None) is None:
                raise InputRefused("bad_argument", f"seat {seat} has no chips; name the colour that it gets")
            return
        if colour in self._value_colours:
            raise InputRefused(
                "colour_taken", f"{colour} is the colour of value chips (R-PLACE-2); take another"
            )
        holder = next(
            (other for other, sold in self.by_seat.items() if sold == colour and other != seat), None
        )
        if holder is not None:
            raise InputRefused(
                "colour_taken", f"seat {holder} plays {colour} (R-PLACE-2); take another, or its chips back"
            )
        self.by_seat[seat] = colour
