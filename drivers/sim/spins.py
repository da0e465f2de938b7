"""Spins disturbed by a push, a hand, a second ball or a foreign object, and sessions of spins of one kind.

Each kind's function simulates one spin. It lists the correct outcomes only if the ball's number of turns does
not determine them.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import msgspec

from controller.model.readings import AnyReading, BallOut, ForeignObject
from drivers.sim import blind_spins, wheel_models
from drivers.sim.blind_spins import BLIND
from drivers.sim.croupier import VALID_TURNS, Croupier, Kind, Spin, SpinTruth
from drivers.sim.scenes import Feed, Header, in_order_of_arrival, write_log
from drivers.sim.wheel_models import HOUSES, lap_house
from drivers.sim.wheel_motion import Push, Run
from drivers.sim.wheel_sensors import WHEEL

# --- rotor ---


def pushed(croupier: Croupier) -> Spin:
    """In the last 12 s before the launch, the dealer changes the rotor's speed by 3 to 15 % with a push."""
    rng = croupier.rng
    times = 1 + rng.choice((1, 1, -1)) * rng.uniform(0.03, 0.15)
    return croupier.spin(
        pushes=lambda launch_s: [Push(launch_s - rng.uniform(0.4, 12.0), rng.uniform(0.15, 0.5), times=times)]
    )


def pushed_twice(croupier: Croupier) -> Spin:
    """The dealer pushes the rotor twice before the launch: 5 to 10 s and 0.5 to 3 s before it."""
    rng = croupier.rng

    def pushes(launch_s: float) -> list[Push]:
        first = Push(launch_s - rng.uniform(5.0, 10.0), 0.3, times=rng.uniform(1.03, 1.15))
        return [first, Push(launch_s - rng.uniform(0.5, 3.0), 0.3, times=rng.uniform(1.03, 1.1))]

    return croupier.spin(pushes=pushes)


def pushed_in_run(croupier: Croupier) -> Spin:
    """The dealer pushes the rotor while the ball runs."""
    rng = croupier.rng
    times = rng.uniform(1.03, 1.15)
    return croupier.spin(pushes=lambda launch_s: [Push(launch_s + rng.uniform(0.5, 6.0), 0.3, times=times)])


def turned_before(croupier: Croupier) -> Spin:
    """The dealer reverses the rotor three to nine seconds before the launch."""
    rng = croupier.rng
    spin = croupier.spin(
        pushes=lambda launch_s: [Push(launch_s - rng.uniform(3.0, 9.0), rng.uniform(0.8, 1.6), times=-1.0)],
        same_way=True,
    )
    # The launch is in the rotor's former direction, and so against the current one.
    spin.reasons.clear()
    spin.may.clear()
    spin.launch = "strong"
    return spin


def reversed_in_run(croupier: Croupier) -> Spin:
    """The dealer reverses the rotor while the ball runs."""
    rng = croupier.rng
    spin = croupier.spin(
        rng.uniform(10.0, 22.0),
        pushes=lambda launch_s: [Push(launch_s + rng.uniform(2.0, 4.0), 1.0, times=-1.0)],
    )
    spin.reasons.append("rotor_reversed")
    spin.may.add("review")
    return spin


# --- pockets ---


def hop(croupier: Croupier) -> Spin:
    """The ball hops to a different pocket after one or two turns at rest."""
    spin = croupier.spin(longer_turns=2.5)
    fall = spin.play.fall
    assert fall is not None
    count = len(croupier.house.wheel.pockets_clockwise)
    other = (fall.pocket(count) + croupier.rng.randint(2, count - 2)) / count
    place = croupier.house.wheel.pocket_reader_deg / 360
    seen = [t for t, _ in spin.play.rotor.passes(place, other) if t > fall.settle_s]
    spin.play.rests.append((other, seen[croupier.rng.randint(0, 1)] + croupier.rng.uniform(0.2, 0.8)))
    # The fall has no bounces, because the reader might detect one in the first pocket and so read that pocket
    # three times.
    spin.play.fall = replace(fall, legs=())
    return spin


def taken_early(croupier: Croupier) -> Spin:
    """The dealer removes the ball less than two turns of the rotor after the ball comes to rest."""
    spin = croupier.spin()
    fall = spin.play.fall
    assert fall is not None
    turn_s = 1 / abs(spin.play.rotor.speed_at(fall.settle_s))
    spin.play.lift_s = fall.settle_s + croupier.rng.uniform(0.6, 1.9) * turn_s
    croupier.turn_empty_rotor(spin)
    spin.must, spin.doubt = {"review", "void"}, "reads"
    return spin


# --- foreign objects and lost balls ---


def _object(t_s: float, where: str) -> AnyReading:
    return ForeignObject(t=round(t_s * 1e6), dev=WHEEL, where=where)


def object_in_run(croupier: Croupier) -> Spin:
    """A foreign object falls into the wheel while the ball runs or falls."""
    spin = croupier.spin()
    t_s = croupier.rng.uniform(spin.launch_s + 1.0, spin.ball.end_s + 0.8)
    spin.extra.append(_object(t_s, croupier.rng.choice(("track", "rotor"))))
    spin.reasons.append("foreign_object")
    return spin


def object_before(croupier: Croupier) -> Spin:
    """A foreign object falls into the wheel less than half a second before the launch."""
    spin = croupier.spin()
    spin.extra.append(_object(spin.launch_s - croupier.rng.uniform(0.05, 0.35), "track"))
    spin.reasons.append("foreign_object")
    return spin


def object_long_before(croupier: Croupier) -> Spin:
    """A foreign object falls on the felt 2 to 6 s before the launch."""
    spin = croupier.spin()
    spin.extra.append(_object(spin.launch_s - croupier.rng.uniform(2.0, 6.0), "felt"))
    return spin


def second_ball(croupier: Croupier) -> Spin:
    """A second ball is launched while the first one runs."""
    spin = croupier.spin(croupier.rng.uniform(9.0, 20.0))
    rng, first = croupier.rng, spin.ball
    late = first.launch_s + rng.uniform(0.4, 4.0)
    second = croupier.house.launched(rng, late, rng.uniform(6.0, 15.0), first.direction)
    spin.play.runs = sorted([first, second], key=lambda run: run.end_s)
    croupier.settle(spin)
    spin.must, spin.doubt = {"void", "review"}, "second ball"
    spin.reasons.append("foreign_object")
    return spin


def ball_out(croupier: Croupier) -> Spin:
    """The ball jumps out of the wheel and is detected outside."""
    spin = croupier.spin()
    spin.play.fall = None
    spin.extra.append(BallOut(t=round((spin.ball.end_s + croupier.rng.uniform(0.2, 1.5)) * 1e6), dev=WHEEL))
    spin.play.lift_s = spin.ball.end_s
    croupier.turn_empty_rotor(spin)
    spin.reasons.append("ball_out")
    return spin


def ball_out_of_track(croupier: Croupier) -> Spin:
    """The ball jumps out of the track in mid-run and is detected outside."""
    spin = croupier.spin()
    spin.play.runs = [spin.ball.caught(croupier.rng.uniform(1.5, 5.0))]
    spin.play.fall = None
    spin.extra.append(BallOut(t=round((spin.ball.end_s + croupier.rng.uniform(0.1, 0.8)) * 1e6), dev=WHEEL))
    spin.play.lift_s = spin.ball.end_s
    croupier.turn_empty_rotor(spin)
    spin.reasons.append("ball_out")
    return spin


def ball_gone(croupier: Croupier) -> Spin:
    """The ball jumps out of the wheel undetected."""
    spin = croupier.spin()
    spin.play.fall = None
    spin.play.lift_s = spin.ball.end_s
    croupier.turn_empty_rotor(spin)
    spin.reasons.append("ball_out")
    spin.also_accept("unseen", "review")
    return spin


_PLAIN = wheel_models.ordinary

ODD: Mapping[str, Kind] = {
    "pushed": Kind(_PLAIN, pushed),
    "pushed_knee": Kind(wheel_models.with_knee, pushed),
    "pushed_fast": Kind(wheel_models.fast_rotor, pushed),
    "pushed_twice": Kind(_PLAIN, pushed_twice),
    "pushed_in_run": Kind(_PLAIN, pushed_in_run),
    "turned_before": Kind(_PLAIN, turned_before),
    "reversed_in_run": Kind(_PLAIN, reversed_in_run),
    "hop": Kind(_PLAIN, hop),
    "taken_early": Kind(_PLAIN, taken_early),
    "object_in_run": Kind(_PLAIN, object_in_run),
    "object_before": Kind(_PLAIN, object_before),
    "object_long_before": Kind(_PLAIN, object_long_before),
    "second_ball": Kind(_PLAIN, second_ball),
    "ball_out": Kind(_PLAIN, ball_out),
    "ball_out_of_track": Kind(_PLAIN, ball_out_of_track),
    "ball_gone": Kind(_PLAIN, ball_gone),
}
"""Spins with a pushed rotor, a hopping ball or a foreign object, by name."""


def _relaunched(croupier: Croupier, *, after: tuple[float, float], other_way: bool, turns: float) -> Spin:
    """Return a spin whose ball is caught after one to six turns and launched again.

    With `other_way`, the first run is in the opposite direction.
    """
    rng = croupier.rng
    spin = croupier.spin(turns)
    second = spin.ball
    caught = rng.uniform(1.0, 3.6) if rng.random() < 0.75 else rng.uniform(4.2, 6.0)
    direction = -second.direction if other_way else second.direction
    first = croupier.house.launched(rng, spin.launch_s, rng.uniform(8.0, 15.0), direction).caught(caught)
    pause_s = rng.uniform(*after)
    relaunch = croupier.house.launched(rng, first.end_s + pause_s, turns, second.direction)
    spin.play.runs = [first, relaunch]
    croupier.settle(spin)
    spin.launch = "strong" if turns > 6 else "weak"
    if relaunch.turns < VALID_TURNS:
        spin.also_accept("two runs", "review")
    if pause_s < 1.2:
        # Late in a run, the ball takes as long as this pause to travel from one beam to the next.
        spin.also_accept("relaunched at once", "review")
    return spin


def _kind(*, after: tuple[float, float], other_way: bool, weak: bool) -> Callable[[Croupier], Spin]:
    def play(croupier: Croupier) -> Spin:
        turns = croupier.rng.uniform(2.6, 5.6) if weak else croupier.rng.uniform(7.0, 16.0)
        return _relaunched(croupier, after=after, other_way=other_way, turns=turns)

    return play


def caught_dropped(croupier: Croupier) -> Spin:
    """The ball is caught in its first four turns, held for several seconds, and dropped into the rotor."""
    rng = croupier.rng
    spin = croupier.spin(rng.uniform(9.0, 18.0))
    caught = spin.ball.caught(rng.uniform(1.0, 3.6))
    held_s = rng.uniform(3.0, 7.0)
    spin.play.runs = [caught]
    croupier.settle(spin)
    spin.faults.drop_strays_s.append(caught.end_s + held_s)
    _place_ball(croupier, spin, caught.end_s + held_s)
    spin.must, spin.doubt = {"void", "review"}, "caught"
    spin.reasons.append("too_few_revolutions")
    return spin


def caught_dropped_late(croupier: Croupier) -> Spin:
    """The ball is caught after five turns or more, held for several seconds, and dropped into the rotor."""
    rng = croupier.rng
    spin = croupier.spin(rng.uniform(12.0, 18.0))
    caught = spin.ball.caught(rng.uniform(5.0, 8.0))
    held_s = rng.uniform(3.0, 7.0)
    spin.play.runs = [caught]
    croupier.settle(spin)
    spin.faults.drop_strays_s.append(caught.end_s + held_s)
    _place_ball(croupier, spin, caught.end_s + held_s)
    spin.must, spin.doubt = {"void", "review", "call"}, "no sensor can distinguish a hand from a drop"
    return spin


def laid_by_hand(croupier: Croupier) -> Spin:
    """The ball is placed in a pocket without a run; a hand interrupts a beam once or twice."""
    rng = croupier.rng
    spin = croupier.spin(8.0)
    placed_s = spin.launch_s + rng.uniform(0.5, 1.5)
    beams = len(croupier.house.wheel.beams_deg)
    spin.play.runs = [Run(spin.launch_s, 0.0, 1, (spin.launch_s, spin.launch_s + 0.01), 0.0, dropped=False)]
    for _ in range(rng.randint(1, 2)):
        spin.faults.strays_s.append((spin.launch_s + rng.uniform(0.0, 0.8), rng.randrange(beams)))
    if rng.random() < 0.5:
        spin.faults.drop_strays_s.append(placed_s)
    _place_ball(croupier, spin, placed_s)
    spin.launch = "laid"
    spin.must, spin.doubt = {"void", "review", "nothing"}, "never ran"
    spin.reasons.append("too_few_revolutions")
    return spin


def _place_ball(croupier: Croupier, spin: Spin, placed_s: float) -> None:
    """Make the ball come to rest soon after `placed_s` and stay there for some turns."""
    fall = spin.play.fall
    assert fall is not None
    later_s = placed_s + croupier.rng.uniform(0.2, 1.0)
    spin.play.fall = type(fall)((), later_s, fall.behind)
    croupier.rest_then_lift(spin, later_s)


def wrong_way_then_right(croupier: Croupier) -> Spin:
    """The ball runs in the rotor's direction, is caught, and is launched against the rotor 0.6 to 2 s
    later."""
    return _relaunched(croupier, after=(0.6, 2.0), other_way=True, turns=croupier.rng.uniform(7.0, 16.0))


def stopped_weak(croupier: Croupier) -> Spin:
    """The ball drops after a few turns, is picked up and is launched again while the rotor keeps turning."""
    rng = croupier.rng
    spin = croupier.spin(rng.uniform(1.5, 3.3))
    first = spin.ball
    assert first.turns < VALID_TURNS
    relaunch = croupier.house.launched(
        rng, first.end_s + rng.uniform(3.5, 8.0), rng.uniform(7.0, 16.0), first.direction
    )
    spin.play.runs = [first, relaunch]
    croupier.settle(spin)
    return spin


_ANY = wheel_models.ordinary

CAUGHT: Mapping[str, Kind] = {
    "relaunched_soon": Kind(_ANY, _kind(after=(0.8, 1.8), other_way=False, weak=False)),
    "relaunched_later": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=False, weak=False)),
    "relaunched_long_after": Kind(_ANY, _kind(after=(10.0, 25.0), other_way=False, weak=False)),
    "relaunched_soon_weak": Kind(_ANY, _kind(after=(0.8, 1.8), other_way=False, weak=True)),
    "relaunched_later_weak": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=False, weak=True)),
    "relaunched_beams_2": Kind(wheel_models.two_beams, _kind(after=(1.0, 6.0), other_way=False, weak=False)),
    "wrong_way_then_right": Kind(_ANY, wrong_way_then_right),
    "wrong_way_then_right_later": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=True, weak=False)),
    "wrong_way_then_weak": Kind(_ANY, _kind(after=(0.6, 6.0), other_way=True, weak=True)),
    "stopped_weak": Kind(_ANY, stopped_weak),
    "caught_dropped": Kind(_ANY, caught_dropped),
    "caught_dropped_beams_2": Kind(wheel_models.two_beams, caught_dropped),
    "caught_dropped_late": Kind(_ANY, caught_dropped_late),
    "laid_by_hand": Kind(_ANY, laid_by_hand),
}
"""Spins in which a hand stops the ball, by name."""


LAPS: Mapping[str, Kind] = {
    "laps": Kind(lap_house, Croupier.typical_spin),
    "laps_beams_2": Kind(partial(lap_house, count=2), Croupier.typical_spin),
    "laps_beams_3": Kind(partial(lap_house, count=3, uneven=True), Croupier.typical_spin),
    "laps_beams_8": Kind(partial(lap_house, count=8), Croupier.typical_spin),
    "laps_weak": Kind(lap_house, Croupier.weak),
    "laps_dust": Kind(lap_house, blind_spins.dust),
    "laps_dead_beam": Kind(partial(lap_house, uneven=True), blind_spins.dead_beam),
    "laps_drop_ghost": Kind(lap_house, blind_spins.drop_stray),
    "laps_pushed": Kind(lap_house, pushed),
    "laps_hop": Kind(lap_house, hop),
    "laps_relaunched": Kind(lap_house, CAUGHT["relaunched_later"].play),
    "laps_caught_dropped": Kind(lap_house, CAUGHT["caught_dropped"].play),
}
"""Spins on wheels whose balls follow a table of lap times, by name."""

KINDS: Mapping[str, Kind] = {
    **{name: Kind(house, Croupier.typical_spin) for name, house in HOUSES.items()},
    **BLIND,
    **ODD,
    **CAUGHT,
    **LAPS,
}


def simulate(kind: str, seed: int, n: int = 10) -> tuple[Header, Feed, list[SpinTruth]]:
    """Play `n` spins of one kind on a randomly chosen wheel; the kind and seed determine the session.

    Raises:
        KeyError: If the kind is not in KINDS.
    """
    rng = Random(f"{kind} {seed}")  # noqa: S311 - a reproducible simulation, not a secret
    return played(kind, KINDS[kind], rng, n)


def played(name: str, kind: Kind, rng: Random, n: int) -> tuple[Header, Feed, list[SpinTruth]]:
    """Play `n` spins of a kind with this random generator."""
    croupier = Croupier(rng, kind.house(rng), rng.uniform(1.0, 3.0))
    feed: Feed = []
    truths: list[SpinTruth] = []
    for _ in range(n):
        seen, truth = croupier.sensed(name, kind.play(croupier))
        feed += seen
        truths.append(truth)
    header = Header(table=f"spins-{name}", ruleset="roulette", wheel=croupier.house.wheel)
    return header, in_order_of_arrival(feed), truths


def write(folder: Path, name: str, header: Header, feed: Feed, truths: list[SpinTruth]) -> None:
    """Write a session as `NAME.jsonl` and `NAME.truth.json`."""
    write_log(folder / f"{name}.jsonl", header, feed)
    truth = msgspec.json.format(msgspec.json.encode(truths), indent=1)
    (folder / f"{name}.truth.json").write_bytes(truth + b"\n")
