"""Old and new releases together. A pair that cannot guarantee the betting window reports a fault."""

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from controller.model.tables import MqttSettings
from controller.publish.events import (
    MAX_ANSWER_BYTES,
    MAX_EARLIER,
    Acknowledgement,
    Answer,
    LineBet,
    PairPlus,
    PlayPlaced,
    ProgressReport,
    TableStatus,
    answer_bytes,
    endorse,
)
from controller.publish.identity import Pin, read_pin, write_pin
from controller.publish.mqtt import MqttSink
from controller.publish.sink import Acknowledged
from controller.publish.wire import ANSWER, EVENT, STATEMENT, sign_message
from controller.settlement_service.faults import RequestRefused
from controller.settlement_service.key import EngineKey, engine_key, rotate
from tests.publish.broker import Mosquitto, needs_mosquitto, running
from tests.publish.house import ENGINE_KEY, Alarms, Clock, half, pinned
from tests.settlement_service.rig import House, SealedTable, key_in
from tests.settlement_service.test_consuming import Line

ACK = Acknowledgement(id="wheel-1/1/1", chain="0f" * 32, by="settlement")
_unsigned = msgspec.json.Encoder().encode


class StrangersKey:
    """The key of another client that may write to the broker."""

    def sign(self, link: bytes) -> bytes:
        """Sign with this key."""
        return Ed25519PrivateKey.from_private_bytes(b"\x09" * 32).sign(link)


Heard = tuple[MqttSink, Alarms, list[object]]
Sink = Callable[[Pin], Heard]


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Yield a function that makes a table's sink with its alarms and its received messages."""
    made: list[MqttSink] = []

    def make(pin: Pin) -> Heard:
        alarms, heard = Alarms(), list[object]()
        settings = MqttSettings(host="localhost")
        made.append(MqttSink("wheel-1", settings, alarms, now_us=Clock(), random_fraction=half, pin=pin))
        made[-1].report_to(heard.append)
        return made[-1], alarms, heard

    yield make
    for one in made:
        one.leave()


def _with_the_signature_first(signed: bytes) -> bytes:
    """Move the last member of a signed message to the front."""
    text, _, signature = signed[1:-1].rpartition(b",")
    return b"{" + signature + b"," + text + b"}"


@pytest.mark.parametrize(
    "forged",
    [
        sign_message(_unsigned(ACK), STATEMENT, ENGINE_KEY),
        sign_message(_unsigned(ACK), EVENT, ENGINE_KEY),
        sign_message(answer_bytes(ACK, ENGINE_KEY), ANSWER, StrangersKey()),
        answer_bytes(ACK, StrangersKey()),
        answer_bytes(ACK, ENGINE_KEY).replace(b'"settlement"', b'"Settlement"'),
        answer_bytes(ACK, ENGINE_KEY).replace(b"wheel-1/1/1", b"wheel-1/1/2"),
        answer_bytes(ACK, ENGINE_KEY).replace(b'":"', b'": "', 1),
        answer_bytes(ACK, ENGINE_KEY)[:-3] + b'0"}',
        _with_the_signature_first(answer_bytes(ACK, ENGINE_KEY)),
    ],
    ids=["word", "event", "twice", "stranger", "by", "id", "blank", "bit", "place"],
)
def test_a_message_that_the_engine_did_not_sign_as_an_answer_closes_nothing(
    sink: Sink, forged: bytes
) -> None:
    """The signature is that of another purpose or another key, or the contents have changed."""
    table, alarms, heard = sink(pinned())
    table._handle_answer(forged)
    assert heard == []
    assert set(alarms.holding) == {"answer_forged"}


def test_a_new_table_with_an_old_engine_closes_nothing_and_stops_play(sink: Sink) -> None:
    """An engine without a key would accept bets in the order of arrival."""
    table, alarms, heard = sink(Pin())
    table._handle_answer(_unsigned(ACK))
    assert heard == []
    assert alarms.holding["answer_unsigned"].kind.locks


def test_once_an_engine_has_signed_an_unsigned_answer_is_ignored_as_forged(sink: Sink) -> None:
    table, alarms, heard = sink(Pin(ENGINE_KEY.public.raw))
    table._handle_answer(_unsigned(ACK))
    assert heard == []
    assert set(alarms.holding) == {"answer_forged"}
    assert not alarms.holding["answer_forged"].kind.locks


def test_an_answer_under_another_key_or_with_a_changed_bit_closes_nothing(tmp_path: Path, sink: Sink) -> None:
    table, alarms, heard = sink(Pin(ENGINE_KEY.public.raw))
    table._handle_answer(answer_bytes(ACK, key_in(tmp_path)))
    true = answer_bytes(ACK, ENGINE_KEY)
    for at in range(40, len(true), 11):
        table._handle_answer(bytes([*true[:at], true[at] ^ 1, *true[at + 1 :]]))
    assert not any(isinstance(one, Acknowledged) for one in heard)
    assert "answer_forged" in alarms.ever
    table._handle_answer(true)
    assert len(heard) == 1


def test_a_tables_own_messages_do_not_pass_for_an_engines_answer(tmp_path: Path, sink: Sink) -> None:
    """The table's key signs for another purpose."""
    key = key_in(tmp_path)
    table, alarms, heard = sink(Pin(key.public.raw))
    event = SealedTable("wheel-1", key).close_bets()
    table._handle_answer(event)
    assert heard == []
    assert set(alarms.ever) == {"answer_unreadable"}


def meeting(key: EngineKey) -> bytes:
    answer: Answer = ProgressReport(
        table="wheel-1",
        sequence=0,
        chain=None,
        key=key.public,
        endorsed=key.endorsed,
        earlier=key.earlier,
        by="settlement",
    )
    return answer_bytes(answer, key.key)


def test_the_first_key_shown_is_kept_and_another_is_refused(tmp_path: Path, sink: Sink) -> None:
    kept: list[bytes] = []
    pin = Pin(None, lambda key, _by: kept.append(key))
    table, alarms, _ = sink(pin)
    first = engine_key(tmp_path / "a.key", {})
    table._handle_answer(meeting(first))
    assert kept == [first.key.public.raw]
    table._handle_answer(meeting(engine_key(tmp_path / "b.key", {})))
    assert pin.key == first.public
    assert "answer_forged" in alarms.holding


def test_a_signed_answer_before_the_engine_has_reported_its_key_is_ignored_without_a_fault(
    tmp_path: Path, sink: Sink
) -> None:
    """The broker may deliver an answer that it queued while an older release of the table was running."""
    engine = engine_key(tmp_path / "a.key", {})
    table, alarms, heard = sink(Pin())
    queued = answer_bytes(ACK, engine.key)
    table._handle_answer(queued)
    assert heard == []
    assert not alarms.ever
    table._handle_answer(meeting(engine))
    table._handle_answer(queued)
    assert isinstance(heard[-1], Acknowledged)
    assert not alarms.ever


def test_a_rotated_key_is_trusted_if_the_previous_one_signed_it(tmp_path: Path, sink: Sink) -> None:
    first = engine_key(tmp_path / "a.key", {})
    pin = Pin(first.key.public.raw)
    table, alarms, heard = sink(pin)
    second = rotate(tmp_path / "a.key")
    assert second.public != first.public
    table._handle_answer(meeting(second))
    assert pin.key == second.public
    table._handle_answer(answer_bytes(ACK, second.key))
    assert isinstance(heard[-1], Acknowledged)
    assert heard[-1].ack.id == ACK.id
    assert heard[-1].proof.key == second.public
    table._handle_answer(answer_bytes(ACK, first.key))
    assert "answer_forged" in alarms.holding


def test_no_progress_report_from_before_a_rotation_restores_an_older_key(tmp_path: Path, sink: Sink) -> None:
    """The report was genuine when it was sent, and a thief may have the replaced keys."""
    path = tmp_path / "a.key"
    engines = [engine_key(path, {}), rotate(path), rotate(path)]
    pin = Pin(engines[0].key.public.raw)
    table, alarms, heard = sink(pin)
    shown = [meeting(engine) for engine in engines]
    for one in (shown[2], shown[1], shown[0], shown[1], shown[2]):
        table._handle_answer(one)
        assert pin.key == engines[2].public
    for thief in engines[:2]:
        table._handle_answer(answer_bytes(ACK, thief.key))
    assert not any(isinstance(one, Acknowledged) for one in heard)
    assert "answer_forged" in alarms.holding


def test_no_recombination_of_a_genuine_answers_parts_closes_an_outcome(sink: Sink) -> None:
    table, _, heard = sink(pinned())
    genuine, chance = answer_bytes(ACK, ENGINE_KEY), Random(5)
    members = genuine[1:-1].split(b",")
    pieces = (
        b"{",
        b"}",
        b",",
        b" ",
        b"\xef\xbb\xbf",
        b'"id":"wheel-1/1/2"',
        b'"\\u0069d":"wheel-1/1/2"',
        *members,
    )
    for _ in range(1000):
        mixed = bytearray(genuine)
        for _ in range(chance.randint(1, 3)):
            at, way = chance.randrange(len(mixed) + 1), chance.random()
            if way < 0.6:
                mixed[at:at] = chance.choice(pieces)
            elif way < 0.8:
                del mixed[at : at + chance.randint(1, 40)]
            else:
                mixed = bytearray(b"{" + b",".join(chance.sample(members, len(members))) + b"}")
        if mixed != genuine:
            table._handle_answer(bytes(mixed))
            assert heard == [], bytes(mixed)


@pytest.mark.parametrize("rotations", [2, 3, 1 + MAX_EARLIER])
def test_a_table_that_was_away_for_many_rotations_follows_them(
    rotations: int, tmp_path: Path, sink: Sink
) -> None:
    first = engine_key(tmp_path / "a.key", {})
    pin = Pin(first.key.public.raw)
    table, alarms, _ = sink(pin)
    for _ in range(rotations):
        rotate(tmp_path / "a.key")
    newest = engine_key(tmp_path / "a.key", {})
    shown = meeting(newest)
    assert len(shown) < MAX_ANSWER_BYTES - 800, "with names of any length it must still be readable"
    table._handle_answer(shown)
    assert pin.key == newest.public
    assert not alarms.ever


def test_a_table_away_for_more_rotations_than_are_shown_needs_a_person(tmp_path: Path, sink: Sink) -> None:
    first = engine_key(tmp_path / "a.key", {})
    pin = Pin(first.key.public.raw)
    table, alarms, _ = sink(pin)
    for _ in range(2 + MAX_EARLIER):
        rotate(tmp_path / "a.key")
    table._handle_answer(meeting(engine_key(tmp_path / "a.key", {})))
    assert pin.key == first.public
    assert "engine_key" in alarms.holding["answer_forged"].kind.next_step


def test_no_step_between_two_keys_can_be_left_out_or_forged(tmp_path: Path, sink: Sink) -> None:
    first = engine_key(tmp_path / "a.key", {})
    for _ in range(3):
        rotate(tmp_path / "a.key")
    newest, stranger = engine_key(tmp_path / "a.key", {}), engine_key(tmp_path / "b.key", {})
    one, two = newest.earlier
    strange = msgspec.structs.replace(two, endorsed=endorse(two.key, stranger.key))
    for earlier in ((two,), (one,), (), (two, one), (one, strange), (strange, two)):
        pin = Pin(first.key.public.raw)
        table, alarms, _ = sink(pin)
        table._handle_answer(meeting(newest._replace(endorsements=(newest.endorsements[0], *earlier))))
        assert pin.key == first.public
        assert "answer_forged" in alarms.holding
    report = stranger._replace(endorsements=newest.endorsements)
    table, alarms, _ = sink(Pin(first.key.public.raw))
    table._handle_answer(meeting(report))
    assert "answer_forged" in alarms.holding


@pytest.mark.parametrize(
    "word",
    [
        ProgressReport(table="wheel-2", sequence=7, chain="0f" * 32, key="0" * 64, by="settlement"),
        LineBet(table="craps-2", session=1, sequence=4, step=9, seat="3", has=False, by="settlement"),
        PairPlus(table="cards-2", session=1, sequence=4, step=9, without=("3",), by="settlement"),
        PlayPlaced(table="cards-2", session=1, sequence=4, step=9, round=1, seats=("3",), by="settlement"),
    ],
)
def test_a_message_of_the_engine_to_another_table_is_ignored(word: Answer, sink: Sink) -> None:
    """The message has a valid signature, and a progress report would show another table's history."""
    table, alarms, heard = sink(Pin(ENGINE_KEY.public.raw))
    table._handle_answer(answer_bytes(word, ENGINE_KEY))
    assert heard == []
    assert set(alarms.holding) == {"answer_forged"}


def test_the_kept_key_is_not_written_through_a_link(tmp_path: Path) -> None:
    """A key command writes the file as root, in the folder of the table's service."""
    key, other = key_in(tmp_path), tmp_path / "other"
    other.write_bytes(b"root's own")
    (tmp_path / "engine.new").symlink_to(other)
    write_pin(tmp_path / "engine.json", key, ENGINE_KEY.public.raw, "settlement")
    assert other.read_bytes() == b"root's own"
    assert read_pin(tmp_path / "engine.json", key.public) == ENGINE_KEY.public.raw


def test_the_kept_key_is_readable_by_the_table_only(tmp_path: Path) -> None:
    key, file = key_in(tmp_path), tmp_path / "engine.json"
    assert read_pin(file, key.public) is None
    write_pin(file, key, ENGINE_KEY.public.raw, "settlement")
    assert read_pin(file, key.public) == ENGINE_KEY.public.raw
    assert read_pin(file, ENGINE_KEY.public) is None
    file.write_bytes(file.read_bytes().replace(ENGINE_KEY.public.raw.hex().encode(), b"0" * 64))
    assert read_pin(file, key.public) is None


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    with running(tmp_path) as broker:
        yield broker


@needs_mosquitto
def test_an_old_table_is_settled_and_takes_no_bets_at_a_new_engine(
    house: House, roulette: SealedTable, mosquitto: Mosquitto
) -> None:
    house.player("ann", 1_000)
    line = Line(roulette, mosquitto, house)
    assert line.broker is not None
    line.sink.send_status(TableStatus(table=roulette.name, state="online", session=1))
    house.engine.gate.connect(line.broker.ask)
    line.until(lambda: any("too old" in said for said in line.said))
    with pytest.raises(RequestRefused, match="too old"):
        house.bets(roulette, "ann", "b1", "red", 100)
    line.sends(*roulette.spins("1"))
    assert house.balance("player:ann") == 1_000
    line.close()
