"""The table's connection to settlement: the sink selected by `publish:`, and the pump for the outbox."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from controller.app.faults import ActiveFaults, Fault
from controller.app.options import ENGINE_PIN_FILE
from controller.app.service import Watchdog
from controller.journal.chain import Row
from controller.journal.faults import JournalFault
from controller.journal.journal import Journal
from controller.journal.keys import Key
from controller.journal.reading import Reader
from controller.journal.writer import Ticket
from controller.model.outcomes import Awaited
from controller.model.tables import PublishSettings, TableSettings
from controller.publish.betting import Announcer, Betting
from controller.publish.embedded import Consumer, EmbeddedSink, EngineSetup, Enrolment
from controller.publish.events import LateWagersQuery, PlayQuery, TableStatus
from controller.publish.faults import Alarm, PublishFault
from controller.publish.identity import Pin, read_pin, write_pin
from controller.publish.late import LateWagers
from controller.publish.players import first_board
from controller.publish.pump import Pump
from controller.publish.sink import RandomFraction, Sink


class UnfitSettings(ValueError):
    """The `publish:` section can't be applied on this machine."""


def sink_for(
    table: str,
    settings: PublishSettings,
    alarm: Alarm,
    *,
    now_us: Callable[[], int],
    random_fraction: RandomFraction,
    engine: Consumer | None = None,
    pin: Pin | None = None,
) -> Sink | None:
    """Return the sink selected by `publish:`; None if settlement polls the control socket.

    `engine` is the settlement engine in this process, if any. `pin` is the trusted key of an engine behind a
    broker. If there is neither a section nor an engine, a fault is reported, and settlement can use only the
    socket.

    Raises UnfitSettings if the section is incomplete, or if the MQTT library is not installed.
    """
    if settings.to == "socket":
        return None
    if settings.to == "mqtt":
        return _mqtt_sink(
            table, settings, alarm, now_us=now_us, random_fraction=random_fraction, pin=pin or Pin()
        )
    if engine is not None:
        return EmbeddedSink(engine, alarm)
    if settings.to == "embedded":
        raise UnfitSettings(
            "publish: `to: embedded` needs a settlement engine in this process;"
            " install the controller with the `settlement` extra, or publish `to: mqtt`"
        )
    alarm.report(PublishFault("settlement_missing", table, "no `publish:` section and no settlement engine"))
    return None


def _mqtt_sink(
    table: str,
    settings: PublishSettings,
    alarm: Alarm,
    *,
    now_us: Callable[[], int],
    random_fraction: RandomFraction,
    pin: Pin,
) -> Sink:
    if settings.mqtt is None:
        raise UnfitSettings("publish: `to: mqtt` needs an `mqtt:` section; add it with the broker's `host`")
    try:
        from controller.publish.mqtt import MqttSink  # noqa: PLC0415 - paho is an optional library
    except ModuleNotFoundError as error:
        raise UnfitSettings(
            f"publish: `to: mqtt` needs paho-mqtt, but {error.name} can't be imported;"
            " install the controller with the `mqtt` extra"
        ) from error
    try:
        return MqttSink(table, settings.mqtt, alarm, now_us=now_us, random_fraction=random_fraction, pin=pin)
    except ValueError as error:
        raise UnfitSettings(str(error)) from error


EngineMaker = Callable[[EngineSetup], Consumer]
"""Creates the settlement engine in this process; the engine opens files only in its own thread."""


class FaultAlarm:
    """An alarm that adds publishing's faults to the table's active faults."""

    def __init__(self, faults: ActiveFaults) -> None:
        self._faults = faults

    def report(self, fault: PublishFault) -> None:
        """Add a fault."""
        self._faults.report(Fault(*fault), "publish")

    def clear(self, code: str) -> None:
        """Clear a fault, if it is active."""
        self._faults.clear(code, "publish")


class Publishing:
    """The exchange of durable outcomes and answers between the table and settlement."""

    def __init__(
        self,
        settings: TableSettings,
        folder: Path,
        faults: ActiveFaults,
        *,
        engine: EngineMaker | None,
        random_fraction: RandomFraction,
        now_us: Callable[[], int],
        status: Callable[[], TableStatus],
    ) -> None:
        """Create the sink without opening it; `folder` is the journal's folder, `now_us` a monotonic clock.

        Raises:
            UnfitSettings: the table's `publish:` section can't be applied on this machine.
        """
        self._settings = settings
        self._alarm = FaultAlarm(faults)
        self._random_fraction = random_fraction
        self._now_us = now_us
        self._status = status
        self._pump: Pump | None = None
        self._journal: Path | None = None
        self._enrolment: Enrolment | None = None
        setup = EngineSetup(
            settings.table,
            settings.rules.name,
            settings.publish.embedded,
            folder,
            self._read_enrolment,
            self._ask,
            self._post_late_query,
            self._post_line_bet,
            self._post_pair_plus,
            self._post_play_query,
            self._post_played,
        )
        wanted = engine is not None and settings.publish.to in (None, "embedded")
        self._announcer: Announcer | None = None
        self._late: LateWagers | None = None
        self._query_late: Callable[[LateWagersQuery], bool] | None = None
        self._line_bet: Callable[[str, bool], None] | None = None
        self._pair_plus: Callable[[tuple[str, ...]], None] | None = None
        self._query_play: Callable[[PlayQuery], bool] | None = None
        self._played: Callable[[int, tuple[str, ...]], None] | None = None
        self._pin_file = folder / ENGINE_PIN_FILE
        self._key: Key | None = None
        mqtt = settings.publish.mqtt
        named = None if mqtt is None or mqtt.engine_key is None else bytes.fromhex(mqtt.engine_key)
        self._pin = Pin(named, self._keep_pin)
        self._sink = sink_for(
            settings.table,
            settings.publish,
            self._alarm,
            now_us=now_us,
            random_fraction=random_fraction,
            engine=engine(setup) if engine is not None and wanted else None,
            pin=self._pin,
        )
        self._started = False
        self._verified = False
        """Whether all rows in the outbox were verified when the journal was opened."""

    def open(
        self,
        journal: Journal,
        key: Key,
        *,
        table_now_us: Callable[[], int] | None,
        line_bet: Callable[[str, bool], None],
        pair_plus: Callable[[tuple[str, ...]], None],
        played: Callable[[int, tuple[str, ...]], None],
        query_late: Callable[[LateWagersQuery], bool],
        query_play: Callable[[PlayQuery], bool],
        wake: Callable[[], None] = lambda: None,
    ) -> None:
        """Attach to the journal's outbox; raises JournalFault if it can't be read.

        `table_now_us` is the clock that timestamps readings; None with data time. The callbacks receive the
        engine's reports and requests:

        - `line_bet`: whether the shooter at a seat has a line bet;
        - `pair_plus`: the positions without Pair Plus;
        - `played`: the positions with Play, in a round of bets;
        - `query_late`: a wager made with the dice out; returns False if the wager can't be confirmed;
        - `query_play`: a request for Play at some positions; returns False if it will not be answered;
        - `wake`: a query about bets requires an iteration of the core.
        """
        path = journal.place.journal
        next_seq = journal.recovered.first.seq
        with Reader(path) as reader:
            oldest = next(iter(reader.outbox(1)), None)
            self._verified = oldest is None or oldest.n >= journal.recovered.verified_from
        waits_from = next_seq if oldest is None or oldest.seq is None else oldest.seq
        self._journal = path
        self._enrolment = Enrolment(key.public.raw, never_settled=waits_from == 1)
        self._key = key
        self._line_bet = line_bet
        self._pair_plus = pair_plus
        self._played = played
        self._query_late = query_late
        self._query_play = query_play
        self._pin.recall(read_pin(self._pin_file, key.public))
        if self._sink is not None:
            session = str(journal.recovered.session)
            self._announcer = Announcer(self._settings.table, session, table_now_us)
            self._announcer.say = partial(self._sink.send_open_statement, key=key)
            self._announcer.wake = wake
            self._late = LateWagers(self._settings.table, session, table_now_us)
            self._late.say = self._announcer.say
            self._pump = Pump(
                self._settings.table,
                self._settings.publish,
                key=key,
                journal=journal,
                open_outbox=lambda: Reader(path),
                sink=self._sink,
                alarm=self._alarm,
                now_us=self._now_us,
                random_fraction=self._random_fraction,
                status=self._status,
                ask=self._announcer.note_query,
                ask_late=query_late,
                ask_play=query_play,
                line_bet=line_bet,
                pair_plus=pair_plus,
                played=played,
                session=journal.recovered.session,
                last_seq=next_seq - 1,
                acknowledged_seq=waits_from - 1,
                board=first_board(
                    self._settings.table,
                    session,
                    self._settings.rules.game,
                    journal.recovered.state,
                    journal.recovered.first,
                ),
            )

    def note_betting(self, betting: Betting, now_us: int) -> None:
        """Record the betting state, and send settlement any statement due; called in the core's thread."""
        if self._announcer is not None and self._late is not None and self._started:
            self._announcer.note(betting, now_us)
            self._late.note(betting, now_us)

    def betting_due_us(self, lateness_us: int) -> int | None:
        """Return the time of the next statement to settlement, if any; called in the core's thread."""
        return None if self._announcer is None else self._announcer.due_us(lateness_us)

    def lodge_late_wager(self, query: LateWagersQuery, keep: Callable[[], Ticket | None]) -> bool:
        """Lodge a wager made with the dice out, to be confirmed; return False if that is impossible."""
        return self._late is not None and self._late.lodge(query, keep)

    @property
    def late_wagers(self) -> tuple[tuple[str, str], ...]:
        """The wagers lodged during the current throw, each with its id and description."""
        return () if self._late is None else self._late.lodged

    def note_late_confirmed(self, wager: str, row: Ticket) -> None:
        """Note the row that journals a confirmation; called in the core's thread."""
        if self._late is not None:
            self._late.add_confirmation(wager, row)

    def note_play_requested(self, nonce: str, received_us: int) -> None:
        """Queue the answer to a request for Play; called in the core's thread."""
        if self._announcer is not None:
            self._announcer.note_query(nonce, received_us)

    def note_awaited(self, awaited: Awaited | None) -> None:
        """Note the attempt that awaits a ruling, for the board; called in the core's thread."""
        if self._pump is not None:
            self._pump.note_awaited(awaited)

    def _post_line_bet(self, seat: str, has: bool) -> None:
        if self._line_bet is not None:
            self._line_bet(seat, has)

    def _post_pair_plus(self, without: tuple[str, ...]) -> None:
        if self._pair_plus is not None:
            self._pair_plus(without)

    def _post_played(self, round_: int, seats: tuple[str, ...]) -> None:
        if self._played is not None:
            self._played(round_, seats)

    def _post_late_query(self, query: LateWagersQuery) -> bool:
        return self._query_late is not None and self._query_late(query)

    def _post_play_query(self, query: PlayQuery) -> bool:
        return self._query_play is not None and self._query_play(query)

    def _ask(self, nonce: str) -> bool:
        """Accept a query from the engine in this process; return False if the journal is not open yet."""
        if self._announcer is None:
            return False
        self._announcer.note_query(nonce)
        return True

    def note_durable(self, outcomes: Sequence[Row]) -> None:
        """Note outcomes that have become durable; called in the journal's thread."""
        if self._pump is not None and outcomes:
            self._pump.note_durable(outcomes)

    def start(self, watchdog: Watchdog, *, journal_verified: bool) -> None:
        """Start publishing if the outbox or, with `journal_verified`, the whole journal is verified."""
        pump = self._pump
        if pump is not None and not self._started and (journal_verified or self._verified):
            self._started = True
            pump.start()
            watchdog.watch("publish", lambda: pump.turns)

    def stop(self, timeout_s: float) -> bool:
        """Stop publishing; return False if a thread did not end in time."""
        return not (self._started and self._pump is not None) or self._pump.stop(timeout_s)

    def status(self) -> dict[str, object]:
        """Return the destination, whether the sink is ready, and the number of unacknowledged outcomes."""
        sink = self._sink
        to = self._settings.publish.to or ("embedded" if sink is not None else "nobody")
        fields: dict[str, object] = {
            "to": to,
            "ready": sink is not None and self._started and sink.ready,
        }
        if to == "mqtt":
            fields["engine_key"] = self._pin.key
        try:
            return {**fields, **self._waiting()}
        except JournalFault as fault:
            return {**fields, "unacknowledged": None, "says": str(fault)}

    def _waiting(self) -> dict[str, object]:
        if self._journal is None:
            return {"unacknowledged": None}
        with Reader(self._journal) as reader:
            oldest = next((row.seq for row in reader.outbox(1)), None)
            return {"unacknowledged": reader.outbox_size(), "oldest_seq": oldest}

    def _keep_pin(self, engine_key: bytes, by: str) -> None:
        assert self._key is not None, "no answer is accepted before the journal is open"
        with suppress(OSError):  # If the write fails, the table learns the key again at the next start.
            write_pin(self._pin_file, self._key, engine_key, by)

    def _read_enrolment(self) -> Enrolment:
        assert self._enrolment is not None, "no outcome is handed over before the journal is open"
        return self._enrolment
