"""A camera's picture and its tracks as a video and in a browser."""

import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import cv2
import numpy as np
import pytest

from controller.cli.camera_live import COLOURS, annotate
from controller.cli.camera_watching import LEARNING_FRAMES, CameraWatch
from controller.cli.main import main
from controller.model.readings import DieRest
from drivers.sim.filming import Filming, FilmRig
from drivers.vision.following import Track
from tests.cli.test_camera_both import two_cameras
from tests.cli.test_camera_command import RIG, film
from tests.drivers.vision.films import rig_through, thrown
from tests.drivers.vision.test_stills import LARGE


def test_a_track_and_its_face_are_drawn_on_a_copy() -> None:
    picture = np.full((200, 300, 3), 60, np.uint8)
    track = Track(1, ((20.0, 20.0), (120.0, 80.0)), rests=True, lost=False, up=5)
    shown = annotate(picture, (track,), "following")
    assert (picture == 60).all()
    assert (shown[50, 70].astype(int) - 60).any()
    assert (np.abs(shown.astype(int) - COLOURS[1]).sum(axis=2) < 60).sum() > 100


def test_a_wide_picture_is_reduced_with_its_tracks() -> None:
    picture = np.full((2160, 3840, 3), 60, np.uint8)
    track = Track(1, ((300.0, 900.0), (1500.0, 900.0)), rests=False, lost=False, up=None)
    shown = annotate(picture, (track,), "following")
    assert shown.shape == (720, 1280, 3)
    assert np.abs(shown[300, 200].astype(int) - COLOURS[1]).sum() < 60


def test_the_tracks_of_a_large_picture_are_in_its_own_pixels() -> None:
    camera, watching = Filming(FilmRig(LARGE, fps=30.0, zoom=1.0), 1), CameraWatch(rig_through(LARGE))
    for count in range(LEARNING_FRAMES):
        watching.frame(count * 33_333, camera.empty())
    rests = [
        reading
        for t_us, picture, _ in camera.frames(thrown(6, 3), 900_000)
        for reading in watching.frame(LEARNING_FRAMES * 33_333 + t_us, picture)
        if isinstance(reading, DieRest)
    ]
    assert sorted(rest.up or 0 for rest in rests) == [3, 6]
    lying = LARGE.project(np.array([[190.0, 70.0, 9.5], [160.0, 130.0, 9.5]]))
    for track in watching.tracks:
        assert np.hypot(*(lying - np.array(track.places[-1])).T).min() < 12.0


def test_a_film_is_written_with_the_tracks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig, source, seen = tmp_path / "rig.yaml", film(tmp_path / "a.avi", before=40), tmp_path / "seen.avi"
    rig.write_text(RIG, encoding="utf-8")
    assert main(["camera", "live", str(rig), "--source", str(source), "--to", str(seen)]) == 0
    assert "frames" in capsys.readouterr().err
    frames = cv2.VideoCapture(str(seen))
    assert int(frames.get(cv2.CAP_PROP_FRAME_COUNT)) > 80
    assert main(["camera", "live", str(rig)]) == 2
    assert "rig.yaml has no `source`; add a device or a video" in capsys.readouterr().err


def test_two_cameras_are_shown_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = two_cameras(tmp_path)
    seen = tmp_path / "seen.avi"
    words = ["camera", "live", str(paths[0]), "--beside", str(paths[1]), "--to", str(seen)]
    assert main(words) == 0
    there, picture = cv2.VideoCapture(str(seen)).read()
    assert there
    assert picture.shape == (480, 2 * 640, 3)


def test_a_browser_of_this_machine_is_sent_pictures(tmp_path: Path) -> None:
    rig, source = tmp_path / "rig.yaml", film(tmp_path / "a.avi", before=300)
    rig.write_text(RIG, encoding="utf-8")
    words = [sys.executable, "-m", "controller.cli.main", "camera", "live", str(rig), "--source", str(source)]
    live = subprocess.Popen([*words, "--port", "0"], stdout=subprocess.PIPE, text=True)
    assert live.stdout is not None
    url = live.stdout.readline().strip()
    try:
        with urllib.request.urlopen(url, timeout=60) as page:
            assert b"/stream" in page.read()
        with urllib.request.urlopen(f"{url}/stream", timeout=60) as stream:
            assert b"\xff\xd8\xff" in stream.read(20_000)
        portless = urllib.request.Request(url, headers={"host": "localhost"})  # as browsers send for port 80
        with urllib.request.urlopen(portless, timeout=60) as page:
            assert b"/stream" in page.read()
        foreign = urllib.request.Request(f"{url}/stream", headers={"host": "elsewhere.example:80"})
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(foreign, timeout=60)
    finally:
        live.terminate()
        live.wait(60)
        live.stdout.close()
