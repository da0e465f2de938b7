"""USB devices with one serial port each, on dummy_hcd's sockets, and the virtual boards behind them."""

import contextlib
import os
import select
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

from controller.model.readings import AnyReading
from drivers.sim.boards import Peer
from tests.lab.guest.waiting import must, now_us, udev_done

GADGETS = Path("/sys/kernel/config/usb_gadget")
BY_ID = Path("/dev/serial/by-id")
READ_BYTES = 4096
LOOK_MS = 50


class Gadget:
    """A USB device with one ACM port, in one socket; its name under /dev contains `serial`."""

    def __init__(self, socket: int, serial: str) -> None:
        self.socket, self.folder = socket, GADGETS / f"board{socket}"
        function = self.folder / f"functions/acm.{socket}"
        for part in (self.folder / "strings/0x409", self.folder / "configs/c.1", function):
            part.mkdir(parents=True, exist_ok=True)
        (self.folder / "idVendor").write_text("0x1d6b")
        (self.folder / "idProduct").write_text("0x0104")
        (self.folder / "strings/0x409/manufacturer").write_text("Table")
        (self.folder / "strings/0x409/product").write_text("Board")
        self.name(serial)
        (self.folder / f"configs/c.1/acm.{socket}").symlink_to(function)
        self.port = f"/dev/ttyGS{(function / 'port_num').read_text().strip()}"

    def name(self, serial: str) -> None:
        """Set the serial number, which identifies the board."""
        self.serial = serial
        (self.folder / "strings/0x409/serialnumber").write_text(serial)

    def plug(self) -> None:
        (self.folder / "UDC").write_text(f"dummy_udc.{self.socket}\n")

    def unplug(self) -> None:
        (self.folder / "UDC").write_text("\n")


class Cable:
    """Carries bytes between a virtual board and its device's port, in real time."""

    def __init__(self, gadget: Gadget, board: Peer) -> None:
        self.gadget, self.board = gadget, board
        self.dropped = 0
        """Number of bytes that the port did not accept."""
        self._lock = threading.RLock()
        self._senses: list[tuple[int, AnyReading]] = []
        self._raw = bytearray()
        self._pulled = True
        self._port = -1
        self.plug()
        threading.Thread(target=self._carry, daemon=True).start()

    @property
    def by_id(self) -> str:
        """Return the persistent name that udev assigns to the device's port."""
        return f"usb-Table_Board_{self.gadget.serial}-if00"

    def sense(self, at_us: int, reading: AnyReading) -> None:
        """Pass a reading to the board's sensors at this time."""
        with self._lock:
            self._senses.append((at_us, reading))
            self._senses.sort(key=lambda one: one[0])

    def play(self, act: Callable[[], object]) -> None:
        """Call a function of the board while the cable's thread does not use the board."""
        with self._lock:
            act()

    def say(self, data: bytes) -> None:
        """Send bytes that no board would send."""
        with self._lock:
            self._raw += data

    def unplug(self) -> None:
        """Unplug the cable, which also powers the board."""
        with self._lock:
            self._pulled = True
        self.gadget.unplug()

    def plug(self) -> None:
        """Plug the cable in, which restarts the board. The device's removal has hung up the old port."""
        self.gadget.plug()
        fresh = -1

        def opened() -> bool:
            nonlocal fresh
            with contextlib.suppress(OSError):
                fresh = os.open(self.gadget.port, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
                tty.setraw(fresh)
            return fresh >= 0

        must(f"{self.gadget.port} opens", opened)
        with self._lock:
            old, self._port, self._pulled = self._port, fresh, False
            self.board.restart(now_us())
        if old >= 0:
            os.close(old)

    def _carry(self) -> None:
        while True:
            with self._lock:
                port, pulled = self._port, self._pulled
                nexts = [self.board.next_due_us(), *(at for at, _ in self._senses[:1])]
            due_us = min((at for at in nexts if at is not None), default=now_us() + LOOK_MS * 1000)
            poll = select.poll()
            poll.register(port, select.POLLIN)
            ready = poll.poll(min(max(0, (due_us - now_us()) / 1000), LOOK_MS))
            heard = b""
            if ready and ready[0][1] & select.POLLIN:
                with contextlib.suppress(OSError):
                    heard = os.read(port, READ_BYTES)
            if pulled or (ready and not heard):
                time.sleep(LOOK_MS / 2000)  # hung up: poll would return immediately
            self._turn(heard)

    def _turn(self, heard: bytes) -> None:
        with self._lock:
            now = now_us()
            if self._pulled:
                self._senses = [one for one in self._senses if one[0] > now]
                return
            if heard:
                self.board.receive(now, heard)
            while self._senses and self._senses[0][0] <= now:
                self.board.sense(now, self._senses.pop(0)[1])
            self.board.tick(now)
            said = bytes(self._raw) + self.board.take_output()
            self._raw.clear()
            port = self._port
        self._write(port, said)

    def _write(self, port: int, said: bytes) -> None:
        while said:
            try:
                said = said[os.write(port, said) :]
            except OSError:  # full or gone: a real board would also lose its bytes
                self.dropped += len(said)
                return


def names() -> dict[str, str]:
    """Return each board's persistent name and its present port."""
    udev_done()
    return {path.name: os.path.realpath(path) for path in BY_ID.glob("*")}
