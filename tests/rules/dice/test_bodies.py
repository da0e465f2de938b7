"""The judge treats a die as a solid body, which touches with a face, an edge or a corner."""

from dataclasses import dataclass, field
from math import sqrt
from random import Random

import pytest
from msgspec.structs import replace

from controller.model.readings import Die, DieAt, DieReleased, DieRest, Reading, WallImpact
from controller.model.verdicts import Ruling, ThrowVerdict
from controller.rules.dice import judge_throw
from tests.rules.dice.tables import C34
from tests.rules.dice.throws import LENGTH, NOISE, SOURCES, TABLE

DIAGONAL = 19.0 * 3.0**0.5 / 2.0
SEEDS = range(25)


@dataclass
class Cast:
    """A die that flies towards the right end, turns there and comes back, with its impacts."""

    turns_mm: float
    y: float
    speed: float = 4.0
    back: float = 0.7
    late_ms: float = 0.0
    heard: bool = True
    knocks_ms: list[float] = field(default_factory=list)
    """Knocks on the rail, in ms after the turn."""

    @property
    def turn_ms(self) -> float:
        return self.late_ms + (3150.0 - self.turns_mm) / self.speed

    def gap(self, t: float) -> float:
        since = t - self.turn_ms
        return self.turns_mm + (-self.speed * since if since < 0 else self.back * since)


def readings_of(casts: tuple[Cast, Cast], seed: int, frame_ms: float = 11.1) -> list[Reading]:
    rng = Random(seed)
    reported: list[Reading] = []
    numbers: tuple[Die, Die] = (1, 2)
    for number, cast in zip(numbers, casts, strict=True):
        at = int(cast.late_ms * 1000)
        reported.append(DieReleased(t=at, dev="cam", die=number, x=450.0, y=cast.y))
        t, end = cast.late_ms + rng.uniform(0.0, frame_ms), cast.turn_ms + 250.0
        while t < end:
            x, y = LENGTH - cast.gap(t) + rng.gauss(0, NOISE), cast.y + rng.gauss(0, NOISE)
            reported.append(DieAt(t=int(t * 1000), dev="cam", die=number, x=x, y=y))
            t += frame_ms
        x = LENGTH - cast.gap(t)
        reported.append(
            DieRest(
                t=int(t * 1000) + 50_000,
                dev="cam",
                die=number,
                x=x,
                y=cast.y,
                up=number,
                confidence=0.99,
                on="felt",
            )
        )
        sounds = [*([0.0] if cast.heard else []), *cast.knocks_ms]
        for after in sounds:
            at = int((cast.turn_ms + after + rng.uniform(0.5, 2.0)) * 1000)
            place = cast.y + rng.gauss(0, 25)
            reported.append(WallImpact(t=at, dev="wall-right", wall="right", pos_mm=place, peak=600.0))
    return sorted(reported, key=lambda reading: reading.t)


def judged(casts: tuple[Cast, Cast], seed: int = 1, frame_ms: float = 11.1) -> ThrowVerdict:
    readings = readings_of(casts, seed, frame_ms)
    return judge_throw(readings, TABLE, C34, decided_at_us=readings[-1].t, sources=SOURCES)


def both(turns_mm: float, seed: int, **other: float) -> tuple[Cast, Cast]:
    rng = Random(f"both {seed}")
    speed, back = rng.uniform(1.2, 6.0), rng.uniform(0.2, 1.2)
    one = Cast(9.0, 300.0, late_ms=rng.uniform(0, 40))
    return one, Cast(turns_mm, 700.0, speed=speed, back=back, **other)  # type: ignore[arg-type]  # its fields


@pytest.mark.parametrize("turns_mm", [-6.0, -2.5, 4.0, 9.5, 13.4])
@pytest.mark.parametrize("frame_ms", [8.3, 11.1, 16.7])
def test_a_die_touches_anywhere_in_the_contact_band(turns_mm: float, frame_ms: float) -> None:
    rulings = [judged(both(turns_mm, seed), seed, frame_ms).ruling for seed in SEEDS]
    assert Ruling.VOID not in rulings
    assert rulings.count(Ruling.VALID) >= len(SEEDS) - 1


def test_a_die_that_touches_with_a_corner_is_never_void() -> None:
    rulings = {judged(both(DIAGONAL - 0.2, seed), seed).ruling for seed in SEEDS}
    assert Ruling.VOID not in rulings


def test_a_hard_turn_at_the_wall_with_its_sound_is_a_hit() -> None:
    """Only the wall can turn the die there, even with a corner first and an error of the camera."""
    rulings = [judged(both(DIAGONAL - 0.2, seed), seed).ruling for seed in range(1, 61)]
    assert rulings.count(Ruling.VALID) >= 54


def with_peak(readings: list[Reading], y: float, peak: float) -> list[Reading]:
    """Set the peak of the impacts near a place along the wall."""
    return [
        replace(r, peak=peak) if isinstance(r, WallImpact) and abs(r.pos_mm - y) < 150.0 else r
        for r in readings
    ]


@pytest.mark.parametrize(("peak", "ruling"), [(600.0, Ruling.VALID), (60.0, Ruling.REVIEW)])
def test_a_soft_sound_at_a_hard_turn_may_be_a_landing_beside_the_wall(peak: float, ruling: Ruling) -> None:
    """A landing with backspin turns a die without a wall, and the felt transmits some of the impact."""
    for seed in range(10):
        readings = with_peak(readings_of((Cast(9.0, 300.0), Cast(15.5, 700.0)), seed), 700.0, peak)
        verdict = judge_throw(readings, TABLE, C34, decided_at_us=readings[-1].t, sources=SOURCES)
        assert verdict.ruling is ruling, verdict.sentence


def ruling_of(readings: list[Reading]) -> Ruling:
    return judge_throw(readings, TABLE, C34, decided_at_us=readings[-1].t, sources=SOURCES).ruling


@pytest.mark.parametrize(
    ("hit", "peak"),
    [
        pytest.param(Cast(9.0, 300.0, speed=0.52, back=0.04), 280.0, id="a die that rolls into the wall"),
        pytest.param(Cast(9.0, 300.0, speed=1.8, back=0.3), 320.0, id="a die that strikes it slowly"),
    ],
)
def test_a_landing_is_recognized_as_soft_even_beside_a_soft_hit(hit: Cast, peak: float) -> None:
    """A landing at five metres a second is half as loud as a slow hit, and turns the die more."""
    landed = Cast(17.0, 700.0, speed=2.0, back=0.0)
    for seed in SEEDS:
        readings = with_peak(with_peak(readings_of((hit, landed), seed), 300.0, peak), 700.0, 140.0)
        assert ruling_of(readings) is not Ruling.VALID, seed


def test_a_sound_at_the_top_of_the_range_is_not_a_landing() -> None:
    """Two impacts at the top of the sensor's range are two hits, even if one die turned slowly."""
    rulings = []
    for seed in SEEDS:
        readings = readings_of((Cast(9.0, 300.0, speed=1.0, back=0.3), Cast(13.0, 700.0)), seed)
        rulings.append(ruling_of(with_peak(with_peak(readings, 300.0, 1000.0), 700.0, 1000.0)))
    assert rulings.count(Ruling.VALID) >= len(SEEDS) - 1


def moved(readings: list[Reading], y: float, by_mm: float) -> list[Reading]:
    """Shift the impacts near a place along the wall."""
    return [
        replace(r, pos_mm=y + by_mm) if isinstance(r, WallImpact) and abs(r.pos_mm - y) < 150.0 else r
        for r in readings
    ]


@pytest.mark.parametrize("by_mm", [-88.0, 90.0])
def test_a_hard_turn_among_the_pyramids_with_a_slightly_misplaced_sound_is_a_hit(by_mm: float) -> None:
    """The die's centre is nearer to the tips than half an edge, so the die must touch a tip."""
    for seed in SEEDS:
        readings = moved(readings_of((Cast(9.0, 300.0), Cast(5.0, 700.0)), seed), 700.0, by_mm)
        assert ruling_of(readings) is Ruling.VALID, seed


@pytest.mark.parametrize("by_mm", [-88.0, 90.0])
def test_a_turn_where_a_cube_may_not_have_touched_needs_its_sound_there(by_mm: float) -> None:
    casts = Cast(9.0, 300.0), Cast(15.0, 700.0)
    rulings = [ruling_of(moved(readings_of(casts, seed), 700.0, by_mm)) for seed in SEEDS]
    assert rulings.count(Ruling.REVIEW) >= len(SEEDS) - 1


def test_two_dice_side_by_side_that_strike_one_after_the_other_are_two_hits() -> None:
    """A second hit by one die within a frame, while the other turns unaided, is far less likely."""
    for seed in range(20):
        verdict = judged((Cast(9.0, 300.0), Cast(9.0, 345.0, late_ms=3.0)), seed)
        assert verdict.ruling is Ruling.VALID, verdict.sentence


def test_two_simultaneous_sounds_are_from_two_dice_even_if_one_may_have_pushed_the_other() -> None:
    """No die hits a wall twice within 2 ms."""
    casts = Cast(9.0, 300.0), Cast(13.0, 322.0, late_ms=2.0)
    assert [judged(casts, seed).ruling for seed in range(60)].count(Ruling.VALID) >= 48


def test_a_fast_die_whose_first_landing_slows_it_is_not_taken_for_short() -> None:
    """The die leaves the rubber at 2.9 m/s, lands during a lost frame, and continues at 1.6 m/s."""
    for seed in SEEDS:
        readings = readings_of((Cast(9.0, 300.0), Cast(9.0, 700.0, speed=7.2, back=2.9)), seed)
        turn_us = int(Cast(9.0, 700.0, speed=7.2).turn_ms * 1000)
        landed = [_landed(r, turn_us) for r in readings]
        seen = [r for r in landed if not (_of_die_2(r) and turn_us < r.t < turn_us + 15_000)]
        verdict = judge_throw(seen, TABLE, C34, decided_at_us=seen[-1].t, sources=SOURCES)
        assert verdict.ruling is not Ruling.VOID, verdict.sentence


def _of_die_2(reading: Reading) -> bool:
    return isinstance(reading, DieAt) and reading.die == 2


def _landed(reading: Reading, turn_us: int) -> Reading:
    """Return a reading of die 2 that is slower by 1.3 m/s from 2 ms after its turn."""
    since_ms = (reading.t - turn_us) / 1000.0 - 2.0
    if not isinstance(reading, DieAt | DieRest) or reading.die != 2 or since_ms <= 0.0:
        return reading
    return replace(reading, x=reading.x + 1.3 * since_ms)


@pytest.mark.parametrize("turns_mm", [17.0, 19.0, 22.0, 26.0, 32.0, 40.0])
def test_a_near_miss_without_a_sound_is_never_called(turns_mm: float) -> None:
    for seed in SEEDS:
        casts = both(turns_mm, seed)
        casts[1].heard = False
        verdict = judged(casts, seed)
        assert verdict.ruling is not Ruling.VALID
        assert turns_mm < 28.0 or verdict.ruling is Ruling.VOID, verdict.sentence


@pytest.mark.parametrize("turns_mm", [24.0, 29.0, 40.0])
@pytest.mark.parametrize("after_ms", [-25.0, -8.0, -4.0, 0.0, 4.0, 8.0, 25.0])
def test_a_knock_at_a_near_miss_is_never_called(turns_mm: float, after_ms: float) -> None:
    for seed in SEEDS:
        casts = both(turns_mm, seed)
        casts[1].heard, casts[1].knocks_ms = False, [after_ms]
        assert judged(casts, seed).ruling is not Ruling.VALID


@pytest.mark.parametrize("turns_mm", [-8.0, 5.0, 12.0])
def test_a_turn_in_the_contact_band_without_a_sound_is_neither_called_nor_void(turns_mm: float) -> None:
    for seed in SEEDS:
        casts = both(turns_mm, seed)
        casts[1].heard = False
        verdict = judged(casts, seed)
        assert verdict.ruling is Ruling.REVIEW
        assert [(reason.code, reason.die) for reason in verdict.reasons] == [("wall_unclear", 2)]


@dataclass
class Falling(Cast):
    """A die that slows down to `turns_mm` from the wall and falls back onto its side."""

    slows_mm_per_ms2: float = 0.004
    falls_mm: float = 8.0
    falls_ms: float = 90.0

    @property
    def turn_ms(self) -> float:
        """Return the time at which the die stands on its edge."""
        return self.late_ms + sqrt(2.0 * (3150.0 - self.turns_mm) / self.slows_mm_per_ms2)

    def gap(self, t: float) -> float:
        since = t - self.turn_ms
        if since < 0.0:
            return self.turns_mm + 0.5 * self.slows_mm_per_ms2 * since * since
        return self.turns_mm + self.falls_mm * min(since / self.falls_ms, 1.0) ** 2


@dataclass
class Drifting(Cast):
    """A die that something slowed 30 mm from the wall, and that drifts to `turns_mm` and away again."""

    slowed_at_mm: float = 30.0
    drifts_ms: float = 200.0
    back: float = 0.14

    @property
    def turn_ms(self) -> float:
        return self.late_ms + (3150.0 - self.slowed_at_mm) / self.speed + self.drifts_ms

    def gap(self, t: float) -> float:
        since = t - self.turn_ms
        if since < -self.drifts_ms:
            return self.slowed_at_mm - self.speed * (since + self.drifts_ms)
        if since < 0.0:
            return self.turns_mm - (self.slowed_at_mm - self.turns_mm) / self.drifts_ms * since
        return self.turns_mm + self.back * since


@pytest.mark.parametrize(
    "slow",
    [
        Falling(10.0, 700.0),
        Falling(12.5, 700.0),
        Falling(15.0, 700.0),
        Drifting(10.0, 700.0),
        Drifting(12.0, 700.0),
        Drifting(14.0, 700.0),
    ],
)
def test_a_die_that_reaches_the_wall_slowly_and_unheard_is_not_void(slow: Cast) -> None:
    """An edge or a corner may have touched the wall, too softly for any sensor."""
    slow.heard = False
    for seed in SEEDS:
        verdict = judged((Cast(9.0, 300.0), slow), seed)
        assert verdict.ruling is Ruling.REVIEW, verdict.sentence
        assert [(reason.code, reason.die) for reason in verdict.reasons] == [("wall_unclear", 2)]


@pytest.mark.parametrize(
    "slow", [Falling(23.0, 700.0), Falling(30.0, 700.0), Drifting(26.0, 700.0, slowed_at_mm=40.0)]
)
def test_a_die_that_turns_slowly_short_of_the_wall_is_void(slow: Cast) -> None:
    slow.heard = False
    for seed in SEEDS:
        verdict = judged((Cast(9.0, 300.0), slow), seed)
        assert verdict.ruling is Ruling.VOID, verdict.sentence


def test_the_error_that_the_camera_states_counts() -> None:
    """A turn 24 mm from the wall is short for a camera with 2 mm error, and unclear for one with 15 mm."""
    readings = readings_of((Cast(9.0, 300.0), Cast(24.0, 700.0, heard=False)), seed=3)
    blurred = [replace(r, error_mm=15.0) if isinstance(r, DieAt) and r.die == 2 else r for r in readings]

    def ruling(seen: list[Reading]) -> Ruling:
        return judge_throw(seen, TABLE, C34, decided_at_us=seen[-1].t, sources=SOURCES).ruling

    assert (ruling(readings), ruling(blurred)) == (Ruling.VOID, Ruling.REVIEW)


def knocked_back(*, swapped: bool) -> list[Reading]:
    """Return a throw in which die 2 knocks die 1 back at the wall and stays at least 39 mm away from it."""
    rng = Random(5)
    reported: list[Reading] = []
    legs: tuple[list[tuple[float, float, float]], ...] = (
        [(0.0, 3150.0, -5.0), (628.0, 10.0, 0.9), (640.0, 20.0, -2.5), (644.0, 10.0, 0.15)],
        [(0.0, 3185.0, -5.0), (629.0, 40.0, 0.6)],
    )
    for number, own in enumerate(legs, 1):
        die: Die = 1 if number == 1 else 2
        reported.append(DieReleased(t=0, dev="cam", die=die, x=LENGTH - own[0][1], y=300.0))
        for i in range(90):
            t = 11.1 * i + 6.7
            start, gap, speed = max(leg for leg in own if leg[0] <= t)
            seen: Die = (3 - die) if swapped and t > 635.0 else die  # type: ignore[assignment]  # 1 or 2
            x, y = LENGTH - gap - speed * (t - start) + rng.gauss(0, NOISE), 300.0 + rng.gauss(0, NOISE)
            reported.append(DieAt(t=int(t * 1000), dev="cam", die=seen, x=x, y=y))
        last: Die = (3 - die) if swapped else die  # type: ignore[assignment]  # 1 or 2
        start, gap, speed = own[-1]
        x = LENGTH - gap - speed * (1000.0 - start)
        reported.append(
            DieRest(t=1_060_000, dev="cam", die=last, x=x, y=300.0, up=die, confidence=0.98, on="felt")
        )
    reported += [
        WallImpact(t=at, dev="wall-right", wall="right", pos_mm=300.0, peak=900.0)
        for at in (629_200, 645_100)
    ]
    return sorted(reported, key=lambda reading: reading.t)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_die_knocked_back_into_the_wall_does_not_count_as_a_hit_of_the_other(*, swapped: bool) -> None:
    readings = knocked_back(swapped=swapped)
    verdict = judge_throw(readings, TABLE, C34, decided_at_us=readings[-1].t, sources=SOURCES)
    assert verdict.ruling is not Ruling.VALID, verdict.sentence
