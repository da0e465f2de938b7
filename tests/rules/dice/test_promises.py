"""Properties of all readings: there is always a verdict, and lost readings never make a throw count."""

from functools import cache

from hypothesis import example, given, settings
from hypothesis import strategies as st

from controller.model.readings import (
    DeviceDown,
    DeviceFault,
    DeviceUp,
    Die,
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    Reading,
    WallImpact,
    kind_of,
)
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Reason, Ruling
from tests.rules.dice.scenes import (
    Scene,
    crossing,
    double_hit,
    fast,
    merged,
    off_table,
    one_short,
    plain,
    stop_at_wall,
    turned_beside,
    turned_short,
)
from tests.rules.dice.tables import C34, C34_FAR, CALLED, CV1, HIGH_ROLLER, judged
from tests.rules.dice.test_scenes import in_the_open, truly
from tests.rules.dice.throws import Maker, Throw

VALID_SCENES = (plain, fast, merged, crossing)
VOID_SCENES = (one_short, stop_at_wall, turned_short, turned_beside, double_hit, off_table)

coordinate = st.one_of(
    st.floats(min_value=-50, max_value=3700),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, 9.5, 3590.5, 3600.0, 1e308, -1e308]),
)
moment = st.one_of(st.integers(0, 2_000_000), st.sampled_from([0, 2**62]))
die = st.sampled_from([1, 2])
dev = st.sampled_from(["cam", "wall-right", "x"])
face = st.sampled_from([1, 2, 3, 4, 5, 6])
any_reading: st.SearchStrategy[Reading] = st.one_of(
    st.builds(DieReleased, t=moment, dev=dev, die=die, x=coordinate, y=coordinate, arrived=st.none()),
    st.builds(DieAt, t=moment, dev=dev, die=die, x=coordinate, y=coordinate, arrived=st.none()),
    st.builds(DieAt, t=moment, dev=dev, die=die, x=coordinate, y=coordinate, arrived=st.none()),
    st.builds(
        DieRest,
        t=moment,
        dev=dev,
        die=die,
        x=coordinate,
        y=coordinate,
        up=st.none() | face,
        confidence=st.floats(0, 1),
        tilt_deg=st.floats(allow_nan=False),
        on=st.sampled_from(["felt", "cards", "chips", "bank", "rail", "cup", "die", "unknown"]),
        resting_sides=st.lists(face, max_size=4).map(tuple),
        arrived=st.none(),
    ),
    st.builds(DieOffTable, t=moment, dev=dev, die=die, arrived=st.none()),
    st.builds(DieLost, t=moment, dev=dev, die=die, arrived=st.none()),
    st.builds(DieContact, t=moment, dev=dev, die=die, with_=st.text(max_size=5), arrived=st.none()),
    st.builds(
        WallImpact,
        t=moment,
        dev=dev,
        wall=st.sampled_from(["left", "right", "front", "back"]),
        pos_mm=coordinate,
        peak=coordinate,
        arrived=st.none(),
    ),
    st.builds(DeviceDown, t=moment, dev=dev, arrived=st.none()),
    st.builds(DeviceUp, t=moment, dev=dev, arrived=st.none()),
    st.builds(DeviceFault, t=moment, dev=dev, arrived=st.none()),
)
any_rules = st.sampled_from([C34, C34_FAR, CV1, HIGH_ROLLER])


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.lists(any_reading, max_size=60), any_rules, st.integers(0, 4), st.sampled_from([None, CALLED]))
def test_a_verdict_comes_whatever_the_readings(
    readings: list[Reading], rules: ThrowRules, warnings: int, called: Reason | None
) -> None:
    throw = Throw("any", [], readings, 2**62, (frozenset(), frozenset()))
    verdict = judged(throw, rules, warnings=warnings, called=called)
    assert verdict.sentence
    assert verdict == judged(throw, rules, warnings=warnings, called=called)
    if verdict.ruling is Ruling.VALID:
        assert verdict.dice is not None
        assert not verdict.reasons
    else:
        assert verdict.reasons
        assert all(reason.seen for reason in verdict.reasons)


def test_hundreds_of_releases_and_two_thousand_points_get_a_verdict() -> None:
    readings: list[Reading] = []
    for i in range(2000):
        die_i: Die = 1 if i % 2 else 2
        readings.append(DieAt(t=i * 500, dev="cam", die=die_i, x=(i * 7919) % 3600, y=(i * 104729) % 1100))
        if i % 5 == 0:
            readings.append(DieReleased(t=i * 500, dev="cam", die=die_i, x=450.0, y=500.0))
            readings.append(WallImpact(t=i * 500, dev="wall-right", wall="right", pos_mm=500, peak=9))
    throw = Throw("noise", [], readings, 2_000_000, (frozenset(), frozenset()))
    assert judged(throw).ruling is not Ruling.VALID


@cache
def pooled(scene: Scene, seed: int) -> Throw:
    return scene(Maker(seed))


def some_lost(throw: Throw, data: st.DataObject) -> Throw:
    """Remove a stretch of the readings, every n-th reading, or all readings of one kind."""
    count = len(throw.readings)
    how = data.draw(st.sampled_from(["stretch", "each", "kind"]))
    if how == "stretch":
        start = data.draw(st.integers(0, count - 1))
        end = data.draw(st.integers(start, count))
        left = throw.readings[:start] + throw.readings[end:]
    elif how == "each":
        step = data.draw(st.integers(2, 9))
        phase = data.draw(st.integers(0, step - 1))
        left = [r for i, r in enumerate(throw.readings) if i % step != phase]
    else:
        lost = data.draw(
            st.sampled_from(["die_at", "die_rest", "die_released", "wall_impact", "die_off_table"])
        )
        kept = data.draw(st.sampled_from([0, 1, 2]))
        left = [r for r in throw.readings if kind_of(r) != lost or getattr(r, "die", None) == kept]
    return Throw(throw.kind, throw.bodies, left, throw.decided_at_us, throw.hit)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.sampled_from(VALID_SCENES + VOID_SCENES), st.integers(0, 25), st.data())
def test_missing_readings_never_turn_a_roll_into_a_void_or_a_void_into_a_roll(
    scene: Scene, seed: int, data: st.DataObject
) -> None:
    throw = pooled(scene, seed)
    if not in_the_open(throw):
        return
    verdict = judged(some_lost(throw, data))
    assert verdict.ruling in {Ruling.REVIEW, truly(throw)} or _only_one_die_left(verdict.sentence)
    if verdict.dice is not None:
        assert sorted(verdict.dice) == sorted(throw.faces)


def _only_one_die_left(sentence: str) -> bool:
    """Return whether no reading of one die is left, which looks like a die that was never thrown."""
    return "only die" in sentence


RING_PEAK = 80.0


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.sampled_from(VALID_SCENES), st.integers(0, 25))
@example(crossing, 17)
@example(merged, 22)
def test_weak_knocks_and_ringing_change_nothing(scene: Scene, seed: int) -> None:
    throw = pooled(scene, seed)
    heard = [r for r in throw.readings if isinstance(r, WallImpact)]
    rings: list[Reading] = [
        WallImpact(t=r.t + us, dev=r.dev, wall=r.wall, pos_mm=r.pos_mm + 10, peak=RING_PEAK)
        for r in heard
        if r.peak >= 2 * RING_PEAK  # the ringing of a wall stays below 0.6 of its hit
        for us in (5_000, 9_000, 11_000)
    ]
    more = sorted([*throw.readings, *rings], key=lambda r: r.t)
    rung = Throw(throw.kind, throw.bodies, more, throw.decided_at_us, throw.hit)
    assert judged(rung).ruling is judged(throw).ruling
