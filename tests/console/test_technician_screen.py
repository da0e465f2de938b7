"""The technician's pages at a craps table: devices, sensors, a guided test by touch, recordings, checks."""

import re

import pytest
from playwright.sync_api import expect

from controller.model.readings import AnyReading, DeviceDown, DeviceUp, WallImpact
from tests.console.conftest import SignIn
from tests.console.rig import Screens
from tests.console.test_access import assert_accessible
from tests.console.touch import Person, is_touchable, reload_without_script
from tests.scenes import SECOND_US, throw

TABLE = "craps"
PATHS = ("", "/sensors", "/work", "/recordings", "/checks")
SIZES = [(1024, 600), (390, 844)]
DIE_1_MM = 550.0


def up(*names: str) -> list[AnyReading]:
    return [DeviceUp(t=0, dev=name, reason="it answers") for name in names]


def technician(sign_in: SignIn, path: str = "", *, size: tuple[int, int] = (1024, 600)) -> Person:
    tom = sign_in("tom", size=size)
    tom.page.goto(f"{tom.url}/technician{path}")
    return tom


def test_only_a_technician_gets_from_the_staffs_page_to_the_devices(sign_in: SignIn) -> None:
    tom = sign_in("tom")
    tom.page.get_by_role("link", name="Devices").tap()
    tom.reads("Journal and controller", "rows", "wall-left")
    ann = sign_in("ann")
    expect(ann.page.get_by_role("link", name="Devices")).to_have_count(0)
    for path in PATHS:
        answer = ann.page.goto(f"{ann.url}/technician{path}")
        assert answer is not None
        assert answer.status == 403


def test_a_lost_device_is_shown_at_once_with_its_remedy(screens: Screens, sign_in: SignIn) -> None:
    tom = technician(sign_in)
    screens.play(up("wall-left", "cam"))
    device = tom.page.locator(".device", has=tom.page.get_by_role("heading", name="wall-left", exact=True))
    expect(device).to_contain_text("OK for")
    screens.play([DeviceDown(t=0, dev="wall-left", reason="its cable is out", code="port_lost")])
    expect(device).to_contain_text("Offline for")
    expect(device).to_contain_text("its cable is out")
    expect(device.locator(".do")).to_contain_text("Do: ")
    assert_accessible(tom.page)
    screens.play(up("wall-left"))
    expect(device).to_contain_text("OK for")


def test_a_throw_is_drawn_on_the_tables_plan_as_it_is_seen(screens: Screens, sign_in: SignIn) -> None:
    tom = technician(sign_in, "/sensors")
    expect(tom.page.locator("body")).to_have_attribute("data-link", "up")
    tom.reads("No throw seen yet")
    screens.play(throw(0, (3, 4)))
    expect(tom.page.locator(".plan .track")).to_have_count(2)
    expect(tom.page.locator(".plan .rest")).to_have_count(2)
    tom.reads("Die 1 shows 3", "Die 2 shows 4", "wall impact", "peak")
    assert_accessible(tom.page)


def one_die_at_the_right_wall() -> list[AnyReading]:
    return [
        one
        for one in throw(0)
        if getattr(one, "die", 1) == 1 and getattr(one, "pos_mm", DIE_1_MM) == DIE_1_MM
    ]


def test_a_guided_test_runs_by_touch_and_leaves_test_mode(screens: Screens, sign_in: SignIn) -> None:
    screens.play(up("wall-right", "cam"))
    tom = technician(sign_in)
    tom.touch("Test wall-right")
    expect(tom.page.locator(".asks")).to_contain_text("Throw one die at the right wall")
    assert_accessible(tom.page)
    tom.touch("Skip this step")
    expect(tom.page.locator("h2").first).to_have_text("Test of wall-right: ended")
    tom.reads("skipped", "wall impact: skipped on request")
    tom.touch("Test wall-right")
    expect(tom.page.locator(".asks")).to_contain_text("Throw one die at the right wall")
    screens.play([WallImpact(t=0, dev="wall-right", wall="right", pos_mm=500.0, peak=475.0)])
    tom.touch("Done")
    expect(tom.page.locator("h2").first).to_have_text("Test of wall-right: ended")
    tom.reads("impact of peak 475 at 500 mm", "found no die")
    tom.touch("Test wall-right")
    expect(tom.page.locator(".asks")).to_contain_text("Throw one die")
    tom.touch("Stop")
    tom.reads("Stopped.")
    tom.touch("Test wall-right")
    expect(tom.page.locator(".asks")).to_contain_text("Throw one die")
    screens.play(one_die_at_the_right_wall())  # completes the step
    expect(tom.page.locator("h2").first).to_have_text("Test of wall-right: ended")
    tom.reads("passed")
    tom.page.goto(f"{tom.url}/technician")
    tom.reads("wall-right", "Journal and controller")
    expect(tom.page.get_by_text("Test mode: nothing counts.")).to_have_count(0)
    tom.page.goto(tom.url)
    expect(tom.page.locator("#trouble")).not_to_contain_text("A guided test")


def test_no_key_can_be_touched_before_the_script_is_loaded(screens: Screens, sign_in: SignIn) -> None:
    del screens
    tom = technician(sign_in, "/work")
    load = reload_without_script(tom.page)
    key = tom.page.get_by_role("button", name="Test wall-left", exact=True)
    expect(key).to_be_visible()
    assert not is_touchable(key)
    load()
    key.tap(trial=True)  # waits until a touch reaches the key


def test_signing_out_ends_the_test(screens: Screens, sign_in: SignIn) -> None:
    tom = technician(sign_in, "/work")
    tom.touch("Test wall-left")
    expect(tom.page.locator(".asks")).to_be_visible()
    tom.page.goto(tom.url)
    tom.reads("Test mode: nothing counts")
    tom.touch("Sign out")
    ann = sign_in("ann")
    expect(ann.page.get_by_text("Test mode: nothing counts")).to_have_count(0)
    del screens


def test_a_recording_is_downloaded_and_the_log_and_checks_are_read(screens: Screens, sign_in: SignIn) -> None:
    screens.play(throw(0, (2, 5)), after_us=10 * SECOND_US)
    tom = technician(sign_in, "/recordings")
    with tom.page.expect_download() as caught:
        tom.page.locator(".downloads a").first.tap()
    name = caught.value.suggested_filename
    assert re.fullmatch(r"craps-\d+-\d+\.jsonl", name)
    assert '"log":"table-readings"' in caught.value.path().read_text(encoding="utf-8").replace(" ", "")
    tom.page.get_by_role("link", name="Checks").tap()
    tom.reads("python", "controller", "The controller's log", "session")
    assert_accessible(tom.page)


@pytest.mark.parametrize("size", SIZES)
def test_each_page_is_readable_and_fits(sign_in: SignIn, size: tuple[int, int]) -> None:
    tom = sign_in("tom", size=size)
    for path in PATHS:
        tom.page.goto(f"{tom.url}/technician{path}")
        tom.reads("Devices")
        assert_accessible(tom.page)
        assert tom.page.evaluate(FITS), (path, tom.page.evaluate(WIDER))


FITS = "document.documentElement.scrollWidth <= innerWidth"
WIDER = """[...document.querySelectorAll("*")].filter(one => one.getBoundingClientRect().right > innerWidth)
    .map(one => one.outerHTML.slice(0, 80))"""
