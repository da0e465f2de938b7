"""An authorized client repeats a permitted request. It adds few rows, and play continues."""

import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from controller.app.testing import MAX_FAILED, RESULTS
from tests.app.rig import PATIENCE_S, Json, Table, until


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Yield an unlocked table whose daemon is a separate process."""
    table = Table(tmp_path, arguments=("--no-self-test-devices",))
    table.start(watch=False)
    until(lambda: table.status()["lock"] == "unlocked", "the table to unlock itself")
    yield table
    if table.process is not None:
        table.kill()


def all_said(table: Table, lines: list[bytes], *, first: bytes = b"") -> list[Json]:
    """Send these lines over one connection without waiting; return the answer to each."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(PATIENCE_S)
        link.connect(table.socket)
        with link.makefile("rb") as heard:
            if first:
                link.sendall(first)
                assert b'"ok":true' in heard.readline()
            answers: list[Json] = []
            for start in range(0, len(lines), 20):
                block = lines[start : start + 20]
                link.sendall(b"".join(block))
                while len(answers) < start + len(block):
                    answer = msgspec.json.decode(heard.readline(), type=Json)
                    if "ok" in answer:  # A watcher of a test also receives readings.
                        answers.append(answer)
    return answers


def test_endless_reports_of_failed_sensors_fill_neither_the_journal_nor_the_fault_list(table: Table) -> None:
    """The reports name 12,800 sensors in 5 s, which would fill the journal's queue and halt the core."""
    failed = [{f"sensor-{number}-{each}": "never heard of" for each in range(64)} for number in range(200)]
    lines = [
        msgspec.json.encode({"do": "tested", "device": "console", "failed": one}) + b"\n" for one in failed
    ]
    codes = Counter(answer.get("code") for answer in all_said(table, lines, first=b'{"do":"test"}\n'))
    assert codes[None] <= MAX_FAILED / 64
    assert set(codes) == {None, "too_fast", "too_many"}
    status = table.status()
    assert isinstance(status["faults"], list)
    assert len(status["faults"]) <= MAX_FAILED
    assert status["halted"] is False
    until(lambda: table.status()["testing"] is False, "the end of the test")
    assert len(table.rows()) < MAX_FAILED + 2 * RESULTS.burst
    passed = sorted(failed[0])
    line = msgspec.json.encode({"do": "tested", "device": "console", "passed": passed}) + b"\n"
    until(lambda: all_said(table, [line], first=b'{"do":"test"}\n')[0]["ok"] is True, "the test to be noted")
    until(lambda: table.status()["faults"] == [], "the faults to clear")
