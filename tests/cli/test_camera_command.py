"""`tablectl camera`: its output and its exit codes."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread

import cv2
import numpy as np
import pytest

from controller.cli import camera
from controller.cli.camera_input import CameraInputError, load_rig
from controller.cli.camera_watching import Cameras
from controller.cli.main import main
from controller.model.readings import DeviceDown, DeviceFault, DieRest
from drivers.cameras.json_camera import JsonCamera, JsonCameraSettings
from drivers.vision.arrays import Array
from tests.drivers.vision.films import filming, thrown
from tests.drivers.vision.scenes import EDGE_PX, pair, still
from tests.drivers.vision.sheets import held, seen
from tests.drivers.vision.test_calibration import LENS, LYING


def picture(folder: Path, name: str, first: int, second: int) -> Path:
    path = folder / name
    cv2.imwrite(str(path), still(*pair(first, second)))
    return path


def test_each_picture_gives_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [picture(tmp_path, "a.png", 2, 5), picture(tmp_path, "b.png", 6, 6)]
    words = ["camera", "read", *map(str, paths), "--die-px", str(EDGE_PX), "--dice", "2"]
    assert main([*words, "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["image"] for line in told] == [str(path) for path in paths]
    assert [sorted(die["up"] for die in line["dice"]) for line in told] == [[2, 5], [6, 6]]
    assert all(line["refused"] is None for line in told)
    assert set(told[0]["dice"][0]) == {"x", "y", "up", "confidence"}
    assert main(words) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"{paths[1]}: 6 6"


def test_a_refused_picture_is_exit_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = picture(tmp_path, "a.png", 2, 5)
    assert main(["camera", "read", str(path), "--die-px", str(EDGE_PX), "--dice", "3", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["refused"] == "found 2 dice, expected 3"


def test_a_file_that_is_not_a_picture_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"not a picture")
    assert main(["camera", "read", str(path), "--die-px", "70"]) == 2
    assert main(["camera", "read", str(tmp_path / "none.png"), "--die-px", "70"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "found no picture in this file" in told.err


@pytest.mark.parametrize("pixels", ["0", "-3", "wide", "inf", "nan"])
def test_an_invalid_edge_length_is_a_usage_error(pixels: str) -> None:
    with pytest.raises(SystemExit) as end:
        main(["camera", "read", "a.png", "--die-px", pixels])
    assert end.value.code == 2


RIG = """
camera: felt
table: {length_mm: 300, width_mm: 200, die_mm: 19, wall_relief_mm: 0}
points: [[30, 40, 70, 150], [600, 40, 230, 150], [600, 440, 230, 50], [30, 440, 70, 50]]
"""


def film(path: Path, before: int = 20) -> Path:
    camera = filming()
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 30.0, (640, 480))
    for _ in range(before):
        writer.write(camera.empty())
    for _, frame, _ in camera.frames(thrown(6, 3), 900_000):
        writer.write(frame)
    for _ in range(20):
        writer.write(camera.empty())
    writer.release()
    return path


def test_a_film_becomes_a_log_that_replays(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(RIG, encoding="utf-8")
    assert main(["camera", "track", str(film(tmp_path / "a.avi")), "--rig", str(rig)]) == 0
    told = capfdbinary.readouterr()
    log = tmp_path / "a.jsonl"
    log.write_bytes(told.out)
    kinds = [json.loads(line).get("kind") for line in told.out.splitlines()[1:]]
    assert kinds.count("die_released") == kinds.count("die_rest") == 2
    assert b"shows 6" in told.err
    assert main(["replay", str(log)]) == 0
    assert b"no wall hit (dice 1 and 2)" in capfdbinary.readouterr().out


@contextmanager
def table_at(path: Path) -> Iterator[list[bytes]]:
    """Yield a table's socket. The received lines are available once the camera has disconnected."""
    got: list[bytes] = []

    def hear(table: socket.socket) -> None:
        link, _ = table.accept()
        with link, link.makefile("rb") as lines:
            got.extend(lines)

    with socket.socket(socket.AF_UNIX) as table:
        table.bind(str(path))
        table.listen()
        heard = Thread(target=hear, args=(table,))
        heard.start()
        yield got
        heard.join(60)


def test_a_running_camera_sends_the_table_its_readings_and_its_end(tmp_path: Path) -> None:
    rig = tmp_path / "rig.yaml"
    path = tmp_path / "cam.sock"
    source = film(tmp_path / "a.avi", before=40)
    rig.write_text(f"{RIG}source: {source}\nsocket: {path}\n", encoding="utf-8")
    with table_at(path) as got:
        assert main(["camera", "run", str(rig), "--once"]) == 0
    device = JsonCamera("cam", JsonCameraSettings(port="unix:x", clock="own"), Random(1).randbytes)
    device.start(0)
    device.on_open(1)
    now_us = 1
    told = []
    for line in got:
        now_us = max(now_us, json.loads(line)["t"])
        told += device.receive(now_us, line)
    faces = sorted(reading.up or 0 for reading in told if isinstance(reading, DieRest))
    assert faces == [3, 6]
    assert [reading.code for reading in told if isinstance(reading, DeviceDown)][-1] == "pulled"
    assert not [reading for reading in told if isinstance(reading, DeviceFault)]


def test_a_missing_camera_is_reported_to_the_table_by_its_name(tmp_path: Path) -> None:
    """The table must learn the reason for the missing readings."""
    rig, path = tmp_path / "rig.yaml", tmp_path / "cam.sock"
    rig.write_text(f"{RIG}source: /dev/no-such-camera\nsocket: {path}\n", encoding="utf-8")
    with table_at(path) as got:
        assert main(["camera", "run", str(rig), "--once"]) == 2
    (told,) = (json.loads(line) for line in got)
    assert (told["kind"], told["code"]) == ("device_down", "pulled")
    assert "/dev/no-such-camera: can't open this camera" in told["reason"]


class Enough(Exception):
    """Ends a program that would otherwise run forever."""


class ComesAndGoes(Cameras):
    """Two attempts without a camera, a camera that is unplugged after two frames, none, and one again."""

    def __init__(self, rig: Path) -> None:
        super().__init__([load_rig(rig)], ["/dev/video0"])
        self._looks = [False, False, True, False, True]

    def frames(self) -> Iterator[tuple[int, int, Array]]:
        if not self._looks:
            raise Enough
        if not self._looks.pop(0):
            raise CameraInputError("/dev/video0: there is no such camera")
        for _ in range(2):
            yield 0, time.monotonic_ns() // 1000, np.full((480, 640, 3), 60, np.uint8)


def test_a_camera_that_comes_and_goes_is_reported_once_each_time_and_its_program_stays_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new connection for each retry would take the device up and down every two seconds."""
    rig, path = tmp_path / "rig.yaml", tmp_path / "cam.sock"
    rig.write_text(RIG, encoding="utf-8")
    monkeypatch.setattr(camera, "RETRY_S", 0.01)
    with table_at(path) as got, pytest.raises(Enough):
        camera.serve(ComesAndGoes(rig), str(path), None, reconnect=True)
    told = [json.loads(line) for line in got]
    health = [(one["kind"], one["reason"]) for one in told if one["kind"] != "alive"]
    absent, ended = "/dev/video0: there is no such camera", "/dev/video0 ended"
    assert health == [
        ("device_down", absent),
        ("device_up", "the source is back"),
        ("device_down", ended),
        ("device_down", absent),
        ("device_up", "the source is back"),
        ("device_down", ended),
    ]
    assert [one for one in told if one["kind"] == "alive"]


def test_a_camera_without_its_tables_socket_is_exit_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(f"{RIG}source: a.avi\nsocket: {tmp_path / 'none.sock'}\n", encoding="utf-8")
    assert main(["camera", "run", str(rig), "--once"]) == 3
    assert "none.sock" in capsys.readouterr().err


def test_a_camera_without_a_table_says_that_it_retries(tmp_path: Path) -> None:
    rig, path = tmp_path / "rig.yaml", tmp_path / "cam.sock"
    rig.write_text(f"{RIG}source: {film(tmp_path / 'a.avi')}\nsocket: {path}\n", encoding="utf-8")
    command = [sys.executable, "-m", "controller.cli.main", "camera", "run", str(rig)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=os.environ) as camera:
        assert camera.stderr is not None
        line = camera.stderr.readline().decode()
        camera.terminate()
    assert line.startswith(f"tablectl: {path}: can't connect to a table's daemon (")
    assert line.endswith("run: systemctl start table; retrying every 2 s\n")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("camera: [", "rig.yaml:1:10: found text that is not YAML"),
        ("camera: felt", "Object missing required field `table`"),
        (
            RIG.replace("[600, 40, 230, 150]", "[30, 40, 70, 150]").replace(
                "[30, 440, 70, 50]", "[30, 40, 70, 150]"
            ),
            "plane",
        ),
        (RIG + "focus: 3", "focus"),
    ],
)
def test_a_rig_that_cannot_be_used_is_exit_2(
    text: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(text, encoding="utf-8")
    assert main(["camera", "track", str(tmp_path / "a.avi"), "--rig", str(rig)]) == 2
    assert wrong in capsys.readouterr().err


def test_a_picture_is_taken_with_an_uncalibrated_camera(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig, taken = tmp_path / "rig.yaml", tmp_path / "held-1.png"
    table = "camera: cam\ntable: {length_mm: 300, width_mm: 200, die_mm: 19, wall_relief_mm: 0}\n"
    rig.write_text(f"{table}source: {film(tmp_path / 'a.avi')}\n", encoding="utf-8")
    assert main(["camera", "snap", str(rig), str(taken)]) == 0
    assert f"{taken}: 640 x 480 pixels" in capsys.readouterr().err
    shown = cv2.imread(str(taken))
    assert shown is not None
    assert shown.shape == (480, 640, 3)
    assert main(["camera", "snap", str(rig), str(tmp_path / "held-1.bmp")]) == 2
    assert "held-1.bmp: found an unsupported file extension, expected one of .png" in capsys.readouterr().err
    rig.write_text(table, encoding="utf-8")
    assert main(["camera", "snap", str(rig), str(taken)]) == 2
    assert "rig.yaml has no `source`" in capsys.readouterr().err


UNMEASURED = """\
camera: cam   # over the left end
table: {length_mm: 3600, width_mm: 700, die_mm: 19, wall_relief_mm: 12}
dice: 2
"""


def photographed(folder: Path) -> list[str]:
    """Save the pictures for a calibration; return the arguments that name them."""
    words = []
    for number in range(8):
        path = folder / f"held-{number}.png"
        cv2.imwrite(str(path), held(LENS, number))
        words.append(str(path))
    for corner, lies in LYING.items():
        path = folder / f"{corner}.png"
        cv2.imwrite(str(path), seen(LENS, *lies))
        words += ["--flat", f"{corner}={path}"]
    return words


def test_pictures_of_another_size_than_the_cameras_frames_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(UNMEASURED + "capture: {width: 3840, height: 2160}\n", encoding="utf-8")
    path = tmp_path / "lf.png"
    cv2.imwrite(str(path), np.zeros((960, 1280, 3), np.uint8))
    assert main(["camera", "calibrate", str(rig), "--flat", f"left-front={path}"]) == 2
    assert (
        "lf.png: found 1280 x 960 pixels, expected 3840 x 2160 as set in `capture`" in capsys.readouterr().err
    )


def test_a_calibration_is_shown_then_written_into_the_rigs_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(UNMEASURED, encoding="utf-8")
    words = ["camera", "calibrate", str(rig), *photographed(tmp_path)]
    assert main(words) == 0
    assert "rig.yaml is unchanged; use --write to write the result" in capsys.readouterr().out
    assert rig.read_text(encoding="utf-8") == UNMEASURED

    assert main([*words, "--write", "--json", "--picture", str(tmp_path / "errors.png")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["worst_mm"] < 1.0
    assert found["height_mm"] == pytest.approx(1100.0, rel=0.01)
    assert Path(found["kept"]).read_text(encoding="utf-8") == UNMEASURED
    assert rig.read_text(encoding="utf-8").startswith(UNMEASURED.splitlines()[0])
    assert load_rig(rig).height_mm == pytest.approx(found["height_mm"])
    assert cv2.imread(str(tmp_path / "errors.png")) is not None

    assert main([*words, "--write", "--beside", str(rig)]) == 0
    told = capsys.readouterr().out
    assert "written: " in told
    assert "the two cameras are 0 mm apart, expected at least 300 mm" in told


def test_an_inconclusive_calibration_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(UNMEASURED, encoding="utf-8")
    blank = tmp_path / "blank.png"
    cv2.imwrite(str(blank), np.full((480, 640, 3), 90, np.uint8))
    assert main(["camera", "calibrate", str(rig), "--flat", f"left-front={blank}", "--write"]) == 1
    assert "blank.png: found fewer than 12 corners of the board" in capsys.readouterr().err
    assert rig.read_text(encoding="utf-8") == UNMEASURED
    assert main(["camera", "track", str(film(tmp_path / "a.avi")), "--rig", str(rig)]) == 2
    assert "points: found 0, expected 4 or more; `tablectl camera calibrate`" in capsys.readouterr().err


def test_the_board_is_written_as_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["camera", "board", str(tmp_path / "board.pdf")]) == 0
    assert "print it without scaling" in capsys.readouterr().out
    assert (tmp_path / "board.pdf").read_bytes().startswith(b"%PDF-1.4")
    assert main(["camera", "board", str(tmp_path / "no" / "board.pdf")]) == 2


def test_a_key_given_twice_in_a_rig_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(f"{RIG}dice: 2\ndice: 3\n", encoding="utf-8")
    assert main(["camera", "track", "a.avi", "--rig", str(rig)]) == 2
    told = capsys.readouterr().err
    assert "rig.yaml" in told
    assert "dice" in told
