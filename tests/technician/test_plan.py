"""Every sensor that fails its test has a remedy."""

import pytest

from controller.settings.places import config_names
from controller.settings.tables import load_table
from controller.technician.plan import REMEDIES, next_step, steps_for


@pytest.mark.parametrize("table", sorted(config_names("tables")))
def test_every_step_of_every_shipped_table_has_a_remedy_and_a_retest(table: str) -> None:
    settings = load_table(table)
    for name in settings.devices:
        for step in steps_for(name, settings):
            remedy = next_step(name, step.sensor)
            assert f"; then run: tablectl test {name}" in remedy
            assert "{" not in remedy


def test_one_of_several_sensors_is_retested_by_its_kind() -> None:
    assert next_step("wheel", "ball_beam 1").endswith("tablectl test wheel --only ball_beam")


def test_for_a_switch_or_lamp_the_next_step_is_its_wire() -> None:
    assert next_step("console", "door").startswith("check its wire")
    assert set(REMEDIES) >= {"device", "wall_impact", "card"}
