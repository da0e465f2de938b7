"""The lamps of a board, which follow the table's lamps."""


class Lamps:
    """The lamps of a board.

    A lamp is lit for the values in its `lit_when`, by default `on`. A lamp that has `dark_when` is lit for
    all values except those in `dark_when`.
    """

    def __init__(self, hardware, lamps) -> None:  # type: ignore[no-untyped-def]  # a Pico or a test's hardware
        """Set up the pins, with every lamp off."""
        self.hardware = hardware
        self.lamps = lamps
        self.switch_off()

    def show(self, fields: dict[str, str]) -> None:
        """Set the board's lamps that follow the table lamp named in a command."""
        for one in self.lamps:
            if one["lamp"] == fields.get("name"):
                shows = fields.get("shows")
                if "dark_when" in one:
                    lit = shows not in one["dark_when"]
                else:
                    lit = shows in one.get("lit_when", ["on"])
                self.hardware.output(one["pin"], lit)

    def switch_off(self) -> None:
        """Switch all lamps off."""
        for one in self.lamps:
            self.hardware.output(one["pin"], False)
