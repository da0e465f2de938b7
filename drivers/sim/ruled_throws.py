"""Throws that are not over when the dice first lie still: a person rules, or a die moves or is seen again."""

from typing import Literal

from controller.model.readings import Die, DieAt, DieContact, Input
from drivers.sim.doubtful_throws import camera_down, die_lost
from drivers.sim.plain_throws import RedrawError, good_throw, valid_truth, void_truth
from drivers.sim.scenes import CAMERA, Truth
from drivers.sim.throwing import FRAME_US, Path, Rest, Script, Thrower


def say(
    script: Script, t_us: int, name: str, dice: tuple[int, int] | None = None, by: str = "boxperson"
) -> None:
    """Add a person's input at the console."""
    script.extra.append(Input(t=t_us, dev="console", name=name, by=by, dice=dice))


def known_rest(arm: Thrower, script: Script) -> int:
    """Draw when the camera reports each die at rest; return the later time."""
    for path, rest in zip(script.paths, script.rests, strict=True):
        rest.at_us = path.end_us + arm.rng.randint(35_000, 95_000)
    return script.rest_us


def box_no_roll_in_flight(arm: Thrower) -> Script:
    """The boxperson calls No Roll while the dice move."""
    script = good_throw(arm)
    say(script, arm.rng.randint(script.first_us + 150_000, script.rest_us - 50_000), "no_roll")
    script.truth = void_truth("called")
    return script


def box_no_roll_in_hold(arm: Thrower) -> Script:
    """The boxperson calls No Roll just after the dice are at rest: the held call is discarded."""
    script = good_throw(arm)
    say(script, known_rest(arm, script) + arm.rng.randint(5_000, 235_000), "no_roll")
    script.truth = void_truth("called")
    return script


def box_no_roll_late(arm: Thrower) -> Script:
    """The boxperson calls No Roll after the call: a correction."""
    script = good_throw(arm)
    say(script, known_rest(arm, script) + arm.rng.randint(600_000, 1_500_000), "no_roll")
    script.truth = _valid_then(script, "corrected")
    return script


def box_sets_other_dice(arm: Thrower) -> Script:
    """After the call the boxperson rules that a face was read wrong: a correction (C34-PT-3)."""
    script = good_throw(arm)
    other = (arm.face(), arm.face())
    while sorted(other) == sorted(script.dice):
        other = (arm.face(), arm.face())
    say(script, known_rest(arm, script) + arm.rng.randint(600_000, 1_500_000), "set_dice", other)
    script.truth = _valid_then(script, "corrected", other)
    return script


def box_too_late(arm: Thrower) -> Script:
    """The boxperson calls No Roll after the bets are settled, which changes nothing."""
    script = good_throw(arm)
    rest = known_rest(arm, script)
    say(script, rest + 700_000, "settled", by="dealer")
    say(script, rest + 1_100_000, "no_roll")
    script.truth = _valid_then(script, "stands")
    return script


def unsure_face(arm: Thrower) -> Script:
    """The camera is not sure of a face; the boxperson sets the dice."""
    return _unread(arm, round(arm.rng.uniform(0.2, 0.58), 3), face_seen=True, ruled=True)


def no_face(arm: Thrower) -> Script:
    """The camera sees a die at rest but reads no face; the boxperson sets the dice."""
    return _unread(arm, round(arm.rng.uniform(0.7, 0.95), 3), face_seen=False, ruled=True)


def unruled(arm: Thrower) -> Script:
    """The camera is not sure of a face, and nobody rules before the next throw."""
    return _unread(arm, round(arm.rng.uniform(0.2, 0.58), 3), face_seen=True, ruled=False)


def _unread(arm: Thrower, confidence: float, *, face_seen: bool, ruled: bool) -> Script:
    script = good_throw(arm)
    rest = script.rests[arm.rng.randint(0, 1)]
    rest.confidence = confidence
    rest.up = (arm.face() if arm.rng.random() < 0.5 else rest.face) if face_seen else None
    reported = known_rest(arm, script)
    if ruled:
        say(script, reported + arm.rng.randint(1_200_000, 2_500_000), "set_dice", script.dice)
        script.collected_us = reported + 3_300_000
        script.truth = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=script.dice)
    else:
        script.truth = Truth(verdict="review", allowed=("review",), ruled="unruled")
    return script


def camera_down_ruled(arm: Thrower) -> Script:
    """The camera goes down in flight; the boxperson, who saw it all, sets the dice."""
    return _ruled_later(arm, camera_down(arm))


def die_lost_ruled(arm: Thrower) -> Script:
    """The camera loses a die; the boxperson calls No Roll or sets the dice."""
    return _ruled_later(arm, die_lost(arm))


def _ruled_later(arm: Thrower, script: Script) -> Script:
    t = script.first_us + arm.rng.randint(8_600_000, 10_000_000)
    if arm.rng.random() < 0.3:
        say(script, t, "no_roll")
        script.truth = Truth(verdict="review", allowed=("review",), ruled="void")
    else:
        say(script, t, "set_dice", script.dice)
        script.truth = Truth(verdict="review", allowed=("review",), ruled="called", ruled_dice=script.dice)
    return script


def _valid_then(
    script: Script, ruled: Literal["corrected", "stands"], dice: tuple[int, int] | None = None
) -> Truth:
    return Truth(verdict="valid", allowed=("valid",), dice=script.dice, ruled=ruled, ruled_dice=dice)


def knocked_at_rest(arm: Thrower) -> Script:
    """A die at rest is knocked over by the other, still rolling: its last face counts."""
    script = good_throw(arm)
    known_rest(arm, script)
    first, second = sorted((0, 1), key=lambda die: script.rests[die].at_us or 0)
    knocked_us = (script.rests[first].at_us or 0) + arm.rng.randint(60_000, 200_000)
    rolling = script.paths[second]
    if not rolling.touches[0].t_us + 50_000 < knocked_us < rolling.end_us - 30_000:
        raise RedrawError
    before = script.rests[first]
    here = script.paths[first].here
    there = (here[0] - arm.rng.uniform(25, 60), arm.inside(here[1] + arm.rng.uniform(-30, 30)))
    moved = Path(knocked_us, here)
    moved.go(there, 0.4, 0)
    after = arm.flat()
    die: Die = 1 if first == 0 else 2
    _seen_at_rest(arm, script, die, before, before.at_us or 0)
    script.seen.append(DieContact(t=knocked_us, dev=CAMERA, die=die, with_="die"))
    _seen_moving(arm, script, die, moved)
    script.rests[first] = after
    after.at_us = moved.end_us + arm.rng.randint(40_000, 90_000)
    script.lies[first] = there
    script.truth = valid_truth(script)
    return script


def rest_repeated(arm: Thrower) -> Script:
    """The camera reports the dice at rest repeatedly."""
    script = good_throw(arm)
    last = known_rest(arm, script)
    for index, die in enumerate(_DICE):
        for again in range(1, 4):
            rest = script.rests[index]
            _seen_at_rest(arm, script, die, rest, last + again * 400_000)
    script.collected_us = last + 2_000_000
    script.truth = valid_truth(script)
    return script


def raked(arm: Thrower) -> Script:
    """After the call the stickperson rakes the dice to the middle before entering it."""
    script = good_throw(arm)
    last = known_rest(arm, script)
    for index, die in enumerate(_DICE):
        pull = Path(last + arm.rng.randint(700_000, 900_000), script.paths[index].here)
        pull.go((arm.table.length_mm / 2, 200 + 60 * index), 1.6, 0.6)
        _seen_moving(arm, script, die, pull)
    script.collected_us = last + 3_500_000
    script.truth = valid_truth(script)
    return script


def second_look(arm: Thrower) -> Script:
    """The camera is unsure of a face at first, and sure of it a moment later."""
    script = good_throw(arm)
    last = known_rest(arm, script)
    index = arm.rng.randint(0, 1)
    sure = script.rests[index]
    script.rests[index] = Rest(sure.face, sure.up, 0.4, sure.tilt_deg, at_us=sure.at_us)
    t = max(sure.at_us or 0, last - 50_000) + arm.rng.randint(60_000, 150_000)
    _seen_at_rest(arm, script, _DICE[index], sure, t)
    script.truth = Truth(verdict="valid", allowed=("valid", "review"), dice=script.dice)
    return script


_DICE: tuple[Die, Die] = (1, 2)


def _seen_at_rest(arm: Thrower, script: Script, die: Die, rest: Rest, t_us: int) -> None:
    script.seen.append(rest.reading(t_us, die, arm.seen_at(script.paths[die - 1].here)))


def _seen_moving(arm: Thrower, script: Script, die: Die, path: Path) -> None:
    for frame in range(int((path.end_us - path.release_us) / FRAME_US)):
        t = round(path.release_us + frame * FRAME_US)
        x, y = arm.seen_at(path.at(t))
        script.seen.append(DieAt(t=t, dev=CAMERA, die=die, x=x, y=y))
