"""Calls at card tables and at High Roller, as dealers make them."""

import io

import pytest

from controller.cli.commentary import Commentary
from controller.cli.screen import Entry, Screen
from controller.cli.words import hand_in_words, seat_in_words, seats_in_words
from controller.model.outcomes import CardPitched, CardsBought, Data, DealCalled, Outcome, SeatResult


@pytest.mark.parametrize(
    ("hand", "says"),
    [
        ("K-7-6 high", "king high"),
        ("8-A pair", "pair of eights"),
        ("6-2 pair", "pair of sixes"),
        ("T flush", "flush, ten high"),
        ("3 straight", "straight, three high"),
        ("A straight flush", "straight flush, ace high"),
        ("7 three of a kind", "three sevens"),
    ],
)
def test_a_hand_is_called_as_dealers_call_it(hand: str, says: str) -> None:
    assert hand_in_words(hand) == says


@pytest.mark.parametrize(
    ("hand", "result", "says"),
    [
        ("K-7-6 high", "win", "king high: wins, pay Ante and Play"),
        ("8-A pair", "lose", "pair of eights: loses, take Ante and Play; Pair Plus wins"),
        ("8 straight", "push", "a push, Ante and Play stand; Pair Plus and Ante Bonus win"),
        ("K-7-6 high", "dealer_does_not_play", "king high: pay the Ante, Play goes back"),
        ("8-A pair", "fold", "pair of eights: folded, take the Ante"),
    ],
)
def test_T_PP_1_a_seat_is_called_with_its_other_wins(hand: str, result: str, says: str) -> None:
    assert says in seat_in_words(SeatResult(seat="3", hand=hand, result=result))  # type: ignore[arg-type]  # a word of the type


def printed(*facts: tuple[str, Data], environ: dict[str, str] | None = None) -> list[str]:
    stream = io.StringIO()
    commentary = Commentary(Screen(stream, environ or {"LANG": "C.UTF-8"}))
    for number, (type_, data) in enumerate(facts, 1):
        commentary.write(Outcome(type=type_, t=number, id=f"t/1/{number}", seq=number, data=data))
    return stream.getvalue().splitlines()


DEAL = DealCalled(
    deal=3,
    hands={"6": ("8d", "Ac", "8s")},
    dealer=("Tc", "8h", "5s"),
    folds=(),
    qualifies=False,
    announcement="Dealer doesn't play",
    results=(SeatResult(seat="6", hand="8-A pair", result="dealer_does_not_play"),),
    grade="sensors",
    notices=(),
    by=None,
    who=None,
)


def test_a_deal_is_called_dealer_first_and_then_seat_by_seat() -> None:
    assert printed(("deal.called", DEAL)) == [
        "    3  Tc 8h 5s  Dealer doesn't play: the Ante pays 1 to 1, Play goes back",
        "       8d Ac 8s  seat 6, pair of eights: pay the Ante, Play goes back; Pair Plus wins",
    ]


def test_a_purchase_is_one_line_with_its_cards_even_if_it_ends_early() -> None:
    bought = ("cards.bought", CardsBought(game=1, player=5, count=3, by="player", who=None))
    cards = [
        ("card.pitched", CardPitched(game=1, player=5, card=card, replaces=None, by="shoe", who=None))
        for card in (3, 11)
    ]
    other = ("card.pitched", CardPitched(game=1, player=2, card=9, replaces=4, by="dealer", who=None))
    lines = [line.strip() for line in printed(bought, *cards, other)]
    assert lines == ["seat 5 buys 3 cards: 3 11", "seat 2 gets 9 instead of 4"]


def test_seats_are_named() -> None:
    assert [seats_in_words(seats) for seats in ([2], [5, 6, 3])] == ["seat 2", "seats 5, 6 and 3"]


class Window(io.StringIO):
    """A terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_an_entry_never_leaves_its_window(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = Screen(Window(), {"LANG": "C.UTF-8", "NO_COLOR": "1"}).entry(
        Entry("a lead of this length  ", "and words, one after the other, until the window has no room left")
    )
    assert all(len(line) <= max(columns, 24) for line in lines)
    assert " ".join(" ".join(lines).split()).endswith("has no room left")
