"""How a table and its node meet, keep in touch, lose each other and find each other again."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.protocol.node_messages import Answered, Hello, Seen, Trouble, Well
from drivers.protocol.node_peer import NodeEnd
from drivers.protocol.node_sentences import Sentence, Speaker, crc_of, encode, finish
from drivers.protocol.node_table import Phase, TableEnd
from drivers.protocol.node_times import (
    BACKDATE_US,
    CLEAN_US,
    GIVE_UP_US,
    HELLO_WITHIN_US,
    REOPEN_US,
    SILENT_US,
)
from tests.drivers.protocol.node_world import (
    HELLO,
    KEY,
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

SECOND_US = 1_000_000
SEALED = pytest.mark.parametrize("key", [None, KEY], ids=["plain", "sealed"])


def sentence_of(world: World, verb: str, seq: int, **fields: str) -> bytes:
    """What a board without the key would say in the present session."""
    session = world.table._wire.session
    clock = world.node_clock() % (1 << 32)
    return finish(encode(Sentence(Speaker.NODE, "w1", session, seq, clock, verb, fields)))


class TestMeeting:
    @SEALED
    def test_a_node_is_up_when_it_has_said_hello_and_its_clock_is_known(self, key: bytes | None) -> None:
        world = World(key=key).up()
        assert world.table.hello == Hello(
            "w1", "1.0", "0" * 16, {1: ("wall_impact",)}, ("lamp", "selftest"), 16
        )
        assert world.health() == [(0, "starting"), (world.told[-1][0], "well")]
        assert world.now_us < 300_000

    def test_a_node_is_down_until_then_and_what_it_says_is_no_reading(self) -> None:
        world = World()
        while world.table.phase is not Phase.SYNCING:
            world.after(100)
        world.knock()
        world.after(5000)
        assert (world.seen, world.table.counters.refused) == ([], 1)

    def test_a_board_that_needs_seconds_to_start_is_greeted_when_it_speaks(self) -> None:
        world = World(node_alive=False)
        world.until(5 * SECOND_US)
        assert [code for _, code in world.health()] == ["starting", "no_hello"]
        world.node_alive = True
        world.restart_node(boot=1)
        world.up()
        assert world.health()[-1][1] == "well"
        assert world.now_us < 5_500_000

    def test_a_node_that_never_says_hello_is_told_within_two_seconds(self) -> None:
        world = World(node_alive=False)
        world.until(2 * SECOND_US)
        assert world.health()[-1] == (HELLO_WITHIN_US, "no_hello")

    def test_the_port_of_a_node_that_stays_away_is_opened_anew_at_times(self) -> None:
        world = World(node_alive=False)
        world.until(REOPEN_US - 1)
        assert not world.table.reopen
        world.until(REOPEN_US + 1)
        assert world.table.reopen

    def test_another_node_on_the_port_is_named(self) -> None:
        world = World(hello=Hello("w2", "1.0", "", {}, (), 0))
        world.after(SECOND_US)
        troubles = [message for _, message in world.told if isinstance(message, Trouble)]
        assert [(t.code, t.seen, t.down) for t in troubles[1:]] == [
            ("wrong_device", "node w2 answers, node w1 is expected", True)
        ]
        world.after(10 * SECOND_US)
        assert world.table.phase is Phase.GREETING

    def test_the_right_node_put_in_its_place_is_well(self) -> None:
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
        assert world.told[-1][1] == Trouble(
            "wrong_version", "node w1 speaks version 2, the table version 1", True, 0
        )

    @pytest.mark.parametrize(
        "fields", [{"reads": "wall impact"}, {"does": "Lamp"}, {"resend": "many"}, {"reads": "1:"}]
    )
    def test_a_hello_that_makes_no_sense_is_refused(self, fields: dict[str, str]) -> None:
        world = World(node_alive=False)
        nonce = world.table._nonce
        world.inject(sentence_of(world, "hello", 0, version="1", nonce=nonce, **fields))
        assert world.table.phase is Phase.GREETING
        assert world.health()[-1][1] == "wrong_version"

    def test_what_is_left_over_from_the_session_before_is_counted_not_read(self) -> None:
        world = World().up()
        old = sentence_of(world, "wall_impact", 99, wall="left", pos_mm="1", peak="1")
        world._tell(world.table.closed(world.now_us, "pulled"))
        world._tell(world.table.opened(world.now_us))
        stale = world.table.counters.stale
        world.inject(old)
        world.up()
        world.inject(old)
        assert (world.seen, world.table.counters.stale) == ([], stale + 2)


class TestReadings:
    @SEALED
    def test_a_reading_comes_with_the_tables_time_of_when_it_was_seen(self, key: bytes | None) -> None:
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
                world.told.clear()
            world.restart_node(boot=part + 1, clock_at_start=WRAP_SOON * (part + 1) // 2)
            world.after(20_000)
        assert len(errors) == 360
        assert world.now_us > 3_600 * SECOND_US
        assert sorted(errors)[356] < 1000

    def test_a_reading_never_lies_after_its_arrival(self) -> None:
        world = World(to_table=delaying(4000), to_node=delaying(4000)).up()
        for _ in range(200):
            world.knock()
            world.after(20_000)
        assert all(seen.t_us <= at for at, m in world.told if isinstance(m, Seen) for seen in [m])

    @pytest.mark.parametrize("off_us", [-3 * SECOND_US, 500_000])
    def test_a_reading_whose_time_can_not_be_is_missing(self, off_us: int) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        world.knock(seen_us=world.now_us + off_us)
        world.after(10_000)
        assert world.seen == []
        assert world.health()[-1][1] == "bad_clock"

    def test_a_channel_that_is_no_number_is_a_bad_reading(self) -> None:
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

    def test_a_lost_sentence_is_asked_for_again_and_nobody_is_troubled(self) -> None:
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

    def test_a_sentence_that_can_not_come_again_is_told_as_lost_from_when_it_may_be_missing(self) -> None:
        world = World(hello=Hello("w1", "1.0", "", {}, (), 0)).up()
        world.after(50_000)
        world.knock(0)
        world.after(5000)
        before = world.now_us
        self.lose_one(world)
        world.after(5000)
        trouble = world.told[-2][1]
        assert isinstance(trouble, Trouble)
        assert (trouble.code, trouble.seen, trouble.down) == ("sentences_lost", "1 sentences lost", True)
        assert before - 5000 <= trouble.since_us <= before
        world.after(CLEAN_US)
        assert world.health()[-1][1] == "well"
        assert world.table.counters.lost == 1

    def test_a_loss_is_told_no_farther_back_than_the_engine_listens(self) -> None:
        world = World(hello=Hello("w1", "1.0", "", {}, (), 0)).up()
        world.after(300_000)
        self.lose_one(world)
        world.after(5000)
        lost = [(at, m) for at, m in world.told if isinstance(m, Trouble) and m.code == "sentences_lost"]
        assert [(at - m.since_us) for at, m in lost] == [BACKDATE_US]

    def test_a_sentence_that_is_not_said_again_is_given_up_in_time(self) -> None:
        world = World(to_node=plain).up()
        world.to_node = dropping(1.0)
        self.lose_one(world)
        noticed = world.now_us
        world.after(GIVE_UP_US + 5000)
        at, code = world.health()[-1]
        assert code == "sentences_lost"
        assert at - noticed <= GIVE_UP_US + 1000

    def test_a_long_gap_is_counted_whole(self) -> None:
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

    def test_a_sentence_after_it_was_given_up_is_reordered_and_does_not_count(self) -> None:
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

    def test_bytes_thrown_away_before_they_came_are_a_loss(self) -> None:
        world = World().up()
        world._tell(world.table.overflowed(world.now_us, 4096))
        assert world.health()[-1][1] == "sentences_lost"
        world.after(CLEAN_US + 1000)
        assert world.health()[-1][1] == "well"

    @SEALED
    @pytest.mark.parametrize(
        "line",
        [one_byte_at_a_time, dropping(0.2), doubling(0.3), delaying(20_000), damaging(0.2)],
        ids=["one-byte", "dropping", "doubling", "delaying", "damaging"],
    )
    def test_a_bad_line_loses_nothing_without_telling(self, line: Line, key: bytes | None) -> None:
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


class TestLosingEachOther:
    def test_a_node_that_falls_silent_is_told_and_its_port_opened_anew(self) -> None:
        world = World().up()
        last = world.now_us
        world.node_alive = False
        world.after(2 * SECOND_US)
        at = next(at for at, code in world.health() if code == "silent")
        assert SILENT_US - 500_000 <= at - last <= 2 * SECOND_US
        assert world.table.reopen

    def test_a_silent_node_that_speaks_again_is_well_again(self) -> None:
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
    def test_a_node_that_starts_anew_is_noticed_at_once(self, key: bytes | None) -> None:
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

    def test_a_node_that_speaks_but_hears_nothing_is_told_and_its_port_opened_anew(self) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        cut = world.now_us
        world.to_node = dropping(1.0)
        for _ in range(250):
            world.knock()
            world.after(10_000)
        at = next(at for at, code in world.health() if code == "deaf")
        assert at - cut <= 2 * SECOND_US
        assert world.table.reopen
        world.to_node = plain
        world.up()
        assert world.health()[-1][1] == "well"

    @pytest.mark.parametrize("hangs_after_us", range(0, 1_100_000, 50_000))
    def test_a_node_that_says_nothing_at_all_is_silent_whenever_it_was_asked_last(
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

    def test_a_node_that_hangs_while_its_answer_was_still_due_is_silent(self) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        while world.table._questions.unanswered_us is None:
            world.after(100)
        world.knock()
        world.after(400)
        asked = world.table._questions.unanswered_us
        assert asked is not None
        assert world.table._heard_us > asked
        hung = world.now_us
        world.node_alive = False
        world.after(2 * SECOND_US)
        assert [code for _, code in world.health(hung)] == ["silent"]

    def test_a_node_that_speaks_again_after_a_pause_but_hears_nothing_is_deaf_at_its_next_word(self) -> None:
        world = World().up()
        world.after(5 * SECOND_US)
        world.to_node = dropping(1.0)
        while world.table._questions.unanswered_us is None:
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

    def test_a_line_that_loses_a_fifth_of_all_questions_is_not_deaf(self) -> None:
        world = World(seed=2, to_node=dropping(0.2), to_table=dropping(0.2)).up()
        world.after(120 * SECOND_US)
        assert "deaf" not in [code for _, code in world.health()]

    def test_a_node_that_counts_anew_without_a_word_has_started_anew(self) -> None:
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

    def test_a_hello_said_twice_is_no_loss(self) -> None:
        world = World(to_table=lambda _, data: [(260_000 if b" 0 " in data else 300, data)])
        world.up()
        world.after(SECOND_US)
        assert world.table.counters.lost == 0
        assert [code for _, code in world.health()] == ["starting", "well"]

    def test_nonces_that_are_none_are_an_error_of_ours(self) -> None:
        table = TableEnd("w1", lambda: "0000000000000000")
        with pytest.raises(ValueError, match="expected 16 digits 0-9 A-F that do not begin 0000"):
            table.opened(0)
        with pytest.raises(ValueError, match="salt 'salt'"):
            NodeEnd(HELLO, "salt")

    def test_a_node_whose_clock_was_set_is_greeted_anew(self) -> None:
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

    def test_a_port_that_goes_takes_the_node_with_it(self) -> None:
        world = World().up()
        world._tell(world.table.closed(world.now_us, "pulled"))
        assert world.told[-1][1] == Trouble("link", "pulled", True, world.now_us)
        assert world.table.receive(world.now_us, b"$w1") == []
        assert world.table.next_deadline() is None


class TestTooMuch:
    def test_a_babbling_node_is_a_fault_and_costs_no_more_than_its_budget(self) -> None:
        world = World(max_per_s=200).up()
        for number in range(400):
            world.knock(number)
            world.after(1000)
        assert "babbling" in [code for _, code in world.health()]
        assert world.table.counters.babble > 100
        assert len(world.seen) < 220
        world.after(2 * SECOND_US)
        assert world.health()[-1][1] == "well"

    def test_a_line_with_a_right_check_sum_and_a_wrong_form_is_counted(self) -> None:
        world = World().up()
        body = b"$w1 3F2A 5 5 Beat"
        world.inject(body + b"*" + crc_of(body) + b"\n")
        assert (world.table.counters.bad_form, world.seen) == (1, [])

    def test_a_babbling_node_is_told_again_but_not_for_every_line(self) -> None:
        world = World(max_per_s=200).up()
        for number in range(1000):
            world.knock(number)
            world.after(1000)
        told = [at for at, code in world.health() if code == "babbling"]
        assert 2 <= len(told) <= 20

    def test_a_noisy_line_is_a_fault_and_not_the_nodes_end(self) -> None:
        world = World().up()
        for _ in range(25):
            world.inject(b"\xff\x00 spikes\n")
            world.after(100_000)
        trouble = world.told[-1][1]
        assert isinstance(trouble, Trouble)
        assert (trouble.code, trouble.down) == ("noisy_line", False)
        world.after(11 * SECOND_US)
        assert world.health()[-1][1] == "well"

    def test_a_slow_adapter_is_a_fault_until_it_is_quick(self) -> None:
        world = World(to_table=lambda _, data: [(16_000, data)])
        world.until(2 * SECOND_US)
        assert world.health()[-1][1] == "slow_link"
        world.to_table = plain
        world.after(3 * SECOND_US)
        assert world.health()[-1][1] == "well"


class TestSeals:
    def test_a_board_without_the_key_is_not_the_node(self) -> None:
        world = World(key=KEY, node_key=b"another key than that")
        world.until(2 * SECOND_US)
        assert world.table.phase is Phase.GREETING
        assert "wrong_key" not in [code for _, code in world.health()]
        world.inject(sentence_of(world, "hello", 0, version="1", nonce=world.table._nonce))
        assert world.health()[-1][1] == "wrong_key"

    def test_a_sentence_without_its_seal_is_not_used(self) -> None:
        world = World(key=KEY).up()
        world.inject(sentence_of(world, "wall_impact", 500, wall="left", pos_mm="1", peak="1"))
        trouble = world.told[-1][1]
        assert isinstance(trouble, Trouble)
        assert (world.seen, trouble.code, trouble.down) == ([], "forged", False)
        world.knock()
        world.after(5000)
        assert len(world.seen) == 1

    def test_what_was_said_before_counts_only_once(self) -> None:
        world = World(key=KEY).up()
        world.knock()
        world.after(5000)
        for said in list(world.on_wire):
            world.inject(said)
        assert len(world.seen) == 1

    def test_what_was_said_in_another_session_does_not_count(self) -> None:
        world = World(key=KEY).up()
        world.knock()
        world.after(5000)
        recorded = list(world.on_wire)
        world._tell(world.table.closed(world.now_us, "pulled"))
        world._tell(world.table.opened(world.now_us))
        world.up()
        session = world.table._wire.session.encode()
        for said in recorded:
            for line in said.splitlines(keepends=True):
                body = line.rsplit(b"*", 1)[0].split(b" ")
                body[1] = session
                again, seal = b" ".join(body).rsplit(b" ~", 1)
                world.inject(finish(again, seal))
        assert len(world.seen) == 1
        assert world.table.counters.forged >= 2

    def test_a_command_said_again_by_somebody_is_not_done_again(self) -> None:
        world = World(key=KEY).up()
        world.table.command(world.now_us, "lamp", {"name": "puck"})
        said = world.table.take_output()
        world.node.receive(world.node_clock(), said)
        assert world.node.receive(world.node_clock(), said) == []


class TestCommands:
    def test_a_command_is_done_once_and_answered(self) -> None:
        world = World().up()
        number = world.table.command(world.now_us, "lamp", {"name": "puck", "shows": "on"})
        world.after(10_000)
        (command,) = world.commands
        assert (command.verb, command.fields) == ("lamp", {"name": "puck", "shows": "on"})
        assert world.answers == [Answered(number, ok=True, says="done")]

    def test_a_command_is_done_once_even_where_answers_are_lost(self) -> None:
        world = World(seed=3).up()
        world.to_table = dropping(0.5)
        for _ in range(8):
            world.table.command(world.now_us, "lamp", {"name": "puck"})
        world.after(SECOND_US)
        assert len(world.commands) == 8
        assert len(world.answers) == 8

    def test_a_command_that_is_never_answered_ends_as_a_fault(self) -> None:
        world = World().up()
        world.to_node = dropping(1.0)
        number = world.table.command(world.now_us, "lamp", {"name": "puck"})
        world.after(700_000)
        assert world.answers == [Answered(number, ok=False, says="lamp: no answer after 4 tries")]
        assert world.health()[-1][1] == "unanswered"

    def test_a_command_is_not_taken_from_another_table_or_session(self) -> None:
        world = World().up()
        here = Sentence(Speaker.TABLE, "w1", world.table._wire.session, 900, 0, "lamp", {"id": "7"})
        for wrong in (here._replace(node="w2"), here._replace(session="0001"), here._replace(fields={})):
            assert world.node.receive(world.node_clock(), finish(encode(wrong))) == []
        assert world.node._wire.counters.strangers == world.node._wire.counters.stale == 1

    def test_a_command_for_a_node_that_comes_up_in_time_is_sent_then(self) -> None:
        world = World()
        world.table.command(0, "lamp", {"name": "puck"})
        world.up().after(10_000)
        assert [answer.ok for answer in world.answers] == [True]

    def test_a_command_for_a_node_that_does_not_come_up_ends(self) -> None:
        world = World(node_alive=False)
        world.table.command(0, "lamp", {"name": "puck"})
        world.until(3 * SECOND_US)
        assert world.answers == [Answered(1, ok=False, says="lamp: the node is not up")]

    def test_more_commands_than_can_wait_are_an_error_of_ours(self) -> None:
        world = World(node_alive=False)
        for _ in range(32):
            world.table.command(0, "lamp", {"name": "puck"})
        with pytest.raises(OverflowError, match="32 commands wait"):
            world.table.command(0, "lamp", {"name": "puck"})

    @pytest.mark.parametrize(
        ("verb", "fields"), [("Lamp", {}), ("lamp", {"name": "x" * 500}), ("lamp", {"name": "a\nb"})]
    )
    def test_a_command_that_can_not_be_said_is_an_error_of_ours(
        self, verb: str, fields: dict[str, str]
    ) -> None:
        world = World().up()
        with pytest.raises(ValueError, match=r"lower case words|at most 512|can't be printed"):
            world.table.command(world.now_us, verb, fields)
        world.after(SECOND_US)
        assert world.answers == []

    def test_an_answer_to_nothing_is_counted(self) -> None:
        world = World().up()
        world.node.acknowledge(world.node_clock(), 77)
        world.after(5000)
        assert (world.answers, world.table.counters.repeated) == ([], 1)


class TestHostileBytes:
    @settings(derandomize=True, max_examples=60, deadline=None)
    @given(st.lists(st.binary(max_size=60) | st.sampled_from([b"\n", b"$w1 ", b"*0000\n"]), max_size=12))
    def test_any_bytes_raise_nothing_and_make_no_reading(self, pieces: list[bytes]) -> None:
        world = World().up()
        for piece in pieces:
            world.inject(piece)
        world.inject(b"\n")
        assert world.seen == []
        world.knock()
        world.after(10_000)
        assert len(world.seen) == 1

    @settings(derandomize=True, max_examples=40, deadline=None)
    @given(st.integers(0, 2**32))
    def test_a_reading_with_any_bit_flipped_is_no_reading(self, seed: int) -> None:
        rng = Random(seed)
        world = World().up()
        world.knock()
        line = world.node.take_output()
        at, bit = rng.randrange(len(line)), rng.randrange(8)
        flipped = line[:at] + bytes([line[at] ^ 1 << bit]) + line[at + 1 :]
        world.inject(flipped)
        assert world.seen == []
        world.after(30_000)
        assert [seen.fields["pos_mm"] for seen in world.seen] == ["511.0"]

    @settings(derandomize=True, max_examples=40, deadline=None)
    @given(
        verb=st.sampled_from(["pong", "ack", "beat", "hello", "resend", "wall_impact", "ping"]),
        seq=st.integers(0, 2**32 - 1),
        fields=st.dictionaries(
            st.sampled_from(["id", "got", "ch", "ok", "nonce", "boot", "version"]),
            st.sampled_from(["", "0", "1", "-1", "4294967296", "99999999999", "x", "²"]),
        ),
    )
    def test_any_sentence_in_the_right_form_raises_nothing(
        self, verb: str, seq: int, fields: dict[str, str]
    ) -> None:
        world = World().up()
        world.inject(sentence_of(world, verb, seq, **fields))
        said = finish(encode(Sentence(Speaker.TABLE, "w1", world.table._wire.session, seq, 0, verb, fields)))
        for command in world.node.receive(world.node_clock(), said):
            assert command.verb == verb
        world.after(10_000)


def test_health_tells_the_end_of_a_fault_and_that_of_the_last_trouble() -> None:
    world = World().up()
    assert isinstance(world.told[-1][1], Well)
    assert world.told[-1][1].seen.startswith("node w1, firmware 1.0, clock within 0.")
