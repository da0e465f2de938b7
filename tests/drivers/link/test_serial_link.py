"""Tests of a serial link over pseudo-terminals: exclusive opening, losses and recovery."""

import errno
import fcntl
import os
import termios
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

import serial

from drivers.link import serial_port
from drivers.link.link import Inlet, Link, PortError
from drivers.link.serial_port import SerialPort
from tests.drivers.link.ptys import PATIENCE_S, Ear, Plug, link_to, open_files


@pytest.fixture
def plug(tmp_path: Path) -> Iterator[Plug]:
    plug = Plug(tmp_path / "usb-Acme_Sensor_0007-if00")
    yield plug
    plug.pull()


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def link(plug: Plug, ear: Ear) -> Iterator[Link]:
    link = link_to(SerialPort(str(plug.name), 921_600, write_timeout_s=PATIENCE_S), ear.inlet)
    yield link
    assert link.stop()


FAILURES = [
    (errno.ENODEV, "unplugged: .* disappeared during a {}: No such device"),
    (errno.ENXIO, "unplugged: .* disappeared during a {}: No such device or address"),
    (errno.EIO, "unplugged: .* failed during a {}: Input/output error"),
    (errno.ENOMEM, "port_fault: .* failed during a {}: Cannot allocate memory"),
]
"""Error numbers of a read or a write, with their reports. EIO means a hang-up or a fault of the line."""


def opened(plug: Plug) -> SerialPort:
    port = SerialPort(str(plug.name), 921_600)
    port.open()
    return port


def inside(port: SerialPort) -> serial.Serial:
    assert port._serial is not None
    return port._serial


class TestThePort:
    def test_is_opened_exclusively(self, plug: Plug) -> None:
        plug.plug()
        port = opened(plug)
        with pytest.raises(PortError) as caught:
            SerialPort(str(plug.name), 921_600).open()
        assert caught.value.code == "port_busy"
        with plug.name.open("rb") as second, pytest.raises(BlockingIOError):
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        exclusive = fcntl.ioctl(inside(port).fd, 0x80045440, b"\0" * 4)  # TIOCGEXCL
        assert exclusive == b"\1\0\0\0"
        port.close()
        opened(plug).dispose()
        port.dispose()

    def test_does_not_reset_the_board_when_it_is_opened_again(self, plug: Plug) -> None:
        plug.plug()
        port = opened(plug)
        assert not termios.tcgetattr(inside(port).fd)[2] & termios.HUPCL
        port.dispose()

    def test_never_writes_without_a_time_limit(self, plug: Plug) -> None:
        plug.plug()
        port = opened(plug)
        assert inside(port).write_timeout == 0.5
        port.dispose()

    def test_is_never_flushed(self) -> None:
        assert ".flush(" not in Path(serial_port.__file__).read_text()

    @pytest.mark.parametrize(
        ("number", "code"),
        [
            (errno.ENOENT, "no_port"),
            (errno.ENXIO, "no_port"),
            (errno.EBUSY, "port_busy"),
            (errno.EAGAIN, "port_busy"),
            (errno.EACCES, "no_permission"),
            (errno.EPERM, "no_permission"),
            (errno.EIO, "port_fault"),
        ],
    )
    def test_reports_why_it_cannot_be_opened(
        self, monkeypatch: pytest.MonkeyPatch, number: int, code: str
    ) -> None:
        def refuse(_port: serial.Serial) -> None:
            raise serial.SerialException(number, "could not open port")

        monkeypatch.setattr(serial.Serial, "open", refuse)
        with pytest.raises(PortError, match=f"{code}: /dev/table-x: {os.strerror(number)}"):
            SerialPort("/dev/table-x", 921_600).open()

    def test_reports_that_a_file_is_not_a_port(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        port = SerialPort(str(tmp_path / "file"), 921_600)
        before = open_files()
        for _ in range(20):
            with pytest.raises(PortError, match="port_fault"):
                port.open()
        assert open_files() < before + 20
        port.dispose()

    def test_that_disappears_during_a_read_is_unplugged(self, plug: Plug) -> None:
        plug.plug()
        port = opened(plug)
        plug.pull()
        with pytest.raises(PortError, match="unplugged"):
            port.read()
        port.dispose()

    @pytest.mark.parametrize(("number", "message"), FAILURES)
    def test_that_fails_during_a_read_says_how(
        self, plug: Plug, monkeypatch: pytest.MonkeyPatch, number: int, message: str
    ) -> None:
        def fail(_fd: int, _count: int) -> bytes:
            raise OSError(number, "x")

        plug.plug()
        port = opened(plug)
        plug.say(b"x")
        monkeypatch.setattr(os, "read", fail)
        with pytest.raises(PortError, match=message.format("read")):
            port.read()
        monkeypatch.undo()
        port.dispose()

    def test_that_hangs_up_is_unplugged(self, plug: Plug, monkeypatch: pytest.MonkeyPatch) -> None:
        plug.plug()
        port = opened(plug)
        plug.say(b"x")
        monkeypatch.setattr(os, "read", lambda _fd, _count: b"")
        with pytest.raises(PortError, match="hung up"):
            port.read()
        monkeypatch.undo()
        port.dispose()

    @pytest.mark.parametrize(("number", "message"), FAILURES)
    @pytest.mark.parametrize("raised", [OSError, termios.error])
    def test_that_fails_during_a_write_says_how_whatever_is_raised(
        self,
        plug: Plug,
        monkeypatch: pytest.MonkeyPatch,
        raised: type[Exception],
        number: int,
        message: str,
    ) -> None:
        def fail(_port: serial.Serial, _data: bytes) -> int:
            raise raised(number, "x")

        plug.plug()
        port = opened(plug)
        monkeypatch.setattr(serial.Serial, "write", fail)
        with pytest.raises(PortError, match=message.format("write")):
            port.write(b"x")
        port.dispose()

    @pytest.mark.parametrize(("number", "message"), FAILURES)
    def test_that_fails_during_a_write_says_how_though_pyserial_drops_the_number(
        self, plug: Plug, monkeypatch: pytest.MonkeyPatch, number: int, message: str
    ) -> None:
        def fail(_fd: int, _data: bytes) -> int:
            raise OSError(number, "x")

        plug.plug()
        port = opened(plug)
        with monkeypatch.context() as patched:
            patched.setattr(os, "write", fail)
            with pytest.raises(PortError, match=message.format("write")):
                port.write(b"x")
        port.dispose()

    def test_that_is_closed_can_still_be_woken(self, plug: Plug) -> None:
        plug.plug()
        port = opened(plug)
        port.close()
        port.wake()
        port.dispose()
        port.wake()
        port.dispose()


class TestTheLink:
    def test_posts_arriving_data_and_writes_data_to_send(self, plug: Plug, ear: Ear, link: Link) -> None:
        plug.plug()
        link.start()
        assert ear.up().port.startswith("/dev/pts/")
        plug.say(b"$w1 hello\n")
        assert ear.data(10) == b"$w1 hello\n"
        assert link.send(b">w1 ping\n")
        assert plug.hear(9) == b">w1 ping\n"

    def test_reports_a_missing_port_once_and_opens_it_when_it_appears(
        self, plug: Plug, ear: Ear, link: Link
    ) -> None:
        link.start()
        ear.down("no_port")
        plug.plug()
        ear.up()
        assert [type(arrival.event).__name__ for arrival in ear.arrivals] == ["LinkDown", "LinkUp"]

    def test_reports_a_pulled_cable_and_recovers_under_another_name(
        self, plug: Plug, ear: Ear, link: Link
    ) -> None:
        plug.plug()
        link.start()
        first = ear.up().port
        other = Plug(plug.name.with_name("plugged elsewhere"))
        other.plug()
        plug.pull()
        ear.down("unplugged")
        other.name.rename(plug.name)
        assert ear.up().port != first
        other.say(b"back\n")
        assert ear.data(5) == b"back\n"
        other.pull()

    def test_leaks_no_file_over_a_hundred_cycles(self, plug: Plug, ear: Ear, link: Link) -> None:
        link.start()
        ear.down("no_port")
        before = open_files()
        for _ in range(100):
            plug.plug()
            ear.up()
            plug.say(b"x")
            ear.data(1)
            plug.pull()
            ear.down("unplugged")
        ear.down("no_port")
        assert open_files() < before + 100
        assert link.opened == 100

    @pytest.mark.parametrize("change", ["speed", "mode", "line ends", "flow control"])
    def test_restores_settings_that_another_program_changes(
        self, plug: Plug, ear: Ear, link: Link, change: str
    ) -> None:
        plug.plug()
        link.start()
        ear.up()
        device = plug.device  # the settings of a pseudo-terminal are common to both ends
        assert device is not None
        before = termios.tcgetattr(device)
        after = list(before)
        match change:
            case "speed":
                after[4] = after[5] = termios.B9600
            case "mode":
                after[3] |= termios.ICANON | termios.ECHO
            case "line ends":
                after[0] |= termios.ICRNL
            case _:
                after[0] |= termios.IXON
        termios.tcsetattr(device, termios.TCSANOW, after)
        plug.say(b"12\r\n")
        assert "changed the settings" in ear.down("settings_changed").seen
        ear.up()
        assert termios.tcgetattr(device) == before
        plug.say(b"13\r\n")
        assert ear.data(4) == b"13\r\n"

    def test_a_device_that_reads_nothing_is_a_stuck_writer(self, plug: Plug, ear: Ear) -> None:
        link = link_to(SerialPort(str(plug.name), 921_600, write_timeout_s=0.05), ear.inlet)
        plug.plug()
        link.start()
        ear.up()
        while link.send(b"x" * 4096):
            pass
        down = ear.down("stuck_writer")
        assert "did not accept all bytes within 0.05 s" in down.seen
        ear.up()
        assert link.stop()

    def test_accepts_no_more_than_its_queue_holds(self, plug: Plug, ear: Ear, link: Link) -> None:
        assert not link.send(b"x")
        plug.plug()
        link.start()
        ear.up()
        assert not link.send(b"x" * 20_000)
        assert link.send(b"x")

    def test_reopens_the_port_on_request(self, plug: Plug, ear: Ear, link: Link) -> None:
        plug.plug()
        link.start()
        ear.up()
        link.reopen()
        ear.down("reopening")
        ear.up()

    def test_an_unexpected_exception_of_the_port_does_not_end_the_link(
        self, plug: Plug, ear: Ear, link: Link, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        read, failed = SerialPort.read, Event()

        def fail_once(port: SerialPort) -> bytes:
            if not failed.is_set():
                failed.set()
                raise RuntimeError("raised by the test")
            return read(port)

        plug.plug()
        monkeypatch.setattr(SerialPort, "read", fail_once)
        link.start()
        assert ear.down("port_fault").seen == "RuntimeError: raised by the test"
        ear.up()
        plug.say(b"x")
        assert ear.data(1) == b"x"

    def test_part_of_a_sentence_is_posted_and_its_rest_when_it_arrives(
        self, plug: Plug, ear: Ear, link: Link
    ) -> None:
        plug.plug()
        link.start()
        ear.up()
        plug.say(b"$w1 3F2A 17 ")
        assert ear.data(12) == b"$w1 3F2A 17 "
        plug.say(b"5 beat*ABCD\n")
        assert ear.data(12) == b"5 beat*ABCD\n"

    def test_everything_sent_in_a_burst_arrives(self, plug: Plug, ear: Ear, link: Link) -> None:
        plug.plug()
        link.start()
        ear.up()
        sent = b"".join(b"%08d\n" % number for number in range(20_000))
        plug.say(sent)
        assert ear.data(len(sent)) == sent

    def test_stops_while_its_port_is_missing(self, plug: Plug) -> None:
        link = link_to(SerialPort(str(plug.name), 921_600), Inlet())
        link.start()
        assert link.stop()
