"""Runs a daemon with boards on bad cables as its devices, and the settlement engine in its process."""

import os
import random
import select
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from controller.journal.keys import new_key
from controller.settings.places import config_home
from controller.settlement_service.http_requests import Tokens
from tests.app.rig import Table, until
from tests.drivers.firmware.bench import MICROPYTHON, HostedBoard
from tests.drivers.node.test_reference_node import Cable
from tests.publish.broker import free_port
from tests.settlement_service.rig import House
from tests.settlement_service.service import ask

CHIPS = 100_000
STAKE = 100
TOKEN = "a secret of this test's own"
NOISE = (b"\x00\xff\xfe", b"$wheel,$$$*~\n", b"\x03\x04>>>$", b"*FFFF\r\n")
LATENESS_MS = 1500
"""Longer than the default, because boards on a busy machine send readings late. Timestamps remain correct."""


class BadCable(Cable):
    """A cable that carries 1, 2 or 64 bytes at a time, with noise between sentences.

    Until `whole` is set, the cable corrupts one sentence in 20. A corrupted sentence must be repeated within
    60 ms, or the attempt goes to review. A busy machine might miss this limit, so attempts are played over a
    cable without corruption.
    """

    def __init__(self, name: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.spoiled = 0
        self.whole = False
        super().__init__(name)

    def _carry(self) -> None:
        ways = {self._table: self._node, self._node: self._table}
        while True:
            for end in select.select([*ways, self._waking], [], [])[0]:
                if end == self._waking:
                    return
                with suppress(OSError):  # the other end is not open yet
                    self._drip(ways[end], self._worsened(os.read(end, 4096)))

    def _worsened(self, data: bytes) -> bytes:
        carried = bytearray()
        for byte in data:
            if byte == ord("\n") and carried and not self.whole and self._random.random() < 0.05:
                carried[-1] ^= 0x01
                self.spoiled += 1
            carried.append(byte)
            if byte == ord("\n") and self._random.random() < 0.1:
                carried += self._random.choice(NOISE)
        return bytes(carried)

    def _drip(self, end: int, data: bytes) -> None:
        at = 0
        while at < len(data):
            at += os.write(end, data[at : at + self._random.choice((1, 2, 64))])


@dataclass(frozen=True)
class Fitted:
    """A board at the table, with its settings, its clock, and its entry in the table's file."""

    settings: Mapping[str, object]
    reads: Sequence[str]
    start_us: int = 0
    ppm: int = 0
    wall: str = ""


@dataclass
class BoardTable(Table):
    """A daemon whose only devices are the boards."""

    arguments: tuple[str, ...] = ("--no-self-test-devices",)

    def command(self) -> list[str]:
        paths = ["--journal", str(self.journal), "--socket", self.socket]
        return [
            *(sys.executable, "-m", "controller.cli.main", "run", self.name),
            *paths,
            *self.arguments,
        ]


MAX_ATTEMPTS = 5
"""Maximum number of attempts, each at a new table. If a busy machine delays a board's process, the readings
arrive too late and the attempt goes to review."""


class Place:
    """A table of boards with its daemon and accounts. `game` is the name of a shipped table."""

    def __init__(self, folder: Path, game: str, fitted: Sequence[Fitted]) -> None:
        self.game = game
        self.boards: dict[str, HostedBoard] = {}
        self.cables: dict[str, BadCable] = {}
        self._folder = folder
        (folder / "journal").mkdir()
        new_key(folder / "journal" / "table.key")
        devices = "".join(self._fit(seed, board) for seed, board in enumerate(fitted))
        self.port = free_port()
        self.url = f"sqlite:///{folder}/journal/settlement.db"
        file = folder / f"{game}.yaml"
        file.write_text(self._text(devices), encoding="utf-8")
        house = House(self.url)
        Tokens(house.engine).make("till", "staff", TOKEN)
        house.store.close()
        self.table = BoardTable(folder, name=str(file))
        self._asked = 0

    def _fit(self, seed: int, fitted: Fitted) -> str:
        name = str(fitted.settings["name"])
        cable = self.cables[name] = BadCable(self._folder / f"usb-{name}-if00", seed)
        board = self.boards[name] = HostedBoard(
            self._folder / name,
            MICROPYTHON or sys.executable,
            fitted.settings,
            cable,
            start_us=fitted.start_us,
            ppm=fitted.ppm,
        )
        lines = [f"type: node\n    node: {name}", f"port: {cable.name}", f"firmware: [{board.firmware}]"]
        lines.append(f"reads: [{', '.join(fitted.reads)}]")
        if key := fitted.settings.get("key"):
            file = self._folder / f"{name}.key"
            file.write_text(f"{key}\n")
            file.chmod(0o600)
            lines.append(f"key_file: {file}")
        if fitted.wall:
            lines.append(f"wall: {fitted.wall}")
        return f"  {name}:\n    " + "\n    ".join(lines) + "\n"

    def _text(self, devices: str) -> str:
        shipped = (config_home() / "tables" / f"{self.game}.yaml").read_text(encoding="utf-8")
        before, rest = shipped.split("\ndevices:\n")
        after = rest[rest.index("\n# What happens when a switch opens") :]
        where = f"{{embedded: {{api_port: {self.port}, word_wait_s: 60, database: '{self.url}'}}}}"
        return f"{before}\ndevices:\n{devices}{after}\npublish: {where}\nmax_lateness_ms: {LATENESS_MS}\n"

    def ask(self, method: str, path: str, body: object = None) -> object:
        """Send a request to the engine's API; return None if the engine does not answer yet."""
        try:
            self._asked += 1
            return ask(self.port, method, path, body, token=TOKEN, key=f"k{self._asked}")[1]
        except OSError:
            return None

    def open(self) -> None:
        """Start the daemon, wait until the table is unlocked and every cable has corrupted a sentence, and
        give the player ann chips.
        """
        self.table.start(watch=False)
        until(lambda: self.table.status()["lock"] == "unlocked", "the table to unlock with all boards up")
        until(lambda: self.ask("GET", "/health") is not None, "the engine's API")
        until(lambda: all(cable.spoiled > 0 for cable in self.cables.values()), "sentences to be corrupted")
        for cable in self.cables.values():
            cable.whole = True
        self.ask("POST", "/players", {"player": "ann"})
        self.ask("POST", "/players/ann/deposits", {"cents": CHIPS})

    def bet(self, **wager: object) -> None:
        body = {"id": f"b{self._asked}", "player": "ann", "amount": STAKE, **wager}
        answer = self.ask("POST", f"/tables/{self.game}/wagers", body)
        assert isinstance(answer, dict)
        assert "balance" in answer, answer

    def is_healthy(self) -> bool:
        devices = self.table.status()["devices"]
        assert isinstance(devices, dict)
        return all(device["up"] for device in devices.values())

    def outcomes(self, *kinds: str) -> list[dict[str, object]]:
        """Return the outcomes whose types begin with these texts, in order."""
        outcomes = [msgspec.json.decode(row.body) for row in self.table.rows() if row.body and row.seq]
        return [outcome for outcome in outcomes if outcome["type"].startswith(kinds)]

    def settled(self) -> int | None:
        """Wait for the settlement and return ann's balance in cents; None if the attempt went to review."""
        account: dict[str, object] = {}
        reviewed = False

        def decided() -> bool:
            nonlocal reviewed
            types = {str(one["type"]).partition(".")[2] for one in self.outcomes("spin.", "roll.")}
            assert types <= {"called", "review"}, self.table.status()["devices"]
            if reviewed := "review" in types:
                return True
            found = self.ask("GET", "/players/ann")
            assert isinstance(found, dict)
            account.update(found)
            return account["wagers"] == []

        until(decided, "ann's bets to be settled")
        return None if reviewed else msgspec.convert(account["balance"], int)

    def close(self) -> None:
        if self.table.process is not None:
            self.table.kill()
        for board in self.boards.values():
            board.close()


def new_places(folder: Path, game: str, boards: Sequence[Fitted]) -> Generator[Place, None, None]:
    """Yield new tables, one after another. Each table is closed before the next one is created."""
    for number in range(MAX_ATTEMPTS):
        (folder / str(number)).mkdir()
        with closing(Place(folder / str(number), game, boards)) as place:
            yield place


def first_called(places: Iterator[Place], play: Callable[[Place], int | None]) -> tuple[Place, int]:
    """Play at new tables until an attempt is called; return the table and ann's balance in cents."""
    for place in places:
        cents = play(place)
        if cents is not None:
            return place, cents
    raise AssertionError(f"each of {MAX_ATTEMPTS} attempts went to review")


def books_are_consistent(url: str) -> bool:
    house = House(url)
    faults = house.proof().faults
    house.store.close()
    return faults == ()
