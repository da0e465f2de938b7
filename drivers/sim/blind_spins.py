"""Spins with failing sensors: dust, stray pulses, failed beams, silence, a second mark, or a failed reader.

Each kind plays one scene at a wheel. A kind lists the correct outcomes only if the number of turns does not
determine them.
"""

from collections.abc import Mapping

from controller.model.readings import DeviceDown, DeviceUp
from drivers.sim import wheel_models
from drivers.sim.croupier import VALID_TURNS, Croupier, Kind, Spin
from drivers.sim.wheel_motion import Push
from drivers.sim.wheel_sensors import WHEEL


def dust_missed(croupier: Croupier) -> Spin:
    """The beams miss 5 to 20 % of the pulses."""
    spin = croupier.typical_spin()
    spin.faults.missed = croupier.rng.uniform(0.05, 0.2)
    return spin


def dust_doubled(croupier: Croupier) -> Spin:
    """The beams double 5 to 20 % of the pulses."""
    spin = croupier.typical_spin()
    spin.faults.doubled = croupier.rng.uniform(0.05, 0.2)
    return spin


def dust(croupier: Croupier) -> Spin:
    """The beams miss 5 to 20 % of the pulses and double 5 to 20 % of the others."""
    spin = croupier.typical_spin()
    spin.faults.missed, spin.faults.doubled = croupier.rng.uniform(0.05, 0.2), croupier.rng.uniform(0.05, 0.2)
    return spin


def strays(croupier: Croupier) -> Spin:
    """The beams produce a stray pulse every two to five seconds."""
    spin = croupier.typical_spin()
    spin.faults.strays_hz = croupier.rng.uniform(0.2, 0.5)
    if spin.ball.turns < VALID_TURNS + 0.5:
        spin.also_accept("ghosts", "review")
    return spin


def dust_and_strays(croupier: Croupier) -> Spin:
    """The beams miss one pulse in ten and produce about as many stray pulses."""
    spin = croupier.spin()
    spin.faults.missed = 0.1
    spin.faults.strays_hz = 0.1 * len(croupier.house.wheel.beams_deg) * 0.8
    return spin


def stray_before(croupier: Croupier) -> Spin:
    """A beam produces a stray pulse one to six seconds before the launch."""
    spin = croupier.typical_spin()
    beam = croupier.rng.randrange(len(croupier.house.wheel.beams_deg))
    spin.faults.strays_s.append((spin.launch_s - croupier.rng.uniform(1.0, 6.0), beam))
    spin.begun_before = True
    if spin.ball.turns < VALID_TURNS:
        spin.also_accept("ghosts", "review")
    return spin


def stray_after(croupier: Croupier) -> Spin:
    """A beam produces a stray pulse while the ball lies in its pocket."""
    spin = croupier.typical_spin()
    assert spin.play.fall is not None
    beam = croupier.rng.randrange(len(croupier.house.wheel.beams_deg))
    spin.faults.strays_s.append((spin.play.fall.settle_s + croupier.rng.uniform(0.2, 3.0), beam))
    return spin


def dead_beam(croupier: Croupier) -> Spin:
    """A beam has failed, the same one in every spin of a session."""
    spin = croupier.typical_spin()
    dead = int(croupier.house.wheel.pocket_reader_deg) % len(croupier.house.wheel.beams_deg)
    spin.faults.dead_beams = frozenset((dead,))
    return spin


def dead_beam_dust(croupier: Croupier) -> Spin:
    """A beam has failed, the same one in every spin of a session; the others miss 2 to 8 % of the pulses."""
    spin = dead_beam(croupier)
    spin.faults.missed = croupier.rng.uniform(0.02, 0.08)
    return spin


def dying_beam(croupier: Croupier) -> Spin:
    """A beam fails in mid-run."""
    spin = croupier.spin()
    spin.faults.dead_beams = frozenset((croupier.rng.randrange(len(croupier.house.wheel.beams_deg)),))
    spin.faults.dead_from_s = croupier.rng.uniform(spin.launch_s, spin.ball.end_s)
    return spin


def drop_stray(croupier: Croupier) -> Spin:
    """The drop sensor produces a stray pulse in mid-run."""
    spin = croupier.spin()
    turns = croupier.rng.uniform(1.5, spin.ball.turns - 2.0)
    spin.faults.drop_strays_s.append(spin.ball.at(turns))
    return spin


def drop_unsensed(croupier: Croupier) -> Spin:
    """The drop sensor misses the ball."""
    spin = croupier.typical_spin()
    spin.faults.drop_unsensed = True
    spin.also_accept("drop", "review")
    return spin


def silent_middle(croupier: Croupier) -> Spin:
    """All beams are silent for 0.5 to 3 turns of the ball in mid-run."""
    spin = croupier.spin(croupier.rng.uniform(9.0, 22.0))
    begin = croupier.rng.uniform(1.0, spin.ball.turns - 5.0)
    spin.faults.silent_beams.append(
        (spin.ball.at(begin), spin.ball.at(begin + croupier.rng.uniform(0.5, 3.0)))
    )
    return spin


def silent_end(croupier: Croupier) -> Spin:
    """All beams are silent during the last two to four turns before the drop."""
    spin = croupier.spin(croupier.rng.uniform(9.0, 22.0))
    begin = spin.ball.turns - croupier.rng.uniform(2.0, 4.0)
    spin.faults.silent_beams.append((spin.ball.at(begin), spin.ball.end_s + 0.5))
    spin.also_accept("silence", "review")
    return spin


def silent_launch(croupier: Croupier) -> Spin:
    """The wheel is silent for 1.3 to 2.5 turns of its rotor; the silence ends during the ball's run."""
    spin = croupier.spin(croupier.rng.uniform(4.5, 16.0))
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = spin.ball.at(croupier.rng.uniform(0.3, spin.ball.turns - 0.6))
    spin.faults.silent.append((ends - turn_s * croupier.rng.uniform(1.3, 2.5), ends))
    spin.also_accept("blind", "review")
    return spin


def silent_before(croupier: Croupier) -> Spin:
    """The wheel is silent for up to 2.5 turns of its rotor; the silence ends before the launch."""
    spin = croupier.typical_spin()
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = spin.launch_s - croupier.rng.uniform(0.2, 1.5) * turn_s
    begins = max(ends - turn_s * croupier.rng.uniform(1.0, 2.5), croupier.now_s)
    spin.faults.silent.append((begins, ends))
    if spin.launch_s - ends < 2.5 * turn_s:
        spin.also_accept("blind", "review")
    return spin


def _disconnect_wheel(spin: Spin, begins_s: float, ends_s: float) -> None:
    spin.faults.silent.append((begins_s, ends_s))
    gone = DeviceDown(t=round(begins_s * 1e6), dev=WHEEL, reason="unplugged")
    spin.extra += [gone, DeviceUp(t=round(ends_s * 1e6), dev=WHEEL)]


def board_away_before(croupier: Croupier) -> Spin:
    """The wheel's board is down for up to five seconds.

    If time allows, the board is back three to four turns of the rotor before the launch.
    """
    spin = croupier.typical_spin()
    turn_s = 1 / abs(spin.play.rotor.speed_at(spin.launch_s))
    ends = max(croupier.now_s + 1.0, spin.launch_s - croupier.rng.uniform(3.0, 4.0) * turn_s)
    _disconnect_wheel(spin, max(croupier.now_s + 0.2, ends - croupier.rng.uniform(1.0, 5.0)), ends)
    if spin.launch_s - ends < 2.5 * turn_s:
        spin.also_accept("away", "review")
    return spin


def board_away_at(croupier: Croupier) -> Spin:
    """The wheel's board is down at the launch, and comes back up in mid-run."""
    spin = croupier.spin(croupier.rng.uniform(4.5, 18.0))
    ends = spin.ball.at(croupier.rng.uniform(0.2, spin.ball.turns - 0.6))
    _disconnect_wheel(spin, max(croupier.now_s + 0.2, spin.launch_s - croupier.rng.uniform(0.2, 6.0)), ends)
    spin.also_accept("away", "review")
    return spin


def board_away_during(croupier: Croupier) -> Spin:
    """The wheel's board goes down in mid-run, for up to eight seconds."""
    spin = croupier.spin()
    begins = spin.ball.at(croupier.rng.uniform(0.5, spin.ball.turns - 0.3))
    _disconnect_wheel(spin, begins, begins + croupier.rng.uniform(0.5, 8.0))
    spin.also_accept("away", "review")
    return spin


def board_away_after(croupier: Croupier) -> Spin:
    """The wheel's board goes down after the drop, for up to three seconds."""
    spin = croupier.spin()
    begins = spin.ball.end_s + croupier.rng.uniform(0.3, 3.0)
    _disconnect_wheel(spin, begins, begins + croupier.rng.uniform(0.3, 3.0))
    spin.also_accept("away", "review")
    return spin


def index_missed(croupier: Croupier) -> Spin:
    """The index sensor occasionally misses the rotor's mark."""
    spin = croupier.typical_spin()
    spin.faults.index_missed = croupier.rng.uniform(0.08, 0.2)
    spin.also_accept("index", "review")
    return spin


def index_doubled(croupier: Croupier) -> Spin:
    """The index sensor bounces."""
    spin = croupier.typical_spin()
    spin.faults.index_doubled = croupier.rng.uniform(0.1, 0.4)
    return spin


def second_mark(croupier: Croupier) -> Spin:
    """A scratch on the rotor triggers the index sensor, on every turn or on 60 % of the turns."""
    spin = croupier.typical_spin()
    spin.faults.second_mark = croupier.rng.choice((0.5, croupier.rng.uniform(0.1, 0.9)))
    spin.faults.second_mark_seen = croupier.rng.choice((1.0, 1.0, 0.6))
    spin.also_accept("index", "review")
    return spin


def reader_missed(croupier: Croupier) -> Spin:
    """The pocket reader misses the ball on its second turn, its second and fourth, or its third."""
    spin = croupier.spin(longer_turns=3.0)
    spin.faults.reader_misses = croupier.rng.choice((frozenset((1,)), frozenset((1, 3)), frozenset((2,))))
    return spin


def reader_missed_often(croupier: Croupier) -> Spin:
    """The pocket reader occasionally misses the ball."""
    spin = croupier.spin(longer_turns=croupier.rng.uniform(3.0, 5.0))
    spin.faults.reader_missed = croupier.rng.uniform(0.1, 0.3)
    spin.also_accept("reads", "review")
    return spin


def reader_stray(croupier: Croupier) -> Spin:
    """The pocket reader produces one stray pulse while the ball is at rest."""
    spin = croupier.typical_spin()
    spin.faults.reader_strays = 1
    spin.also_accept("reads", "review")
    return spin


def reader_dead(croupier: Croupier) -> Spin:
    """The pocket reader has failed."""
    spin = croupier.spin()
    spin.faults.reader_dead = True
    croupier.turn_empty_rotor(spin)
    spin.must, spin.doubt = {"review"}, "reads"
    return spin


def worn_wheel(croupier: Croupier) -> Spin:
    """Several faults at once: dust, stray pulses, a bouncing index sensor, and a push before the launch."""
    rng = croupier.rng
    spin = croupier.spin(
        pushes=lambda launch_s: [Push(launch_s - rng.uniform(1.0, 11.0), 0.3, times=rng.uniform(1.0, 1.1))]
    )
    spin.faults.missed, spin.faults.doubled = rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.1)
    spin.faults.strays_hz, spin.faults.index_doubled = rng.uniform(0.0, 0.1), rng.uniform(0.0, 0.1)
    return spin


_PLAIN = wheel_models.ordinary
_FEW = wheel_models.three_or_four
_TWO = wheel_models.two_beams

BLIND: Mapping[str, Kind] = {
    "dust_missed": Kind(_PLAIN, dust_missed),
    "dust_doubled": Kind(_PLAIN, dust_doubled),
    "dust": Kind(_PLAIN, dust),
    "dust_beams_2": Kind(_TWO, dust),
    "ghosts": Kind(_PLAIN, strays),
    "ghosts_beams_2": Kind(_TWO, strays),
    "dust_and_ghosts": Kind(_PLAIN, dust_and_strays),
    "dust_tilted": Kind(wheel_models.tilted, dust),
    "ghost_before": Kind(_PLAIN, stray_before),
    "ghost_after": Kind(_PLAIN, stray_after),
    "dead_beam": Kind(_FEW, dead_beam),
    "dead_beam_8": Kind(wheel_models.beams(8, uneven=False), dead_beam),
    "dead_beam_dust": Kind(wheel_models.beams(4, uneven=True), dead_beam_dust),
    "dying_beam": Kind(_FEW, dying_beam),
    "drop_ghost": Kind(_PLAIN, drop_stray),
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
    "reader_missed_often": Kind(_PLAIN, reader_missed_often),
    "reader_ghost": Kind(_PLAIN, reader_stray),
    "reader_dead": Kind(_PLAIN, reader_dead),
    "worn_wheel": Kind(_PLAIN, worn_wheel),
    "worn_wheel_knee": Kind(wheel_models.tilted_knee, worn_wheel),
    "worn_wheel_beams_2": Kind(_TWO, worn_wheel),
}
"""Spins with failing sensors, by name."""
