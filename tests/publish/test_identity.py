"""Certificates, access lists and signatures restrict each table to its own name."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from controller.journal.keys import load_key, new_key
from controller.model.tables import MqttSettings, TlsSettings
from controller.publish.mqtt import MqttSink
from controller.publish.mqtt_link import (
    Connected,
    LinkEvent,
    MqttLink,
    Outgoing,
    Published,
    Received,
    Subscribed,
    tls_context,
)
from controller.publish.wire import access_list
from tests.journal.rig import NAME, Rig
from tests.publish.broker import Authority, Mosquitto, guarded, needs_mosquitto, running
from tests.publish.house import Books, House, Settlement, half, pinned, until

pytestmark = needs_mosquitto
OTHER = "table-8"
NOT_AUTHORIZED = 0x87


@dataclass
class Casino:
    """A broker with access control, its certificate authority, and two tables."""

    folder: Path
    broker: Mosquitto
    authority: Authority

    def settings(self, tls: TlsSettings) -> MqttSettings:
        return MqttSettings(host="localhost", port=self.broker.port, tls=tls)

    def house(self, tls: TlsSettings) -> House:
        def sink(house: House) -> MqttSink:
            return MqttSink(
                NAME, self.settings(tls), house.alarms, now_us=house.clock, random_fraction=half, pin=pinned()
            )

        return House(self.folder, sink)

    def settlement(self, house: House) -> Settlement:
        settings = self.settings(self.authority.files("settlement"))
        settlement = Settlement(settings, Books(key=house.rig.key.public))
        settlement.come()
        return settlement


@pytest.fixture
def casino(tmp_path: Path) -> Iterator[Casino]:
    authority = Authority(tmp_path)
    authority.files("localhost", "broker")
    allowed = access_list([NAME, OTHER], "settlement", staff=["pit"], players={"wall-7": NAME})
    (tmp_path / "acl").write_text(allowed, encoding="ascii")
    (tmp_path / "acl").chmod(0o600)
    with running(tmp_path, guarded()) as broker:
        yield Casino(tmp_path, broker, authority)


def test_a_table_with_its_certificate_is_settled_over_tls(casino: Casino) -> None:
    house = casino.house(casino.authority.files(NAME))
    settlement = casino.settlement(house)
    count = house.play(10)
    until(lambda: len(settlement.books.applied) == count, house.turn, settlement.turn)
    until(lambda: not house.waiting, house.turn, settlement.turn)
    assert not house.alarms.ever
    settlement.drop()
    house.close()


def test_a_certificate_of_another_authority_is_refused_and_reported(casino: Casino) -> None:
    elsewhere = casino.folder / "elsewhere-signed"
    elsewhere.mkdir()
    stranger = Authority(elsewhere, "stranger").files(NAME)
    house = casino.house(replace(stranger, ca=str(casino.authority.file)))
    house.play(3)
    until(lambda: "broker_refused" in house.alarms.holding, house.turn)
    assert not house.sink.ready
    assert house.waiting
    house.close()


def test_a_revoked_certificate_is_refused(casino: Casino) -> None:
    files = casino.authority.files(NAME)
    casino.authority.revoke(files.certificate)
    casino.broker.kill()
    casino.broker.start()
    house = casino.house(files)
    until(lambda: "broker_refused" in house.alarms.holding, house.turn)
    assert "revoked" in casino.broker.log
    house.close()


def test_a_missing_certificate_names_the_files(casino: Casino) -> None:
    files = casino.authority.files(NAME)
    house = casino.house(replace(files, key=files.key + ".gone"))
    until(lambda: "broker_files_bad" in house.alarms.holding, house.turn)
    assert ".gone" in str(house.alarms.holding["broker_files_bad"])
    Path(files.key).rename(files.key + ".gone")
    house.clock.forward(60)
    until(lambda: house.sink.ready, house.turn)
    assert not house.alarms.holding
    house.close()


def test_a_table_cannot_publish_for_another(casino: Casino) -> None:
    house = casino.house(casino.authority.files(OTHER))
    settlement = casino.settlement(house)
    count = house.play(3)
    until(
        lambda: "publish_refused" in house.alarms.holding and house.all_answered, house.turn, settlement.turn
    )
    assert "Not authorized" in str(house.alarms.holding["publish_refused"])
    house.clock.forward(121)
    until(lambda: "settlement_silent" in house.alarms.holding, house.turn, settlement.turn)
    assert not settlement.delivered
    assert len(house.waiting) == count
    settlement.drop()
    house.close()


def test_a_stranger_under_a_tables_client_id_disturbs_no_one_else(casino: Casino) -> None:
    house = casino.house(casino.authority.files(NAME))
    settlement = casino.settlement(house)
    until(lambda: house.sink.ready, house.turn)
    thief = open_link(casino, OTHER, client_id=NAME)
    count = house.play(5)
    until(lambda: len(settlement.books.applied) == count, house.turn, settlement.turn)
    assert house.sink.ready
    assert not house.alarms.ever
    thief.drop()
    settlement.drop()
    house.close()


def test_a_cloned_table_locks_the_true_one_and_is_not_trusted(casino: Casino, tmp_path: Path) -> None:
    house = casino.house(casino.authority.files(NAME))
    settlement = casino.settlement(house)
    count = house.play(5)
    until(lambda: len(settlement.books.applied) == count, house.turn, settlement.turn)
    until(lambda: not house.waiting, house.turn, settlement.turn)

    other = tmp_path / "clone"
    (other / "elsewhere").mkdir(parents=True)
    new_key(other / "key")
    clone = _clone(casino, Rig(other, load_key(other / "key")))
    clone.play(8)
    until(lambda: settlement.books.forged > 0, house.turn, clone.turn, settlement.turn)
    assert not house.sink.ready
    house.clock.forward(60)
    until(lambda: "identity_taken" in house.alarms.holding, house.turn, clone.turn, settlement.turn)
    assert house.alarms.holding["identity_taken"].kind.locks
    assert len(settlement.books.applied) == count
    clone.close()

    until(lambda: house.sink.ready and house.all_answered, house.turn)
    assert "identity_taken" in house.alarms.holding
    house.clock.forward(61)
    until(lambda: not house.alarms.holding, house.turn, settlement.turn)
    settlement.drop()
    house.close()


@pytest.mark.parametrize(
    ("name", "topic", "reads"),
    [
        ("settlement", f"tables/{NAME}/outcome", True),
        ("pit", f"tables/{NAME}/outcome", True),
        ("wall-7", f"tables/{NAME}/players", True),
        ("wall-7", f"tables/{NAME}/outcome", False),
        ("wall-7", f"tables/{OTHER}/players", False),
        (OTHER, f"tables/{NAME}/outcome", False),
        ("stranger", f"tables/{NAME}/players", False),
    ],
)
def test_each_client_reads_only_its_own_topics(casino: Casino, name: str, topic: str, reads: bool) -> None:
    reader = open_link(casino, name)
    subscribe(reader, topic)
    write(open_link(casino, NAME if topic.startswith(f"tables/{NAME}/") else OTHER), topic)
    # The broker delivers its confirmed messages before it answers the next request.
    seen = [happened for happened in subscribe(reader, "fence") if isinstance(happened, Received)]
    assert [happened.topic for happened in seen] == ([topic] if reads else [])
    reader.drop()


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        (NAME, f"tables/{NAME}/answer"),
        (NAME, f"tables/{OTHER}/status"),
        ("settlement", f"tables/{NAME}/outcome"),
        ("settlement", f"tables/{NAME}/status"),
        ("pit", f"tables/{NAME}/answer"),
        ("wall-7", f"tables/{NAME}/players"),
    ],
)
def test_each_client_writes_only_to_its_own_topics(casino: Casino, name: str, topic: str) -> None:
    assert write(open_link(casino, name), topic) == NOT_AUTHORIZED


def _clone(casino: Casino, rig: Rig) -> House:
    settings = casino.settings(casino.authority.files(NAME, "clone"))

    def sink(house: House) -> MqttSink:
        return MqttSink(NAME, settings, house.alarms, now_us=house.clock, random_fraction=half, pin=pinned())

    return House(rig.folder, sink, rig=rig)


def open_link(casino: Casino, name: str, client_id: str = "") -> MqttLink:
    settings = casino.settings(casino.authority.files(name, f"{name}-again"))
    assert settings.tls is not None
    link = MqttLink(settings, client_id or name, tls_context(settings.tls))
    link.open()
    until_answered(link, Connected)
    return link


def subscribe(link: MqttLink, topic: str) -> list[LinkEvent]:
    """Subscribe; return all events up to the broker's answer."""
    link.subscribe(topic)
    return until_answered(link, Subscribed)


def write(link: MqttLink, topic: str) -> int:
    """Publish once to this topic; return the broker's reason code."""
    link.publish(Outgoing(topic, b"{}"))
    answer = until_answered(link, Published)[-1]
    assert isinstance(answer, Published)
    link.drop()
    return answer.code


def until_answered(link: MqttLink, kind: type) -> list[LinkEvent]:
    """Return all events up to an answer of this kind."""
    happened: list[LinkEvent] = []
    until(lambda: any(isinstance(one, kind) for one in happened), lambda: happened.extend(link.turn()))
    return happened
