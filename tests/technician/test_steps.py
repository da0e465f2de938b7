"""The steps of a guided test: each sensor passes or fails, with a value and a limit."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

import pytest

from controller.model.readings import (
    AnyReading,
    BallBeam,
    Card,
    DieAt,
    DieRest,
    Input,
    RotorIndex,
    Switch,
    WallImpact,
)
from controller.settings.tables import load_table
from controller.technician.plan import steps_for
from controller.technician.steps import DrawCard, OpenClose, PressButtons, SensorFinding
from controller.technician.wheel_steps import MIN_INDEX_PASSES
from drivers.sim.setting import types_for, with_technician
from drivers.sim.technician import Technician
from drivers.sim.wheel import croupier_at

CRAPS, ROULETTE, CARDS = (load_table(name) for name in ("craps", "roulette", "three-card"))
WHEEL = ROULETTE.wheel
assert WHEEL is not None


def played(table: str, device: str) -> dict[str, Sequence[SensorFinding]]:
    """Simulate a technician's steps at a device, and judge the readings."""
    settings = {"craps": CRAPS, "roulette": ROULETTE}[table]
    virtual = with_technician(settings, types_for(settings), seed=3, report=print)
    technician = Technician(virtual, settings.dice_table, settings.wheel)
    findings = {}
    for number, step in enumerate(steps_for(device, settings)):
        virtual._feed.clear()
        technician.do(step.lamp_text, 1_000_000_000 * (number + 1))
        for _, reading in virtual._feed:
            step.receive(reading)
        assert step.is_complete(60.0), step.lamp_text
        findings[step.lamp_text] = step.findings()
    return findings


@pytest.mark.parametrize(
    ("table", "device"),
    [
        ("craps", "cam"),
        ("craps", "wall-left"),
        ("craps", "wall-right"),
        ("craps", "console"),
        ("roulette", "wheel"),
    ],
)
def test_a_healthy_device_passes_every_step_that_tests_it(table: str, device: str) -> None:
    for word, findings in played(table, device).items():
        assert findings
        assert [(one.status, one.says) for one in findings if one.status != "pass"] == [], word


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("request_text", "turns"), [("rotor_turn", MIN_INDEX_PASSES), ("spin_ball", 3), ("pocket_17", 8)]
)
def test_the_simulated_technician_turns_the_rotor_no_faster_than_a_wheel_in_play(
    request_text: str, turns: int, seed: int
) -> None:
    virtual = with_technician(ROULETTE, types_for(ROULETTE), seed=seed, report=print)
    Technician(virtual, None, WHEEL).do(request_text, 1_000_000_000)
    passes = [reading.t for _, reading in virtual._feed if isinstance(reading, RotorIndex)]
    assert len(passes) >= turns
    assert all(10 <= 60e6 / (after - before) <= 25 for before, after in pairwise(passes))


@pytest.mark.parametrize(
    ("table", "device"), [("craps", "cam"), ("craps", "wall-left"), ("roulette", "wheel")]
)
def test_a_silent_sensor_fails_with_what_was_expected(table: str, device: str) -> None:
    settings = CRAPS if table == "craps" else ROULETTE
    for step in steps_for(device, settings):
        findings = step.findings()
        assert {one.status for one in findings} == {"fail"}, step.lamp_text
        assert all("expected" in one.says for one in findings)


def spun(*, dead: int | None = None, missed: float = 0.0, doubled: float = 0.0) -> Sequence[SensorFinding]:
    assert WHEEL is not None
    hand = croupier_at(Random(2), WHEEL, 0.0)
    spin = hand.spin(20.0)
    spin.faults.missed, spin.faults.doubled = missed, doubled
    spin.faults.dead_beams = frozenset(() if dead is None else (dead,))
    step = next(step for step in steps_for("wheel", ROULETTE) if step.sensor == "ball_beam")
    for _, reading in hand.sensed("spin", spin)[0]:
        step.receive(reading)
    return step.findings()


def failed(findings: Sequence[SensorFinding]) -> list[str]:
    return [one.sensor for one in findings if one.status == "fail"]


@pytest.mark.parametrize("beam", [0, 1, 2])
def test_a_dead_beam_is_reported_by_its_number(beam: int) -> None:
    assert failed(spun(dead=beam)) == [f"ball_beam {beam}"]


def test_beams_that_often_miss_or_double_fail_with_their_counts() -> None:
    assert failed(spun()) == []
    often = spun(missed=0.35)
    assert set(failed(often)) >= {"ball_beam 0", "ball_beam 1", "ball_beam 2"}
    assert "missed" in often[0].says
    assert set(failed(spun(doubled=0.5))) >= {"ball_beam 0", "ball_beam 1", "ball_beam 2"}


def test_a_beam_that_the_file_does_not_know_is_reported() -> None:
    step = next(step for step in steps_for("wheel", ROULETTE) if step.sensor == "ball_beam")
    for number in range(12):
        step.receive(
            BallBeam(t=1_000_000 * (number // 4) + 250_000 * (number % 4), dev="wheel", beam=number % 4)
        )
    assert any("pulses from beam 3, expected 0 to 2" in one.says for one in step.findings())


def heard(sensor: str, device: str, *readings: AnyReading) -> SensorFinding:
    settings = CRAPS if device in CRAPS.devices and sensor != "rotor_index" else ROULETTE
    step = next(step for step in steps_for(device, settings) if step.sensor == sensor)
    for reading in readings:
        step.receive(reading)
    return step.findings()[0]


def lies(up: int | None, confidence: float, tilt_deg: float) -> DieRest:
    face = next((one for one in (1, 2, 3, 4, 5, 6) if one == up), None)
    return DieRest(
        t=1, dev="cam", die=1, x=1, y=1, up=face, confidence=confidence, tilt_deg=tilt_deg, on="felt"
    )


@pytest.mark.parametrize(
    ("up", "confidence", "tilt_deg", "says"),
    [
        (5, 0.9, 0.0, "found 5 up, expected 6"),
        (None, 0.9, 0.0, "found no face up"),
        (6, 0.5, 0.0, "the confidence is too low"),
        (6, 0.9, 25.0, "the tilt is too large"),
    ],
)
def test_a_misread_die_fails_the_test(up: int | None, confidence: float, tilt_deg: float, says: str) -> None:
    found = heard("die_rest", "cam", lies(up, confidence, tilt_deg))
    assert found.status == "fail"
    assert says in found.says


def test_an_impact_without_a_die_at_the_wall_fails_the_test() -> None:
    knock = WallImpact(t=1, dev="wall-left", wall="left", pos_mm=300, peak=400)
    found = heard("wall_impact", "wall-left", knock)
    assert found.status == "fail"
    assert "impact of peak 400 at 300 mm; found no die within 80 mm of the wall at the time" in found.says


def test_readings_of_an_earlier_throw_and_a_knock_do_not_end_a_walls_test() -> None:
    """Delayed readings of the previous throw, and the camera's delay, must not fail a healthy sensor."""
    (step,) = [one for one in steps_for("wall-left", CRAPS) if one.sensor == "wall_impact"]
    step.receive(
        DieRest(t=1_000_000, dev="cam", die=1, x=900, y=500, up=4, confidence=0.9, tilt_deg=0, on="felt")
    )
    step.receive(WallImpact(t=1_500_000, dev="wall-left", wall="left", pos_mm=700, peak=40))
    assert not step.is_complete(60.0)
    step.receive(WallImpact(t=2_000_000, dev="wall-left", wall="left", pos_mm=300, peak=400))
    assert not step.is_complete(0.0)
    step.receive(DieAt(t=2_000_000, dev="cam", die=1, x=9, y=300))
    step.receive(
        DieRest(t=3_000_000, dev="cam", die=1, x=200, y=350, up=3, confidence=0.9, tilt_deg=0, on="felt")
    )
    assert step.is_complete(0.0)
    assert [found.status for found in step.findings()] == ["pass"]


def test_a_rotor_reported_in_both_directions_fails() -> None:
    passes = [RotorIndex(t=n * 2_000_000, dev="wheel", direction="cw" if n % 2 else "ccw") for n in range(4)]
    found = heard("rotor_index", "wheel", *passes)
    assert found.status == "fail"
    assert "found both directions" in found.says


def test_a_door_that_stays_open_and_a_button_that_bounces_fail() -> None:
    door = OpenClose("console", "door")
    door.receive(Switch(t=1, dev="console", name="door", open=True))
    door.receive(Switch(t=2, dev="console", name="key", open=False))
    assert not door.is_complete(9.0)
    assert door.findings()[0].says == "opened; expected the door to close again"
    buttons = PressButtons("console")
    for name in ("no_roll", "no_roll", "lock"):
        buttons.receive(Input(t=1, dev="console", name=name, by="boxperson"))
    assert buttons.is_complete(3.0)
    assert "no_roll reported more than once" in buttons.findings()[0].says


def test_a_card_is_reported_by_its_code_and_an_unread_one_fails() -> None:
    assert "card" in [step.sensor for step in steps_for("shoe", CARDS)]
    step = DrawCard("shoe")
    step.receive(Card(t=1, dev="shoe", rank="Q", suit="h"))
    assert (step.findings()[0].status, step.findings()[0].says) == ("pass", "card Qh")
    step.receive(Card(t=1, dev="shoe", rank=None, suit=None))
    assert step.findings()[0].status == "fail"
