"""Rendered throws reach the controller's camera reader as images over a cable, and are called."""

import pytest

from controller.model.geometry import DiceTable
from controller.settings.tables import load_table
from drivers.sim.rendered_throws import throw
from drivers.sim.scenes import disagreements
from drivers.sim.setting import UnplayableTableError, types_for, with_rendered_camera
from drivers.sim.table import Act, build_act
from tests.sim.virtual_house import CONFIG, House


class Shown:
    """Rendered throws with these numbers, each computed when it is played."""

    def __init__(self, table: DiceTable, *numbers: int) -> None:
        self._table = table
        self._numbers = list(numbers)
        self.faces: list[tuple[int, int | None]] = []

    def ready(self) -> bool:
        return True

    def play(self, _seed: int, _count: int, _after_fault: bool, /) -> Act:
        made = throw(self._numbers.pop(0), self._table)
        self.faces += made.faces
        return build_act(made.feed, [made.scene])


def test_a_rendered_throw_is_called_as_the_engine_simulated_it() -> None:
    table = load_table(str(CONFIG / "craps.yaml")).dice_table
    assert table is not None
    shown = Shown(table, 1)
    house = House("craps", types={"cam": "json-camera"}, attempts=1, one_by_one=shown.play)
    house.play()
    assert shown.faces == [(6, 6), (4, 4)]
    assert disagreements([story.scene for story in house.played], house.outcomes) == []
    assert [outcome.type for outcome in house.outcomes if outcome.type.startswith("roll.")] == ["roll.called"]
    assert house.session.late == 0


def test_a_wheel_has_no_throws_to_render() -> None:
    settings = load_table(str(CONFIG / "roulette.yaml"))
    with pytest.raises(UnplayableTableError, match="need a 3600 by 1100 mm craps table"):
        with_rendered_camera(
            settings,
            types_for(settings),
            lambda _seed, table: Shown(table),
            seed=1,
            report=lambda _story: None,
        )
