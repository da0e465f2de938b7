"""Spins in which the dealer's hand, the ball or a thing in the track makes the trouble.

Each kind plays one scene at its house and says what is right where the turns alone do not.
"""

from collections.abc import Mapping
from dataclasses import replace

from controller.model.readings import AnyReading, BallOut, ForeignObject
from drivers.sim import houses
from drivers.sim.croupier import Croupier, Kind, Spin
from drivers.sim.rotor import Push
from drivers.sim.wheel_sensors import WHEEL

# --- rotor ---


def pushed(hand: Croupier) -> Spin:
    """The dealer pushes the rotor by 3 to 15 % within 12 s before the launch."""
    rng = hand.rng
    times = 1 + rng.choice((1, 1, -1)) * rng.uniform(0.03, 0.15)
    return hand.spin(
        pushes=lambda launch_s: [Push(launch_s - rng.uniform(0.4, 12.0), rng.uniform(0.15, 0.5), times=times)]
    )


def pushed_twice(hand: Croupier) -> Spin:
    """The dealer pushes the rotor twice before the launch, the second time just before it."""
    rng = hand.rng

    def pushes(launch_s: float) -> list[Push]:
        first = Push(launch_s - rng.uniform(5.0, 10.0), 0.3, times=rng.uniform(1.03, 1.15))
        return [first, Push(launch_s - rng.uniform(0.5, 3.0), 0.3, times=rng.uniform(1.03, 1.1))]

    return hand.spin(pushes=pushes)


def pushed_in_run(hand: Croupier) -> Spin:
    """The dealer pushes the rotor while the ball runs."""
    rng = hand.rng
    times = rng.uniform(1.03, 1.15)
    return hand.spin(pushes=lambda launch_s: [Push(launch_s + rng.uniform(0.5, 6.0), 0.3, times=times)])


def turned_before(hand: Croupier) -> Spin:
    """The dealer turns the rotor around three to nine seconds before the launch."""
    rng = hand.rng
    spin = hand.spin(
        pushes=lambda launch_s: [Push(launch_s - rng.uniform(3.0, 9.0), rng.uniform(0.8, 1.6), times=-1.0)],
        same_way=True,
    )
    # The way that the rotor turned before: against it as it turns now.
    spin.reasons.clear()
    spin.may.clear()
    spin.launch = "strong"
    return spin


def reversed_in_run(hand: Croupier) -> Spin:
    """The dealer turns the rotor around while the ball runs."""
    rng = hand.rng
    spin = hand.spin(
        rng.uniform(10.0, 22.0),
        pushes=lambda launch_s: [Push(launch_s + rng.uniform(2.0, 4.0), 1.0, times=-1.0)],
    )
    spin.reasons.append("rotor_reversed")
    spin.may.add("review")
    return spin


# --- pockets ---


def hop(hand: Croupier) -> Spin:
    """The ball lies in one pocket for a turn or two and then hops into another."""
    spin = hand.spin(longer_turns=2.5)
    fall = spin.play.fall
    assert fall is not None
    count = len(hand.house.wheel.pockets_clockwise)
    other = (fall.pocket(count) + hand.rng.randint(2, count - 2)) / count
    place = hand.house.wheel.pocket_reader_deg / 360
    seen = [t for t, _ in spin.play.rotor.passes(place, other) if t > fall.settle_s]
    spin.play.rests.append((other, seen[hand.rng.randint(0, 1)] + hand.rng.uniform(0.2, 0.8)))
    # A bounce that happened to be read in that pocket a turn before would make three of two.
    spin.play.fall = replace(fall, legs=())
    return spin


def taken_early(hand: Croupier) -> Spin:
    """The dealer takes the ball out after one or two turns."""
    spin = hand.spin()
    fall = spin.play.fall
    assert fall is not None
    turn_s = 1 / abs(spin.play.rotor.speed_at(fall.settle_s))
    spin.play.lift_s = fall.settle_s + hand.rng.uniform(0.6, 1.9) * turn_s
    hand.waits(spin)
    spin.must, spin.doubt = {"review", "void"}, "reads"
    return spin


# --- things and balls that do not belong ---


def _object(t_s: float, where: str) -> AnyReading:
    return ForeignObject(t=round(t_s * 1e6), dev=WHEEL, where=where)


def object_in_run(hand: Croupier) -> Spin:
    """Something falls into the wheel while the ball runs or falls."""
    spin = hand.spin()
    t_s = hand.rng.uniform(spin.launch_s + 1.0, spin.ball.end_s + 0.8)
    spin.extra.append(_object(t_s, hand.rng.choice(("track", "rotor"))))
    spin.reasons.append("foreign_object")
    return spin


def object_before(hand: Croupier) -> Spin:
    """Something falls into the wheel less than a second before the ball is seen."""
    spin = hand.spin()
    spin.extra.append(_object(spin.launch_s - hand.rng.uniform(0.05, 0.35), "track"))
    spin.reasons.append("foreign_object")
    return spin


def object_long_before(hand: Croupier) -> Spin:
    """Something fell into the wheel, and was taken out, seconds before the launch."""
    spin = hand.spin()
    spin.extra.append(_object(spin.launch_s - hand.rng.uniform(2.0, 6.0), "felt"))
    return spin


def second_ball(hand: Croupier) -> Spin:
    """A second ball is launched while the first one runs."""
    spin = hand.spin(hand.rng.uniform(9.0, 20.0))
    rng, first = hand.rng, spin.ball
    late = first.launch_s + rng.uniform(0.4, 4.0)
    second = hand.house.launched(rng, late, rng.uniform(6.0, 15.0), first.way)
    spin.play.runs = sorted([first, second], key=lambda run: run.end_s)
    hand.settle(spin)
    spin.must, spin.doubt = {"void", "review"}, "second ball"
    spin.reasons.append("foreign_object")
    return spin


def ball_out(hand: Croupier) -> Spin:
    """The ball jumps out of the wheel and is seen outside."""
    spin = hand.spin()
    spin.play.fall = None
    spin.extra.append(BallOut(t=round((spin.ball.end_s + hand.rng.uniform(0.2, 1.5)) * 1e6), dev=WHEEL))
    spin.play.lift_s = spin.ball.end_s
    hand.waits(spin)
    spin.reasons.append("ball_out")
    return spin


def ball_out_of_track(hand: Croupier) -> Spin:
    """The ball jumps out of the track in mid-run and is seen outside."""
    spin = hand.spin()
    spin.play.runs = [spin.ball.caught(hand.rng.uniform(1.5, 5.0))]
    spin.play.fall = None
    spin.extra.append(BallOut(t=round((spin.ball.end_s + hand.rng.uniform(0.1, 0.8)) * 1e6), dev=WHEEL))
    spin.play.lift_s = spin.ball.end_s
    hand.waits(spin)
    spin.reasons.append("ball_out")
    return spin


def ball_gone(hand: Croupier) -> Spin:
    """The ball jumps out of the wheel and nobody sees it."""
    spin = hand.spin()
    spin.play.fall = None
    spin.play.lift_s = spin.ball.end_s
    hand.waits(spin)
    spin.reasons.append("ball_out")
    spin.unclear("unseen", "review")
    return spin


_PLAIN = houses.ordinary

ODD: Mapping[str, Kind] = {
    "pushed": Kind(_PLAIN, pushed),
    "pushed_knee": Kind(houses.with_knee, pushed),
    "pushed_fast": Kind(houses.fast_rotor, pushed),
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
"""Spins with a pushed rotor, a hopping ball or what does not belong there, by name."""
