"""Messages on the wire: CloudEvents with reproducible bytes, signed, and valid under their schemas."""

import json
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from controller.journal.chain import Row
from controller.journal.keys import Key, load_key, new_key
from controller.model.outcomes import OUTCOME_TYPES
from controller.publish.events import (
    Acknowledgement,
    Answer,
    LineBet,
    OpenQuery,
    PairPlus,
    PlayerEvent,
    PlayPlaced,
    PlayQuery,
    ProgressReport,
    ResendRequest,
    TableStatus,
    answer_bytes,
    answer_signed_by,
    build_message,
    read_answer,
    read_event,
    signed_by,
)
from controller.publish.players import PLAYER_KEYS
from controller.publish.schemas import FOLDER, documents, main, stale
from tests.publish.samples import DEALER, FOLDED, SAMPLES, SECRET, STAFF, decoded, sample_row

TABLE = "table-7"
FOR_STAFF_ALONE = {"device.down", "device.up", "device.fault", "input.refused"}


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Key:
    file = tmp_path_factory.mktemp("key") / "key"
    new_key(file)
    return load_key(file)


def read_player_event(payload: bytes) -> PlayerEvent:
    return msgspec.json.decode(payload, type=PlayerEvent)


def schema(name: str) -> Draft202012Validator:
    document = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document, format_checker=FormatChecker())


def test_there_is_a_sample_of_every_type() -> None:
    assert set(SAMPLES) == set(OUTCOME_TYPES)
    assert set(PLAYER_KEYS) == set(OUTCOME_TYPES) - FOR_STAFF_ALONE


@pytest.mark.parametrize("type_", SAMPLES)
def test_an_outcome_of_every_type_is_a_cloud_event_that_its_schema_knows(type_: str, key: Key) -> None:
    row = sample_row(type_, key)
    event = decoded(build_message(row, TABLE, key).event)
    schema(f"outcomes/{type_}").validate(event)
    assert event["specversion"] == "1.0"
    assert event["id"] == "table-7/1/5"
    assert event["source"] == "/tables/table-7"
    assert event["type"] == type_
    assert event["time"] == "2027-01-15T08:00:00.000001Z"
    assert event["sequence"] == "00000000000000000005"
    assert event["tabletime"] == "1234567"
    assert event["chain"] == row.link.hex()
    assert row.body is not None
    assert event["data"] == decoded(row.body)["data"]
    # CloudEvents: attribute names are lower-case letters and digits, and values are never null.
    assert all(name.isalnum() and name.islower() for name in event)
    assert all(value is not None for name, value in event.items() if name != "data")


@pytest.mark.parametrize("type_", SAMPLES)
def test_a_schema_refuses_a_missing_key_or_another_type(type_: str, key: Key) -> None:
    event = decoded(build_message(sample_row(type_, key), TABLE, key).event)
    knows = schema(f"outcomes/{type_}")
    for name in event:
        assert not knows.is_valid({key_: value for key_, value in event.items() if key_ != name}), name
    assert not knows.is_valid({**event, "type": "roll.guessed"})
    assert not knows.is_valid({**event, "data": {}})


@pytest.mark.parametrize(
    ("type_", "subject"),
    [
        ("roll.called", "roll/1"),
        ("spin.review", "spin/3"),
        ("deal.void", "deal/2"),
        ("bets.closed", "round/3"),
        ("game.won", "game/1"),
        ("table.locked", "table"),
    ],
)
def test_the_subject_is_the_attempt_the_round_or_the_game(type_: str, subject: str, key: Key) -> None:
    assert read_event(build_message(sample_row(type_, key), TABLE, key).event).subject == subject


def test_the_same_row_gives_the_same_bytes(key: Key) -> None:
    row = sample_row("roll.called", key)
    assert build_message(row, TABLE, key) == build_message(row, TABLE, key)


def test_an_event_of_an_unsynchronized_clock_says_so(key: Key) -> None:
    row = sample_row("roll.called", key, synced=False)
    assert read_event(build_message(row, TABLE, key).event).timequality == "unsynchronized"


def test_the_signature_is_the_table_s_and_covers_every_byte(key: Key, tmp_path: Path) -> None:
    payload = build_message(sample_row("roll.called", key), TABLE, key).event
    assert signed_by(payload, key.public)
    for place in range(0, len(payload), 7):
        changed = bytearray(payload)
        changed[place] ^= 1
        assert not signed_by(bytes(changed), key.public), place
    assert not signed_by(payload[:-1], key.public)
    assert not signed_by(b"{}", key.public)
    assert not signed_by(payload, new_key(tmp_path / "other"))


def test_a_row_without_its_body_makes_no_message(key: Key) -> None:
    row: Row = msgspec.structs.replace(sample_row("roll.called", key), body=None)
    with pytest.raises(ValueError, match="row 12 has no outcome, or its outcome was pruned"):
        build_message(row, TABLE, key)


@pytest.mark.parametrize("type_", PLAYER_KEYS)
def test_players_receive_no_timing_no_covered_card_no_name_and_no_proof(type_: str, key: Key) -> None:
    players = build_message(sample_row(type_, key), TABLE, key).players
    assert players is not None
    seen = decoded(players)
    schema(f"players/{type_}").validate(seen)
    text = players.decode()
    for word in (SECRET, STAFF, "7.25", 'revolutions":', "signature", "chain", "tabletime", "notices"):
        assert word not in text, word
    assert set(seen["data"]) <= set(PLAYER_KEYS[type_])  # type: ignore[call-overload]  # any JSON


def test_a_hand_that_folded_is_not_shown(key: Key) -> None:
    for type_ in ("deal.called", "deal.corrected"):
        players = build_message(sample_row(type_, key), TABLE, key).players
        assert players is not None
        data = msgspec.json.decode(read_player_event(players).data, type=dict[str, msgspec.Raw])
        assert set(msgspec.json.decode(data["hands"], type=dict[str, list[str]])) == {"1"}
        assert b"3s" not in players
        assert b"nine high" not in players
        assert tuple(msgspec.json.decode(data["dealer"], type=list[str])) == DEALER
        assert msgspec.json.decode(data["folds"], type=list[str]) == [FOLDED]


def test_a_review_shows_players_neither_dice_nor_number(key: Key) -> None:
    for type_, word in (("roll.review", b"dice"), ("spin.review", b"number")):
        players = build_message(sample_row(type_, key), TABLE, key).players
        assert players is not None
        assert word not in players


@pytest.mark.parametrize("type_", sorted(FOR_STAFF_ALONE))
def test_devices_and_refusals_are_published_to_staff_only(type_: str, key: Key) -> None:
    assert build_message(sample_row(type_, key), TABLE, key).players is None


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (Acknowledgement(id="table-7/1/5", chain="0f" * 32, by="engine"), "acknowledged"),
        (ResendRequest(from_seq=5, by="engine"), "again"),
        (OpenQuery(nonce="0f" * 16, by="engine"), "ask"),
        (ProgressReport(table="table-7", sequence=5, chain="0f" * 32, key="0e" * 32, by="engine"), "meeting"),
        (
            LineBet(table="table-7", session=1, sequence=4, step=9, seat="3", has=False, by="engine"),
            "line_bet",
        ),
        (
            PairPlus(table="table-7", session=1, sequence=4, step=9, without=("2", "5"), by="engine"),
            "pair_plus",
        ),
        (
            PlayPlaced(
                table="table-7", session=1, sequence=4, step=9, round=3, seats=("2", "5"), by="engine"
            ),
            "played",
        ),
        (PlayQuery(table="table-7", round=3, nonce="0f" * 16, seats=("2", "5"), by="engine"), "ask_play"),
    ],
)
def test_answers_are_read_as_they_were_written(answer: Answer, name: str, key: Key) -> None:
    written = answer_bytes(answer, key)
    read = read_answer(written)
    assert msgspec.structs.replace(read, signature=msgspec.UNSET) == answer
    assert answer_signed_by(written, key.public)
    schema(name).validate(decoded(written))


@pytest.mark.parametrize(
    "written",
    [
        b'{"answer":"acknowledged","id":"","chain":"%s","by":"e"}' % (b"0" * 64),
        b'{"answer":"acknowledged","id":"t/1/5","chain":"beef","by":"e"}',
        b'{"answer":"again","from_seq":0,"by":"e"}',
        b'{"answer":"perhaps"}',
        b"nothing",
    ],
)
def test_a_message_that_is_not_an_answer_is_refused(written: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        read_answer(written)


def test_the_status_conforms_to_its_schema() -> None:
    for status in (
        TableStatus(table=TABLE, state="offline"),
        TableStatus(table=TABLE, state="online", lock="locked", faults=("journal_disk_full",), session=4),
    ):
        schema("status").validate(decoded(msgspec.json.encode(status)))


# --- the documents generated from the types ---


def test_the_documents_match_the_types() -> None:
    assert stale(FOLDER) == []


def test_a_stale_document_fails_the_check_and_is_written_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--check"], tmp_path) == 1
    assert "asyncapi.json is stale" in capsys.readouterr().err
    assert main([], tmp_path) == 0
    (tmp_path / "outcomes" / "roll.guessed.schema.json").write_text("{}", encoding="utf-8")
    assert main(["--check"], tmp_path) == 1
    assert main([], tmp_path) == 0
    assert main(["--check"], tmp_path) == 0


def test_the_asyncapi_document_refers_to_existing_schemas() -> None:
    made = documents()
    api = json.loads(made["asyncapi.json"])
    assert api["asyncapi"] == "3.0.0"
    for operation in api["operations"].values():
        assert operation["channel"]["$ref"].removeprefix("#/channels/") in api["channels"]
    declared = {}
    for name, channel in api["channels"].items():
        declared[name] = {message["name"] for message in channel["messages"].values()}
        for message in channel["messages"].values():
            assert message["payload"]["schema"]["$ref"].removeprefix("./") in made
            assert message["summary"].endswith("."), message["summary"]
    operations = api["operations"].values()
    retained = {one["channel"]["$ref"] for one in operations if one["bindings"]["mqtt"]["retain"]}
    assert retained == {"#/channels/status", "#/channels/board"}
    assert declared["outcome"] == set(OUTCOME_TYPES)
    assert declared["players"] == set(PLAYER_KEYS)
