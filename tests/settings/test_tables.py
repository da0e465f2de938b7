"""One file describes a table: its geometry, its devices, and its differences from its rule set."""

import contextlib
from dataclasses import fields
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.model.geometry import STANDARD_POCKETS, DiceTable, Wheel, Zone
from controller.model.readings import AnyReading
from controller.model.tables import DeclaredDevice, DeviceReading, TableSettings
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_file, config_names
from controller.settings.rulesets import load_ruleset
from controller.settings.tables import DiceTableSection, WheelSection, ZoneSection, load_table

CRAPS = """\
table: pit-3
ruleset: craps-12-034
dice_table:
  length_mm: 3600
  width_mm: 1100
  die_mm: 19
"""

WHEEL = """\
table: wheel-1
ruleset: roulette
wheel:
  pockets: european
  beams_deg: [0, 120, 240]
  pocket_reader_deg: 45
  rotor_index_deg: 0
  drop_rev_per_s: 0.5
"""


def table(folder: Path, text: str) -> TableSettings:
    path = folder / "table.yaml"
    path.write_text(text)
    return load_table(str(path))


def mistakes(folder: Path, text: str) -> tuple[Mistake, ...]:
    with pytest.raises(SettingsError) as caught:
        table(folder, text)
    return caught.value.mistakes


def only_mistake(folder: Path, text: str) -> Mistake:
    (mistake,) = mistakes(folder, text)
    return mistake


def test_the_shipped_tables_load() -> None:
    games = {name: load_table(name).rules.game for name in config_names("tables")}
    assert games == {
        "craps": "craps",
        "craps-v1": "craps",
        "high-roller": "high_roller",
        "roulette": "roulette",
        "roulette-european": "roulette",
        "roulette-gpio": "roulette",
        "roulette-ss2": "roulette",
        "three-card": "three_card",
    }


@pytest.mark.parametrize(
    "name",
    ["craps", "craps-v1", "high-roller", "roulette", "roulette-european", "roulette-gpio", "three-card"],
)
def test_the_shipped_examples_change_no_threshold(name: str) -> None:
    assert load_table(name).rules == load_ruleset(load_table(name).rules.name)


def test_a_simple_table_needs_a_short_file(tmp_path: Path) -> None:
    small = table(tmp_path, CRAPS)
    assert small.dice_table == DiceTable(length_mm=3600.0, width_mm=1100.0, die_mm=19.0)
    assert (small.table, small.calls, small.wheel, small.devices) == ("pit-3", "automatic", None, {})
    assert small.switches == {"door": "lock", "tamper": "lock"}


def test_zones_and_devices_are_as_written() -> None:
    craps = load_table("craps")
    assert craps.dice_table is not None
    assert {zone.kind: zone.polygon for zone in craps.dice_table.zones} == {
        "bank": ((1550, 900), (2050, 900), (2050, 1100), (1550, 1100)),
        "cup": ((1700, 0), (1900, 0), (1900, 140), (1700, 140)),
    }
    assert craps.devices["wall-left"] == DeclaredDevice(reads=("wall_impact",), wall="left", type="node")


@pytest.mark.parametrize(("pockets", "count"), [("american", 38), ("european", 37)])
def test_a_standard_wheel_needs_no_pocket_order(tmp_path: Path, pockets: str, count: int) -> None:
    wheel = table(tmp_path, WHEEL.replace("european", pockets)).wheel
    assert wheel is not None
    assert wheel.pockets_clockwise == STANDARD_POCKETS[pockets]
    assert len(set(wheel.pockets_clockwise)) == count


def test_a_standard_wheel_separates_consecutive_numbers() -> None:
    # On the American wheel each number is opposite the next one, as on real wheels.
    order = STANDARD_POCKETS["american"]
    for odd in range(1, 37, 2):
        apart = (order.index(str(odd + 1)) - order.index(str(odd))) % 38
        assert apart == 19


def test_a_wheel_may_have_its_own_order(tmp_path: Path) -> None:
    order = tuple(reversed(STANDARD_POCKETS["european"]))
    quoted = ", ".join(f'"{pocket}"' for pocket in order)
    wheel = table(tmp_path, WHEEL.replace("  beams", f"  pockets_clockwise: [{quoted}]\n  beams")).wheel
    assert wheel is not None
    assert wheel.pockets_clockwise == order


def test_a_wheels_own_order_names_each_pocket_once(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, WHEEL.replace("  beams", '  pockets_clockwise: ["0", "32"]\n  beams'))
    assert mistake.key == "wheel.pockets_clockwise"
    assert mistake.found.startswith("2 pockets without 1, 2, 3")


def test_pockets_are_texts(tmp_path: Path) -> None:
    first = mistakes(tmp_path, WHEEL.replace("  beams", "  pockets_clockwise: [0, 32]\n  beams"))[0]
    assert (first.key, first.hint) == ("wheel.pockets_clockwise[0]", "write it in quotes: '0'")


def test_a_threshold_of_the_table_replaces_the_rule_sets(tmp_path: Path) -> None:
    text = "throw:\n  far_wall_required: true\n  sensors:\n    frame_ms: 16.7\nmax_lateness_ms: 200\n"
    base, own = load_ruleset("craps-12-034"), table(tmp_path, CRAPS + text).rules
    assert base.throw is not None
    assert own.throw is not None
    assert own.throw.far_wall_required
    assert own.throw.sensors.frame_ms == 16.7
    assert own.max_lateness_ms == 200
    # All other settings stay unchanged.
    assert own.throw.sensors.track_noise_mm == base.throw.sensors.track_noise_mm
    assert own.throw.causes == base.throw.causes
    assert own.craps == base.craps


def test_a_wrong_threshold_is_reported_in_the_tables_file(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CRAPS + "throw:\n  call_hold: 100\n")
    assert (Path(mistake.file).name, mistake.line, mistake.key) == ("table.yaml", 8, "throw.call_hold")
    assert mistake.hint == "did you mean 'call_hold_ms'?"


def test_a_threshold_that_contradicts_the_rule_set_is_reported_in_the_tables_file(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CRAPS + "throw:\n  simultaneous_ms: 40\n")
    assert (Path(mistake.file).name, mistake.line, mistake.key) == ("table.yaml", 8, "throw.simultaneous_ms")


def test_thresholds_of_another_game_are_refused(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CRAPS + "spin:\n  pocket_reads: 4\n")
    assert (mistake.line, mistake.found) == (7, "a section 'spin'")
    assert mistake.expected == "only sections for craps (craps-12-034)"


def test_an_unknown_rule_set_is_reported_at_its_line(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CRAPS.replace("034", "043"))
    assert (mistake.line, mistake.key, mistake.hint) == (2, "ruleset", "did you mean 'craps-12-034'?")


def test_a_rule_set_may_be_in_the_tables_folder(tmp_path: Path) -> None:
    shipped = config_file("rulesets", "three-card-poker-12-014")
    (tmp_path / "three.yaml").write_text(
        shipped.read_text().replace("name: three-card-poker-12-014", "name: three")
    )
    assert table(tmp_path, "table: t\nruleset: ./three.yaml\n").rules.game == "three_card"


def test_mistakes_of_all_kinds_are_reported_at_once(tmp_path: Path) -> None:
    text = CRAPS.replace("table: pit-3", "tabel: pit-3") + "throw:\n  wall: front\ncalls: yes\n"
    assert [mistake.key for mistake in mistakes(tmp_path, text)] == ["table", "tabel", "throw.wall", "calls"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (WHEEL.replace("roulette", "craps-v1"), "dice_table"),
        (WHEEL.replace("roulette", "craps-v1"), "wheel"),
        (CRAPS.replace("pit-3", "pit/3"), "table"),
        (CRAPS.replace("die_mm: 19", "die_mm: 1900"), "dice_table.die_mm"),
        (CRAPS.replace("die_mm: 19", "die_mm: 0"), "dice_table.die_mm"),
        (CRAPS + "  zones: [{kind: bank, polygon: [[0, 0], [1, 1]]}]\n", "dice_table.zones[0].polygon"),
        (CRAPS + "  zones: [{kind: banc, polygon: [[0, 0], [1, 1], [0, 1]]}]\n", "dice_table.zones[0].kind"),
        (
            CRAPS + "  zones: [{kind: bank, polygon: [[0, 0], [1, 1], [0, 1200]]}]\n",
            "dice_table.zones[0].polygon[2]",
        ),
        (WHEEL.replace("240", "360"), "wheel.beams_deg[2]"),
        (CRAPS + "devices: {w: {reads: [wall_impact]}}\n", "devices.w.wall"),
        (CRAPS + "devices: {w: {reads: [die_at], wall: left}}\n", "devices.w.wall"),
        (CRAPS + "devices: {w: {reads: []}}\n", "devices.w.reads"),
        (CRAPS + "devices: {w: {reads: [die_atm]}}\n", "devices.w.reads[0]"),
        (CRAPS + "switches: {lid: alarm}\n", "switches.lid"),
    ],
)
def test_values_that_do_not_fit_together_are_mistakes(tmp_path: Path, text: str, key: str) -> None:
    assert key in [mistake.key for mistake in mistakes(tmp_path, text)]


def test_a_table_that_cannot_see_what_its_rules_need_is_refused(tmp_path: Path) -> None:
    text = (
        CRAPS + "devices:\n  cam: {reads: [die_released, die_at]}\n  w: {reads: [wall_impact], wall: left}\n"
    )
    assert [mistake.found for mistake in mistakes(tmp_path, text)] == [
        "no device that reads die_rest",
        "no device at the right wall",
    ]


def test_a_trusted_wheel_needs_no_sensors_in_its_bowl(tmp_path: Path) -> None:
    text = "table: w\nruleset: roulette\nwheel: {pockets: european}\n"
    trusted = table(tmp_path, text + "spin: {revolutions: trusted_wheel}\n").wheel
    assert trusted is not None
    assert trusted.pockets_clockwise == STANDARD_POCKETS["european"]
    keys = {mistake.key for mistake in mistakes(tmp_path, text)}
    assert keys == {
        f"wheel.{key}" for key in ("beams_deg", "pocket_reader_deg", "rotor_index_deg", "drop_rev_per_s")
    }


def test_a_trusted_wheel_needs_only_its_own_reports(tmp_path: Path) -> None:
    text = WHEEL + "devices: {ss2: {reads: [wheel_status]}}\n"
    assert "no device that reads ball_beam" in [mistake.found for mistake in mistakes(tmp_path, text)]
    trusted = table(tmp_path, text + "spin: {revolutions: trusted_wheel}\n")
    assert trusted.devices == {"ss2": DeclaredDevice(reads=("wheel_status",))}


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    line=st.integers(0, 60),
    indent=st.integers(0, 6),
    words=st.text(alphabet="abc019:-[]{},.'\"#&*!|>?%@ \n\t\0é", max_size=12)
    | st.sampled_from(["ruleset: 'a/\\0'", "throw: 3", "throw: []", "ruleset: {}", "wheel:", "devices: 1"]),
)
def test_no_typing_error_raises_anything_but_mistakes(
    tmp_path_factory: pytest.TempPathFactory, line: int, indent: int, words: str
) -> None:
    lines = config_file("tables", "craps").read_text().splitlines()
    lines[line : line + 1] = [" " * indent + words]
    path = tmp_path_factory.getbasetemp() / "slip.yaml"
    path.write_text("\n".join(lines))
    with contextlib.suppress(SettingsError):
        assert isinstance(load_table(str(path)), TableSettings)


def test_a_default_switch_may_be_changed(tmp_path: Path) -> None:
    assert table(tmp_path, CRAPS + "switches: {door: note, lid: lock}\n").switches == {
        "door": "note",
        "tamper": "lock",
        "lid": "lock",
    }


@pytest.mark.parametrize(
    ("written", "core"), [(ZoneSection, Zone), (DiceTableSection, DiceTable), (WheelSection, Wheel)]
)
def test_a_table_file_uses_the_names_of_a_log(written: type, core: type[msgspec.Struct]) -> None:
    assert {field.name for field in fields(written)} == {field.name for field in msgspec.structs.fields(core)}


def test_a_device_may_list_any_reading_but_its_own_health() -> None:
    kinds = {reading.__struct_config__.tag for reading in get_args(AnyReading)}
    assert kinds - set(get_args(DeviceReading)) == {"device_up", "device_down", "device_fault"}


def test_a_table_one_foot_long_is_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "table: mine\nruleset: craps-12-034\ndice_table: {length_mm: 305, width_mm: 43, die_mm: 0.75}\n",
        encoding="utf-8",
    )
    with pytest.raises(SettingsError) as raised:
        load_table(str(path))
    assert [mistake.key for mistake in raised.value.mistakes] == [
        "dice_table.length_mm",
        "dice_table.width_mm",
        "dice_table.die_mm",
    ]


def test_inconsistent_values_are_reported_together_with_typing_errors(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "table: my/table\nruleset: craps-12-034\ncals: automatic\n"
        "dice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}\n"
        "wheel: {pockets: american}\n",
        encoding="utf-8",
    )
    with pytest.raises(SettingsError) as raised:
        load_table(str(path))
    assert [mistake.key for mistake in raised.value.mistakes] == ["table", "cals", "wheel"]
