"""Guided tests of devices; test mode ends when the connection that requested it closes."""

import select
import socket
from collections.abc import Callable
from threading import Event, Lock

from controller.app.daemon import Daemon
from controller.app.faults import TEST_FAILED, sensor_test_detector, test_fault
from controller.app.messages import (
    MAX_LINE,
    BeginTest,
    OutputTest,
    TestPrompt,
    TestResult,
    answer,
    decode_request,
    refusal,
    too_long,
)
from controller.app.peers import Bucket, Peer, Rate
from controller.app.running import RunningTable
from controller.app.status import build_devices
from controller.app.view import View
from controller.engine.resume import CONTROLLER
from controller.model.readings import Input
from controller.settings.places import config_file
from drivers.framing import LineSplitter

POLL_S = 0.05
BEGIN_TIMEOUT_US = 10_000_000
"""Maximum time to enter test mode; earlier readings are processed first."""
LOCK_TIMEOUT_S = 1.0
"""Maximum time to detect that the previous client disconnected."""
END_TIMEOUT_S = 10.0
"""Maximum time to leave test mode; earlier readings are processed first."""
MAX_TEST_US = 3_600_000_000
"""Maximum duration of a test; a longer test was probably abandoned."""
MAX_FAILED = 64
"""Maximum number of failed sensors of one device; a wheel has two to three dozen sensors."""
RESULTS = Rate(burst=128, per_s=8)
"""The limit on sensor results and lamp tests; in a guided test, each test takes several seconds."""
Note = Callable[[str], None]
"""Journals an action of this client."""


class GuidedTests:
    """The guided tests of one table, for one client at a time."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._one = Lock()
        self._ending = False
        """Whether the test that holds the lock has ended while the table is still in test mode."""
        self._pause = Event()
        self._results = Bucket(RESULTS, daemon.monotonic.now_us())

    def hold(
        self,
        connection: socket.socket,
        peer: Peer,
        live: RunningTable,
        begin: BeginTest,
        *,
        note: Note,
        stopping: Callable[[], bool],
    ) -> None:
        """Send readings and answer requests until the client disconnects; raises OSError if sending fails."""
        if not self._take_turn():
            busy = "another guided test is running; try again once it has finished"
            connection.sendall(refusal("busy", busy))
            return
        try:
            why = why_test_refused(live.core.view)
            if why is not None:
                connection.sendall(refusal("not_now", why))
                return
            note("test begin")
            try:
                self._test(connection, begin.who or peer.user, live, stopping)
            finally:
                note("test end")
        finally:
            self._one.release()

    def _take_turn(self) -> bool:
        """Wait for a test that is ending; return False if another test is running."""
        return self._one.acquire(timeout=LOCK_TIMEOUT_S) or (
            self._ending and self._one.acquire(timeout=END_TIMEOUT_S)
        )

    def may(self, cost: int) -> bool:
        """Return whether this number of additional results or lamp tests is within the rate limit."""
        return self._results.spend(self._daemon.monotonic.now_us(), cost)

    def fits(self, tested: TestResult) -> bool:
        """Return whether, with this result, at most MAX_FAILED sensors of the device have failed."""
        begins = f"{tested.device}, "
        standing = {fault.where for fault in self._daemon.faults.present if fault.code == TEST_FAILED}
        failed = {where for where in standing if where.startswith(begins)}
        failed -= {begins + sensor for sensor in tested.passed}
        return len(failed | {begins + sensor for sensor in tested.failed}) <= MAX_FAILED

    def note_result(self, tested: TestResult) -> None:
        """Report each failed sensor as a fault, and clear the faults of the sensors that passed."""
        faults = self._daemon.faults
        for sensor in (*tested.passed, *tested.failed):
            faults.clear(TEST_FAILED, sensor_test_detector(f"{tested.device}, {sensor}"))
        for sensor, message in tested.failed.items():
            fault = test_fault(f"{tested.device}, {sensor}", message)
            faults.report(fault, sensor_test_detector(fault.where))

    def _test(
        self, connection: socket.socket, who: str, live: RunningTable, stopping: Callable[[], bool]
    ) -> None:
        daemon = self._daemon
        watcher = daemon.hub.watch(frozenset(("readings", "timing")))
        begun = False
        try:
            self._switch(live, who, on=True)
            since_us = daemon.monotonic.now_us()
            while not live.core.view.testing:
                if stopping() or daemon.monotonic.now_us() - since_us > BEGIN_TIMEOUT_US:
                    message = "the table did not enter test mode; see `tablectl status`"
                    connection.sendall(refusal("not_now", message))
                    return
                self._pause.wait(POLL_S)
            begun = True
            connection.sendall(self._begun(live))
            requests = _Requests(connection, daemon, live, self)
            while not stopping() and daemon.live is live:
                lines = watcher.take(POLL_S)
                if watcher.dropped:
                    connection.sendall(
                        refusal("too_slow", "this client was too slow and missed readings; restart the test")
                    )
                    return
                if lines:
                    connection.sendall(b"".join(lines))
                if not requests.process():
                    return
                if not live.core.view.testing or daemon.monotonic.now_us() - since_us > MAX_TEST_US:
                    message = "test mode was switched off, or lasted longer than an hour; restart the test"
                    connection.sendall(refusal("ended", message))
                    return
        finally:
            self._ending = True
            daemon.hub.leave(watcher)
            try:
                self._end(live, who, begun=begun, stopping=stopping())
                self._await_end(live, stopping)
            finally:
                self._ending = False

    def _end(self, live: RunningTable, who: str, *, begun: bool, stopping: bool) -> None:
        """Restore all lamps, and leave test mode unless it is already off."""
        daemon = self._daemon
        live.core.lamps.prompt = ""
        if daemon.hardware is not None:
            daemon.hardware.end_tries()
        if stopping or (begun and not live.core.view.testing):
            return
        self._switch(live, who, on=False)
        # In test mode, open switches do not lock the table. A switch that is still open must lock it now.
        if live.core.devices.open_switches and live.core.view.state.lock == "unlocked":
            daemon.inlet.post(
                Input(t=0, dev=CONTROLLER, name="lock", by=CONTROLLER, reason="switch_open"), has_time=False
            )

    def _await_end(self, live: RunningTable, stopping: Callable[[], bool]) -> None:
        """Wait until the table has left test mode, so that the next test can begin at once."""
        since_us = self._daemon.monotonic.now_us()
        while live.core.view.testing and self._daemon.live is live and not stopping():
            if self._daemon.monotonic.now_us() - since_us > END_TIMEOUT_S * 1_000_000:
                return
            self._pause.wait(POLL_S)

    def _switch(self, live: RunningTable, who: str, *, on: bool) -> None:
        """Switch test mode on or off; wait if the inlet is full."""
        entered = Input(t=0, dev="control", name="test_mode", by="technician", who=who, on=on)
        while not self._daemon.inlet.post(entered, has_time=False) and self._daemon.live is live:
            self._pause.wait(POLL_S)

    def _begun(self, live: RunningTable) -> bytes:
        daemon = self._daemon
        return answer(
            testing=True,
            table=daemon.settings.table,
            file=str(config_file("tables", daemon.options.table).resolve()),
            digest=daemon.digests.table,
            devices=build_devices(daemon, live.core.devices.seen),
            lamps=sorted({"lock", "fault", "no_roll", *live.core.lamps.shown} - {"test"}),
        )


class _Requests:
    """The requests of a client during its test."""

    def __init__(
        self, connection: socket.socket, daemon: Daemon, live: RunningTable, tests: GuidedTests
    ) -> None:
        self._connection = connection
        self._tests = tests
        self._daemon = daemon
        self._live = live
        self._lines = LineSplitter(MAX_LINE)

    def process(self) -> bool:
        """Process the received requests; return False if the client has disconnected.

        Only one block is read, so that a client that sends continuously can't delay the end of the test.
        """
        if select.select([self._connection], [], [], 0)[0]:
            block = self._connection.recv(MAX_LINE)
            if not block:
                return False
            for line in self._lines.feed(block):
                self._connection.sendall(too_long() if line.dropped else self._answer(line.text))
        return True

    def _answer(self, line: bytes) -> bytes:
        try:
            request = decode_request(line)
        except ValueError as error:
            return refusal("bad_request", str(error))
        match request:
            case TestPrompt():
                self._live.core.lamps.prompt = request.shows
                return answer(asked=request.shows)
            case OutputTest():
                if not self._tests.may(1):
                    return _TOO_FAST
                hardware = self._daemon.hardware
                if hardware is None or request.device not in hardware.kinds:
                    return refusal(
                        "bad_request", f"found device {request.device!r}, expected a device with lamps"
                    )
                hardware.try_out(request.device, request.lamp, request.shows)
                return answer(tried=request.lamp)
            case TestResult(device=device):
                if device not in self._daemon.settings.devices:
                    known = ", ".join(self._daemon.settings.devices)
                    return refusal("bad_request", f"found device {device!r}, expected one of {known}")
                if not self._tests.may(len(request.passed) + len(request.failed)):
                    return _TOO_FAST
                if not self._tests.fits(request):
                    message = (
                        f"more than {MAX_FAILED} sensors of {device} have failed; check the device, then"
                        " repeat the test"
                    )
                    return refusal("too_many", message)
                self._tests.note_result(request)
                return answer(noted=device)
        return refusal("bad_request", "during a test, only `ask`, `try` and `tested` are accepted")


_TOO_FAST = refusal("too_fast", "too many results or lamp tests in a short time; try again in a few seconds")
_LOCK = "lock the table (`tablectl input lock --by supervisor`)"


def why_test_refused(view: View) -> str | None:
    """Return why a test may not begin now, with the remedy; None if a test may begin."""
    if view.testing:
        return "test mode is already on; switch it off: `tablectl input test_mode off --by technician`"
    if view.halted:
        return "the journal has failed; see `tablectl faults`"
    if view.attempt_open:
        first = "wait until it ends, or rule on it (`tablectl status` shows the possible rulings)"
        advice = "" if view.state.lock == "locked" else f"; then {_LOCK}, so that no other attempt begins"
        return f"a throw, spin or deal is in progress or under review; {first}{advice}"
    if view.pending:
        return "an attempt was cut off by a restart; rule on it first (see `tablectl status`)"
    if view.bets_closed:
        return "bets are closed and await a result; finish the round first"
    if view.state.lock == "unlocked" and view.state.point is not None:
        return f"a point is on; finish the round, or {_LOCK} to suspend it"
    return None
