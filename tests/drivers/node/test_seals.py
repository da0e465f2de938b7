"""Tests of seals: bytes from another source never become a reading."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.health import Fault
from drivers.node.sentences import Sentence, Speaker, encode, finish
from drivers.node.table_end import Phase
from tests.drivers.node.node_world import (
    KEY,
    SECOND_US,
    World,
    sentence_of,
)


class TestSeals:
    def test_a_board_without_the_key_is_not_accepted_as_the_node(self) -> None:
        world = World(key=KEY, node_key=b"another key than that")
        world.until(2 * SECOND_US)
        assert world.table.phase is Phase.GREETING
        assert "wrong_key" not in [code for _, code in world.health()]
        world.inject(sentence_of(world, "hello", 0, version="1", nonce=world.table._nonce))
        assert world.health()[-1][1] == "wrong_key"

    def test_a_sentence_without_its_seal_is_not_used(self) -> None:
        world = World(key=KEY).up()
        world.inject(sentence_of(world, "wall_impact", 500, wall="left", pos_mm="1", peak="1"))
        trouble = world.reported[-1][1]
        assert isinstance(trouble, Fault)
        assert (world.seen, trouble.code, trouble.down) == ([], "forged", False)
        world.knock()
        world.after(5000)
        assert len(world.seen) == 1

    def test_a_replayed_sentence_does_not_count_again(self) -> None:
        world = World(key=KEY).up()
        world.knock()
        world.after(5000)
        for said in list(world.on_wire):
            world.inject(said)
        assert len(world.seen) == 1

    def test_a_sentence_of_another_session_does_not_count(self) -> None:
        world = World(key=KEY).up()
        world.knock()
        world.after(5000)
        recorded = list(world.on_wire)
        world._tell(world.table.on_close(world.now_us, "unplugged", "pulled"))
        world._tell(world.table.on_open(world.now_us))
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

    def test_a_replayed_command_is_not_done_again(self) -> None:
        world = World(key=KEY).up()
        world.table.command(world.now_us, "lamp", {"name": "puck"})
        said = world.table.take_output()
        world.node.receive(world.node_clock(), said)
        assert world.node.receive(world.node_clock(), said) == []


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
    def test_a_reading_with_any_bit_flipped_is_refused(self, seed: int) -> None:
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
