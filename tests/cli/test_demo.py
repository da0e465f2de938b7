"""`tablectl demo`: a demonstration in the staff's language, and the number of correct calls."""

import argparse
import io
import shlex
from pathlib import Path

import pytest

from controller.cli import demo
from controller.cli.main import parser_for
from controller.cli.screen import Screen
from controller.cli.words import call_in_words, puck_in_words
from controller.model.outcomes import CrapsCall, RollCalled

UTF8 = {"LANG": "en_US.UTF-8"}


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Pipe(Terminal):
    """A stream that is not a terminal."""

    def isatty(self) -> bool:
        return False


def demo_arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    return parser.parse_args(words)


def shown(stream: Terminal, environment: dict[str, str], *words: str) -> tuple[int, str, list[float]]:
    """Show the demonstration, by default without cards."""
    pauses: list[float] = []
    code = demo.play(
        demo_arguments("--games", "0", "--deals", "0", *words), Screen(stream, environment), pauses.append
    )
    return code, stream.getvalue(), pauses


def test_the_demo_in_a_pipe_is_immediate_and_without_colour() -> None:
    code, text, pauses = shown(Pipe(), UTF8, "--throws", "8", "--spins", "0")
    assert code == 0
    assert pauses == []
    assert "\x1b" not in text
    assert "8 of 8 calls are correct" in text


def test_a_spin_reports_its_number_its_revolutions_and_when_bets_were_closed() -> None:
    code, text, _ = shown(Pipe(), UTF8, "--throws", "0", "--spins", "3")
    assert code == 0
    assert "revolutions, No More Bets" in text
    assert "3 of 3 calls are correct" in text


def test_a_game_and_deals_of_cards_are_reported_in_words() -> None:
    words = ("--throws", "0", "--spins", "0", "--games", "1", "--deals", "3")
    code, text, _ = shown(Pipe(), UTF8, *words)
    assert code == 0
    assert "the dice go to the button" in text
    assert "wins $" in text
    assert "Dealer plays with" in text
    assert "pay Ante and Play" in text
    assert "4 of 4 calls are correct" in text


def test_the_demo_ends_with_commands_to_type_and_a_page_to_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Makefile").touch()
    (tmp_path / ".venv").mkdir()
    monkeypatch.chdir(tmp_path)
    text = shown(Pipe(), UTF8, "--throws", "1", "--spins", "0")[1]
    commands = [line.split("&& ") for line in text.splitlines() if line.startswith("    cd ")]
    assert {there.strip() for there, _ in commands} == {f"cd {tmp_path}"}
    typed = [shlex.split(command)[1:] for _, command in commands if "tablectl" in command]
    assert len(typed) >= 4
    for words in typed:
        parser_for((words[0],)).parse_args(words)
    assert "http://127.0.0.1:8321/display" in text


def test_the_demo_takes_about_twenty_seconds_on_a_terminal() -> None:
    _, text, pauses = shown(Terminal(), UTF8, "--throws", "8", "--spins", "0")
    assert sum(pauses) == pytest.approx(demo.SHOW_S, rel=0.4)
    assert "\x1b[" in text


def test_fast_does_not_pause() -> None:
    assert shown(Terminal(), UTF8, "--throws", "5", "--spins", "0", "--fast")[2] == []


def test_dice_are_drawn_if_the_locale_can_and_written_if_it_cannot() -> None:
    drawn = shown(Pipe(), UTF8, "--throws", "4", "--spins", "0")[1]
    written = shown(Pipe(), {**UTF8, "LC_ALL": "C"}, "--throws", "4", "--spins", "0")[1]
    assert any(die in drawn for die in "⚀⚁⚂⚃⚄⚅")
    assert written.isascii()
    assert "[" in written


@pytest.mark.parametrize("environment", [{**UTF8, "NO_COLOR": "1"}, {**UTF8, "TERM": "dumb"}])
def test_colour_can_be_switched_off(environment: dict[str, str]) -> None:
    assert "\x1b" not in shown(Terminal(), environment, "--throws", "2", "--spins", "0", "--fast")[1]


def test_the_same_seed_shows_the_same_demonstration() -> None:
    words = ("--throws", "4", "--spins", "0", "--seed", "3")
    assert shown(Pipe(), UTF8, *words) == shown(Pipe(), UTF8, *words)
    assert shown(Pipe(), UTF8, *words) != shown(Pipe(), UTF8, *words[:-1], "4")


def test_a_demonstration_without_anything_to_play_is_short() -> None:
    assert shown(Terminal(), UTF8, "--throws", "0", "--spins", "0")[0] == 0


@pytest.mark.parametrize("words", [("--throws", "-1"), ("--seed", "six")])
def test_bad_numbers_are_refused(words: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        demo_arguments(*words)
    assert stopped.value.code == 2
    assert f"found '{words[1]}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("dice", "call", "says"),
    [
        ((3, 4), "natural", "Seven, front line winner"),
        ((5, 6), "natural", "Yo-leven, front line winner"),
        ((1, 1), "craps", "Two craps, aces, line away"),
        ((6, 6), "craps", "Twelve craps, boxcars, line away"),
        ((2, 4), "point_set", "Point is six"),
        ((4, 4), "point_set", "Point is eight, the hard way"),
        ((4, 6), "point_made", "Ten, winner ten, pay the line"),
        ((2, 5), "seven_out", "Seven out, line away"),
        ((2, 2), "no_decision", "Four, the hard way"),
        ((5, 6), "no_decision", "Yo-leven"),
    ],
)
def test_calls_are_in_the_dealers_words(dice: tuple[int, int], call: CrapsCall, says: str) -> None:
    roll = RollCalled(
        roll=1,
        dice=dice,
        total=sum(dice),
        phase="come_out",
        point=None,
        call=call,
        point_after=None,
        shooter=None,
        grade="sensors",
        notices=(),
        by=None,
        who=None,
    )
    assert call_in_words(roll) == says


def test_the_puck_is_off_or_on_the_point() -> None:
    assert [puck_in_words(point) for point in (None, 6, 10)] == ["OFF", "ON six", "ON ten"]
