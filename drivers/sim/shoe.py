"""A card shoe's own end of its line: it says each card's code twice, its lid, and that it is there."""

from collections.abc import Mapping

from controller.model.readings import AnyReading, Card, Switch
from drivers.devices.shoe import LID_SWITCH, ShoeSettings
from drivers.protocol.shoe import ShoeSpeaker
from drivers.sim.boards import Unasked

SETTINGS: Mapping[str, str | float | list[str]] = {
    "unread": ["NR"],
    "lid_open": ["LID1"],
    "lid_closed": ["LID0"],
    "alive": ["OK"],
    "silent_s": 3.0,
}
"""A virtual shoe's section of a table file, beside its port."""
ALIVE_US = 1_000_000
TIMES = 2


class VirtualShoe(Unasked):
    """The shoe at its cable. It deals in rotation, knows nobody and stamps nothing."""

    def __init__(self, name: str) -> None:
        """Be the device of this name."""
        super().__init__(name)
        codes = ShoeSettings(port="", unread=("NR",), lid_open=("LID1",), lid_closed=("LID0",), alive=("OK",))
        self._speaker = ShoeSpeaker(codes.codes, times=TIMES)

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Say what left the shoe, or what its lid did."""
        del now_us
        if self.hung:
            return
        match reading:
            case Card(rank=None):
                self._output.append(self._speaker.word("unread") * TIMES)
            case Card(rank=rank, suit=suit):
                self._output.append(self._speaker.card(f"{rank}{suit}"))
            case Switch(name=name, open=is_open) if name == LID_SWITCH:
                self._output.append(self._speaker.word("lid_open" if is_open else "lid_closed"))
            case _:
                pass

    def tick(self, now_us: int) -> None:
        """Say that it is there."""
        if not self.hung and now_us >= self._next_us:
            self._next_us = now_us + ALIVE_US
            self._output.append(self._speaker.word("alive"))
