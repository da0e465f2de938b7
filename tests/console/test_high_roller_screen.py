"""A High Roller table's screens: cards are sold by touch, and a review is ruled on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.model.readings import Card
from tests.app.test_card_tables import high_roller
from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.scenes import SECOND_US, throw


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screens]:
    """Yield the screens of a table with the length of the simulated table."""
    folder = Path(tmp_path_factory.mktemp("screens"))
    file = Path(high_roller(folder))
    with file.open("a", encoding="utf-8") as text:
        text.write("\npublish: {to: socket}\n")
    one = Screens(folder, str(file))
    try:
        yield one.start()
    finally:
        one.close()


def test_a_game_is_sold_and_a_roll_under_review_is_ruled_by_touch(screens: Screens, sign_in: SignIn) -> None:
    bob = sign_in("bob", size=(1280, 800))
    for seat, card in (("1", "Q"), ("2", "9")):
        form = bob.page.locator("form[data-word=draw_button]")
        form.locator(f'input[name="seat"][value="{seat}"]').tap()
        form.locator(f'input[name="rank"][value="{card}"]').tap()
        form.locator(".submit").tap()
        bob.is_answered_with("Done: Card for the button")
        bob.page.reload()
    bob.reads("Buy cards")
    for seat in ("1", "2"):
        form = bob.page.locator("form[data-word=buy]")
        form.locator(f'input[name="seat"][value="{seat}"]').tap()
        form.locator('input[name="count"][value="1"]').tap()
        form.locator(".submit").tap()
        bob.is_answered_with("Done: Buy cards")
        screens.play([Card(t=SECOND_US, dev="shoe", rank=7)])
        bob.page.reload()
    bob.touch("Start rolling")
    bob.reads("Elimination")
    screens.play(throw(0, (3, 4), confidence=0.4))
    bob.reads("Roll 1 is under review")
    bob.choose("die 1 shows 3")
    bob.choose("die 2 shows 4")
    bob.touch("Rule roll 1 as 3-4")
    bob.is_answered_with("Roll 1: 3-4, was under review")
