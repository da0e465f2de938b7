"""The readings of a table's camera and wall sensors for a flight, and the ground truth of the throw."""

import math
from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Literal

import msgspec

from controller.model.geometry import DiceTable, Zone
from controller.model.readings import (
    AnyReading,
    DieAt,
    DieOffTable,
    DieReleased,
    DieRest,
    Face,
    Input,
    Wall,
    WallImpact,
)
from drivers.sim.bodies.flights import END_WALLS, FLAT_DEG, Flight, Place, Stay
from drivers.sim.scenes import CAMERA, Feed, Truth, Verdict, in_order_of_arrival, with_camera_lag

Why = Literal["brushed", "rim", "band", "names", "leaning", "hidden", "zone_edge"]
"""Why a review is as acceptable an outcome as the verdict.

`brushed`: a die touched the wall so softly that the sensor might have missed it. `rim`: a die struck the top
of an end wall. `band`: the position of a die's centre does not show whether the die touched the wall.
`names`: the camera might have swapped the dice's names at a meeting, and the verdict depends on the names.
`leaning`: a die leans. `hidden`: a die was hidden at a decisive time. `zone_edge`: a die lies across a zone's
edge.
"""
IN_DOUBT_AT_THE_WALL = frozenset[Why](("brushed", "rim", "band", "names", "hidden"))

COUNTS_PER_MNS = 40.0
"""Peak of a wall sensor (counts) per impulse (mN s); the impact of a 9 g die at 2 m/s is near the top of the
range."""
TOP_COUNTS, THRESHOLD_COUNTS = 1000.0, 60.0
LOUDNESS = (0.75, 1.3)
"""Range of the factor that multiplies the peak of each impact. It is drawn at random, and stands for the
effect of the position along the wall."""
SURELY_HEARD_MNS = THRESHOLD_COUNTS / COUNTS_PER_MNS / LOUDNESS[0]
"""Minimum impulse that the sensor detects at any position along a wall."""
THUMP_COUPLING, THUMP_DECAY_MM = 0.08, 40.0
"""Fraction of an impact on the felt at the foot of a wall that reaches the wall's sensor, and the distance
over which the fraction decays to 1/e.
"""
MEETING_MM = 25.0
"""Distance between the dice below which a tracker might confuse them."""
CUBE_BAND = (3**0.5 - 1) / 2
"""The centre of a cube that touches a wall is half an edge from the wall, plus at most this fraction of an
edge."""
MIN_SEEN_MOVE_MM = 1.0
STILL_FRAMES_US = 95_000


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """Quality of the sensors. The fields' names are part of random seeds and must not change."""

    fps: float = 90.0
    noise_mm: float = 2.0
    """Standard deviation of a die's measured centre in one frame, per axis."""
    reports_error: bool = False
    """Whether the camera reports the error of each position (`error_mm`)."""
    drops: float = 0.01
    """Fraction of lost frames."""
    exchanges: float = 0.0
    """Probability that the camera swaps the dice's names at a meeting."""
    hides: float = 0.04
    """Probability that a die is hidden for a moment during a throw."""
    knocks: float = 0.08
    """Probability that a sensor detects a knock on the rail during a throw."""


class PhysicalTruth(msgspec.Struct, frozen=True, kw_only=True):
    """The ground truth of one throw, in the format of a log's truth file."""

    kind: str
    t0: int
    faces: tuple[int, ...]
    """Faces in the order of the camera's final names."""
    verdict: Literal["valid", "no_roll"]
    reasons: tuple[str, ...]
    hits: tuple[tuple[float, ...], tuple[float, ...]]
    """For each die of the flight, the seconds after `t0` at which it touched an end wall."""
    impulse_mns: tuple[float, float]
    """Each die's hardest impact on an end wall."""
    closest_mm: tuple[float, float]
    gap_mm: tuple[float, float]
    dice_met: int
    undecidable: bool
    why: tuple[Why, ...]
    swapped: bool
    seed: str


class Watch:
    """One flight as observed at one table: the readings in `feed`, and the ground truth in `truth`."""

    def __init__(
        self,
        flight: Flight,
        table: DiceTable,
        rng: Random,
        start_us: int,
        conditions: Conditions,
        *,
        rightward: bool = True,
    ) -> None:
        """Set up the observation of a flight that starts at `start_us`.

        Random events are drawn here: a hidden die, a knock that a sensor detects, and swaps of the names.
        """
        self.flight = flight
        self.table = table
        self.rng = rng
        self.start_us = start_us
        self.conditions = conditions
        self.rightward = rightward
        self.collected_us = start_us + flight.end_us + rng.randint(1_800_000, 2_600_000)
        self._meetings = list(_nearest_moments(self.flight))
        self._swapped = [t for t in self._meetings if self.rng.random() < self.conditions.exchanges]
        self._hidden: tuple[int, int, int] | None = None
        if self.rng.random() < self.conditions.hides:
            begin = self.rng.randint(0, max(1, self.flight.end_us))
            self._hidden = (self.rng.randint(0, 1), begin, begin + self.rng.randint(30_000, 120_000))
        self._knock_us: int | None = None
        if self.rng.random() < self.conditions.knocks:
            self._knock_us = self.rng.randint(100_000, max(200_000, self.flight.end_us))

    # --- truth ---

    @property
    def truth(self) -> PhysicalTruth:
        """Ground truth of the throw."""
        flight = self.flight
        reasons, sure = self._reasons()
        why = tuple(dict.fromkeys([*sure, *self._doubts()]))
        hits = tuple(tuple(round(touch.t_us / 1e6, 4) for touch in flight.strikes(die)) for die in (0, 1))
        swapped = len(self._swapped) % 2 == 1
        faces = [self.face(die) for die in (0, 1)]
        named = [face for face in (reversed(faces) if swapped else faces) if face is not None]
        return PhysicalTruth(
            kind=flight.kind,
            t0=self.start_us,
            faces=tuple(named),
            verdict="no_roll" if reasons else "valid",
            reasons=reasons,
            hits=(hits[0], hits[1]),
            impulse_mns=(self._hardest(0), self._hardest(1)),
            closest_mm=flight.closest_mm,
            gap_mm=flight.gap_mm,
            dice_met=len(flight.met_us),
            undecidable=bool(why),
            why=why,
            swapped=swapped,
            seed=flight.seed,
        )

    def scene_truth(self, truth: PhysicalTruth) -> Truth:
        """Return the ground truth with the outcomes that may be published."""
        verdict: Verdict = "valid" if truth.verdict == "valid" else "void"
        allowed: tuple[Verdict, ...] = (verdict, "review") if truth.undecidable else (verdict,)
        dice = (truth.faces[0], truth.faces[1]) if len(truth.faces) == 2 else None
        optional_causes = ["no_wall_hit"] if truth.undecidable and truth.reasons else []
        if "zone_edge" in truth.why:
            # Either ruling is acceptable for a die across the zone's edge.
            allowed = ("valid", "void", "review") if verdict == "valid" else ("void", "review")
            optional_causes += ["on_bank", "in_cup"]
        reasons = truth.reasons
        in_doubt = IN_DOUBT_AT_THE_WALL & {*truth.why} or self._near_band(errors=3.0)
        if in_doubt and {*reasons} - {"no_wall_hit"}:
            # The throw is void for a different reason, so a miss that cannot be proven need not be listed.
            reasons = tuple(code for code in reasons if code != "no_wall_hit")
            optional_causes.append("no_wall_hit")
        may_add = tuple(code for code in optional_causes if code not in reasons)
        return Truth(
            verdict=verdict,
            allowed=allowed,
            reasons=reasons,
            may_add=may_add,
            dice=dice,
            any_order=truth.swapped,
        )

    def face(self, die: int) -> Face | None:
        """Return the face that counts; for a die that rests on one side only, the opposite face
        (C34-PT-1i)."""
        stay = self.flight.last_stay(die)
        if stay is None:
            return None
        if len(stay.sides) == 1:
            faces: tuple[Face, ...] = (6, 5, 4, 3, 2, 1)
            return faces[stay.sides[0] - 1]
        return stay.face

    def _hardest(self, die: int) -> float:
        return max((touch.impulse_mns for touch in self.flight.strikes(die)), default=0.0)

    def _hit(self, die: int) -> bool:
        return bool(self.flight.strikes(die))

    def _reasons(self) -> tuple[tuple[str, ...], list[Why]]:
        reasons: list[str] = []
        doubts: list[Why] = []
        gone = [off is not None for off in self.flight.off_us]
        if any(gone):
            reasons.append("off_table")
        if any(not self._hit(die) and not gone[die] for die in (0, 1)):
            reasons.append("no_wall_hit")
        for die in (0, 1):
            stay = self.flight.last_stay(die)
            if stay is None:
                continue
            x, y = self._end(die)
            if stay.on == "die":
                reasons.append("stacked")
            if stay.on == "rail":
                reasons.append("on_rail")
            if stay.tilt_deg > FLAT_DEG:
                doubts.append("leaning")
                if len(stay.sides) > 1:
                    reasons.append("cocked")
            for zone in self.table.zones:
                inside, edge_mm = _in_zone(zone, (x, y))
                if edge_mm < self.flight.die_mm + 3 * self.conditions.noise_mm:
                    doubts.append("zone_edge")
                elif inside:
                    reasons.append({"bank": "on_bank", "cup": "in_cup"}.get(zone.kind, zone.kind))
        return tuple(dict.fromkeys(reasons)), doubts

    def _doubts(self) -> Iterator[Why]:
        flight = self.flight
        for die in (0, 1):
            if flight.off_us[die] is None and self._hit(die) and self._hardest(die) < SURELY_HEARD_MNS:
                yield "brushed"
            if any(rim.die == die for rim in flight.rims):
                yield "rim"
        if self._near_band(errors=1.0):
            yield "band"
        if len(self._possible_verdicts()) > 1:
            yield "names"
        if self._hidden is not None and any(self._was_hidden(t) for t in self._decisive_moments()):
            yield "hidden"

    def _near_band(self, *, errors: float) -> bool:
        """Return whether a die missed the wall although its centre was in the contact band, or outside the
        band by at most `errors` standard deviations."""
        band_mm = CUBE_BAND * self.flight.die_mm + errors * self.conditions.noise_mm
        return any(not self._hit(die) and self.flight.closest_mm[die] <= band_mm for die in (0, 1))

    def _possible_verdicts(self) -> set[bool]:
        """Return the possible truth values of "both dice have struck", given all possible swaps of the dice's
        names."""
        moments = sorted(self._meetings)
        touches = self.flight.strikes()
        stories = {(False, False, 0)}
        """Whether the die with each name has struck, and the number of the die that has the first name."""
        times = [-1, *moments, 1 << 60]
        for begin, end in pairwise(times):
            struck = [any(t.die == die and begin < t.t_us <= end for t in touches) for die in (0, 1)]
            grown = {(one or struck[line], two or struck[1 - line], line) for one, two, line in stories}
            stories = grown | {(one, two, 1 - line) for one, two, line in grown}
        return {one and two for one, two, _ in stories}

    def _decisive_moments(self) -> list[int]:
        die = self._hidden[0] if self._hidden else 0
        moments = [touch.t_us for touch in self.flight.strikes(die)]
        moments += self._meetings
        track = self.flight.tracks[die]
        near = [self._from_ends(x) for x in track.x_mm]
        moments += [
            t for t, distance in zip(track.t_us, near, strict=True) if distance < 3 * self.flight.die_mm
        ]
        return moments

    def _from_ends(self, x: float) -> float:
        return min(x, self.flight.length_mm - x)

    def _was_hidden(self, t_us: int) -> bool:
        margin = 30_000
        return self._hidden is not None and self._hidden[1] - margin <= t_us <= self._hidden[2] + margin

    # --- readings ---

    def feed(self) -> Feed:
        """Return all readings in order of arrival."""
        rng = self.rng
        heard = [(r.t + rng.randint(1000, 3000), r) for r in self._impacts()]
        collected_us = self.collected_us
        collected = Input(t=collected_us, dev="console", name="dice_collected", by="stickperson")
        seen = sorted(self._seen(), key=lambda r: r.t)
        return in_order_of_arrival(
            [*with_camera_lag(seen, rng), *heard, (collected_us + rng.randint(200, 3000), collected)]
        )

    def _seen(self) -> Iterator[AnyReading]:
        frame_us = 1e6 / self.conditions.fps
        grid = self.rng.uniform(0, frame_us)
        flight = self.flight
        for die in (0, 1):
            released = flight.released_us[die]
            x, y = self._noisy(flight.tracks[die].at(released))
            yield DieReleased(t=self.start_us + released, dev=CAMERA, die=self._name(die, released), x=x, y=y)
            for begin, end in self._moving_spans(die):
                number = max(0, int((begin - grid) / frame_us))
                while (t := grid + number * frame_us) < end:
                    number += 1
                    if t < begin or self._out_of_sight(die, t) or self.rng.random() < self.conditions.drops:
                        continue
                    x, y = self._noisy(flight.tracks[die].at(t))
                    name = self._name(die, t)
                    error = self.conditions.noise_mm if self.conditions.reports_error else None
                    yield DieAt(t=self.start_us + round(t), dev=CAMERA, die=name, x=x, y=y, error_mm=error)
            yield from self._ends(die)

    def _moving_spans(self, die: int) -> list[tuple[int, int]]:
        flight = self.flight
        off = flight.off_us[die]
        since = flight.released_us[die]
        spans: list[tuple[int, int]] = []
        for stay in self._stays(die):
            spans.append((since, stay.begin_us))
            since = self._leaving_us(die, stay)
        if off is not None:
            spans.append((since, off))
        return spans

    def _stays(self, die: int) -> list[Stay]:
        """Return the stays that a camera reports: long stays and the die's final stay.

        If a die lies still several times at one place, only the last of these stays is returned.
        """
        flight = self.flight
        off = flight.off_us[die]
        die_stays = [s for s in flight.stays if s.die == die and (off is None or s.begin_us < off)]
        stays: list[Stay] = []
        for number, stay in enumerate(die_stays):
            last = number == len(die_stays) - 1 and off is None
            if last or self._leaving_us(die, stay) - stay.begin_us > STILL_FRAMES_US:
                if stays and self._leaving_us(die, stays[-1]) >= stay.begin_us:
                    stays.pop()
                stays.append(stay)
        return stays

    def _leaving_us(self, die: int, stay: Stay) -> int:
        """Return the time at which the camera sees a die leave its resting place."""
        track = self.flight.tracks[die]
        x, y = track.at(stay.begin_us)
        for t, other_x, other_y in zip(track.t_us, track.x_mm, track.y_mm, strict=True):
            if t > stay.begin_us and abs(other_x - x) + abs(other_y - y) > MIN_SEEN_MOVE_MM:
                return t
        return 1 << 60

    def _ends(self, die: int) -> Iterator[AnyReading]:
        flight = self.flight
        off = flight.off_us[die]
        if off is not None:
            seen_us = off + self.rng.randint(35_000, 95_000)
            yield DieOffTable(t=self.start_us + seen_us, dev=CAMERA, die=self._name(die, seen_us))
        for stay in self._stays(die):
            seen_us = stay.begin_us + self.rng.randint(35_000, STILL_FRAMES_US)
            x, y = self._noisy(flight.tracks[die].at(seen_us))
            flat = stay.tilt_deg <= FLAT_DEG
            yield DieRest(
                t=self.start_us + seen_us,
                dev=CAMERA,
                die=self._name(die, seen_us),
                x=x,
                y=y,
                up=stay.face,
                confidence=round(self.rng.uniform(0.9, 0.999) if flat else self.rng.uniform(0.65, 0.9), 3),
                tilt_deg=round(abs(self.rng.gauss(0, 0.7)) if flat else stay.tilt_deg, 1),
                on=stay.on,
                resting_sides=stay.sides,
            )

    def _impacts(self) -> list[AnyReading]:
        rng = self.rng
        impacts: list[tuple[int, Wall, float, float]] = [
            (t.t_us, t.wall, t.along_mm, COUNTS_PER_MNS * t.impulse_mns) for t in self.flight.strikes()
        ]
        for thump in self.flight.thumps:
            if thump.wall in END_WALLS:
                transmitted = THUMP_COUPLING * math.exp(-thump.away_mm / THUMP_DECAY_MM)
                impacts.append(
                    (thump.t_us, thump.wall, thump.along_mm, COUNTS_PER_MNS * thump.impulse_mns * transmitted)
                )
        if self._knock_us is not None:
            along = rng.uniform(0, self.flight.width_mm)
            impacts.append((self._knock_us, rng.choice(END_WALLS), along, rng.uniform(100, 600)))
        readings: list[AnyReading] = []
        for t_us, wall, along, counts in impacts:
            peak = counts * rng.uniform(*LOUDNESS)
            if peak < THRESHOLD_COUNTS:
                continue
            at_us = t_us + rng.randint(500, 2000)
            readings.append(self._impact(at_us, wall, along, peak))
            ringing_peak = peak * rng.uniform(0.1, 0.45)
            if rng.random() < 0.25 and ringing_peak >= THRESHOLD_COUNTS:
                readings.append(self._impact(at_us + rng.randint(1000, 12_000), wall, along, ringing_peak))
        return readings

    def _impact(self, t_us: int, wall: Wall, along: float, peak: float) -> WallImpact:
        place = along + self.rng.gauss(0, 25.0)
        if not self.rightward:
            wall = "left" if wall == "right" else "right"
            place = self.flight.width_mm - place
        return WallImpact(
            t=self.start_us + t_us,
            dev=f"wall-{wall}",
            wall=wall,
            pos_mm=float(round(place)),
            peak=float(round(min(TOP_COUNTS, peak))),
        )

    # --- places and names ---

    def _end(self, die: int) -> Place:
        track = self.flight.tracks[die]
        return self._placed((track.x_mm[-1], track.y_mm[-1]))

    def _placed(self, place: Place) -> Place:
        """Convert a position to the table's coordinates; a throw to the left is rotated by half a turn."""
        if self.rightward:
            return place
        return self.flight.length_mm - place[0], self.flight.width_mm - place[1]

    def _noisy(self, place: Place) -> Place:
        x, y = self._placed(place)
        noise = self.conditions.noise_mm
        return round(x + self.rng.gauss(0, noise), 1), round(y + self.rng.gauss(0, noise), 1)

    def _name(self, die: int, t_us: float) -> Literal[1, 2]:
        swapped = sum(t_us >= t for t in self._swapped) % 2
        return 2 if die != swapped else 1

    def _out_of_sight(self, die: int, t_us: float) -> bool:
        return (
            self._hidden is not None and self._hidden[0] == die and self._hidden[1] <= t_us < self._hidden[2]
        )


def _nearest_moments(flight: Flight) -> Iterator[int]:
    """Yield the time of closest approach at each meeting until the dice lie still or one leaves the table."""
    begin = max(flight.released_us) + 15_000
    end = min(flight.end_us, *(off for off in flight.off_us if off is not None), 1 << 60)
    nearest: tuple[float, int] | None = None
    for t in range(begin, end, 2000):
        distance = flight.distance_mm(t)
        if distance < MEETING_MM:
            nearest = min(nearest or (distance, t), (distance, t))
        elif nearest is not None:
            yield nearest[1]
            nearest = None
    if nearest is not None:
        yield nearest[1]


def _in_zone(zone: Zone, place: Place) -> tuple[bool, float]:
    """Return whether a place lies in a zone, and its distance from the zone's edge."""
    x, y = place
    inside, nearest = False, float("inf")
    corners = zone.polygon
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        if (ay > y) != (by > y) and x < ax + (y - ay) * (bx - ax) / (by - ay):
            inside = not inside
        run = max(
            0.0, min(1.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2))
        )
        nearest = min(nearest, ((ax + run * (bx - ax) - x) ** 2 + (ay + run * (by - ay) - y) ** 2) ** 0.5)
    return inside, nearest
