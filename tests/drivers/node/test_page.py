"""Tests that NODE-LINK.md agrees with the code. Its vectors are run against both ends and the firmware."""

import hmac
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

import drivers
from controller.model.readings import Reading
from drivers.firmware.shared.node import Node, crc16, hmac_sha256
from drivers.node import requests, sentences
from drivers.node.node_end import NodeEnd
from drivers.node.sentences import MAX_SENTENCE, FlawError, Hello, Speaker, decode, encode, finish, read_hello
from drivers.readings import COMMON, KINDS

PAGE = (Path(drivers.__file__).parent / "node" / "NODE-LINK.md").read_text()
BOOT, SALT = "00000000B0070001", "A5A5A5A5A5A50000"
READS = "1:wall_impact,2:wall_impact"
STARTED, KNOCKED, SEEN = 4294000000, 4294967300, 4294966000


def block(name: str) -> list[str]:
    found = re.search(rf"```{name}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1].splitlines()


def key_of(name: str) -> bytes:
    found = re.search(r"with the key `([0-9a-f]+)`", PAGE)
    assert found is not None
    return bytes.fromhex(found[1]) if name == "sealed" else b""


class Played(Protocol):
    def hear(self, at: int, line: bytes) -> list[str]: ...

    def idle(self, at: int) -> list[str]: ...

    def knock(self, at: int) -> list[str]: ...


class Reference(Node):
    at = STARTED
    sent = b""

    def clock(self) -> int:
        return self.at

    def write(self, line: bytes) -> None:
        self.sent += line

    def command(self, verb: str, _fields: dict[str, str]) -> tuple[bool, str]:
        return verb == "lamp", "" if verb == "lamp" else f"no {verb}"

    def taken(self) -> list[str]:
        sent, self.sent = self.sent, b""
        return sent.decode().splitlines()


class PlayedReference:
    def __init__(self, key: bytes) -> None:
        self.node = Reference(
            "w1", READS, boot=BOOT, salt=SALT, does="lamp,selftest", firmware="2.1", key=key
        )

    def hear(self, at: int, line: bytes) -> list[str]:
        self.node.at = at
        self.node.receive(line)
        return self.node.taken()

    def idle(self, at: int) -> list[str]:
        self.node.at = at
        self.node.tick()
        return self.node.taken()

    def knock(self, at: int) -> list[str]:
        self.node.at = at
        self.node.reading("wall_impact", [("ch", "1"), ("pos_mm", "511.0"), ("peak", "421")], SEEN)
        return self.node.taken()


class PlayedEnd:
    def __init__(self, key: bytes) -> None:
        walls = ("wall_impact",)
        hello = Hello("w1", "2.1", BOOT, {1: walls, 2: walls}, ("lamp", "selftest"), 16)
        self.node = NodeEnd(hello, SALT, key=key or None)

    def hear(self, at: int, line: bytes) -> list[str]:
        for command in self.node.receive(at, line):
            known = command.verb == "lamp"
            self.node.acknowledge(at, command.number, ok=known, message="" if known else f"no {command.verb}")
        return self.node.take_output().decode().splitlines()

    def idle(self, at: int) -> list[str]:
        self.node.tick(at)
        return self.node.take_output().decode().splitlines()

    def knock(self, at: int) -> list[str]:
        fields = {"pos_mm": "511.0", "peak": "421"}
        self.node.reading(at, "wall_impact", fields, channel=1, seen_us=SEEN)
        return self.node.take_output().decode().splitlines()


@pytest.mark.parametrize("made", [PlayedReference, PlayedEnd])
@pytest.mark.parametrize("name", ["plain", "sealed"])
def test_a_node_sends_exactly_the_sentences_of_the_page(name: str, made: Callable[[bytes], Played]) -> None:
    node = made(key_of(name))
    due: list[str] = []
    for entry in block(f"dialogue {name}"):
        at, line = entry.split(" ", 1)
        if line.startswith(">"):
            assert due == []
            due = node.hear(int(at), line.encode() + b"\n")
            continue
        if not due:
            due = node.knock(int(at)) if int(at) == KNOCKED else node.idle(int(at))
        assert due.pop(0) == line
    assert due == []


def test_each_sentence_of_the_page_has_the_meaning_given_below_it() -> None:
    lines = block("sentences")
    for line, meaning in zip(lines[::2], lines[1::2], strict=True):
        sentence, _, seal = received = decode(line.encode())
        assert json.loads(meaning) == {
            "from": "node" if sentence.speaker is Speaker.NODE else "table",
            "node": sentence.node,
            "session": sentence.session,
            "seq": sentence.seq,
            "clock_us": sentence.clock_us,
            "verb": sentence.verb,
            "fields": dict(sentence.fields),
            "seal": seal.decode(),
        }
        assert finish(encode(sentence), received.seal).decode() == line + "\n"


def test_the_sentence_that_the_page_explains_is_valid() -> None:
    examples = re.findall(r"^    (\$.*\*[0-9A-F]{4})$", PAGE, re.MULTILINE)
    assert len(examples) == 1
    assert decode(examples[0].encode()).sentence.verb == "wall_impact"


def test_no_refused_line_of_the_page_is_a_sentence() -> None:
    for entry in block("refused"):
        flaw, line = entry.split(" ", 1)
        with pytest.raises(FlawError) as caught:
            decode(line.encode())
        assert caught.value.flaw.value == flaw, line


def test_the_hello_of_the_page_is_accepted() -> None:
    line = block("dialogue plain")[2].split(" ", 1)[1]
    hello = read_hello(decode(line.encode()).sentence)
    assert hello == Hello(
        "w1", "2.1", BOOT, {1: ("wall_impact",), 2: ("wall_impact",)}, ("lamp", "selftest"), 16
    )


def test_the_reference_nodes_own_arithmetic_matches_the_standards() -> None:
    assert f"{crc16(b'123456789'):04X}" == "29B1"
    for key in (b"Jefe", b"k" * 100):  # RFC 4231's second case, and a key longer than a block
        data = b"what do ya want for nothing?"
        assert hmac_sha256(key, data) == hmac.digest(key, data, "sha256")


@pytest.mark.parametrize(
    ("words", "figure"),
    [
        (r"at most (\d+) bytes including its line end", MAX_SENTENCE),
        (r"repeats this `hello` every +(\d+) ms", sentences.HELLO_EVERY_US // 1000),
        (
            r"A node sends `beat` within (\d+) ms of its latest reading",
            sentences.BEAT_AFTER_READING_US // 1000,
        ),
        (r"and then every (\d+) ms while", sentences.BEAT_US // 1000),
        (r"After (1\.5) s without a valid sentence", sentences.SILENT_US / 1e6),
        (r"does not answer for (1\.9) s", sentences.NOT_RECEIVING_US / 1e6),
        (r"sends the next query after (\d+) ms", sentences.PING_RETRY_US // 1000),
        (r"more than (\d+) s old", sentences.MAX_AGE_US // 1_000_000),
        (r"repeats the request every (\d+) ms", sentences.RESEND_RETRY_US // 1000),
        (r"gives up after (\d+) ms", sentences.GIVE_UP_US // 1000),
        (r"same `id` every (\d+) ms, at most four times", requests.RETRY_US // 1000),
    ],
)
def test_the_figures_of_the_page_are_those_of_the_code(words: str, figure: float) -> None:
    found = re.search(words, PAGE.replace("\n", " "))
    assert found is not None
    assert float(found[1]) == figure


def test_every_kind_and_field_of_a_reading_is_on_the_page() -> None:
    table = PAGE.split("## 4. Readings")[1].split("## 5.")[0]
    for kind, reading in KINDS.items():
        if kind == "wheel_status":  # a smart wheel has its own protocol
            continue
        assert f"`{kind}`" in table
        for name in _own_fields(kind, reading):
            assert f"`{name}`" in table, (kind, name)


def _own_fields(kind: str, reading: type[Reading]) -> set[str]:
    told_elsewhere = {"input": {"name", "by", "who", "seat", "dice", "number"}}
    names = set(reading.__struct_encode_fields__) - COMMON
    return names & told_elsewhere[kind] if kind in told_elsewhere else names
