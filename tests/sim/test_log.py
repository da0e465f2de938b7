"""A simulated session is read back unchanged from its log."""

from pathlib import Path

import pytest

from controller.replay.log import Log
from drivers.sim import dice, wheel
from drivers.sim.scenes import Feed, Header, write_log

EVENINGS = {"dice": dice.simulate(4, n=5)[:2], "wheel": wheel.simulate(4, n=3)[:2]}


@pytest.mark.parametrize("name", ["evening.jsonl", "evening.jsonl.gz"])
@pytest.mark.parametrize("game", EVENINGS)
def test_a_written_log_is_read_back_in_order_of_arrival(tmp_path: Path, name: str, game: str) -> None:
    header, feed = EVENINGS[game]
    write_log(tmp_path / name, header, feed)
    with (tmp_path / name).open("rb") as stream:
        log = Log(stream, name)
        assert log.header.table == header.table
        assert log.header.ruleset == header.ruleset
        assert [log.header.dice_table, log.header.wheel].count(None) == 1
        assert list(log) == [reading for _, reading in feed]
        assert not log.truncated


def test_a_log_may_carry_each_arrival(tmp_path: Path) -> None:
    header, feed = EVENINGS["dice"]
    write_log(tmp_path / "evening.jsonl", header, feed, arrived=True)
    with (tmp_path / "evening.jsonl").open("rb") as stream:
        assert [reading.arrived for reading in Log(stream, "evening")] == [arrived for arrived, _ in feed]


def test_the_same_session_gives_the_same_bytes(tmp_path: Path) -> None:
    def written(header: Header, feed: Feed, name: str) -> bytes:
        write_log(tmp_path / name, header, feed)
        return (tmp_path / name).read_bytes()

    assert written(*EVENINGS["dice"], "a.jsonl.gz") == written(*EVENINGS["dice"], "b.jsonl.gz")
