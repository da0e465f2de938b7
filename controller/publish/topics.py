"""The topics of a table, and who may write and read which: mosquitto's access list is made from them.

`python -m controller.publish.topics --table NAME ... --settlement NAME [--staff NAME] [--players NAME=TABLE]`
prints the list. Names are the common names of certificates (`use_identity_as_username`).
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from controller.model.tables import TABLE_NAME

PREFIX = "tables"


class Topics(NamedTuple):
    """One table's topics."""

    outcome: str
    """Every outcome, for the settlement engine and the staff; the table writes it."""
    players: str
    """What players may see; the table writes it."""
    status: str
    """How the table stands, retained; the table writes it, and the broker when the table is gone."""
    answer: str
    """The settlement engine's answers; it alone writes it."""
    open: str
    """The word that bets are open, for the settlement engine; the table writes it."""
    board: str
    """What a display needs when it starts in mid-game, retained; the table writes it."""


def topics_of(table: str, prefix: str = PREFIX) -> Topics:
    """Return a table's topics; ValueError where its name can't be part of one."""
    check_name(table)
    return Topics(*(f"{prefix}/{table}/{word}" for word in Topics._fields))


def check_name(name: str) -> None:
    """Refuse a name that is no topic level, client id and common name at once; raises ValueError."""
    if not TABLE_NAME.fullmatch(name):
        raise ValueError(
            f"found the name {name!r}, expected 1 to 64 letters, digits, '-', '_' and '.', which every"
            " publisher over MQTT must have; rename it in its file and in its certificate"
        )


def access_list(
    tables: Sequence[str],
    settlement: str,
    *,
    staff: Sequence[str] = (),
    players: Mapping[str, str] | None = None,
    prefix: str = PREFIX,
) -> str:
    """Write mosquitto's access list: whoever is not named may nothing, and no table another's topics.

    `players` are players' displays and the table each may show.
    """
    every = Topics(*(f"{prefix}/+/{word}" for word in Topics._fields))
    rules = [(settlement, "read", topic) for topic in (every.outcome, every.status, every.open)]
    rules += [(settlement, "write", every.answer)]
    for name in staff:
        rules += [(name, "read", topic) for topic in (every.outcome, every.status, every.board)]
    for table in tables:
        own = topics_of(table, prefix)
        written = (own.outcome, own.players, own.status, own.open, own.board)
        rules += [(table, "write", topic) for topic in written]
        rules += [(table, "read", topic) for topic in (own.answer, own.status)]
    for name, table in (players or {}).items():
        shown = topics_of(table, prefix)
        rules += [(name, "read", topic) for topic in (shown.players, shown.board)]
    return "".join(_lines(rules))


def _lines(rules: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    yield "# Made by python -m controller.publish.topics; whoever is not named may neither read nor write.\n"
    before = None
    for name, may, topic in rules:
        if name != before:
            check_name(name)
            yield f"\nuser {name}\n"
            before = name
        yield f"topic {may} {topic}\n"


def main(arguments: list[str] | None = None) -> int:
    """Print the access list; 2 where a name can't be one."""
    parser = argparse.ArgumentParser(prog="python -m controller.publish.topics", description=__doc__)
    parser.add_argument("--table", action="append", required=True, metavar="NAME", help="a table")
    parser.add_argument("--settlement", required=True, metavar="NAME", help="the settlement engine")
    parser.add_argument("--staff", action="append", default=[], metavar="NAME", help="a display of the staff")
    parser.add_argument(
        "--players", action="append", default=[], metavar="NAME=TABLE", help="a players' display"
    )
    parser.add_argument("--prefix", default=PREFIX, help="the first part of every topic")
    given = parser.parse_args(arguments)
    displays = dict(pair.partition("=")[::2] for pair in given.players)
    try:
        text = access_list(
            given.table, given.settlement, staff=given.staff, players=displays, prefix=given.prefix
        )
    except ValueError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
