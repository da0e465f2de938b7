"""A virtual table assigns readings to the devices of its file by kind, regardless of their names."""

from dataclasses import replace

import pytest

from controller.model.readings import DieAt, WallImpact
from controller.model.tables import DeclaredDevice
from controller.settings.tables import load_table
from drivers.sim.setting import OWN_NAMES, AmbiguousError, UnplayableTableError, route_by, virtual_table

POINT = DieAt(t=1, dev="cam", die=1, x=1.0, y=1.0)
HIT = WallImpact(t=1, dev="wall-right", wall="right", pos_mm=1.0, peak=400)


def test_readings_go_to_the_device_that_reads_them() -> None:
    route = route_by(
        {
            "eye over the felt": DeclaredDevice(reads=("die_at", "die_rest", "die_released")),
            "A": DeclaredDevice(reads=("wall_impact",), wall="left"),
            "B": DeclaredDevice(reads=("wall_impact",), wall="right"),
        },
        OWN_NAMES,
    )
    assert route(POINT).dev == "eye over the felt"
    assert route(HIT).dev == "B"


def test_the_sessions_own_device_name_is_kept_if_several_devices_read_one_kind() -> None:
    devices = {"spare": DeclaredDevice(reads=("die_at",)), "cam": DeclaredDevice(reads=("die_at",))}
    assert route_by(devices, OWN_NAMES)(POINT).dev == "cam"


def test_two_devices_that_read_the_same_kind_under_other_names_are_refused() -> None:
    devices = {"east": DeclaredDevice(reads=("die_at",)), "west": DeclaredDevice(reads=("die_at",))}
    with pytest.raises(AmbiguousError, match="sends die_at: east and west"):
        route_by(devices, OWN_NAMES)
    settings = replace(load_table("craps"), devices=devices)
    with pytest.raises(UnplayableTableError, match="east and west"):
        virtual_table(settings, {}, seed=1, report=lambda _: None)
