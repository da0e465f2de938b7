"""The connection of a guided test: a result counts once the controller has confirmed it."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from controller.cli.guide import TestLink
from controller.cli.link import OutOfReachError, RefusedError

READING = {"reading": {"kind": "switch", "t": 1, "dev": "panel", "name": "door", "open": False}}


def line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


@contextmanager
def controller(path: Path, ends: Callable[[socket.socket], None]) -> Iterator[str]:
    """Serve one client: begin a test, receive its result and end in the given way."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as lines:
                assert json.loads(lines.readline())["do"] == "test"
                connection.sendall(line({"ok": True, "testing": True}))
                assert json.loads(lines.readline())["do"] == "tested"
                ends(connection)

        thread = Thread(target=serve)
        thread.start()
        yield str(path)
        thread.join()


def test_a_result_counts_once_it_is_confirmed_whatever_readings_arrive_meanwhile(tmp_path: Path) -> None:
    def notes(connection: socket.socket) -> None:
        connection.sendall(line(READING) * 3 + line({"ok": True, "noted": "wall"}))

    with controller(tmp_path / "socket", notes) as path, TestLink(path, "ann") as link:
        link.show_result("wall", ["device"], {"wall_impact": "heard nothing"})


def test_a_refused_result_does_not_count_as_confirmed(tmp_path: Path) -> None:
    def refuses(connection: socket.socket) -> None:
        connection.sendall(line({"ok": False, "code": "ended", "says": "test mode was switched off"}))

    with (
        controller(tmp_path / "socket", refuses) as path,
        TestLink(path, "ann") as link,
        pytest.raises(RefusedError, match="switched off"),
    ):
        link.show_result("wall", [], {"wall_impact": "heard nothing"})


def test_a_controller_that_dies_before_confirming_a_result_is_reported(tmp_path: Path) -> None:
    with (
        controller(tmp_path / "socket", lambda connection: connection.sendall(line(READING))) as path,
        TestLink(path, "ann") as link,
        pytest.raises(OutOfReachError),
    ):
        link.show_result("wall", [], {"wall_impact": "heard nothing"})
