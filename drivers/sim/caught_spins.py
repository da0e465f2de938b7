"""Balls that a hand stops in the track: launched again, dropped, or never launched at all."""

from collections.abc import Callable, Mapping

from drivers.sim import houses
from drivers.sim.ball import Run
from drivers.sim.croupier import VALID_TURNS, Croupier, Kind, Spin


def _relaunched(hand: Croupier, *, after: tuple[float, float], other_way: bool, turns: float) -> Spin:
    """Catch a ball after one to six turns and launch it again; `other_way` is how it ran first."""
    rng = hand.rng
    spin = hand.spin(turns)
    second = spin.ball
    caught = rng.uniform(1.0, 3.6) if rng.random() < 0.75 else rng.uniform(4.2, 6.0)
    way = -second.way if other_way else second.way
    first = hand.house.launched(rng, spin.launch_s, rng.uniform(8.0, 15.0), way).caught(caught)
    pause_s = rng.uniform(*after)
    relaunch = hand.house.launched(rng, first.end_s + pause_s, turns, second.way)
    spin.play.runs = [first, relaunch]
    hand.settle(spin)
    spin.launch = "strong" if turns > 6 else "weak"
    if relaunch.turns < VALID_TURNS:
        spin.unclear("two runs", "review")
    if pause_s < 1.2:
        # The hand's way from the catch to the launch is as short as a beam's gap late in a run.
        spin.unclear("relaunched at once", "review")
    return spin


def _kind(*, after: tuple[float, float], other_way: bool, weak: bool) -> Callable[[Croupier], Spin]:
    def play(hand: Croupier) -> Spin:
        turns = hand.rng.uniform(2.6, 5.6) if weak else hand.rng.uniform(7.0, 16.0)
        return _relaunched(hand, after=after, other_way=other_way, turns=turns)

    return play


def caught_dropped(hand: Croupier) -> Spin:
    """A ball is caught before its fourth turn, held for seconds, and dropped into the rotor."""
    rng = hand.rng
    spin = hand.spin(rng.uniform(9.0, 18.0))
    caught = spin.ball.caught(rng.uniform(1.0, 3.6))
    held_s = rng.uniform(3.0, 7.0)
    spin.play.runs = [caught]
    hand.settle(spin)
    spin.faults.drop_ghosts_s.append(caught.end_s + held_s)
    _laid_at(hand, spin, caught.end_s + held_s)
    spin.must, spin.doubt = {"void", "review"}, "caught"
    spin.reasons.append("too_few_revolutions")
    return spin


def caught_dropped_late(hand: Croupier) -> Spin:
    """A ball is caught after five turns or more, held for seconds, and dropped into the rotor."""
    rng = hand.rng
    spin = hand.spin(rng.uniform(12.0, 18.0))
    caught = spin.ball.caught(rng.uniform(5.0, 8.0))
    held_s = rng.uniform(3.0, 7.0)
    spin.play.runs = [caught]
    hand.settle(spin)
    spin.faults.drop_ghosts_s.append(caught.end_s + held_s)
    _laid_at(hand, spin, caught.end_s + held_s)
    spin.must, spin.doubt = {"void", "review", "call"}, "no sensor tells a hand from a drop"
    return spin


def laid_by_hand(hand: Croupier) -> Spin:
    """A ball is laid into a pocket: the hand cuts a beam or two, and the ball never ran."""
    rng = hand.rng
    spin = hand.spin(8.0)
    laid_s = spin.launch_s + rng.uniform(0.5, 1.5)
    beams = len(hand.house.wheel.beams_deg)
    spin.play.runs = [Run(spin.launch_s, 0.0, 1, (spin.launch_s, spin.launch_s + 0.01), 0.0, dropped=False)]
    for _ in range(rng.randint(1, 2)):
        spin.faults.ghosts_s.append((spin.launch_s + rng.uniform(0.0, 0.8), rng.randrange(beams)))
    if rng.random() < 0.5:
        spin.faults.drop_ghosts_s.append(laid_s)
    _laid_at(hand, spin, laid_s)
    spin.launch = "laid"
    spin.must, spin.doubt = {"void", "review", "nothing"}, "never ran"
    spin.reasons.append("too_few_revolutions")
    return spin


def _laid_at(hand: Croupier, spin: Spin, laid_s: float) -> None:
    """Have the ball come to rest so long after its run ended."""
    fall = spin.play.fall
    assert fall is not None
    later_s = laid_s + hand.rng.uniform(0.2, 1.0)
    spin.play.fall = type(fall)((), later_s, fall.behind)
    hand.lies(spin, later_s)


def wrong_way_then_right(hand: Croupier) -> Spin:
    """A ball launched the rotor's way is stopped and launched again against it, a second or so later."""
    return _relaunched(hand, after=(0.6, 2.0), other_way=True, turns=hand.rng.uniform(7.0, 16.0))


def stopped_weak(hand: Croupier) -> Spin:
    """A ball runs its few turns, drops, is taken up at once, and launched again while the rotor turns on."""
    rng = hand.rng
    spin = hand.spin(rng.uniform(1.5, 3.3))
    first = spin.ball
    assert first.turns < VALID_TURNS
    again = hand.house.launched(rng, first.end_s + rng.uniform(3.5, 8.0), rng.uniform(7.0, 16.0), first.way)
    spin.play.runs = [first, again]
    hand.settle(spin)
    return spin


_ANY = houses.ordinary

CAUGHT: Mapping[str, Kind] = {
    "relaunched_soon": Kind(_ANY, _kind(after=(0.8, 1.8), other_way=False, weak=False)),
    "relaunched_later": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=False, weak=False)),
    "relaunched_long_after": Kind(_ANY, _kind(after=(10.0, 25.0), other_way=False, weak=False)),
    "relaunched_soon_weak": Kind(_ANY, _kind(after=(0.8, 1.8), other_way=False, weak=True)),
    "relaunched_later_weak": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=False, weak=True)),
    "relaunched_beams_2": Kind(houses.two_beams, _kind(after=(1.0, 6.0), other_way=False, weak=False)),
    "wrong_way_then_right": Kind(_ANY, wrong_way_then_right),
    "wrong_way_then_right_later": Kind(_ANY, _kind(after=(2.0, 8.0), other_way=True, weak=False)),
    "wrong_way_then_weak": Kind(_ANY, _kind(after=(0.6, 6.0), other_way=True, weak=True)),
    "stopped_weak": Kind(_ANY, stopped_weak),
    "caught_dropped": Kind(_ANY, caught_dropped),
    "caught_dropped_beams_2": Kind(houses.two_beams, caught_dropped),
    "caught_dropped_late": Kind(_ANY, caught_dropped_late),
    "laid_by_hand": Kind(_ANY, laid_by_hand),
}
"""Balls that a hand stopped, by name."""
