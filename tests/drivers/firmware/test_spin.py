"""A spin sensed by the boards' own files, called by the daemon, and settled in its process."""

import os
import random
import select
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

pytest.importorskip("serial", reason="pyserial comes with the extra `hardware`")
pytest.importorskip("sqlalchemy", reason="SQLAlchemy comes with the extra `settlement`")

from controller.journal.keys import new_key
from controller.model.outcomes import SpinCalled
from controller.model.readings import BallBeam, BallDrop, Input, PocketBall, RotorIndex
from controller.settings.places import config_home
from controller.settings.tables import load_table
from controller.settlement_service.tokens import Tokens
from drivers.sim import wheel as spins
from drivers.sim.scenes import Feed
from tests.app.rig import Table, until
from tests.drivers.firmware.bench import MICROPYTHON, HostedBoard
from tests.drivers.node.test_reference_node import Cable
from tests.publish.broker import free_port
from tests.settlement_service.rig import House
from tests.settlement_service.service import ask

KEY = "000102030405060708090a0b0c0d0e0f"
CONSOLE = {
    "board": "console",
    "name": "console",
    "key": KEY,
    "keys": [{"pin": 2, "name": "no_more_bets", "by": "dealer"}],
    "switches": [{"pin": 3, "name": "key"}],
    "lamps": [{"pin": 4, "lamp": "lock", "lit_when": ["unlocked"]}],
}
NO_MORE_BETS = 2
BEAMS, INDEX, INDEX_B, POCKET, DROP = [2, 3, 4], 5, 6, 7, 8
WHEEL = {
    "board": "wheel",
    "name": "wheel",
    "beams": BEAMS,
    "index": INDEX,
    "index_b": INDEX_B,
    "pocket": POCKET,
    "drop": DROP,
}
CUT_US = 2_000
"""How long a beam, mark or ball darkens its sensor."""
PRESSED_US = 100_000
BETWEEN_MARKS_US = 15_000
"""From one index sensor to the other."""
LEAD_US = 2_000_000
"""From the first order to the first edge."""
SEED, PRINTED = 288, "22"
"""The shortest spin of 400 seeds whose bets the dealer closes: 31 s."""
CHIPS, STAKE = 100_000, 100
TOKEN = "a secret of this test's own"
NOISE = (b"\x00\xff\xfe", b"$wheel,$$$*~\n", b"\x03\x04>>>$", b"*FFFF\r\n")
LATENESS_MS = 1500
"""On a busy machine the boards speak late; their stamps stay right."""


class BadCable(Cable):
    """Carries bytes in ones and twos, with noise between sentences, and spoils one sentence in 20."""

    def __init__(self, name: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.spoiled = 0
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
            if byte == ord("\n") and self._random.random() < 0.05 and carried:
                carried[-1] ^= 0x01
                self.spoiled += 1
            carried.append(byte)
            if byte == ord("\n") and self._random.random() < 0.1:
                carried += self._random.choice(NOISE)
        return bytes(carried)

    def _drip(self, end: int, data: bytes) -> None:
        at = 0
        while at < len(data):
            at += os.write(end, data[at : at + self._random.choice((1, 2))])


@dataclass
class BoardTable(Table):
    """The daemon with the boards as its devices, and no other readings."""

    arguments: tuple[str, ...] = ("--no-self-test-devices",)

    def command(self) -> list[str]:
        """Give the command line."""
        paths = ["--journal", str(self.journal), "--socket", self.socket]
        return [
            *(sys.executable, "-m", "controller.cli.main", "run", self.name),
            *paths,
            *self.arguments,
        ]


class Place:
    """A roulette table of two boards, its daemon, and the till's way to the money."""

    def __init__(self, folder: Path) -> None:
        python = MICROPYTHON or sys.executable
        self.cables = {
            name: BadCable(folder / f"usb-{name}-if00", seed)
            for seed, name in enumerate(("wheel", "console"))
        }
        self.wheel = HostedBoard(folder / "wheel", python, WHEEL, self.cables["wheel"], ppm=60)
        almost_over = (1 << 32) - 20_000_000
        self.console = HostedBoard(
            folder / "console", python, CONSOLE, self.cables["console"], start_us=almost_over, ppm=-90
        )
        (folder / "journal").mkdir()
        new_key(folder / "journal" / "table.key")
        (folder / "console.key").write_text(KEY + "\n")
        (folder / "console.key").chmod(0o600)
        self.port = free_port()
        self.url = f"sqlite:///{folder}/journal/settlement.db"
        file = folder / "roulette.yaml"
        file.write_text(self._text(folder), encoding="utf-8")
        house = House(self.url)
        Tokens(house.engine).make("till", "staff", TOKEN)
        house.store.close()
        self.table = BoardTable(folder, name=str(file))
        self._asked = 0

    def _text(self, folder: Path) -> str:
        shipped = (config_home() / "tables" / "roulette.yaml").read_text(encoding="utf-8")
        before, rest = shipped.split("\ndevices:\n")
        after = rest[rest.index("\n# What an opened switch does") :]
        devices = f"""
devices:
  wheel:
    type: node
    node: wheel
    port: {self.cables["wheel"].name}
    firmware: [{self.wheel.firmware}]
    reads: [ball_beam, ball_drop, rotor_index, pocket_ball]
  console:
    type: node
    node: console
    port: {self.cables["console"].name}
    key_file: {folder / "console.key"}
    firmware: [{self.console.firmware}]
    reads: [input, switch]
"""
        where = f"{{embedded: {{api_port: {self.port}, word_wait_s: 60, database: '{self.url}'}}}}"
        return f"{before}{devices}{after}\npublish: {where}\nmax_lateness_ms: {LATENESS_MS}\n"

    def ask(self, method: str, path: str, body: object = None) -> object:
        """Ask the engine's API; None where nobody answers yet."""
        try:
            self._asked += 1
            return ask(self.port, method, path, body, token=TOKEN, key=f"k{self._asked}")[1]
        except OSError:
            return None

    def open(self) -> None:
        """Start the daemon, and wait until it plays."""
        self.table.start(watch=False)
        until(lambda: self.table.status()["lock"] == "unlocked", "the table to unlock with both boards up")
        until(lambda: self.ask("GET", "/health") is not None, "the engine's API")

    def bet(self, **wager: object) -> None:
        """Have ann bet a dollar."""
        body = {"id": f"b{self._asked}", "player": "ann", "amount": STAKE, **wager}
        answer = self.ask("POST", "/tables/roulette/wagers", body)
        assert isinstance(answer, dict)
        assert "balance" in answer, answer

    def well(self) -> bool:
        """Whether both boards are up."""
        devices = self.table.status()["devices"]
        assert isinstance(devices, dict)
        return all(device["up"] for device in devices.values())

    def close(self) -> None:
        """Leave nothing behind."""
        if self.table.process is not None:
            self.table.kill()
        self.wheel.close()
        self.console.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    made.close()


def pulses(feed: Feed) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """Return each edge that these sensors make of a spin, wheel's and console's: time, pin, level."""
    wheel: list[tuple[int, int, int]] = []
    console: list[tuple[int, int, int]] = []
    start_us = min(reading.t for _, reading in feed) - LEAD_US

    def dark(edges: list[tuple[int, int, int]], pin: int, t_us: int, for_us: int = CUT_US) -> None:
        edges.extend([(t_us - start_us, pin, 0), (t_us - start_us + for_us, pin, 1)])

    for _, reading in feed:
        match reading:
            case BallBeam(t=t, beam=beam):
                dark(wheel, BEAMS[beam], t)
            case RotorIndex(t=t, direction=direction):
                dark(wheel, INDEX, t)
                dark(wheel, INDEX_B, t + (BETWEEN_MARKS_US if direction == "cw" else -BETWEEN_MARKS_US))
            case BallDrop(t=t):
                dark(wheel, DROP, t)
            case PocketBall(t=t):
                dark(wheel, POCKET, t)
            case Input(t=t):
                dark(console, NO_MORE_BETS, t, PRESSED_US)
            case _:
                pass  # the boards have no such sensor
    return sorted(wheel), sorted(console)


@pytest.mark.live
def test_a_spin_is_played_by_the_boards_over_bad_cables_to_its_settlement(place: Place) -> None:
    shipped = load_table(str(config_home() / "tables" / "roulette.yaml")).wheel
    assert shipped is not None
    scene, feed = spins.spin("dealer_early_no_more_bets", random.Random(SEED), 1_000_000, wheel=shipped)
    assert scene.truth.number == PRINTED
    place.open()
    place.console.shown("out 4 1")
    place.ask("POST", "/players", {"player": "ann"})
    place.ask("POST", "/players/ann/deposits", {"cents": CHIPS})
    place.bet(wager="even")
    place.bet(wager="dozen", which=2)
    place.bet(wager="odd")
    until(place.well, "both boards to be up")
    wheel, console = pulses(feed)
    for board, edges in ((place.wheel, wheel), (place.console, console)):
        for after_us, pin, level in edges:
            board.drive(pin, level, after_us=after_us)

    def settled() -> bool:
        account = place.ask("GET", "/players/ann")
        return isinstance(account, dict) and account["wagers"] == [] and account["balance"] == CHIPS + STAKE

    until(settled, "the spin to be settled: two bets doubled, the third lost")
    assert all(cable.spoiled > 0 for cable in place.cables.values())
    assert place.table.terminate() == 0
    told = [msgspec.json.decode(row.body) for row in place.table.rows() if row.body and row.seq]
    assert [one["type"] for one in told if one["type"].startswith(("spin.", "bets."))] == [
        "bets.closed", "spin.called", "bets.opened",
    ]  # fmt: skip
    closed, called = (
        next(one for one in told if one["type"] == kind) for kind in ("bets.closed", "spin.called")
    )
    assert closed["data"]["cause"] == "dealer"
    assert msgspec.convert(called["data"], SpinCalled, strict=False).number == PRINTED
    house = House(place.url)
    assert house.proof().faults == ()
    house.store.close()
