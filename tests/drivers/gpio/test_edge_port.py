"""Tests of the port for kernel edge events: opening, refusals, and the end of its thread."""

import errno
import gc
import os
import threading
from collections.abc import Callable

import pytest

from drivers.device import Edge, Level, MuteLine, ReadLevel
from drivers.link.gpio_edges import Chip, find_chip
from drivers.link.link import Backoff, Inlet, Link, LinkDown, LinkUp, PortError
from tests.drivers.gpio.rig import CHIP, LABEL, FakeKernel, Time, beams

LONG_S = 20.0
"""Timeout for another thread's work. It expires only if there is a defect."""


def test_an_edge_keeps_the_kernels_own_time_and_number(kernel: FakeKernel) -> None:
    time = Time()
    port = kernel.port(beams(1), time)
    assert port.open() == "/dev/gpiochip0 [pinctrl-rp1]"
    kernel.drive(5, True, 1_234_567)
    time.us = 9_999_999
    assert port.read() == (Edge(5, True, 1, 1_234_567),)
    port.dispose()


def test_edges_of_several_lines_come_in_the_order_in_which_they_happened(kernel: FakeKernel) -> None:
    port = kernel.port(beams(3), Time())
    port.open()
    for line, t_us in ((7, 300), (5, 100), (6, 200), (5, 400)):
        kernel.drive(line, not kernel.active.get(line, False), t_us)
    edges = port.read()
    assert [(edge.line, edge.t_us) for edge in edges] == [(5, 100), (6, 200), (7, 300), (5, 400)]
    port.dispose()


def test_a_level_never_overtakes_the_edge_that_caused_it(kernel: FakeKernel) -> None:
    time = Time()
    port = kernel.port(beams(1), time)
    port.open()
    kernel.drive(5, True, time.us - 50)
    port.write((ReadLevel(5),))
    assert port.read() == (
        Edge(5, True, 1, time.us - 50),
        Level(5, True, time.us),
    )
    port.dispose()


def test_edges_of_an_unread_line_wait_in_the_kernel_and_none_is_lost(kernel: FakeKernel) -> None:
    time = Time()
    port = kernel.port(beams(2), time)
    port.open()
    port.write((MuteLine(5, 200_000),))
    kernel.drive(5, True, time.us)
    kernel.drive(6, True, time.us)
    assert port.read() == (Edge(6, True, 1, time.us),)
    time.us += 200_000
    assert port.read() == ()
    assert port.read() == (Edge(5, True, 1, time.us - 200_000),)
    port.dispose()


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (OSError(errno.EBUSY, "Device or resource busy"), "line_busy", "is in use by w1-gpio"),
        (OSError(errno.EACCES, "Permission denied"), "no_permission", "Permission denied"),
        (OSError(errno.EINVAL, "Invalid argument"), "no_line", "Invalid argument"),
        (ValueError("line offset of out range"), "no_line", "line offset"),
        (OSError(errno.EIO, "Input/output error"), "port_fault", "Input/output error"),
    ],
)
def test_a_line_that_cannot_be_opened_is_named_and_the_others_are_released(
    kernel: FakeKernel, error: Exception, code: str, says: str
) -> None:
    kernel.refused[6] = error
    port = kernel.port(beams(3), Time())
    with pytest.raises(PortError, match=says) as refused:
        port.open()
    assert refused.value.code == code
    assert "beam-1: GPIO6 of /dev/gpiochip0" in refused.value.seen
    assert kernel.lines == {}
    kernel.refused.clear()
    port.open()
    assert set(kernel.lines) == {5, 6, 7}
    port.dispose()


def test_a_second_controller_is_refused_because_the_line_is_busy(kernel: FakeKernel) -> None:
    first, second = kernel.port(beams(1), Time()), kernel.port(beams(1), Time())
    first.open()
    with pytest.raises(PortError, match="in use by an unnamed program"):
        second.open()
    first.close()
    second.open()
    second.dispose()
    first.dispose()


def test_the_chip_is_found_by_its_label_whatever_its_number(kernel: FakeKernel) -> None:
    kernel.chips = [Chip("/dev/gpiochip0", "brcmvirt-gpio"), Chip("/dev/gpiochip10", LABEL)]
    found = find_chip(LABEL, lambda: kernel.chips)
    assert found.path == "/dev/gpiochip10"


@pytest.mark.parametrize(
    ("chips", "says"),
    [
        ([Chip("/dev/gpiochip0", "pinctrl-bcm2711")], r"pinctrl-rp1.*/dev/gpiochip0 \[pinctrl-bcm2711\]"),
        ([CHIP, Chip("/dev/gpiochip3", LABEL)], "expected one chip"),
        ([], "no GPIO chip"),
    ],
)
def test_no_other_chip_is_used_instead(kernel: FakeKernel, chips: list[Chip], says: str) -> None:
    kernel.chips = chips
    with pytest.raises(PortError, match=says) as refused:
        kernel.port(beams(1), Time()).open()
    assert refused.value.code == "no_chip"


def test_a_chip_that_breaks_is_reported(kernel: FakeKernel) -> None:
    port = kernel.port(beams(1), Time())
    port.open()
    kernel.drive(5, True, 100)
    kernel.broken = True
    with pytest.raises(PortError, match="Input/output error") as broken:
        port.read()
    assert broken.value.code == "port_fault"
    port.dispose()


def test_closing_releases_every_line_and_waking_a_disposed_port_does_no_harm(kernel: FakeKernel) -> None:
    gc.collect()  # ports of other tests that are no longer referenced
    open_before = len(os.listdir("/proc/self/fd"))
    port = kernel.port(beams(4), Time())
    for _ in range(3):
        port.open()
        port.close()
    port.dispose()
    port.wake()
    assert kernel.lines == {}
    assert len(os.listdir("/proc/self/fd")) == open_before


@pytest.fixture
def running(kernel: FakeKernel) -> Callable[[], tuple[Link, Inlet]]:
    def start() -> tuple[Link, Inlet]:
        time, inlet = Time(), Inlet()
        port = kernel.port(beams(2), time)
        link = Link("wheel", port, inlet.post, now_us=lambda: time.us, backoff=Backoff(lambda: 0.0))
        link.start()
        return link, inlet

    return start


def test_the_thread_stamps_and_posts_and_ends_while_it_waits_for_edges(
    kernel: FakeKernel, running: Callable[[], tuple[Link, Inlet]]
) -> None:
    link, inlet = running()
    up = inlet.take(LONG_S)
    assert up is not None
    assert up.event == LinkUp("/dev/gpiochip0 [pinctrl-rp1]")
    kernel.drive(6, True, 7_000_000)
    seen = inlet.take(LONG_S)
    assert seen is not None
    assert (seen.source, seen.t_us, seen.event) == ("wheel", 10_000_000, (Edge(6, True, 1, 7_000_000),))
    assert link.send((ReadLevel(5),))
    looked = inlet.take(LONG_S)
    assert looked is not None
    assert looked.event == (Level(5, False, 10_000_000),)
    assert link.stop()
    assert kernel.lines == {}
    assert "link wheel" not in {thread.name for thread in threading.enumerate()}


def test_the_thread_reports_why_it_cannot_open_and_tries_again(
    kernel: FakeKernel, running: Callable[[], tuple[Link, Inlet]]
) -> None:
    kernel.refused[6] = OSError(errno.EBUSY, "Device or resource busy")
    link, inlet = running()
    down = inlet.take(LONG_S)
    assert down is not None
    assert isinstance(down.event, LinkDown)
    assert down.event.code == "line_busy"
    kernel.refused.clear()
    up = inlet.take(LONG_S)
    assert up is not None
    assert isinstance(up.event, LinkUp)
    assert link.stop()


def test_an_unreferenced_port_keeps_no_descriptor(kernel: FakeKernel) -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        port = kernel.port(beams(1), Time())
        port.open()
        port.close()
        del port
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) < before + 25
