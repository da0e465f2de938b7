"""The doctor's findings about a camera's pictures."""

from pathlib import Path

from controller.evidence.pictures import DAY_S, FOLDER, Folder, PictureDescription, Writer
from controller.technician.machine_checks import DEFAULT_DAYS, DEFAULT_MAX_MB, Machine, pictures
from drivers.vision.rig import EvidenceSettings

NOW_S = 1_800_000_000.0


def said(root: Path, now_s: float = NOW_S) -> list[tuple[str, str]]:
    return [(one.state, one.says) for one in pictures(Machine(root, lambda _words: None), now_s)]


def test_limits_missing_in_a_rig_are_the_cameras_defaults() -> None:
    usual = EvidenceSettings()
    assert (usual.folder, usual.days, usual.max_mb) == (FOLDER, DEFAULT_DAYS, DEFAULT_MAX_MB)


def test_a_machine_without_a_camera_has_no_findings(tmp_path: Path) -> None:
    assert said(tmp_path) == []


def test_a_cameras_pictures_are_counted_against_its_limits(tmp_path: Path) -> None:
    rig = tmp_path / "etc/table/camera.yaml"
    rig.parent.mkdir(parents=True)
    rig.write_text("camera: cam\n", encoding="utf-8")
    assert [state for state, _ in said(tmp_path)] == ["unchecked"]
    rig.write_text("camera: cam\nevidence: {days: 30, max_mb: 500}\n", encoding="utf-8")
    assert [state for state, _ in said(tmp_path)] == ["unchecked"]
    folder = Folder(tmp_path / "var/lib/table-camera")
    folder.begin()
    folder.keep(Writer().close(PictureDescription(camera="cam", die=1, kind="die_lost", t_us=1)), NOW_S)
    ((state, says),) = said(tmp_path)
    assert state == "ok"
    assert "1 files with 0 MB (limit 500), the oldest 0 days old (limit 30)" in says
    assert [state for state, _ in said(tmp_path, NOW_S + 40 * DAY_S)] == ["warning"]
