"""Checking the wheel in a log's header."""

import msgspec
import pytest

from controller.replay.log import Header
from controller.replay.run import build_setup
from controller.replay.source import LogError
from controller.settings.rulesets import load_ruleset
from tests.wheels import AMERICAN, trusting_rules

ROULETTE = load_ruleset("roulette")
POCKETS = AMERICAN.pockets_clockwise


@pytest.mark.parametrize(
    ("change", "key", "expected"),
    [
        ({"pockets": "french"}, "wheel.pockets", "one of american, european"),
        ({"pockets": "european"}, "wheel.pockets_clockwise", "each of the 37 pockets"),
        ({"pockets_clockwise": POCKETS[1:]}, "wheel.pockets_clockwise", "each of the 38 pockets"),
        ({"pockets_clockwise": (*POCKETS[1:], "7")}, "wheel.pockets_clockwise", "each of the 38 pockets"),
        ({"beams_deg": (10.0,)}, "wheel.beams_deg", "two beams or more"),
        ({"beams_deg": (10.0, 130.0, 370.0)}, "wheel.beams_deg.2", "each beam at a different angle"),
    ],
)
def test_an_impossible_wheel_is_refused_with_its_place(
    change: dict[str, object], key: str, expected: str
) -> None:
    wheel = msgspec.structs.replace(AMERICAN, **change)
    with pytest.raises(LogError) as error:
        build_setup(Header(version=1, table="w", wheel=wheel), ROULETTE, "a.jsonl")
    said = str(error.value)
    assert all(part in said for part in ("a.jsonl", "1", f"`{key}`", expected))


def test_a_wheel_whose_own_number_is_trusted_needs_no_beams() -> None:
    header = Header(version=1, table="w", wheel=msgspec.structs.replace(AMERICAN, beams_deg=(0.0,)))
    assert build_setup(header, trusting_rules(), "a.jsonl").wheel == header.wheel
    assert build_setup(Header(version=1, table="w", wheel=AMERICAN), ROULETTE, "a.jsonl").wheel == AMERICAN
