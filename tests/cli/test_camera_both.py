"""Two cameras as one device: frames of both as they come, until one ends."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cv2", reason="OpenCV comes with the extra `vision`")

from controller.cli.camera_both import merged
from controller.cli.camera_input import CameraInputError
from controller.cli.main import main
from drivers.vision.arrays import Array

PICTURE = np.zeros((2, 2, 3), np.uint8)


def source(*times_us: int) -> Iterator[tuple[int, Array]]:
    for t_us in times_us:
        yield t_us, PICTURE


def endless() -> Iterator[tuple[int, Array]]:
    t_us = 0
    while True:
        t_us += 1
        yield t_us, PICTURE


def broken() -> Iterator[tuple[int, Array]]:
    yield 1, PICTURE
    raise CameraInputError("/dev/video9: found no camera there, expected a V4L2 device")


def test_frames_of_both_come_each_in_its_own_order_until_one_source_ends() -> None:
    seen: dict[int, list[int]] = {0: [], 1: []}
    for camera, t_us, _ in merged([source(10, 20, 30), endless()]):
        seen[camera].append(t_us)
    assert seen[0] == [10, 20, 30]
    assert seen[1] == sorted(seen[1])


def test_a_source_that_is_not_there_ends_both() -> None:
    with pytest.raises(CameraInputError, match="video9"):
        list(merged([broken(), endless()]))


def test_a_source_that_fails_in_its_thread_ends_both() -> None:
    def frame(t_us: int) -> tuple[int, Array]:
        return 1 // t_us, PICTURE

    with pytest.raises(ZeroDivisionError):
        list(merged([map(frame, [1, 0, 1]), source(*range(1, 20_000))]))


def test_a_second_camera_without_a_lens_is_refused_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = """
camera: {}
table: {{length_mm: 300, width_mm: 200, die_mm: 19, wall_relief_mm: 0}}
points: [[30, 40, 70, 150], [600, 40, 230, 150], [600, 440, 230, 50], [30, 440, 70, 50]]
source: /dev/video0
socket: {}/cam.sock
"""
    paths = [tmp_path / "left.yaml", tmp_path / "right.yaml"]
    for path in paths:
        path.write_text(text.format(path.stem, tmp_path), encoding="utf-8")
    assert main(["camera", "run", str(paths[0]), "--beside", str(paths[1]), "--once"]) == 2
    assert "camera left: found no `lens`, expected one for each of two cameras" in capsys.readouterr().err
