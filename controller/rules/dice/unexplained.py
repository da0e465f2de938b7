"""Impacts that no die in sight made: something flew that the camera did not see."""

from collections.abc import Iterable

from controller.model.readings import WallImpact
from controller.rules.dice.contacts import contacts_with
from controller.rules.dice.paths import path_of
from controller.rules.dice.scene import DieSeen, Scene
from controller.rules.dice.stories import rings


def unexplained_impacts(scene: Scene, dice: Iterable[DieSeen], walls: Iterable[str]) -> list[WallImpact]:
    """Return the impacts on these walls that these dice did not make, and that are no ringing either."""
    wanted = frozenset(walls)
    heard = {impact.wall for impact in scene.impacts} & wanted
    explained: set[int] = set()
    for die in dice if heard else ():
        path = path_of(scene, die)
        for wall in sorted(heard):
            for contact in contacts_with(scene, path, wall):
                explained |= {i for i, price in contact.heard.items() if price < contact.miss + contact.knock}
    explained |= {i for hit in explained for i in range(len(scene.impacts)) if rings(scene, hit, i)}
    return [impact for i, impact in enumerate(scene.impacts) if impact.wall in wanted and i not in explained]
