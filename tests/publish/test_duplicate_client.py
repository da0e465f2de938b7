"""A second client with the table's name is detected. A status of its earlier session is ignored."""

import msgspec

from controller.publish.events import TableStatus
from controller.publish.faults import PublishFault
from controller.publish.identity import PREVIOUS_RUN_US, DuplicateClientDetector


class ActiveFaults:
    """Records the active faults."""

    def __init__(self) -> None:
        self.codes: set[str] = set()
        self.found = ""

    def report(self, fault: PublishFault) -> None:
        self.codes.add(fault.code)
        self.found = fault.found

    def clear(self, code: str) -> None:
        self.codes.discard(code)


def status(session: int | None, headline: str = "table open, unlocked") -> bytes:
    known = TableStatus(table="craps", state="online", lock="unlocked", headline=headline, session=session)
    return msgspec.json.encode(known)


def started_in(session: int) -> tuple[DuplicateClientDetector, ActiveFaults]:
    faults = ActiveFaults()
    detector = DuplicateClientDetector(faults, "broker")
    detector.connected(0)
    detector.receive(status(session))
    return detector, faults


def test_a_status_of_an_earlier_session_of_this_table_is_not_a_second_table() -> None:
    detector, faults = started_in(7)
    detector.check(status(6, "locked"), 30_000_000, retained=False)
    detector.check(status(None, "starting"), 31_000_000, retained=False)
    assert faults.codes == set()


def test_a_deeply_nested_status_is_ignored() -> None:
    detector, faults = started_in(7)
    for payload in (b'{"x":' + b"[" * 30_000, b"\xff" * 100, b'{"table":"craps"}' + b" " * 40_000, b""):
        detector.check(payload, PREVIOUS_RUN_US + 1, retained=False)
    assert faults.codes == set()


def test_an_older_copy_that_keeps_publishing_is_a_second_table() -> None:
    detector, faults = started_in(7)
    detector.check(status(6, "locked"), PREVIOUS_RUN_US + 1, retained=False)
    assert faults.codes == {"identity_taken"}


def test_an_unknown_status_of_this_or_a_later_session_is_a_second_table() -> None:
    for session in (7, 8):
        detector, faults = started_in(7)
        detector.check(status(session, "another"), 1_000_000, retained=False)
        assert faults.codes == {"identity_taken"}


def test_another_clients_headline_is_shown_in_printable_form() -> None:
    detector, faults = started_in(7)
    detector.check(status(8, "\x1b[2J\n" + "x" * 30_000), 1_000_000, retained=False)
    assert r"\x1b[2J\nxxx" in faults.found
    assert faults.found.isprintable()
    assert len(faults.found) < 200
