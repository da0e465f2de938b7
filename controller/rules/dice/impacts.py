"""The stories of a throw, given two paths and their names, and the costs of these stories.

A story (an explanation of the throw) assigns each impact that a wall sensor reported to one die, to both
dice, or to neither (a knock, a landing or ringing). The package `controller.rules.dice` defines the terms.
"""

from collections.abc import Collection, Sequence
from itertools import combinations, product
from math import inf, sqrt
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.contact import SAME_TURN_MS, Contact
from controller.rules.dice.falls import may_have_fallen, thump_cost
from controller.rules.dice.loudness import Heard
from controller.rules.dice.paths import Path
from controller.rules.dice.pushes import last_seen_before, may_be_knocked_back, push_cost, return_cost
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import heard_place_cost

Touched = tuple[bool, bool]
"""The outcome of a story: whether die 1 and die 2 (named as at rest) touched a required wall."""
Contacts = tuple[list[Contact], list[Contact]]

MAX_IMPACTS = 6
"""Maximum number of impacts for which every source is considered. Earlier impacts take precedence. Impacts
that may be ringing come last, because a die may go on rattling."""
NEXT_CORNER_MS = 40.0
"""Maximum time, in ms, until a die that landed on one corner strikes the felt with the next one. It is the
duration of a quarter turn at 40 rad/s."""


class Story(NamedTuple):
    """One explanation of a throw.

    `made` holds the impacts that each die made, and `swaps` the times, in ms, at which the names were
    swapped.
    """

    cost: float
    made: tuple[frozenset[int], frozenset[int]]
    swaps: tuple[float, ...] = ()


class KnockedBack(NamedTuple):
    """A story in which one die made two impacts because the other die knocked it back into the wall."""

    touched: Touched
    cost: float
    impacts: tuple[int, int]


def find_stories(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, walls: Sequence[str]
) -> tuple[dict[Touched, Story], list[KnockedBack]]:
    """Return the cheapest story of each outcome, given these paths and their names.

    The second value holds the cheapest stories in which one die knocked the other back into a wall, for each
    outcome and pair of impacts.
    """
    by_impact: dict[int, list[_Match]] = {}
    for die, own in enumerate(contacts):
        for i, match in _matches(scene, die, own).items():
            by_impact.setdefault(i, []).append(match)
    _add_shoved_matches(scene, paths, contacts, by_impact)
    impacts = sorted(sorted(by_impact, key=lambda i: (may_ring(scene, i), i))[:MAX_IMPACTS])
    unmatched_cost = sum(
        bands.RINGING if may_ring(scene, i) else bands.KNOCK
        for i, impact in enumerate(scene.impacts)
        if impact.wall in walls and i not in by_impact
    )
    soft_impacts = _find_soft_impacts(scene, paths, contacts, by_impact)
    best: dict[Touched, Story] = {}
    knocked_back_costs: dict[tuple[Touched, tuple[int, int]], float] = {}
    knocked_back = [
        pair
        for pair in combinations(impacts, 2)
        if not may_be_ringing(scene, *pair) and may_be_knocked_back(scene, paths, pair)
    ]
    for choice in product(*(_makers(scene, i, by_impact[i], soft_impacts.get(i)) for i in impacts)):
        cost = unmatched_cost
        heard: tuple[set[int], set[int]] = (set(), set())
        made: tuple[set[int], set[int]] = (set(), set())
        for i, (makers, maker_cost) in zip(impacts, choice, strict=True):
            cost += maker_cost
            for match in makers:
                heard[match.die].add(match.contact)
                made[match.die].add(i)
        repeat_cost, struck = _repeat_cost(scene, impacts, choice, contacts, heard)
        cost += repeat_cost + _loudness_cost(scene, impacts, choice, contacts)
        thumps = [
            i for i, (makers, _) in zip(impacts, choice, strict=True) if i in soft_impacts and not makers
        ]
        landed = {
            (match.die, match.contact) for i in thumps for match in by_impact[i] if match.cost < bands.BROKEN
        }
        knocks = {
            i
            for i, (makers, _) in zip(impacts, choice, strict=True)
            if not makers and i not in soft_impacts and not may_ring(scene, i)
        }
        outcomes = [
            _outcome_costs(
                contacts[die], heard[die], {c for of, c in landed if of == die}, struck[die], knocks
            )
            for die in (0, 1)
        ]
        knocked_back_here = [pair for pair in knocked_back if any(own.issuperset(pair) for own in made)]
        for one in (False, True):
            for two in (False, True):
                story = Story(
                    cost + outcomes[0][one] + outcomes[1][two], (frozenset(made[0]), frozenset(made[1]))
                )
                if (one, two) not in best or story.cost < best[one, two].cost:
                    best[one, two] = story
                for pair in knocked_back_here:
                    key = (one, two), pair
                    knocked_back_costs[key] = min(knocked_back_costs.get(key, inf), story.cost)
    return best, [KnockedBack(touched, cost, pair) for (touched, pair), cost in knocked_back_costs.items()]


class _Match(NamedTuple):
    """A contact that may have made an impact.

    `die` is the index of the die, `contact` that of its contact. `cost` is the cost of this match, and
    `knock` the cost of a knock instead.
    """

    die: int
    contact: int
    cost: float
    knock: float
    shove: float = inf
    """Cost of assuming that the other die knocked this die back into the wall at this position."""
    struck: tuple[int, ...] = ()
    """The contacts of the other die that the same collision may have caused."""
    loudness: float = 0.0
    """Cost of the impact's loudness as a hit with the contact's turn, less its cost as a knock."""
    only: bool = False
    """Whether the die could have made this impact only if it was knocked back."""


Maker = tuple[tuple[_Match, ...], float]
"""The contacts that made an impact (none for a knock, a landing or ringing), and the explanation's cost."""


def _matches(scene: Scene, die: int, contacts: list[Contact]) -> dict[int, _Match]:
    """Return the best-matching contact of a die for each impact."""
    best: dict[int, _Match] = {}
    for c, contact in enumerate(contacts):
        for i, cost in contact.heard.items():
            if i not in best or cost < best[i].cost:
                # Few knocks have the loudness of a hit that causes the same turn.
                loudness = _hit_cost(scene, contact, i)
                knock = contact.knock + contact.placed[i] + max(-loudness, 0.0)
                best[i] = _Match(die, c, cost, knock, loudness=loudness)
    return best


def _find_soft_impacts(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, by_impact: dict[int, list[_Match]]
) -> dict[int, float]:
    """Return the cost of a landing for each impact that is softer than hits on its wall."""
    soft: dict[int, float] = {}
    for i, matches in by_impact.items():
        turned = max(
            (contacts[match.die][match.contact] for match in matches), key=lambda contact: contact.change
        )
        hits = scene.loudness.at(scene.impacts[i].wall, scene.errors.hit_counts_per_m_s)
        peak = scene.impacts[i].peak
        if turned.change <= 0.0 or peak >= bands.LANDING_M_PER_S * hits or may_ring(scene, i):
            continue
        cost = min(thump_cost(scene, turned, peak / hits), bands.STEEP_LANDING)
        plausible = cost <= bands.THUMP or any(_may_have_landed(contacts, match) for match in matches)
        if plausible and may_have_fallen(scene, paths, i, peak / hits):
            soft[i] = cost
    return soft


def _may_have_landed(contacts: Contacts, match: _Match) -> bool:
    """Return whether a landing can cause a turn as large as this match's."""
    return contacts[match.die][match.contact].min_change <= bands.MAX_LANDING_M_PER_S


def _makers(scene: Scene, impact: int, matches: list[_Match], thump: float | None) -> list[Maker]:
    """Return the possible sources of an impact: no die, one die, or both dice together."""
    knock = min(match.knock for match in matches) if thump is None else thump
    makers: list[Maker] = [((), bands.RINGING if may_ring(scene, impact) else knock)]
    makers += [((match,), match.cost) for match in matches]
    if len(matches) == 2:
        makers.append((tuple(matches), matches[0].cost + matches[1].cost + bands.SHARED_IMPACT))
    return makers


def _add_shoved_matches(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, by_impact: dict[int, list[_Match]]
) -> None:
    """Add matches for a die that the other die knocked back into a wall it had just touched."""
    delay_ms = 0.5 * sum(scene.errors.impact_delay_ms)
    for i, matches in by_impact.items():
        wall = scene.impacts[i].wall
        t = scene.ms(scene.impacts[i].t) - delay_ms
        for die, die_contacts in enumerate(contacts):
            earlier_contacts = [
                c
                for c, contact in enumerate(die_contacts)
                if contact.wall == wall and -bands.CLOCK_MARGIN_MS < t - contact.t < bands.SHOVE_MS
                if any(j < i for j in contact.heard)
            ]
            cost = heard_place_cost(scene, paths[die], i, t) if earlier_contacts else None
            if cost is None:
                continue
            pair = (paths[1 - die], contacts[1 - die]), (paths[die], die_contacts)
            push = min(push_cost(scene, pair, wall, at) for at in (t, last_seen_before(paths[1 - die], t)))
            push += return_cost(scene, paths[die], wall, t, max(path.fastest for path in paths))
            if push > bands.MARGIN:
                continue
            struck = tuple(
                c
                for c, contact in enumerate(contacts[1 - die])
                if contact.wall == wall and abs(contact.t - t) <= SAME_TURN_MS
            )
            c = min(
                earlier_contacts,
                key=lambda c: min(cost for j, cost in die_contacts[c].heard.items() if j < i),
            )
            later_turns = [
                b for b, later in enumerate(die_contacts) if b != c and abs(later.t - t) <= SAME_TURN_MS
            ]
            turned_at = later_turns[0] if later_turns else c
            loudness = _hit_cost(scene, die_contacts[turned_at], i)
            forced = _Match(
                die, turned_at, cost, die_contacts[c].knock, bands.SHOVE + push, struck, loudness, True
            )
            direct = next((match for match in matches if match.die == die), None)
            if direct is None or direct.cost > forced.cost + forced.shove:
                matches[:] = [match for match in matches if match.die != die]
                matches.append(forced)
            else:
                matches[matches.index(direct)] = direct._replace(shove=forced.shove, struck=struck)


def _loudness_cost(
    scene: Scene, impacts: Sequence[int], choice: Sequence[Maker], contacts: Contacts
) -> float:
    """Return the cost of the loudness of a story's touches.

    The loudest impact of each touch is compared with the touch's turn. An impact that both dice made together
    is compared with the larger of their turns.
    """
    loudest: dict[tuple[int, int], tuple[float, float]] = {}
    for i, (makers, _) in zip(impacts, choice, strict=True):
        if not makers:
            continue
        hardest = max(makers, key=lambda match: contacts[match.die][match.contact].change)
        key, peak = (hardest.die, hardest.contact), scene.impacts[i].peak
        if key not in loudest or peak > loudest[key][0]:
            loudest[key] = peak, max(hardest.loudness, 0.0)
    return sum(cost for _, cost in loudest.values())


def _hit_cost(scene: Scene, turned: Contact, impact: int) -> float:
    """Return the cost of an impact's loudness as a hit with a turn, less its cost as a knock.

    The result is 0 for a turn within the noise of the track.
    """
    if not turned.clear or turned.hidden or turned.misfit > bands.MARGIN:
        return 0.0
    wall, peak = scene.impacts[impact].wall, scene.impacts[impact].peak
    heard = Heard(wall, peak, turned.change, turned.change - turned.min_change)
    peaks = [other.peak for other in scene.impacts if other.wall == wall]
    return scene.loudness.hit_cost(heard, scene.errors.hit_counts_per_m_s, max(peaks))


def _repeat_cost(
    scene: Scene,
    impacts: Sequence[int],
    choice: Sequence[Maker],
    contacts: Contacts,
    heard: tuple[set[int], set[int]],
) -> tuple[float, tuple[set[int], set[int]]]:
    """Return the cost of touches with several impacts, and the contacts that the same collisions explain.

    A second impact is ringing, another strike by the same die, or a strike by a die that was knocked back
    into the wall. In the last case one collision turned both dice, and its cost counts once.
    """
    cost = 0.0
    first: dict[tuple[int, int], int] = {}
    struck: tuple[set[int], set[int]] = (set(), set())
    for i, (makers, _) in zip(impacts, choice, strict=True):
        for match in makers:
            earlier = first.setdefault((match.die, match.contact), i)
            if earlier == i and not match.only:
                continue
            other = 1 - match.die
            turned = [c for c in match.struck if c not in heard[other] and c not in struck[other]]
            shared_cause = max((contacts[other][c].cause for c in turned), default=0.0)
            rattles = inf if match.only else _rattle_cost(scene, earlier, i)
            if match.shove - shared_cause < rattles and not _are_simultaneous(scene, earlier, i):
                cost += match.shove
                struck[other].update(turned)
            else:
                cost += rattles
    return cost, struck


def _rattle_cost(scene: Scene, first: int, later: int) -> float:
    """Return the cost of one touch making both impacts without a collision of the dice."""
    if may_be_ringing(scene, first, later):
        return bands.RINGING
    return bands.SIMULTANEOUS if _are_simultaneous(scene, first, later) else bands.RATTLE


def _are_simultaneous(scene: Scene, first: int, later: int) -> bool:
    """Return whether two impacts, in time order, are too close in time for one die to strike twice."""
    return first != later and scene.impacts[later].t - scene.impacts[first].t < bands.SIMULTANEOUS_MS * 1000.0


def _is_next_corner(contact: Contact, contacts: Sequence[Contact], landed: Collection[int]) -> bool:
    """Return whether a turn without an impact may be the next blow of a landing with a thump."""
    return not contact.heard and any(0.0 < contact.t - contacts[c].t <= NEXT_CORNER_MS for c in landed)


Quiet = tuple[float, float]
"""The costs of a touch that no sensor detected, and of no touch."""


def _outcome_costs(
    contacts: list[Contact], heard: set[int], landed: set[int], struck: set[int], knocks: set[int]
) -> tuple[float, float]:
    """Return the costs of no touch and of a touch by one die, given its contacts with an impact (`heard`).

    A track alone never proves a touch. Without an impact, it is therefore always possible that the die
    did not touch the wall. An impact at the turn proves a touch in three cases: the die was too near the wall
    for a miss, both sides of a hidden period match, or the story explains an impact at that very moment as a
    knock.
    """
    quiet: list[Quiet] = []
    proven = 0.0
    doubtful: list[Quiet] = []
    for c, contact in enumerate(contacts):
        if c in heard or (contact.rests and any(contacts[h].wall == contact.wall for h in heard)):
            continue
        next_corner = _is_next_corner(contact, contacts, landed)
        miss = contact.landed if c in landed or next_corner else contact.miss
        caused = c in struck or next_corner
        miss -= contact.cause if caused else 0.0
        quiet.append((contact.touch, miss))
        placed = contact.hidden or contact.landed > bands.CAUSELESS + bands.MARGIN
        proves_touch = contact.proof > contact.touch + bands.MARGIN and not (c in landed or caused)
        if contact.heard and placed:
            proven += miss
        elif proves_touch and any(contact.heard.get(i, inf) <= bands.KNOCK + bands.MARGIN for i in knocks):
            proven += contact.proof
        else:
            doubtful.append((contact.touch, miss))
    if heard:
        return inf, sum(min(costs) for costs in quiet)
    missed = min(sum(miss for _, miss in doubtful), _touch_cost(doubtful) + bands.UNPROVEN_MARGIN)
    return proven + missed, _touch_cost(quiet)


def _touch_cost(quiet: list[Quiet]) -> float:
    """Return the cost of at least one touch among these contacts, none of which was detected."""
    extra = min((touch - min(touch, miss) for touch, miss in quiet), default=inf)
    return sum(min(costs) for costs in quiet) + extra


def may_ring(scene: Scene, impact: int) -> bool:
    return any(may_be_ringing(scene, earlier, impact) for earlier in range(impact))


def may_be_ringing(scene: Scene, first: int, later: int) -> bool:
    """Return whether an impact may be the ringing of another.

    Ringing soon follows its hit, at the same position, and is much weaker.
    """
    hit, ring = scene.impacts[first], scene.impacts[later]
    in_time = 0.0 <= (ring.t - hit.t) / 1000.0 <= scene.errors.ringing_ms
    max_distance = sqrt(2.0) * bands.PLACE_ERRORS * scene.errors.impact_position_mm
    near = abs(ring.pos_mm - hit.pos_mm) <= max_distance
    return ring.wall == hit.wall and in_time and near and ring.peak <= bands.RING_FRACTION * hit.peak
