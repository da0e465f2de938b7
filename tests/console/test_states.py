"""The screens in states that no simulated session reaches: readable, large enough, and completely in view."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress

import msgspec
import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Request, Route, expect

from controller.console.answers import (
    Attempt,
    AttemptOutcome,
    Awaited,
    Bets,
    BoardResult,
    Data,
    Fault,
    Floor,
    HighRoller,
    Lock,
    Reason,
    Result,
    State,
    ThreeCard,
)
from controller.console.feed import ScreenState
from controller.model.geometry import STANDARD_POCKETS
from controller.technician.drawing import DIE_COLOURS
from tests.console.drawn import PAGES, SMALL_SCREEN, board_of, display_drawn, drawn, opened
from tests.console.test_access import assert_accessible

WHO = "boxperson"
PHONE = (390, 844)
SCREENS_ABOVE = ((1024, 600), (1280, 800), (1920, 1080))
IN_VIEW = """one => { const [box, out] = [one, one.parentElement].map(each => each.getBoundingClientRect());
    return box.left >= out.left && box.right <= out.right
        && box.top >= out.top && box.bottom <= out.bottom }"""
NO_ROLL = ("no_roll", "void")
POCKETS = STANDARD_POCKETS["american"]


def table(game: str = "craps", *may: str, **reported: object) -> Floor:
    reported = {"up": True, "lock": "unlocked", "bets": Bets(open=True), "title": game} | reported
    words = {WHO: may}
    return Floor(table=game, ruleset=game, game=game, may=words, **reported)  # type: ignore[arg-type]  # each its own type


def review(
    attempt: str,
    *may: str,
    reason: str = "power_lost",
    lacks: tuple[str, ...] = (),
    entered: tuple[tuple[str, str], ...] = (),
    **reported: object,
) -> dict[str, object]:
    why = Reason(code=reason, rule="C34-INV-2vi", seen="power was lost before the call")
    waits = Awaited(
        attempt=attempt,
        number=7,
        state="review",
        reasons=(why,),
        missing=(why,),
        may=may,
        lacks=lacks,
        entered=entered,
    )
    word = AttemptOutcome(type=f"{attempt}.review", sequence=7, data=Data(reasons=(why,)))
    return {
        "awaited": waits,
        "attempt": Attempt(word=attempt, number=7, open=True),
        "results": (Result(attempt=attempt, number=7, outcomes=(word,)),),
        **reported,
    }


def result(attempt: str, type_: str, **data: object) -> Result:
    word = AttemptOutcome(type=type_, sequence=7, data=Data(**data))  # type: ignore[arg-type]  # each its own type
    return Result(attempt=attempt, number=7, outcomes=(word,))


LONG_NAME = Fault(
    code="identity_changed",
    where="/var/lib/table-controller/journals/craps-table-12/identity.json",
    found="another program",
    what="the program, rule set, pay table or configuration differs from the last approved one",
    next_step="if the change was intended, run `tablectl approve identity`",
    clears="when a member of staff approves the change",
    locks=True,
    approve="identity",
)
DEALT = result(
    "deal",
    "deal.called",
    hands={"2": ("7c", "5h", "9s"), "5": ("2d", "Ad", "Ac")},
    dealer=("Jc", "9d", "3c"),
    announcement="Dealer doesn't play",
)
HIGH_ROLLER = HighRoller(
    seats=(1, 2, 3), button="1", stage="buying", game=3, cards={"1": (7, 9), "2": (4,)}, owed={"2": 1}
)
STATES: Mapping[str, Floor] = {
    "locked by a fault with a long name": table(
        "craps",
        "unlock",
        "approve identity",
        lock="locked",
        faults=(LONG_NAME,),
        locked=Lock(
            by="controller",
            says="the table was locked before the restart",
            clears="when a member of staff unlocks it",
        ),
    ),
    "cut off by a power loss": table("craps", *NO_ROLL, **review("roll", *NO_ROLL)),
    "dice under review": table(
        "craps",
        *NO_ROLL,
        "set_dice",
        "accept",
        **review("roll", *NO_ROLL, "set_dice", "accept", reason="conflict"),
    ),
    "a spin under review": table(
        "roulette",
        "no_spin",
        "set_number",
        pockets=POCKETS,
        **review("spin", "no_spin", "set_number", reason="conflict"),
    ),
    "a spin read twice, each time otherwise": table(
        "roulette",
        "no_spin",
        "set_number",
        "accept",
        pockets=POCKETS,
        **review("spin", "no_spin", "set_number", "accept", reason="conflict"),
    ),
    "a deal under review": table(
        "three_card",
        "misdeal",
        "set_card",
        "play",
        "fold",
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        **review("deal", "misdeal", "set_card", reason="missing_reading"),
    ),
    "a card of a deal is missing": table(
        "three_card",
        "misdeal",
        "set_card",
        "fold",
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        acted={"2": "play", "5": "play"},
        **review("deal", "misdeal", "set_card", reason="unread_card", lacks=("dealer",)),
    ),
    "cards of two positions are missing": table(
        "three_card",
        "misdeal",
        "set_card",
        "fold",
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        acted={"2": "play", "5": "play"},
        **review("deal", "misdeal", "set_card", reason="unread_card", lacks=("5", "dealer")),
    ),
    "a card of a deal was entered twice": table(
        "three_card",
        "misdeal",
        "set_card",
        "fold",
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        acted={"2": "play", "5": "play"},
        **review("deal", "misdeal", "set_card", reason="conflict", entered=(("5", "9h"), ("dealer", "9h"))),
    ),
    "cards are out": table(
        "three_card",
        "misdeal",
        "play",
        "fold",
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        attempt=Attempt(word="deal", number=7, under_way=True, open=True),
    ),
    "a locked wheel": table(
        "roulette",
        "no_more_bets",
        "open_bets",
        "unlock",
        "close_table",
        lock="locked",
        pockets=POCKETS,
        locked=Lock(
            by="dealer",
            who="bob",
            says="Dispute at the table",
            clears="when a member of staff unlocks it",
        ),
    ),
    "a spin that can be called back": table(
        "roulette",
        "no_spin",
        "set_number",
        "settled",
        "paid",
        pockets=POCKETS,
        standing=7,
        attempt=Attempt(word="spin", number=7),
        results=(result("spin", "spin.called", number="17", colour="black"),),
    ),
    "a deal that can be called back": table(
        "three_card",
        "misdeal",
        "set_card",
        "settled",
        "seats",
        standing=7,
        attempt=Attempt(word="deal", number=7),
        state=State(three_card=ThreeCard(seats=("2", "5"))),
        results=(DEALT,),
    ),
    "cards are sold": table(
        "high_roller",
        "buy",
        "draw_button",
        "decline",
        "leave",
        "void",
        "closing",
        state=State(high_roller=HIGH_ROLLER),
        attempt=Attempt(number=7),
    ),
    "no seat has bought yet": table(
        "high_roller",
        "buy",
        "draw_button",
        "set_card",
        "decline",
        "leave",
        state=State(high_roller=HighRoller(stage="button", game=3)),
        attempt=Attempt(number=7),
    ),
    "cards are sold, all have bought": table(
        "high_roller",
        "start_roll",
        "buy",
        "set_card",
        "leave",
        "lock",
        state=State(high_roller=HIGH_ROLLER),
        attempt=Attempt(number=7),
    ),
    "a shooter is to be named": table(
        "craps",
        "new_shooter",
        "pass_dice",
        "run_out",
        "dice_set",
        "lock",
        "close_table",
        state=State(shooter="4", point=10, dice_set="3"),
        attempt=Attempt(number=7),
    ),
    "bets may be closed, after twelve spins": table(
        "roulette",
        "no_more_bets",
        "lock",
        "close_table",
        pockets=POCKETS,
        results=tuple(
            Result(
                attempt="spin",
                number=number,
                outcomes=(
                    AttemptOutcome(
                        type="spin.called", sequence=number, data=Data(number="17", colour="black")
                    ),
                ),
            )
            for number in range(12, 0, -1)
        ),
    ),
    "proposed": table(
        "craps",
        "accept",
        *NO_ROLL,
        "set_dice",
        attempt=Attempt(number=7, open=True),
        awaited=Awaited(
            attempt="roll", number=7, state="proposed", proposes="6-3", may=("accept", *NO_ROLL, "set_dice")
        ),
    ),
    "the controller is down": table("craps", up=False, headline="The controller has stopped"),
}


def open_all(page: Page) -> None:
    """Touch every heading that opens more keys."""
    for one in page.locator("summary:visible").all():
        if one.locator("..").get_attribute("open") is None:
            one.tap()
    page.evaluate(
        "scrollTo(0, 0)"
    )  # opening keys scrolled the page, so a key half below the head is not too small


@pytest.mark.parametrize("state", STATES)
def test_each_state_is_readable_and_nothing_is_cut_off_at_the_sides(browser: Browser, state: str) -> None:
    page = drawn(browser, STATES[state])
    open_all(page)
    assert_accessible(page)
    for width, height in (SMALL_SCREEN, PHONE):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{width} pixels wide"
    page.close()


def test_the_first_second_without_a_controller_is_readable(browser: Browser) -> None:
    page = drawn(browser, None)
    expect(page.locator("#state")).to_contain_text("The table's state is unknown")
    assert_accessible(page)
    page.close()


def test_a_review_asks_for_nothing_that_cannot_be_touched(browser: Browser) -> None:
    """An attempt interrupted by a power failure can only be void, so no face is requested."""
    page = drawn(browser, STATES["cut off by a power loss"])
    expect(page.locator("#ruling h2")).to_have_text("Roll 7 is under review: touch No Roll")
    page.close()


def test_a_lock_is_described_in_sentences(browser: Browser) -> None:
    page = drawn(browser, STATES["locked by a fault with a long name"])
    reported = page.locator("#trouble .banner").first
    expect(reported).to_contain_text(
        "the table was locked before the restart. Unlocks when a member of staff unlocks it"
    )
    page.close()


def test_once_faces_are_touched_the_seen_faces_are_no_longer_the_green_key(browser: Browser) -> None:
    """Two green keys with different dice on them invite a wrong touch."""
    page = drawn(browser, STATES["dice under review"])
    accept = page.locator(".rulings > .key.go")
    green = accept.evaluate("one => getComputedStyle(one).backgroundColor")
    page.get_by_label("die 1 shows 5").tap()
    expect(accept).not_to_have_css("background-color", green)
    page.close()


@pytest.mark.parametrize("state", ["dice under review", "a spin under review"])
def test_the_drawing_below_the_keys_is_one_touch_away(browser: Browser, state: str) -> None:
    page = drawn(browser, STATES[state])
    look = page.locator(".rulings").get_by_role("link", name="What was seen")
    expect(look).to_be_in_viewport(ratio=1)
    look.tap()
    expect(page.locator(".drawn summary")).to_be_in_viewport(ratio=1)
    page.close()


@pytest.mark.parametrize(
    "state",
    [
        "dice under review",
        "a spin under review",
        "a spin read twice, each time otherwise",
        "a card of a deal is missing",
        "cards of two positions are missing",
        "proposed",
    ],
)
def test_the_keys_that_rule_an_attempt_are_completely_in_view(browser: Browser, state: str) -> None:
    page = drawn(browser, STATES[state])
    expect(page.locator(".rulings .submit")).to_be_in_viewport(ratio=1)
    page.close()


@pytest.mark.parametrize("state", ["a spin that can be called back", "a deal that can be called back"])
def test_the_key_that_calls_a_result_back_is_completely_in_view(browser: Browser, state: str) -> None:
    page = drawn(browser, STATES[state])
    page.locator("summary", has_text="Call back").tap()
    expect(page.locator(".callback .key:visible").last).to_be_in_viewport(ratio=1)
    for submit in page.locator(".callback .submit").all():
        expect(submit).to_be_in_viewport(ratio=1)
    page.close()


def test_a_deal_that_was_called_does_not_look_like_a_misdeal(browser: Browser) -> None:
    page = drawn(browser, STATES["a deal that can be called back"])
    expect(page.locator("#results .void")).to_have_count(0)
    expect(page.locator("#results")).to_contain_text("Dealer doesn't play")
    expect(page.locator(".callback summary")).to_have_text("Call back deal 7 (Dealer doesn't play)")
    page.close()


def test_the_shooter_is_marked_among_the_seats(browser: Browser) -> None:
    page = drawn(browser, STATES["a shooter is to be named"])
    page.locator("summary", has_text="New shooter").tap()
    expect(page.locator("#now .seat[aria-current]")).to_have_text("4")
    page.close()


def test_the_key_that_rules_is_in_view_once_a_number_is_chosen(browser: Browser) -> None:
    page = drawn(browser, STATES["a spin read twice, each time otherwise"])
    page.get_by_label("27 red").tap()
    expect(page.locator(".rulings .submit")).to_be_enabled()
    expect(page.locator(".rulings .submit")).to_be_in_viewport(ratio=1)
    page.close()


def test_the_page_head_shows_what_waits_wherever_the_page_is_scrolled(browser: Browser) -> None:
    page = drawn(browser, STATES["dice under review"])
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    waits = page.locator("#head").get_by_text("Roll 7: review")
    expect(waits).to_be_in_viewport(ratio=1)
    page.close()


def test_the_lock_key_is_in_view_however_many_results_there_are(browser: Browser) -> None:
    page = drawn(browser, STATES["bets may be closed, after twelve spins"])
    expect(page.locator("summary", has_text="Lock, close")).to_be_in_viewport(ratio=1)
    page.locator("summary", has_text="Lock, close").tap()
    expect(page.get_by_role("button", name="Lock").first).to_be_in_viewport(ratio=1)
    page.close()


def test_the_second_half_of_a_double_tap_enters_nothing(browser: Browser) -> None:
    """The second tap meets the next key at that place, such as the key that opens bets again."""
    page = drawn(browser, STATES["bets may be closed, after twelve spins"])
    said: list[str] = []
    page.on("request", lambda request: said.append(request.url) if request.method == "POST" else None)
    key = page.get_by_role("button", name="No More Bets", exact=True)
    with page.expect_request("**/say"):
        key.evaluate("one => { one.click(); one.click(); }")
    assert len(said) == 1
    page.close()


def said_by(page: Page) -> list[str]:
    """Return a list that collects every later request from the page to the table."""
    said: list[str] = []

    def note(request: Request) -> None:
        if request.method == "POST":
            said.append(request.post_data or "")

    page.on("request", note)
    return said


def all_of(page: Page, said: list[str]) -> list[str]:
    """Return the page's requests up to a final request, which the test sends."""
    with page.expect_request("**/end"):
        page.evaluate("fetch('/end', {method: 'POST', body: 'end'}).catch(() => {})")
    assert said[-1] == "end"
    return said[:-1]


def double_tap(page: Page, one: Locator) -> None:
    """Touch twice, as a wet finger does, faster than anyone can read."""
    box = one.bounding_box()
    assert box is not None
    place = {"clientX": box["x"] + box["width"] / 2, "clientY": box["y"] + box["height"] / 2}
    page.evaluate(
        """place => { for (const _ of [1, 2]) document.elementFromPoint(place.clientX, place.clientY)
            .dispatchEvent(new MouseEvent("click", {...place, bubbles: true, cancelable: true})) }""",
        place,
    )


def test_a_double_tap_opens_what_it_touches_and_does_not_close_it_again(browser: Browser) -> None:
    page = drawn(browser, STATES["bets may be closed, after twelve spins"])
    double_tap(page, page.locator("summary", has_text="Lock, close"))
    expect(page.get_by_role("button", name="Lock: Inspection")).to_be_visible()
    page.close()


def test_a_double_tap_rules_once(browser: Browser) -> None:
    page = drawn(browser, STATES["a spin under review"])
    page.get_by_label("27 red").tap()
    key = page.locator(".rulings .submit")
    expect(key).to_have_text("Rule spin 7 as 27")
    said = said_by(page)
    key.evaluate("one => { one.click(); one.click(); }")
    assert [msgspec.json.decode(one)["name"] for one in all_of(page, said)] == ["set_number"]
    page.close()


def test_the_second_half_of_an_answer_touches_nothing_below_the_question(browser: Browser) -> None:
    page = drawn(browser, STATES["dice under review"])
    page.get_by_role("button", name="No Roll: Dispute").tap()
    expect(page.locator("#yes")).to_be_enabled()
    box = page.locator("#yes").bounding_box()
    assert box is not None
    page.evaluate(
        """box => { const below = document.createElement("button");
            below.dataset.say = '{"name": "no_roll"}';
            Object.assign(below.style, {position: "fixed", left: `${box.x}px`, top: `${box.y}px`,
                width: `${box.width}px`, height: `${box.height}px`});
            document.querySelector("main").append(below); }""",
        box,
    )
    said = said_by(page)
    double_tap(page, page.locator("#yes"))
    assert [msgspec.json.decode(one).get("reason") for one in all_of(page, said)] == ["disputed"]
    page.close()


def test_the_second_half_of_a_double_tap_answers_no_question(browser: Browser) -> None:
    page = drawn(browser, STATES["locked by a fault with a long name"])
    page.get_by_role("button", name="Unlock", exact=True).evaluate(
        "one => { one.click(); document.getElementById('yes').click(); }"
    )
    expect(page.locator("#confirm")).to_be_visible()
    expect(page.locator("#yes")).to_be_enabled()
    page.close()


def test_a_question_is_withdrawn_once_its_key_is_gone(browser: Browser) -> None:
    page = drawn(browser, STATES["locked by a fault with a long name"])
    page.get_by_role("button", name="Unlock", exact=True).tap()
    expect(page.locator("#question")).to_have_text("Unlock the table?")
    page.evaluate("""() => { document.querySelector('[data-panel="trouble"]').innerHTML = "";
        document.dispatchEvent(new CustomEvent("panel", {detail: "trouble"})) }""")
    expect(page.locator("#confirm")).not_to_be_visible()
    page.close()


def test_a_missing_card_is_entered_with_three_touches(browser: Browser) -> None:
    page = drawn(browser, STATES["a card of a deal is missing"])
    key = page.locator(".rulings .submit")
    expect(key).to_have_text("Touch the card")
    page.get_by_label("Q", exact=True).tap()
    page.get_by_label("clubs", exact=True).tap()
    expect(key).to_have_text("Enter dealer, Q♣ in deal 7")
    said = said_by(page)
    with page.expect_request("**/say"):
        key.tap()
    assert msgspec.json.decode(said[0]) == {
        "name": "set_card", "what": "7", "card": "Qc", "seat": "dealer", "of_review": True,
    }  # fmt: skip
    page.close()


def test_of_two_missing_cards_only_their_positions_can_be_chosen(browser: Browser) -> None:
    page = drawn(browser, STATES["cards of two positions are missing"])
    assert page.locator('.rulings input[name="seat"]').evaluate_all("all => all.map(one => one.value)") == [
        "5",
        "dealer",
    ]
    expect(page.locator('.rulings input[name="seat"][value="5"]')).to_be_checked()
    page.close()


def test_a_misread_card_is_replaced_by_touching_it_and_the_right_card(browser: Browser) -> None:
    page = drawn(browser, STATES["a deal that can be called back"])
    page.locator("summary", has_text="Call back").tap()
    page.get_by_label("seat 2: 7♣").tap()
    page.locator(".callback").get_by_label("2", exact=True).tap()
    page.get_by_label("hearts").tap()
    key = page.locator(".callback .submit")
    expect(key).to_have_text("Enter seat 2: 7♣ is 2♥ in deal 7")
    said = said_by(page)
    with page.expect_request("**/say"):
        key.tap()
    assert msgspec.json.decode(said[0]) == {
        "name": "set_card", "what": "7 7c", "card": "2h", "seat": "2",
    }  # fmt: skip
    page.close()


def test_a_misdeal_has_its_cause_while_the_cards_are_out(browser: Browser) -> None:
    page = drawn(browser, STATES["cards are out"])
    page.get_by_role("button", name="Misdeal: Cheating suspected").tap()
    expect(page.locator("#question")).to_have_text("Misdeal: Cheating suspected for deal 7?")
    page.close()


def test_a_locked_wheel_has_no_keys_for_bets_and_its_unlock_beside_the_reason(browser: Browser) -> None:
    page = drawn(browser, STATES["a locked wheel"])
    for key in ("No More Bets", "Open bets"):
        expect(page.get_by_role("button", name=key, exact=True)).to_have_count(0)
    expect(page.locator("#trouble").get_by_role("button", name="Unlock")).to_be_in_viewport(ratio=1)
    page.close()


def test_the_dice_of_a_review_are_named_as_in_the_drawing(browser: Browser) -> None:
    page = drawn(browser, STATES["dice under review"])
    for place, colour in enumerate(DIE_COLOURS):
        row = page.locator(".rulings .faces legend").nth(place)
        expect(row).to_contain_text(("Die 1: the blue dot", "Die 2: the orange square")[place])
        assert colour in row.inner_html()
    page.close()
    page = drawn(browser, STATES["proposed"])
    assert page.locator(".rulings .faces legend").all_inner_texts() == ["One die", "The other"]
    page.close()


@pytest.mark.parametrize("word", ["Settled", "Table", "Game"])
@pytest.mark.parametrize("state", ["a shooter is to be named", "a spin that can be called back"])
def test_no_key_has_a_meaningless_label(browser: Browser, state: str, word: str) -> None:
    page = drawn(browser, STATES[state])
    open_all(page)
    expect(page.locator("button, summary", has_text=re.compile(f"^{word}$"))).to_have_count(0)
    page.close()


def test_a_choice_is_kept_when_the_page_is_fed_meanwhile(browser: Browser) -> None:
    page = drawn(browser, STATES["cards are sold, all have bought"])
    streams: list[Route] = []
    fed: dict[str, str] = {}

    def feed(route: Route) -> None:
        body = f"data: {json.dumps(fed)}\n\n"
        with suppress(Error):  # The stream of the previous page is closed.
            route.fulfill(body=body, content_type="text/event-stream")

    page.route("**/events", lambda route: feed(route) if fed else streams.append(route))
    page.reload()
    form = page.locator("form[data-word=buy]")
    form.locator('input[name="seat"][value="3"]').tap()
    form.locator('input[name="count"][value="2"]').tap()
    fed["now"] = page.locator("#now").inner_html()
    for stream in streams:
        feed(stream)
    expect(page.locator("body")).to_have_attribute("data-fed", "1")
    expect(form.locator(".submit")).to_have_text("Enter seat 3, 2 cards")
    expect(form.locator(".submit")).to_be_enabled()
    page.close()


@pytest.mark.parametrize(("count", "shown"), [("0", "pass"), ("1", "1 card")])
def test_the_key_that_enters_a_purchase_states_the_number_of_cards(
    browser: Browser, count: str, shown: str
) -> None:
    page = drawn(browser, STATES["cards are sold, all have bought"])
    form = page.locator("form[data-word=buy]")
    form.locator('input[name="seat"][value="3"]').tap()
    form.locator(f'input[name="count"][value="{count}"]').tap()
    expect(form.locator(".submit")).to_have_text(f"Enter seat 3, {shown}")
    page.close()


@pytest.mark.parametrize(("value", "shown"), [("blue", "blue"), ("", "returned")])
def test_the_key_for_colour_chips_states_what_is_entered(browser: Browser, value: str, shown: str) -> None:
    page = drawn(browser, table("roulette", "chips", pockets=POCKETS))
    page.locator("summary", has_text="Colour chips").tap()
    form = page.locator("form[data-word=chips]")
    form.locator('input[name="seat"][value="3"]').tap()
    form.locator(f'input[name="chips"][value="{value}"]').tap()
    expect(form.locator(".submit")).to_have_text(f"Enter seat 3, {shown}")
    page.close()


def test_a_bought_card_that_was_not_read_is_entered_with_three_touches(browser: Browser) -> None:
    page = drawn(browser, STATES["cards are sold, all have bought"])
    page.locator("summary", has_text="A card that was not read").tap()
    form = page.locator("form[data-word=set_card]")
    expect(form.locator(".submit")).to_have_text("Touch the card")
    form.get_by_label("9", exact=True).tap()
    expect(form.locator(".submit")).to_have_text("Enter seat 2, 9")
    expect(form.locator(".submit")).to_be_in_viewport(ratio=1)
    page.close()


def test_the_key_that_sells_a_card_is_in_view_with_twelve_seats(browser: Browser) -> None:
    page = drawn(browser, STATES["cards are sold, all have bought"])
    expect(page.locator("form[data-word=buy] .submit")).to_be_in_viewport(ratio=1)
    page.locator("summary", has_text="Player leaves the table").tap()
    expect(page.get_by_role("button", name="Player leaves the table: seat 3")).to_be_in_viewport(ratio=1)
    page.close()


def test_the_pad_is_in_view_however_many_people_may_sign_in(browser: Browser) -> None:
    names = tuple(f"person number {number}" for number in range(1, 25))
    page = opened(browser, PAGES.sign_in(names, "locked after 5 wrong tries; wait 15 min"))
    page.get_by_label("person number 3", exact=True).check()
    expect(page.get_by_role("button", name="Sign in")).to_be_in_viewport(ratio=1)
    assert_accessible(page)
    page.close()


# --- the players' display ---

BOARD_RESULTS: Mapping[str, BoardResult] = {
    "craps": BoardResult(
        type="roll.called", subject="roll/7", data=Data(dice=(6, 6), total=12, call="no_decision")
    ),
    "high_roller": BoardResult(
        type="roll.called", subject="roll/7", data=Data(dice=(6, 6), total=12, call="no_match")
    ),
    "roulette": BoardResult(type="spin.called", subject="spin/7", data=Data(number="00", colour="green")),
    "three_card": BoardResult(
        type="deal.called",
        subject="deal/7",
        data=Data(
            hands={str(seat): ("Qh", "Jd", "Tc") for seat in range(1, 8)},
            dealer=("Kc", "8d", "3s"),
            announcement="Dealer plays",
        ),
    ),
}
PLAYED = {"craps": "Rolls", "high_roller": "Rolls", "roulette": "Spins", "three_card": "Deals"}


def shown(game: str, **reported: object) -> ScreenState:
    """Return the state of a display of this game; craps has the longest point and total."""
    word = {"Rolls": "roll", "Spins": "spin", "Deals": "deal"}[PLAYED[game]]
    floor = table(game, pockets=POCKETS if game == "roulette" else (), attempt=Attempt(word=word))
    board = board_of(
        floor, results=(BOARD_RESULTS[game],) * 10, point=10 if game == "craps" else None, **reported
    )
    counts = {"craps": {"12": 3}, "high_roller": {"12": 3}, "roulette": {"00": 3}, "three_card": {"plays": 3}}
    return ScreenState(floor=floor, board=board, counts=counts[game])


@pytest.mark.parametrize("game", BOARD_RESULTS)
def test_a_display_shows_everything_on_its_board(browser: Browser, game: str) -> None:
    page = display_drawn(browser, shown(game))
    for width, height in SCREENS_ABOVE:
        page.set_viewport_size({"width": width, "height": height})
        for one in page.locator(".big > *").all():
            assert one.evaluate(IN_VIEW), f"{one.inner_text()} at {width} x {height}"
    expect(page.locator(".counts h2")).to_have_text(f"{PLAYED[game]} since the table opened: 3")
    assert_accessible(page)
    page.close()


def test_the_puck_stays_where_it_is_whether_on_or_off(browser: Browser) -> None:
    places = []
    for point in (10, None):
        now = shown("craps")
        assert now.floor is not None
        board = board_of(now.floor, results=(BOARD_RESULTS["craps"],), point=point)
        page = display_drawn(browser, ScreenState(floor=now.floor, board=board, counts={}))
        places.append(page.locator(".big .puck").bounding_box())
        page.close()
    assert places[0] == places[1]


def test_a_colour_is_named_once(browser: Browser) -> None:
    page = display_drawn(browser, shown("roulette"))
    assert len(re.findall("green", page.locator("#board").inner_text(), re.IGNORECASE)) == 1
    page.close()
