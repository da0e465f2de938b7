"""A review with the camera's verified pictures next to the drawn throw, for staff only."""

import pytest
from playwright.sync_api import Page, expect

pytest.importorskip("cv2", reason="OpenCV comes with the `vision` extra")

from controller.evidence.pictures import Closed
from tests.console.conftest import SignIn
from tests.console.photographs import kept_by, photographs, reviewed
from tests.console.rig import Screens
from tests.console.test_access import assert_accessible
from tests.console.test_craps_screen import number
from tests.console.touch import Person

TABLE = "craps"


@pytest.fixture
def album() -> list[Closed]:
    """Return two files of a camera."""
    return photographs()


def ruled(person: Person) -> None:
    """Close the review."""
    person.touch("No Roll")
    person.page.locator("#yes").tap()
    expect(person.page.locator("#ruling h2.warn")).to_have_count(0)


def loaded(page: Page, image: str) -> bool:
    """Wait until a picture is loaded; return whether the browser could show it."""
    one = page.locator(image).first
    one.scroll_into_view_if_needed()
    expect(one).to_have_js_property("complete", True)
    return int(one.evaluate("one => one.naturalWidth")) > 0


def test_the_pictures_are_next_to_the_drawn_throw_and_the_clip_plays(
    screens: Screens, sign_in: SignIn, album: list[Closed]
) -> None:
    kept_by(screens, album)
    ann = sign_in("ann")
    refused: list[str] = []
    ann.page.on("console", lambda said: refused.append(said.text) if said.type == "error" else None)
    reviewed(screens, album)
    number(ann)
    expect(ann.page.locator(".filmed")).to_have_count(2)
    ann.reads("the camera read 3", "the camera read 4")
    expect(ann.page.locator(".drawn img")).to_be_visible()
    assert loaded(ann.page, ".filmed .stills img")
    ann.page.locator(".filmed summary", has_text="The whole view").first.tap()
    assert loaded(ann.page, ".filmed details[open] img")
    ann.page.locator(".filmed summary", has_text="The clip").first.tap()
    clip = ann.page.locator(".filmed details[open] img[src$=clip]")
    clip.scroll_into_view_if_needed()
    expect(clip).to_have_js_property("naturalWidth", 640)
    assert_accessible(ann.page)
    assert refused == []
    ruled(ann)
    expect(ann.page.locator(".filmed")).to_have_count(0)


def test_pictures_are_shown_to_staff_only_and_for_no_other_throw(
    screens: Screens, sign_in: SignIn, album: list[Closed]
) -> None:
    folder = kept_by(screens, album)
    ann = sign_in("ann")
    reviewed(screens, album)
    roll = number(ann)
    expect(ann.page.locator(".filmed .stills img")).not_to_have_count(0)
    name = folder.pictures(album[0].sha256).of("die")[0]
    path = f"{screens.url}/pictures/{roll}/0/{name}"
    request = ann.page.context.request
    answer = request.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "image/jpeg")
    stranger = ann.page.context.browser.new_context()  # type: ignore[union-attr]
    assert stranger.request.get(path).status == 401
    assert stranger.request.get(f"{screens.url}/pictures/{roll}/0/clip").status == 401
    display = stranger.new_page()
    display.goto(f"{screens.url}/display")
    expect(display.locator(".verdict")).to_have_text("Under review")
    assert "/pictures/" not in display.content()
    for other in (f"{roll}/7/{name}", f"99/0/{name}", f"{roll}/0/..%2f..%2fkey", f"{roll}/0/about.json"):
        assert request.get(f"{screens.url}/pictures/{other}").status == 404
    folder.delete(album[0].sha256, 1_800_000_001.0, by="ann", why="asked for")
    gone = request.get(path)
    assert gone.status == 404
    assert "asked for" in gone.text()
    ruled(ann)
    assert request.get(f"{screens.url}/pictures/{roll}/1/{name}").status == 404
    stranger.close()


def test_a_changed_file_is_named_in_place_of_its_pictures(
    screens: Screens, sign_in: SignIn, album: list[Closed]
) -> None:
    folder = kept_by(screens, album)
    file = folder.path / f"{album[0].sha256}.zip"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    ann = sign_in("ann")
    reviewed(screens, album)
    number(ann)
    ann.reads("No pictures:", "changed after it was written")
    expect(ann.page.locator(".filmed .stills")).to_have_count(1)
    ruled(ann)
