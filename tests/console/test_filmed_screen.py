"""A review with the pictures that a camera kept: beside the drawn throw, to the staff alone, verified."""

from itertools import count

import msgspec
import pytest
from playwright.sync_api import Page, expect

pytest.importorskip("cv2", reason="OpenCV comes with the extra `vision`")

from controller.evidence.container import Closed
from controller.evidence.folder import Folder
from controller.model.readings import DieRest, Reading
from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.console.test_access import is_accessible
from tests.console.test_craps_screen import number
from tests.console.touch import Person
from tests.scenes import throw

TABLE = "craps"
taken = count(1)


@pytest.fixture
def album() -> list[Closed]:
    """Return two files as a camera makes them: a die that shows 3, and one that shows 4."""
    import cv2  # noqa: PLC0415 - the extra's
    import numpy as np  # noqa: PLC0415 - the extra's

    from controller.cli.camera_album import Album  # noqa: PLC0415 - the extra's
    from drivers.vision.following import Look  # noqa: PLC0415 - the extra's
    from tests.drivers.vision.scenes import pair, still  # noqa: PLC0415 - the extra's

    kept: list[Closed] = []
    one = Album("cam", kept.append)
    frame = cv2.resize(still(*pair(3, 4)), (640, 480))
    for die, up, left, top in ((1, 3, 130, 200), (2, 4, 330, 80)):
        for _ in range(4):
            one.frame(next(taken) * 33_000, frame, [], lambda _die: ())
        rest = DieRest(t=1, dev="cam", die=die, x=1, y=1, up=up, confidence=0.4)  # type: ignore[arg-type]
        cut = np.ascontiguousarray(frame[top : top + 180, left : left + 180])
        looks = [Look(next(taken) * 33_000, cut) for _ in range(2)]
        one.frame(next(taken) * 33_000, frame, [rest], lambda _die, looks=looks: looks)  # type: ignore[misc]
    return kept


def reviewed(screens: Screens, album: list[Closed]) -> None:
    """Throw dice whose faces are in doubt, and whose rests name these pictures."""
    names = {1: album[0].sha256, 2: album[1].sha256}
    readings: list[Reading] = [
        msgspec.structs.replace(one, pictures=names[one.die]) if isinstance(one, DieRest) else one
        for one in throw(0, (3, 4), confidence=0.4)
    ]
    screens.play(readings)  # type: ignore[arg-type]


def kept_by(screens: Screens, album: list[Closed]) -> Folder:
    folder = Folder(screens.kept)
    folder.begin()
    for closed in album:
        folder.keep(closed, 1_800_000_000.0)
    return folder


def ruled(person: Person) -> None:
    """Close the review."""
    person.touch("No Roll")
    person.page.locator("#yes").tap()
    expect(person.page.locator("#ruling h2.warn")).to_have_count(0)


def loaded(page: Page, image: str) -> bool:
    """Wait until a picture is there, and say whether the browser could show it."""
    one = page.locator(image).first
    one.scroll_into_view_if_needed()
    expect(one).to_have_js_property("complete", True)
    return int(one.evaluate("one => one.naturalWidth")) > 0


def test_the_pictures_stand_beside_the_drawn_throw_and_the_clip_plays(
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
    is_accessible(ann.page)
    assert refused == []
    ruled(ann)
    expect(ann.page.locator(".filmed")).to_have_count(0)


def test_nobody_else_and_no_other_throw_is_shown_a_picture(
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


def test_a_changed_file_is_named_in_the_place_of_its_pictures(
    screens: Screens, sign_in: SignIn, album: list[Closed]
) -> None:
    folder = kept_by(screens, album)
    file = folder.path / f"{album[0].sha256}.zip"
    file.write_bytes(file.read_bytes()[:-1] + b"?")
    ann = sign_in("ann")
    reviewed(screens, album)
    number(ann)
    ann.reads("No pictures:", "changed since it was taken")
    expect(ann.page.locator(".filmed .stills")).to_have_count(1)
    ruled(ann)
