"""New values in a table's file leave all other text unchanged."""

from pathlib import Path

import pytest

from controller.settings.mistakes import SettingsError
from controller.settings.yaml_text import EditError, changed, parse_text, replace_file

FILE = """\
# my table
table: roulette   # its name
wheel:
  pockets: american
  beams_deg: [10, 130, 250] # from the bowl's mark
  # nobody has measured this yet
  rotor_index_deg: 200
devices:
  cam:
    type: json-camera   # a script
    calibration:
      - [1, 2, 3, 4]   # the left corner
      - [5, 6, 7, 8]
    # the port's name stays
    port: /dev/serial/by-id/cam
  wall: {type: node, node: wall}
"""


def test_a_value_is_changed_in_its_place_and_its_comment_stays() -> None:
    text = changed(FILE, {("wheel", "beams_deg"): (10.0, 129.5, 250.25), ("wheel", "rotor_index_deg"): 201.0})
    assert text == FILE.replace("[10, 130, 250]", "[10, 129.5, 250.25]").replace("deg: 200", "deg: 201")


def test_rows_replace_rows() -> None:
    reported = changed(
        FILE, {("devices", "cam", "calibration"): ((1.5, 2.0, 3.0, 4.0), (5.0, 6.0, 7.0, 8.0))}
    )
    before, after = FILE.splitlines(), reported.splitlines()
    assert [line for line in before if line not in after] == [
        "      - [1, 2, 3, 4]   # the left corner",
    ]
    assert "      - [1.5, 2, 3, 4]" in after
    assert "    # the port's name stays" in after


@pytest.mark.parametrize(
    ("path", "value", "line"),
    [
        (("devices", "wall", "least_peak"), 70.5, "  wall: {type: node, node: wall, least_peak: 70.5}"),
        (("wheel", "drop_rev_per_s"), 0.45, "  drop_rev_per_s: 0.45"),
        (("devices", "cam", "error_mm"), 8.0, "    error_mm: 8"),
    ],
)
def test_a_missing_key_is_added_to_its_section(path: tuple[str, ...], value: float, line: str) -> None:
    text = changed(FILE, {path: value})
    assert line in text.splitlines()
    found = parse_text(text, "table.yaml").value
    for key in path:
        assert isinstance(found, dict)
        found = found[key]
    assert found == value


def test_rows_are_added_as_rows() -> None:
    text = "devices:\n  cam:\n    type: json-camera # a script\n  console:\n    type: node\n"
    reported = changed(text, {("devices", "cam", "calibration"): ((1.0, 2.0, 3.0, 4.5),)})
    assert reported == text.replace("a script\n", "a script\n    calibration:\n      - [1, 2, 3, 4.5]\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FILE.replace("wheel:", "wheels:"), "wheel: no such section"),
        ("table: [", "found text that is not YAML"),
        ("", "found an empty file"),
        ("wheel: 3", "^wheel: not a section"),
        ("- wheel", "^found a file without 'key: value' lines at its top level, expected a table file"),
        ("3", "^found a file without 'key: value' lines at its top level, expected a table file"),
        ("{}", "^found a file without 'key: value' lines at its top level, expected a table file"),
    ],
)
def test_a_file_without_the_section_is_refused(text: str, message: str) -> None:
    with pytest.raises(EditError, match=message):
        changed(text, {("wheel", "drop_rev_per_s"): 0.4})


def well(_path: Path) -> None:
    pass


def test_the_old_file_is_kept_beside_the_new_one_each_time(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_bytes(b"one")
    path.chmod(0o640)
    first = replace_file(path, b"one", b"two", "20260101-120000", well)
    second = replace_file(path, b"two", b"three", "20260101-120000", well)
    assert path.read_bytes() == b"three"
    assert [first.kept.read_bytes(), second.kept.read_bytes()] == [b"one", b"two"]
    assert first.kept.name == "table.yaml.20260101-120000"
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(list(tmp_path.iterdir())) == 3


def test_an_invalid_new_file_never_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table.yaml"
    path.write_bytes(b"one")

    def refuse(_path: Path) -> None:
        raise SettingsError([])

    with pytest.raises(SettingsError):
        replace_file(path, b"one", b"two", "now", refuse)
    with pytest.raises(EditError, match="was changed during the calibration"):
        replace_file(path, b"other", b"two", "now", well)
    assert [file.name for file in tmp_path.iterdir()] == ["table.yaml"]
    assert path.read_bytes() == b"one"
