"""The wrapper around `transitions`: each cell is an arrow or a refusal, without the library's pitfalls."""

import pytest

from controller.games.diagrams import TABLES
from controller.machines.flat import Arrow, FlatMachine, InputRefused, MachineTable
from controller.machines.refusals import REFUSALS

LIGHT = MachineTable(
    name="light",
    initial="off",
    states={"off": "dark", "on": "lit"},
    triggers={"press": "pressed", "break": "broken"},
    arrows=(Arrow("press", ("off",), "on"), Arrow("press", ("on",), "off")),
    refusals={("off", "break"): "no_change", ("on", "break"): "not_now"},
)
CELLS = [
    pytest.param(table, state, trigger, id=f"{table.name}-{state}-{trigger}")
    for table in TABLES
    for state in table.states
    for trigger in table.triggers
]


@pytest.mark.parametrize(("table", "state", "trigger"), CELLS)
def test_every_cell_is_an_arrow_that_moves_or_a_refusal_that_changes_nothing(
    table: MachineTable, state: str, trigger: str
) -> None:
    machine = FlatMachine(table, state)
    to = table.cells.get((state, trigger))
    if to is not None:
        assert machine.allows(trigger)
        machine.fire(trigger)
        assert machine.state == to
    else:
        assert not machine.allows(trigger)
        with pytest.raises(InputRefused) as refused:
            machine.fire(trigger)
        assert refused.value.code in REFUSALS
        assert machine.state == state


def test_every_state_can_be_reached_and_left() -> None:
    for table in TABLES:
        reached = {table.initial} | set(table.cells.values())
        assert reached == set(table.states), table.name
        left = {source for (source, _), to in table.cells.items() if to != source}
        assert left == set(table.states), table.name


def test_every_refusal_in_the_catalogue_says_what_to_do() -> None:
    assert all(len(says.split()) > 3 for says in REFUSALS.values())


def test_a_listener_receives_each_move_once_and_in_the_new_state() -> None:
    heard: list[tuple[object, ...]] = []
    machine = FlatMachine(LIGHT, moved=lambda *reported: heard.append((*reported, machine.state)))
    machine.fire("press", "ann")
    with pytest.raises(InputRefused):
        machine.fire("break", "bob")
    machine.fire("press", "eve")
    assert heard == [("press", "ann", "on"), ("press", "eve", "off")]


def test_machines_of_one_table_keep_separate_states() -> None:
    one, other = FlatMachine(LIGHT), FlatMachine(LIGHT)
    one.fire("press")
    assert (one.state, other.state) == ("on", "off")


def test_a_state_missing_from_the_table_is_an_error() -> None:
    with pytest.raises(ValueError, match="dim"):
        FlatMachine(LIGHT, "dim")


def test_no_automatic_transition_bypasses_the_table() -> None:
    machine = FlatMachine(LIGHT)
    assert set(machine._machine.events) == set(LIGHT.triggers) - {"break"}
    assert not [name for name in dir(machine) if name.startswith("to_")]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"refusals": {("off", "break"): "not_now"}}, "break in on must be an arrow or a refusal"),
        ({"refusals": {**LIGHT.refusals, ("on", "press"): "not_now"}}, "press in on must be"),
        ({"refusals": {**LIGHT.refusals, ("dim", "press"): "not_now"}}, "found dim, expected one of"),
        ({"arrows": (*LIGHT.arrows, Arrow("press", ("on",), "on"))}, "two arrows for press from on"),
        ({"arrows": (*LIGHT.arrows, Arrow("press", ("off",), "dim"))}, "found dim, expected one of"),
    ],
)
def test_a_table_with_a_missing_cell_cannot_be_made(change: dict[str, object], fault: str) -> None:
    parts: dict[str, object] = {
        "name": LIGHT.name,
        "initial": LIGHT.initial,
        "states": LIGHT.states,
        "triggers": LIGHT.triggers,
        "arrows": LIGHT.arrows,
        "refusals": LIGHT.refusals,
    }
    with pytest.raises(ValueError, match=fault):
        MachineTable(**(parts | change))  # type: ignore[arg-type]  # parts are mixed on purpose
