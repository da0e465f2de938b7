"""The machines' tables as Markdown with Mermaid diagrams, so that the manual is drawn from the tables that
run.
"""

from collections.abc import Iterable, Iterator

from controller.games.game import Game
from controller.games.registry import GAMES
from controller.machines.flat import MachineTable
from controller.machines.lifecycle import life_cycle
from controller.machines.refusals import REFUSALS
from controller.machines.table import DOOR_TABLE, LOCK_TABLE, TEST_TABLE


def _tables(games: Iterable[Game]) -> Iterator[MachineTable]:
    """Yield every machine there is, each kind of attempt before the first game that plays on it."""
    yield from (DOOR_TABLE, LOCK_TABLE, TEST_TABLE)
    drawn = set()
    for game in games:
        if game.attempt not in drawn:
            drawn.add(game.attempt)
            yield life_cycle(game.attempt)
        yield game.table


TABLES = tuple(_tables(GAMES.values()))
"""Every machine there is, in the order of the manual."""


def manual() -> str:
    """Draw every machine: a diagram, what its states and triggers mean, and what each cell does."""
    parts = [
        "# The machines",
        "",
        "Drawn by `make diagrams` from the tables that run. Flat machines stand side by side: the table's",
        "own three, the life-cycle of an attempt, and the game. A cell names the next state, or in italics",
        "the refusal.",
        "",
    ]
    for table in TABLES:
        parts += _chapter(table)
    parts += ["## Refusals", "", "A refused input is published as `input.refused` and changes nothing.", ""]
    parts += ["| code | what it means, what to do |", "|---|---|"]
    parts += [f"| `{code}` | {says} |" for code, says in sorted(REFUSALS.items())]
    return "\n".join(parts) + "\n"


def _chapter(table: MachineTable) -> list[str]:
    title = table.name.replace("_", " ").capitalize()
    lines = [f"## {title}", "", "```mermaid", "stateDiagram-v2", f"    [*] --> {table.initial}"]
    for (source, to), triggers in _grouped(table).items():
        lines.append(f"    {source} --> {to}: {', '.join(triggers)}")
    lines += ["```", "", "| state | meaning |", "|---|---|"]
    lines += [f"| `{state}` | {meaning} |" for state, meaning in table.states.items()]
    lines += [
        "",
        f"| trigger | meaning | {' | '.join(table.states)} |",
        "|---" * (2 + len(table.states)) + "|",
    ]
    for trigger, meaning in table.triggers.items():
        cells = [_cell(table, state, trigger) for state in table.states]
        lines.append(f"| `{trigger}` | {meaning} | {' | '.join(cells)} |")
    return [*lines, ""]


def _grouped(table: MachineTable) -> dict[tuple[str, str], list[str]]:
    grouped: dict[tuple[str, str], list[str]] = {}
    for (source, trigger), to in table.cells.items():
        grouped.setdefault((source, to), []).append(trigger)
    return grouped


def _cell(table: MachineTable, state: str, trigger: str) -> str:
    to = table.cells.get((state, trigger))
    return to if to is not None else f"*{table.refusals[state, trigger]}*"
