"""Tests of the requests to gpiod and the conversion of its answers."""

from glob import glob

import pytest

gpiod = pytest.importorskip("gpiod")
from gpiod.line import Bias, Clock, Direction, Edge, Value  # noqa: E402 - only where gpiod is installed

from drivers.link import gpio_kernel  # noqa: E402 - as above
from drivers.link.gpio_edges import KernelEdge  # noqa: E402 - as above
from drivers.link.link import PortError  # noqa: E402 - as above
from tests.drivers.gpio.rig import CHIP, timed  # noqa: E402 - as above


class _Request:
    fd = 42

    def __init__(self) -> None:
        self.asked = 0
        self.released = False

    def read_edge_events(self, max_events: int) -> list[object]:
        self.asked = max_events
        rising, falling = (kind.value for kind in gpiod.EdgeEvent.Type)
        return [gpiod.EdgeEvent(rising, 5000, 17, 9, 3), gpiod.EdgeEvent(falling, 7000, 17, 11, 4)]

    def get_value(self, line: int) -> Value:
        assert line == 17
        return Value.ACTIVE

    def release(self) -> None:
        self.released = True


class _Chip:
    def __init__(self, path: str) -> None:
        assert path == CHIP.path
        self.request = _Request()

    def __enter__(self) -> "_Chip":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def request_lines(self, config: object, consumer: str, event_buffer_size: int) -> _Request:
        _asked.append((config, consumer, event_buffer_size))
        return self.request


_asked: list[tuple[object, str, int]] = []


def test_a_line_is_requested_with_both_edges_the_monotonic_clock_and_the_largest_buffer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _asked.clear()
    monkeypatch.setattr(gpiod, "Chip", _Chip)
    line = gpio_kernel.request_line(CHIP, timed(17, "ball_beam", pull="down", active_low=False))
    ((config, consumer, size),) = _asked
    settings = gpiod.LineSettings(
        direction=Direction.INPUT,
        edge_detection=Edge.BOTH,
        bias=Bias.PULL_DOWN,
        active_low=False,
        event_clock=Clock.MONOTONIC,
    )
    assert config == {17: settings}
    assert (consumer, size) == ("table-controller", 1024)
    assert settings.debounce_period.total_seconds() == 0
    assert line.fileno() == 42
    assert line.read_edges() == [KernelEdge(True, 5000, 3), KernelEdge(False, 7000, 4)]
    assert line.is_active()


def test_a_machine_without_chips_has_none_and_no_line_has_a_holder() -> None:
    if glob("/dev/gpiochip*"):
        pytest.skip("this machine has GPIO chips")
    assert gpio_kernel.list_chips() == []
    assert gpio_kernel.find_holder(CHIP, 17) == ""


def test_two_names_of_one_chip_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Known(_Chip):
        def get_info(self) -> object:
            return type("Info", (), {"label": "pinctrl-rp1"})

    monkeypatch.setattr(gpiod, "Chip", Known)
    monkeypatch.setattr("drivers.link.gpio_kernel.glob", lambda _: ["/dev/gpiochip0", "/dev/gpiochip4"])
    monkeypatch.setattr("os.path.realpath", lambda _: "/dev/gpiochip0")
    assert gpio_kernel.list_chips() == [CHIP]


def test_a_chip_that_may_not_be_opened_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(gpiod, "Chip", refuse)
    monkeypatch.setattr("drivers.link.gpio_kernel.glob", lambda _: ["/dev/gpiochip0"])
    with pytest.raises(PortError) as refused:
        gpio_kernel.list_chips()
    assert refused.value.code == "no_permission"
