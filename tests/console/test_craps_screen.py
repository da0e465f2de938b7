"""A craps table's screens in a real browser: rulings, corrections, two consoles, a killed table."""

import pytest
from playwright.sync_api import Browser, Page, expect

from controller.model.readings import Face
from tests.console.conftest import SignIn
from tests.console.rig import CARD, Screens
from tests.console.touch import PATIENCE_MS, Person, is_touchable, reload_without_script
from tests.scenes import throw

TABLE = "craps"


def unsure(screens: Screens) -> None:
    """Throw dice whose faces the camera cannot read with certainty."""
    screens.play(throw(0, (3, 4), confidence=0.4))


def number(person: Person) -> str:
    """Return the number of the roll that waits for a ruling."""
    rulings = person.page.locator(".rulings[data-attempt]")
    expect(rulings).to_be_visible()
    return str(rulings.get_attribute("data-attempt"))


def call_back_of_new_roll(screens: Screens, person: Person, faces: tuple[Face, Face]) -> None:
    """Throw dice, and open the keys that call back this roll instead of the previous roll."""
    heading = person.page.locator("summary", has_text="Call back")
    before = heading.inner_text() if heading.count() else "none"
    screens.play(throw(0, faces))
    expect(heading).not_to_have_text(before)
    person.open("Call back roll")


@pytest.fixture
def display(browser: Browser, screens: Screens) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(f"{screens.url}/display")
    return page


def test_a_review_is_ruled_with_three_touches_and_the_players_see_why_they_wait(
    screens: Screens, sign_in: SignIn, display: Page
) -> None:
    ann = sign_in("ann")
    unsure(screens)
    ann.reads("is under review", "A face can't be read with certainty", "C34-PT-1", "confidence 0.40")
    roll = number(ann)
    expect(display.locator(".verdict")).to_have_text("Under review")
    expect(display.locator(".why")).to_contain_text("A face can't be read with certainty")
    assert "confidence" not in display.content()
    expect(ann.page.locator("#picture img")).to_be_visible()
    ann.choose("die 1 shows 3")
    ann.choose("die 2 shows 4")
    ann.touch(f"Rule roll {roll} as 3-4")
    assert ann.touches == 3
    ann.is_answered_with(f"Roll {roll}: 3-4, was under review")
    ann.reads("ruled by boxperson ann")
    expect(display.locator(".big .total")).to_have_text("7")
    display.close()


def test_the_last_result_is_called_back_and_corrected(screens: Screens, sign_in: SignIn) -> None:
    ann = sign_in("ann")
    call_back_of_new_roll(screens, ann, (2, 2))
    roll = number(ann)
    ann.touch("No Roll")
    expect(ann.page.locator("#question")).to_have_text(f"No Roll for roll {roll}?")
    ann.page.locator("#yes").tap()
    ann.is_answered_with(f"Roll {roll}: No Roll, was 2-2")
    ann.reads("was 2-2, corrected by boxperson ann")
    expect(ann.page.locator(".callback .submit")).to_be_hidden()
    screens.play(throw(0, (3, 3)))
    expect(ann.page.locator("#said")).to_be_empty()


def test_nothing_is_entered_when_the_question_is_answered_with_back(
    screens: Screens, sign_in: SignIn
) -> None:
    ann = sign_in("ann")
    call_back_of_new_roll(screens, ann, (3, 3))
    ann.touch("No Roll: Dispute")
    ann.touch("Back")
    expect(ann.page.locator("#said")).to_be_empty()


def test_a_second_ruling_on_a_closed_review_is_refused_with_a_message(
    screens: Screens, sign_in: SignIn
) -> None:
    ann = sign_in("ann")
    unsure(screens)
    ann.reads("is under review")  # until then the keys call back the previous roll
    roll = number(ann)
    late = sign_in("ann", feed=False)
    assert number(late) == roll
    ann.touch("No Roll")
    ann.page.locator("#yes").tap()
    ann.is_answered_with(f"Roll {roll}: No Roll")
    late.choose("die 1 shows 6")
    late.choose("die 2 shows 6")
    late.touch(f"Rule roll {roll} as 6-6")
    late.is_answered_with(f"roll {roll} is no longer under review")
    ann.reads("No Roll")
    expect(ann.page.locator("#results li").first).not_to_contain_text("corrected")


def test_a_console_opened_during_a_review_has_its_keys(screens: Screens, sign_in: SignIn) -> None:
    unsure(screens)
    ann = sign_in("ann")
    ann.reads("is under review")
    roll = number(ann)
    ann.touch("No Roll: Dispute")
    ann.page.locator("#yes").tap()
    ann.is_answered_with(f"Roll {roll}: No Roll")


def test_a_key_of_the_initial_page_stays_the_same_key_once_the_page_is_fed(
    screens: Screens, sign_in: SignIn
) -> None:
    unsure(screens)
    ann = sign_in("ann")
    ann.page.add_init_script(
        "document.addEventListener('DOMContentLoaded', () => {"
        " const keys = document.querySelectorAll('#ruling button');"
        " for (const key of keys) key.dataset.cameWith = 'the page'; })"
    )
    ann.page.reload()
    expect(ann.page.locator("body[data-fed]")).to_be_attached()
    keys = ann.page.locator("#ruling button")
    assert keys.count() > 0
    expect(ann.page.locator("#ruling button[data-came-with]")).to_have_count(keys.count())


def test_no_name_can_be_touched_before_the_script_is_loaded(screens: Screens, browser: Browser) -> None:
    page = browser.new_page(has_touch=True)
    page.set_default_timeout(PATIENCE_MS)
    page.goto(screens.url)
    load = reload_without_script(page)
    name = page.locator("label", has_text="ann")
    expect(name).to_be_visible()
    assert not is_touchable(name)
    load()
    name.tap()
    expect(page.locator("#pin")).to_be_visible()
    page.close()


def test_no_key_can_be_touched_before_the_script_is_loaded(screens: Screens, sign_in: SignIn) -> None:
    unsure(screens)
    ann = sign_in("ann")
    load = reload_without_script(ann.page)
    key = ann.page.get_by_role("button", name="No Roll: Dispute", exact=True)
    expect(key).to_be_visible()
    assert not is_touchable(key)
    load()
    ann.touch("No Roll: Dispute")
    expect(ann.page.locator("#yes")).to_be_visible()


def test_an_input_that_a_role_may_not_make_has_no_key(screens: Screens, sign_in: SignIn) -> None:
    unsure(screens)
    cleo, tom = sign_in("cleo"), sign_in("tom")
    cleo.reads("is under review")
    roll = number(cleo)
    expect(cleo.page.locator("form[data-word=set_dice]")).to_have_count(0)
    tom.reads("As technician, you can't rule on this roll")
    tom.has_no_key("No Roll")
    cleo.touch("No Roll")
    cleo.page.locator("#yes").tap()
    cleo.is_answered_with(f"Roll {roll}: No Roll")


def test_the_shooter_is_named_by_touching_a_seat(screens: Screens, sign_in: SignIn) -> None:
    ann = sign_in("ann")
    ann.open("New shooter")
    ann.touch("New shooter: seat 5")
    ann.is_answered_with("Shooter: seat 5")
    ann.reads("seat 5")


def test_a_lock_is_shown_with_who_set_it_why_and_what_unlocks_it(screens: Screens, sign_in: SignIn) -> None:
    ann = sign_in("ann")
    ann.open("Lock, close")
    ann.touch("Lock: Dealer's break")
    ann.reads("Locked by boxperson (ann)", "Unlocks when a member of staff unlocks it.")
    expect(ann.page.locator("#trouble")).not_to_contain_text("tablectl")
    ann.touch("Unlock")
    ann.page.locator("#yes").tap()
    expect(ann.page.locator("#head .chip")).to_have_text("Open")


def test_a_card_reader_signs_in_and_five_wrong_pins_lock_out(browser: Browser, screens: Screens) -> None:
    page = browser.new_page(has_touch=True)
    person = Person(page, screens.url)
    page.goto(screens.url)
    for left in ("4 tries", "3 tries", "2 tries", "1 try", "locked after 5 wrong tries"):
        person.try_pin("dan", "9999")
        person.is_answered_with(left)
    screens.restart_sign_in()
    person.try_pin("dan", "5678")
    person.is_answered_with("locked after 5 wrong tries")
    page.reload()
    page.keyboard.type(CARD)
    page.keyboard.press("Enter")
    expect(page.locator("#head .who")).to_contain_text("bob, dealer")
    person.touch("Sign out")
    expect(page.locator("h1")).to_have_text("Sign in")
    page.close()


def test_a_killed_table_is_shown_at_once_and_its_state_when_it_is_back(
    screens: Screens, sign_in: SignIn, display: Page
) -> None:
    ann = sign_in("ann")
    unsure(screens)
    ann.reads("is under review")  # until then the keys call back the previous roll
    roll = number(ann)
    screens.kill_table()
    ann.reads("The controller does not respond", "make the calls by hand")
    expect(ann.page.locator(".rulings")).to_have_count(0)
    expect(display.locator(".verdict")).to_have_text("One moment, please")
    screens.start_table()
    assert number(ann) == roll
    ann.touch("No Roll")
    ann.page.locator("#yes").tap()
    ann.is_answered_with(f"Roll {roll}: No Roll")
    display.close()


def test_the_players_display_shows_the_retained_board_at_once_when_it_starts(
    screens: Screens, display: Page, browser: Browser
) -> None:
    screens.play(throw(0, (2, 2)))
    expect(display.locator(".big .total")).to_have_text("4")
    # A page without its script shows only the state at its loading.
    late = browser.new_context(viewport={"width": 1280, "height": 800}, java_script_enabled=False).new_page()
    late.goto(f"{screens.url}/display")
    for part in (".puck", ".phase", ".big .total", ".verdict", ".bets", ".past li"):
        assert late.locator(part).all_inner_texts() == display.locator(part).all_inner_texts(), part
    assert late.locator(".past .die").count() == display.locator(".past .die").count() > 0
    late.context.close()
    display.close()


def test_a_long_fast_session_does_not_increase_the_displays_memory(screens: Screens, display: Page) -> None:
    devtools = display.context.new_cdp_session(display)

    def size() -> tuple[int, int]:
        devtools.send("HeapProfiler.collectGarbage")
        metrics = {one["name"]: one["value"] for one in devtools.send("Performance.getMetrics")["metrics"]}
        return int(metrics["Nodes"]), int(metrics["JSHeapUsedSize"])

    devtools.send("Performance.enable")
    faces: list[tuple[Face, Face]] = [(1, 2), (3, 3), (5, 6), (2, 2), (6, 6), (4, 1)]

    def play(throws: int) -> None:
        for one in range(throws):
            screens.play(throw(0, faces[one % len(faces)]), after_us=2_000_000)
        total = str(sum(faces[(throws - 1) % len(faces)]))
        expect(display.locator(".big .total")).to_have_text(total)

    play(20)
    nodes, heap = size()
    play(120)
    nodes_after, heap_after = size()
    # 120 boards of 300 nodes each would be 36,000 nodes if the page kept them.
    assert nodes_after < nodes + 5_000
    assert heap_after < heap + 2_000_000
    display.close()


def test_a_stopped_console_ends_its_screens_in_order_and_they_reconnect(
    screens: Screens, display: Page
) -> None:
    expect(display.locator("body")).to_have_attribute("data-link", "up")
    screens.stop_console()
    assert (screens.folder / "console.log").read_text(encoding="utf-8") == ""
    expect(display.locator("#lost")).to_be_visible()
    screens.start_console()
    expect(display.locator("#lost")).to_be_hidden()
