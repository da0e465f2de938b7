"""The stories of both dice with their costs, and the outcomes that are not ruled out.

A story is one explanation of a throw. It states the source of each impact (one die, both dice, ringing, a
landing, or a knock by something other than a die), whether the camera swapped the dice's names at each
meeting, and whether each turn at a wall was a touch. Its cost measures its improbability. Of the stories with
the same outcome, only the cheapest counts. The package `controller.rules.dice` defines the terms.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import inf

from controller.rules.dice import bands
from controller.rules.dice.contact import Contact
from controller.rules.dice.contacts import find_contacts
from controller.rules.dice.impacts import Contacts, KnockedBack, Story, Touched, find_stories, may_ring
from controller.rules.dice.meetings import Meeting, meetings, swap_names_after
from controller.rules.dice.paths import Path
from controller.rules.dice.pushes import Pair, last_seen_before, overlap, push_cost
from controller.rules.dice.scene import Scene

BOTH_HIT: Touched = (True, True)


@dataclass(frozen=True, slots=True)
class Account:
    """The contacts at the walls, and the cheapest story of each possible outcome.

    `own_stories` holds the cheapest stories with the names that the camera reported. `stories` holds the
    cheapest stories if names may also have been swapped at meetings.
    """

    contacts: Contacts
    own_stories: dict[Touched, Story]
    stories: dict[Touched, Story]
    ringing: frozenset[int] = frozenset()
    """The numbers of the impacts that may be the ringing of earlier ones."""
    own_knocked_back: Mapping[Touched, float] = field(default_factory=dict)
    knocked_back: Mapping[Touched, float] = field(default_factory=dict)
    """Costs of outcomes in which one die knocked the other back into a wall, although both dice struck that
    wall in the best story. Such an outcome is ruled out only if it costs more than `MARGIN` +
    `KNOCKED_BACK_MARGIN` above the best story."""

    @property
    def possible(self) -> frozenset[Touched]:
        """Return the outcomes that are not ruled out."""
        return self._not_ruled_out(self.stories, self.knocked_back)

    @property
    def possible_unswapped(self) -> frozenset[Touched]:
        """Return the outcomes that are not ruled out if the camera never swapped the names."""
        outcomes = self._not_ruled_out(self.own_stories, self.own_knocked_back)
        return outcomes - {BOTH_HIT} if self.missed_with_any_names else outcomes

    @property
    def missed_with_any_names(self) -> bool:
        """Return whether the camera's names alone leave it possible that both dice hit, while the stories
        that allow for swapped names rule it out.

        This applies only if a die missed in the best story with the camera's names, and if the cheapest story
        in which both dice hit includes a touch without an impact.
        """
        best = min(self.own_stories, key=lambda touched: self.own_stories[touched].cost)
        if best == BOTH_HIT or BOTH_HIT in self.possible or all(self.own_stories[BOTH_HIT].made):
            return False
        return BOTH_HIT in self._not_ruled_out(self.own_stories, self.own_knocked_back)

    def certainly_hit(self, label: int) -> bool:
        """Return whether every story in which this die missed costs over `CERTAIN_MARGIN` more than the best
        story."""
        costs = [
            (touched, story.cost)
            for stories in (self.own_stories, self.stories)
            for touched, story in stories.items()
        ]
        missed = min(cost for touched, cost in costs if not touched[label])
        return missed - min(cost for _, cost in costs) > bands.CERTAIN_MARGIN

    def _not_ruled_out(
        self, stories: dict[Touched, Story], knocked_back: Mapping[Touched, float]
    ) -> frozenset[Touched]:
        least = min(story.cost for story in stories.values())
        return frozenset(
            touched
            for touched, story in stories.items()
            if story.cost - least <= self._margin(touched, story)
            or knocked_back.get(touched, inf) - least <= bands.MARGIN + bands.KNOCKED_BACK_MARGIN
        )

    def _margin(self, touched: Touched, story: Story) -> float:
        """Return the maximum excess over the best story's cost at which this story is not ruled out."""
        one, two = (made - self.ringing for made in story.made)
        separate = all(touched) and one and two and not one & two
        return bands.SEPARATE_IMPACTS_MARGIN if separate else bands.MARGIN


def build_account(scene: Scene, paths: tuple[Path, Path], walls: Sequence[str]) -> Account:
    """Find the contacts and the cheapest stories of a throw at these walls."""
    contacts = _contacts(scene, paths, walls)
    own_stories, own_knocked_back = find_stories(scene, paths, contacts, walls)
    best_stories, knocked_back = dict(own_stories), list(own_knocked_back)
    found = meetings(scene, paths, _wall_times(scene, contacts))
    for cost, times, swapped in _name_swaps(paths, found):
        other_stories, other_knocked_back = own_stories, own_knocked_back
        if times:
            other_stories, other_knocked_back = find_stories(
                scene, swapped, _contacts(scene, swapped, walls), walls
            )
        knocked_back += [
            story_back._replace(cost=story_back.cost + cost) for story_back in other_knocked_back
        ]
        for touched, story in other_stories.items():
            dearer = story._replace(cost=story.cost + cost, swaps=times)
            if times and dearer.cost >= best_stories[touched].cost:
                continue
            best_stories[touched] = dearer
    for touched, story in _struck_twice(scene, own_stories, found):
        if story.cost < best_stories[touched].cost:
            best_stories[touched] = story
    best = min(best_stories.items(), key=lambda item: item[1].cost)
    return Account(
        contacts,
        own_stories,
        best_stories,
        frozenset(i for i in range(len(scene.impacts)) if may_ring(scene, i)),
        _weigh_knocked_back(scene, own_knocked_back, *best),
        _weigh_knocked_back(scene, knocked_back, *best),
    )


def _weigh_knocked_back(
    scene: Scene, knocked_back: Sequence[KnockedBack], touched: Touched, best: Story
) -> dict[Touched, float]:
    """Return the costs of outcomes in which a die was knocked back.

    There are none unless both dice struck the wall in the best story.
    """
    if touched != BOTH_HIT:
        return {}
    struck = [[scene.impacts[i].t / 1000.0 for i in made] for made in best.made]
    costs: dict[Touched, float] = {}
    for other, cost, pair in knocked_back:
        first, last = (scene.impacts[i].t / 1000.0 for i in pair)
        first_allowed, last_allowed = last - bands.SHOVE_MS, first + bands.SHOVE_MS
        if all(not times or any(first_allowed <= t <= last_allowed for t in times) for times in struck):
            costs[other] = min(costs.get(other, inf), cost)
    return costs


def _contacts(scene: Scene, paths: tuple[Path, Path], walls: Sequence[str]) -> Contacts:
    """Return both dice's contacts with the ends and, unless a die certainly hit an end, with the rails."""
    found: Contacts = ([], [])
    for path, contacts in zip(paths, found, strict=True):
        for wall in walls:
            if wall in {"front", "back"} and any(_is_certain(contact) for contact in contacts):
                continue
            contacts.extend(find_contacts(scene, path, wall))
    for label, contacts in enumerate(found):
        pair = (paths[label], contacts), (paths[1 - label], found[1 - label])
        for contact in contacts:
            if contact.cause_certainty and not contact.hidden:
                _weigh_causes(scene, pair, contact)
    return found


def _weigh_causes(scene: Scene, pair: Pair, contact: Contact) -> None:
    """Adjust a contact's costs for other causes of its turn: the other die, or an unseen obstacle."""
    push = push_cost(scene, pair, contact.wall, contact.t)
    if contact.misfit > bands.MARGIN or overlap(scene, pair, contact.wall, contact.t):
        earlier = last_seen_before(pair[0][0], contact.t)
        push = min(push, push_cost(scene, pair, contact.wall, earlier) + bands.BETWEEN_FRAMES)
    reduction = contact.cause_certainty * max(bands.CAUSELESS - push, 0.0)
    contact.miss, contact.landed = contact.miss - reduction, contact.landed - reduction
    contact.cause -= reduction
    if reduction or (contact.cause_certainty < 1.0 and not contact.heard):
        # Chips are not considered if a push or the felt alone may have caused the turn.
        return
    max_gap_mm = bands.max_contact_mm(scene.table) - bands.MIN_CONTACT_EDGES * scene.table.die_mm
    chips_cost = bands.LONE_DIE
    if contact.min_change > bands.MAX_LANDING_M_PER_S:
        max_gap_mm += bands.LONE_DIE_ERRORS * contact.sd
        chips_cost = bands.LONE_DIE_HARD
    if contact.gap_mm <= max_gap_mm:
        contact.miss += contact.cause_certainty * chips_cost
        if contact.cause_certainty == 1.0:
            contact.proof = min(contact.miss, contact.landed + bands.LONE_DIE + contact.reach)


def _is_certain(contact: Contact) -> bool:
    return bool(contact.heard) and contact.miss + contact.knock > bands.CERTAIN_MARGIN


def _struck_twice(
    scene: Scene, own_stories: Mapping[Touched, Story], found: Sequence[Meeting]
) -> Iterator[tuple[Touched, Story]]:
    """Yield the stories in which one die made both dice's impacts and the names were swapped in between.

    The die came back from the wall, met the other die and was knocked into the wall again. Dice of equal mass
    exchange their speeds when they collide, so the tracks look as if the dice had passed through each other.
    Each touch matches the tracks equally well with the names swapped and with the camera's names. Only the
    meeting distinguishes the stories.
    """
    own = own_stories[BOTH_HIT]
    struck = [[scene.ms(scene.impacts[i].t) for i in made] for made in own.made]
    for meeting in found:
        for first, last in ((0, 1), (1, 0)):
            if not struck[first] or not struck[last]:
                continue
            between = max(struck[first]) < meeting.t < min(struck[last])
            # Second strikes within `SHOVE_MS` are matched by `_add_shoved_matches` instead.
            if between and min(struck[last]) - max(struck[first]) > bands.SHOVE_MS:
                cost = own.cost + max(meeting.swapped - meeting.kept, 0.0)
                both, none = frozenset(own.made[0] | own.made[1]), frozenset[int]()
                made = (both, none) if last == 0 else (none, both)
                yield (last == 0, last == 1), Story(cost, made, (meeting.t,))


def _name_swaps(
    paths: tuple[Path, Path], found: Sequence[Meeting]
) -> Iterator[tuple[float, tuple[float, ...], tuple[Path, Path]]]:
    """Yield each combination of swapped names: its cost, its times, and the resulting paths."""
    if not found:
        return
    for choice in product((False, True), repeat=len(found)):
        cost, swapped_paths = 0.0, paths
        times: list[float] = []
        for meeting, swapped in zip(found, choice, strict=True):
            cost += meeting.swapped if swapped else meeting.kept
            if swapped:
                swapped_paths = swap_names_after(swapped_paths, meeting.t)
                times.append(meeting.t)
        yield cost, tuple(times), swapped_paths


def _wall_times(scene: Scene, contacts: Contacts) -> list[float]:
    """Return the times of evidence of a touch: possible touches, and impacts that are not ringing."""
    times = [contact.t for own in contacts for contact in own if contact.heard or contact.touch < inf]
    if not times:
        return []
    walls = {contact.wall for own in contacts for contact in own}
    times += [
        scene.ms(impact.t)
        for i, impact in enumerate(scene.impacts)
        if impact.wall in walls and not may_ring(scene, i)
    ]
    return sorted(times)
