"""Lamps of a board: each follows one of the table's lamps."""


class Lamps:
    """Pins by the lamp that they follow.

    `lit_when` are the words that light one, `on` where left out; one with `dark_when` is lit by every other
    word.
    """

    def __init__(self, hardware, lamps) -> None:  # type: ignore[no-untyped-def]  # any hardware of these names
        """Set up the pins, with every lamp off."""
        self.hardware = hardware
        self.lamps = lamps
        self.dark()

    def show(self, fields: dict[str, str]) -> None:
        """Show what the table says of a lamp; one that is not fitted here is none of the board's."""
        for one in self.lamps:
            if one["lamp"] == fields.get("name"):
                shows = fields.get("shows")
                if "dark_when" in one:
                    lit = shows not in one["dark_when"]
                else:
                    lit = shows in one.get("lit_when", ["on"])
                self.hardware.output(one["pin"], lit)

    def dark(self) -> None:
        """Put every lamp out."""
        for one in self.lamps:
            self.hardware.output(one["pin"], False)
