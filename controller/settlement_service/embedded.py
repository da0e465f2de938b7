"""The settlement engine in a table's own process. It consumes the table's events in a separate thread."""

from collections.abc import Callable

from controller.publish.betting import OpenStatement
from controller.publish.embedded import Consumer, EngineBlocked, EngineSetup
from controller.publish.events import Answer, LateWagersQuery, PlayQuery
from controller.settlement_service.deliveries import RejectedDelivery, to_messages
from controller.settlement_service.engine import Clock, Engine
from controller.settlement_service.faults import SettlementFault
from controller.settlement_service.gate import Gate, LateWager, MissingStatement, PlayAt
from controller.settlement_service.http_supervisor import HttpSupervisor
from controller.settlement_service.intake import Policies
from controller.settlement_service.store import Store

NAME = "embedded"
"""The engine's name in acknowledgements."""


class RefusedOutcome(EngineBlocked):
    """Settlement refuses an outcome. A person must investigate."""

    def __init__(self, refused: RejectedDelivery) -> None:
        super().__init__("settlement_refused", f"{refused.reason} [{refused.code}]")


class EmbeddedConsumer(Consumer):
    """Passes the table's events to an engine in the same process."""

    def __init__(self, engine: Engine, by: str) -> None:
        """Use this engine; `by` is its name in answers."""
        self._engine = engine
        self._by = by

    def receive_statement(self, statement: OpenStatement) -> None:
        """Handle the table's statement that bets are open."""
        self._engine.gate.accept(statement)

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        """Settle an event, then answer it. Raises DatabaseUnavailable or RefusedOutcome."""
        answers = self._engine.deliver([event])
        for _, encoded in to_messages(answers, self._by):
            answer(encoded)
        for refused in answers:
            if isinstance(refused, RejectedDelivery):
                raise RefusedOutcome(refused)


_NOT_LODGED = MissingStatement(
    "C34-MK-1b", "the table did not lodge the wager; its dice are not out, or the wager is already lodged"
)
_STARTING = MissingStatement("TABLE-WORD", "the table has not started yet; try again in a moment")


class EmbeddedEngine(Consumer):
    """Opens an engine for one table, enrols the table, and serves the HTTP API.

    If `begin` fails, it is called again with each further event.
    """

    def __init__(self, setup: EngineSetup, clock: Clock, nonce: Callable[[], str] | None = None) -> None:
        """Prepare without opening the database; see `engine.Clock` for `clock`, `gate.Gate` for `nonce`."""
        self._gate = Gate(nonce, setup.settings.word_wait_s)
        self._setup = setup
        self._clock = clock
        self._store: Store | None = None
        self._consumer: EmbeddedConsumer | None = None
        self._close_api: Callable[[], None] | None = None

    def begin(self) -> None:
        """Open the database, enrol the table, and serve.

        Raises:
            DatabaseUnavailable: the database does not respond.
            EngineBlocked: the database does not match the table, or the database or the API's port is in
                use.
            ImportError: the HTTP libraries are missing.
        """
        if self._consumer is not None:
            return
        self._store = Store(self._url)
        try:
            self._store.open()
            policies = Policies(malfunction=self._setup.settings.malfunction)
            engine = Engine(self._store, self._clock, policies, gate=self._gate)
            engine.gate.connect(self._ask, self._ask_late, self._ask_play)
            engine.line_bet = lambda _table, seat, has, _at: self._setup.line_bet(seat, has)
            engine.pair_plus = lambda _table, without, _at: self._setup.pair_plus(without)
            engine.played = lambda _table, play, _at: self._setup.played(play.round, play.seats)
            self._enrol(engine)
            self._serve(engine)
        except SettlementFault as fault:
            self.end()
            raise EngineBlocked("settlement_unfit", str(fault)) from fault
        except BaseException:
            self.end()
            raise
        self._consumer = EmbeddedConsumer(engine, NAME)

    def _ask(self, table: str, nonce: str) -> MissingStatement | None:
        return None if table == self._setup.table and self._setup.ask(nonce) else _STARTING

    def _ask_late(self, table: str, nonce: str, wager: LateWager) -> MissingStatement | None:
        query = LateWagersQuery(
            table=table,
            round=wager.round,
            nonce=nonce,
            wager=wager.wager,
            digest=wager.digest,
            says=wager.description,
            by=NAME,
        )
        return None if table == self._setup.table and self._setup.ask_late(query) else _NOT_LODGED

    def _ask_play(self, table: str, nonce: str, play: PlayAt) -> MissingStatement | None:
        query = PlayQuery(table=table, round=play.round, nonce=nonce, seats=play.seats, by=NAME)
        return None if table == self._setup.table and self._setup.ask_play(query) else _STARTING

    def receive_statement(self, statement: OpenStatement) -> None:
        """Handle the table's statement that bets are open."""
        consumer = self._consumer
        if consumer is not None:
            consumer.receive_statement(statement)

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        """Settle an event, then answer it. Raises RefusedOutcome, and the exceptions of `begin`."""
        self.begin()
        assert self._consumer is not None
        self._consumer.take(event, answer)

    def end(self) -> None:
        """Stop serving and release the database."""
        self._consumer = None
        close_api, self._close_api = self._close_api, None
        if close_api is not None:
            close_api()
        store, self._store = self._store, None
        if store is not None:
            store.close()

    @property
    def _url(self) -> str:
        here = self._setup.folder.absolute()
        return self._setup.settings.database or f"sqlite:///{here}/settlement.db"

    def _enrol(self, engine: Engine) -> None:
        """Enrol the table with its key unless it is already enrolled.

        Refuse a database that does not contain the table if any of the table's outcomes were settled before.
        """
        table, rules, pinned = self._setup.table, self._setup.rules, self._setup.enrolment()
        with engine.work() as work:
            known = engine.table(work, table)
        if known is None and not pinned.never_settled:
            found = f"no table {table}, although outcomes from it were settled before"
            expected = "the database used before, or this table enrolled with `--first`"
            raise SettlementFault("table_unknown", self._url, found, expected)
        if known is not None and known.rules != rules:
            found = f"table {table} enrolled with rules {known.rules}"
            raise SettlementFault("rules_differ", self._url, found, f"{rules}, as in the table's file")
        if known is None:
            engine.enrol(table, rules, pinned.public_key)

    def _serve(self, engine: Engine) -> None:
        port = self._setup.settings.api_port
        if port is not None:
            http = HttpSupervisor(engine, "127.0.0.1", port)
            self._close_api = http.stop
            http.start()
