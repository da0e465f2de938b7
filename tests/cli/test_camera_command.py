"""`tablectl camera`: its exit codes and what it prints."""

import json
import socket
from pathlib import Path
from random import Random
from threading import Thread

import cv2
import pytest

from controller.cli.main import main
from controller.model.readings import DeviceDown, DeviceFault, DieRest
from drivers.cameras.json_camera import JsonCamera, JsonCameraSettings
from tests.drivers.vision.films import filming, thrown
from tests.drivers.vision.scenes import EDGE_PX, pair, still


def picture(folder: Path, name: str, first: int, second: int) -> Path:
    path = folder / name
    cv2.imwrite(str(path), still(*pair(first, second)))
    return path


def test_a_line_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert json.loads(capsys.readouterr().out)["refused"] == "2 dice found, 3 expected"


def test_what_is_no_picture_is_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"not a picture")
    assert main(["camera", "read", str(path), "--die-px", "70"]) == 2
    assert main(["camera", "read", str(tmp_path / "none.png"), "--die-px", "70"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "no picture" in told.err


@pytest.mark.parametrize("pixels", ["0", "-3", "wide", "inf", "nan"])
def test_an_edge_that_is_no_length_is_a_usage_error(pixels: str) -> None:
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
    assert b"6-3" in capfdbinary.readouterr().out


def hear(table: socket.socket, got: list[bytes]) -> None:
    link, _ = table.accept()
    with link, link.makefile("rb") as lines:
        got.extend(lines)


def test_a_running_camera_sends_the_table_its_readings_and_says_when_it_ends(tmp_path: Path) -> None:
    rig = tmp_path / "rig.yaml"
    path = tmp_path / "cam.sock"
    source = film(tmp_path / "a.avi", before=40)
    rig.write_text(f"{RIG}source: {source}\nsocket: {path}\n", encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as table:
        table.bind(str(path))
        table.listen()
        got: list[bytes] = []
        heard = Thread(target=hear, args=(table, got))
        heard.start()
        assert main(["camera", "run", str(rig), "--once"]) == 0
        heard.join(60)
    device = JsonCamera("cam", JsonCameraSettings(port="unix:x", clock="own"), Random(1).randbytes)
    device.start(0)
    device.opened(1)
    now_us = 1
    told = []
    for line in got:
        now_us = max(now_us, json.loads(line)["t"])
        told += device.receive(now_us, line)
    faces = sorted(reading.up or 0 for reading in told if isinstance(reading, DieRest))
    assert faces == [3, 6]
    assert [reading.code for reading in told if isinstance(reading, DeviceDown)][-1] == "pulled"
    assert not [reading for reading in told if isinstance(reading, DeviceFault)]


def test_a_camera_without_its_tables_socket_is_exit_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(f"{RIG}source: a.avi\nsocket: {tmp_path / 'none.sock'}\n", encoding="utf-8")
    assert main(["camera", "run", str(rig), "--once"]) == 3
    assert "none.sock" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("camera: [", "no YAML"),
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
def test_a_rig_that_can_not_be_used_is_exit_2(
    text: str, wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rig = tmp_path / "rig.yaml"
    rig.write_text(text, encoding="utf-8")
    assert main(["camera", "track", str(tmp_path / "a.avi"), "--rig", str(rig)]) == 2
    assert wrong in capsys.readouterr().err
