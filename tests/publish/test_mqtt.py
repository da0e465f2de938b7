"""Every outcome takes effect once and in order over a real broker, even if the broker fails."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from controller.journal.contents import CLOSED
from controller.journal.reading import Reader
from controller.model.tables import MqttSettings, PublishSettings
from controller.publish.events import PlayerEvent, TableStatus
from controller.publish.identity import check_acknowledgements
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import Connected, MqttLink, Outgoing, Received, Subscribed
from tests.journal.rig import NAME
from tests.publish.broker import PLAIN, Mosquitto, needs_mosquitto, running
from tests.publish.house import ENGINE_KEY, PATIENCE_S, House, Settlement, half, pinned, until

pytestmark = needs_mosquitto


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


def local(broker: Mosquitto) -> MqttSettings:
    return MqttSettings(host="localhost", port=broker.port)


@pytest.fixture
def houses() -> Iterator[list[House]]:
    houses: list[House] = []
    yield houses
    for house in houses:
        house.close()


@pytest.fixture
def house(tmp_path: Path, broker: Mosquitto, houses: list[House]) -> House:
    return open_house(tmp_path, broker, houses)


def open_house(
    folder: Path, broker: Mosquitto, houses: list[House], settings: PublishSettings | None = None
) -> House:
    def sink(house: House) -> MqttSink:
        return MqttSink(
            NAME, local(broker), house.alarms, now_us=house.clock, random_fraction=half, pin=pinned()
        )

    house = House(folder, sink, settings)
    houses.append(house)
    return house


@pytest.fixture
def settlement(broker: Mosquitto) -> Iterator[Settlement]:
    settlement = Settlement(local(broker))
    settlement.come()
    yield settlement
    settlement.drop()


def settle_all(house: House, settlement: Settlement, count: int, *, turn_s: float = 0.0) -> None:
    """Run until the outbox is empty, and check that every outcome took effect once and in order.

    Each turn takes `turn_s`, because the request for a lost answer is repeated only after a delay.
    """
    turns = (house.turn, settlement.turn, lambda: house.clock.forward(turn_s))
    until(lambda: len(settlement.books.applied) >= count, *turns)
    until(lambda: not house.waiting, *turns)
    assert settlement.books.seqs == list(range(1, count + 1))
    assert house.pump.unacknowledged == 0


def test_a_session_is_settled_once_and_in_order(house: House, settlement: Settlement) -> None:
    count = house.play(30)
    settle_all(house, settlement, count)
    assert settlement.delivered == count
    assert not house.alarms.ever


def test_a_broker_that_is_away_for_minutes_only_delays_settlement(
    house: House, settlement: Settlement, broker: Mosquitto
) -> None:
    until(lambda: house.sink.ready, house.turn)
    broker.kill()
    settlement.drop()
    count = house.play(20)
    for _ in range(20):
        house.clock.forward(30)
        house.turn()
    assert {"broker_unreachable", "settlement_silent"} <= set(house.alarms.holding)
    broker.start()
    settlement.come()
    house.clock.forward(60)
    settle_all(house, settlement, count)
    house.turn()
    assert not house.alarms.holding


def test_a_broker_killed_with_its_sessions_loses_no_outcome(
    house: House, settlement: Settlement, broker: Mosquitto
) -> None:
    count = house.play(30)
    until(lambda: len(settlement.books.applied) >= 10, house.turn, settlement.turn)
    broker.kill()
    settlement.drop()
    until(lambda: not house.sink.ready, house.turn)
    broker.start()
    settlement.come()
    assert not settlement.remembered
    house.clock.forward(60)
    settle_all(house, settlement, count)


def test_outcomes_dropped_by_a_full_queue_at_the_broker_are_sent_again(
    tmp_path: Path, houses: list[House]
) -> None:
    with running(tmp_path, PLAIN + "max_queued_messages 5\nmax_inflight_messages 1\n") as broker:
        settlement = Settlement(local(broker))
        settlement.come()
        settlement.drop()
        house = open_house(tmp_path, broker, houses)
        count = house.play(30)
        until(lambda: house.sink.ready, house.turn)
        house.send_again()
        assert "publish_refused" not in house.alarms.ever, (
            "the broker must confirm messages that it then drops"
        )
        settlement.come()
        assert settlement.remembered
        until(lambda: len(settlement.books.applied) == count, house.offer_again_now, settlement.turn)
        settle_all(house, settlement, count)
        assert settlement.books.holes
        settlement.drop()


def test_an_outcome_too_large_for_the_broker_is_reported_and_not_sent(
    tmp_path: Path, houses: list[House]
) -> None:
    with running(tmp_path, PLAIN + "max_packet_size 1500\n") as broker:
        house = open_house(tmp_path, broker, houses)
        count = house.play(3)
        until(lambda: "publish_refused" in house.alarms.holding and house.all_answered, house.turn)
        assert house.sink.ready, "a packet that is too large would end the connection"
        assert len(house.waiting) == count


def test_a_slow_engine_is_not_flooded(
    tmp_path: Path, broker: Mosquitto, houses: list[House], settlement: Settlement
) -> None:
    house = open_house(tmp_path, broker, houses, PublishSettings(max_in_flight=4))
    count = house.play(10)
    while len(settlement.books.applied) < count:
        for _ in range(50):
            house.turn()
        assert settlement.delivered <= len(settlement.books.applied) + 4
        settlement.turn()
    settle_all(house, settlement, count)
    assert settlement.delivered == count


def test_a_broker_that_stops_responding_is_disconnected_and_found_again(
    house: House, settlement: Settlement, broker: Mosquitto
) -> None:
    count = house.play(30)
    until(lambda: len(settlement.books.applied) >= 5, house.turn, settlement.turn)
    broker.freeze()
    for _ in range(20):
        house.clock.forward(1)
        house.turn()
    assert not house.sink.ready
    assert "broker_unreachable" in house.alarms.holding
    broker.thaw()
    house.clock.forward(60)
    settle_all(house, settlement, count)
    assert not house.alarms.holding


def test_acknowledgements_may_come_in_any_order(house: House, settlement: Settlement) -> None:
    settlement.holds_back = 7
    count = house.play(30)
    until(lambda: len(settlement.books.applied) >= count - 8, house.turn, settlement.turn)
    settlement.holds_back = 0
    house.clock.forward(60)
    settle_all(house, settlement, count, turn_s=0.1)


def test_repeated_outcomes_have_their_effect_once(house: House, settlement: Settlement) -> None:
    count = house.play(30)
    until(lambda: house.sink.ready, house.turn)
    for _ in range(3):
        house.send_again()
    settle_all(house, settlement, count)
    assert settlement.books.repeats
    assert not house.alarms.holding


def test_an_engine_restored_from_a_backup_receives_again_what_it_had_acknowledged(
    house: House, settlement: Settlement
) -> None:
    first = house.play(20)
    settle_all(house, settlement, first)
    del settlement.books.applied[5:]
    assert house.play_on() > first
    settle_all(house, settlement, len(house.rig.published))
    assert settlement.books.holes


def test_an_engine_that_was_never_started_is_distinguished_from_one_that_is_away(
    house: House, broker: Mosquitto
) -> None:
    count = house.play(5)
    until(lambda: "settlement_absent" in house.alarms.holding and house.all_answered, house.turn)
    settlement = Settlement(local(broker))
    settlement.come()
    house.clock.forward(60)
    settle_all(house, settlement, count)
    assert not house.alarms.holding
    settlement.drop()


def test_an_invalid_answer_changes_nothing(house: House, settlement: Settlement) -> None:
    until(lambda: house.sink.ready, house.turn)
    assert settlement.link is not None
    for payload in (b"", b"\xff", b"{}", b"[" * 5000, b'{"answer":"acknowledged","id":"x"}', b"x" * 5000):
        settlement.link.publish(Outgoing(f"tables/{NAME}/answer", payload))
    until(lambda: "answer_unreadable" in house.alarms.holding, house.turn, settlement.turn)
    count = house.play(5)
    settle_all(house, settlement, count)
    house.clock.forward(61)
    until(lambda: not house.alarms.holding, house.turn)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("answer_unreadable", '{"answer":"%s"}'),
        (
            "answer_forged",
            '{"answer":"again","told":1,"from_seq":1,"by":"%s","signature":"' + "0" * 128 + '"}',
        ),
    ],
)
def test_the_sender_of_an_answer_is_shown_in_printable_form(
    code: str, answer: str, house: House, settlement: Settlement
) -> None:
    until(lambda: house.sink.ready, house.turn)
    assert settlement.link is not None
    sender = r"\u001b[2J\n\u202e" + "x" * 190
    settlement.link.publish(Outgoing(f"tables/{NAME}/answer", (answer % sender).encode()))
    until(lambda: code in house.alarms.holding, house.turn, settlement.turn)
    found = house.alarms.holding[code].found
    assert found.isprintable()
    assert r"\x1b[2J\n\u202exxx" in found
    assert len(found) < 500


def test_an_acknowledgement_of_another_chain_closes_nothing(house: House, settlement: Settlement) -> None:
    settlement.forges_chain = True
    count = house.play(5)
    until(lambda: len(settlement.books.applied) == count, house.turn, settlement.turn)
    until(lambda: "journal_ack_differs" in house.rig.alarms, house.turn, settlement.turn)
    assert len(house.waiting) == count
    settlement.forges_chain = False
    house.clock.forward(60)
    settle_all(house, settlement, count)


class Display:
    """A display that subscribes to the table's topics."""

    def __init__(self, settings: MqttSettings, name: str, topic: str) -> None:
        self.link = MqttLink(settings, name, None)
        self.link.open()
        self.topic = topic
        self.seen: list[bytes] = []
        self.subscribed = False
        until(lambda: self.subscribed, self.turn)

    def turn(self) -> None:
        for happened in self.link.turn():
            if isinstance(happened, Connected):
                self.link.subscribe(self.topic)
            elif isinstance(happened, Subscribed):
                self.subscribed = True
            elif isinstance(happened, Received):
                self.seen.append(happened.payload)


def test_players_receive_each_result_once_and_in_order_however_often_settlement_does(
    house: House, settlement: Settlement, broker: Mosquitto
) -> None:
    display = Display(local(broker), "wall-7", f"tables/{NAME}/players")
    count = house.play(20)
    until(lambda: house.sink.ready, house.turn)
    for _ in range(3):
        house.send_again()
    settle_all(house, settlement, count)
    published = [event.seq for event in settlement.books.applied if event.type != "input.refused"]
    until(lambda: len(display.seen) >= len(published), house.turn, display.turn)
    seen = [int(msgspec.json.decode(payload, type=PlayerEvent).sequence) for payload in display.seen]
    assert seen == published
    assert settlement.books.repeats
    display.link.drop()


def test_the_broker_keeps_the_tables_status_and_publishes_when_the_table_is_gone(
    house: House, broker: Mosquitto
) -> None:
    def status_of(display: Display) -> TableStatus:
        until(lambda: bool(display.seen), house.turn, display.turn)
        return msgspec.json.decode(display.seen.pop(), type=TableStatus)

    count = house.play(5)
    until(lambda: house.sink.ready, house.turn)
    house.headline = "locked: the drop box door is open"
    house.clock.forward(2)
    house.turn()
    until(lambda: house.idle, house.turn)
    display = Display(local(broker), "pit", "tables/+/status")
    now = status_of(display)
    assert (now.state, now.headline, now.unacknowledged, now.sequence) == (
        "online",
        house.headline,
        count,
        count,
    )
    sink = house.sink
    assert isinstance(sink, MqttSink)
    assert sink._link is not None
    sink._link.drop()
    until(lambda: bool(display.seen), display.turn)
    assert status_of(display) == TableStatus(table=NAME, state="offline", headline="connection lost")
    until(lambda: not sink.ready, house.turn)
    house.clock.forward(60)
    assert status_of(display).state == "online"
    sink.leave()
    until(lambda: bool(display.seen), display.turn)
    assert msgspec.json.decode(display.seen.pop(), type=TableStatus).headline == "stopped"
    display.link.drop()


def test_pump_and_sink_run_in_threads_and_end_on_request(house: House, settlement: Settlement) -> None:
    count = house.play(10)
    house.pump.start()
    until(lambda: len(settlement.books.applied) == count, settlement.turn)
    until(lambda: not house.waiting, settlement.turn)
    assert house.pump.stop(PATIENCE_S)
    assert not house.alarms.ever


def test_a_broker_elsewhere_needs_certificates(tmp_path: Path, house: House) -> None:
    with pytest.raises(ValueError, match=r"no `tls` is set for the broker at 192\.0\.2\.1"):
        MqttSink(
            NAME,
            MqttSettings(host="192.0.2.1"),
            house.alarms,
            now_us=house.clock,
            random_fraction=half,
            pin=pinned(),
        )


@pytest.mark.parametrize("name", ["", "a/b", "+", "table #7", "x" * 65])
def test_a_name_that_cannot_be_a_topic_is_refused(house: House, name: str) -> None:
    with pytest.raises(ValueError, match="expected 1 to 64 letters"):
        MqttSink(
            name,
            MqttSettings(host="localhost"),
            house.alarms,
            now_us=house.clock,
            random_fraction=half,
            pin=pinned(),
        )


def test_the_acknowledgement_that_closed_an_outcome_is_kept_as_signed(
    house: House, settlement: Settlement
) -> None:
    count = house.play(10)
    settle_all(house, settlement, count)
    with Reader(house.rig.place.journal) as reader:
        checked = check_acknowledgements(reader.rows(types={CLOSED}))
    assert checked == (count, 0, (ENGINE_KEY.public.raw.hex(),), ())
