"""Spins in which something goes wrong: with the sensors, the rotor, the ball, or in the track.

Each kind plays one scene at its house and says what is right where the turns alone do not.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from controller.model.readings import AnyReading, BallOut, DeviceDown, DeviceUp, ForeignObject
from drivers.sim import houses
from drivers.sim.croupier import VALID_TURNS, Croupier, Spin
from drivers.sim.rotor import Push
from drivers.sim.wheel_sensors import WHEEL

Play = Callable[[Croupier], Spin]


class Kind(NamedTuple):
    """Where it is played, and what happens."""

    house: houses.Draw
    play: Play


# --- the sensors ---


def dust_missed(hand: Croupier) -> Spin:
    """Up to one pulse in five is missed."""
    spin = hand.any_spin()
    spin.faults.missed = hand.rng.uniform(0.05, 0.2)
    return spin


def dust_doubled(hand: Croupier) -> Spin:
    """Up to one pulse in five comes twice."""
    spin = hand.any_spin()
    spin.faults.doubled = hand.rng.uniform(0.05, 0.2)
    return spin


def dust(hand: Croupier) -> Spin:
    """Pulses are missed and come twice, up to one in five of each."""
    spin = hand.any_spin()
    spin.faults.missed, spin.faults.doubled = hand.rng.uniform(0.05, 0.2), hand.rng.uniform(0.05, 0.2)
    return spin


def ghosts(hand: Croupier) -> Spin:
    """Beams fire at nothing, every other second to every fifth."""
    spin = hand.any_spin()
    spin.faults.ghosts_hz = hand.rng.uniform(0.2, 0.5)
    if spin.ball.turns < VALID_TURNS + 0.5:
        spin.unclear("ghosts", "review")
    return spin


def dust_and_ghosts(hand: Croupier) -> Spin:
    """One pulse in five is missed or not the ball's."""
    spin = hand.spin()
    spin.faults.missed = 0.1
    spin.faults.ghosts_hz = 0.1 * len(hand.house.wheel.beams_deg) * 0.8
    return spin


def ghost_before(hand: Croupier) -> Spin:
    """A beam fires at nothing one to six seconds before the launch."""
    spin = hand.any_spin()
    beam = hand.rng.randrange(len(hand.house.wheel.beams_deg))
    spin.faults.ghosts_s.append((spin.launch_s - hand.rng.uniform(1.0, 6.0), beam))
    spin.begun_before = True
    if spin.ball.turns < VALID_TURNS:
        spin.unclear("ghosts", "review")
    return spin


def ghost_after(hand: Croupier) -> Spin:
    """A beam fires at nothing while the ball lies in its pocket."""
    spin = hand.any_spin()
    assert spin.play.fall is not None
    beam = hand.rng.randrange(len(hand.house.wheel.beams_deg))
    spin.faults.ghosts_s.append((spin.play.fall.settle_s + hand.rng.uniform(0.2, 3.0), beam))
    return spin


def dead_beam(hand: Croupier) -> Spin:
    """One beam is dead all evening."""
    spin = hand.any_spin()
    dead = int(hand.house.wheel.pocket_reader_deg) % len(hand.house.wheel.beams_deg)
    spin.faults.dead_beams = frozenset((dead,))
    return spin


def dead_beam_dust(hand: Croupier) -> Spin:
    """One beam is dead all evening, and the others are dusty."""
    spin = dead_beam(hand)
    spin.faults.missed = hand.rng.uniform(0.02, 0.08)
    return spin


def dying_beam(hand: Croupier) -> Spin:
    """A beam dies in mid-run."""
    spin = hand.spin()
    spin.faults.dead_beams = frozenset((hand.rng.randrange(len(hand.house.wheel.beams_deg)),))
    spin.faults.dead_from_s = hand.rng.uniform(spin.launch_s, spin.ball.end_s)
    return spin


def drop_ghost(hand: Croupier) -> Spin:
    """The drop sensor fires at nothing in mid-run."""
    spin = hand.spin()
    turns = hand.rng.uniform(1.5, spin.ball.turns - 2.0)
    spin.faults.drop_ghosts_s.append(spin.ball.at(turns))
    return spin


def drop_unsensed(hand: Croupier) -> Spin:
    """The drop sensor misses the ball."""
    spin = hand.any_spin()
    spin.faults.drop_unsensed = True
    spin.unclear("drop", "review")
    return spin


def silent_middle(hand: Croupier) -> Spin:
    """No beam says anything for half a turn to three turns of the ball in mid-run."""
    spin = hand.spin(hand.rng.uniform(9.0, 22.0))
    begin = hand.rng.uniform(1.0, spin.ball.turns - 5.0)
    spin.faults.silent_beams.append((spin.ball.at(begin), spin.ball.at(begin + hand.rng.uniform(0.5, 3.0))))
    spin.unclear("silence", "review")
    return spin


def silent_end(hand: Croupier) -> Spin:
    """No beam says anything in the last two to four turns before the drop."""
    spin = hand.spin(hand.rng.uniform(9.0, 22.0))
    begin = spin.ball.turns - hand.rng.uniform(2.0, 4.0)
    spin.faults.silent_beams.append((spin.ball.at(begin), spin.ball.end_s + 0.5))
    spin.unclear("silence", "review")
    return spin


def silent_launch(hand: Croupier) -> Spin:
    """The wheel says nothing for 1.3 to 2.5 turns of its rotor, from before the launch into the run."""
    spin = hand.spin(hand.rng.uniform(4.5, 16.0))
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = spin.ball.at(hand.rng.uniform(0.3, spin.ball.turns - 0.6))
    spin.faults.silent.append((ends - turn_s * hand.rng.uniform(1.3, 2.5), ends))
    spin.unclear("blind", "review")
    return spin


def silent_before(hand: Croupier) -> Spin:
    """The wheel says nothing for a turn or two of its rotor, and is back before the launch."""
    spin = hand.any_spin()
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = spin.launch_s - hand.rng.uniform(0.2, 1.5) * turn_s
    begins = max(ends - turn_s * hand.rng.uniform(1.0, 2.5), hand.now_s)
    spin.faults.silent.append((begins, ends))
    if spin.launch_s - ends < 2.5 * turn_s:
        spin.unclear("blind", "review")
    return spin


def _away(spin: Spin, begins_s: float, ends_s: float) -> None:
    spin.faults.silent.append((begins_s, ends_s))
    gone = DeviceDown(t=round(begins_s * 1e6), dev=WHEEL, reason="unplugged")
    spin.extra += [gone, DeviceUp(t=round(ends_s * 1e6), dev=WHEEL)]


def board_away_before(hand: Croupier) -> Spin:
    """The wheel's board is away for some seconds, and back more than three rotor turns before the launch."""
    spin = hand.any_spin()
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = max(hand.now_s + 1.0, spin.launch_s - hand.rng.uniform(3.0, 4.0) * turn_s)
    _away(spin, max(hand.now_s + 0.2, ends - hand.rng.uniform(1.0, 5.0)), ends)
    spin.unclear("away", "review")
    return spin


def board_away_at(hand: Croupier) -> Spin:
    """The wheel's board is away at the launch, and back in mid-run."""
    spin = hand.spin(hand.rng.uniform(4.5, 18.0))
    ends = spin.ball.at(hand.rng.uniform(0.2, spin.ball.turns - 0.6))
    _away(spin, max(hand.now_s + 0.2, spin.launch_s - hand.rng.uniform(0.2, 6.0)), ends)
    spin.unclear("away", "review")
    return spin


def board_away_during(hand: Croupier) -> Spin:
    """The wheel's board goes away in mid-run and is back before the ball is taken out."""
    spin = hand.spin()
    begins = spin.ball.at(hand.rng.uniform(0.5, spin.ball.turns - 0.3))
    _away(spin, begins, begins + hand.rng.uniform(0.5, 8.0))
    spin.unclear("away", "review")
    return spin


def board_away_after(hand: Croupier) -> Spin:
    """The wheel's board goes away after the drop and is back soon."""
    spin = hand.spin()
    begins = spin.ball.end_s + hand.rng.uniform(0.3, 3.0)
    _away(spin, begins, begins + hand.rng.uniform(0.3, 3.0))
    spin.unclear("away", "review")
    return spin


def index_missed(hand: Croupier) -> Spin:
    """The index sensor misses the rotor's mark now and then."""
    spin = hand.any_spin()
    spin.faults.index_missed = hand.rng.uniform(0.08, 0.2)
    spin.unclear("index", "review")
    return spin


def index_doubled(hand: Croupier) -> Spin:
    """The index sensor bounces."""
    spin = hand.any_spin()
    spin.faults.index_doubled = hand.rng.uniform(0.1, 0.4)
    return spin


def second_mark(hand: Croupier) -> Spin:
    """A scratch on the rotor works the index sensor too, each time or now and then."""
    spin = hand.any_spin()
    spin.faults.second_mark = hand.rng.choice((0.5, hand.rng.uniform(0.1, 0.9)))
    spin.faults.second_mark_seen = hand.rng.choice((1.0, 1.0, 0.6))
    spin.unclear("index", "review")
    return spin


def reader_missed(hand: Croupier) -> Spin:
    """The pocket reader misses a turn now and then."""
    spin = hand.spin(longer_turns=hand.rng.uniform(3.0, 5.0))
    spin.faults.reader_missed = hand.rng.uniform(0.1, 0.3)
    spin.unclear("reads", "review")
    return spin


def reader_ghost(hand: Croupier) -> Spin:
    """The pocket reader sees something that is not there, once, while the ball lies."""
    spin = hand.any_spin()
    spin.faults.reader_ghosts = 1
    spin.unclear("reads", "review")
    return spin


def reader_dead(hand: Croupier) -> Spin:
    """The pocket reader says nothing."""
    spin = hand.spin()
    spin.faults.reader_dead = True
    _wait_for_reads(spin)
    spin.must, spin.doubt = {"review", "void"}, "reads"
    return spin


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
    return spin


def taken_early(hand: Croupier) -> Spin:
    """The dealer takes the ball out after one or two turns."""
    spin = hand.spin()
    fall = spin.play.fall
    assert fall is not None
    turn_s = 1 / abs(spin.play.rotor.speed_at(fall.settle_s))
    spin.play.lift_s = fall.settle_s + hand.rng.uniform(0.6, 1.9) * turn_s
    _wait_for_reads(spin)
    spin.must, spin.doubt = {"review", "void"}, "reads"
    return spin


def _wait_for_reads(spin: Spin) -> None:
    """Let the rotor turn on for more turns than a table waits for a read."""
    since_s = max(spin.play.lift_s, spin.ball.end_s)
    turn_s = 1 / max(0.12, abs(spin.play.rotor.speed_at(since_s)))
    spin.play.end_s = min(since_s + 7.5 * turn_s, spin.play.rotor.end_s)


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
    spin.unclear("object", "review")
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
    _wait_for_reads(spin)
    spin.reasons.append("ball_out")
    return spin


def ball_gone(hand: Croupier) -> Spin:
    """The ball jumps out of the wheel and nobody sees it."""
    spin = hand.spin()
    spin.play.fall = None
    spin.play.lift_s = spin.ball.end_s
    _wait_for_reads(spin)
    spin.reasons.append("ball_out")
    spin.unclear("unseen", "review")
    return spin


_PLAIN = houses.ordinary
_FEW = houses.three_or_four
_TWO = houses.two_beams

FAULTY: Mapping[str, Kind] = {
    "dust_missed": Kind(_PLAIN, dust_missed),
    "dust_doubled": Kind(_PLAIN, dust_doubled),
    "dust": Kind(_PLAIN, dust),
    "dust_beams_2": Kind(_TWO, dust),
    "ghosts": Kind(_PLAIN, ghosts),
    "ghosts_beams_2": Kind(_TWO, ghosts),
    "dust_and_ghosts": Kind(_PLAIN, dust_and_ghosts),
    "dust_tilted": Kind(houses.tilted, dust),
    "ghost_before": Kind(_PLAIN, ghost_before),
    "ghost_after": Kind(_PLAIN, ghost_after),
    "dead_beam": Kind(_FEW, dead_beam),
    "dead_beam_8": Kind(houses.beams(8, uneven=False), dead_beam),
    "dead_beam_dust": Kind(houses.beams(4, uneven=True), dead_beam_dust),
    "dying_beam": Kind(_FEW, dying_beam),
    "drop_ghost": Kind(_PLAIN, drop_ghost),
    "drop_unsensed": Kind(_PLAIN, drop_unsensed),
    "silent_middle": Kind(_PLAIN, silent_middle),
    "silent_end": Kind(_PLAIN, silent_end),
    "silent_launch": Kind(_PLAIN, silent_launch),
    "silent_before": Kind(_PLAIN, silent_before),
    "board_away_before": Kind(_PLAIN, board_away_before),
    "board_away_at": Kind(_PLAIN, board_away_at),
    "board_away_during": Kind(_PLAIN, board_away_during),
    "board_away_after": Kind(_PLAIN, board_away_after),
    "index_missed": Kind(_PLAIN, index_missed),
    "index_doubled": Kind(_PLAIN, index_doubled),
    "second_mark": Kind(_PLAIN, second_mark),
    "reader_missed": Kind(_PLAIN, reader_missed),
    "reader_ghost": Kind(_PLAIN, reader_ghost),
    "reader_dead": Kind(_PLAIN, reader_dead),
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
    "ball_gone": Kind(_PLAIN, ball_gone),
}
"""Spins in which something goes wrong, by name."""
