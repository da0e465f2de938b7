"""The hardware in a table's file. All mistakes are reported together, each with its line and remedy."""

import sys
from pathlib import Path

import pytest

from controller.app.device_types import Kinds, load_with_hardware
from controller.model.tables import DeclaredDevice, TableSettings
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_names
from controller.settings.tables import load_table
from drivers.node.device import NodeSettings
from drivers.registry import DEVICE_MODULES, device_type

HEAD = """\
table: pit-3
ruleset: craps-12-034
dice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}
devices:
"""
CAM = "  cam: {type: node, node: cam, port: /dev/serial/by-id/cam, reads: [die_released, die_at, die_rest]}\n"
CONSOLE = "  console: {type: node, node: con, port: /dev/serial/by-id/con, reads: [input, switch]}\n"
WALLS = """\
  walls:
    type: node
    node: w1
    port: /dev/serial/by-id/walls
    channels:
      1: {dev: wall-left}
      2: {dev: wall-right}
  wall-left: {reads: [wall_impact], wall: left}
  wall-right: {reads: [wall_impact], wall: right}
"""


def load(folder: Path, devices: str) -> TableSettings:
    path = folder / "table.yaml"
    path.write_text(HEAD + devices, encoding="utf-8")
    return load_with_hardware(str(path))


def mistakes(folder: Path, devices: str) -> list[Mistake]:
    with pytest.raises(SettingsError) as caught:
        load(folder, devices)
    return list(caught.value.mistakes)


def only_mistake(folder: Path, devices: str) -> Mistake:
    (mistake,) = mistakes(folder, devices)
    return mistake


def node_of(device: DeclaredDevice) -> NodeSettings:
    assert isinstance(device.settings, NodeSettings)
    return device.settings


def test_every_shipped_table_names_hardware_that_exists() -> None:
    for name in config_names("tables"):
        devices = load_table(name, kinds=Kinds()).devices
        assert all(device.settings is not None for device in devices.values()), name
        for dev, device in devices.items():
            assert device_type(device.type).make(dev, device.settings, bytes).name == dev


def test_every_type_of_device_can_be_in_a_table_file() -> None:
    assert set(Kinds()) == set(DEVICE_MODULES)
    assert all(Kinds()[name].settings for name in Kinds())


def test_one_board_that_reports_for_several_devices_is_sent_their_places(tmp_path: Path) -> None:
    devices = load(tmp_path, CAM + WALLS + CONSOLE).devices
    walls = node_of(devices["walls"])
    assert {number: (c.dev, c.fields) for number, c in walls.channels.items()} == {
        1: ("wall-left", {"wall": "left"}),
        2: ("wall-right", {"wall": "right"}),
    }
    assert walls.reads == ("wall_impact",)
    assert (devices["walls"].reads, devices["wall-left"].settings) == ((), None)


def test_a_wall_sensor_with_its_own_board_is_sent_its_wall(tmp_path: Path) -> None:
    one = "  wall-{0}: {{type: node, node: {0}, port: /dev/serial/by-id/{0}, reads: [wall_impact], "
    one += "wall: {0}}}\n"
    devices = load(tmp_path, CAM + one.format("left") + one.format("right") + CONSOLE).devices
    assert node_of(devices["wall-left"]).channels[0].fields == {"wall": "left"}


def test_settings_implied_by_the_device_type_may_be_left_out(tmp_path: Path) -> None:
    text = load_text("roulette-ss2").replace("    reads: [wheel_status]\n", "")
    path = tmp_path / "wheel.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_table(str(path), kinds=Kinds()).devices["wheel"].reads == ("wheel_status",)


def test_gpio_lines_may_say_which_sensor_is_at_which_wall(tmp_path: Path) -> None:
    line = "      {0}: {{line: {1}, kind: wall_impact, pull: up, active_low: true, debounce_us: 100, "
    line += "dev: wall-{0}, fields: {{wall: {0}, pos_mm: 500, peak: 300}}}}\n"
    lines = "  knocks:\n    type: gpio-beams\n    chip: pinctrl-rp1\n    inputs:\n"
    lines += line.format("left", 5) + line.format("right", 6) + "  wall-left: {}\n  wall-right: {}\n"
    path = tmp_path / "table.yaml"
    path.write_text(HEAD + CAM + CONSOLE + lines, encoding="utf-8")
    devices = load_table(str(path), kinds=Kinds()).devices
    assert devices["wall-left"] == DeclaredDevice(reads=("wall_impact",), wall="left")
    assert devices["wall-right"].wall == "right"


def load_text(name: str) -> str:
    path = next(home for home in Path(__file__).parents if (home / "config").is_dir()) / "config" / "tables"
    return (path / f"{name}.yaml").read_text(encoding="utf-8")


# --- mistakes ---


def test_every_mistake_of_every_device_is_reported_at_once(tmp_path: Path) -> None:
    found = mistakes(
        tmp_path,
        "  cam: {type: nod, node: cam, port: /dev/serial/by-id/cam}\n"
        "  walls: {type: node, node: w1, port: /dev/ttyUSB0, bauds: 9600}\n"
        "  console: {type: node, node: a b, port: /dev/ttyACM1, reads: [input, swich]}\n"
        "  cards: 3\n",
    )
    assert [(m.line, m.key) for m in found] == [
        (5, "devices.cam.type"),
        (6, "devices.walls.bauds"),
        (7, "devices.console.reads[1]"),
        (8, "devices.cards"),
    ]
    assert [m.hint for m in found[:3]] == [
        "did you mean 'node'?",
        "did you mean 'baud'?",
        "did you mean 'switch'?",
    ]


def test_a_setting_refused_by_its_device_type_is_reported_at_its_own_key(tmp_path: Path) -> None:
    panel = (
        "  console:\n    type: gpio-panel\n    chip: pinctrl-rp1\n    factory: gpiod\n    inputs:\n"
        "      door: {line: 33, pull: up, active_low: true, debounce_us: 10, kind: switch, name: door}\n"
    )
    found = {m.key: m for m in mistakes(tmp_path, CAM + panel)}
    line = found["devices.console.inputs.door.line"]
    assert (line.line, line.found, line.expected) == (11, "33", "a GPIO number on the header, 0 to 27")
    assert found["devices.console.inputs.door.debounce_us"].found == "10"


@pytest.mark.parametrize("port", ["/dev/ttyUSB0", "/dev/ttyACM3", "ttyS0", "unix:run/cam.sock"])
def test_a_port_name_that_can_change_at_the_next_boot_is_refused(tmp_path: Path, port: str) -> None:
    mistake = only_mistake(tmp_path, CAM.replace("/dev/serial/by-id/cam", port) + WALLS + CONSOLE)
    assert (mistake.line, mistake.key) == (5, "devices.cam.port")
    assert port in mistake.found
    assert "/dev/serial/by-" in str(mistake) or "write unix:/" in str(mistake)


def test_two_devices_cannot_share_a_port_or_a_name(tmp_path: Path) -> None:
    same = CONSOLE.replace("by-id/con", "by-id/cam").replace("node: con", "node: cam")
    found = mistakes(tmp_path, CAM + WALLS + same)
    assert {(m.key, m.expected) for m in found} == {
        ("devices.console.port", "one that no other device uses; cam already uses it"),
        ("devices.console.node", "one that no other device uses; cam already uses it"),
    }


def test_a_board_that_reports_for_an_unknown_device_is_refused_with_the_known_names(tmp_path: Path) -> None:
    found = mistakes(tmp_path, CAM + CONSOLE + WALLS.replace("dev: wall-right", "dev: wall-rigt"))
    assert [(m.key, m.hint) for m in found] == [
        ("devices.walls.channels.2.dev", "did you mean 'wall-right'?"),
        ("devices.wall-right.type", "or name it as the `dev` of another device's channel or input"),
    ]


def test_a_device_that_no_board_reports_for_is_a_mistake(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CAM + WALLS + CONSOLE + "  shoe: {reads: [card]}\n")
    assert (mistake.key, mistake.found) == (
        "devices.shoe.type",
        "no type, and no other device sends its readings",
    )


def test_a_board_without_reads_is_a_mistake(tmp_path: Path) -> None:
    mistake = only_mistake(tmp_path, CAM + WALLS + CONSOLE.replace(", reads: [input, switch]", ""))
    assert (mistake.key, mistake.found) == ("devices.console.reads", "nothing")


def test_a_sensor_at_another_wall_than_the_file_says_is_reported(tmp_path: Path) -> None:
    walls = WALLS.replace("{dev: wall-left}", "{dev: wall-left, fields: {wall: right}}")
    mistake = only_mistake(tmp_path, CAM + CONSOLE + walls)
    assert (mistake.key, mistake.found, mistake.expected) == (
        "devices.wall-left.wall",
        "'left'",
        "'right', the wall in its sensor's settings",
    )


def test_reads_may_not_name_a_reading_that_the_device_type_never_sends(tmp_path: Path) -> None:
    path = tmp_path / "wheel.yaml"
    path.write_text(load_text("roulette-ss2").replace("[wheel_status]", "[wheel_status, card]"))
    with pytest.raises(SettingsError, match=r"reads\[1\]: found 'card', expected a kind that it sends"):
        load_table(str(path), kinds=Kinds())


def test_a_missing_library_for_gpio_lines_is_reported_before_anything_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gpiod", None)
    monkeypatch.delitem(sys.modules, "drivers.link.gpio_kernel", raising=False)
    with pytest.raises(SettingsError, match=r"devices\.wheel\.chip: found pinctrl-rp1 \(no_library"):
        load_with_hardware("roulette-gpio")


def test_an_absent_gpio_chip_is_not_a_mistake_in_the_file() -> None:
    pytest.importorskip("gpiod")
    pytest.importorskip("gpiozero")
    assert load_with_hardware("roulette-gpio").table == "roulette-gpio"


# --- keys ---


def keyed(folder: Path, text: str | None, mode: int = 0o600) -> str:
    if text is not None:
        (folder / "cam.key").write_text(text)
        (folder / "cam.key").chmod(mode)
    return CAM.replace("reads:", "key_file: cam.key, reads:") + WALLS + CONSOLE


def test_a_boards_key_may_be_in_its_own_file(tmp_path: Path) -> None:
    key = "00112233445566778899aabbccddeeff"
    assert node_of(load(tmp_path, keyed(tmp_path, key + "\n")).devices["cam"]).key == key


@pytest.mark.parametrize(
    ("text", "mode", "found"),
    [
        (None, 0, "an unreadable file"),
        ("secret", 0o600, "text that is not a key"),
        ("00112233445566778899aabbccddeeff", 0o644, "mode 0644"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_reported_without_the_key(
    tmp_path: Path, text: str | None, mode: int, found: str
) -> None:
    mistake = only_mistake(tmp_path, keyed(tmp_path, text, mode))
    assert mistake.key == "devices.cam.key_file"
    assert mistake.found.startswith(found)
    assert text is None or text not in str(mistake)
