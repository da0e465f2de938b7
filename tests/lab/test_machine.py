"""A guest's process on the host. These tests need no kernel."""

import os
from pathlib import Path

import pytest

from tests.lab import machine
from tests.lab.guest import day
from tests.lab.machine import Machine

GUEST = """\
#!/bin/sh
ps -o sid= -p $$ > {session}.new && mv {session}.new {session}
exec sleep 600
"""


def test_a_guest_has_the_priority_of_its_run_and_is_cut_off_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux can divide CPU time between sessions, so a guest in a new session would get a different share."""
    monkeypatch.setattr(machine, "registers", lambda: "")
    kernel, session = tmp_path / "kernel", tmp_path / "session"
    kernel.write_text(GUEST.format(session=session))
    kernel.chmod(0o755)
    guest = Machine(kernel, tmp_path / "disk", tmp_path / "guest")

    guest.start(day.play_day, 1, 1, 1)
    while not session.exists():
        assert guest.runs
    guest.cut()

    assert int(session.read_text()) == os.getsid(0)
    assert not guest.runs
