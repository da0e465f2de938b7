"""For a sensor that fails its test there is always a next step."""

import pytest

from controller.settings.places import config_names
from controller.settings.tables import load_table
from controller.technician.plan import STEPS, acts_for, next_step


@pytest.mark.parametrize("table", sorted(config_names("tables")))
def test_every_act_of_every_shipped_table_has_a_next_step_and_a_retest(table: str) -> None:
    settings = load_table(table)
    for name in settings.devices:
        for act in acts_for(name, settings):
            step = next_step(name, act.sensor)
            assert f"; then tablectl test {name}" in step
            assert "{" not in step


def test_one_of_several_sensors_is_retested_by_its_kind() -> None:
    assert next_step("wheel", "ball_beam 1").endswith("tablectl test wheel --only ball_beam")


def test_for_a_switch_or_lamp_the_next_step_is_its_wire() -> None:
    assert next_step("console", "door").startswith("check its wire")
    assert set(STEPS) >= {"device", "wall_impact", "card"}
