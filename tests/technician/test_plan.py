"""A sensor that fails its test always says what to do next."""

import pytest

from controller.settings.places import config_names
from controller.settings.tables import load_table
from controller.technician.plan import STEPS, acts_for, next_step


@pytest.mark.parametrize("table", sorted(config_names("tables")))
def test_every_act_of_every_shipped_table_has_its_step_and_how_to_test_it_again(table: str) -> None:
    settings = load_table(table)
    for name in settings.devices:
        for act in acts_for(name, settings):
            step = next_step(name, act.sensor)
            assert f"; then tablectl test {name}" in step
            assert "{" not in step


def test_a_sensor_of_several_is_tested_again_by_its_kind() -> None:
    assert next_step("wheel", "ball_beam 1").endswith("tablectl test wheel --only ball_beam")


def test_a_switch_or_lamp_is_a_matter_of_its_wire() -> None:
    assert next_step("console", "door").startswith("check its wire")
    assert set(STEPS) >= {"device", "wall_impact", "card"}
