"""The database's tables, their version, and the migrations from older versions."""

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    insert,
    inspect,
    select,
    update,
)

from controller.settlement_service.faults import SettlementFault

LAYOUT = MetaData()

versions = Table("settlement_version", LAYOUT, Column("version", Integer, nullable=False))
tables = Table(
    "tables",
    LAYOUT,
    Column("name", Text, primary_key=True),
    Column("rules", Text, nullable=False),
    Column("game", Text, nullable=False),
    Column("first_seq", BigInteger, nullable=False),
    Column("next_seq", BigInteger, nullable=False),
    Column("last_n", BigInteger, nullable=False),
    Column("betting", Text, nullable=False),
    Column("anchor", Text, nullable=False),
    Column("halted", Text),
    Column("skip_seq", BigInteger),
    Column("enrolled_us", BigInteger, nullable=False),
)
keys = Table(
    "keys",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("from_seq", BigInteger, primary_key=True, autoincrement=False),
    Column("public_key", LargeBinary, nullable=False),
)
outcomes = Table(
    "outcomes",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("chain", Text, nullable=False),
    Column("event", LargeBinary, nullable=False),
    Column("applied_us", BigInteger, nullable=False),
)
steps = Table(
    "steps",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
)
wagers = Table(
    "wagers",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("id", Text, primary_key=True),
    Column("player", Text, nullable=False),
    Column("wager", Text, nullable=False),
    Column("stake", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
)
results = Table(
    "results",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("line", BigInteger, primary_key=True, autoincrement=False),
    Column("of_n", BigInteger, nullable=False),
    Column("wager", Text, nullable=False),
    Column("player", Text),
    Column("body", Text, nullable=False),
    Column("superseded_by", BigInteger),
    Index("results_of_player", "player", "table_name", "n"),
)
movements = Table(
    "movements",
    LAYOUT,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("cause", Text, nullable=False),
    Column("table_name", Text),
    Column("n", BigInteger),
    Column("booked_us", BigInteger, nullable=False),
)
_OF_STEP = Index("movements_of_step", movements.c.table_name, movements.c.n)
"""An index for finding a result's movement. It did not require a new version, because older releases work
with it."""
entries = Table(
    "entries",
    LAYOUT,
    Column("movement", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, primary_key=True),
    Column("cents", BigInteger, nullable=False),
    Index("entries_of_account", "account", "movement"),
)
balances = Table(
    "balances",
    LAYOUT,
    Column("account", Text, primary_key=True),
    Column("cents", BigInteger, nullable=False),
)
players = Table(
    "players",
    LAYOUT,
    Column("name", Text, primary_key=True),
    Column("opened_us", BigInteger, nullable=False),
)
seats = Table(
    "seats",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("seat", Text, primary_key=True),
    Column("player", Text, nullable=False),
)
requests = Table(
    "requests",
    LAYOUT,
    Column("caller", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("asked", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("answered_us", BigInteger, nullable=False),
)
tokens = Table(
    "tokens",
    LAYOUT,
    Column("name", Text, primary_key=True),
    Column("digest", Text, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("player", Text),
    Column("made_us", BigInteger, nullable=False),
    Column("revoked_us", BigInteger),
)
alarms = Table(
    "alarms",
    LAYOUT,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("table_name", Text, nullable=False),
    Column("code", Text, nullable=False),
    Column("says", Text, nullable=False),
    Column("raised_us", BigInteger, nullable=False),
    Column("cleared_us", BigInteger),
    Column("cleared_by", Text),
)
rounds = Table(
    "rounds",
    LAYOUT,
    Column("table_name", Text, primary_key=True),
    Column("round", BigInteger, primary_key=True, autoincrement=False),
    Column("bet_session", Text),
    Column("last_bet_t", BigInteger),
    Column("session", Text),
    Column("closed_t", BigInteger),
    Column("moved_t", BigInteger),
    Column("result_t", BigInteger),
)
"""The times of each round of bets, in microseconds on the table's clock.

last_bet_t: the table received the last granted wager or change, in session `bet_session`
closed_t: bets closed, in session `session`
moved_t: the dice were released, the ball dropped or the first card was dealt
result_t: the round was decided
"""

_LATER = (rounds,)

Migration = Callable[[Connection], None]


def _first_layout(connection: Connection) -> None:
    LAYOUT.create_all(connection, [table for table in LAYOUT.sorted_tables if table not in _LATER])
    connection.execute(insert(versions).values(version=0))


def _rounds(connection: Connection) -> None:
    rounds.create(connection)


def _struck(_connection: Connection) -> None:
    """Change no tables. As of this version, there can be `struck` steps, which older engines can't read."""


MIGRATIONS: tuple[Migration, ...] = (_first_layout, _rounds, _struck)
"""The migrations from each version to the next. Version 0 is an empty database.

If a migration changes a table, keep the table's old definition for the migrations before it.
"""


def migrate(connection: Connection, where: str) -> None:
    """Migrate the database to the newest version within the caller's transaction.

    Raises SettlementFault if the database belongs to another program or has a newer version.
    """
    version = version_of(connection, where)
    for number in range(version, len(MIGRATIONS)):
        MIGRATIONS[number](connection)
        connection.execute(update(versions).values(version=number + 1))
    _OF_STEP.create(connection, checkfirst=True)


def version_of(connection: Connection, where: str) -> int:
    """Return the version of the database, 0 if it is empty. Raises SettlementFault."""
    found = inspect(connection).get_table_names()
    if versions.name not in found:
        if found:
            found_text = f"tables of another program ({', '.join(sorted(found)[:3])})"
            raise SettlementFault(
                "not_settlement", where, found_text, "an empty database or a settlement database"
            )
        return 0
    version: int = connection.execute(select(versions.c.version)).scalar_one()
    if version > len(MIGRATIONS):
        expected = f"at most version {len(MIGRATIONS)}; install the newer program again"
        raise SettlementFault("settlement_newer", where, f"layout version {version}", expected)
    return version
