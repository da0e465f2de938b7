"""Tell systemd how the service stands (sd_notify(3)); nothing where there is no systemd."""

import socket
from collections.abc import Mapping
from contextlib import suppress

READY = "READY=1"
STOPPING = "STOPPING=1"
WATCHDOG = "WATCHDOG=1"
EXTEND_START = "EXTEND_TIMEOUT_USEC=60000000"
"""From now on a start may take so much longer, whatever TimeoutStartSec says (sd_notify(3)); it is said again
as long as it goes on."""
PATIENCE_S = 0.2
"""A full socket that nobody reads must not hold up who writes to it: the next word comes soon."""


class Notifier:
    """Writes to the socket that `NOTIFY_SOCKET` names."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Find the socket, and how often the watchdog wants to hear of us."""
        address = environ.get("NOTIFY_SOCKET", "")
        # systemd writes an abstract address with @ in the place of its NUL byte.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        usec = environ.get("WATCHDOG_USEC", "")
        self.watchdog_s = int(usec) / 1e6 if usec.isdigit() else None

    def tell(self, *words: str) -> None:
        """Send these words; a systemd that does not listen is no fault of the table's."""
        if not self._address:
            return
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.settimeout(PATIENCE_S)
            out.sendto("\n".join(words).encode(), self._address)
