"""Generates `docs/machines.md`, the manual of the state machines, as Markdown with Mermaid diagrams."""

from collections.abc import Iterable, Iterator

from controller.games.game import Game
from controller.games.registry import GAMES
from controller.machines.flat import MachineTable
from controller.machines.lifecycle import life_cycle
from controller.machines.refusals import REFUSALS
from controller.machines.table import LOCK_TABLE, OPENING_TRANSITIONS, TEST_TABLE


def _tables(games: Iterable[Game]) -> Iterator[MachineTable]:
    """Yield the table of each machine. The table of an attempt comes before the first game that uses it."""
    yield from (OPENING_TRANSITIONS, LOCK_TABLE, TEST_TABLE)
    drawn = set()
    for game in games:
        if game.attempt not in drawn:
            drawn.add(game.attempt)
            yield life_cycle(game.attempt)
        yield game.table


TABLES = tuple(_tables(GAMES.values()))
"""The tables of all machines, in the order of the manual."""


def manual() -> str:
    """Return the manual: each machine's diagram, states, triggers and transitions, and all refusals."""
    parts = [
        "# The machines",
        "",
        "`make diagrams` generates this page from the tables in the code. A running controller has five of",
        "these machines: three for the table, one for the current attempt and one for the game. Each cell",
        "shows the next state or, in italics, the code of the refusal.",
        "",
    ]
    for table in TABLES:
        parts += _chapter(table)
    text = "Refused inputs change nothing. All refusals except `testing` are published as `input.refused`."
    parts += ["## Refusals", "", text, ""]
    parts += ["| code | meaning, and what to do |", "|---|---|"]
    parts += [f"| `{code}` | {meaning} |" for code, meaning in sorted(REFUSALS.items())]
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
