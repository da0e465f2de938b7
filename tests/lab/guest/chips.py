"""Simulated GPIO chips from gpio-sim, which the kernel and all programs treat as real chips."""

import os
import threading
import time
from pathlib import Path

from tests.lab.guest.waiting import udev_done

CHIPS = Path("/sys/kernel/config/gpio-sim")
PI_4 = "pinctrl-bcm2711"
PI_4_LINES = 54
HOLD_S = 0.1
"""The interval at which a held line is pulled again."""


class Chip:
    """A chip of `lines` lines with this label; its folder is named `name`."""

    def __init__(self, name: str, label: str = PI_4, lines: int = PI_4_LINES) -> None:
        self.folder = CHIPS / name
        bank = self.folder / "bank0"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(f"{lines}\n")
        (bank / "label").write_text(f"{label}\n")
        self._pulls: dict[int, int] = {}
        self._held: dict[int, bool] = {}
        self._turn = threading.RLock()
        self._here = False
        self.come()

    def come(self) -> None:
        """Create the chip, and wait until udev has set its group."""
        (self.folder / "live").write_text("1\n")
        self._here = True
        udev_done()

    def go(self) -> None:
        """Unbind the chip, even if some of its lines are in use."""
        with self._turn:
            self._here = False
            for descriptor in self._pulls.values():
                os.close(descriptor)
            self._pulls.clear()
        (self.folder / "live").write_text("0\n")

    @property
    def name(self) -> str:
        return (self.folder / "bank0" / "chip_name").read_text().strip()

    @property
    def _place(self) -> Path:
        device = (self.folder / "dev_name").read_text().strip()
        return Path("/sys/devices/platform") / device / self.name

    def pull(self, line: int, high: bool) -> None:
        """Pull an input line high or low."""
        with self._turn:
            if line in self._held:
                self._held[line] = high
            if line not in self._pulls:
                self._pulls[line] = os.open(self._place / f"sim_gpio{line}" / "pull", os.O_WRONLY)
            os.pwrite(self._pulls[line], b"pull-up" if high else b"pull-down", 0)

    def hold(self, line: int, high: bool) -> None:
        """Pull an input line high or low, and hold it.

        gpio-sim treats the bias of a request as an external level, so a request overrides an earlier pull.
        Without the hold, a door would appear to open whenever the controller requested its lines.
        """
        if not self._held:
            threading.Thread(target=self._keep_held, daemon=True).start()
        self._held[line] = high
        self.pull(line, high)

    def _keep_held(self) -> None:
        while True:
            time.sleep(HOLD_S)
            with self._turn:
                if self._here:
                    for line, high in self._held.items():
                        self.pull(line, high)

    def is_high(self, line: int) -> bool:
        """Return the level of a line."""
        return (self._place / f"sim_gpio{line}" / "value").read_text().strip() == "1"
