"""Reading recorded logs, and the reports on lines that can't be used."""

import gzip
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.geometry import DiceTable
from controller.model.readings import BallDrop, DieReleased, Input, WallImpact
from controller.replay.log import Log, open_log
from controller.replay.source import BLOCK_BYTES, MAX_LINE_BYTES, BadLineError, LogError
from tests.replay.logs import DICE_HEADER, DROP, IMPACT, RELEASE, Fields, opened, readings_of, text_of

WHOLE = text_of(DICE_HEADER, RELEASE, IMPACT, {**DROP, "arrived": 4100})


class TestAWholeLog:
    def test_gives_its_header(self) -> None:
        header = opened(WHOLE).header
        assert (header.table, header.ruleset, header.epoch) == ("t1", "craps-12-034", "2026-01-01T20:00:00Z")
        assert header.dice_table == DiceTable(length_mm=3600, width_mm=1100, die_mm=19)

    def test_gives_its_readings_in_order_of_arrival(self) -> None:
        assert readings_of(WHOLE) == [
            DieReleased(t=2000, dev="cam", die=1, x=450.0, y=500.0),
            WallImpact(t=3000, dev="wall", wall="left", pos_mm=9, peak=700),
            BallDrop(t=4000, dev="wheel", arrived=4100),
        ]

    def test_reports_nothing(self) -> None:
        log = opened(WHOLE)
        assert (len(list(log)), log.lines, log.truncated, dict(log.unknown), log.skipped) == (
            3,
            4,
            False,
            {},
            0,
        )

    def test_may_lack_its_last_newline(self) -> None:
        log = opened(WHOLE.rstrip())
        assert (len(list(log)), log.truncated) == (3, False)

    def test_may_have_windows_line_ends(self) -> None:
        assert readings_of(WHOLE.replace(b"\n", b"\r\n")) == readings_of(WHOLE)

    def test_may_hold_its_header_alone(self) -> None:
        assert readings_of(text_of(DICE_HEADER)) == []

    def test_reads_the_same_when_packed_whatever_its_name(self, tmp_path: Path) -> None:
        path = tmp_path / "log.jsonl"
        path.write_bytes(gzip.compress(WHOLE))
        with open_log(str(path)) as log:
            assert list(log) == readings_of(WHOLE)

    def test_may_be_packed_in_several_members(self) -> None:
        assert readings_of(gzip.compress(WHOLE[:200]) + gzip.compress(WHOLE[200:])) == readings_of(WHOLE)

    @pytest.mark.parametrize("pack", [bytes, gzip.compress])
    def test_may_be_longer_than_a_block(self, pack: type[bytes]) -> None:
        drops = [{**DROP, "t": n} for n in range(2 * BLOCK_BYTES // 40)]
        readings = readings_of(pack(text_of(DICE_HEADER, *drops)))
        assert [reading.t for reading in readings] == list(range(len(drops)))


class TestWhatIsUnknown:
    def test_a_kind_is_counted_and_ignored(self) -> None:
        zap: Fields = {"t": 1, "dev": "x", "kind": "zap", "volts": {"deep": [1]}}
        log = opened(text_of(DICE_HEADER, zap, DROP, zap))
        assert list(log) == [BallDrop(t=4000, dev="wheel")]
        assert dict(log.unknown) == {"kind `zap`": 2}

    def test_a_field_is_counted_and_the_rest_of_its_reading_used(self) -> None:
        log = opened(text_of(DICE_HEADER, {**DROP, "loud": True, "extra": None}, DROP))
        assert list(log) == [BallDrop(t=4000, dev="wheel")] * 2
        assert dict(log.unknown) == {"field `loud` of `ball_drop`": 1, "field `extra` of `ball_drop`": 1}

    def test_a_key_of_the_header_or_its_geometry_is_reported(self) -> None:
        table = {"length_mm": 3600, "width_mm": 1100, "die_mm": 19.0, "colour": "green"}
        log = opened(text_of({**DICE_HEADER, "weather": "wet", "dice_table": table}, DROP))
        assert len(list(log)) == 1
        assert sorted(log.unknown) == ["key `dice_table.colour` of the header", "key `weather` of the header"]

    def test_a_field_does_not_hide_another_fault_of_its_line(self) -> None:
        with pytest.raises(BadLineError, match="without `x`"):
            readings_of(
                text_of(DICE_HEADER, {"t": 1, "dev": "cam", "kind": "die_at", "die": 1, "y": 1, "zz": 1})
            )


def test_a_ruling_may_name_its_attempt_by_a_number_as_outcomes_give_it() -> None:
    ruling: Fields = {"t": 1, "dev": "box", "kind": "input", "name": "set_dice", "by": "boxperson", "what": 7}
    readings = readings_of(text_of(DICE_HEADER, ruling, {**ruling, "what": "7"}))
    assert readings == [Input(t=1, dev="box", name="set_dice", by="boxperson", what="7")] * 2


BAD_LINES = {
    "not json": ("oops", "found oops, which is not JSON"),
    "cut in the middle of the log": ('{"t": 1, "dev": "x"', "which is not JSON (Input data was truncated)"),
    "an array": ("[1, 2]", "found [1, 2], expected a reading (one JSON object)"),
    "empty": ("", "found an empty line, expected a reading (one JSON object)"),
    "no kind": ('{"t": 1, "dev": "x"}', "without `kind`, expected a reading's `kind`"),
    "kind is no word": ('{"t": 1, "dev": "x", "kind": 7}', "found 7 as `kind`, expected text"),
    "no device": (
        '{"t": 1, "kind": "ball_drop"}',
        "a `ball_drop` reading without `dev`, expected the field `dev`",
    ),
    "time is text": (
        '{"t": "1", "dev": "x", "kind": "ball_drop"}',
        'found "1" as `t` of a `ball_drop` reading, expected a whole number, at least 0',
    ),
    "time before the epoch": ('{"t": -1, "dev": "x", "kind": "ball_drop"}', "found -1 as `t`"),
    "a fraction of a microsecond": ('{"t": 1.5, "dev": "x", "kind": "ball_drop"}', "found 1.5 as `t`"),
    "a third die": (
        '{"t": 1, "dev": "x", "kind": "die_lost", "die": 3}',
        "3 as `die` of a `die_lost` reading, expected one of 1 or 2",
    ),
    "a seventh face": (
        '{"t": 1, "dev": "x", "kind": "die_rest", "die": 1, "x": 1, "y": 1, "confidence": 1, "up": 7}',
        "7 as `up` of a `die_rest` reading, expected one of 1, 2, 3, 4, 5 or 6",
    ),
    "a side that is no face": (
        '{"t":1, "dev":"x", "kind":"die_rest", "die":1, "x":1, "y":1, "confidence":1, "resting_sides":[9]}',
        "found 9 as `resting_sides[0]` of a `die_rest` reading, expected one of 1, 2, 3, 4, 5 or 6",
    ),
    "more than sure": (
        '{"t": 1, "dev": "x", "kind": "die_rest", "die": 1, "x": 1, "y": 1, "confidence": 1.2}',
        "1.2 as `confidence` of a `die_rest` reading, expected a number, at least 0, at most 1",
    ),
    "no place": ('{"t": 1, "dev": "x", "kind": "foreign_object", "where": null}', "null as `where`"),
    "nested without end": ('{"a": ' + "[" * 9000 + "]" * 9000 + "}", "nested too deep"),
    "a number of 5000 digits": ('{"t": ' + "9" * 5000 + ', "dev": "x", "kind": "ball_drop"}', "as `t`"),
    "too long": ('{"t": 1, "dev": "' + "x" * MAX_LINE_BYTES + '\u00e9\ud7ff"', "more than 1,048,576 bytes"),
}


@pytest.mark.parametrize(("line", "says"), BAD_LINES.values(), ids=BAD_LINES.keys())
class TestABadLine:
    def test_ends_the_reading_and_is_named_with_file_line_and_fault(self, line: str, says: str) -> None:
        with pytest.raises(BadLineError) as error:
            readings_of(text_of(DICE_HEADER, DROP, line, DROP))
        assert str(error.value).startswith("a.jsonl, line 3: found ")
        assert says in str(error.value)
        assert str(error.value).endswith("; correct the line, or skip such lines with --lenient")
        assert len(str(error.value)) < 400

    def test_is_skipped_and_counted_by_a_lenient_reader(self, line: str, says: str) -> None:
        log = opened(text_of(DICE_HEADER, DROP, line, DROP), lenient=True)
        assert list(log) == [BallDrop(t=4000, dev="wheel")] * 2
        assert log.skipped == 1
        assert log.first_skipped is not None
        assert (log.first_skipped.line, says in str(log.first_skipped)) == (3, True)


def test_bytes_that_are_not_utf8_are_named_with_their_place() -> None:
    with pytest.raises(
        BadLineError, match=r"line 2: found byte 0xff at position 10, which is not UTF-8, expected UTF-8 text"
    ):
        readings_of(text_of(DICE_HEADER) + b'{"dev": "x\xff", "t": 1, "kind": "ball_drop"}\n')


def test_readings_before_a_bad_line_are_returned_wherever_a_block_ends() -> None:
    log = opened(text_of(DICE_HEADER, *[DROP] * 9000, "oops"))
    with pytest.raises(BadLineError) as error:
        list(log)
    assert error.value.line == 9002


def test_a_line_without_end_does_not_fill_the_memory() -> None:
    class Endless:
        def __init__(self) -> None:
            self.given = 0

        def read(self, size: int) -> bytes:
            self.given += size
            return text_of(DICE_HEADER) if self.given == size else b"x" * size

    endless = Endless()
    with pytest.raises(BadLineError, match="line 2: found more than"):
        list(Log(endless, "a.jsonl"))  # type: ignore[arg-type]  # all that a reader needs of a stream
    assert endless.given < 3 * MAX_LINE_BYTES


TABLE = {"length_mm": 3600, "width_mm": 1100, "die_mm": 19}
BAD_HEADERS = {
    "empty": (b"", "a.jsonl: found an empty file, expected a header and readings"),
    "only NUL bytes": (bytes(99), "a log cut off before its header ended"),
    "cut": (WHOLE[:30], "a log cut off before its header ended"),
    "a reading first": (
        text_of(DROP),
        'line 1: found {"t": 4000, "dev": "wheel", "kind": "ball_drop"}, expected a header',
    ),
    "another format": (
        text_of({**DICE_HEADER, "log": "web"}),
        'found "web" as `log` of the header, expected "table-readings"',
    ),
    "a later version": (
        text_of({**DICE_HEADER, "version": 2}),
        "found 2 as `version` of the header, expected 1",
    ),
    "a truthy version": (text_of({**DICE_HEADER, "version": True}), "found true as `version`"),
    "no version": (text_of({"log": "table-readings", "table": "t"}), "found nothing as `version`"),
    "no table": (text_of({"log": "table-readings", "version": 1}), "the header without `table`"),
    "half a geometry": (
        text_of({**DICE_HEADER, "dice_table": {"length_mm": 3600, "width_mm": 1100}}),
        "`dice_table` of the header without `die_mm`",
    ),
    "an impossible geometry": (
        text_of({**DICE_HEADER, "dice_table": {"length_mm": -1, "width_mm": 1100, "die_mm": 19}}),
        "-1 as `dice_table.length_mm` of the header, expected a number of millimetres greater than 0",
    ),
    "a wheel that is a list": (text_of({**DICE_HEADER, "wheel": [1]}), "[1] as `wheel` of the header"),
    "not text": (b"\x80\x81\n", "line 1: found byte 0x80 at position 0, which is not UTF-8"),
    "a number that is text": (
        text_of({**DICE_HEADER, "dice_table": {"length_mm": "3.6 m", "width_mm": 1100, "die_mm": 19}}),
        'found "3.6 m" as `dice_table.length_mm` of the header, expected a number of millimetres',
    ),
    "a zone that is none": (
        text_of({**DICE_HEADER, "dice_table": {**TABLE, "zones": [{"kind": "bnk", "polygon": [[0, 0]]}]}}),
        "found \"bnk\" as `dice_table.zones[0].kind` of the header, expected one of 'felt', 'cards', ",
    ),
    "a table that is a number": (
        text_of({**DICE_HEADER, "table": 5}),
        "found 5 as `table` of the header, expected text",
    ),
    "sources that are no list": (
        text_of({**DICE_HEADER, "sources": {"cam": "die_at"}}),
        'found {"cam": "die_at"} as `sources` of the header, expected a list',
    ),
    "another game's rules": (
        text_of({**DICE_HEADER, "rules": {"name": "a", "title": "", "game": "chess"}}),
        'found "chess" as `rules.game` of the header, expected one of ',
    ),
    "a key twice": (
        b'{"ruleset":"craps-v1",' + text_of(DICE_HEADER)[1:],
        "found `ruleset` twice in the header",
    ),
    "UTF-16": ("\ufeff{}\n".encode("utf-16"), "line 1: found UTF-16 text, expected plain UTF-8"),
    "a byte order mark": (
        b"\xef\xbb\xbf" + WHOLE,
        "line 1: found a UTF-8 byte order mark, expected plain UTF-8, a header",
    ),
    "a picture": (b"\x89PNG\r\n\x1a\n", "line 1: found byte 0x89"),
    "not JSON": (b"hello\n", "line 1: found hello, which is not JSON"),
    "without end": (b"x" * (MAX_LINE_BYTES + 10), "line 1: found more than 1,048,576 bytes"),
}


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("data", "says"), BAD_HEADERS.values(), ids=BAD_HEADERS.keys())
def test_a_bad_header_is_an_error_however_lenient(data: bytes, says: str, lenient: bool) -> None:
    with pytest.raises(LogError) as error:
        opened(data, lenient=lenient and len(data) < MAX_LINE_BYTES)
    assert says in str(error.value)


class TestNoLog:
    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(LogError, match=r"none.jsonl: found no readable file \(No such file"):
            open_log(str(tmp_path / "none.jsonl")).__enter__()

    def test_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(
            LogError, match="found a directory, expected a recorded sensor log; name a file in the directory"
        ):
            open_log(str(tmp_path)).__enter__()

    def test_a_name_that_cannot_be_a_file(self) -> None:
        with pytest.raises(LogError, match="null byte"):
            open_log("a\0b").__enter__()

    def test_a_disk_that_fails(self) -> None:
        class Failing:
            def read(self, _size: int) -> bytes:
                raise OSError(5, "Input/output error")

        with pytest.raises(LogError, match=r"found an unreadable file \(Input/output error\)"):
            Log(Failing(), "a.jsonl")  # type: ignore[arg-type]  # all that a reader needs of a stream


class TestALogThatWasCutOff:
    @pytest.mark.parametrize("at", range(len(text_of(DICE_HEADER)), len(WHOLE) + 1))
    def test_replays_up_to_the_cut(self, at: int) -> None:
        log = opened(WHOLE[:at])
        readings = list(log)
        assert readings == readings_of(WHOLE)[: len(readings)]
        ends = [WHOLE.index(b"}\n", n) + 1 for n in range(at) if WHOLE[n:].startswith(b'{"t"')]
        assert len(readings) == sum(end <= at for end in ends)
        assert log.truncated == (at not in ends and not WHOLE[:at].endswith(b"\n"))

    def test_replays_up_to_the_cut_when_packed(self) -> None:
        packed = gzip.compress(WHOLE, mtime=0)
        before_the_header_ended = 0
        for at in range(1, len(packed)):
            try:
                log = opened(packed[:at])
            except LogError:
                before_the_header_ended += 1
                continue
            readings = list(log)
            assert readings == readings_of(WHOLE)[: len(readings)]
            assert log.truncated
        assert before_the_header_ended < len(packed) * 0.8

    @pytest.mark.parametrize("nuls", [1, 8, 9, 300, 2 * BLOCK_BYTES + MAX_LINE_BYTES])
    @pytest.mark.parametrize("at", [len(WHOLE), len(WHOLE) - 1, len(WHOLE) - 9])
    def test_is_reported_when_it_ends_in_nul_bytes(self, at: int, nuls: int) -> None:
        log = opened(WHOLE[:at] + bytes(nuls))
        assert (len(list(log)), log.truncated) == (3 if at >= len(WHOLE) - 1 else 2, True)

    @pytest.mark.parametrize("cut", [0, 1, 4, 9, 30])
    def test_is_reported_when_its_packed_stream_ends_in_nul_bytes(self, cut: int) -> None:
        packed = gzip.compress(WHOLE, mtime=0)
        log = opened(packed[: len(packed) - cut] + bytes(4096))
        readings = list(log)
        assert readings == readings_of(WHOLE)[: len(readings)]
        assert log.truncated

    def test_nul_bytes_in_its_middle_are_a_bad_line(self) -> None:
        with pytest.raises(BadLineError, match=r"line 3: found \\x00\\x00"):
            readings_of(text_of(DICE_HEADER, DROP) + bytes(300) + text_of(DROP))

    def test_a_last_line_that_is_complete_but_invalid_is_not_a_cut(self) -> None:
        with pytest.raises(BadLineError, match="line 3"):
            readings_of(text_of(DICE_HEADER, DROP) + b'{"t": 1}')


def test_a_damaged_gzip_stream_is_an_error_that_says_how_far_it_is_good() -> None:
    packed = bytearray(gzip.compress(WHOLE, mtime=0))
    packed[-6] ^= 1
    with pytest.raises(LogError, match=r"a.jsonl: found damaged gzip data \(.*\), noticed at line \d"):
        readings_of(bytes(packed))


@pytest.mark.parametrize("lenient", [False, True])
def test_a_bad_line_of_a_damaged_gzip_stream_is_reported_as_damage(lenient: bool) -> None:
    """Change a byte of a stored block: the text changes, and only the checksum reveals the damage."""
    packed = bytearray(gzip.compress(WHOLE, compresslevel=0, mtime=0))
    packed[packed.index(b"wall_impact")] ^= 0xFF
    with pytest.raises(LogError, match="damaged gzip data") as error:
        readings_of(bytes(packed), lenient=lenient)
    assert "copy the file again" in str(error.value)
    assert "--lenient" not in str(error.value)


def test_a_bad_line_of_a_sound_gzip_stream_is_reported_as_a_bad_line() -> None:
    with pytest.raises(BadLineError, match="line 2"):
        readings_of(gzip.compress(text_of(DICE_HEADER, "oops", DROP)))


LINES = st.sampled_from([text_of(line) for line in (DICE_HEADER, RELEASE, IMPACT, DROP)]) | st.binary(
    max_size=40
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    data=st.lists(LINES, max_size=6).map(b"".join),
    header=st.booleans(),
    packed=st.booleans(),
    lenient=st.booleans(),
    flip=st.none() | st.tuples(st.integers(0, 400), st.integers(0, 255)),
)
def test_no_bytes_raise_anything_but_a_log_error(
    data: bytes, header: bool, packed: bool, lenient: bool, flip: tuple[int, int] | None
) -> None:
    log = bytearray((text_of(DICE_HEADER) if header else b"") + data)
    if packed:
        log = bytearray(gzip.compress(log, mtime=0))
    if flip is not None and flip[0] < len(log):
        log[flip[0]] = flip[1]
    with suppress(LogError):
        readings_of(bytes(log), lenient=lenient)


@settings(max_examples=60, derandomize=True, deadline=None)
@given(lines=st.lists(st.sampled_from([RELEASE, IMPACT, DROP]), max_size=30), level=st.integers(0, 9))
def test_plain_and_packed_give_the_same(lines: list[Fields], level: int) -> None:
    data = text_of(DICE_HEADER, *lines)
    assert readings_of(gzip.compress(data, level, mtime=0)) == readings_of(data)
