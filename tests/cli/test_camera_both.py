"""Two cameras as one device, whose frames are merged. A camera that hangs is reported by name."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

pytest.importorskip("cv2", reason="OpenCV comes with the `vision` extra")

import cv2

from controller.cli.camera_input import CameraInputError
from controller.cli.camera_watching import (
    LEARNING_FRAMES,
    SILENT_US,
    START_TIMEOUT_US,
    DeviceWatch,
    frames_of_all,
)
from controller.cli.main import main
from controller.model.readings import DeviceDown, DeviceUp
from drivers.sim.filming import Filming
from drivers.vision.arrays import Array
from tests.drivers.vision.films import FILM_RIG, LENS, rig, rig_through, thrown

FRAME_US = 33_333
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
    raise CameraInputError("/dev/video9: there is no such camera")


def test_frames_of_both_cameras_keep_their_own_order_until_one_source_ends() -> None:
    seen: dict[int, list[int]] = {0: [], 1: []}
    for camera, t_us, _ in frames_of_all([source(10, 20, 30), endless()]):
        seen[camera].append(t_us)
    assert seen[0] == [10, 20, 30]
    assert seen[1] == sorted(seen[1])


def test_a_missing_source_ends_both() -> None:
    with pytest.raises(CameraInputError, match="video9"):
        list(frames_of_all([broken(), endless()]))


def test_a_source_that_fails_in_its_thread_ends_both() -> None:
    def frame(t_us: int) -> tuple[int, Array]:
        return 1 // t_us, PICTURE

    with pytest.raises(ZeroDivisionError):
        list(frames_of_all([map(frame, [1, 0, 1]), source(*range(1, 20_000))]))


LENSES = (LENS, replace(LENS, place_mm=(180.0, 100.0, 250.0)))


def two_cameras(folder: Path) -> list[Path]:
    """Record one throw with two cameras; return their rig files, whose sources are the videos."""
    paths = []
    for number, lens in enumerate(LENSES):
        camera = Filming(replace(FILM_RIG, lens=lens), number)
        film, path = folder / f"{number}.avi", folder / f"{number}.yaml"
        writer = cv2.VideoWriter(str(film), cv2.VideoWriter.fourcc(*"MJPG"), 30.0, (640, 480))
        for _ in range(LEARNING_FRAMES + 5):
            writer.write(camera.empty())
        for _, frame, _ in camera.frames(thrown(6, 3), 900_000):
            writer.write(frame)
        for _ in range(LEARNING_FRAMES):
            writer.write(camera.empty())
        writer.release()
        file = msgspec.structs.replace(
            rig_through(lens).file, camera=f"cam{number}", source=str(film), socket=str(folder / "cam.sock")
        )
        path.write_bytes(msgspec.json.encode(file))
        paths.append(path)
    return paths


def test_two_films_of_one_throw_produce_one_log(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    rigs = two_cameras(tmp_path)
    films = [str(path.with_suffix(".avi")) for path in rigs]
    assert main(["camera", "track", *films, "--rig", str(rigs[0]), "--beside", str(rigs[1])]) == 0
    header, *told = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert header["table"] == "cam0"
    assert {reading["dev"] for reading in told} == {"cam0"}
    assert sorted(reading["up"] for reading in told if reading["kind"] == "die_rest") == [3, 6]
    assert [reading["kind"] for reading in told].count("die_released") == 2


def test_anything_but_one_film_per_camera_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rigs = two_cameras(tmp_path)
    film = str(rigs[0].with_suffix(".avi"))
    assert main(["camera", "track", film, film, "--rig", str(rigs[0])]) == 2
    assert main(["camera", "track", film, "--rig", str(rigs[0]), "--beside", str(rigs[1])]) == 2
    told = capsys.readouterr().err
    assert "found 2 videos and 1 rig file, expected one video per camera" in told
    assert "found 1 video and 2 rig files, expected one video per camera" in told


def test_a_camera_that_hangs_is_reported_down_by_name_until_its_frames_resume() -> None:
    cameras = [Filming(replace(FILM_RIG, lens=lens), number) for number, lens in enumerate(LENSES)]
    seeing = DeviceWatch([rig_through(lens) for lens in LENSES], None)
    t_us = 0
    for _ in range(LEARNING_FRAMES + 5):
        t_us += FRAME_US
        assert [told for at in (0, 1) for told in seeing.frame(at, t_us, cameras[at].empty())] == []
    seen_us = t_us
    told = []
    while t_us < seen_us + 3 * SILENT_US:
        t_us += FRAME_US
        told += seeing.frame(0, t_us, cameras[0].empty())
    [down] = told
    assert isinstance(down, DeviceDown)
    assert (down.code, down.dev) == ("silent", "cam")
    assert SILENT_US <= down.t - seen_us <= SILENT_US + FRAME_US
    assert (seeing.status(0), seeing.status(1)) == ("following", "silent")
    [up] = seeing.frame(1, t_us, cameras[1].empty())
    assert isinstance(up, DeviceUp)
    assert seeing.status(1) == "following"


def test_a_camera_that_never_starts_is_reported_down_by_name() -> None:
    seeing = DeviceWatch([rig(), rig()], None)
    camera = Filming(FILM_RIG, 1)
    told = [
        reading
        for t_us in range(0, 2 * START_TIMEOUT_US, 10 * FRAME_US)
        for reading in seeing.frame(1, t_us, camera.empty())
    ]
    assert [
        (reading.code, reading.t >= START_TIMEOUT_US) for reading in told if isinstance(reading, DeviceDown)
    ] == [("silent", True)]


def test_two_cameras_whose_rig_files_have_no_lens_are_refused(
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
    assert "camera left: the rig file has no `lens`" in capsys.readouterr().err
