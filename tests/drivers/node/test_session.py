"""Tests of connections between a table and its node: greeting, loss and recovery."""

import pytest

from drivers.health import REOPEN_US, Fault, Recovered
from drivers.node.node_end import NodeEnd
from drivers.node.sentences import HELLO_WITHIN_US, SILENT_US, Hello, Sentence, Speaker, encode, finish
from drivers.node.table_end import Phase, TableEnd
from tests.drivers.node.node_world import (
    HELLO,
    KEY,
    SEALED,
    SECOND_US,
    World,
    dropping,
    plain,
    sentence_of,
)


class TestMeeting:
    @SEALED
    def test_a_node_is_up_when_it_has_said_hello_and_its_clock_is_known(self, key: bytes | None) -> None:
        world = World(key=key).up()
        assert world.table.hello == Hello(
            "w1", "1.0", "0" * 16, {1: ("wall_impact",)}, ("lamp", "selftest"), 16
        )
        assert world.health() == [(0, "starting"), (world.reported[-1][0], "well")]
        assert world.now_us < 300_000

    def test_a_node_is_down_until_then_and_its_readings_do_not_count(self) -> None:
        world = World()
        while world.table.phase is not Phase.SYNCING:
            world.after(100)
        world.knock()
        world.after(5000)
        assert (world.seen, world.table.counters.refused) == ([], 1)

    def test_a_board_that_needs_seconds_to_start_is_greeted_when_it_sends(self) -> None:
        world = World(node_alive=False)
        world.until(5 * SECOND_US)
        assert [code for _, code in world.health()] == ["starting", "no_hello"]
        world.node_alive = True
        world.restart_node(boot=1)
        world.up()
        assert world.health()[-1][1] == "well"
        assert world.now_us < 5_500_000

    def test_a_node_that_never_says_hello_is_reported_within_two_seconds(self) -> None:
        world = World(node_alive=False)
        world.until(2 * SECOND_US)
        assert world.health()[-1] == (HELLO_WITHIN_US, "no_hello")

    def test_the_port_of_a_missing_node_is_reopened_periodically(self) -> None:
        world = World(node_alive=False)
        world.until(REOPEN_US - 1)
        assert not world.table.reopening.take()
        world.until(REOPEN_US + 1)
        assert world.table.reopening.take()

    def test_another_node_on_the_port_is_named(self) -> None:
        world = World(hello=Hello("w2", "1.0", "", {}, (), 0))
        world.after(SECOND_US)
        troubles = [message for _, message in world.reported if isinstance(message, Fault)]
        assert [(t.code, t.seen, t.down) for t in troubles[1:]] == [
            ("wrong_device", "found node w2, expected node w1", True)
        ]
        world.after(10 * SECOND_US)
        assert world.table.phase is Phase.GREETING

    def test_the_right_node_in_place_of_a_wrong_one_is_accepted(self) -> None:
        world = World(hello=Hello("w2", "1.0", "", {}, (), 0))
        world.after(SECOND_US)
        world.hello = HELLO
        world.restart_node(boot=7)
        world.up()
        assert world.health()[-1][1] == "well"

    def test_a_node_of_another_version_is_refused_by_name(self) -> None:
        world = World(node_alive=False)
        nonce = world.table._nonce
        world.inject(sentence_of(world, "hello", 0, version="2", nonce=nonce))
        assert world.reported[-1][1] == Fault(
            "wrong_version", "node w1 uses version 2 of the link, expected 1", True, 0
        )

    @pytest.mark.parametrize(
        "fields", [{"reads": "wall impact"}, {"does": "Lamp"}, {"resend": "many"}, {"reads": "1:"}]
    )
    def test_an_invalid_hello_is_refused(self, fields: dict[str, str]) -> None:
        world = World(node_alive=False)
        nonce = world.table._nonce
        world.inject(sentence_of(world, "hello", 0, version="1", nonce=nonce, **fields))
        assert world.table.phase is Phase.GREETING
        assert world.health()[-1][1] == "wrong_version"

    def test_sentences_left_over_from_the_last_session_are_counted_and_not_used(self) -> None:
        world = World().up()
        old = sentence_of(world, "wall_impact", 99, wall="left", pos_mm="1", peak="1")
        world._tell(world.table.on_close(world.now_us, "unplugged", "pulled"))
        world._tell(world.table.on_open(world.now_us))
        stale = world.table.counters.stale
        world.inject(old)
        world.up()
        world.inject(old)
        assert (world.seen, world.table.counters.stale) == ([], stale + 2)


class TestLosingEachOther:
    def test_a_node_that_falls_silent_is_reported_and_its_port_reopened(self) -> None:
        world = World().up()
        last = world.now_us
        world.node_alive = False
        world.after(2 * SECOND_US)
        at = next(at for at, code in world.health() if code == "silent")
        assert SILENT_US - 500_000 <= at - last <= 2 * SECOND_US
        assert world.table.reopening.take()

    def test_a_silent_node_that_sends_again_recovers(self) -> None:
        world = World().up()
        world.node_alive = False
        world.after(3 * SECOND_US)
        world.node_alive = True
        world.up()
        assert world.health()[-1][1] == "well"
        world.knock()
        world.after(5000)
        assert len(world.seen) == 1

    @SEALED
    def test_a_restarted_node_is_noticed_at_once(self, key: bytes | None) -> None:
        world = World(key=key).up()
        world.after(SECOND_US)
        restarted = world.now_us
        world.restart_node(boot=9)
        world.after(1000)
        world.up()
        told = world.health(restarted)
        assert [code for _, code in told] == ["restarted", "well"]
        assert told[0][0] - restarted < 1000
        assert told[1][0] - restarted < 500_000

    def test_a_node_that_sends_but_receives_nothing_is_reported_and_its_port_reopened(self) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        cut = world.now_us
        world.to_node = dropping(1.0)
        for _ in range(250):
            world.knock()
            world.after(10_000)
        at = next(at for at, code in world.health() if code == "deaf")
        assert at - cut <= 2 * SECOND_US
        assert world.table.reopening.take()
        world.to_node = plain
        world.up()
        assert world.health()[-1][1] == "well"

    @pytest.mark.parametrize("hangs_after_us", range(0, 1_100_000, 50_000))
    def test_a_node_that_sends_nothing_is_silent_whenever_it_was_last_queried(
        self, hangs_after_us: int
    ) -> None:
        world = World().up()
        world.after(5 * SECOND_US + hangs_after_us)
        hung = world.now_us
        world.node_alive = False
        world.after(2 * SECOND_US)
        told = world.health(hung)
        assert [code for _, code in told] == ["silent"]
        assert told[0][0] - hung <= SILENT_US

    def test_a_node_that_hangs_while_an_answer_is_due_is_silent(self) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        while world.table._queries.unanswered_us is None:
            world.after(100)
        world.knock()
        world.after(400)
        asked = world.table._queries.unanswered_us
        assert asked is not None
        assert world.table._received_us > asked
        hung = world.now_us
        world.node_alive = False
        world.after(2 * SECOND_US)
        assert [code for _, code in world.health(hung)] == ["silent"]

    def test_a_node_that_sends_after_a_pause_but_receives_nothing_is_deaf_at_its_next_sentence(
        self,
    ) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        world.to_node = dropping(1.0)
        while world.table._queries.unanswered_us is None:
            world.after(1000)
        world.to_table = dropping(1.0)
        world.after(1_200_000)
        assert world.health()[-1][1] == "well"
        world.to_table = plain
        world.knock()
        word = world.now_us
        world.after(1000)
        told = world.health(word)
        assert [code for _, code in told] == ["deaf"]

    def test_a_line_that_loses_a_fifth_of_all_queries_is_not_deaf(self) -> None:
        world = World(seed=2, to_node=dropping(0.2), to_table=dropping(0.2)).up()
        world.after(120 * SECOND_US)
        assert "deaf" not in [code for _, code in world.health()]

    def test_a_node_whose_numbers_restart_without_a_hello_has_restarted(self) -> None:
        world = World().up()
        world.inject(sentence_of(world, "beat", 4_000_000_000))
        world.after(100_000)
        world.knock()
        world.after(5000)
        assert world.seen == []
        assert [code for _, code in world.health()][-2:] == ["sentences_lost", "restarted"]
        world.up()
        world.knock()
        world.after(5000)
        assert len(world.seen) == 1

    def test_a_node_that_only_repeats_itself_is_silent(self) -> None:
        world = World(key=KEY).up()
        world.knock()
        said = world.node.take_output()
        world.node_alive = False
        for _ in range(20):
            world.inject(said)
            world.after(100_000)
        assert world.health()[-1][1] == "silent"

    def test_a_sentence_that_names_another_node_is_counted(self) -> None:
        world = World().up()
        body = encode(Sentence(Speaker.NODE, "w2", world.table._wire.session, 99, 0, "beat"))
        world.inject(finish(body))
        assert world.table.counters.strangers == 1

    def test_a_repeated_hello_is_not_a_loss(self) -> None:
        world = World(to_table=lambda _, data: [(260_000 if b" 0 " in data else 300, data)])
        world.up()
        world.after(SECOND_US)
        assert world.table.counters.lost == 0
        assert [code for _, code in world.health()] == ["starting", "well"]

    def test_invalid_nonces_raise_an_error(self) -> None:
        table = TableEnd("w1", lambda: "0000000000000000")
        with pytest.raises(ValueError, match="expected 16 digits 0-9 A-F that do not begin with 0000"):
            table.on_open(0)
        with pytest.raises(ValueError, match="salt 'salt'"):
            NodeEnd(HELLO, "salt")

    def test_a_node_whose_clock_was_set_is_greeted_again(self) -> None:
        world = World().up()
        world.after(30 * SECOND_US)
        world.clock_at_start += 40_000
        world.after(6 * SECOND_US)
        assert [code for _, code in world.health()][-2:] == ["clock_step", "well"]

    def test_a_node_whose_answers_are_all_lost_is_not_up(self) -> None:
        world = World(node_alive=False)
        world.inject(sentence_of(world, "hello", 0, version="1", nonce=world.table._nonce))
        for beat in range(1, 12):
            world.after(150_000)
            world.inject(sentence_of(world, "beat", beat))
        assert world.health()[-1][1] == "no_sync"

    def test_a_lost_port_takes_the_node_down(self) -> None:
        world = World().up()
        world._tell(world.table.on_close(world.now_us, "unplugged", "pulled"))
        assert world.reported[-1][1] == Fault("unplugged", "pulled", True, world.now_us)
        assert world.table.receive(world.now_us, b"$w1") == []
        assert world.table.next_deadline() is None


def test_health_reports_the_end_of_each_fault_and_of_the_last_one() -> None:
    world = World().up()
    assert isinstance(world.reported[-1][1], Recovered)
    assert world.reported[-1][1].seen.startswith("node w1, firmware 1.0, clock within 0.")
