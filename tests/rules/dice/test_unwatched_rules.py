"""A die that is unwatched for long may have left the table or been turned over.

Craps Version 1 forgives a wall hit that was not detected (CV1-SHOOT-4). Every document requires that a die
stays on the table and shows the face that it rolled (C34-INV-1a, !V1-25, H-LEGAL-2).
"""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from controller.model.readings import DeviceDown, DeviceUp, DieAt, DieLost, DieOffTable, DieRest, Reading
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Ruling, ThrowVerdict
from tests.rules.dice.tables import (
    C34,
    CV1,
    HIGH_ROLLER,
    adding,
    dice,
    judged,
    of,
    ruled,
    thrown,
    track,
    without,
)
from tests.rules.dice.throws import Throw

SECOND_US = 1_000_000
EVERY_GAME = pytest.mark.parametrize(
    ("rules", "rule"), [(C34, "C34-INV-1a"), (CV1, "!V1-25"), (HIGH_ROLLER, "H-LEGAL-2")]
)
OfDieTwo = Callable[[Reading], bool]


def of_two(reading: Reading) -> bool:
    return isinstance(reading, DieAt | DieRest) and reading.die == 2


def later(throw: Throw, us: int, which: Callable[[Reading], bool]) -> Throw:
    """Delay the selected readings."""
    readings = [replace(r, t=r.t + us) if which(r) else r for r in throw.readings]
    readings.sort(key=lambda r: r.t)
    return Throw(throw.kind, throw.bodies, readings, readings[-1].t, throw.hit)


def lost(throw: Throw, t: int) -> Throw:
    return adding(throw, DieLost(t=t, dev="cam", die=2))


def rolling_back(throw: Throw) -> int:
    """Return a time at which die 2 has hit the far wall and is still rolling."""
    points = track(throw, 2)
    nearest = max(points, key=lambda point: point.x)
    return points[points.index(nearest) + 5].t


def hidden_in_flight(us: int, after_us: int | None = None) -> Throw:
    """Return a throw whose die 2 is hidden for this long while it rolls, and is then seen at rest."""
    throw = thrown(dice())
    since = rolling_back(throw) if after_us is None else throw.readings[0].t + after_us
    unseen = without(throw, lambda r: isinstance(r, DieAt) and r.die == 2 and r.t > since)
    rest = of(throw, 2)
    return lost(later(unseen, since + us - rest.t, lambda r: r is rest), since + 1)


def missing(verdict: ThrowVerdict, rule: str) -> list[str]:
    """Return the evidence about die 2 that is missing under this rule."""
    assert verdict.ruling is Ruling.REVIEW, verdict.sentence
    return [r.seen for r in verdict.reasons if (r.code, r.die, r.rule) == ("missing_reading", 2, rule)]


@EVERY_GAME
def test_a_die_out_of_sight_for_seconds_while_it_moved_is_a_missing_reading(
    rules: ThrowRules, rule: str
) -> None:
    assert missing(judged(hidden_in_flight(3 * SECOND_US), rules), rule) == [
        "die 2 was out of sight for 3.0 s before it was seen at rest"
    ]


@EVERY_GAME
def test_a_die_out_of_sight_is_a_missing_reading_even_without_a_report_of_its_loss(
    rules: ThrowRules, rule: str
) -> None:
    silent = without(hidden_in_flight(3 * SECOND_US), lambda r: isinstance(r, DieLost))
    assert missing(judged(silent, rules), rule)


@EVERY_GAME
def test_a_die_hidden_for_a_moment_is_bridged(rules: ThrowRules, rule: str) -> None:
    assert judged(hidden_in_flight(400_000), rules).ruling is Ruling.VALID
    assert missing(judged(hidden_in_flight(600_000), rules), rule)


def test_CV1_SHOOT_4_a_warning_forgives_an_unseen_wall_hit_but_not_an_unseen_die() -> None:
    """A missed wall costs at most a warning, but the path of the hidden die is unknown."""
    verdict = judged(hidden_in_flight(3 * SECOND_US, after_us=300_000), CV1)
    assert missing(verdict, "!V1-25")
    assert not verdict.warning


@EVERY_GAME
def test_a_die_lost_where_it_stopped_before_its_face_was_read_may_have_been_turned(
    rules: ThrowRules, rule: str
) -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    read_later = later(throw, 3 * SECOND_US, lambda r: r is rest)
    assert missing(judged(lost(read_later, track(throw, 2)[-1].t + 1), rules), rule)


@EVERY_GAME
def test_a_camera_that_is_slow_to_report_a_rest_has_still_watched_the_die(
    rules: ThrowRules, rule: str
) -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    assert judged(later(throw, 3 * SECOND_US, lambda r: r is rest), rules).ruling is Ruling.VALID


@EVERY_GAME
def test_a_die_lost_at_rest_and_seen_again_unchanged_is_called_with_a_notice(
    rules: ThrowRules, rule: str
) -> None:
    """One explanation remains: the die did not move. Only a person can call a touch that changed nothing."""
    throw = thrown(dice())
    rest = of(throw, 2)
    again = adding(lost(throw, rest.t + 1), replace(rest, t=rest.t + 3 * SECOND_US, x=rest.x + 1.0))
    verdict = judged(again, rules)
    assert (verdict.ruling, verdict.dice) == (Ruling.VALID, (4, 3))
    (notice,) = [notice for notice in verdict.notices if notice.code == "unwatched"]
    assert (notice.die, notice.rule) == (2, rule)
    assert notice.seen == "die 2 was out of sight for 3.0 s but has not moved"


@EVERY_GAME
def test_a_die_lost_at_rest_and_seen_again_elsewhere_is_a_missing_reading(
    rules: ThrowRules, rule: str
) -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    moved = adding(lost(throw, rest.t + 1), replace(rest, t=rest.t + 3 * SECOND_US, x=rest.x - 40.0, up=6))
    assert missing(judged(moved, rules), rule)


@EVERY_GAME
def test_a_die_lost_at_rest_and_not_seen_again_before_the_other_came_to_rest(
    rules: ThrowRules, rule: str
) -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    one_rolls_on = lost(later(throw, 3 * SECOND_US, lambda r: r is of(throw, 1)), rest.t + SECOND_US)
    assert missing(judged(one_rolls_on, rules), rule) == [
        "die 2 had been out of sight for 2.0 s when the throw ended"
    ]


@EVERY_GAME
def test_dice_collected_once_both_were_at_rest_do_not_matter(rules: ThrowRules, rule: str) -> None:
    throw = thrown(dice())
    taken = lost(throw, throw.decided_at_us - 1)
    assert judged(taken, rules, decided_at_us=throw.decided_at_us).ruling is Ruling.VALID


@EVERY_GAME
@pytest.mark.parametrize("seen_again", [False, True])
def test_a_camera_that_was_away_watched_nothing(rules: ThrowRules, rule: str, *, seen_again: bool) -> None:
    throw = thrown(dice())
    rest = of(throw, 2)
    down, up = rest.t + 100_000, rest.t + 3 * SECOND_US
    away = adding(
        later(throw, 4 * SECOND_US, lambda r: r is of(throw, 1)),
        DeviceDown(t=down, dev="cam", reason="unplugged"),
        DeviceUp(t=up, dev="cam"),
    )
    if seen_again:
        away = adding(away, replace(rest, t=up + 1000))
    verdict = judged(away, rules)
    if seen_again:
        assert [notice.die for notice in verdict.notices if notice.code == "unwatched"] == [2]
    else:
        assert missing(verdict, rule)


@EVERY_GAME
def test_a_certain_cause_outranks_an_unwatched_die(rules: ThrowRules, rule: str) -> None:
    throw = hidden_in_flight(3 * SECOND_US)
    off = adding(
        without(throw, lambda r: isinstance(r, DieRest) and r.die == 1),
        DieOffTable(t=throw.decided_at_us, dev="cam", die=1),
    )
    assert ruled(judged(off, rules)) == (Ruling.VOID, [("off_table", 1)])
