"""The pictures of a throw: taken by the camera's process, named by its readings, listed and deleted."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from controller.cli.camera_watching import BEFORE_US, CLIP_MAX_BYTES, Album
from controller.cli.main import main
from controller.evidence.pictures import Closed, Folder, read, taken_us
from controller.model.readings import DieLost, DieReleased, DieRest, Reading
from drivers.vision.arrays import Array
from drivers.vision.following import Follower
from drivers.vision.stills import Crop
from tests.cli.test_camera_command import RIG, film, table_at
from tests.drivers.vision.films import filming, rig, thrown


def picture(jpeg: bytes) -> Array:
    found = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    assert found is not None
    return found


def test_each_rest_names_its_stills_and_the_clip_until_then() -> None:
    camera = filming()
    follower = Follower(rig(), camera.empty())
    kept: list[Closed] = []
    album = Album("cam", kept.append)
    reported: list[Reading] = []
    for t_us in range(-2_000_000, 0, 33_333):
        album.frame(t_us + 2_000_000, camera.empty(), [], follower.crops)
    for t_us, frame, still in camera.frames(thrown(6, 3), 900_000):
        seen = follower.frame(t_us + 2_000_000, frame, still)
        reported += album.frame(t_us + 2_000_000, frame, seen, follower.crops)
    rests = [reading for reading in reported if isinstance(reading, DieRest)]
    assert [reading.pictures for reading in rests] == [closed.sha256 for closed in kept]
    first, second = (read(*closed) for closed in kept)
    released = next(reading for reading in reported if isinstance(reading, DieReleased))
    clip = [taken_us(name) for name in first.of("clip")]
    assert 0.5 * BEFORE_US < released.t - clip[0] < 1.2 * BEFORE_US
    assert first.about.t_us - clip[-1] < 100_000
    later = [taken_us(name) for name in second.of("clip")]
    assert not set(clip) & set(later)
    for rest, pictures in zip(rests, (first, second), strict=True):
        assert (pictures.about.die, pictures.about.up, pictures.about.kind) == (rest.die, rest.up, "die_rest")
        assert [len(pictures.of(kind)) for kind in ("die", "whole")] == [2, 2]
        cut, frame = (picture(pictures.entries[pictures.of(kind)[0]]) for kind in ("die", "whole"))
        assert frame.shape == (480, 640, 3)
        assert cut.shape[0] < 300


def test_a_large_frame_is_reduced_and_the_cutout_of_its_die_is_not() -> None:
    large = np.full((1500, 2000, 3), 90, np.uint8)
    kept: list[Closed] = []
    crop = Crop(1, large[:400, :400])
    rest = DieRest(t=1, dev="cam", die=1, x=0, y=0, up=3, confidence=1.0)
    Album("cam", kept.append).frame(1, large, [rest], lambda _die: (crop,))
    found = read(*kept[0])
    shapes = {kind: picture(found.entries[found.of(kind)[0]]).shape for kind in ("die", "whole", "clip")}
    assert shapes == {"die": (400, 400, 3), "whole": (1440, 1920, 3), "clip": (480, 640, 3)}


def test_a_clip_is_limited_in_length_and_marked_as_cut() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (480, 640, 3)).astype(np.uint8)
    kept: list[Closed] = []
    album = Album("cam", kept.append)
    album.frame(0, noise, [DieReleased(t=0, dev="cam", die=1, x=0, y=0)], lambda _die: ())
    for at in range(1, 90):
        album.frame(at * 40_000, noise, [], lambda _die: ())
    (lost,) = album.frame(4_000_000, noise, [DieLost(t=4_000_000, dev="cam", die=1)], lambda _die: ())
    assert isinstance(lost, DieLost)
    assert lost.pictures == kept[0].sha256
    found = read(*kept[0])
    assert found.about.clip_cut
    assert sum(len(found.entries[name]) for name in found.of("clip")) < CLIP_MAX_BYTES
    assert found.of("die") == ()


def test_a_running_camera_keeps_the_pictures_that_its_readings_name(tmp_path: Path) -> None:
    file, path, folder = tmp_path / "rig.yaml", tmp_path / "cam.sock", tmp_path / "kept"
    source = film(tmp_path / "a.avi", before=40)
    keys = f"source: {source}\nsocket: {path}\nevidence: {{folder: {folder}, days: 30, max_mb: 20}}\n"
    file.write_text(RIG + keys, encoding="utf-8")
    with table_at(path) as got:
        assert main(["camera", "run", str(file), "--once"]) == 0
    named = [line["pictures"] for line in map(json.loads, got) if line["kind"] == "die_rest"]
    assert len(named) == 2
    assert {one.sha256 for one in Folder(folder).kept()} == set(named)
    assert {Folder(folder).pictures(sha256).about.up for sha256 in named} == {3, 6}


def test_files_are_listed_verified_and_deleted_with_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[Closed] = []
    album = Album("cam", kept.append)
    frame = np.full((48, 64, 3), 90, np.uint8)
    for at in (1, 2):
        album.frame(at, frame, [DieLost(t=at, dev="cam", die=1)], lambda _die: ())
    folder = Folder(tmp_path)
    for closed in kept:
        folder.keep(closed, 1_700_000_000.0)
    words = ["--folder", str(tmp_path)]
    assert main(["camera", "evidence", "list", "--verify", *words]) == 0
    shown = capsys.readouterr()
    assert all(closed.sha256 in shown.out for closed in kept)
    assert "2 files" in shown.err
    file = tmp_path / f"{kept[0].sha256}.zip"
    file.write_bytes(file.read_bytes() + b"!")
    assert main(["camera", "evidence", "list", "--verify", *words]) == 1
    assert "changed after it was written" in capsys.readouterr().out

    deed = ["camera", "evidence", "delete", kept[0].sha256[:16], "--reason", "a guest asked", *words]
    assert main(deed) == 0
    assert [(one.sha256, one.why) for one in folder.deleted()] == [(kept[0].sha256, "a guest asked")]
    assert main(deed) == 1
    assert "found 0 matching files" in capsys.readouterr().err
    assert main(["camera", "evidence", "prune", *words]) == 2
    assert main(["camera", "evidence", "prune", "--max-mb", "0", *words]) == 0
    assert folder.kept() == []
    assert main(["camera", "evidence", "list", "--folder", str(tmp_path / "none")]) == 2
    assert "choose a different one with --folder" in capsys.readouterr().err


def test_a_held_file_survives_age_quota_and_deletion_until_it_is_released(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept: list[Closed] = []
    album = Album("cam", kept.append)
    for at in (1, 2):
        album.frame(
            at, np.full((48, 64, 3), at, np.uint8), [DieLost(t=at, dev="cam", die=1)], lambda _die: ()
        )
    folder = Folder(tmp_path)
    for closed in kept:
        folder.keep(closed, 1_700_000_000.0)
    disputed, other = (closed.sha256 for closed in kept)
    words = ["--folder", str(tmp_path)]
    said = ["--who", "ann", "--reason", "dispute over roll 24", "--socket", str(tmp_path / "none.sock")]
    assert main(["camera", "evidence", "hold", disputed, *said, *words]) == 3  # no controller journals it
    assert "not in the journal yet" in capsys.readouterr().err
    assert main(["camera", "evidence", "prune", "--days", "1", "--max-mb", "0", *words]) == 0
    assert [one.sha256 for one in folder.kept()] == [disputed]
    assert [one.sha256 for one in folder.deleted()] == [other]
    assert main(["camera", "evidence", "list", *words]) == 0
    assert "held by ann: dispute over roll 24" in capsys.readouterr().out
    deed = ["camera", "evidence", "delete", disputed, "--reason", "a guest asked", *words]
    assert main(deed) == 1
    assert "held by ann" in capsys.readouterr().err
    assert main(["camera", "evidence", "release", disputed, *said, *words]) == 3
    assert main(deed) == 0
    assert folder.kept() == []
