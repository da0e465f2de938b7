"""Impacts that no die in sight made: something flew that the camera did not see."""

from collections.abc import Iterable

from controller.model.readings import WallImpact
from controller.rules.dice.credit import explained_by
from controller.rules.dice.paths import path_of
from controller.rules.dice.scene import DieSeen, Scene
from controller.rules.dice.walls import encounters_with


def unexplained_impacts(scene: Scene, dice: Iterable[DieSeen], walls: Iterable[str]) -> list[WallImpact]:
    """Give the impacts on these walls that are no hit of these dice's own tracks, nor the ringing of one."""
    wanted = frozenset(walls)
    heard = {impact.wall for impact in scene.impacts} & wanted
    explained: set[int] = set()
    for die in dice if heard else ():
        path = path_of(scene, die)
        for wall in sorted(heard):
            path.encounters += encounters_with(scene, path, wall)
        explained |= explained_by(scene, path)
    return [impact for i, impact in enumerate(scene.impacts) if impact.wall in wanted and i not in explained]
