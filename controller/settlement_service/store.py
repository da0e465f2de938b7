"""The database: SQLite for a table that settles its own bets, PostgreSQL for a house.

One engine owns the database and uses a single connection. This connection locks the SQLite file exclusively,
or holds an advisory lock in PostgreSQL.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import NullPool

from controller.settlement_service.faults import DatabaseUnavailable, SettlementFault
from controller.settlement_service.schema import migrate, version_of, versions

MIN_BYTES = 1_048_576
"""Minimum free space. An outcome, its bets and the write-ahead log can need this much."""


class DatabaseFile:
    """Detects the loss of an open SQLite file or its write-ahead log, and a full or read-only disk."""

    def __init__(self, path: Path) -> None:
        """Record the identity of the open file. Raises OSError if the file does not exist."""
        self._path = path
        self._log = path.with_name(f"{path.name}-wal")
        self._identity = _identity_of(path)
        self._log_identity: tuple[int, int] | None = None

    def forget_log(self) -> None:
        """Forget the write-ahead log; the next connection creates another one."""
        self._log_identity = None

    def loss(self) -> str | None:
        """Return why writes will be lost when the engine stops; None if they will be kept."""
        try:
            if _identity_of(self._path) != self._identity:
                return "another file has replaced the open one; stop the engine and restore the correct file"
        except OSError as error:
            return f"the open file is gone ({error.strerror}); stop the engine"
        try:
            log = _identity_of(self._log)
        except FileNotFoundError:
            return None if self._log_identity is None else f"{self._log.name} is gone; stop the engine"
        except OSError as error:
            return f"{self._log.name}: {error.strerror}"
        if log != (self._log_identity or log):
            return f"another {self._log.name} has replaced the open one; stop the engine"
        self._log_identity = log
        return None

    def find_fault(self) -> str | None:
        """Return why writes fail or will be lost; None if no fault is found."""
        if (loss := self.loss()) is not None:
            return loss
        try:
            disk = os.statvfs(self._path)
        except OSError as error:
            return f"its disk does not respond ({error.strerror})"
        if disk.f_flag & os.ST_RDONLY:
            return "its disk has become read-only"
        free_bytes = disk.f_bavail * disk.f_frsize
        if free_bytes < MIN_BYTES:
            return f"its disk has {free_bytes} bytes of free space, expected at least {MIN_BYTES}"
        return None


def _identity_of(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


LOCK_TIMEOUT_S = 0.5
"""Maximum wait for another owner to release the database."""
CONNECT_TIMEOUT_S = 3
"""Maximum duration of a connection attempt to PostgreSQL."""
STATEMENT_TIMEOUT_S = 5.0
"""Maximum duration of a statement."""
SLOW_STATEMENT_TIMEOUT_S = 600.0
"""Maximum duration of a statement in a proof or a migration."""
_SOCKET = {
    "tcp_user_timeout": round(STATEMENT_TIMEOUT_S * 1000),
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 2,
}
_LOCK = 0x7461626C
"""The number of the engine's advisory lock in a PostgreSQL database: `tabl` in ASCII."""
_NEEDS_ROOM = text(
    "CREATE TABLE settlement_probe AS SELECT repeat(md5(n::text), 64) FROM generate_series(1, 100) n"
)
"""Writes 200 kB to new pages. The rollback frees them."""
_LOCK_NOT_AVAILABLE = "55P03"
_DRIVERS = {"postgresql": "postgresql+psycopg"}


class Store:
    """The database of one settlement engine. Only one thread at a time may use it."""

    def __init__(self, url: str, *, owner: bool = True) -> None:
        """Use the database at this URL: `sqlite:////var/lib/table/settlement.db`, `postgresql://...`.

        With `owner` False, only read the database. PostgreSQL allows this while an engine is running.

        Raises SettlementFault if the URL does not name a supported database.
        """
        self._owner = owner
        self._opened = False
        self._connection: Connection | None = None
        self._wrote = False
        self._file: DatabaseFile | None = None
        self.write_fault: str | None = None
        """Why the last write or connection failed; None after a successful write."""
        try:
            parsed = make_url(url)
            driver = _DRIVERS.get(parsed.drivername, parsed.drivername)
            self.where = parsed.render_as_string(hide_password=True)
            sqlite = parsed.drivername.startswith("sqlite")
            self._engine = create_engine(
                parsed.set(drivername=driver),
                poolclass=NullPool,
                connect_args={"timeout": LOCK_TIMEOUT_S} if sqlite else _postgres_limits(parsed, owner=owner),
            )
        except (ArgumentError, NoSuchModuleError) as error:
            expected = "a URL such as sqlite:///settlement.db or postgresql://host/name"
            raise SettlementFault("database_unknown", "--database", repr(url), expected) from error
        self.sqlite = self._engine.dialect.name == "sqlite"
        if self.sqlite:
            _prepare_sqlite(self._engine)
        else:
            _limit_waits(self._engine, self._statement_timeout_s)
        event.listen(self._engine, "after_cursor_execute", self._note_write)

    def open(self) -> None:
        """Connect, lock the database for this engine, and migrate it to the newest version.

        Raises:
            DatabaseUnavailable: the database does not respond.
            SettlementFault: another engine owns the database, or it is not a settlement database.
        """
        with self.transaction() as connection:
            if self._owner:
                if not self.sqlite:
                    connection.execute(text("SET LOCAL statement_timeout = 0"))
                migrate(connection, self.where)
            elif not version_of(connection, self.where):
                raise SettlementFault(
                    "not_settlement", self.where, "an empty database", "a settlement database"
                )
        self._opened = True
        path = self._engine.url.database
        if self.sqlite and path and path != ":memory:":
            self._file = DatabaseFile(Path(path))

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Yield the connection within a transaction, and commit it at the end.

        Raises DatabaseUnavailable if the database does not respond. If the commit fails, the transaction
        might still have been committed.
        """
        try:
            connection = self._connect()
            self._wrote = False
            with connection.begin():
                yield connection
                self._check_kept()
            self._check_kept()
        except DBAPIError as error:
            self.close()
            self.write_fault = f"{self.where}: {_first_line(error)}"
            raise DatabaseUnavailable(self.write_fault) from error
        except DatabaseUnavailable as error:
            self.write_fault = str(error)
            raise
        if self._wrote:
            self.write_fault = None

    def prove_writable(self, connection: Connection) -> None:
        """Rewrite the version row within the caller's transaction; undo this unless the last write failed.

        After a failed write, only a committed write proves that the database is writable again. PostgreSQL
        must then also allocate space, because it can update a row in place on a full disk. An undone write
        does not reach an SQLite file, so its disk is checked separately.
        """
        if self._file is not None and (found := self._file.find_fault()) is not None:
            raise DatabaseUnavailable(f"{self.where}: {found}")
        with connection.begin_nested() as point:
            connection.execute(update(versions).values(version=versions.c.version))
            if self.write_fault is None:
                point.rollback()
                self._wrote = False
        if self.write_fault is not None and not self.sqlite:
            with connection.begin_nested() as point:
                connection.execute(_NEEDS_ROOM)
                point.rollback()

    def close(self) -> None:
        """Release the database."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()
        if self._file is not None:
            self._file.forget_log()

    def _check_kept(self) -> None:
        """Raise DatabaseUnavailable if the transaction went to a file that was deleted or replaced."""
        if self._wrote and self._file is not None and (found := self._file.loss()) is not None:
            raise DatabaseUnavailable(f"{self.where}: {found}")

    def _statement_timeout_s(self) -> float:
        return STATEMENT_TIMEOUT_S if self._owner and self._opened else SLOW_STATEMENT_TIMEOUT_S

    def _note_write(
        self, _connection: object, _cursor: object, statement: str, *_of_the_statement: object
    ) -> None:
        self._wrote = self._wrote or statement.lstrip()[:6].upper() in ("INSERT", "UPDATE", "DELETE")

    def _connect(self) -> Connection:
        if self._connection is not None:
            return self._connection
        if self._file is not None and (found := self._file.loss()) is not None:
            raise DatabaseUnavailable(f"{self.where}: {found}")  # Otherwise SQLite would create a new file.
        try:
            connection = self._engine.connect()
            if self._owner and not self.sqlite:
                _take_lock(connection)
        except DBAPIError as error:
            message = _first_line(error)
            if _is_locked(error) and not self._opened:
                raise _in_use_fault(self.where) from error
            # The lock might still belong to this engine's previous connection.
            raise DatabaseUnavailable(f"{self.where}: {message}") from error
        self._connection = connection
        return connection


def _prepare_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def _set_up(dbapi_connection: Any, _record: object) -> None:
        # Otherwise the driver begins transactions itself, at the first write.
        dbapi_connection.isolation_level = None
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            dbapi_connection.execute(f"PRAGMA {pragma}")
        mode = dbapi_connection.execute("PRAGMA journal_mode").fetchone()[0]
        synchronous = dbapi_connection.execute("PRAGMA synchronous").fetchone()[0]
        if mode not in ("wal", "memory") or synchronous != 2:
            found = f"journal_mode {mode}, synchronous {synchronous}"
            raise SettlementFault("database_not_durable", str(engine.url), found, "wal and 2 (FULL)")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")


def _postgres_limits(url: URL, *, owner: bool) -> dict[str, object]:
    """Return the connection arguments with the limits for the server and the socket.

    The server's limit on an owner's statements is shorter than the client's. A session that the client has
    abandoned therefore does not keep the lock.
    """
    idle = f"-c idle_in_transaction_session_timeout={round(STATEMENT_TIMEOUT_S * 2000)}"
    if owner:
        idle += f" -c statement_timeout={round(STATEMENT_TIMEOUT_S * 800)}"
    return {
        "connect_timeout": CONNECT_TIMEOUT_S,
        **_SOCKET,
        "options": f"{url.query.get('options', '')} {idle}".strip(),
    }


def _limit_waits(engine: Engine, timeout_s: Callable[[], float]) -> None:
    """Limit the client's waits, because a server that has stopped responding enforces no limits."""
    from psycopg import Connection as Psycopg  # noqa: PLC0415 - installed only where PostgreSQL is used
    from psycopg import OperationalError  # noqa: PLC0415 - as above

    class Bounded(Psycopg[Any]):
        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return super().wait(gen, interval, timeout_s() if timeout is None else timeout)
            except OperationalError:
                self.close()
                raise

    @event.listens_for(engine, "do_connect")
    def _connect(_dialect: object, _record: object, arguments: Any, more: Any) -> Any:
        return Bounded.connect(*arguments, **more)


def _take_lock(connection: Connection) -> None:
    """Acquire the engine's lock; wait at most LOCK_TIMEOUT_S for another owner to release it."""
    try:
        with connection.begin():
            connection.execute(text(f"SET LOCAL lock_timeout = {round(LOCK_TIMEOUT_S * 1000)}"))
            connection.execute(text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
    except DBAPIError:
        connection.close()
        raise


def _is_locked(error: DBAPIError) -> bool:
    """Return whether another owner holds the database."""
    state = getattr(error.orig, "sqlstate", None)
    return state == _LOCK_NOT_AVAILABLE or "database is locked" in str(error.orig)


def _in_use_fault(where: str) -> SettlementFault:
    expected = "no other settlement engine or command using this database; stop the other one first"
    return SettlementFault("database_owned", where, "a database in use", expected)


def _first_line(error: DBAPIError) -> str:
    return str(error.orig).strip().partition("\n")[0]
