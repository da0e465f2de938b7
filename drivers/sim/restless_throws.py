"""Throws whose dice are seen again after they first lay still."""

from controller.model.readings import Die, DieAt, DieContact, DieRest
from drivers.sim.paths import Path
from drivers.sim.plain_throws import RedrawError, good_throw, valid_truth
from drivers.sim.ruled_throws import known_rest
from drivers.sim.scenes import Truth
from drivers.sim.senses import CAMERA, FRAME_US
from drivers.sim.thrower import Rest, Script, Thrower


def knocked_at_rest(arm: Thrower) -> Script:
    """A die lies, and the other, still rolling, knocks it over: its last face counts."""
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
    """The camera tells again and again how the dice lie."""
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
    """After the call the stickperson rakes the dice to the middle before saying so."""
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
    x, y = arm.seen_at(script.paths[die - 1].here)
    script.seen.append(
        DieRest(
            t=t_us,
            dev=CAMERA,
            die=die,
            x=x,
            y=y,
            up=rest.up,
            confidence=rest.confidence,
            tilt_deg=rest.tilt_deg,
            on=rest.on,
        )
    )


def _seen_moving(arm: Thrower, script: Script, die: Die, path: Path) -> None:
    for frame in range(int((path.end_us - path.release_us) / FRAME_US)):
        t = round(path.release_us + frame * FRAME_US)
        x, y = arm.seen_at(path.at(t))
        script.seen.append(DieAt(t=t, dev=CAMERA, die=die, x=x, y=y))
