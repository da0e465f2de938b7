"""The possible stories of both dice with their prices, and which of their outcomes are ruled out.

A story states the source of each impact (one die, both, an earlier impact's ringing, or a knock), whether the
camera exchanged the dice's names at each meeting, and whether each turn at a wall was a touch. Of the stories
with the same outcome only the cheapest counts.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from math import inf, sqrt
from typing import NamedTuple

from controller.rules.dice import bands
from controller.rules.dice.contacts import SAME_TURN_MS, Contact, contacts_with
from controller.rules.dice.falls import may_have_fallen, thump_price
from controller.rules.dice.loudness import Heard
from controller.rules.dice.meetings import exchanged_after, meetings
from controller.rules.dice.paths import Path
from controller.rules.dice.pushes import (
    Pair,
    back_price,
    may_be_thrown_back,
    overlap,
    push_price,
    seen_before,
)
from controller.rules.dice.scene import Scene
from controller.rules.dice.turns import heard_there

End = tuple[bool, bool]
"""The outcome of a story: whether die 1 and die 2, named as they are at rest, touched a wall that counts."""
Contacts = tuple[list[Contact], list[Contact]]

MOST_IMPACTS = 6
"""The maximum number of impacts for which all possible makers are tried. If there are more, the first that
are not ringing are used, because a die may go on rattling."""
NEXT_CORNER_MS = 40.0
"""Longest time until a cube that landed on one corner strikes with the next: a quarter turn at 40 rad/s."""
SURE = 2.0 * bands.MARGIN
"""A die whose hit of an end wall is this certain is not checked against the side rails."""


class Story(NamedTuple):
    """One explanation of a throw: its price, each die's impacts, and the times (ms) of exchanged names."""

    price: float
    made: tuple[frozenset[int], frozenset[int]]
    exchanges: tuple[float, ...] = ()


class _ThrownBack(NamedTuple):
    """The outcome and price of a story in which a die thrown back into the wall made both impacts."""

    end: End
    price: float
    impacts: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Account:
    """All that may have happened at the walls.

    `contacts` are each die's contacts, and `own` the cheapest story of each outcome with the names that the
    camera reported. `stories` are the cheapest if names may also have been exchanged at meetings.
    """

    contacts: Contacts
    own: dict[End, Story]
    stories: dict[End, Story]
    own_back: Mapping[End, float] = field(default_factory=dict)
    back: Mapping[End, float] = field(default_factory=dict)
    """Prices of outcomes in which one die was thrown back into a wall by the other although, in the best
    story, both dice struck it. They are ruled out only by a margin that is larger by BESIDE."""

    @property
    def ends(self) -> frozenset[End]:
        """Return the outcomes that are not ruled out."""
        return self._standing(self.stories, self.back)

    @property
    def own_ends(self) -> frozenset[End]:
        """Return the outcomes that are not ruled out if the camera never exchanged the names."""
        return self._standing(self.own, self.own_back)

    def surely_hit(self, label: int) -> bool:
        """Return whether a die's miss is ruled out by a much larger margin (SURE) than required."""
        told = [(end, story.price) for stories in (self.own, self.stories) for end, story in stories.items()]
        missed = min(price for end, price in told if not end[label])
        return missed - min(price for _, price in told) > SURE

    def _standing(self, stories: dict[End, Story], back: Mapping[End, float]) -> frozenset[End]:
        most = min(story.price for story in stories.values()) + bands.MARGIN
        return frozenset(
            end
            for end, story in stories.items()
            if story.price <= most or back.get(end, inf) <= most + bands.BESIDE
        )


def account_of(scene: Scene, paths: tuple[Path, Path], walls: Sequence[str]) -> Account:
    """Return the prices of every story of a throw at these walls."""
    contacts = _contacts(scene, paths, walls)
    own, own_back = _stories(scene, paths, contacts, walls)
    told, back = dict(own), list(own_back)
    for price, times, exchanged in _exchanges(scene, paths, contacts):
        others, others_back = own, own_back
        if times:
            others, others_back = _stories(scene, exchanged, _contacts(scene, exchanged, walls), walls)
        back += [thrown._replace(price=thrown.price + price) for thrown in others_back]
        for end, story in others.items():
            dearer = story._replace(price=story.price + price, exchanges=times)
            if times and dearer.price >= told[end].price:
                continue
            told[end] = dearer
    best = min(told.items(), key=lambda item: item[1].price)
    return Account(contacts, own, told, _doubted(scene, own_back, *best), _doubted(scene, back, *best))


def _doubted(scene: Scene, thrown_back: Sequence[_ThrownBack], end: End, best: Story) -> dict[End, float]:
    """Return the prices of outcomes in which a die was thrown back although, in the best story, both
    struck."""
    if end != (True, True):
        return {}
    struck = [[scene.impacts[i].t / 1000.0 for i in made] for made in best.made]
    prices: dict[End, float] = {}
    for other, price, pair in thrown_back:
        first, last = (scene.impacts[i].t / 1000.0 for i in pair)
        since, until = last - bands.SHOVED_MS, first + bands.SHOVED_MS
        if all(not own or any(since <= t <= until for t in own) for own in struck):
            prices[other] = min(prices.get(other, inf), price)
    return prices


def _contacts(scene: Scene, paths: tuple[Path, Path], walls: Sequence[str]) -> Contacts:
    """Return both dice's contacts with the ends, and with the rails for a die that hit no end for certain."""
    found: Contacts = ([], [])
    for path, contacts in zip(paths, found, strict=True):
        for wall in walls:
            if wall in {"front", "back"} and any(_sure(contact) for contact in contacts):
                continue
            contacts.extend(contacts_with(scene, path, wall))
    for label, contacts in enumerate(found):
        pair = (paths[label], contacts), (paths[1 - label], found[1 - label])
        for contact in contacts:
            if contact.hard and not contact.hidden:
                _weigh_causes(scene, pair, contact)
    return found


def _weigh_causes(scene: Scene, pair: Pair, contact: Contact) -> None:
    """Adjust a contact's prices for other causes of its turn: the other die, or something not seen."""
    push = push_price(scene, pair, contact.wall, contact.t)
    if contact.misfit > bands.MARGIN or overlap(scene, pair, contact.wall, contact.t):
        earlier = seen_before(pair[0][0], contact.t)
        push = min(push, push_price(scene, pair, contact.wall, earlier) + bands.BETWEEN_FRAMES)
    spared = contact.hard * max(bands.CAUSELESS - push, 0.0)
    contact.miss, contact.landed = contact.miss - spared, contact.landed - spared
    contact.cause -= spared
    if spared or (contact.hard < 1.0 and not contact.heard):
        # Chips need not be considered where felt alone can have caused a silent turn.
        return
    most = bands.contact_most(scene.table) - bands.LEAST_EDGES * scene.table.die_mm
    alone = bands.ALONE
    if contact.least_change > bands.LANDED_M_PER_S:
        most += bands.ALONE_ERRORS * contact.sd
        alone = bands.ALONE_HARD
    if contact.gap_mm <= most:
        contact.miss += contact.hard * alone
        if contact.hard == 1.0:
            contact.proof = min(contact.miss, contact.landed + bands.ALONE + contact.reach)


def _sure(contact: Contact) -> bool:
    return bool(contact.heard) and contact.miss + contact.knock > SURE


def _exchanges(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts
) -> Iterator[tuple[float, tuple[float, ...], tuple[Path, Path]]]:
    """Yield each combination of exchanged names: its price, its times, and the resulting paths."""
    found = meetings(scene, paths, _wall_times(scene, contacts))
    if not found:
        return
    for choice in product((False, True), repeat=len(found)):
        price, made = 0.0, paths
        times: list[float] = []
        for meeting, exchanged in zip(found, choice, strict=True):
            price += meeting.exchanged if exchanged else meeting.kept
            if exchanged:
                made = exchanged_after(made, meeting.t)
                times.append(meeting.t)
        yield price, tuple(times), made


def _wall_times(scene: Scene, contacts: Contacts) -> list[float]:
    """Return the times that are evidence of a wall: possible touches, and impacts that are not ringing."""
    times = [contact.t for own in contacts for contact in own if contact.heard or contact.touch < inf]
    if not times:
        return []
    walls = {contact.wall for own in contacts for contact in own}
    times += [
        scene.ms(impact.t)
        for i, impact in enumerate(scene.impacts)
        if impact.wall in walls and not _may_ring(scene, i)
    ]
    return sorted(times)


def _stories(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, walls: Sequence[str]
) -> tuple[dict[End, Story], list[_ThrownBack]]:
    """Return the cheapest story of each outcome with the names of these paths.

    The second value holds the cheapest stories in which one die was thrown back into a wall by the other, for
    each outcome and pair of impacts.
    """
    by_impact: dict[int, list[_Match]] = {}
    for die, own in enumerate(contacts):
        for i, match in _matches(scene, die, own).items():
            by_impact.setdefault(i, []).append(match)
    _shoved(scene, paths, contacts, by_impact)
    impacts = sorted(sorted(by_impact, key=lambda i: (_may_ring(scene, i), i))[:MOST_IMPACTS])
    strange = sum(
        bands.RINGS if _may_ring(scene, i) else bands.KNOCK
        for i, impact in enumerate(scene.impacts)
        if impact.wall in walls and i not in by_impact
    )
    soft = _soft(scene, paths, contacts, by_impact)
    best: dict[End, Story] = {}
    back: dict[tuple[End, tuple[int, int]], float] = {}
    thrown_back = [
        pair
        for pair in combinations(impacts, 2)
        if not rings(scene, *pair) and may_be_thrown_back(scene, paths, pair)
    ]
    for choice in product(*(_makers(scene, i, by_impact[i], soft.get(i)) for i in impacts)):
        price = strange
        heard: tuple[set[int], set[int]] = (set(), set())
        made: tuple[set[int], set[int]] = (set(), set())
        for i, (makers, asked) in zip(impacts, choice, strict=True):
            price += asked
            for match in makers:
                heard[match.die].add(match.contact)
                made[match.die].add(i)
        again, struck = _again(scene, impacts, choice, contacts, heard)
        price += again + _loudness(scene, impacts, choice, contacts)
        thumps = [i for i, (makers, _) in zip(impacts, choice, strict=True) if i in soft and not makers]
        landed = {
            (match.die, match.contact) for i in thumps for match in by_impact[i] if match.price < bands.BROKEN
        }
        knocks = {
            i
            for i, (makers, _) in zip(impacts, choice, strict=True)
            if not makers and i not in soft and not _may_ring(scene, i)
        }
        ends = [
            _ends(contacts[die], heard[die], {c for of, c in landed if of == die}, struck[die], knocks)
            for die in (0, 1)
        ]
        twice = [pair for pair in thrown_back if any(own.issuperset(pair) for own in made)]
        for one in (False, True):
            for two in (False, True):
                story = Story(price + ends[0][one] + ends[1][two], (frozenset(made[0]), frozenset(made[1])))
                if (one, two) not in best or story.price < best[one, two].price:
                    best[one, two] = story
                for pair in twice:
                    key = (one, two), pair
                    back[key] = min(back.get(key, inf), story.price)
    return best, [_ThrownBack(end, price, pair) for (end, pair), price in back.items()]


class _Match(NamedTuple):
    """A contact that may have made an impact.

    `die` and `contact` are the numbers of the die and its contact, `price` is the price of this match, and
    `knock` the price of a knock instead.
    """

    die: int
    contact: int
    price: float
    knock: float
    shove: float = inf
    """The price of the other die having knocked this one back into the wall there."""
    struck: tuple[int, ...] = ()
    """The contacts of the other die that the same collision may have turned."""
    loudness: float = 0.0
    """How much worse the impact's loudness fits the contact's turn than a knock (`Loudness.hit_price`)."""
    only: bool = False
    """Whether being knocked back is the only way in which the die can have made this impact."""


Maker = tuple[tuple[_Match, ...], float]
"""The contacts that made an impact (none for a knock, a landing or ringing), and the price of that."""


def _matches(scene: Scene, die: int, contacts: list[Contact]) -> dict[int, _Match]:
    """Return the contact of a die that fits each impact best."""
    best: dict[int, _Match] = {}
    for c, contact in enumerate(contacts):
        for i, price in contact.heard.items():
            if i not in best or price < best[i].price:
                # Few knocks are as loud as a hit with the turn at which they are heard.
                loudness = _hit_price(scene, contact, i)
                knock = contact.knock + contact.placed[i] + max(-loudness, 0.0)
                best[i] = _Match(die, c, price, knock, loudness=loudness)
    return best


def _soft(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, by_impact: dict[int, list[_Match]]
) -> dict[int, float]:
    """Return the price of a landing for each impact that is softer than hits on its wall."""
    soft: dict[int, float] = {}
    for i, matches in by_impact.items():
        turned = max((contacts[match.die][match.contact] for match in matches), key=lambda own: own.change)
        hits = scene.loudness.at(scene.impacts[i].wall, scene.errors.hit_counts_per_m_s)
        peak = scene.impacts[i].peak
        if turned.change <= 0.0 or peak >= bands.LANDING_M_PER_S * hits or _may_ring(scene, i):
            continue
        price = min(thump_price(scene, turned, peak / hits), bands.STEEP)
        may = price <= bands.THUMPS or any(_may_have_landed(contacts, match) for match in matches)
        if may and may_have_fallen(scene, paths, i, peak / hits):
            soft[i] = price
    return soft


def _may_have_landed(contacts: Contacts, match: _Match) -> bool:
    """Return whether a landing can cause a turn as large as this match's."""
    return contacts[match.die][match.contact].least_change <= bands.LANDED_M_PER_S


def _makers(scene: Scene, impact: int, matches: list[_Match], thump: float | None) -> list[Maker]:
    """Return the possible makers of an impact: no touch, one die, or both dice together."""
    knock = min(match.knock for match in matches) if thump is None else thump
    makers: list[Maker] = [((), bands.RINGS if _may_ring(scene, impact) else knock)]
    makers += [((match,), match.price) for match in matches]
    if len(matches) == 2:
        makers.append((tuple(matches), matches[0].price + matches[1].price + bands.SHARED))
    return makers


def _shoved(
    scene: Scene, paths: tuple[Path, Path], contacts: Contacts, by_impact: dict[int, list[_Match]]
) -> None:
    """Add matches for impacts of dice that the other die knocked back into a wall they had touched."""
    delay_ms = 0.5 * sum(scene.errors.impact_delay_ms)
    for i, matches in by_impact.items():
        wall = scene.impacts[i].wall
        t = scene.ms(scene.impacts[i].t) - delay_ms
        for die, own in enumerate(contacts):
            before = [
                c
                for c, contact in enumerate(own)
                if contact.wall == wall and -bands.CLOCKS_MS < t - contact.t < bands.SHOVED_MS
                if any(j < i for j in contact.heard)
            ]
            price = heard_there(scene, paths[die], i, t) if before else None
            if price is None:
                continue
            pair = (paths[1 - die], contacts[1 - die]), (paths[die], own)
            push = min(push_price(scene, pair, wall, at) for at in (t, seen_before(paths[1 - die], t)))
            push += back_price(scene, paths[die], wall, t, max(path.fastest for path in paths))
            if push > bands.MARGIN:
                continue
            struck = tuple(
                c
                for c, contact in enumerate(contacts[1 - die])
                if contact.wall == wall and abs(contact.t - t) <= SAME_TURN_MS
            )
            c = min(before, key=lambda c: min(price for j, price in own[c].heard.items() if j < i))
            again = [b for b, later in enumerate(own) if b != c and abs(later.t - t) <= SAME_TURN_MS]
            made = again[0] if again else c
            loudness = _hit_price(scene, own[made], i)
            forced = _Match(die, made, price, own[c].knock, bands.SHOVED + push, struck, loudness, True)
            direct = next((match for match in matches if match.die == die), None)
            if direct is None or direct.price > forced.price + forced.shove:
                matches[:] = [match for match in matches if match.die != die]
                matches.append(forced)
            else:
                matches[matches.index(direct)] = direct._replace(shove=forced.shove, struck=struck)


def _loudness(scene: Scene, impacts: Sequence[int], choice: Sequence[Maker], contacts: Contacts) -> float:
    """Return the price of these touches' loudness: each touch's loudest impact is compared with its turn.

    An impact that both dice made together is compared with the larger of the two turns.
    """
    loudest: dict[tuple[int, int], tuple[float, float]] = {}
    for i, (makers, _) in zip(impacts, choice, strict=True):
        if not makers:
            continue
        hardest = max(makers, key=lambda match: contacts[match.die][match.contact].change)
        key, peak = (hardest.die, hardest.contact), scene.impacts[i].peak
        if key not in loudest or peak > loudest[key][0]:
            loudest[key] = peak, max(hardest.loudness, 0.0)
    return sum(price for _, price in loudest.values())


def _hit_price(scene: Scene, turned: Contact, impact: int) -> float:
    """Return how much worse an impact's loudness fits a turn than a knock; 0 for a turn within the noise."""
    if not turned.clear or turned.hidden or turned.misfit > bands.MARGIN:
        return 0.0
    wall, peak = scene.impacts[impact].wall, scene.impacts[impact].peak
    heard = Heard(wall, peak, turned.change, turned.change - turned.least_change)
    peaks = [other.peak for other in scene.impacts if other.wall == wall]
    return scene.loudness.hit_price(heard, scene.errors.hit_counts_per_m_s, max(peaks))


def _again(
    scene: Scene,
    impacts: Sequence[int],
    choice: Sequence[Maker],
    contacts: Contacts,
    heard: tuple[set[int], set[int]],
) -> tuple[float, tuple[set[int], set[int]]]:
    """Return the price of touches that made several impacts, and the contacts that one collision explains.

    A second impact is ringing, a second strike of the same die, or made by a die that the other knocked back
    into the wall. In the last case the collision turned both dice, and its price is counted once.
    """
    price = 0.0
    first: dict[tuple[int, int], int] = {}
    struck: tuple[set[int], set[int]] = (set(), set())
    for i, (makers, _) in zip(impacts, choice, strict=True):
        for match in makers:
            earlier = first.setdefault((match.die, match.contact), i)
            if earlier == i and not match.only:
                continue
            other = 1 - match.die
            turned = [c for c in match.struck if c not in heard[other] and c not in struck[other]]
            spared = max((contacts[other][c].cause for c in turned), default=0.0)
            rattles = inf if match.only else _rattle_price(scene, earlier, i)
            if match.shove - spared < rattles and not _at_once(scene, earlier, i):
                price += match.shove
                struck[other].update(turned)
            else:
                price += rattles
    return price, struck


def _rattle_price(scene: Scene, first: int, later: int) -> float:
    """Return the price of one touch having made both impacts without the other die."""
    if rings(scene, first, later):
        return bands.RINGS
    return bands.AT_ONCE if _at_once(scene, first, later) else bands.RATTLES


def _at_once(scene: Scene, first: int, later: int) -> bool:
    """Return whether two impacts, in time order, were too close for a die to strike, leave and return."""
    return first != later and scene.impacts[later].t - scene.impacts[first].t < bands.AT_ONCE_MS * 1000.0


def _is_next_corner(contact: Contact, contacts: Sequence[Contact], landed: Collection[int]) -> bool:
    """Return whether an unheard turn may be the next blow of a landing that was heard."""
    return not contact.heard and any(0.0 < contact.t - contacts[c].t <= NEXT_CORNER_MS for c in landed)


Quiet = tuple[float, float]
"""The prices of a touch that no sensor heard, and of no touch."""


def _ends(
    contacts: list[Contact], heard: set[int], landed: set[int], struck: set[int], knocks: set[int]
) -> tuple[float, float]:
    """Return the prices of no touch by a die and of a touch, given its contacts that made a sound (`heard`).

    A track alone never proves a touch: without a sound, the outcome of no touch always remains possible. With
    a sound, a touch is proven by a position too near the wall for a miss, or by a hidden stretch whose two
    sides fit together. A turn at the very moment of an impact that the story explains as a knock proves it
    too.
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
        told = contact.proof > contact.touch + bands.MARGIN and not (c in landed or caused)
        if contact.heard and placed:
            proven += miss
        elif told and any(contact.heard.get(i, inf) <= bands.KNOCK + bands.MARGIN for i in knocks):
            proven += contact.proof
        else:
            doubtful.append((contact.touch, miss))
    if heard:
        return inf, sum(min(prices) for prices in quiet)
    missed = min(sum(miss for _, miss in doubtful), _touched(doubtful) + bands.MARGIN - 1.0)
    return proven + missed, _touched(quiet)


def _touched(quiet: list[Quiet]) -> float:
    """Return the price of at least one touch among these contacts, none of which was heard."""
    extra = min((touch - min(touch, miss) for touch, miss in quiet), default=inf)
    return sum(min(prices) for prices in quiet) + extra


def _may_ring(scene: Scene, impact: int) -> bool:
    return any(rings(scene, earlier, impact) for earlier in range(impact))


def rings(scene: Scene, first: int, later: int) -> bool:
    """Return whether an impact may be another's ringing: soon after it, at its place, and much weaker."""
    hit, ring = scene.impacts[first], scene.impacts[later]
    soon = 0.0 <= (ring.t - hit.t) / 1000.0 <= scene.errors.ringing_ms
    away = sqrt(2.0) * bands.PLACE_ERRORS * scene.errors.impact_position_mm
    there = abs(ring.pos_mm - hit.pos_mm) <= away
    return ring.wall == hit.wall and soon and there and ring.peak <= bands.RING_SHARE * hit.peak
