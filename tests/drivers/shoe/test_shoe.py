"""Tests of a card shoe on a serial line: codes, repeats, lid, and no false cards."""

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.readings import AnyReading, Card, DeviceDown, DeviceUp, Switch
from drivers.device import Device, StreamAddress
from drivers.health import LOSS_CLEARS_US
from drivers.shoe.device import PLAIN_CODES, TYPE, CardOut, Shoe, ShoeEncoder, ShoeProtocol, ShoeSettings

MS = 1000
SECOND_US = 1_000_000
TABLE = ShoeSettings(
    port="/dev/table-shoe",
    cards={**{f"C{n:02}": card for n, card in enumerate(sorted(set(PLAIN_CODES.values())))}},
    unread=("C99",),
    positions={"P1": "1", "P2": "2", "PD": "dealer"},
    lid_open=("LO",),
    lid_closed=("LC",),
    alive=("OK",),
    silent_s=2.0,
)
SPEAKER = ShoeEncoder(TABLE.codes)


PLAIN = ShoeSettings(port="/dev/table-shoe")


def shoe(settings_: ShoeSettings = PLAIN) -> Shoe:
    """Return a shoe after its port opened and the first line end was received."""
    device = Shoe("shoe", settings_, bytes)
    device.start(0)
    device.on_open(0)
    device.receive(0, b"\r\n")
    return device


def heard(device: Shoe, *said: tuple[int, bytes]) -> list[AnyReading]:
    return [reading for t_us, data in said for reading in device.receive(t_us, data)]


def faces(readings: Iterable[AnyReading]) -> list[tuple[object, object]]:
    return [(r.rank, r.suit) for r in readings if isinstance(r, Card)]


def test_the_shoe_is_a_device_type_of_the_registry() -> None:
    device = TYPE.make("shoe", TABLE, bytes)
    assert isinstance(device, Device)
    assert (TYPE.name, TYPE.address(TABLE)) == ("shoe", StreamAddress(TABLE.port, 9600))


def test_a_plain_shoe_sends_cards_under_their_common_codes() -> None:
    readings = heard(shoe(), (SECOND_US, b"QH\r\n"), (2 * SECOND_US, b"10S\r\nTD\r\n"))
    assert faces(readings) == [("Q", "h"), ("T", "s"), ("T", "d")]
    assert [r.t for r in readings] == [SECOND_US, 2 * SECOND_US, 2 * SECOND_US + 1]


def test_a_code_table_gives_the_meaning_of_each_code_and_the_position_of_the_cards() -> None:
    said = SPEAKER.card("Qh", "1") + SPEAKER.card("2c", "dealer") + b"C99\n"
    readings = heard(shoe(TABLE), (SECOND_US, said))
    assert [(r.rank, r.suit, r.to) for r in readings if isinstance(r, Card)] == [
        ("Q", "h", "1"),
        ("2", "c", "dealer"),
        (None, None, "dealer"),
    ]


def test_a_numbered_deck_has_no_suits() -> None:
    numbered = ShoeSettings(port="p", cards={str(n): str(n) for n in range(2, 13)})
    assert faces(heard(shoe(numbered), (SECOND_US, b"12\n7\n"))) == [("12", None), ("7", None)]


@pytest.mark.parametrize("times", [1, 2, 5])
def test_a_repeated_code_is_one_card(times: int) -> None:
    device = shoe()
    readings = heard(device, *((SECOND_US + n * 100 * MS, b"QH\r\n") for n in range(times)))
    assert faces(readings) == [("Q", "h")]
    assert device.status()["repeats"] == times - 1


def test_the_same_code_much_later_is_another_card() -> None:
    assert faces(heard(shoe(), (SECOND_US, b"QH\n"), (SECOND_US + 300 * MS, b"QH\n"))) == [("Q", "h")] * 2


def test_the_same_code_neither_soon_nor_late_is_a_doubt_and_not_a_card() -> None:
    readings = heard(shoe(), (SECOND_US, b"QH\n"), (SECOND_US + 200 * MS, b"QH\n"))
    assert faces(readings) == [("Q", "h")]
    (down,) = [r for r in readings if isinstance(r, DeviceDown)]
    assert down.code == "bad_reading"
    assert "Q" not in down.reason.split(";")[0]


def test_the_same_card_to_another_position_is_another_card() -> None:
    said = SPEAKER.card("Qh", "1") + SPEAKER.card("Qh", "2")
    assert faces(heard(shoe(TABLE), (SECOND_US, said))) == [("Q", "h")] * 2


@pytest.mark.parametrize("noise", [b"ZZ\n", b"Q\xffH\n", b"QH" * 40 + b"\n", b"Q\x07H\n"])
def test_an_unknown_code_is_a_fault_that_may_have_hidden_a_card(noise: bytes) -> None:
    device = shoe()
    readings = heard(device, (SECOND_US, noise))
    assert faces(readings) == []
    assert [type(r) for r in readings] == [DeviceDown]
    assert device.next_deadline() == SECOND_US + LOSS_CLEARS_US
    assert [type(r) for r in device.tick(SECOND_US + LOSS_CLEARS_US)] == [DeviceUp]


def test_after_a_doubt_cards_have_no_known_position() -> None:
    readings = heard(shoe(TABLE), (SECOND_US, SPEAKER.card("Qh", "1") + b"P?\n" + SPEAKER.card("2c")))
    assert [r.to for r in readings if isinstance(r, Card)] == ["1", None]


def test_blanks_framing_and_empty_lines_are_ignored() -> None:
    assert faces(heard(shoe(), (SECOND_US, b"\r\n\x02 QH \x03\r\n\n"))) == [("Q", "h")]


def test_the_lid_is_reported_when_it_changes() -> None:
    readings = heard(
        shoe(TABLE), *((SECOND_US * n, said) for n, said in enumerate((b"LO\n", b"LO\n", b"LC\n"), 1))
    )
    assert [(r.name, r.open) for r in readings if isinstance(r, Switch)] == [
        ("shoe_lid", True),
        ("shoe_lid", False),
    ]


def test_a_shoe_that_sends_alive_is_reported_when_it_falls_silent() -> None:
    device = Shoe("shoe", TABLE, bytes)
    assert [type(r) for r in (*device.start(0), *device.on_open(0))] == [DeviceDown]
    assert [type(r) for r in device.receive(SECOND_US, b"OK\n")] == [DeviceUp]
    assert device.next_deadline() == 3 * SECOND_US
    (down,) = device.tick(3 * SECOND_US)
    assert isinstance(down, DeviceDown)
    assert (down.code, device.next_deadline()) == ("silent", 13 * SECOND_US)
    assert [device.take_reopen(), device.take_reopen()] == [True, False]
    assert device.tick(13 * SECOND_US) == []
    assert [device.take_reopen(), device.take_reopen()] == [True, False]
    assert [type(r) for r in device.receive(14 * SECOND_US, b"OK\n")] == [DeviceUp]
    assert not device.take_reopen()


def test_a_shoe_without_alive_is_up_when_its_port_is_open() -> None:
    device = Shoe("shoe", ShoeSettings(port="p"), bytes)
    assert [type(r) for r in (*device.start(0), *device.on_open(5))] == [DeviceDown, DeviceUp]
    assert device.next_deadline() is None


def test_an_unplugged_shoe_is_down_and_an_unfinished_code_is_dropped() -> None:
    device = shoe()
    assert heard(device, (SECOND_US, b"Q")) == []
    (down,) = device.on_close(2 * SECOND_US, "unplugged", "the port is gone")
    assert isinstance(down, DeviceDown)
    assert heard(device, (2 * SECOND_US, b"H\n")) == []
    assert [type(r) for r in device.on_open(3 * SECOND_US)] == [DeviceUp]
    assert faces(heard(device, (4 * SECOND_US, b"H\n2C\n"))) == [("2", "c")]


def test_lines_that_stay_unreadable_are_a_noisy_line_and_the_port_is_reopened() -> None:
    device, codes = shoe(), []
    for second in range(1, 8):
        codes += [
            r.code for r in heard(device, (second * SECOND_US, b"\xf8\x80\n")) if isinstance(r, DeviceDown)
        ]
        device.tick(second * SECOND_US + SECOND_US // 2)
    assert codes == ["bad_reading"] * 4 + ["noisy_line"] * 3
    assert [device.take_reopen(), device.take_reopen()] == [True, False]
    assert faces(heard(device, (9 * SECOND_US, b"QH\n\xf8\n"))) == [("Q", "h")]
    assert not device.take_reopen()


def test_bytes_lost_within_a_code_make_no_other_code() -> None:
    numbered = ShoeSettings(port="p", cards={str(n): str(n) for n in range(2, 13)})
    device = shoe(numbered)
    assert heard(device, (SECOND_US, b"1")) == []
    device.on_overflow(SECOND_US, 100)
    assert faces(heard(device, (2 * SECOND_US, b"2\n"), (3 * SECOND_US, b"7\n"))) == [("7", None)]


def test_dropped_bytes_may_have_been_cards() -> None:
    (down,) = shoe().on_overflow(SECOND_US, 12)
    assert isinstance(down, DeviceDown)
    assert down.code == "sentences_lost"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"cards": {"A": "Qh", "B": "1h"}}, "found '1h' for code 'B'"),
        ({"cards": {"A": "Qh"}, "unread": ("A",)}, "found code 'A' more than once"),
        ({"cards": {" A": "Qh"}}, "without spaces"),
        ({"cards": {"": "Qh"}}, "expected printable"),
        ({"cards": {"Ä": "Qh"}}, "expected printable"),
        ({"repeats_ms": 0}, "repeats_ms: found 0"),
        ({"silent_s": 5.0}, "no code is listed under `alive`"),
        ({"silent_s": 0.0, "alive": ("OK",)}, "silent_s: found 0"),
    ],
)
def test_a_code_table_that_cannot_work_is_refused(change: dict[str, object], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        ShoeSettings(port="p", **change)  # type: ignore[arg-type]  # mixed on purpose


BYTES = st.binary(max_size=12) | st.sampled_from([b"QH\r\n", b"QH\n", b"2C\n", b"10S\n", b"Q", b"H\n", b"\n"])


@given(st.lists(st.tuples(st.integers(0, 400 * MS), BYTES)))
@settings(derandomize=True, max_examples=150, deadline=None)
def test_no_bytes_raise_or_invent_a_card(pieces: list[tuple[int, bytes]]) -> None:
    """Every reported card was received as a separate line with a code of the code table."""
    device, now, everything = shoe(), 0, b""
    readings: list[AnyReading] = []
    for after_us, data in pieces:
        now += after_us
        everything += data
        readings += [*device.receive(now, data), *device.tick(now)]
    lines = [line.decode("latin-1").strip("\x02\x03 \t\r") for line in everything.split(b"\n")[:-1]]
    written = [PLAIN_CODES[line] for line in lines if line in PLAIN_CODES]
    cards = [f"{rank}{suit}" for rank, suit in faces(readings)]
    assert len(cards) <= len(written)
    assert set(cards) <= set(written)


@given(
    st.lists(st.sampled_from(sorted(set(PLAIN_CODES.values()))), max_size=20), st.integers(1, 4), st.data()
)
@settings(derandomize=True, max_examples=80, deadline=None)
def test_cards_at_a_dealers_pace_are_each_reported_once_however_the_bytes_are_split(
    dealt: list[str], times: int, data: st.DataObject
) -> None:
    codes = ShoeSettings(port="p").codes
    speaker, protocol, told = ShoeEncoder(codes, times=times), ShoeProtocol(codes, 150 * MS), []
    for number, card in enumerate(dealt):
        said = speaker.card(card)
        cut = data.draw(st.integers(0, len(said)))
        told += protocol.feed(number * 400 * MS, said[:cut])
        told += protocol.feed(number * 400 * MS + 40 * MS, said[cut:])
    assert told == [CardOut(card, None) for card in dealt]


def test_every_setting_is_on_the_devices_page() -> None:
    page = (Path(__file__).parents[3] / "docs" / "devices" / "shoe.md").read_text()
    assert all(f"`{setting.name}`" in page for setting in fields(ShoeSettings))
