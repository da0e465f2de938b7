"""A start with a long verification reports its progress, so that systemd does not end it as hung."""

import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from controller.app import daemon as daemon_module
from controller.app.daemon import Daemon
from controller.app.service import Notifier
from controller.journal import verify
from controller.settings.tables import load_table
from tests.app.house import HouseMaker, unlocked


def heard(said: socket.socket) -> list[list[str]]:
    """Return all messages to systemd, parsed."""
    messages = []
    said.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            messages.append(said.recv(4096).decode().split("\n"))
    return messages


def test_a_start_reports_its_progress_to_systemd(
    house: HouseMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """systemd ends a start that takes longer than TimeoutStartSec without a report of progress."""
    one = house()
    first = one.open()
    unlocked(first)
    first.close()
    monkeypatch.setattr(verify, "SLICE", 2)
    monkeypatch.setattr(daemon_module, "PROGRESS_S", 0.0)
    settings = replace(load_table(one.options.table), publish=one.publish)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
        said.bind(str(tmp_path / "notify"))
        environ = {"NOTIFY_SOCKET": str(tmp_path / "notify")}
        again = Daemon(one.options, settings, environ=environ, wall=one.wall, clock=one.clock)
        again.open()
        answer = heard(said)
        again.close()
    assert len(answer) > 2
    assert all("EXTEND_TIMEOUT_USEC=60000000" in words for words in answer)
    assert all("WATCHDOG=1" in words for words in answer), (
        "opening the journal again later must not extend the start timeout"
    )
    assert answer[-1][-1].startswith("STATUS=verifying the journal: row ")


def test_progress_is_reported_every_two_seconds_at_most(house: HouseMaker, tmp_path: Path) -> None:
    one = house()
    daemon = one.open()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as said:
        said.bind(str(tmp_path / "notify"))
        daemon._notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")})
        daemon._progress_due_us = daemon.monotonic.now_us() + 10**12
        for row in range(1000):
            daemon._report_progress(row, 1000)
        assert heard(said) == []
