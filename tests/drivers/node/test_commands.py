"""Tests of commands from a table to its node, and of their acknowledgements."""

import pytest

from drivers.node.sentences import CommandResult, Sentence, Speaker, encode, finish
from tests.drivers.node.node_world import (
    SECOND_US,
    World,
    dropping,
)


class TestCommands:
    def test_a_command_is_done_once_and_answered(self) -> None:
        world = World().up()
        number = world.table.command(world.now_us, "lamp", {"name": "puck", "shows": "on"})
        world.after(10_000)
        (command,) = world.commands
        assert (command.verb, command.fields) == ("lamp", {"name": "puck", "shows": "on"})
        assert world.answers == [CommandResult(number, ok=True, message="done")]

    def test_a_command_is_done_once_even_if_answers_are_lost(self) -> None:
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
        assert world.answers == [CommandResult(number, ok=False, message="lamp: no answer after 4 tries")]
        assert world.health()[-1][1] == "unanswered"

    def test_a_command_of_another_table_or_session_is_ignored(self) -> None:
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
        assert world.answers == [CommandResult(1, ok=False, message="lamp: the node is not up")]

    def test_more_commands_than_can_wait_raise_an_error(self) -> None:
        world = World(node_alive=False)
        for _ in range(32):
            world.table.command(0, "lamp", {"name": "puck"})
        with pytest.raises(OverflowError, match="32 commands are already waiting"):
            world.table.command(0, "lamp", {"name": "puck"})

    @pytest.mark.parametrize(
        ("verb", "fields"), [("Lamp", {}), ("lamp", {"name": "x" * 500}), ("lamp", {"name": "a\nb"})]
    )
    def test_a_command_that_cannot_be_sent_raises_an_error(self, verb: str, fields: dict[str, str]) -> None:
        world = World().up()
        with pytest.raises(ValueError, match=r"lower-case words|at most 512|only printable"):
            world.table.command(world.now_us, verb, fields)
        world.after(SECOND_US)
        assert world.answers == []

    def test_an_answer_without_a_command_is_counted(self) -> None:
        world = World().up()
        world.node.acknowledge(world.node_clock(), 77)
        world.after(5000)
        assert (world.answers, world.table.counters.repeated) == ([], 1)
