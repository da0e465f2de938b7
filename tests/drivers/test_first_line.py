"""Tests that the end of a line is never mistaken for a line. A cable can be plugged in at any byte.

Every device without a checksum on its lines receives every possible end of every valid line: after its port
opened, after it was plugged in again, and after bytes were lost. No line end may become a reading.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pytest

from controller.model.readings import AnyReading, DeviceDown, DeviceFault, DeviceUp
from drivers.cameras import json_camera
from drivers.cameras.jevois import JevoisCamera, JevoisSettings
from drivers.cameras.json_camera import JsonCameraSettings
from drivers.registry import DEVICE_MODULES
from drivers.shoe.device import PLAIN_CODES, Shoe, ShoeSettings
from drivers.ss2.device import Ss2Settings, Ss2Wheel

SECOND_US = 1_000_000
NUMBERED = ShoeSettings(
    port="p",
    cards={str(n): str(2 + n % 11) for n in range(1, 53)},
    unread=("NR", "R"),
    positions={"P1": "1", "1P1": "2"},
    lid_open=("LID1",),
    lid_closed=("LID0",),
    alive=("OK",),
)
JEVOIS = JevoisSettings(
    port="p",
    faces={f"die{face}": face for face in range(1, 7)},
    calibration=((-900, -300, 0, 1100), (900, -300, 3600, 1100), (900, 300, 3600, 0), (-900, 300, 0, 0)),
)


class ByteDevice(Protocol):
    def start(self, now_us: int) -> list[AnyReading]: ...
    def on_open(self, now_us: int) -> list[AnyReading]: ...
    def on_close(self, now_us: int, code: str, seen: str) -> list[AnyReading]: ...
    def on_overflow(self, now_us: int, lost: int) -> list[AnyReading]: ...
    def receive(self, now_us: int, data: bytes) -> list[AnyReading]: ...


def shoe_lines(settings: ShoeSettings) -> list[bytes]:
    words = (*settings.unread, *settings.lid_open, *settings.lid_closed, *settings.alive)
    return [code.encode() for code in (*settings.cards, *settings.positions, *words)]


def ss2_lines() -> Iterator[bytes]:
    for state in range(1, 8):
        for spin, number, flags, rpm in (
            (" 17", " 7", "2", "171"),
            ("256", "00", "0", " 35"),
            ("  1", "  ", "F", "  0"),
        ):
            yield f"*X;{state};{spin};{number};{flags};{rpm};1".encode()
    yield from (b"%2d" % number for number in range(10))
    yield from (b"%02d" % number for number in range(40))
    yield from (
        b"*bs 1",
        b"*bn17",
        b"*bn 36",
        b"*F 21",
        b"*F 100",
        b"*Y;1;017",
        b"*Y;2;100;07",
        b"*R OK",
        b"*O 1 1 60 1157",
    )
    yield b"*T r 28000 32000"
    wins = bytes(0x21 + n % 76 for n in range(256))
    yield b"*s r 1 " + wins + b"%02X" % (sum(wins) % 256)


def jevois_lines() -> Iterator[bytes]:
    for stamp in (b"", b"12 ", b"00:00:12 ", b"123/2026-11-28/00:00:12 "):
        yield from (stamp + b"MARK START", stamp + b"MARK STOP", stamp + b"N2 die5:92 10.5 -20 10 10")
        yield stamp + b"D2 die5:92 1 2 3 4 5 6 7 8 die4:3"


def json_lines() -> Iterator[bytes]:
    yield from (b'{"kind": "alive"}', b'{"kind": "die_at", "die": 1, "x": 1000.5, "y": 20}')
    yield json.dumps(
        {"kind": "die_off_table", "die": 2, "note": '{"kind": "die_off_table", "die": 1}'}
    ).encode()


DEVICES: dict[str, tuple[Callable[[], ByteDevice], Iterable[bytes]]] = {
    "numbered shoe": (lambda: Shoe("dev", NUMBERED, bytes), shoe_lines(NUMBERED)),
    "plain shoe": (
        lambda: Shoe("dev", ShoeSettings(port="p"), bytes),
        [code.encode() for code in PLAIN_CODES],
    ),
    "ss2": (lambda: Ss2Wheel("dev", Ss2Settings(port="", listen_only=True)), ss2_lines()),
    "jevois": (lambda: JevoisCamera("dev", JEVOIS), jevois_lines()),
}
HEALTH = (DeviceUp, DeviceDown, DeviceFault)


def opened(device: ByteDevice) -> None:
    device.on_open(0)


def plugged_in_again(device: ByteDevice) -> None:
    device.on_open(0)
    device.on_close(1, "unplugged", "gone")
    device.on_open(2)


def lost_bytes(device: ByteDevice) -> None:
    device.on_open(0)
    device.receive(1, b"\r\n")
    device.on_overflow(2, 100)


def readings_of(device: ByteDevice, first: bytes, after: bytes) -> list[AnyReading]:
    return [r for r in device.receive(SECOND_US, first + after) if not isinstance(r, HEALTH)]


@pytest.mark.parametrize("joining", [opened, plugged_in_again, lost_bytes])
@pytest.mark.parametrize("name", DEVICES)
def test_no_end_of_a_line_is_read_as_a_line(name: str, joining: Callable[[ByteDevice], None]) -> None:
    make, lines = DEVICES[name]
    for line in lines:
        for cut in range(len(line)):
            device = make()
            device.start(0)
            joining(device)
            assert readings_of(device, line[cut:], b"\r\n") == [], line[cut:]
            status = getattr(device, "decoder", None)
            assert getattr(status, "discarded", 1) == 1


def test_the_end_of_a_number_is_not_an_announced_number() -> None:
    wheel = Ss2Wheel("dev", Ss2Settings(port="", listen_only=True))
    wheel.on_open(0)
    (word,) = readings_of(wheel, b"17\r\n", b"*X;5; 17; 8;0;171;1\r\n")
    assert getattr(word, "announced", "") is None


@pytest.mark.parametrize("end", [b"2", b"12", b"P1", b"R", b"ID1", b"\xff", b"K\xff"])
def test_a_partial_line_that_may_have_been_a_card_or_a_reading_is_counted_as_a_doubt(end: bytes) -> None:
    device = Shoe("dev", NUMBERED, bytes)
    device.on_open(0)
    assert [getattr(r, "code", "") for r in device.receive(SECOND_US, end + b"\r\n")] == ["bad_reading"]
    assert device.status()["doubts"] == 1


@pytest.mark.parametrize("end", [b"OK", b"K", b""])
def test_a_partial_alive_line_is_not_a_doubt(end: bytes) -> None:
    device = Shoe("dev", NUMBERED, bytes)
    device.on_open(0)
    device.receive(SECOND_US, end + b"\r\n")
    assert device.status()["doubts"] == 0


def test_no_end_of_a_json_line_is_a_valid_object() -> None:
    for line in json_lines():
        for cut in range(1, len(line)):
            device = json_camera.TYPE.make("dev", JsonCameraSettings(port="p"), bytes)
            device.start(0)
            device.on_open(0)
            reported = [r for r in device.receive(SECOND_US, line[cut:] + b"\n") if not isinstance(r, HEALTH)]
            assert reported == [], line[cut:]


def test_every_device_on_a_serial_line_is_tested_here_or_seals_its_lines() -> None:
    sealed, here = {"node"}, {"shoe", "ss2", "jevois", "json-camera"}
    assert {name for name in DEVICE_MODULES if not name.startswith("gpio-")} == sealed | here
