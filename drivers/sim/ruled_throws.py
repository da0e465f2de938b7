"""Throws that the first resting positions do not decide.

A person rules, a die moves again, or the camera reports a die a second time.
"""

from typing import Literal

from controller.model.readings import Die, DieAt, DieContact, Input
from drivers.sim.doubtful_throws import camera_down, die_lost
from drivers.sim.plain_throws import RedrawError, good_throw, valid_truth, void_truth
from drivers.sim.scenes import CAMERA, Truth
from drivers.sim.throwing import FRAME_US, Path, Rest, Script, Thrower


def add_input(
    script: Script, t_us: int, name: str, dice: tuple[int, int] | None = None, by: str = "boxperson"
) -> None:
    """Add a person's input at the console."""
    script.extra.append(Input(t=t_us, dev="console", name=name, by=by, dice=dice))


def draw_rest_times(thrower: Thrower, script: Script) -> int:
    """Draw the time at which the camera reports each die at rest; return the later time."""
    for path, rest in zip(script.paths, script.rests, strict=True):
        rest.at_us = path.end_us + thrower.rng.randint(35_000, 95_000)
    return script.rest_us


def box_no_roll_in_flight(thrower: Thrower) -> Script:
    """The boxperson calls No Roll while the dice move."""
    script = good_throw(thrower)
    add_input(script, thrower.rng.randint(script.first_us + 150_000, script.rest_us - 50_000), "no_roll")
    script.truth = void_truth("called")
    return script


def box_no_roll_in_hold(thrower: Thrower) -> Script:
    """The boxperson calls No Roll just after the dice come to rest, before the result is published."""
    script = good_throw(thrower)
    add_input(script, draw_rest_times(thrower, script) + thrower.rng.randint(5_000, 235_000), "no_roll")
    script.truth = void_truth("called")
    return script


def box_no_roll_late(thrower: Thrower) -> Script:
    """The boxperson corrects a published result to No Roll."""
    script = good_throw(thrower)
    add_input(script, draw_rest_times(thrower, script) + thrower.rng.randint(600_000, 1_500_000), "no_roll")
    script.truth = _valid_with_ruling(script, "corrected")
    return script


def box_sets_other_dice(thrower: Thrower) -> Script:
    """The boxperson corrects a published result in which a face was misread (C34-PT-3)."""
    script = good_throw(thrower)
    other = (thrower.face(), thrower.face())
    while sorted(other) == sorted(script.dice):
        other = (thrower.face(), thrower.face())
    add_input(
        script, draw_rest_times(thrower, script) + thrower.rng.randint(600_000, 1_500_000), "set_dice", other
    )
    script.truth = _valid_with_ruling(script, "corrected", other)
    return script


def box_too_late(thrower: Thrower) -> Script:
    """The boxperson calls No Roll after the bets are settled, which changes nothing."""
    script = good_throw(thrower)
    rest = draw_rest_times(thrower, script)
    add_input(script, rest + 700_000, "settled", by="dealer")
    add_input(script, rest + 1_100_000, "no_roll")
    script.truth = _valid_with_ruling(script, "stands")
    return script


def unsure_face(thrower: Thrower) -> Script:
    """The camera is uncertain of a face; the boxperson sets the dice."""
    return _unread(thrower, round(thrower.rng.uniform(0.2, 0.58), 3), face_seen=True, ruled=True)


def no_face(thrower: Thrower) -> Script:
    """The camera sees a die at rest but reads no face; the boxperson sets the dice."""
    return _unread(thrower, round(thrower.rng.uniform(0.7, 0.95), 3), face_seen=False, ruled=True)


def unruled(thrower: Thrower) -> Script:
    """The camera is uncertain of a face, and nobody rules before the next throw."""
    return _unread(thrower, round(thrower.rng.uniform(0.2, 0.58), 3), face_seen=True, ruled=False)


def _unread(thrower: Thrower, confidence: float, *, face_seen: bool, ruled: bool) -> Script:
    script = good_throw(thrower)
    rest = script.rests[thrower.rng.randint(0, 1)]
    rest.confidence = confidence
    rest.up = (thrower.face() if thrower.rng.random() < 0.5 else rest.face) if face_seen else None
    reported = draw_rest_times(thrower, script)
    if ruled:
        add_input(script, reported + thrower.rng.randint(1_200_000, 2_500_000), "set_dice", script.dice)
        script.collected_us = reported + 3_300_000
        script.truth = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=script.dice)
    else:
        script.truth = Truth(verdict="review", allowed=("review",), ruled="unruled")
    return script


def camera_down_ruled(thrower: Thrower) -> Script:
    """The camera goes down during the throw; the boxperson, who saw the dice, calls No Roll or sets them."""
    return _ruled_later(thrower, camera_down(thrower))


def die_lost_ruled(thrower: Thrower) -> Script:
    """The camera loses a die; the boxperson calls No Roll or sets the dice."""
    return _ruled_later(thrower, die_lost(thrower))


def _ruled_later(thrower: Thrower, script: Script) -> Script:
    t = script.first_us + thrower.rng.randint(8_600_000, 10_000_000)
    if thrower.rng.random() < 0.3:
        add_input(script, t, "no_roll")
        script.truth = Truth(verdict="review", allowed=("review",), ruled="void")
    else:
        add_input(script, t, "set_dice", script.dice)
        script.truth = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=script.dice)
    return script


def _valid_with_ruling(
    script: Script, ruled: Literal["corrected", "stands"], dice: tuple[int, int] | None = None
) -> Truth:
    return Truth(verdict="valid", allowed=("valid",), dice=script.dice, ruled=ruled, ruled_dice=dice)


def knocked_at_rest(thrower: Thrower) -> Script:
    """A rolling die knocks over the die at rest; the new face counts."""
    script = good_throw(thrower)
    draw_rest_times(thrower, script)
    first, second = sorted((0, 1), key=lambda die: script.rests[die].at_us or 0)
    knocked_us = (script.rests[first].at_us or 0) + thrower.rng.randint(60_000, 200_000)
    rolling = script.paths[second]
    if not rolling.touches[0].t_us + 50_000 < knocked_us < rolling.end_us - 30_000:
        raise RedrawError
    before = script.rests[first]
    at_rest = script.paths[first].end_point
    destination = (
        at_rest[0] - thrower.rng.uniform(25, 60),
        thrower.inside(at_rest[1] + thrower.rng.uniform(-30, 30)),
    )
    moved = Path(knocked_us, at_rest)
    moved.go(destination, 0.4, 0)
    after = thrower.flat()
    die: Die = 1 if first == 0 else 2
    _seen_at_rest(thrower, script, die, before, before.at_us or 0)
    script.seen.append(DieContact(t=knocked_us, dev=CAMERA, die=die, with_="die"))
    _seen_moving(thrower, script, die, moved)
    script.rests[first] = after
    after.at_us = moved.end_us + thrower.rng.randint(40_000, 90_000)
    script.final_places[first] = destination
    script.truth = valid_truth(script)
    return script


def rest_repeated(thrower: Thrower) -> Script:
    """The camera reports the dice at rest repeatedly."""
    script = good_throw(thrower)
    last = draw_rest_times(thrower, script)
    for index, die in enumerate(_DICE):
        for repetition in range(1, 4):
            rest = script.rests[index]
            _seen_at_rest(thrower, script, die, rest, last + repetition * 400_000)
    script.collected_us = last + 2_000_000
    script.truth = valid_truth(script)
    return script


def raked(thrower: Thrower) -> Script:
    """The stickperson rakes the dice to the middle of the table before entering `dice_collected`."""
    script = good_throw(thrower)
    last = draw_rest_times(thrower, script)
    for index, die in enumerate(_DICE):
        pull = Path(last + thrower.rng.randint(700_000, 900_000), script.paths[index].end_point)
        pull.go((thrower.table.length_mm / 2, 200 + 60 * index), 1.6, 0.6)
        _seen_moving(thrower, script, die, pull)
    script.collected_us = last + 3_500_000
    script.truth = valid_truth(script)
    return script


def second_look(thrower: Thrower) -> Script:
    """The camera is uncertain of a face, and reports the face with certainty a moment later."""
    script = good_throw(thrower)
    last = draw_rest_times(thrower, script)
    index = thrower.rng.randint(0, 1)
    sure = script.rests[index]
    script.rests[index] = Rest(sure.face, sure.up, 0.4, sure.tilt_deg, at_us=sure.at_us)
    t = max(sure.at_us or 0, last - 50_000) + thrower.rng.randint(60_000, 150_000)
    _seen_at_rest(thrower, script, _DICE[index], sure, t)
    script.truth = Truth(verdict="valid", allowed=("valid", "review"), dice=script.dice)
    return script


_DICE: tuple[Die, Die] = (1, 2)


def _seen_at_rest(thrower: Thrower, script: Script, die: Die, rest: Rest, t_us: int) -> None:
    script.seen.append(rest.reading(t_us, die, thrower.seen_at(script.paths[die - 1].end_point)))


def _seen_moving(thrower: Thrower, script: Script, die: Die, path: Path) -> None:
    for frame in range(int((path.end_us - path.release_us) / FRAME_US)):
        t = round(path.release_us + frame * FRAME_US)
        x, y = thrower.seen_at(path.at(t))
        script.seen.append(DieAt(t=t, dev=CAMERA, die=die, x=x, y=y))
