"""An evening for money: a real daemon is fed what sensors saw, players bet over HTTP, and all is settled."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from controller.engine.session import Session
from controller.engine.setup import Setup
from controller.journal.keys import load_key, new_key
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, Switch
from controller.settings.places import config_home
from controller.settings.tables import load_table
from controller.settlement_service.tokens import Tokens
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
"""Says what is bet after an outcome of this type, when so many were made before."""
Mishap = Callable[["Evening"], None]


@dataclass
class Evening:
    """One table, its evening, and its engine: in the daemon itself, or behind a broker."""

    folder: Path
    shipped: str
    feed: Feed
    punter: Punter
    ruleset: str = ""
    length_mm: float | None = None
    broker: Mosquitto | None = None
    mishaps: dict[int, Mishap] = field(default_factory=dict)
    """What goes wrong before a part of the evening, by its number."""
    told: list[Outcome] = field(default_factory=list)
    """What the readings come to by the engine alone."""
    made: int = 0
    asked: int = 0

    def __post_init__(self) -> None:
        """Make the table's file, its key, the database and a token."""
        self.journal = self.folder / "journal"
        self.journal.mkdir()
        new_key(self.journal / "table.key")
        self.port = free_port()
        where = f"{{embedded: {{api_port: {self.port}}}}}"
        if self.broker is not None:
            where = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {self.broker.port}}}, retry_s: 0.5}}"
        file = self.folder / f"{self.shipped}.yaml"
        file.write_text(f"{self._text()}\npublish: {where}\n", encoding="utf-8")
        self.settings = load_table(str(file))
        self.name = self.settings.table
        arguments = ("--data-time", "--no-self-test-devices")
        self.table = Table(self.folder, name=str(file), arguments=arguments)
        self.url = f"sqlite:///{self.journal}/settlement.db"
        house = self.house()
        Tokens(house.engine).make("till", "staff", TOKEN)
        self.service: Service | None = None
        if self.broker is not None:
            key = load_key(self.journal / "table.key").public.raw
            house.engine.enrol(self.name, self.settings.rules.name, key)
            self.service = Service(self.folder, self.url, self.broker.port, port=self.port)
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
        """Open the engine's database; nobody else may have it."""
        return House(self.url)

    # --- the evening ---

    def play(self) -> None:
        """Play it all, settle it all, and stop in order."""
        if self.service is not None:
            self.service.start()
        self.start()
        self.ask("POST", "/players", {"player": "ann"})
        self.ask("POST", "/players/ann/deposits", {"cents": CHIPS})
        self.bet("bets.opened")
        for number, (part, told) in enumerate(self.parts()):
            if number in self.mishaps:
                self.mishaps[number](self)
            following = self.next_seq() + len(told)
            self.table.feed(lines_of(part))
            self.told += told
            self.settled(following)
            if told:
                self.bet(told[-1].type)
        assert self.table.terminate() == 0
        if self.service is not None:
            assert self.service.terminate() == 0

    def start(self) -> None:
        """Start the daemon, and let time run until it has unlocked itself."""
        self.table.start(watch=False)
        now_us = 0

        def unlocked() -> bool:
            nonlocal now_us
            now_us += 1000
            self.table.feed([tick(now_us)])
            status = self.table.status()
            if "identity_changed" in str(status["faults"]):
                self.table.ask(do="approve", what="identity")  # a program that was edited since is fine
            return status["lock"] == "unlocked"

        until(unlocked, "the table to unlock itself")
        until(lambda: self.ask("GET", "/health") is not None, "the engine's API")
        until(self.agree, "the engine to have settled what was told before")

    def settled(self, following: int) -> None:
        """Wait until the table has told all up to this next number, and the engine has settled all of it."""
        until(lambda: self.next_seq() == following, f"outcome {following} to be the next, {self.table.log}")
        until(self.agree, "the engine to settle what was told")

    def next_seq(self) -> int:
        """Give the number of the table's next outcome."""
        following = self.table.status()["next"]
        assert isinstance(following, dict)
        assert isinstance(following["seq"], int)
        return following["seq"]

    def agree(self) -> bool:
        """Whether the engine has settled the newest outcome, and the outbox is empty."""
        publish, tables = self.table.status()["publish"], self.ask("GET", "/tables")
        assert isinstance(publish, dict)
        settled = isinstance(tables, list) and [table["next_seq"] for table in tables] == [self.next_seq()]
        return settled and publish["unacknowledged"] == 0

    def bet(self, after: str) -> None:
        """Let the punter bet."""
        for wager in self.punter(after, self.made):
            self.made += 1
            bet = {"id": f"b{self.made}", "player": "ann", "amount": 100, **wager}
            answer = self.ask("POST", f"/tables/{self.name}/wagers", bet)
            assert isinstance(answer, dict)
            assert "balance" in answer, answer

    def ask(self, method: str, path: str, body: object = None) -> object:
        """Ask the engine's API; None where nobody answers."""
        try:
            self.asked += 1
            return ask(self.port, method, path, body, token=TOKEN, key=f"k{self.asked}")[1]
        except OSError:
            return None

    def parts(self) -> Iterator[tuple[list[tuple[int, AnyReading]], list[Outcome]]]:
        """Give the evening in parts, each up to where bets open or close, with what it comes to."""
        settings = self.settings
        session = Session(
            Setup(
                table=self.name,
                ruleset=settings.rules,
                dice_table=settings.dice_table,
                wheel=settings.wheel,
                calls=settings.calls,
            )
        )
        part: list[tuple[int, AnyReading]] = []
        told: list[Outcome] = []
        for arrived_us, reading in self.feed:
            part.append((arrived_us, reading))
            effects = session.feed(msgspec.structs.replace(reading, arrived=arrived_us))
            new = [effect for effect in effects if isinstance(effect, Outcome)]
            told += new
            if any(outcome.type in ("bets.opened", "bets.closed") for outcome in new):
                yield part, told
                part, told = [], []
        rest = [*session.finish()]
        end_us = self.feed[-1][0] + 20_000_000
        last = Switch(t=end_us, dev="feed", name="tick", open=False)
        yield [*part, (end_us, last)], [*told, *(effect for effect in rest if isinstance(effect, Outcome))]

    # --- what goes wrong ---

    def kill_table(self) -> None:
        """Kill the daemon, and start it again."""
        self.table.kill()
        self.start()

    def kill_engine(self) -> None:
        """Kill the engine, and start it again."""
        assert self.service is not None
        self.service.kill()
        self.service.start()

    def kill_broker(self) -> None:
        """Kill the broker with its sessions, and start it again."""
        assert self.broker is not None
        self.broker.kill()
        self.broker.start()

    def close(self) -> None:
        """Leave nothing behind."""
        if self.table.process is not None:
            self.table.kill()
        if self.service is not None:
            self.service.close()


def proved(evening: Evening) -> dict[str, int]:
    """Prove the money; give the player's balance, and what is at risk, in the rake and in the Bonus Pot."""
    house = evening.house()
    proof = house.proof()
    kinds = {"ann": "player:ann"} | {kind: f"{kind}:{evening.name}" for kind in KINDS}
    balances = {kind: house.balance(account) for kind, account in kinds.items()}
    house.store.close()
    assert proof.faults == ()
    assert sum(proof.accounts.values()) == 0
    return balances
