"""Tests that change a node's key while the table is running. The node is down until it has the new key."""

import pytest

from drivers.device import RandomBytes
from drivers.health import Fault
from drivers.node.device import NodeDevice, NodeSettings
from drivers.node.sentences import Message, NodeReading
from drivers.node.table_end import Phase
from tests.drivers.node.node_world import KEY, SECOND_US, World

NEW = bytes(range(100, 132))


def last_trouble(messages: list[tuple[int, Message]]) -> Fault:
    return [message for _, message in messages if isinstance(message, Fault)][-1]


def test_a_board_with_the_old_key_is_refused_from_the_change_on() -> None:
    world = World(key=KEY).up()
    world.knock()
    said = world.node.take_output()
    world.table.rekey(NEW)
    world.inject(said)
    assert world.seen == [], "a sentence in transit when the key was changed is refused too"
    world.after(3 * SECOND_US)
    world.knock()
    world.after(SECOND_US)
    assert world.seen == []
    told = last_trouble(world.reported)
    assert (world.table.phase, told.code, told.down) == (Phase.GREETING, "wrong_key", True)


@pytest.mark.parametrize("first", ["table", "board"])
def test_whichever_end_gets_the_key_first_the_node_is_up_once_both_have_it(first: str) -> None:
    world = World(key=KEY).up()
    if first == "table":
        world.table.rekey(NEW)
        world.after(3 * SECOND_US)
        assert world.table.phase is Phase.GREETING
    world.key = world.node_key = NEW
    world.restart_node(boot=2)
    if first == "board":
        world.after(3 * SECOND_US)
        assert world.table.phase is Phase.GREETING
        world.table.rekey(NEW)
    world.up()
    world.knock()
    world.after(10_000)
    assert len(world.seen) == 1


def test_sentences_sealed_with_a_stolen_old_key_are_refused_in_the_new_session() -> None:
    world = World(key=KEY).up()
    old = world.node
    world.key = world.node_key = NEW
    world.table.rekey(NEW)
    world.restart_node(boot=2)
    world.up()
    old.reading(world.node_clock(), "wall_impact", {"wall": "left", "pos_mm": "1", "peak": "1"}, channel=1)
    world.inject(old.take_output())
    assert world.seen == []


def test_before_the_port_is_open_a_new_key_is_used_silently() -> None:
    world = World(key=KEY, node_key=NEW)
    world._tell(world.table.on_close(world.now_us, "unplugged", "pulled"))
    before = len(world.reported)
    world.table.rekey(NEW)
    world._tell(world.table.tick(world.now_us))
    assert [one for _, one in world.reported[before:] if isinstance(one, Fault | NodeReading)] == []
    world._tell(world.table.on_open(world.now_us))
    world.up()


def test_without_a_key_no_node_is_accepted_and_the_reason_is_reported() -> None:
    world = World(key=KEY).up()
    world.table.rekey(bytes(32), flaw="found no readable file")
    for _ in range(3):
        world.restart_node(boot=3)
        world.after(2 * SECOND_US)
    assert world.table.phase is Phase.GREETING
    assert last_trouble(world.reported).seen == "found no readable file"


def drawing(drawn: list[int]) -> RandomBytes:
    def random_bytes(count: int) -> bytes:
        drawn.append(count)
        return bytes(range(1, count + 1))

    return random_bytes


def test_a_key_that_is_taken_away_is_not_the_same_as_no_seal() -> None:
    drawn: list[int] = []
    device = NodeDevice("cam", NodeSettings(node="cam", port="/dev/x", key="00" * 16), drawing(drawn))
    device.rekey("", "it is gone")
    assert drawn == [32], "the table's key is now one that no node has"
