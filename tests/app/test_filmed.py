"""From a video to a call and its pictures: the camera's process, the daemon, the journal, and `explain`."""

import hashlib
import json
import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from random import Random

import msgspec
import pytest

pytest.importorskip("cv2", reason="OpenCV comes with the `vision` extra")
pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from controller.cli.link import conversation
from controller.cli.main import main
from controller.evidence.pictures import Folder
from controller.journal.contents import unpack
from controller.journal.reading import Reader
from controller.model.readings import AnyReading, DeviceDown, DeviceUp, DieReleased, DieRest
from controller.settings.places import config_home
from drivers.cameras.json_camera import JsonCamera, JsonCameraSettings
from tests.app.rig import PATIENCE_S, Json, Table, lines_of, tick, until
from tests.drivers.vision.bounced import RIG, film
from tests.scenes import SECOND_US


def running_camera(folder: Path, socket_path: Path, source: Path) -> subprocess.Popen[bytes]:
    """Start the camera's process, which ends with its video."""
    rig = folder / "rig.yaml"
    keys = f"source: {source}\nsocket: {socket_path}\nevidence: {{folder: {folder / 'kept'}}}\n"
    rig.write_text(RIG + keys, encoding="utf-8")
    return subprocess.Popen(
        [sys.executable, "-m", "controller.cli.main", "camera", "run", str(rig), "--once"], env=os.environ
    )


def shipped_table(folder: Path, devices: str = "") -> Path:
    """Write the shipped craps table with the video's plain walls and with these devices."""
    text = (config_home() / "tables" / "craps.yaml").read_text(encoding="utf-8")
    head, _, rest = text.replace("wall_relief_mm: 12 ", "wall_relief_mm: 0 ").partition("\ndevices:")
    shipped, _, below = rest.partition("\nswitches:")
    assert "wall_relief_mm: 0 " in head
    assert below
    path = folder / "table.yaml"
    body = f"{head}\ndevices:{devices or shipped}\nswitches:{below}\npublish: {{to: socket}}\n"
    path.write_text(body, encoding="utf-8")
    return path


def named(journal: Path) -> dict[str, tuple[str, ...]]:
    """Return the pictures that the evidence of each outcome names."""
    with Reader(journal / "journal.db") as reader:
        return {
            row.name: tuple(
                reading.pictures
                for reading in unpack(row.evidence).readings
                if isinstance(reading, DieRest) and reading.pictures
            )
            for row in reader.rows(evidence=True)
            if row.evidence is not None
        }


def heard(folder: Path, source: Path) -> list[AnyReading]:
    """Return the readings that a table's device derives from the lines of the camera's process."""
    path = folder / "cam.sock"
    with socket.socket(socket.AF_UNIX) as table:
        table.bind(str(path))
        table.listen()
        camera = running_camera(folder, path, source)
        link, _ = table.accept()
        with link, link.makefile("rb") as lines:
            got = list(lines)
        assert camera.wait(PATIENCE_S) == 0
    device = JsonCamera("cam", JsonCameraSettings(port="unix:x", clock="own"), Random(1).randbytes)
    reported = device.on_open(0)
    for line in got:
        reported += device.receive(json.loads(line)["t"], line)
    return reported


@pytest.fixture
def called(tmp_path: Path) -> Iterator[Table]:
    """Yield a table that has called a filmed roll; its pictures are in `kept`."""
    source = tmp_path / "throw.avi"
    impacts = film(source, 6, 3)
    answer = [
        reading for reading in heard(tmp_path, source) if not isinstance(reading, DeviceUp | DeviceDown)
    ]
    released_us = next(reading.t for reading in answer if isinstance(reading, DieReleased))
    table = Table(tmp_path, str(shipped_table(tmp_path)))
    table.start()
    table.feed([tick(9 * SECOND_US)])
    table.unlock()
    feed = [
        *(msgspec.structs.replace(reading, t=reading.t - released_us) for reading in answer),
        *impacts,
    ]
    table.feed(lines_of([(one.t, one) for one in sorted(feed, key=lambda one: one.t)], 10 * SECOND_US))
    table.feed([tick(20 * SECOND_US)])
    until(lambda: "roll.called" in named(table.journal), "the call")
    yield table
    table.kill()


def test_a_call_names_its_pictures_and_each_is_found_on_the_disk(
    called: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = called.rows()[-1]
    names = named(called.journal)["roll.called"]
    assert len(names) == 2
    for sha256 in names:
        assert hashlib.sha256((tmp_path / "kept" / f"{sha256}.zip").read_bytes()).hexdigest() == sha256
    assert outcome.seq is not None
    options = ["--journal", str(called.journal), "--evidence", str(tmp_path / "kept")]
    assert main(["explain", "1", *options, "--no-plot", "--extract", str(tmp_path / "seen")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Roll 6-3" in shown
    assert shown.count("; originals: ") == 2
    stills = sorted((tmp_path / "seen").glob("*-die-*.jpg"))
    assert len(stills) == 4
    assert main(["camera", "read", *map(str, stills), "--die-px", "63", "--json"]) == 0
    faces = [json.loads(line)["dice"][0]["up"] for line in capsys.readouterr().out.splitlines()]
    assert sorted(faces) == [3, 3, 6, 6]


def test_a_changed_picture_and_a_deleted_one_are_named_and_the_journal_stays_sound(
    called: Table, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = named(called.journal)["roll.called"]
    with Reader(called.journal / "journal.db") as reader:
        (outcome_id,) = (json.loads(row.body)["id"] for row in reader.rows(types={"roll.called"}) if row.body)
    kept = tmp_path / "kept"
    file = kept / f"{first}.zip"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x10
    file.write_bytes(data)
    assert main(["camera", "evidence", "delete", second, "--reason", "asked for", "--folder", str(kept)]) == 0
    capsys.readouterr()
    options = ["--journal", str(called.journal), "--evidence", str(kept)]
    assert main(["recall", outcome_id, *options]) == 0
    shown = capsys.readouterr().out
    assert f"pictures {first[:12]} can't be shown: {first}.zip was changed after it was written" in shown
    assert "asked for" in shown
    assert main(["explain", "1", *options, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["pictures"]
    assert [(one["sha256"], one["verified"]) for one in printed] == [(first, False), (second, False)]
    called.terminate()
    assert main(["journal", "verify", "--journal", str(called.journal), "--no-head"]) == 0
    called.start()


CAMERA = """
  cam:
    type: json-camera
    port: unix:{folder}/cam.sock
    clock: own
    reads: [die_released, die_at, die_rest, die_lost]
"""
WALL = """
  wall-{side}:
    type: json-camera
    port: {port}
    reads: [wall_impact]
    wall: {side}
"""


def state_of(control: Path) -> str:
    status = next(conversation(str(control), {"do": "table"}))["floor"]
    assert isinstance(status, dict)
    return str(status.get("lock"))


@contextmanager
def live_table(folder: Path) -> Iterator[Path]:
    """Run a table with a camera's socket and two walls; yield its control socket."""
    ports = [pty.openpty() for _ in range(2)]
    devices = CAMERA.format(folder=folder)
    for (_, theirs), side in zip(ports, ("left", "right"), strict=True):
        devices += WALL.format(side=side, port=os.ttyname(theirs))
    file = shipped_table(folder, devices)
    file.write_text(f"{file.read_text(encoding='utf-8')}max_lateness_ms: 3000\n", encoding="utf-8")
    control = folder / "control"
    command = [
        sys.executable, "-m", "controller.cli.main", "run", str(file), "--journal", str(folder / "journal"),
        "--socket", str(control), "--no-self-test-devices",
    ]  # fmt: skip
    stopping = threading.Event()

    def alive() -> None:
        while not stopping.wait(0.2):
            for ours, _ in ports:
                os.write(ours, b'{"kind": "alive"}\n')

    walls = threading.Thread(target=alive)
    walls.start()
    with (folder / "log").open("wb") as log:
        daemon = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until(lambda: (folder / "cam.sock").exists() or daemon.poll() is not None, "the camera's socket")
        assert daemon.poll() is None, (folder / "log").read_text(encoding="utf-8")
        until(lambda: "unlocked" in state_of(control), "the table to be unlocked")
        yield control
        assert daemon.poll() is None, "the table did not stop"
    finally:
        stopping.set()
        walls.join()
        daemon.terminate()
        daemon.wait(PATIENCE_S)
        for descriptor in chain.from_iterable(ports):
            os.close(descriptor)


def test_a_throw_at_a_live_table_ends_with_its_pictures_in_the_journal(tmp_path: Path) -> None:
    source, journal = tmp_path / "throw.avi", tmp_path / "journal"
    film(source, 6, 3)
    with live_table(tmp_path):
        camera = running_camera(tmp_path, tmp_path / "cam.sock", source)
        until(lambda: any(name.startswith("roll.") for name in named(journal)), "an outcome of the throw")
        camera.wait(PATIENCE_S)
        (names,) = named(journal).values()
        assert names
        for sha256 in names:
            assert Folder(tmp_path / "kept").pictures(sha256).of("die")


def status_of_table(control: Path, word: str) -> Json:
    status = next(conversation(str(control), {"do": "status"}))["status"]
    assert isinstance(status, dict)
    part = status[word]
    assert isinstance(part, dict)
    return part


def outcomes_of(journal: Path) -> list[str]:
    with Reader(journal / "journal.db") as reader:
        return [row.name for row in reader.rows() if row.seq is not None and row.name.startswith("roll.")]


def test_a_camera_killed_during_a_throw_causes_no_call_and_the_next_throw_is_seen(tmp_path: Path) -> None:
    """The interrupted throw neither counts nor is void. A person rules on it, and play continues."""
    source, journal = tmp_path / "throw.avi", tmp_path / "journal"
    film(source, 6, 3)
    with live_table(tmp_path) as control:

        def camera_s(word: str) -> object:
            return status_of_table(control, "devices")["cam"][word]  # type: ignore[index]  # a device's figures

        camera = running_camera(tmp_path, tmp_path / "cam.sock", source)
        until(lambda: status_of_table(control, "next").get("roll") == 2, "the throw to have begun")
        camera.kill()
        camera.wait(PATIENCE_S)
        until(lambda: camera_s("up") is False, "the camera to be reported missing")
        until(lambda: "review" in "".join(outcomes_of(journal)), "the throw to be under review")
        assert outcomes_of(journal) == ["roll.review"]
        ruled: Json = {"do": "input", "name": "no_roll", "by": "boxperson", "who": "ann"}
        assert next(conversation(str(control), ruled))["ok"] is True
        until(lambda: outcomes_of(journal) == ["roll.review", "roll.no_roll"], "the ruling")
        again = running_camera(tmp_path, tmp_path / "cam.sock", source)
        until(lambda: len(outcomes_of(journal)) > 2, "an outcome of the next throw")
        again.wait(PATIENCE_S)
        assert outcomes_of(journal)[:2] == ["roll.review", "roll.no_roll"]
        assert "unlocked" in state_of(control)
        with Reader(journal / "journal.db") as reader:
            evidence = [row.evidence for row in reader.rows(evidence=True) if row.evidence is not None]
        assert any(isinstance(one, DieRest) and one.pictures for one in unpack(evidence[-1]).readings)
