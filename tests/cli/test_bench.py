"""A calibration started at the console asks for as much as the same one started on the command line."""

import argparse
from contextlib import AbstractContextManager, nullcontext
from queue import Queue

import pytest

from controller.cli import bench, calibrate
from controller.console.technician import Does

PATIENCE_S = 60.0


@pytest.mark.parametrize("does", ["camera", "walls", "wheel"])
def test_a_calibration_at_the_console_asks_for_as_much_as_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, does: Does
) -> None:
    begun: Queue[argparse.Namespace] = Queue()

    def connect(*_words: object, **_named: object) -> AbstractContextManager[None]:
        return nullcontext()

    def note(arguments: argparse.Namespace, _guide: object) -> None:
        begun.put(arguments)

    monkeypatch.setattr(bench, "TestLink", connect)
    monkeypatch.setattr(bench, "_PageGuide", lambda _link, _job: None)
    monkeypatch.setattr(bench, "guided", note)
    bench.begin("control.sock", does, "device", "token")
    asked = vars(begun.get(timeout=PATIENCE_S))
    parser = argparse.ArgumentParser()
    calibrate.add_arguments(parser)
    typed = vars(parser.parse_args([does, "device"]))
    assert {name: asked[name] for name in typed if name in asked} == {
        name: value for name, value in typed.items() if name in asked
    }
    assert {"throws", "knocks", "spins", "points", "point"} & {*typed} <= {*asked}
