"""Table, broker and engine in separate processes, stopped and resumed at critical moments of a throw.

A cheat sees the dice at rest and sends many bets on them before the stopped processes learn the result. He
also takes back a bet that has lost. Every accepted bet must be for the next roll or be returned.
"""

import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from threading import Event, Thread

import pytest

from controller.journal.keys import load_key, new_key
from controller.model.readings import Face
from controller.settings.places import config_home
from controller.settlement_service.http_requests import Tokens
from tests.app.rig import PATIENCE_S, Table, lines_of, tick, until
from tests.app.test_daemon import kinds
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.scenes import SECOND_US, throw
from tests.settlement_service.rig import House
from tests.settlement_service.service import Service, ask

pytestmark = needs_mosquitto
TOKEN = "a secret of this test's own"
SEVEN: tuple[Face, Face] = (3, 4)
ELEVEN: tuple[Face, Face] = (6, 5)
DECIDED = ("roll.called", "roll.corrected")


def now_us() -> int:
    return time.monotonic_ns() // 1000


def posted(wager: dict[str, object], *, last: bool) -> bytes:
    """Encode a bet as an HTTP request; the connection ends after the last."""
    body = json.dumps(wager).encode()
    head = (
        f"POST /tables/craps/wagers HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Idempotency-Key: {wager['id']}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: {'close' if last else 'keep-alive'}\r\n\r\n"
    )
    return head.encode() + body


class Hall:
    """A craps table, its broker and its engine in separate processes, with an honest player and a cheat."""

    def __init__(self, folder: Path, broker: Mosquitto) -> None:
        self.broker = broker
        self.url = f"sqlite:///{folder}/settlement.db"
        text = (config_home() / "tables" / "craps.yaml").read_text(encoding="utf-8")
        where = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {broker.port}}}, retry_s: 0.5}}"
        file = folder / "table.yaml"
        file.write_text(
            text.replace("\ncalls: confirm", "\ncalls: automatic") + f"\npublish: {where}\n", encoding="utf-8"
        )
        arguments = ("--no-self-test-devices", "--unlock", "person")
        self.table = Table(folder, name=str(file), arguments=arguments)
        self.table.journal.mkdir()
        new_key(self.table.journal / "table.key")
        self.engine = Service(folder, self.url, broker.port, ("--word-wait", "5"))
        self.asked = 0
        house = House(self.url)
        Tokens(house.engine).make("till", "staff", TOKEN)
        key = load_key(self.table.journal / "table.key").public.raw
        house.engine.enrol("craps", "craps-12-034", key)
        for player in ("honest", "cheat"):
            house.player(player, 100_000)
        house.store.close()

    def begin(self) -> None:
        """Start all three, and wait until the first bet is accepted."""
        self.engine.start()
        self.play()

    def play(self) -> None:
        self.table.start()
        self.table.unlock()
        self.table.feed([tick(now_us())])

    # --- requests ---

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, object]:
        self.asked += 1
        return ask(self.engine.port, method, path, body, token=TOKEN, key=f"k{self.asked}")

    def bets(self, player: str, wager: str) -> str:
        """Bet a dollar, repeat until the bet is accepted, and return its id."""
        granted: list[str] = []

        def taken() -> bool:
            bet = self.wager(player, wager)
            if self.ask("POST", "/tables/craps/wagers", bet)[0] == 200:
                granted.append(str(bet["id"]))
            return bool(granted)

        until(taken, "a bet to be accepted")
        return granted[0]

    def wager(self, player: str, wager: str) -> dict[str, object]:
        self.asked += 1
        return {"id": f"b{self.asked}", "player": player, "wager": wager, "amount": 100}

    def cheat(self, lost: str) -> list[Thread]:
        """Bet on the visible seven, singly and pipelined, and take back the bet that has lost."""
        deeds: list[Callable[[], object]] = [
            lambda: self.pipelined([self.wager("cheat", "any7") for _ in range(4)]),
            *(
                lambda: self.ask("POST", "/tables/craps/wagers", self.wager("cheat", "any7"))
                for _ in range(2)
            ),
            lambda: self.ask("POST", f"/tables/craps/wagers/{lost}/changes", {"do": "remove"}),
        ]
        threads = [Thread(target=deed, daemon=True) for deed in deeds]
        for thread in threads:
            thread.start()
        return threads

    def pipelined(self, wagers: Sequence[dict[str, object]]) -> None:
        """Send requests without waiting for answers, then read all answers."""
        with self.connected() as link:
            for n, wager in enumerate(wagers, 1):
                link.sendall(posted(wager, last=n == len(wagers)))
            while link.recv(65_536):
                pass

    def connected(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.engine.port), PATIENCE_S)

    def results(self, player: str) -> dict[str, str]:
        """Return the status of each of a player's decided wagers."""
        status, answer = self.ask("GET", f"/players/{player}/results?limit=500")
        assert status == 200, answer
        assert isinstance(answer, list)
        lines = [one["line"] for one in answer]
        return {str(line["id"]): str(line["status"]) for line in lines}

    # --- the game ---

    def throws(self, faces: tuple[Face, Face] = SEVEN) -> None:
        """Throw the dice now, sending each reading at its time."""
        pause = Event()
        start_us = now_us() + SECOND_US // 10
        for reading in throw(start_us, faces):
            pause.wait(max(0.0, (reading.t - now_us()) / SECOND_US))
            self.table.feed(lines_of([(reading.t, reading)]))

    def held_back(self) -> list[bytes]:
        """Return the readings of a seven that a cable delays until the dice are at rest."""
        readings = throw(now_us(), SEVEN)
        Event().wait((readings[-1].t - now_us()) / SECOND_US)
        return lines_of((reading.t, reading) for reading in readings)

    def decided(self, before: int, faces: tuple[Face, Face] = SEVEN) -> None:
        """Wait until one more roll is decided; if it went to review, rule on it as the boxperson."""

        def is_over() -> bool:
            published = kinds(self.table)
            if sum(published.count(kind) for kind in DECIDED) > before:
                return True
            if self.table.status()["awaited"] is not None:
                self.table.enter("set_dice", dice=list(faces))
            return False

        until(is_over, lambda: f"the roll to be decided: {kinds(self.table)}")

    @property
    def rolls(self) -> int:
        return sum(kinds(self.table).count(kind) for kind in DECIDED)

    def agree(self) -> None:
        """Wait until the engine has settled every published outcome."""

        def settled() -> bool:
            status = self.table.status()
            following, publish = status["next"], status["publish"]
            tables = self.ask("GET", "/tables")[1]
            assert isinstance(following, dict)
            assert isinstance(publish, dict)
            assert isinstance(tables, list)
            return bool(tables[0]["next_seq"] == following["seq"] and publish["unacknowledged"] == 0)

        until(settled, "the engine to settle all published outcomes")

    def stop(self, who: str) -> None:
        os.kill(self._pid(who), signal.SIGSTOP)

    def go_on(self, who: str) -> None:
        os.kill(self._pid(who), signal.SIGCONT)

    def _pid(self, who: str) -> int:
        processes = {
            "table": self.table.process,
            "broker": self.broker.process,
            "engine": self.engine.process,
        }
        process = processes[who]
        assert process is not None
        return process.pid

    def close(self) -> None:
        if self.table.process is not None:
            self.table.kill()
        self.engine.close()
        house = House(self.url)
        assert house.proof().faults == ()
        house.store.close()


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hall]:
    folder = tmp_path_factory.mktemp("hall")
    with running(folder) as broker:
        hall = Hall(folder, broker)
        hall.begin()
        yield hall
        hall.close()


STANDSTILLS: tuple[tuple[str, ...], ...] = (
    ("table",),
    ("engine",),
    ("broker",),
    ("table", "broker"),
    ("engine", "table"),
)


def test_whichever_process_stands_still_around_a_throw_no_bet_counts_on_dice_at_rest(hall: Hall) -> None:
    for who in STANDSTILLS:
        wins, loses = hall.bets("honest", "any7"), hall.bets("cheat", "any_craps")
        before = hall.rolls
        for one in who:
            hall.stop(one)
        if "table" in who:
            hall.table.feed(hall.held_back())
        else:
            hall.throws()
        cheating = hall.cheat(loses)
        for one in who:
            hall.go_on(one)
        cheating += hall.cheat(loses)
        hall.decided(before)
        for thread in cheating:
            thread.join(PATIENCE_S)
        hall.agree()
        assert hall.results("honest")[wins] == "win", who
        cheat = hall.results("cheat")
        assert cheat[loses] == "lose", (who, cheat)
        assert "win" not in cheat.values(), (who, cheat)
        # An accepted bet is for the next roll, which loses it.
        hall.throws(ELEVEN)
        hall.decided(before + 1, ELEVEN)
        hall.agree()


def test_a_bet_completed_once_the_dice_are_at_rest_does_not_count_for_that_roll(hall: Hall) -> None:
    before = hall.rolls
    request = posted(hall.wager("cheat", "any7"), last=True)
    with hall.connected() as link:
        link.sendall(request[:-20])
        hall.throws()
        link.sendall(request[-20:])
        while link.recv(65_536):
            pass
    hall.decided(before)
    hall.agree()
    assert "win" not in hall.results("cheat").values()


@pytest.mark.parametrize("restarts", [False, True], ids=["the cable alone", "and the table restarts"])
def test_a_throw_held_back_by_a_cable_pays_no_bet_made_after_it(hall: Hall, restarts: bool) -> None:
    wins = hall.bets("honest", "any7")
    before, held = hall.rolls, hall.held_back()
    late = hall.bets("cheat", "any7")
    if restarts:
        hall.table.kill()
        hall.play()
    hall.table.feed(held)
    if restarts:
        until(lambda: "table_locked" in str(hall.table.published), "the throw to be refused")
        assert hall.table.enter("set_dice", dice=list(SEVEN), wait_s=30)["ok"] is False
    else:
        hall.decided(before)
    hall.agree()
    assert "win" not in hall.results("cheat").values()
    assert (hall.results("honest").get(wins), hall.results("cheat").get(late)) == (
        (None, None) if restarts else ("win", "void")
    )
