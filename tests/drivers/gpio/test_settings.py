"""Tests of the GPIO settings: each mistake is reported with its key, and the values found and expected."""

import importlib
import sys
from pathlib import Path

import pytest
import yaml
from pydantic import TypeAdapter

from drivers.device import Device, DeviceType, EdgeLines, PanelLines
from drivers.gpio.lines import GPIO_FAULTS
from drivers.gpio.settings import TIMED, BeamsSettings, PanelSettings, TimedKind
from drivers.health import reason_for
from drivers.link.gpio_edges import EdgePort
from drivers.link.link import PortError
from drivers.link.ports import check_hardware, port_at
from tests.drivers.gpio.rig import LABEL, beams, button, door, lamp, timed, wheel_settings

PAGES = Path(__file__).parents[3] / "docs" / "devices"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"chip": "gpiochip0"}, r"chip: found 'gpiochip0', expected pinctrl-rp1"),
        ({"inputs": {}}, "inputs: found no line, expected at least one"),
        (
            {"inputs": {"a": timed(5, "ball_drop"), "b": timed(5, "ball_out")}},
            "inputs.b.line: found 5, but inputs.a uses that line; use another line",
        ),
        ({"inputs": {"a": timed(40, "ball_drop")}}, "inputs.a.line: found 40, expected a GPIO number"),
        (
            {"inputs": {"a": timed(5, "ball_drop", pull="high")}},
            "inputs.a.pull: found 'high', expected up, down",
        ),
        (
            {"inputs": {"a": timed(2, "ball_drop", pull="down")}},
            "a.pull: found down, but the board pulls GPIO2 up",
        ),
        ({"inputs": {"a": timed(5, "ball_drop", debounce_us=-1)}}, "a.debounce_us: found -1, expected 0"),
        (
            {"inputs": {"a": timed(5, "ball_beam", debounce_us=2000, fields={"beam": 0})}},
            "a.debounce_us: found 2000, expected at most 1000 for ball_beam; a longer time loses pulses",
        ),
        (
            {"inputs": {"a": timed(5, "ball_beam", hold_off_us=260_000, fields={"beam": 0})}},
            "a.hold_off_us: found 260000, expected 0 to 150000",
        ),
        ({"inputs": {"a": timed(5, "ball_drop", stuck_us=-5)}}, "a.stuck_us: found -5"),
        (
            {"inputs": {"a": timed(5, "ball_drop", max_edges_per_s=1)}},
            "a.max_edges_per_s: found 1, expected 20",
        ),
        ({"inputs": {"a": timed(5, "ball_beam")}}, "a.fields: not a valid ball_beam"),
        ({"inputs": {"a": timed(5, "ball_drop", fields={"beam": 1})}}, "a.fields: not a valid ball_drop"),
        (
            {"inputs": {"a": timed(5, "wall_impact", fields={"wall": "north", "pos_mm": 1, "peak": 1})}},
            "Invalid enum value 'north'",
        ),
        ({"inputs": {"a": timed(5, "rotor_index")}}, "a rotor_index without a rotor_phase"),
        (
            {"inputs": {"a": timed(5, "rotor_index"), "b": timed(6, "rotor_phase")}},
            "phase_first: missing, expected cw or ccw",
        ),
        (
            {
                "inputs": {
                    "a": timed(5, "rotor_index", fields={"direction": "cw"}),
                    "b": timed(6, "rotor_phase"),
                }
            },
            "a.fields: found direction, expected none because it is measured",
        ),
        (
            {"inputs": {"a": timed(5, "rotor_phase", fields={"beam": 1})}},
            r"a.fields: found \['beam'\], expected none for a rotor_phase",
        ),
        (
            {"inputs": {"a": timed(5, "rotor_phase"), "b": timed(6, "rotor_phase")}},
            "inputs: found 2 inputs of kind rotor_phase, expected one",
        ),
        ({"inputs": {"a": timed(5, "beam")}}, "a.kind: found 'beam', expected one of ball_beam"),  # type: ignore[arg-type]  # the mistake
    ],
)
def test_a_mistake_in_timed_inputs_is_reported(settings: dict[str, object], says: str) -> None:
    given: dict[str, object] = {"chip": LABEL, "inputs": beams(1), **settings}
    with pytest.raises(ValueError, match=says):
        BeamsSettings(**given)  # type: ignore[arg-type]  # the mistakes are the test


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"factory": "rpigpio"}, "factory: found 'rpigpio', expected gpiod"),
        ({"chip": "4"}, "chip: found '4'"),
        ({"inputs": {}}, "inputs: found no line"),
        ({"inputs": {"a": button(5, debounce_us=0)}}, "a.debounce_us: found 0, expected 1000 to 25000"),
        (
            {"inputs": {"a": button(5, debounce_us=200_000)}},
            "found 200000, expected 1000 to 25000 for a button",
        ),
        (
            {"inputs": {"a": door(5, debounce_us=250_001)}},
            "found 250001, expected 1000 to 250000 for a switch",
        ),
        (
            {"inputs": {"a": button(5, stuck_us=40_000)}},
            "a.stuck_us: found 40000, expected 0 or at least 5000000",
        ),
        ({"inputs": {"a": button(5, by="")}}, "a.by: missing, expected the role"),
        ({"inputs": {"a": button(5, name="")}}, "a.name: missing, expected the name of the input"),
        ({"inputs": {"a": button(5, fields={"seet": "1"})}}, "a.fields: not a valid input"),
        ({"inputs": {"a": button(5, open_when="active")}}, "a.open_when: found 'active', expected no value"),
        (
            {"inputs": {"a": door(5, open_when=None)}},
            "a.open_when: found None, expected the state that means open",
        ),
        ({"inputs": {"a": door(5, by="dealer")}}, "a: found `by` or `fields`, expected neither"),
        ({"inputs": {"a": button(5, kind="lever")}}, "a.kind: found 'lever', expected input or switch"),
        ({"outputs": {"z": lamp(5, "")}}, "outputs.z.lamp: missing"),
        ({"outputs": {"z": lamp(5, "lock", for_ms=-1)}}, "outputs.z.for_ms: found -1"),
        (
            {"outputs": {"z": lamp(17, "lock")}},
            "outputs.z.line: found 17, but inputs.no-roll uses that line; use another line",
        ),
    ],
)
def test_a_mistake_in_a_panel_is_reported(settings: dict[str, object], says: str) -> None:
    given: dict[str, object] = {
        "chip": LABEL,
        "factory": "gpiod",
        "inputs": {"no-roll": button(17)},
        **settings,
    }
    with pytest.raises(ValueError, match=says):
        PanelSettings(**given)  # type: ignore[arg-type]  # the mistakes are the test


def test_all_mistakes_are_reported_at_once() -> None:
    inputs = {"a": timed(99, "ball_drop", pull="x"), "b": timed(5, "rotor_index")}
    with pytest.raises(ValueError, match=r"(?s)a\.line.*a\.pull.*rotor_phase"):
        BeamsSettings(chip=LABEL, inputs=inputs)


@pytest.mark.parametrize("kind", ["ball_drop", "ball_out", "pocket_ball"])
def test_kinds_without_fields_need_none(kind: TimedKind) -> None:
    assert wheel_settings({"a": timed(5, kind)}).inputs["a"].limits.max_debounce_us > 0


@pytest.mark.parametrize("name", ["gpio.beams", "gpio.panel"])
def test_a_type_describes_itself_to_the_registry(name: str) -> None:
    made = importlib.import_module(f"drivers.{name}").TYPE
    assert isinstance(made, DeviceType)
    settings = (
        wheel_settings(beams(1))
        if made.settings is BeamsSettings
        else PanelSettings(chip=LABEL, factory="gpiod", inputs={"a": button(5)})
    )
    device = made.make("here", settings, bytes)
    assert isinstance(device, Device)
    assert device.name == "here"
    assert isinstance(made.address(settings), EdgeLines | PanelLines)


def test_beams_use_the_kernels_port() -> None:
    pytest.importorskip("gpiod")
    port = port_at(EdgeLines(LABEL, beams(1)))
    assert isinstance(port, EdgePort)
    port.dispose()


def test_the_port_of_a_panel_has_outputs() -> None:
    pytest.importorskip("gpiod")
    panel_port = pytest.importorskip("drivers.link.gpio_panel", exc_type=ImportError)
    port = port_at(PanelLines(LABEL, {"a": button(5)}))
    assert isinstance(port, panel_port.PanelPort)


def test_a_missing_chip_does_not_prevent_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gpiod")
    pytest.importorskip("drivers.link.gpio_panel", exc_type=ImportError)
    monkeypatch.setattr("drivers.link.gpio_kernel.list_chips", list)
    for address in (EdgeLines(LABEL, beams(1)), PanelLines(LABEL, {"a": button(5)})):
        check_hardware(address)
        with pytest.raises(PortError, match="expected one chip with the label pinctrl-rp1") as refused:
            port_at(address).open()
        assert refused.value.code == "no_chip"


def test_without_its_library_a_device_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpiod", None)
    monkeypatch.delitem(sys.modules, "drivers.link.gpio_kernel", raising=False)
    monkeypatch.delattr("drivers.link.gpio_kernel", raising=False)
    with pytest.raises(PortError, match="gpiod") as refused:
        port_at(EdgeLines(LABEL, beams(1)))
    assert refused.value.code == "no_library"
    assert "pip install" in reason_for(refused.value.code, refused.value.seen, GPIO_FAULTS)


@pytest.mark.parametrize("page", ["gpio-beams.md", "gpio-panel.md"])
def test_the_page_lists_every_fault(page: str) -> None:
    text = (PAGES / page).read_text("utf-8")
    only_beams = {"direction_unclear"}
    missing = [code for code in GPIO_FAULTS if f"`{code}`" not in text]
    assert set(missing) <= (only_beams if page == "gpio-panel.md" else set())


@pytest.mark.parametrize(
    ("page", "settings"), [("gpio-beams.md", BeamsSettings), ("gpio-panel.md", PanelSettings)]
)
def test_the_pages_example_is_a_valid_device(page: str, settings: type) -> None:
    text = (PAGES / page).read_text("utf-8")
    example = text.partition("```yaml\n")[2].partition("```")[0]
    ((_, written),) = yaml.safe_load(example)["devices"].items()
    assert written.pop("type") == page.removesuffix(".md")
    made: BeamsSettings | PanelSettings = TypeAdapter(settings).validate_python(written)
    assert len(made.inputs) == len(written["inputs"])


def test_the_pages_figures_are_the_limits() -> None:
    text = (PAGES / "gpio-beams.md").read_text("utf-8")
    figures = text.partition("| kind | largest debounce |")[2]
    for kind, limits in TIMED.items():
        row = next(line for line in figures.splitlines() if line.startswith(f"| `{kind}`"))
        assert f" {limits.max_debounce_us / 1000:g} ms " in row
        assert ("middle" in row) == (limits.middle and kind != "rotor_phase")
        assert ("never" in row) == (limits.stuck_us == 0)
