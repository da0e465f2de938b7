"""The stories of a throw in words: what stands, and how much worse the next one fits."""

from collections.abc import Iterator
from typing import NamedTuple

from controller.rules.dice.scene import Scene
from controller.rules.dice.stories import Account, End, Story, rings


class Told(NamedTuple):
    """A story in words, and by how many squared standard deviations it fits worse than the best."""

    words: str
    worse: float
    stands: bool
    """Whether the story is not ruled out."""


def tell_stories(scene: Scene, account: Account) -> tuple[Told, ...]:
    """Tell the best story of each end that stands, and the next that does not, the best first."""
    ranked = sorted(account.stories.items(), key=lambda item: item[1])
    least = ranked[0][1].price
    told = [
        Told(_in_words(scene, end, story), story.price - least, end in account.ends)
        for end, story in ranked
        if story.price < float("inf")
    ]
    last = max(i for i, story in enumerate(told) if story.stands)
    return tuple(told[: last + 2])


def _in_words(scene: Scene, end: End, story: Story) -> str:
    parts = [_of_die(scene, label, story, touched=end[label]) for label in (0, 1)]
    if story.exchanges:
        when = ", ".join(f"{t / 1000.0:.3f} s" for t in story.exchanges)
        parts.append(f"the camera exchanged their names at {when}")
    parts += _of_others(scene, story)
    return "; ".join(parts)


def _of_die(scene: Scene, label: int, story: Story, *, touched: bool) -> str:
    made = sorted(story.made[label])
    if made:
        own = [i for i in made if not any(rings(scene, first, i) for first in made if first < i)]
        walls = " and ".join(
            f"the {scene.impacts[i].wall} wall at {scene.ms(scene.impacts[i].t) / 1000.0:.3f} s" for i in own
        )
        return f"die {label + 1} hit {walls}"
    return f"die {label + 1} {'touched a wall unheard' if touched else 'hit no wall that counts'}"


def _of_others(scene: Scene, story: Story) -> Iterator[str]:
    others = [i for i in range(len(scene.impacts)) if i not in story.made[0] | story.made[1]]
    if others:
        when = ", ".join(f"{scene.ms(scene.impacts[i].t) / 1000.0:.3f} s" for i in others)
        yield f"what was heard at {when} was a knock or a ringing"
