"""A virtual table, the real device drivers and an engine session in simulated time."""

from collections.abc import Mapping
from itertools import pairwise

import msgspec
import pytest

from controller.model.outcomes import SpinCalled
from controller.model.readings import (
    AnyReading,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    Input,
    Switch,
    WallImpact,
    WheelStatus,
)
from drivers.sim import dice, ss2_wheel
from drivers.sim.faults import (
    FAULTS,
    DeviceKind,
    FaultRequest,
    FaultRequestError,
    Schedule,
    carry_out,
    devices_able,
    parse_request,
)
from drivers.sim.scenes import FaultBegan, FaultOver, PlayedAttempt, disagreements
from drivers.sim.table import throws_play
from tests.sim.fairness import unnamed, wrong_outcomes
from tests.sim.virtual_house import House

HEALTH = (DeviceUp, DeviceDown, DeviceFault)
TABLES: Mapping[str, Mapping[str, DeviceKind]] = {
    "craps": {},
    "craps-v1": {"cam": "json-camera"},
    "roulette": {},
    "roulette-ss2": {},
}
ONLY_BEHIND_PORTS = frozenset({"stuck_writer"})


@pytest.mark.parametrize("table", TABLES)
def test_a_session_without_faults_is_published_as_it_happened(table: str) -> None:
    house = House(table, seed=3, types=TABLES[table], attempts=8)
    house.play()
    assert len(house.played) == 8
    assert disagreements([story.scene for story in house.played], house.outcomes) == []
    assert house.session.late == 0


@pytest.mark.parametrize(("table", "games"), [("three-card", 12), ("high-roller", 4)])
@pytest.mark.parametrize("seed", [3, 4])
def test_a_session_of_cards_without_faults_is_published_as_it_happened(
    table: str, games: int, seed: int
) -> None:
    house = House(table, seed=seed, attempts=games)
    house.play()
    assert len(house.played) == games
    assert all(story.scene.truth.told for story in house.played)
    assert wrong_outcomes(house.played, house.effects) == []
    assert house.session.late == 0


@pytest.mark.parametrize(
    ("table", "seed"),
    [("three-card", 30), pytest.param("high-roller", 39, marks=pytest.mark.slow)],
)
def test_ten_minutes_of_faults_at_a_card_game_cause_no_false_outcome(table: str, seed: int) -> None:
    house = House(table, seed=seed)
    Schedule(house.table, seed, every_s=25, without=ONLY_BEHIND_PORTS).start(house.now_us + 12_000_000)
    house.after(600)
    faults = [s for s in house.stories if isinstance(s, FaultBegan) and s.t < house.now_us - 70_000_000]
    assert len(faults) >= 10
    assert {"clearing_up"} < {story.scene.kind for story in house.played}
    assert wrong_outcomes(house.played, house.effects) == []
    assert unnamed(faults, house.readings) == []


def sensed_of(reading: AnyReading) -> AnyReading:
    return msgspec.structs.replace(reading, t=0, arrived=None)


@pytest.mark.parametrize("cam", ["node", "json-camera"])
def test_readings_arrive_unchanged_and_within_the_links_stated_delay(cam: DeviceKind) -> None:
    house = House("craps", seed=5, types={"cam": cam}, attempts=3, mix=dice.PLAIN)
    play = throws_play(house.settings.dice_table, "craps-12-034", dice.PLAIN)  # type: ignore[arg-type]  # it is a dice table
    act = play(5 * 1_000_003, 3, False)
    house.play()
    went_in = [reading for _, reading in act.feed if reading.dev in house.devices]
    came_out = [reading for reading in house.readings if not isinstance(reading, (*HEALTH, Switch))]
    key = lambda reading: (reading.dev, reading.t)  # noqa: E731 - short enough
    went_in.sort(key=key)
    came_out.sort(key=key)
    assert [sensed_of(r) for r in came_out] == [sensed_of(r) for r in went_in]
    began_us = house.played[0].scene.start_us - act.scenes[0].start_us
    errors = [out.t - (into.t + began_us) for into, out in zip(went_in, came_out, strict=True)]
    assert max(map(abs, errors)) < 1000
    assert any(isinstance(reading, DieAt) for reading in came_out)


def test_the_same_seed_gives_the_same_session_byte_for_byte() -> None:
    one, other = House("craps", seed=9, attempts=2), House("craps", seed=9, attempts=2)
    for house in (one, other):
        Schedule(house.table, 4, every_s=5, without=ONLY_BEHIND_PORTS).start(house.now_us)
        house.play()
    assert one.readings == other.readings
    assert one.stories == other.stories
    assert one.outcomes == other.outcomes


def types_of(table: str, cam: DeviceKind) -> Mapping[str, DeviceKind]:
    return {"cam": cam} if table == "craps" else {}


def cases() -> list[tuple[str, DeviceKind, str, str]]:
    """Return the table, the camera's type, the fault and a device for each case."""
    found: list[tuple[str, DeviceKind, str, str]] = []
    tables: tuple[tuple[str, DeviceKind, tuple[DeviceKind, ...]], ...] = (
        ("craps", "node", ("node",)),
        ("craps", "json-camera", ("json-camera",)),
        ("roulette", "node", ()),
        ("roulette-ss2", "node", ("ss2",)),
        ("three-card", "node", ("shoe",)),
    )
    for table, cam, wanted in tables:
        house = House(table, types=types_of(table, cam), attempts=1)
        for name, fault in FAULTS.items():
            if name in ONLY_BEHIND_PORTS:
                continue
            for device in devices_able(house.table, name):
                kind = house.types.get(device, "node")
                if kind in wanted or (table == "roulette" and fault.only_device == "wheel"):
                    found.append((table, cam, name, device))
                    break
    return found


CASES = cases()


def test_every_fault_is_tried() -> None:
    assert {name for _, _, name, _ in CASES} | ONLY_BEHIND_PORTS == set(FAULTS)


@pytest.mark.parametrize(("table", "cam", "fault", "device"), CASES, ids=lambda part: str(part) or "all")
def test_a_fault_is_reported_with_its_stated_code_and_clears(
    table: str, cam: DeviceKind, fault: str, device: str
) -> None:
    """Faults begin in play, because a wheel reports some faults only during a game."""
    mix = {"plain" if table == "three-card" else "valid": 1.0}
    house = House(table, seed=2, types=types_of(table, cam), mix=mix)
    house.after(12)
    assert all(map(house.is_up, house.devices))
    began = house.fault(fault, device)
    house.after(began.seconds + 16)
    assert unnamed([began], house.readings) == []
    assert all(map(house.is_up, house.devices))
    over = [story for story in house.stories if isinstance(story, FaultOver)]
    assert [(story.fault, story.device) for story in over] == [(fault, device)]
    assert wrong_outcomes(house.played, house.effects) == []


def impacts_of(house: House) -> list[WallImpact]:
    """Return the detected impacts sorted by timestamp; a repeated impact arrives out of order."""
    return sorted((r for r in house.readings if isinstance(r, WallImpact)), key=lambda reading: reading.t)


@pytest.mark.parametrize(
    "fault", ["half_lines", "bit_errors", "lost_lines", "repeated_lines", "reordered_lines"]
)
def test_a_poor_line_costs_no_reading_if_the_node_can_repeat_it(fault: str) -> None:
    house = House("craps", seed=6, attempts=4, mix={"valid": 1.0})
    house.after(7)
    house.fault(fault, "wall-right", seconds=60)
    house.play()
    impacts = impacts_of(house)
    assert len({(reading.dev, reading.t) for reading in impacts}) == len(impacts)
    calm = House("craps", seed=6, attempts=4, mix={"valid": 1.0})
    calm.play()
    assert [sensed_of(r) for r in impacts] == [sensed_of(r) for r in impacts_of(calm)]
    assert house.devices["wall-right"].status()["lost"] == 0


def test_a_clock_that_warms_up_is_followed() -> None:
    house = House("craps", seed=7, attempts=6, mix={"valid": 1.0})
    house.after(7)
    house.fault("drift", "wall-right", seconds=50)
    house.after(45)
    drift_ppm = house.devices["wall-right"].status()["drift_ppm"]
    assert isinstance(drift_ppm, float)
    assert abs(drift_ppm + 150) < 30
    house.play()
    assert set(house.codes("wall-right")) == {"starting", "up"}
    assert disagreements([story.scene for story in house.played], house.outcomes) == []


def test_a_stuck_button_is_reported_as_often_as_it_repeats() -> None:
    house = House("craps", attempts=1)
    house.after(1)
    house.fault("stuck_button", "console", seconds=2, name="no_roll")
    house.after(3)
    pressed = [r for r in house.readings if isinstance(r, Input) and r.name == "no_roll"]
    assert len(pressed) == 10
    refused = [outcome.type for outcome in house.outcomes if not outcome.type.startswith("device.")]
    assert refused == ["input.refused"] * 10


def test_a_door_opened_while_the_table_was_away_is_reported_when_it_is_back() -> None:
    house = House("craps", attempts=1)
    house.after(2)
    cable = house.table.cables["console"]
    cable.pull()
    house.after(1)
    house.fault("open_door", "console", seconds=30)
    house.after(1)
    before = [reading for reading in house.readings if isinstance(reading, Switch)]
    assert [(door.dev, door.name, door.open) for door in before] == [("console", "door", False)]
    cable.plug("console")
    house.after(8)
    *_, door = [reading for reading in house.readings if isinstance(reading, Switch)]
    assert (door.dev, door.name, door.open) == ("console", "door", True)
    assert "table.locked" in [outcome.type for outcome in house.outcomes]


def test_a_changed_setting_of_a_wheel_keeps_it_down_until_it_is_right() -> None:
    house = House("roulette-ss2", mix={"valid": 1.0})
    house.after(10)
    house.fault("wheel_setting", "wheel")
    house.after(15)
    assert not house.is_up("wheel")
    assert house.devices["wheel"].status()["differences"] == ["parameter m: found 20000, expected 1.5"]
    house.after(25)
    assert house.is_up("wheel")


def test_a_virtual_wheel_sends_what_the_real_one_sends() -> None:
    house = House("roulette-ss2", seed=1, attempts=3, mix={"valid": 1.0})
    house.play()
    words = [reading for reading in house.readings if isinstance(reading, WheelStatus)]
    changes = [(a.state, b.state) for a, b in pairwise(words) if a.state != b.state]
    assert changes[:5] == [(6, 2), (2, 3), (3, 4), (4, 5), (5, 2)]
    spins = [(b.state, b.spin) for a, b in pairwise(words) if a.spin != b.spin]
    assert spins == [(2, 2), (2, 3)]
    called = [outcome.data.number for outcome in house.outcomes if isinstance(outcome.data, SpinCalled)]
    assert called == [story.scene.truth.number for story in house.played]


@pytest.mark.parametrize("kind", ss2_wheel.KINDS)
def test_a_game_of_each_kind_is_published_as_it_happened(kind: str) -> None:
    house = House("roulette-ss2", seed=8, attempts=2, mix={kind: 1.0})
    house.play()
    assert disagreements([story.scene for story in house.played], house.outcomes) == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"fault": "unplugg", "device": "cam"}', "found fault 'unplugg', expected one of unplug, "),
        (b'{"fault": "unplug", "device": "camera"}', "expected one of cam, wall-left, wall-right, console"),
        (b'{"fault": "wheel_encoder"}', "no device of this table can have this fault"),
        (b'{"fault": "unplug", "seconds": -1}', "found -1 seconds, expected more than 0 and at most 600"),
        (b'{"fault": "unplug", "devise": "cam"}', 'expected {"fault": "unplug", "device": "cam"} or similar'),
        (b"unplug cam", 'expected {"fault": "unplug", "device": "cam"} or similar'),
    ],
)
def test_an_impossible_request_is_refused_with_a_message(line: bytes, says: str) -> None:
    house = House("craps", attempts=1)
    with pytest.raises(FaultRequestError, match="^.*" + says.replace("{", r"\{")):
        carry_out(house.table, parse_request(line), house.now_us)
    assert house.stories == []


def test_a_device_has_one_fault_at_a_time() -> None:
    house = House("craps", attempts=1)
    house.fault("silence", "cam")
    with pytest.raises(FaultRequestError, match="cam already has a fault"):
        house.fault("unplug", "cam")
    with pytest.raises(FaultRequestError, match="a device already has a fault"):
        house.fault("power_cycle")
    assert carry_out(house.table, FaultRequest(fault="unplug", device="console"), house.now_us).codes


@pytest.mark.parametrize(
    ("table", "seed"), [("craps", 1), ("craps-v1", 2), ("roulette", 3), ("roulette-ss2", 4)]
)
def test_two_minutes_of_faults_cause_no_false_outcome(table: str, seed: int) -> None:
    house = House(table, seed=seed, types=TABLES[table])
    Schedule(house.table, seed, every_s=8, without=ONLY_BEHIND_PORTS).start(house.now_us + 12_000_000)
    house.after(120)
    faults = [s for s in house.stories if isinstance(s, FaultBegan) and s.t < house.now_us - 70_000_000]
    assert len(faults) >= 3
    assert wrong_outcomes(house.played, house.effects) == []
    assert unnamed(faults, house.readings) == []


def test_only_attempts_that_a_fault_may_have_hidden_are_marked_so() -> None:
    house = House("craps", seed=1, attempts=6)
    house.after(20)
    house.fault("unplug", "console")
    house.play()
    played = [story for story in house.stories if isinstance(story, PlayedAttempt)]
    assert {story.disturbed_by for story in played} == {(), ("unplug console",)}
    assert played[-1].disturbed_by == ()
