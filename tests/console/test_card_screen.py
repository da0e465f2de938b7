"""A Three Card Poker table's screens: positions, play and fold, and a card that the shoe could not read."""

import re

from playwright.sync_api import Browser, expect

from controller.model.readings import Card
from tests.app.test_card_tables import HANDS
from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.scenes import SECOND_US

TABLE = "three-card"


def test_an_unread_card_is_entered_by_touch(screens: Screens, sign_in: SignIn, browser: Browser) -> None:
    bob = sign_in("bob")
    display = browser.new_page(viewport={"width": 1280, "height": 800})
    display.goto(f"{screens.url}/display")
    bob.choose("1")
    bob.choose("2")
    bob.touch("Deal to these")
    bob.is_answered_with("Done: Positions with wagers")
    bob.touch("No More Bets")
    bob.is_answered_with("Done: No More Bets")
    names = [(to, text) for to, hand in HANDS for text in hand.split()]
    dealt = [
        Card(t=at * SECOND_US, dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit
        for at, (to, text) in enumerate(names[:-1])
    ]
    screens.play([*dealt, Card(t=len(names) * SECOND_US, dev="shoe", to="dealer")])
    bob.touch("Play: seat 1")
    bob.is_answered_with("Done: Play: seat 1")
    bob.reads("Seat 1 plays", "Seat 2 to act")
    bob.touch("Fold: seat 2")
    bob.reads("Seat 2 folded")
    bob.reads("Deal 1 is under review", "A card can't be read")
    assert not any(text[0] + "♦" in display.content() for _, text in names)
    rank, suit = tuple(names[-1][1])
    before = bob.touches
    bob.choose({"T": "10"}.get(rank, rank))
    bob.choose({"s": "spades", "h": "hearts", "d": "diamonds", "c": "clubs"}[suit])
    bob.touch("Enter dealer, 8♦ in deal 1")
    assert bob.touches - before == 3
    expect(display.locator(".cards")).to_contain_text("Dealer")
    bob.reads("Call back deal 1")
    display.close()


def test_a_wrongly_entered_card_is_replaced_and_the_deal_counts(screens: Screens, sign_in: SignIn) -> None:
    """The invalid card is in two hands, and a misdeal would void a deal that one input can correct."""
    bob = sign_in("bob")
    for seat in ("1", "2"):
        bob.page.get_by_role("checkbox", name=seat, exact=True).check(force=True)
    bob.touch("Deal to these")
    bob.is_answered_with("Done: Positions with wagers")
    names = [(to, text) for to, hand in HANDS for text in hand.split()]
    dealt = [
        Card(t=at * SECOND_US, dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit
        for at, (to, text) in enumerate(names[:-1])
    ]
    screens.play([*dealt, Card(t=len(names) * SECOND_US, dev="shoe", to="dealer")])
    bob.touch("Play: seat 1")
    bob.is_answered_with("Done: Play: seat 1")
    bob.touch("Play: seat 2")
    bob.reads("is under review", "A card can't be read")
    number = re.findall(r"Deal (\d+) is under review", bob.page.content())[0]
    bob.choose("9")
    bob.choose("hearts")
    bob.touch(f"Enter dealer, 9♥ in deal {number}")
    bob.reads("A card that was entered incorrectly")
    bob.choose("dealer: 9♥")
    bob.choose("8")
    bob.choose("diamonds")
    bob.touch(f"Enter dealer: 9♥ is 8♦ in deal {number}")
    bob.reads(f"Call back deal {number}")


def test_after_a_misdeal_stakes_are_returned_and_nothing_is_paid(screens: Screens, sign_in: SignIn) -> None:
    bob = sign_in("bob")
    names = [(to, text) for to, hand in HANDS for text in hand.split()]
    screens.play(
        [
            Card(t=at * SECOND_US, dev="shoe", rank=text[0], suit=text[1], to=to)  # type: ignore[arg-type]  # a suit
            for at, (to, text) in enumerate(names)
        ]
    )
    bob.touch("Misdeal")
    bob.reads("Stakes returned")
    bob.has_no_key("All paid")
    bob.touch("Stakes returned")
    bob.has_no_key("Stakes returned")
