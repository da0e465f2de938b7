"""A virtual table with real ports, links and device drivers, at ten times real time."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("serial", reason="pyserial comes with the `hardware` extra")

from drivers.sim.faults import FAULTS, Schedule
from drivers.sim.scenes import FaultBegan
from drivers.sim.stage import FAULT_PIPE, FollowedClock, PacedClock, Pty
from tests.sim.fairness import unnamed, wrong_outcomes
from tests.sim.live_table import LiveTable

SPEED = 10.0
PATIENCE_S = 300.0


def wait(what: Callable[[], bool]) -> None:
    """Wait for a condition, and fail after a time limit."""
    end_s = time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end_s
        time.sleep(0.005)  # lets other threads run; the duration does not matter


@pytest.fixture
def live(tmp_path: Path) -> Iterator[LiveTable]:
    """Start a craps table and wait until it is up."""
    live = LiveTable("craps", tmp_path, speed=SPEED, attempts=1)
    live.start()
    try:
        wait(live.all_up)
        yield live
    finally:
        live.stop()


def request(folder: Path, **words: object) -> None:
    with (folder / FAULT_PIPE).open("w", encoding="utf-8") as pipe:
        pipe.write(json.dumps(words) + "\n")


@pytest.mark.parametrize("table", ["craps", "roulette-ss2", "three-card", "high-roller"])
def test_a_minute_with_faults_causes_no_false_outcome(table: str, tmp_path: Path) -> None:
    live = LiveTable(table, tmp_path, speed=SPEED, seed=11)
    began_us = live.clock.now_us()
    Schedule(live.table, 11, every_s=6).start(began_us + 12_000_000)
    live.start()
    try:
        wait(lambda: live.clock.now_us() > began_us + 60_000_000)
    finally:
        live.stop()
    faults = [s for s in live.stories if isinstance(s, FaultBegan) and s.t < began_us + 30_000_000]
    assert len(faults) >= 2
    assert unnamed(faults, live.readings) == []
    assert wrong_outcomes(live.played, live.effects) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("fault", ["unplug", "other_name", "stuck_writer", "swap_cables", "silence"])
def test_a_fault_of_a_port_is_named_and_clears(live: LiveTable, tmp_path: Path, fault: str) -> None:
    before = len(live.readings)
    request(tmp_path, fault=fault, device="cam")
    wait(lambda: any(isinstance(story, FaultBegan) for story in list(live.stories)))
    began = next(story for story in live.stories if isinstance(story, FaultBegan))
    assert began.codes == FAULTS[fault].codes["node"]
    wait(lambda: any(code in began.codes for code in live.health("cam")))
    if fault == "other_name":
        wait((tmp_path / "cam-other").is_symlink)
    wait(lambda: live.table.is_faultless and live.all_up())
    assert unnamed([began], live.readings[before:]) == []


def test_an_impossible_request_is_refused_and_the_next_is_carried_out(
    live: LiveTable, tmp_path: Path
) -> None:
    request(tmp_path, fault="unplug", device="camera")
    wait(lambda: bool(live.refused))
    assert live.refused[0].startswith("unplug: found device 'camera', expected one of cam, ")
    request(tmp_path, fault="restart", device="console")
    wait(lambda: "restarted" in live.health("console"))


def test_unread_bytes_are_dropped_and_later_ones_are_read(tmp_path: Path) -> None:
    pty = Pty(tmp_path / "cam")
    opened = os.open(tmp_path / "cam", os.O_RDWR | os.O_NOCTTY)
    pty.write(b"nobody reads this\n")
    wait(lambda: pty.unread == 18)
    pty.drain()
    assert pty.unread == 0
    pty.share()
    pty.write(b"somebody reads this\n")
    assert os.read(opened, 100) == b"somebody reads this\n"
    os.write(opened, b"hello\n")
    heard: list[bytes] = []

    def all_heard() -> bool:
        heard.append(pty.read())
        return b"".join(heard) == b"hello\n"

    wait(all_heard)
    assert pty.read() == b""
    os.close(opened)
    pty.pull()
    assert list(tmp_path.iterdir()) == []


def test_only_port_names_are_removed(tmp_path: Path) -> None:
    (tmp_path / "cam").write_text("somebody's notes")
    with pytest.raises(FileExistsError, match="choose another --dir"):
        Pty(tmp_path / "cam")
    assert (tmp_path / "cam").read_text() == "somebody's notes"


def test_another_process_sees_the_same_time_and_never_beyond_the_permitted_one(tmp_path: Path) -> None:
    clock = PacedClock(1000.0, tmp_path / "clock")
    followed = FollowedClock(tmp_path / "clock")
    start_us = clock.now_us()
    assert followed.now_us() == start_us
    clock.allow(start_us + 5000)
    wait(lambda: followed.now_us() == start_us + 5000)
    assert clock.now_us() == start_us + 5000
    clock.allow(start_us)
    assert clock.now_us() == followed.now_us() == start_us + 5000


class Command:
    """A `tablectl simulate` in a separate process."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "controller.cli.main", "simulate", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


def test_the_command_makes_ports_and_a_table_file_and_ends_cleanly(tmp_path: Path) -> None:
    command = Command("craps-v1", "--dir", str(tmp_path), "--seed", "5")
    wait((tmp_path / "console").is_symlink)
    request(tmp_path, fault="restart", device="cam")
    request(tmp_path, fault="nonsense", device="console")
    wait(lambda: "fault_over" in (tmp_path / "truth.jsonl").read_text())
    command.process.send_signal(signal.SIGINT)
    code, out, err = command.ended()
    assert (code, err) == (0, "")
    assert f"tablectl run {tmp_path}/table.yaml --journal {tmp_path}/journal" in out
    assert "The file sets `calls: automatic`" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.yaml", "truth.jsonl"]
    written = (tmp_path / "table.yaml").read_text()
    assert f"port: {tmp_path}/wall-left\n" in written
    answer = [json.loads(line) for line in (tmp_path / "truth.jsonl").read_text().splitlines()]
    assert {story["fault"] for story in answer} == {"restart", "nonsense"}


def test_a_folder_has_one_virtual_table_and_the_files_of_a_killed_one_are_reused(tmp_path: Path) -> None:
    first = Command("craps", "--dir", str(tmp_path))
    wait((tmp_path / "console").is_symlink)
    port = (tmp_path / "console").readlink()
    code, out, err = Command("craps", "--dir", str(tmp_path)).ended()
    assert (code, out) == (2, "")
    assert err == (
        f"tablectl: {tmp_path}: process {first.process.pid} is running a virtual table there;"
        " end it, or choose another --dir\n"
    )
    assert (tmp_path / "console").readlink() == port
    first.process.kill()
    first.ended()
    assert (tmp_path / "console").is_symlink()
    second = Command("craps", "--dir", str(tmp_path))
    assert second.process.stdout is not None
    assert second.process.stdout.readline().startswith("Virtual hardware in")
    assert (tmp_path / "simulate.pid").read_text() == f"{second.process.pid}\n"
    request(tmp_path, fault="restart", device="console")
    wait(lambda: "fault_over" in (tmp_path / "truth.jsonl").read_text())
    assert stat.S_IMODE((tmp_path / "faults").stat().st_mode) == 0o220
    second.process.send_signal(signal.SIGINT)
    assert second.ended()[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["table.yaml", "truth.jsonl"]


def test_a_session_with_a_given_length_ends_by_itself(tmp_path: Path) -> None:
    code, out, err = Command("roulette-ss2", "--dir", str(tmp_path), "--throws", "1", "--speed", "20").ended()
    assert code == 0
    assert "only a program that follows" in err
    assert "#1 " in out
    story = json.loads((tmp_path / "truth.jsonl").read_text())
    assert (story["told"], story["attempt"]) == ("attempt", 1)
    assert story["scene"]["truth"]["verdict"] in ("valid", "void", "review")


def test_a_card_game_is_played_from_a_shoe_that_sends_one_code_per_line(tmp_path: Path) -> None:
    command = ("three-card", "--dir", str(tmp_path), "--throws", "1", "--speed", "20", "--seed", "3")
    code, out, _ = Command(*command).ended()
    assert code == 0
    written = (tmp_path / "table.yaml").read_text()
    assert "type: shoe" in written
    assert "lid_open:" in written
    story = json.loads((tmp_path / "truth.jsonl").read_text().splitlines()[0])
    assert set(story["scene"]["truth"]["cards"]) >= {"dealer"}
    assert story["scene"]["truth"]["told"][-1]["type"] in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "TABLE is missing"),
        (["crapps"], "no 'crapps'"),
        (["craps", "--dir", "/proc/nothing"], "/proc/nothing: "),
    ],
)
def test_arguments_that_cannot_be_played_are_refused_with_a_message(arguments: list[str], says: str) -> None:
    code, out, err = Command(*arguments).ended()
    assert code == 2
    assert says in err
    assert "Traceback" not in err + out


def test_the_faults_are_listed_with_their_symptoms() -> None:
    code, out, _ = Command("--list-faults").ended()
    assert code == 0
    for name, fault in FAULTS.items():
        assert f"\n{name} (" in f"\n{out}"
        assert fault.symptoms in out
