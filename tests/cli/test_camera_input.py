"""Messages of `tablectl camera` about files, devices and sizes that it cannot use."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from controller.cli.main import main
from tests.cli.test_camera_command import RIG, film, picture
from tests.drivers.vision.scenes import EDGE_PX


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    assert main(["camera", *map(str, words)]) == 2
    return capsys.readouterr().err


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.yaml"
    path.write_text(f"{RIG}source: {tmp_path / 'a.avi'}\n", encoding="utf-8")
    return path


def frames(path: Path, count: int, width: int = 640, height: int = 480) -> Path:
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30.0, (width, height))
    for _ in range(count):
        writer.write(np.full((height, width, 3), 90, np.uint8))
    writer.release()
    return path


def test_a_pipe_is_refused_at_once(tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe.png"
    os.mkfifo(pipe)
    found = f"{pipe}: found a pipe or a device, expected"
    assert f"{found} a picture" in refused(capsys, "read", pipe, "--die-px", "70")
    assert f"{found} a picture" in refused(capsys, "calibrate", rig, "--flat", f"left-front={pipe}")
    assert f"{found} a YAML file" in refused(capsys, "track", "a.avi", "--rig", pipe)
    film(tmp_path / "a.avi")
    assert f"{pipe} cannot be written" in refused(capsys, "snap", rig, pipe)
    assert f"{pipe} cannot be written" in refused(capsys, "board", pipe)


def test_a_truncated_film_is_followed_to_its_end_and_is_exit_1(
    tmp_path: Path, rig: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Half a video must not silently become half a log."""
    whole = film(tmp_path / "a.avi").read_bytes()
    (tmp_path / "cut.avi").write_bytes(whole[: len(whole) // 2])
    assert main(["camera", "track", str(tmp_path / "cut.avi"), "--rig", str(rig)]) == 1
    told = capfd.readouterr()
    assert '"log":"table-readings"' in told.out
    assert "cut.avi: found " in told.err
    assert "frames, expected the complete video" in told.err


def test_a_film_of_one_frame_is_refused(
    tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = frames(tmp_path / "one.avi", 1)
    assert "found only one frame, expected a video" in refused(capsys, "track", one, "--rig", rig)
    assert "this video does not exist" in refused(capsys, "track", tmp_path / "none.avi", "--rig", rig)


def test_frames_too_small_for_the_rigs_points_are_refused(
    tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = frames(tmp_path / "a.avi", 3, 320, 240)
    said = "a.avi: found frames of 320 x 240, too small for the calibrated point 600, 40"
    assert said in refused(capsys, "track", small, "--rig", rig)
    assert said in refused(capsys, "live", rig, "--to", tmp_path / "seen.avi")


def test_a_film_of_another_size_than_capture_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, source = tmp_path / "rig.yaml", frames(tmp_path / "a.avi", 3)
    path.write_text(f"{RIG}source: {source}\ncapture: {{width: 3840, height: 2160}}\n", encoding="utf-8")
    said = "a.avi: found frames of 640 x 480, expected 3840 x 2160 as set in `capture`"
    assert said in refused(capsys, "track", source, "--rig", path)
    assert said in refused(capsys, "snap", path, tmp_path / "held.png")


def test_a_film_is_never_written_over_its_source(
    tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = film(tmp_path / "a.avi")
    before = source.read_bytes()
    assert "a.avi is the source itself" in refused(capsys, "live", rig, "--to", source)
    assert source.read_bytes() == before


def test_a_film_that_could_not_be_written_is_exit_2(
    tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command must not claim on a full disk that every frame was written."""
    frames(tmp_path / "a.avi", 3)
    full = tmp_path / "full.avi"
    full.symlink_to("/dev/full")
    assert "full.avi: found 0 of 3 frames in the file" in refused(capsys, "live", rig, "--to", full)
    assert "the folder" in refused(capsys, "live", rig, "--to", tmp_path / "no" / "seen.avi")
    assert "seen.txt: found an unsupported file extension" in refused(
        capsys, "live", rig, "--to", tmp_path / "seen.txt"
    )


def test_a_source_without_a_frame_is_exit_2(
    tmp_path: Path, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames(tmp_path / "a.avi", 0)
    assert "a.avi: no frame arrived" in refused(capsys, "live", rig, "--to", tmp_path / "seen.avi")
    assert "a.avi: no frame arrived" in refused(capsys, "live", rig, "--port", "0")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("die_mm: 19", "die_mm: 100000", "table.die_mm: found 100000, expected 5 to 100"),
        ("[[30, 40,", "[[1e30, 40,", "<= 100000.0 - at `$.points[0][0]`"),
        ("camera: felt", 'camera: ""', "at `$.camera`"),
        ("camera: felt", "camera: felt\ndie_px: 1e9", "at `$.die_px`"),
        (
            "camera: felt",
            "camera: felt\nlens: {focal_px: [-640, 640], middle_px: [1, 1]}",
            "at `$.lens.focal_px[0]`",
        ),
        (
            "camera: felt",
            "camera: felt\nlens: {focal_px: [640, 640], middle_px: [1, 1], distortion: [1e30, 0, 0, 0]}",
            "at `$.lens.distortion[0]`",
        ),
        (
            "camera: felt",
            "camera: felt\ncapture: {width: 640, height: 480, format: ÄÖÜß}",
            "at `$.capture.format`",
        ),
    ],
)
def test_an_impossible_number_in_a_rig_is_named_by_its_key(
    before: str, after: str, found: str, rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig.write_text(RIG.replace(before, after), encoding="utf-8")
    assert found in refused(capsys, "track", "a.avi", "--rig", rig)


def test_a_wrong_edge_is_reported_with_the_one_that_would_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = picture(tmp_path, "a.png", 2, 5)
    assert main(["camera", "read", str(path), "--die-px", str(1.8 * EDGE_PX), "--dice", "2"]) == 1
    told = capsys.readouterr().out
    assert "found 0 dice, expected 2; with an edge of about " in told
    assert int(told.split("about ")[1].split()[0]) == pytest.approx(EDGE_PX, rel=0.2)


ENDLESS = """
import sys, threading
from controller.cli.camera_input import Video
from controller.cli.main import main
once = Video.frames
def frames(self):
    yield from once(self)
    threading.Event().wait()
Video.frames = frames
sys.exit(main(sys.argv[1:]))
"""
"""A program in which a video never ends, so a slow machine can't finish it before the signal."""


@pytest.mark.usefixtures("hears_signals")
def test_ctrl_c_ends_the_page_with_130(tmp_path: Path, rig: Path) -> None:
    frames(tmp_path / "a.avi", 60)
    words = [sys.executable, "-c", ENDLESS, "camera", "live", str(rig), "--port", "0"]
    live = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert live.stdout is not None
    assert live.stdout.readline().startswith("http://127.0.0.1:")
    live.send_signal(signal.SIGINT)
    _, said = live.communicate(timeout=60)
    assert (live.returncode, "Traceback" in said) == (130, False)
