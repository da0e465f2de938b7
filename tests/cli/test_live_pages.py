"""`status`, `devices`, `faults` and `watch`: coloured text on a terminal, plain text in a pipe, or JSON."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from controller.cli.main import main
from controller.cli.screen import Screen
from controller.cli.watch import Watcher
from controller.model.outcomes import Outcome, RollCalled, RollNoRoll, RollReview, TableEvent
from controller.model.verdicts import Reason
from tests.cli.controller_at import FakeController, Json, Terminal, controller_at

pytestmark = pytest.mark.usefixtures("hears_signals")
INTERRUPTED = (130, -2)
"""Ctrl-C once or twice."""
SOCKET = "control.sock"
WIDE = "a sentence that goes on for so long that no window of eighty columns has room for all of its words"
SHORT = Reason(code="no_wall_hit", rule="C34-INV-2ii", seen=f"die 1 stopped short: {WIDE}", die=1)
FAULT = {
    "code": "device_down",
    "where": "cam",
    "found": f"unplugged, {WIDE}",
    "what": "a device is disconnected",
    "cause": "its cable",
    "next_step": "plug it in",
    "clears": "automatically",
    "locks": False,
}


def device(*, up: bool) -> Json:
    return {
        "type": "node",
        "up": up,
        "says": WIDE,
        "readings_per_s": 40.0,
        "last_seen_s": 0.5,
        "trouble": "",
        "do": "plug it in",
        "figures": {"firmware": "1.2", "troubles": [], "lost": 2},
    }


def status(**more: object) -> Json:
    return {
        "table": "craps",
        "ruleset": "craps-12-034",
        "headline": "table open, unlocked",
        "faults": [],
        "lock": "unlocked",
        "state": {"point": 9},
        "devices": {"cam": device(up=True), "wall-left": device(up=True)},
        "self_test": [{"name": "journal", "ok": True, "says": "written"}],
        **more,
    }


def line_of(outcome: Outcome) -> Json:
    return {"outcome": msgspec.to_builtins(outcome), "n": 1, "chain": "9f"}


def called(number: int, dice: tuple[int, int]) -> Outcome:
    data = RollCalled(
        roll=number,
        dice=dice,
        total=sum(dice),
        phase="point",
        point=8,
        call="point_made",
        point_after=None,
        shooter=None,
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    return Outcome(type="roll.called", t=1, id=f"craps/1/{number}", seq=number, data=data)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeController]:
    """Yield a healthy controller in the working directory of `tablectl`."""
    monkeypatch.chdir(tmp_path)
    with controller_at(tmp_path / "control.sock") as controller:
        controller.answers = {
            "status": {"ok": True, "status": status()},
            "faults": {"ok": True, "faults": []},
        }
        yield controller


def troubled(table: FakeController) -> None:
    """Unplug the camera."""
    devices = {"cam": device(up=False), "wall-left": device(up=True)}
    shown = status(faults=[FAULT], devices=devices, headline=f"device_down ({WIDE}): plug it in")
    table.answers = {"status": {"ok": True, "status": shown}, "faults": {"ok": True, "faults": [FAULT]}}


@pytest.mark.parametrize("command", ["status", "devices", "faults"])
@pytest.mark.parametrize("wrong", [False, True])
def test_each_page_fits_a_window_of_80_by_24(
    command: str, wrong: bool, table: FakeController, tmp_path: Path
) -> None:
    if wrong:
        troubled(table)
    terminal = Terminal((command, "--socket", SOCKET), 80, 24)
    lines = terminal.whole().splitlines()
    assert terminal.end() == (1 if wrong else 0)
    assert lines
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 24
    assert ("\x1b[1;31m" if wrong else "\x1b[1;32m") in terminal.raw


def test_a_followed_page_is_redrawn_in_place(table: FakeController) -> None:
    terminal = Terminal(("status", "--follow", "--socket", SOCKET), 80, 24)
    terminal.until(lambda text: "table open, unlocked" in text)
    troubled(table)
    text = terminal.until(lambda text: "do: plug it in" in text)
    assert terminal.end() in INTERRUPTED
    assert text.rpartition("\x1b[H")[2].startswith("craps (craps-12-034): device_down")


def test_a_page_longer_than_the_window_says_how_much_is_not_shown(
    table: FakeController, tmp_path: Path
) -> None:
    troubled(table)
    terminal = Terminal(("status", "-f", "--socket", SOCKET), 80, 10)
    text = terminal.until(lambda text: "more lines: make the window taller" in text)
    terminal.end()
    assert text.count("\n") < 10


def test_a_followed_page_shows_that_the_controller_went_away_and_came_back(
    table: FakeController, tmp_path: Path
) -> None:
    path = tmp_path / "control.sock"
    terminal = Terminal(("faults", "--follow", "--socket", SOCKET), 80, 24)
    terminal.until(lambda text: "no faults" in text)
    away = tmp_path / "away.sock"
    path.rename(away)
    terminal.until(lambda text: "no controller responds" in " ".join(text.split()))
    seen = len(terminal.text)
    away.rename(path)
    terminal.until(lambda text: "no faults" in text[seen:])
    assert terminal.end() in INTERRUPTED


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_can_be_switched_off(environ: dict[str, str], table: FakeController, tmp_path: Path) -> None:
    terminal = Terminal(("status", "--socket", SOCKET), 80, 24, **environ)
    assert "table open, unlocked" in terminal.whole()
    terminal.end()
    assert "\x1b" not in terminal.raw


def test_output_to_a_pipe_has_whole_lines_and_no_colour(
    table: FakeController, capsys: pytest.CaptureFixture[str]
) -> None:
    troubled(table)
    assert main(["faults", "--socket", SOCKET]) == 1
    printed = capsys.readouterr().out
    assert f"unplugged, {WIDE}\n" in printed
    assert "\x1b" not in printed


@pytest.mark.parametrize(
    ("command", "expected"),
    [("status", status()), ("devices", {"cam": device(up=True), "wall-left": device(up=True)})],
)
def test_json_output_is_the_answer_and_nothing_else(
    command: str,
    expected: Json,
    table: FakeController,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([command, "--json", "--socket", SOCKET]) == 0
    assert json.loads(capsys.readouterr().out) == expected


def test_an_unknown_device_is_refused_and_the_known_ones_are_listed(
    table: FakeController, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "lidar", "--socket", SOCKET]) == 1
    assert "the table has no device 'lidar'; its devices are cam, wall-left" in capsys.readouterr().err


def watched(*lines: Json, width: int | None = None) -> str:
    """Return the output of `watch` for these lines of the stream, with every entry at 10:00:00."""
    stream = io.StringIO()
    watcher = Watcher(Screen(stream, {"LANG": "C.UTF-8"}), lambda: "10:00:00")
    for line in lines:
        watcher.write(line)
    return stream.getvalue()


def test_watch_prints_calls_as_the_stickperson_makes_them() -> None:
    assert watched(line_of(called(7, (5, 3)))).startswith("10:00:00    7  ")
    assert "Eight, winner eight, pay the line" in watched(line_of(called(7, (5, 3))))


def test_watch_prints_a_void_with_each_cause_and_its_rule() -> None:
    data = RollNoRoll(roll=3, reasons=(SHORT,), by="sensors", who=None, notices=())
    printed = watched(line_of(Outcome(type="roll.no_roll", t=1, id="craps/1/3", seq=3, data=data)))
    assert "No Roll: no wall hit" in printed
    assert "(C34-INV-2ii)" in printed


def test_watch_prints_a_review_once_with_the_allowed_inputs() -> None:
    awaited: Json = {
        "attempt": "roll",
        "number": 4,
        "state": "review",
        "reasons": [msgspec.to_builtins(SHORT)],
        "may": ["no_roll", "set_dice"],
    }
    data = RollReview(roll=4, reasons=(SHORT,), dice=None, notices=())
    review = line_of(Outcome(type="roll.review", t=1, id="craps/1/4", seq=4, data=data))
    printed = watched({"awaited": awaited}, review, {"awaited": None})
    assert printed.count("Review: a person must rule") == 1
    assert "enter tablectl input no_roll or tablectl input set_dice" in printed
    assert watched(review).count("Review: a person must rule") == 1


def test_repeated_inputs_of_a_stuck_button_are_counted_and_not_printed_each_time() -> None:
    data = TableEvent(cause="already_void", what="no_roll", by="boxperson", who=None, says="already void")
    refused = line_of(Outcome(type="input.refused", t=1, id="craps/1/5", seq=5, data=data))
    printed = watched(*[refused] * 40, line_of(called(7, (5, 3))), refused)
    assert printed.count("input refused, no roll") == 2
    assert "repeated 39 times" in printed


def test_watch_prints_faults_lamps_and_readings_as_text() -> None:
    fault: Json = {"code": "device_down", "where": "cam", "found": "unplugged"}
    printed = watched(
        {"fault": {**fault, "began": True}},
        {"fault": {**fault, "began": False}},
        {"lamp": {"name": "review", "shows": "on"}},
        {"reading": {"kind": "card", "t": 5, "dev": "shoe", "to": "3"}, "masked": True},
        {"something": "new"},
    )
    assert "fault device_down, cam: unplugged; for the remedy, run tablectl faults" in printed
    assert "fault cleared: device_down, cam" in printed
    assert "lamp review: on" in printed
    assert "shoe card" in printed
    assert "(masked)" in printed
    assert '{"something":"new"}' in printed


def test_watch_prints_text_on_a_terminal_and_json_lines_on_request(
    table: FakeController, capsys: pytest.CaptureFixture[str]
) -> None:
    table.stream = [line_of(called(7, (5, 3)))]
    terminal = Terminal(("watch", "--socket", SOCKET), 80, 24)
    lines = [line for line in terminal.whole().splitlines() if not line.startswith("tablectl: ")]
    terminal.end()
    assert max(map(len, lines)) <= 80
    assert any("winner eight" in line for line in lines)
    main(["watch", "--json", "--socket", SOCKET])
    assert json.loads(capsys.readouterr().out)["outcome"]["id"] == "craps/1/7"
    topics = [request["topics"] for request in table.asked if request["do"] == "watch"]
    assert topics == [["outcomes", "faults"], ["outcomes", "readings", "lamps", "faults"]]


class Tty(io.StringIO):
    """A terminal that records its output."""

    def isatty(self) -> bool:
        return True


def test_a_line_wrapped_by_the_window_continues_in_its_column_and_is_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    line = f"             cause  {WIDE}"
    assert Screen(io.StringIO(), {}).wrapped(line, 20) == [line]
    monkeypatch.setenv("COLUMNS", "80")
    broken = Screen(Tty(), {"TERM": "xterm", "NO_COLOR": "1"}).wrapped(line, 20)
    assert max(map(len, broken)) <= 80
    assert [one[:20] for one in broken] == ["             cause  ", " " * 20]
    assert " ".join(" ".join(broken).split()) == " ".join(line.split())


@pytest.mark.parametrize("environ", [{}, {"LC_ALL": "C"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_long_message_is_broken_between_words_in_any_terminal(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    terminal = Terminal(("status", "--socket", str(tmp_path / SOCKET)), 60, 24, **environ)
    printed = terminal.whole().splitlines()
    terminal.end()
    assert "start one with `tablectl run TABLE`" in " ".join(map(str.strip, printed))
    assert all(len(one) <= 60 or str(tmp_path) in one for one in printed)
