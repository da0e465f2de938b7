"""`tablectl camera`: its exit codes and what it prints."""

import json
from pathlib import Path

import cv2
import pytest

from controller.cli.main import main
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
