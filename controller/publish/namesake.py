"""Tell when another client has this table's name: a copy of its certificate, or a second controller."""

from collections import deque
from contextlib import suppress

from controller.publish.bounded import Unreadable
from controller.publish.events import TableStatus, read_status
from controller.publish.faults import Alarm, PublishFault

EARLIER_US = 150_000_000
"""So long after the first connection messages of this table's own last run may still come: a broker takes a
half-dead link for gone after one and a half times its keep-alive."""
ALONE_US = 60_000_000
"""So long must nobody else take the table's identity before that is over."""


class Namesake:
    """Looks at the status under the table's own name: not every broker says who took a connection."""

    def __init__(self, alarm: Alarm, where: str) -> None:
        self._alarm = alarm
        self._where = where
        self._told: deque[bytes] = deque(maxlen=64)
        self._session: int | None = None
        self._first_us: int | None = None
        self._connections = 0
        self._since_us: int | None = None

    def connected(self, now_us: int) -> None:
        """Note that the broker has taken the table."""
        self._connections += 1
        if self._first_us is None:
            self._first_us = now_us
        if self._since_us is not None:
            self._since_us = now_us

    def told(self, payload: bytes) -> None:
        """Note a status of the table's own."""
        self._told.append(payload)
        with suppress(Unreadable):
            session = read_status(payload).session
            self._session = session if session is not None else self._session

    def look(self, payload: bytes, now_us: int, *, retained: bool) -> None:
        """Look at a status: one that was kept at the first connection may be of this table's last run."""
        if payload in self._told or (retained and self._connections < 2):
            return
        with suppress(Unreadable):
            status = read_status(payload)
            if status.state == "online" and not self._is_of_last_run(status, now_us):
                found = f"a status that is not this table's: session {status.session}, {status.headline}"
                self.found(found, now_us)

    def _is_of_last_run(self, status: TableStatus, now_us: int) -> bool:
        """Return whether this is an own earlier session's word, late over a link that was dying."""
        if self._session is None or self._first_us is None or now_us - self._first_us > EARLIER_US:
            return False
        return status.session is None or status.session < self._session

    def found(self, found: str, now_us: int) -> None:
        """Note that there is another one."""
        self._since_us = now_us
        self._alarm.began(PublishFault("identity_taken", self._where, found))

    def note_calm(self, now_us: int) -> None:
        """Take the fault back once nobody else has come for a while."""
        if self._since_us is not None and now_us - self._since_us > ALONE_US:
            self._since_us = None
            self._alarm.over("identity_taken")
