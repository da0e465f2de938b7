"""A camera whose view fails during a throw: a named fault, a review, and pictures of it."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest

from controller.cli.camera import SOURCE_LOST
from controller.cli.camera_input import MAX_UNSTAMPED, CameraInputError, Live
from controller.cli.camera_watching import LEARNING_FRAMES, Album, CameraWatch
from controller.cli.main import main
from controller.evidence.pictures import Closed, read, taken_us
from controller.model.readings import DeviceDown, DieLost, DieRest, Reading, WallImpact
from drivers.vision.arrays import Array
from drivers.vision.rig import CaptureSettings
from tests.drivers.vision.films import filming, rig, thrown

FRAME_US = 33_333
THROWN_US = 40 * FRAME_US
FAILS_US = THROWN_US + 530_000
"""Time at which both dice are in view and not yet at rest."""
ENDS_US = THROWN_US + 1_300_000
Disturbance = Callable[[int, Array], Array]


def moved(_t_us: int, picture: Array) -> Array:
    """Shift the picture to simulate a camera displaced by 10 mm."""
    px = 10.0 * rig().px_per_mm(320.0, 240.0)
    shift = np.array([[1.0, 0.0, 0.8 * px], [0.0, 1.0, 0.6 * px]])
    return cv2.warpAffine(picture, shift, picture.shape[1::-1], borderMode=cv2.BORDER_REFLECT)


def lit_at(mains_hz: float) -> Disturbance:
    """Return the flicker of a lamp at twice the mains frequency, seen by a rolling shutter."""

    def lit(t_us: int, picture: Array) -> Array:
        rows = np.arange(picture.shape[0]) / picture.shape[0]
        # The camera's crystal is 2 % off, so the frame rate is no exact fraction of the mains frequency.
        at_s = (t_us * 1.02 + rows * 0.9 * FRAME_US) / 1e6
        light = 1.0 + 0.35 * np.cos(2 * np.pi * 2 * mains_hz * at_s)
        drawn: Array = np.clip(picture * light[:, None, None], 0, 255).astype(np.uint8)
        return drawn

    return lit


FAULTS: dict[str, tuple[str, Disturbance]] = {
    "covered": ("covered", lambda _, picture: cv2.convertScaleAbs(picture, alpha=0.03)),
    "blinded by a lamp": ("blinded", lambda _, picture: cv2.convertScaleAbs(picture, alpha=4.0, beta=120)),
    "bumped by 10 mm": ("bumped", moved),
    "out of focus": ("out_of_focus", lambda _, picture: cv2.GaussianBlur(picture, (0, 0), 12)),
    "light at 50 Hz": ("flickering", lit_at(50.0)),
    "light at 60 Hz": ("flickering", lit_at(60.0)),
}


def frames(spoil: Disturbance) -> Iterator[tuple[int, Array]]:
    """Yield an empty table, then a throw during which the view fails."""
    camera = filming()
    for count in range(LEARNING_FRAMES + 5):
        yield count * FRAME_US, camera.empty()
    for t_us, picture, _ in camera.frames(thrown(6, 3), ENDS_US - THROWN_US):
        at_us = THROWN_US + t_us
        yield at_us, spoil(at_us, picture) if at_us >= FAILS_US else picture


def called(readings: list[Reading], folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the outcome at a table whose walls detected two hits."""
    hits = [
        WallImpact(t=FAILS_US + after, dev="w", wall="right", pos_mm=70, peak=400) for after in (0, 9_000)
    ]
    header = {
        "log": "table-readings",
        "version": 1,
        "table": "felt",
        "ruleset": "craps-12-034",
        "dice_table": msgspec.to_builtins(rig().file.table),
    }
    lines = sorted([*readings, *hits], key=lambda reading: reading.t)
    log = folder / "log.jsonl"
    log.write_bytes(b"\n".join(map(msgspec.json.encode, [header, *lines])) + b"\n")
    assert main(["replay", str(log), "--json"]) == 0
    printed = [str(json.loads(line)["type"]) for line in capsys.readouterr().out.splitlines()]
    return next(kind for kind in printed if kind.startswith("roll."))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_view_that_fails_during_a_throw_is_a_named_fault_and_a_review_with_pictures(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, spoil = FAULTS[fault]
    kept: list[Closed] = []
    watching = CameraWatch(rig(), Album("felt", kept.append))
    readings = [reading for t_us, picture in frames(spoil) for reading in watching.frame(t_us, picture)]
    assert [reading.code for reading in readings if isinstance(reading, DeviceDown)] == [code]
    assert not [reading for reading in readings if isinstance(reading, DieRest) and reading.up]
    assert called(readings, tmp_path, capsys) == "roll.review"
    lost = [reading for reading in readings if isinstance(reading, DieLost)]
    assert [reading.pictures for reading in lost] == [closed.sha256 for closed in kept]
    clip = [taken_us(name) for name in read(*kept[0]).of("clip")]
    assert clip[0] < THROWN_US + 300_000
    assert clip[-1] > FAILS_US


def test_a_camera_that_hangs_during_a_throw_is_a_named_fault_and_a_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[Closed] = []
    watching = CameraWatch(rig(), Album("felt", kept.append))
    readings: list[Reading] = []
    for t_us, picture in frames(lambda _, picture: picture):
        readings += watching.frame(t_us, picture) if t_us < FAILS_US else watching.report_hang(t_us)
    assert [reading.code for reading in readings if isinstance(reading, DeviceDown)] == ["silent"]
    lost = [reading for reading in readings if isinstance(reading, DieLost)]
    assert [reading.pictures for reading in lost] == [closed.sha256 for closed in kept]
    assert called(readings, tmp_path, capsys) == "roll.review"


def test_a_picture_that_freezes_during_a_throw_is_a_named_fault_and_a_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = CameraWatch(rig())
    readings: list[Reading] = []
    last: Array | None = None
    for t_us, picture in frames(lambda _, picture: picture):
        last = picture if last is None or t_us < FAILS_US else last
        readings += watching.frame(t_us, last)
    assert [reading.code for reading in readings if isinstance(reading, DeviceDown)] == ["frozen"]
    assert called(readings, tmp_path, capsys) == "roll.review"


def test_a_camera_unplugged_during_a_throw_is_a_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    watching = CameraWatch(rig())
    readings: list[Reading] = []
    for t_us, picture in frames(lambda _, picture: picture):
        if t_us < FAILS_US:
            readings += watching.frame(t_us, picture)
    readings += watching.ended(FAILS_US)
    readings.append(DeviceDown(t=FAILS_US, dev="cam", code=SOURCE_LOST, reason="/dev/video0 ended"))
    assert called(readings, tmp_path, capsys) == "roll.review"


def test_a_camera_unplugged_during_a_throw_leaves_the_pictures_until_then() -> None:
    kept: list[Closed] = []
    watching = CameraWatch(rig(), Album("felt", kept.append))
    for t_us, picture in frames(lambda _, picture: picture):
        if t_us >= FAILS_US:
            break
        watching.frame(t_us, picture)
    lost = watching.ended(FAILS_US)
    assert [type(reading) for reading in lost] == [DieLost, DieLost]
    assert [reading.pictures for reading in lost if isinstance(reading, DieLost)] == [c.sha256 for c in kept]
    assert watching.ended(FAILS_US + 1) == []


class Device:
    """A V4L2 device with these timestamps in its frames."""

    def __init__(self, stamps_us: list[int]) -> None:
        self._stamps_us = [0, *stamps_us]
        self.settings: dict[int, float] = {}

    def isOpened(self) -> bool:
        return True

    def set(self, key: int, value: float) -> bool:
        self.settings[key] = value
        return True

    def read(self) -> tuple[bool, Array]:
        del self._stamps_us[0]
        return bool(self._stamps_us), np.zeros((2, 2, 3), np.uint8)

    def get(self, _key: int) -> float:
        return self._stamps_us[0] / 1000

    def release(self) -> None:
        self._stamps_us.clear()


def stamped(monkeypatch: pytest.MonkeyPatch, stamps_us: list[int]) -> list[int]:
    """Return the times of the frames read from a device."""
    monkeypatch.setattr("cv2.VideoCapture", lambda *_: Device(stamps_us))
    return [t_us for t_us, _ in Live("/dev/null").frames()]


def test_a_late_frame_keeps_the_time_at_which_it_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago_us = time.monotonic_ns() // 1000 - 3_000_000
    assert stamped(monkeypatch, [long_ago_us, long_ago_us + 11_111]) == [long_ago_us, long_ago_us + 11_111]


def test_a_frame_without_a_time_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = time.monotonic_ns() // 1000
    assert stamped(monkeypatch, [0, now_us - 5, now_us + 60_000_000]) == [now_us - 5]


def test_a_driver_with_another_clock_is_a_fault_with_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    wall_us = time.time_ns() // 1000
    with pytest.raises(
        CameraInputError,
        match=r"/dev/null: found frames with the timestamp \d+ us, expected the driver's times",
    ):
        stamped(monkeypatch, [wall_us + n for n in range(MAX_UNSTAMPED)])


def test_the_frames_that_the_rig_names_are_requested_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    now_us = time.monotonic_ns() // 1000
    device = Device([now_us - 9])
    monkeypatch.setattr("cv2.VideoCapture", lambda *_: device)
    (frame,) = Live("/dev/null", CaptureSettings(width=2, height=2, fps=90.0)).frames()
    assert frame[0] == now_us - 9
    wanted = {
        cv2.CAP_PROP_FOURCC: cv2.VideoWriter.fourcc(*"MJPG"),
        cv2.CAP_PROP_FRAME_WIDTH: 2,
        cv2.CAP_PROP_FRAME_HEIGHT: 2,
        cv2.CAP_PROP_FPS: 90.0,
    }
    assert wanted.items() <= device.settings.items()


def test_a_device_that_sends_frames_of_another_size_is_a_fault_with_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = Device([time.monotonic_ns() // 1000 - 9])
    monkeypatch.setattr("cv2.VideoCapture", lambda *_: device)
    with pytest.raises(CameraInputError, match="found frames of 2 x 2, expected 2592 x 1944"):
        next(Live("/dev/null", CaptureSettings(width=2592, height=1944)).frames())
