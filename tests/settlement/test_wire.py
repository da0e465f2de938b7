"""The settle contract on the wire: valid requests, and the refusal of all other lines."""

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.cli.rules import settle_stream
from controller.games.craps.wagers.gates import VOCABULARY
from controller.settings.paytables import open_book
from controller.settlement.book import MalformedLine, Request
from controller.settlement.run import Decoder, settle

BET = {"do": "bet", "id": "b1", "player": "p1", "wager": "pass", "amount": 500}
MALFORMED = {
    "no JSON": b"bet 500 on pass",
    "cut off": b'{"do":"bet","id":"b1"',
    "two objects": b'{"do":"no_roll"} {"do":"no_roll"}',
    "no object": b"[1, 2]",
    "no UTF-8": b'{"do":"remove","id":"\xff"}',
    "a NUL": b"\0\0\0\0",
    "deeply nested": b"[" * 100_000,
    "no do": b'{"id":"b1"}',
    "an unknown do": b'{"do":"deal"}',
    "another game's do": b'{"do":"spin","number":"17"}',
    "a field of no meaning": json.dumps({**BET, "workng": "on"}).encode(),
    "a missing field": b'{"do":"bet","id":"b1","player":"p1","wager":"pass"}',
    "a fraction of a cent": json.dumps({**BET, "amount": 500.5}).encode(),
    "a float": json.dumps({**BET, "amount": 500.0}).encode(),
    "true for an amount": json.dumps({**BET, "amount": True}).encode(),
    "words for an amount": json.dumps({**BET, "amount": "500"}).encode(),
    "a number for an id": json.dumps({**BET, "id": 1}).encode(),
    "on for true": b'{"do":"working","id":"b1","on":"on"}',
    "true for on": json.dumps({**BET, "working": True}).encode(),
    "a die of seven": b'{"do":"roll","dice":[3,7]}',
    "one die": b'{"do":"roll","dice":[3]}',
    "three dice": b'{"do":"roll","dice":[3,3,3]}',
}


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_line_ends_the_run_and_is_named(raw: bytes) -> None:
    out, err = io.BytesIO(), io.StringIO()
    lines = b"".join((json.dumps(BET).encode(), b'\n{"do":"roll","dice":[5,6]}\n\n', raw, b"\n"))
    assert settle_stream(io.BytesIO(lines), out, err, "craps-v1", "requests.jsonl") == 2
    assert out.getvalue() == (
        b'{"id":"b1","wager":"pass","status":"win","stake":500,"payout":500,"returned":1000,'
        b'"reason":"CV1-PASS-2: 11 on its first roll pays 1:1"}\n'
    )
    assert err.getvalue().startswith("requests.jsonl: line 4: found ")
    assert ", expected " in err.getvalue()


CENTS = "whole cents, as digits without quotes, a decimal point or an exponent"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (json.dumps({**BET, "amount": "5"}), f'`amount` "5", expected {CENTS}'),
        (json.dumps({**BET, "amount": 1.5}), f"`amount` 1.5, expected {CENTS}"),
        (json.dumps({**BET, "amount": 1e30}), f"`amount` 1e30, expected {CENTS}"),
        (json.dumps({**BET, "amount": True}), f"`amount` true, expected {CENTS}"),
        ('{"do":"increase","id":"b1","to":"7"}', f'`to` "7", expected {CENTS}'),
        (json.dumps({**BET, "working": True}), '`working` true, expected "on" or "off"'),
        (json.dumps({**BET, "working": "yes"}), '`working` "yes", expected "on" or "off"'),
        ('{"do":"working","id":"b1","on":"on"}', '`on` "on", expected true or false or "default"'),
        ('{"do":"roll","dice":[3,7]}', "`dice[1]` 7, expected a whole number <= 6"),
        ('{"do":"remove","id":1}', "`id` 1, expected text in quotes"),
        ('{"do":"remove"}', 'no `id` in \'{"do":"remove"}\', expected the fields of `remove`: id'),
        ('{"do":"deal"}', '`do` "deal", expected a request whose `do` is one of bet, '),
        ('{"do":"remove","id":1', "no JSON (Expecting ',' delimiter at character 21) in '"),
        ('{"do":"remove","id":"b1","id":"b2"}', "`id` twice in '"),
        ('{"do":"remove","\\u0069d":"b1","id":"b2"}', "`id` twice in '"),
        ('{"do":"deal","hands":{"3":["Qh"],"3":["2c"]}}', "`3` twice in '"),
        ('{"do":"increase","id":"b1","to":NaN}', "`to` NaN in '"),
        ('{"do":"increase","id":"b1","to":-Infinity}', "`to` -Infinity in '"),
        ('{"do":"increase","id":"b1","to":1E400}', "`to` 1E400 in '"),
        ('{"do":"increase","id":"b1","to":' + "9" * 5000 + "}", "`to` 999999"),
        ('{"do":"remove","id":"b\\u0000"}', "a NUL in `id`: 'b\\x00' in '"),
        ('{"do":"remove","id":"\\ud800"}', "half of a surrogate pair in `id`: '\\ud800' in '"),
    ],
)
def test_a_malformed_line_names_its_field_what_was_found_and_what_is_allowed(raw: str, says: str) -> None:
    err = io.StringIO()
    assert settle_stream(io.BytesIO(raw.encode()), io.BytesIO(), err, "craps-v1", "requests.jsonl") == 2
    assert err.getvalue().startswith(f"requests.jsonl: line 1: found {says}")


def test_a_whole_run_ends_with_the_bets_that_are_left() -> None:
    out, err = io.BytesIO(), io.StringIO()
    assert settle_stream(io.BytesIO(json.dumps(BET).encode()), out, err, "craps-12-034") == 0
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {
            "id": "b1",
            "wager": "pass",
            "status": "pending",
            "stake": 500,
            "payout": 0,
            "returned": 0,
            "reason": "not decided when the requests ended",
        }
    ]
    assert err.getvalue() == ""


@pytest.mark.parametrize(
    ("to", "says"),
    [
        (0, "reduce must leave a stake; use remove to take the whole bet down"),
        (-1, "an amount must be 1 to 1,000,000,000,000,000 cents; found -1"),
    ],
)
def test_a_reduction_that_leaves_no_stake_is_refused_with_the_request_for_it(to: int, says: str) -> None:
    requests = [{**BET, "wager": "yo"}, {"do": "reduce", "id": "b1", "to": to}]
    refused, pending = list(settle([json.dumps(line).encode() for line in requests], open_book("craps-v1")))
    assert json.loads(refused) == {
        "id": "b1",
        "do": "reduce",
        "status": "refused",
        "rule": "BOOK-AMOUNT",
        "reason": says,
    }
    assert json.loads(pending)["stake"] == 500


def test_no_requests_give_no_lines() -> None:
    assert list(settle([b"\n", b"  \r\n"], open_book("craps-v1"))) == []


def test_an_unknown_rule_set_is_refused_with_the_known_ones() -> None:
    out, err = io.BytesIO(), io.StringIO()
    assert settle_stream(io.BytesIO(), out, err, "craps-v2") == 2
    assert out.getvalue() == b""
    assert "craps-v1" in err.getvalue()


def test_a_pay_table_with_a_mistake_is_refused_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Path(__file__).parents[2] / "config"
    for folder, name in (("rulesets", "craps-v1"), ("paytables", "craps-v1")):
        text = (config / folder / f"{name}.yaml").read_text(encoding="utf-8")
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.yaml").write_text(text.replace("pays: [9, 5]", "pays: [9, 0]"), "utf-8")
    (tmp_path / "tables").mkdir()
    monkeypatch.setenv("TABLE_CONFIG", str(tmp_path))
    err = io.StringIO()
    assert settle_stream(io.BytesIO(), io.BytesIO(), err, "craps-v1") == 2
    assert "place.pays.4.pays" in err.getvalue()
    assert "place.pays.10.pays" in err.getvalue()


@pytest.mark.parametrize(
    ("request_line", "expected"),
    [
        ({**BET, "wager": "insurance"}, "rejected"),
        ({"do": "remove", "id": "b9"}, "refused"),
        ({"do": "working", "id": "b9", "on": True}, "refused"),
        ({"do": "increase", "id": "b9", "to": 1}, "refused"),
        ({"do": "reduce", "id": "b9", "to": 1}, "refused"),
        ({"do": "no_action", "id": "b9"}, "refused"),
    ],
)
def test_an_unknown_wager_or_id_is_not_a_malformed_line(
    request_line: dict[str, object], expected: str
) -> None:
    (line,) = b"".join(settle([json.dumps(request_line).encode()], open_book("craps-v1"))).splitlines()
    assert json.loads(line)["status"] == expected


WORDS = st.sampled_from(["bet", "roll", "remove", "b1", "pass"])
KEYS = st.sampled_from(["do", "id", "amount", "dice", "on", "to"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=6,
)


@settings(derandomize=True, max_examples=300)
@given(raw=st.binary(max_size=60) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_request_or_malformed(raw: bytes) -> None:
    decoder = Decoder(VOCABULARY)
    try:
        assert isinstance(decoder.decode(raw, 7), Request)
    except MalformedLine:
        with pytest.raises(MalformedLine, match=r"line 7: found .*, expected "):
            decoder.decode(raw, 7)


@pytest.mark.parametrize("amount", [0, -500, 10**15 + 1, 2**70, -(2**70)])
@pytest.mark.parametrize(
    ("rules", "bet"),
    [
        ("craps-v1", {"wager": "pass", "player": "p1"}),
        ("roulette", {"wager": "red", "player": "p1"}),
        ("three-card-poker-12-014", {"wager": "ante", "seat": "3"}),
        ("high-roller-12-005", {"wager": "card", "player": "1", "card": "J"}),
    ],
)
def test_an_amount_that_nobody_can_bet_is_rejected_and_the_run_continues(
    rules: str, bet: dict[str, str], amount: int
) -> None:
    asked = json.dumps({"do": "bet", "id": "b9", **bet, "amount": amount}).encode()
    (answer,) = [
        json.loads(line) for answers in settle([asked], open_book(rules)) for line in answers.splitlines()
    ]
    assert {key: answer[key] for key in ("id", "status", "stake", "returned")} == {
        "id": "b9",
        "status": "rejected",
        "stake": amount,
        "returned": 0,
    }
    assert f"found {amount}" in answer["reason"]


@pytest.mark.parametrize(
    ("do", "to"), [("increase", 0), ("increase", 10**16), ("reduce", -1), ("reduce", 10**16)]
)
def test_a_change_to_an_amount_that_nobody_can_bet_is_refused_and_changes_nothing(do: str, to: int) -> None:
    asked = [json.dumps(BET).encode(), json.dumps({"do": do, "id": "b1", "to": to}).encode()]
    answers = [
        json.loads(line) for some in settle(asked, open_book("craps-v1")) for line in some.splitlines()
    ]
    assert [(answer["id"], answer["status"]) for answer in answers] == [("b1", "refused"), ("b1", "pending")]
    assert answers[1]["stake"] == 500
