"""Players and watchers learn nothing early during a live spin or deal, over a real broker."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from controller.app.hub import TIMING
from controller.cli.journal_source import RemoteJournal
from controller.cli.link import conversation
from controller.cli.main import main
from controller.model.readings import AnyReading, BallBeam
from controller.model.tables import MqttSettings
from controller.publish.mqtt_link import Connected, MqttLink, Received, Subscribed
from controller.replay.log import open_log
from controller.replay.source import LogError
from drivers.sim.wheel import AMERICAN, simulate
from tests.app.rig import Json, Table, lines_of, tick, until
from tests.app.test_card_tables import FOLDS, HANDS, NO_MORE_BETS, PLAYS, SEATS, cards
from tests.app.test_daemon import kinds
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.scenes import SECOND_US

pytestmark = needs_mosquitto
TIMED = frozenset(kind.__struct_config__.tag for kind in TIMING)


class Display:
    """A players' display, which subscribes to the public topics of one table."""

    def __init__(self, broker: Mosquitto, table: str) -> None:
        self.table = table
        self.seen: list[Json] = []
        self._subscribed = False
        self._topic = f"tables/{table}/players"
        # The client runs only while a test polls it, so it can't send keep-alives.
        settings = MqttSettings(host="localhost", port=broker.port, keepalive_s=3600)
        self._link = MqttLink(settings, "display", None)
        self._link.open()
        until(lambda: self._look() and self._subscribed, "the display to be subscribed")

    def types(self) -> list[object]:
        """Return the type of each received message, in order."""
        self._look()
        return [message["type"] for message in self.seen]

    def _look(self) -> bool:
        for happened in self._link.turn():
            if isinstance(happened, Connected):
                self._link.subscribe(self._topic)
            elif isinstance(happened, Subscribed):
                self._subscribed = True
            elif isinstance(happened, Received):
                self.seen.append(msgspec.json.decode(happened.payload, type=Json))
        return True

    def close(self) -> None:
        self._link.drop()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


@pytest.fixture
def display(request: pytest.FixtureRequest, broker: Mosquitto) -> Iterator[Display]:
    """Yield a display for the table that the test names."""
    display = Display(broker, request.param)
    yield display
    display.close()


@pytest.fixture
def table(tmp_path: Path, broker: Mosquitto, display: Display) -> Iterator[Table]:
    """Yield the table that the test names, open and unlocked."""
    table = Table(tmp_path / "table", name=display.table)
    table.publish = f"{{to: mqtt, mqtt: {{host: 127.0.0.1, port: {broker.port}}}}}"
    table.folder.mkdir()
    table.start()
    table.unlock()
    table.feed([tick(SECOND_US)])
    until(lambda: table.status()["lock"] == "unlocked", "play to begin")
    yield table
    table.kill()


def fed(table: Table, readings: Sequence[AnyReading], after_us: int = 0) -> None:
    """Feed readings at their times, then advance time by `after_us`."""
    table.feed(lines_of((reading.t, reading) for reading in readings))
    table.feed([tick(readings[-1].t + after_us)])


@pytest.mark.parametrize("display", ["three-card"], indirect=True)
def test_T_DEAL_3_no_card_is_published_before_its_deal_is_decided_and_a_folded_hand_never(
    table: Table, display: Display
) -> None:
    dealt = [card for _, hand in HANDS for card in hand.split()]
    fed(table, [SEATS, NO_MORE_BETS, *cards(), PLAYS], SECOND_US // 2)
    until(lambda: "bets.closed" in display.types(), "bets.closed at the display")
    until(
        lambda: "deal" in str(table.status()["next"]) and table.status()["attempt_open"] is True, "the deal"
    )
    assert not any(card in str(message) for message in display.seen for card in dealt)

    fed(table, [FOLDS], 2 * SECOND_US)
    until(lambda: "deal.called" in display.types(), "deal.called at the display")
    called = display.types().index("deal.called")
    assert not any(card in str(message) for message in display.seen[:called] for card in dealt)
    shown = str(display.seen[called]["data"])
    by_seat = dict(HANDS)
    assert all(card in shown for seat in ("1", "dealer") for card in by_seat[seat].split())
    assert not any(card in str(message) for message in display.seen for card in by_seat["2"].split())


@pytest.mark.parametrize("display", ["roulette"], indirect=True)
def test_R_SPIN_3_while_bets_are_open_the_timing_of_ball_and_rotor_is_not_published(
    table: Table, display: Display, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[Json] = []
    ready = threading.Event()

    def listen() -> None:
        for line in conversation(table.socket, {"do": "watch", "topics": ["readings"]}):
            ready.set()
            heard.append(line)

    threading.Thread(target=listen, daemon=True).start()
    assert ready.wait(60)
    _, feed, _ = simulate(4, {"valid": 1.0}, 1, wheel=AMERICAN)
    beams = [n for n, (_, reading) in enumerate(feed) if isinstance(reading, BallBeam)]
    launched = beams[4] + 1
    table.feed(lines_of(feed[:launched], 10 * SECOND_US))
    now_us = feed[launched - 1][0] + 10 * SECOND_US
    table.feed([tick(now_us + 1)])
    until(lambda: any(reported.get("t") == now_us + 1 for reported in readings(heard)), "the last reading")
    assert table.status()["attempt_open"] is True
    assert "bets.closed" not in kinds(table)
    assert not [reported for reported in readings(heard) if reported["kind"] in TIMED]
    assert set(display.types()) <= {"table.opened", "table.unlocked", "table.locked", "bets.opened"}

    name = str(table.status()["recording"])
    until(
        lambda: beams_in(table.journal / "recordings" / f"{name}.jsonl.gz") == 5, "the launch to be recorded"
    )
    assert beams_in(RemoteJournal(table.socket).recording(name)) == 0
    assert main(["explain", "--socket", table.socket]) == 1
    assert "can be read only after bets have closed" in capsys.readouterr().err

    table.feed(lines_of(feed[launched:], 10 * SECOND_US))
    table.feed([tick(feed[-1][0] + 20 * SECOND_US)])
    until(lambda: "spin.called" in display.types(), "spin.called at the display")
    until(
        lambda: any(reported["kind"] == "ball_beam" for reported in readings(heard)),
        "the ball readings at the technician",
    )
    until(lambda: beams_in(RemoteJournal(table.socket).recording(name)) == len(beams), "the spin's recording")
    spins = [message for message in display.seen if str(message["type"]).startswith(("spin.", "bets."))]
    allowed = {"spin", "number", "colour", "grade", "round"}
    assert all(set(dict(message["data"])) <= allowed for message in spins)  # type: ignore[call-overload]  # JSON


def beams_in(log: Path) -> int:
    """Return the number of ball passages in a recording; 0 if the recording does not exist yet."""
    try:
        with open_log(str(log)) as recorded:
            return sum(isinstance(reading, BallBeam) for reading in recorded)
    except LogError:
        return 0


def readings(heard: Sequence[Json]) -> list[Json]:
    return [msgspec.convert(line["reading"], Json) for line in list(heard) if "reading" in line]
