"""Tests of a node's readings over a line that loses, repeats and delays them, and of babbling."""

import pytest

from drivers.health import BACKDATE_US, LOSS_CLEARS_US, Fault
from drivers.node.sentences import GIVE_UP_US, Hello, NodeReading, crc_of
from drivers.node.table_end import Phase
from tests.drivers.node.node_world import (
    HELLO,
    SEALED,
    SECOND_US,
    WRAP_SOON,
    Line,
    World,
    damaging,
    delaying,
    doubling,
    dropping,
    one_byte_at_a_time,
    plain,
)


class TestReadings:
    @SEALED
    def test_a_reading_carries_the_tables_time_at_which_it_was_seen(self, key: bytes | None) -> None:
        world = World(key=key, drift=80e-6, clock_at_start=WRAP_SOON).up()
        world.after(20 * SECOND_US)
        seen_us = world.now_us - 60_000
        world.knock(seen_us=seen_us)
        world.after(1000)
        (seen,) = world.seen
        assert (seen.kind, seen.channel) == ("wall_impact", 1)
        assert seen.fields == {"wall": "left", "pos_mm": "511.0", "peak": "421"}
        assert abs(seen.t_us - seen_us) < 200

    def test_an_hour_with_drift_wrap_restart_and_jitter_stays_within_a_millisecond(self) -> None:
        world = World(
            drift=-100e-6, clock_at_start=WRAP_SOON, to_table=delaying(5000), to_node=delaying(3000)
        )
        errors: list[int] = []
        for part in range(3):
            world.up()
            for _ in range(120):
                world.after(10 * SECOND_US)
                at = world.now_us
                world.knock()
                world.after(30_000)
                errors += [abs(seen.t_us - at) for seen in world.seen]
                world.reported.clear()
            world.restart_node(boot=part + 1, clock_at_start=WRAP_SOON * (part + 1) // 2)
            world.after(20_000)
        assert len(errors) == 360
        assert world.now_us > 3_600 * SECOND_US
        assert sorted(errors)[356] < 1000

    def test_a_reading_is_never_dated_after_its_arrival(self) -> None:
        world = World(to_table=delaying(4000), to_node=delaying(4000)).up()
        for _ in range(200):
            world.knock()
            world.after(20_000)
        assert all(seen.t_us <= at for at, m in world.reported if isinstance(m, NodeReading) for seen in [m])

    @pytest.mark.parametrize("off_us", [-3 * SECOND_US, 500_000])
    def test_a_reading_with_an_impossible_time_is_missed(self, off_us: int) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        world.knock(seen_us=world.now_us + off_us)
        world.after(10_000)
        assert world.seen == []
        assert world.health()[-1][1] == "bad_clock"

    def test_a_channel_that_is_not_a_number_is_a_bad_reading(self) -> None:
        world = World().up()
        world.node.reading(world.node_clock(), "wall_impact", {"ch": "x"})
        world.after(10_000)
        assert (world.seen, world.health()[-1][1]) == ([], "bad_reading")


class TestLoss:
    def lose_one(self, world: World) -> None:
        world.node_alive = True
        world.knock(1)
        world.node.take_output()
        world.knock(2)

    def test_a_lost_sentence_is_requested_again_without_a_fault(self) -> None:
        world = World().up()
        self.lose_one(world)
        world.after(100_000)
        assert [seen.fields["pos_mm"] for seen in world.seen] == ["2", "1"]
        assert world.health()[-1][1] == "well"
        counters = world.table.counters
        assert (counters.gaps, counters.recovered, counters.lost) == (1, 1, 0)

    def test_the_last_sentence_before_silence_is_missed_within_30_ms(self) -> None:
        world = World().up()
        world.knock()
        world.node.take_output()
        world.after(30_000)
        assert len(world.seen) == 1

    def test_a_sentence_that_cannot_be_repeated_is_reported_as_lost_from_when_it_may_be_missing(self) -> None:
        world = World(hello=Hello("w1", "1.0", "", {}, (), 0)).up()
        world.after(50_000)
        world.knock(0)
        world.after(5000)
        before = world.now_us
        self.lose_one(world)
        world.after(5000)
        trouble = world.reported[-2][1]
        assert isinstance(trouble, Fault)
        assert (trouble.code, trouble.seen, trouble.down) == ("sentences_lost", "sentences lost: 1", True)
        assert before - 5000 <= trouble.since_us <= before
        world.after(LOSS_CLEARS_US)
        assert world.health()[-1][1] == "well"
        assert world.table.counters.lost == 1

    def test_a_loss_is_dated_no_further_back_than_the_engine_accepts(self) -> None:
        world = World(hello=Hello("w1", "1.0", "", {}, (), 0)).up()
        world.after(300_000)
        self.lose_one(world)
        world.after(5000)
        lost = [(at, m) for at, m in world.reported if isinstance(m, Fault) and m.code == "sentences_lost"]
        assert [(at - m.since_us) for at, m in lost] == [BACKDATE_US]

    def test_a_sentence_that_is_not_repeated_is_reported_lost_in_time(self) -> None:
        world = World(to_node=plain).up()
        world.to_node = dropping(1.0)
        self.lose_one(world)
        noticed = world.now_us
        world.after(GIVE_UP_US + 5000)
        at, code = world.health()[-1]
        assert code == "sentences_lost"
        assert at - noticed <= GIVE_UP_US + 1000

    def test_a_long_gap_is_counted_completely(self) -> None:
        world = World().up()
        for _ in range(200):
            world.knock()
            world.node.take_output()
        world.knock()
        world.after(100_000)
        counters = world.table.counters
        assert counters.lost + counters.recovered == 200
        assert counters.recovered == HELLO.resend - 1
        assert world.health()[-1][1] == "sentences_lost"

    def test_a_sentence_that_arrives_after_it_was_reported_lost_does_not_count(self) -> None:
        world = World(hello=Hello("w1", "1.0", "", {}, (), 0)).up()
        world.knock(1)
        late = world.node.take_output()
        world.knock(2)
        world.after(10_000)
        world.inject(late)
        assert [seen.fields["pos_mm"] for seen in world.seen] == ["2"]
        assert world.table.counters.reordered == 1

    def test_a_sentence_that_comes_twice_counts_once(self) -> None:
        world = World().up()
        world.knock()
        twice = world.node.take_output()
        world.inject(twice + twice)
        assert len(world.seen) == 1
        assert world.table.counters.repeated == 1

    def test_bytes_dropped_before_they_arrived_are_a_loss(self) -> None:
        world = World().up()
        world._tell(world.table.on_overflow(world.now_us, 4096))
        assert world.health()[-1][1] == "sentences_lost"
        world.after(LOSS_CLEARS_US + 1000)
        assert world.health()[-1][1] == "well"

    @SEALED
    @pytest.mark.parametrize(
        "line",
        [one_byte_at_a_time, dropping(0.2), doubling(0.3), delaying(20_000), damaging(0.2)],
        ids=["one-byte", "dropping", "doubling", "delaying", "damaging"],
    )
    def test_a_bad_line_loses_nothing_unreported(self, line: Line, key: bytes | None) -> None:
        world = World(to_node=line, to_table=line, key=key, seed=5).up()
        for number in range(150):
            world.knock(number)
            world.after(11_000)
        world.to_table = world.to_node = plain
        world.after(SECOND_US)
        numbers = [float(seen.fields["pos_mm"]) for seen in world.seen]
        assert len(numbers) == len(set(numbers))
        missing = 150 - len(numbers)
        assert world.table.counters.lost >= missing
        told = [code for _, code in world.health()]
        assert ("sentences_lost" in told) == (world.table.counters.lost > 0)
        assert world.table.phase is Phase.UP


class TestTooMuch:
    def test_a_node_that_sends_too_much_is_a_fault_and_costs_no_more_than_its_budget(self) -> None:
        world = World(max_per_s=200).up()
        for number in range(400):
            world.knock(number)
            world.after(1000)
        assert "babbling" in [code for _, code in world.health()]
        assert world.table.counters.babble > 100
        assert len(world.seen) < 220
        world.after(2 * SECOND_US)
        assert world.health()[-1][1] == "well"

    def test_a_line_with_a_right_checksum_and_a_wrong_form_is_counted(self) -> None:
        world = World().up()
        body = b"$w1 3F2A 5 5 Beat"
        world.inject(body + b"*" + crc_of(body) + b"\n")
        assert (world.table.counters.bad_form, world.seen) == (1, [])

    def test_a_node_that_sends_too_much_is_reported_again_but_not_for_every_line(self) -> None:
        world = World(max_per_s=200).up()
        for number in range(1000):
            world.knock(number)
            world.after(1000)
        told = [at for at, code in world.health() if code == "babbling"]
        assert 2 <= len(told) <= 20

    def test_a_noisy_line_is_a_fault_and_the_node_stays_up(self) -> None:
        world = World().up()
        for _ in range(25):
            world.inject(b"\xff\x00 spikes\n")
            world.after(100_000)
        trouble = world.reported[-1][1]
        assert isinstance(trouble, Fault)
        assert (trouble.code, trouble.down) == ("noisy_line", False)
        world.after(11 * SECOND_US)
        assert world.health()[-1][1] == "well"

    def test_a_slow_adapter_is_a_fault_until_it_is_fast_again(self) -> None:
        world = World(to_table=lambda _, data: [(16_000, data)])
        world.until(2 * SECOND_US)
        assert world.health()[-1][1] == "slow_link"
        world.to_table = plain
        world.after(3 * SECOND_US)
        assert world.health()[-1][1] == "well"
