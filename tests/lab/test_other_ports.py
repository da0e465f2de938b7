"""A smart wheel, a shoe and a camera script on real USB serial ports. No cable causes a wrong call."""

from collections.abc import Callable

import pytest

from tests.lab.conftest import MakeMachine
from tests.lab.guest import other_ports
from tests.lab.guest.throws import Found
from tests.lab.machine import VIRTUAL_TIME
from tests.lab.report import Report

LAB = ("dummy_hcd.num=4", VIRTUAL_TIME)
GAMES = ("valid", "with_rotor", "valid", "rotor_turned", "dealer_no_spin")


def test_a_smart_wheels_games_get_their_own_outcomes(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(other_ports.smart_wheel, list(GAMES), seed=21)

    report.note("games of an SS2 wheel on a USB port", f"{found.words}")
    _right(found)
    assert found.words == ["valid", "void", "valid", "void", "void"]


def test_a_shoes_deals_get_their_own_outcomes(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(other_ports.shoe, 3, seed=22)

    report.note("deals of a shoe on a USB port", f"{found.words}")
    _right(found)
    assert found.words == ["valid"] * 3


def test_throws_seen_by_a_script_get_their_own_outcomes(machine: MakeMachine, report: Report) -> None:
    found = machine(arguments=LAB).call(other_ports.script, ["valid", "one_short", "valid"], seed=23)

    report.note("throws seen by a camera script on a USB port", f"{found.words}")
    _right(found)


@pytest.mark.parametrize(
    "unplugged",
    [other_ports.smart_wheel_unplugged, other_ports.shoe_unplugged, other_ports.script_unplugged],
    ids=["wheel", "shoe", "script"],
)
def test_a_cable_pulled_during_an_attempt_is_reported_and_the_next_attempt_is_called(
    machine: MakeMachine, report: Report, unplugged: Callable[[int], list[Found]]
) -> None:
    broken, after = machine(arguments=LAB).call(unplugged, 24)

    report.times("unplug to device down", broken.down_after_us)
    report.times("replug to device up", broken.up_after_us)
    report.note(unplugged.__name__, f"{broken.words}, faults {broken.faults}; after it {after.words}")
    assert broken.wrong == []
    assert broken.words == ["review"]
    _right(after)
    assert after.words == ["valid"]


def _right(found: Found) -> None:
    assert found.wrong == []
    assert found.needless == []
    assert "silent" not in found.words
    assert found.exit_code == 0
