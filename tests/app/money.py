"""A session with money: a fed daemon, players who bet over HTTP, and an engine that settles the wagers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import msgspec

from controller.engine.resume import OpenAttempts
from controller.engine.session import Session
from controller.journal.keys import load_key, new_key
from controller.machines.agenda import NEVER_US
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Switch
from controller.settings.places import config_home
from controller.settings.tables import load_table
from controller.settlement_service.http_requests import Tokens
from drivers.sim.scenes import Feed
from tests.app.rig import Table, lines_of, tick, until
from tests.publish.broker import Mosquitto, free_port
from tests.settlement_service.rig import House
from tests.settlement_service.service import Service, ask

CHIPS = 1_000_000
KINDS = ("at_risk", "rake", "bonus_pot")
TOKEN = "a secret of this test's own"
Wager = dict[str, object]
Punter = Callable[[str, int], list[Wager]]
"""A function that returns the wagers after an outcome of this type, given the number of earlier wagers."""
Mishap = Callable[["MoneySession"], None]
TICKS = "clock"
"""Device name of two ticks that only advance time; the first is processed when the second is read."""
REST_US = 400_000
"""Time without a reading after which no reading or call is pending in the engine."""
TO_THE_END_US = 20_000_000
JUDGED_US = 121_000
"""Age at which readings and inputs are final, because no earlier one can still arrive."""


class Part(NamedTuple):
    """A part of a session: readings with their arrival times, and the resulting outcomes.

    `opens` is the number of readings and of outcomes with which the part has begun an attempt.
    """

    feed: Feed
    published: list[Outcome]
    opens: tuple[int, int] = (0, 0)


def with_rests(feed: Feed) -> Iterator[tuple[int, AnyReading]]:
    """Insert ticks at each rest, so that no part depends on the next part's readings."""
    ends = [arrived_us for arrived_us, _ in feed[1:]]
    for (arrived_us, reading), next_us in zip(feed, [*ends, NEVER_US], strict=True):
        yield arrived_us, reading
        rests_us = arrived_us + (TO_THE_END_US if next_us == NEVER_US else REST_US)
        if rests_us < next_us:
            for t, name in ((rests_us - 1, "tick"), (rests_us, "rest")):
                yield t, Switch(t=t, dev=TICKS, name=name, open=False)


@dataclass
class MoneySession:
    """A table, its session of play, and its engine inside the daemon or behind a broker."""

    folder: Path
    shipped: str
    feed: Feed
    punter: Punter
    ruleset: str = ""
    length_mm: float | None = None
    broker: Mosquitto | None = None
    database: str = ""
    """The URL of the engine's database; if empty, an SQLite file in the journal's folder."""
    mishaps: dict[int, Mishap] = field(default_factory=dict)
    """The failures before each part of the session, by the part's number."""
    breaks: frozenset[str] = frozenset({"bets.opened"})
    """The outcome types after which a part ends at the next rest."""
    breaks_at_once: frozenset[str] = frozenset({"bets.closed"})
    published: list[Outcome] = field(default_factory=list)
    """The outcomes that an engine session derives from the readings."""
    made: int = 0
    asked: int = 0

    def __post_init__(self) -> None:
        """Create the table's file and key, the database and a token."""
        self.journal = self.folder / "journal"
        self.journal.mkdir()
        new_key(self.journal / "table.key")
        self.port = free_port()
        self.url = self.database or f"sqlite:///{self.journal}/settlement.db"
        where = f"{{embedded: {{api_port: {self.port}, word_wait_s: 60, database: '{self.url}'}}}}"
        if self.broker is not None:
            where = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {self.broker.port}}}, retry_s: 0.5}}"
        file = self.folder / f"{self.shipped}.yaml"
        file.write_text(f"{self._text()}\npublish: {where}\n", encoding="utf-8")
        self.settings = load_table(str(file))
        self.name = self.settings.table
        self._coming: list[Part] = []
        self._session = self._session_from(NextNumbers(), State())
        self._parts = self._played_apart()
        arguments = ("--data-time", "--no-self-test-devices")
        self.table = Table(self.folder, name=str(file), arguments=arguments)
        house = self.house()
        Tokens(house.engine).make("till", "staff", TOKEN)
        self.service: Service | None = None
        if self.broker is not None:
            key = load_key(self.journal / "table.key").public.raw
            house.engine.enrol(self.name, self.settings.rules.name, key)
            self.service = Service(
                self.folder, self.url, self.broker.port, ("--word-wait", "60"), port=self.port
            )
        house.store.close()

    def _text(self) -> str:
        text = (config_home() / "tables" / f"{self.shipped}.yaml").read_text(encoding="utf-8")
        text = text.replace("\ncalls: confirm", "\ncalls: automatic")
        if self.ruleset:
            text = text.replace("\nruleset: ", f"\nruleset: {self.ruleset}  # ", 1)
        if self.length_mm:
            text = text.replace("length_mm: 2400", f"length_mm: {self.length_mm:g}")
        return text

    def house(self) -> House:
        """Open the engine's database, which no other process may have open."""
        return House(self.url)

    # --- the session ---

    def play(self) -> None:
        """Play the whole session, settle it, and stop in order."""
        if self.service is not None:
            self.service.start()
        self.start()
        self.ask("POST", "/players", {"player": "ann"})
        self.ask("POST", "/players/ann/deposits", {"cents": CHIPS})
        self.bet("bets.opened")
        for number in count():
            if number in self.mishaps:
                self.mishaps[number](self)
            part = self._coming.pop(0) if self._coming else self._next_part()
            if part is None:
                break
            self.play_part(part)
            if part.published:
                self.bet(part.published[-1].type)
        assert self.table.terminate() == 0
        if self.service is not None:
            assert self.service.terminate() == 0

    def start(self) -> None:
        """Start the daemon and advance time until the table has unlocked itself."""
        self.table.start(watch=False)
        now_us = 0

        def unlocked() -> bool:
            nonlocal now_us
            now_us += 1000
            self.table.feed([tick(now_us)])
            status = self.table.status()
            if "identity_changed" in str(status["faults"]):
                self.table.ask(do="approve", what="identity")  # the program may have been edited since
            return status["lock"] == "unlocked"

        until(unlocked, "the table to unlock itself")
        until(lambda: self.ask("GET", "/health") is not None, "the engine's API")
        until(self.agree, "the engine to have settled all published outcomes")

    def play_part(self, part: Part) -> None:
        """Feed a part, and wait until its outcomes are published and settled."""
        following = self.next_seq() + len(part.published)
        self.table.feed(lines_of(part.feed))
        self.published += part.published
        last_us = part.feed[-1][0] if part.feed else 0

        def published() -> bool:
            return self.next_seq() == following and self.status("table_time_us") == last_us

        until(published, f"outcome {following} to be the next, {self.table.log}")
        self.settled()

    def settled(self) -> None:
        """Wait until all decided outcomes are on the disk and settled."""

        def written() -> bool:
            journal = self.status("journal")
            assert isinstance(journal, dict)
            waiting = journal["waiting"]
            return isinstance(waiting, int) and not waiting

        until(written, "the rows to be on the disk")
        until(self.agree, "the engine to settle all published outcomes")

    def status(self, word: str) -> object:
        return self.table.status()[word]

    def next_seq(self) -> int:
        """Return the sequence number of the table's next outcome."""
        following = self.table.status()["next"]
        assert isinstance(following, dict)
        assert isinstance(following["seq"], int)
        return following["seq"]

    def agree(self) -> bool:
        """Return whether the engine has settled the newest outcome and the outbox is empty."""
        publish, tables = self.table.status()["publish"], self.ask("GET", "/tables")
        assert isinstance(publish, dict)
        settled = isinstance(tables, list) and [table["next_seq"] for table in tables] == [self.next_seq()]
        return settled and publish["unacknowledged"] == 0

    def bet(self, after: str) -> None:
        for wager in self.punter(after, self.made):
            self.made += 1
            bet = {"id": f"b{self.made}", "player": "ann", "amount": 100, **wager}
            path = f"/tables/{self.name}/wagers"
            if wager["wager"] == "play":
                answer = self._time_runs_while(partial(self.ask, "POST", path, bet))
            else:
                answer = self.ask("POST", path, bet)
            assert isinstance(answer, dict)
            assert "balance" in answer, answer

    def _time_runs_while(self, asks: Callable[[], object]) -> object:
        """Send a request, and advance time after its arrival, because Play waits for earlier readings."""
        answers: list[object] = []
        heard = self._readings()
        asking = Thread(target=lambda: answers.append(asks()), daemon=True)
        asking.start()
        until(lambda: bool(answers) or self._readings() > heard, "the table to receive Play")
        at_us = self.status("table_time_us")
        assert isinstance(at_us, int)
        self.table.feed([tick(at_us + JUDGED_US)])
        until(lambda: bool(answers), "the answer to Play")
        return answers[0]

    def _readings(self) -> int:
        readings = self.status("readings")
        assert isinstance(readings, int)
        return readings

    def ask(self, method: str, path: str, body: object = None) -> object:
        """Send a request to the engine's API; return None if the engine does not respond."""
        try:
            self.asked += 1
            return ask(self.port, method, path, body, token=TOKEN, key=f"k{self.asked}")[1]
        except OSError:
            return None

    def _next_part(self) -> Part | None:
        return next(self._parts, None)

    def _session_from(self, first: NextNumbers, state: State) -> Session:
        settings = self.settings
        return Session(
            Setup(
                table=self.name,
                ruleset=settings.rules,
                first=first,
                state=state,
                dice_table=settings.dice_table,
                wheel=settings.wheel,
                calls=settings.calls,
            )
        )

    def _played_apart(self) -> Iterator[Part]:
        """Split the session into parts, which end when bets close or at a rest after one of `breaks`."""
        progress = OpenAttempts(NextNumbers())
        part, due = Part([], []), False
        for arrived_us, reading in with_rests(self.feed):
            part.feed.append((arrived_us, reading))
            effects = self._session.feed(msgspec.structs.replace(reading, arrived=arrived_us))
            new = [effect for effect in effects if isinstance(effect, Outcome)]
            part.published.extend(new)
            for outcome in new:
                progress.follow(outcome)
            in_attempt = progress.open_before(self._session.first())
            if in_attempt and part.opens == (0, 0):
                part = part._replace(opens=(len(part.feed), len(part.published)))
            due = due or any(outcome.type in self.breaks for outcome in new)
            rests = isinstance(reading, Switch) and reading.name == "rest" and not in_attempt
            if (due and rests) or any(outcome.type in self.breaks_at_once for outcome in new):
                yield part
                part, due = Part([], []), False
        if part.feed:
            yield part

    # --- failures ---

    def kill_table(self) -> None:
        """Kill and restart the daemon at rest. Earlier calls can then no longer be corrected."""
        self._session = self._session_from(self._session.first(), self._session.state())
        self._kill()

    def _kill(self) -> None:
        self.table.kill()
        self.start()

    def cut_off(self) -> None:
        """Kill the daemon during the next part's attempt, and void that attempt.

        Play continues at the journal's end, which includes all inputs up to the last rest, and the attempt is
        repeated. If bets reopen at the end of a void attempt, the first reading of the repetition closes
        them.
        """
        part = self._next_part()
        assert part is not None
        feed, published, (readings, outcomes) = part
        # When the tick is processed, the journal has recorded the start of the attempt.
        tick_us = feed[readings - 1][0] + 1
        last = Switch(t=tick_us, dev=TICKS, name="tick", open=False)
        self.play_part(Part([*feed[:readings], (tick_us, last)], published[:outcomes]))
        assert self.status("attempt_open")
        self._kill()
        reopens = self.settings.rules.game == "three_card"
        seq = self.next_seq()
        assert self.table.enter("misdeal" if reopens else "no_roll", by="dealer")["ok"]
        until(lambda: self.next_seq() == seq + 1 + reopens, "the ruling")
        self.settled()
        rest = max((at for at in range(readings - 1) if feed[at][1].dev == TICKS), default=-1)
        closing = [each for each in self.published if each.type == "bets.closed"][-1:] if reopens else []
        if reopens:
            self._coming = [
                Part([*feed[rest + 1 : readings], (tick_us, last)], closing),
                Part(feed[readings:], published[outcomes:]),
            ]
        else:
            self._coming = [Part(feed[rest + 1 :], published[outcomes:])]

    def kill_engine(self) -> None:
        assert self.service is not None
        self.service.kill()
        self.service.start()

    def kill_broker(self) -> None:
        """Kill and restart the broker; its sessions are lost."""
        assert self.broker is not None
        self.broker.kill()
        self.broker.start()

    def close(self) -> None:
        if self.table.process is not None:
            self.table.kill()
        if self.service is not None:
            self.service.close()


def proved(session: MoneySession) -> dict[str, int]:
    """Check the money; return the balance, and the amounts at risk, in the rake and in the Bonus Pot."""
    house = session.house()
    proof = house.proof()
    kinds = {"ann": "player:ann"} | {kind: f"{kind}:{session.name}" for kind in KINDS}
    balances = {kind: house.balance(account) for kind, account in kinds.items()}
    house.store.close()
    assert proof.faults == ()
    assert sum(proof.accounts.values()) == 0
    return balances
