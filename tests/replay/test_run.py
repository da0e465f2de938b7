"""Replaying whole logs and truncated logs."""

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from controller.model.outcomes import Outcome, RollReview
from controller.replay.log import Header, Log, read_header
from controller.replay.run import build_setup, replay
from controller.replay.source import LogError
from controller.settings.rulesets import load_ruleset
from drivers.sim.dice import TABLE, simulate
from drivers.sim.scenes import write_log

RULES = load_ruleset("craps-12-034")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return a recording of three valid throws."""
    path: Path = tmp_path_factory.mktemp("logs") / "evening.jsonl"
    header, feed, _ = simulate(3, {"valid": 1.0}, n=3)
    write_log(path, header, feed)
    return path.read_bytes()


def outcomes_of(data: bytes) -> list[Outcome]:
    log = Log(io.BytesIO(data), "evening.jsonl")
    effects = replay(log, build_setup(log.header, RULES, log.name))
    return [effect for effect in effects if isinstance(effect, Outcome)]


def test_a_replay_gives_the_same_each_time(recording: bytes) -> None:
    assert outcomes_of(recording) == outcomes_of(recording)
    assert [o.type for o in outcomes_of(recording)].count("roll.called") == 3


EVERY_EFFECT = """
import sys
import msgspec
from controller.replay.log import Log
from controller.replay.run import replay, build_setup
from controller.settings.rulesets import load_ruleset

with open(sys.argv[1], "rb") as stream:
    log = Log(stream, "evening.jsonl")
    for effect in replay(log, build_setup(log.header, load_ruleset("craps-12-034"), log.name)):
        sys.stdout.buffer.write(msgspec.json.encode(effect) + b"\\n")
"""


def test_every_effect_is_the_same_in_every_process(recording: bytes, tmp_path: Path) -> None:
    path = tmp_path / "evening.jsonl"
    path.write_bytes(recording)
    done = {
        subprocess.run(
            [sys.executable, "-c", EVERY_EFFECT, str(path)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(done) == 1
    assert b'"sources"' in done.pop()


def test_a_cut_within_a_line_changes_no_earlier_outcome(recording: bytes) -> None:
    whole = outcomes_of(recording)
    start = recording.index(b"\n") + 20
    reviewed = 0
    for at in range(start, len(recording), len(recording) // 61):
        if recording[:at].endswith((b"}", b"\n")):
            continue  # a truncation after a complete line looks like the end of a log
        published = outcomes_of(recording[:at])
        if published and isinstance(published[-1].data, RollReview):
            review = published.pop()
            assert isinstance(review.data, RollReview)
            assert [reason.code for reason in review.data.reasons] == ["power_lost"]
            reviewed += 1
        assert published == whole[: len(published)]
    assert 20 < reviewed < 61


def test_progress_receives_the_number_of_lines_read(recording: bytes) -> None:
    heard: list[int] = []
    log = Log(io.BytesIO(recording), "evening.jsonl")
    for _ in replay(log, build_setup(log.header, RULES, log.name), heard.append):
        pass
    assert heard == sorted(heard)
    assert heard[-1] == recording.count(b"\n")


class TestASetup:
    HEADER = Header(version=1, table="t1", ruleset=RULES.name, dice_table=TABLE)

    def test_starts_open_with_automatic_calls_if_the_header_does_not_say(self) -> None:
        setup = build_setup(self.HEADER, RULES, "a.jsonl")
        assert (setup.session, setup.first.seq, setup.state.table, setup.state.lock) == (
            "replay",
            1,
            "open",
            "unlocked",
        )
        assert setup.state.calls in (None, "automatic")
        assert setup.calls == "automatic"

    def test_lets_the_caller_choose_who_calls(self) -> None:
        assert build_setup(self.HEADER, RULES, "a.jsonl", "confirm").state.calls == "confirm"

    def test_uses_the_tables_file_if_a_live_recording_contains_it(self) -> None:
        assert RULES.throw is not None
        rules = replace(RULES, max_lateness_ms=90.0, throw=replace(RULES.throw, call_hold_ms=400.0))
        sources = {"wall-left": ("wall_impact:left",)}
        header = msgspec.structs.replace(
            self.HEADER, rules=rules, sources=sources, locking_switches=("hatch",)
        )
        read, unknown = read_header(msgspec.json.encode(header))
        assert (read, unknown) == (header, ())
        assert read.rules is not None
        setup = build_setup(read, read.rules, "a.jsonl")
        assert setup.ruleset == rules
        assert dict(setup.sources) == sources
        assert setup.locking_switches == frozenset({"hatch"})

    def test_locks_for_door_and_tamper_if_the_header_does_not_say(self) -> None:
        assert build_setup(self.HEADER, RULES, "a.jsonl").locking_switches == {"door", "tamper"}

    def test_needs_the_geometry_of_its_game(self) -> None:
        with pytest.raises(LogError, match="line 1: found a header with dice_table, expected `wheel` alone"):
            build_setup(self.HEADER, load_ruleset("roulette"), "a.jsonl")
