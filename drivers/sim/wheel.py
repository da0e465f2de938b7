"""Simulated sessions at a wheel, with the ground truth of each spin."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from controller.model.geometry import STANDARD_POCKETS, Wheel
from controller.model.readings import BallOut, DeviceDown, DeviceUp, ForeignObject, Input
from drivers.sim.croupier import Accepted, Croupier, House, Spin, SpinTruth
from drivers.sim.scenes import Feed, Header, Scene, Truth, Verdict, in_order_of_arrival
from drivers.sim.spins import hop as hopping
from drivers.sim.wheel_motion import Bearing, Bowl, LossLaw, Push, draw_grain
from drivers.sim.wheel_sensors import WHEEL, Optics

LAUNCHES_AFTER_S = (8.0, 12.0)
_SEEN_AFTER_S = 2.0
"""Time after a launch by which the beams have detected a lap of the ball, so that the table has noticed the
spin."""
AMERICAN = Wheel(
    pockets="american",
    pockets_clockwise=STANDARD_POCKETS["american"],
    beams_deg=(25, 140, 262),
    pocket_reader_deg=340,
    rotor_index_deg=115,
    drop_rev_per_s=0.47,
)
EUROPEAN = Wheel(
    pockets="european",
    pockets_clockwise=STANDARD_POCKETS["european"],
    beams_deg=(5, 70, 160, 285),
    pocket_reader_deg=200,
    rotor_index_deg=12,
    drop_rev_per_s=0.52,
)


def draw_wheel_geometry(rng: Random) -> Wheel:
    """Draw an American or European wheel with two to five beams and sensors at arbitrary angles.

    The beams' uneven spacing shows the ball's direction.
    """
    pockets = rng.choice(("american", "european"))
    while True:
        beams = sorted(rng.sample(range(360), rng.randint(2, 5)))
        gaps = [(b - a) % 360 for a, b in zip(beams, [*beams[1:], beams[0]], strict=True)]
        if min(gaps) >= 35 and (len(beams) > 2 or max(gaps) >= 225):
            break
    order = rng.sample(beams, len(beams)) if rng.random() < 0.3 else beams
    return Wheel(
        pockets=pockets,
        pockets_clockwise=STANDARD_POCKETS[pockets],
        beams_deg=tuple(float(beam) for beam in order),
        pocket_reader_deg=float(rng.randrange(360)),
        rotor_index_deg=float(rng.randrange(360)),
        drop_rev_per_s=round(rng.uniform(0.41, 0.56), 3),
    )


def draw_house(rng: Random, wheel: Wheel) -> House:
    """Draw the track, the ball and the rotor of a wheel in working order."""
    return House(
        wheel=wheel,
        law=LossLaw(friction=rng.uniform(0.022, 0.05), drag=rng.uniform(0.015, 0.035)),
        bowl=Bowl(
            drop_speed=wheel.drop_rev_per_s * (1 + max(-0.03, min(0.03, rng.gauss(0, 0.015)))),
            tilt_deg=rng.uniform(0.0, 0.06),
            lowest=rng.random(),
            grain=draw_grain(rng.gauss, rng.uniform(0.0, 0.05)),
        ),
        optics=Optics(),
        bearing=Bearing(fraction=rng.uniform(0.0016, 0.005)),
        rotor_speeds=(0.24, 0.5),
    )


def croupier_at(rng: Random, wheel: Wheel, begin_s: float) -> Croupier:
    """Return a croupier at a wheel in working order."""
    return Croupier(rng, draw_house(rng, wheel), begin_s, LAUNCHES_AFTER_S)


@dataclass(frozen=True, slots=True)
class RuledSpin:
    """A spin, with the result of a person's later ruling."""

    spin: Spin
    may_add: tuple[str, ...] = ()
    ruled: Literal["called", "corrected", "unruled"] | None = None
    ruled_number: str | None = None


def _draw_valid(croupier: Croupier, low: float = 6.5) -> Spin:
    return croupier.spin(croupier.rng.uniform(low, 28.0))


def valid(croupier: Croupier) -> RuledSpin:
    """A spin without any disturbance."""
    return RuledSpin(_draw_valid(croupier))


def glitchy(croupier: Croupier) -> RuledSpin:
    """Beams occasionally produce double pulses."""
    spin = _draw_valid(croupier)
    spin.faults.doubled = croupier.rng.uniform(0.03, 0.12)
    return RuledSpin(spin)


def stray_pulse(croupier: Croupier) -> RuledSpin:
    """A beam produces one pulse without a ball."""
    spin = _draw_valid(croupier)
    t_s = croupier.rng.uniform(spin.launch_s + 2, spin.ball.end_s - 0.2)
    spin.faults.strays_s.append((t_s, croupier.rng.randrange(len(croupier.house.wheel.beams_deg))))
    spin.also_accept("ghosts", "review")
    return RuledSpin(spin)


def missed_pulses(croupier: Croupier) -> RuledSpin:
    """Beams occasionally miss the ball."""
    spin = _draw_valid(croupier, 8)
    spin.faults.missed = croupier.rng.uniform(0.03, 0.1)
    return RuledSpin(spin)


def dying_beam(croupier: Croupier) -> RuledSpin:
    """One beam fails in the middle of a spin."""
    spin = _draw_valid(croupier, 9)
    beams = len(croupier.house.wheel.beams_deg)
    spin.faults.dead_beams = frozenset((croupier.rng.randrange(beams),))
    spin.faults.dead_from_s = croupier.rng.uniform(spin.launch_s, spin.ball.end_s)
    if beams == 2:
        # One beam alone can't show the ball's direction, if the other one fails before it is known.
        spin.also_accept("direction", "review")
    return RuledSpin(spin)


def short_spin(croupier: Croupier) -> RuledSpin:
    """The ball makes only 1.8 to 2.8 turns."""
    return RuledSpin(croupier.spin(croupier.rng.uniform(1.8, 2.8)))


def edge_short(croupier: Croupier) -> RuledSpin:
    """The ball makes slightly fewer than four turns."""
    return _doubtful(croupier, 3.2, 3.45)


def edge_long(croupier: Croupier) -> RuledSpin:
    """The ball makes slightly more than four turns."""
    return _doubtful(croupier, 4.5, 4.8)


def edge(croupier: Croupier) -> RuledSpin:
    """The ball makes 3.5 to 4.5 turns."""
    return _doubtful(croupier, 3.5, 4.5)


def _doubtful(croupier: Croupier, low: float, high: float) -> RuledSpin:
    spin = croupier.spin(croupier.rng.uniform(low, high))
    spin.also_accept("turns", "review")
    return RuledSpin(spin)


def same_direction(croupier: Croupier) -> RuledSpin:
    """The ball runs in the rotor's direction."""
    spin = croupier.spin(croupier.rng.uniform(6.5, 28.0), same_way=True)
    spin.may.clear()
    return RuledSpin(spin)


def foreign_object(croupier: Croupier) -> RuledSpin:
    """A foreign object falls into the wheel."""
    spin = _draw_valid(croupier)
    t_s = croupier.rng.uniform(spin.launch_s + 0.5, spin.ball.end_s + 1.0)
    where = croupier.rng.choice(("track", "rotor"))
    spin.extra.append(ForeignObject(t=round(1e6 * t_s), dev=WHEEL, where=where))
    spin.reasons.append("foreign_object")
    return RuledSpin(spin)


def ball_out(croupier: Croupier) -> RuledSpin:
    """The ball jumps out of the wheel and is detected outside."""
    played = ball_gone(croupier)
    spin = played.spin
    t_s = spin.ball.end_s + croupier.rng.uniform(0.3, 1.5)
    spin.extra.append(BallOut(t=round(1e6 * t_s), dev=WHEEL))
    spin.may.clear()
    return played


def ball_gone(croupier: Croupier) -> RuledSpin:
    """The ball jumps out of the wheel undetected; the pocket reader reports nothing."""
    spin = _draw_valid(croupier)
    spin.play.fall = None
    spin.play.lift_s = spin.ball.end_s
    croupier.turn_empty_rotor(spin)
    spin.reasons.append("ball_out")
    spin.also_accept("unseen", "review")
    return RuledSpin(spin)


def rotor_reversed(croupier: Croupier) -> RuledSpin:
    """The dealer reverses the rotor while the ball runs."""
    # At the reversal, even the slowest rotor has made almost two turns since the launch, and the
    # ball is still running.
    after_s = croupier.rng.uniform(8.0, 9.5)
    spin = croupier.spin(
        croupier.rng.uniform(10.0, 28.0),
        pushes=lambda launch_s: [Push(launch_s + after_s, 1.0, times=-1.0)],
    )
    spin.reasons.append("rotor_reversed")
    return RuledSpin(spin, may_add=("same_direction",))


def hop(croupier: Croupier) -> RuledSpin:
    """The ball hops to a different pocket after resting for one or two turns of the rotor."""
    return RuledSpin(hopping(croupier))


def missed_index(croupier: Croupier) -> RuledSpin:
    """The index sensor occasionally misses the rotor's mark."""
    spin = _draw_valid(croupier)
    spin.faults.index_missed = 0.12
    spin.also_accept("index", "review")
    return RuledSpin(spin)


def stray_read(croupier: Croupier) -> RuledSpin:
    """The pocket reader produces one stray pulse while the ball is at rest."""
    spin = _draw_valid(croupier)
    spin.faults.reader_strays = 1
    spin.also_accept("reads", "review")
    return RuledSpin(spin)


def drop_unsensed(croupier: Croupier) -> RuledSpin:
    """The drop sensor misses the ball."""
    spin = _draw_valid(croupier)
    spin.faults.drop_unsensed = True
    spin.also_accept("drop", "review")
    return RuledSpin(spin)


def dealer_no_spin(croupier: Croupier) -> RuledSpin:
    """The dealer calls No Spin while the ball runs."""
    spin = _draw_valid(croupier)
    _add_input(spin, croupier.rng.uniform(spin.launch_s + _SEEN_AFTER_S, spin.ball.end_s), "no_spin")
    spin.reasons.append("called")
    return RuledSpin(spin)


def dealer_no_spin_late(croupier: Croupier) -> RuledSpin:
    """The dealer corrects a published number to No Spin."""
    spin = _draw_valid(croupier)
    _add_input(spin, spin.play.lift_s + 0.2, "no_spin")
    return RuledSpin(spin, ruled="corrected")


def dealer_sets_number(croupier: Croupier) -> RuledSpin:
    """The dealer corrects a published number."""
    spin = _draw_valid(croupier)
    other = croupier.rng.choice(
        [n for n in croupier.house.wheel.pockets_clockwise if n != croupier.number(spin)]
    )
    _add_input(spin, spin.play.lift_s + 0.2, "set_number", other)
    return RuledSpin(spin, ruled="corrected", ruled_number=other)


def dealer_early_no_more_bets(croupier: Croupier) -> RuledSpin:
    """The dealer calls No More Bets before the controller does."""
    spin = _draw_valid(croupier, 10)
    _add_input(spin, spin.launch_s + 1.5, "no_more_bets")
    return RuledSpin(spin)


def wheel_down(croupier: Croupier) -> RuledSpin:
    """The wheel's board fails while the ball runs, and recovers before the dealer removes the ball."""
    spin = _draw_valid(croupier)
    fall = spin.play.fall
    assert fall is not None
    down_s = croupier.rng.uniform(spin.launch_s + _SEEN_AFTER_S, spin.ball.end_s - 0.1)
    up_s = max(fall.settle_s + croupier.rng.uniform(-0.5, 1.5), down_s + 0.5)
    spin.faults.silent.append((down_s, up_s))
    spin.extra += [
        DeviceDown(t=round(1e6 * down_s), dev=WHEEL, reason="unplugged"),
        DeviceUp(t=round(1e6 * up_s), dev=WHEEL),
    ]
    spin.must = {"review"}
    if croupier.rng.random() < 0.5:
        _add_input(spin, spin.play.lift_s + 0.2, "set_number", croupier.number(spin))
        return RuledSpin(spin, ruled="called", ruled_number=croupier.number(spin))
    return RuledSpin(spin, ruled="unruled")


def _add_input(spin: Spin, t_s: float, name: str, number: str | None = None) -> None:
    entered = Input(t=round(t_s * 1e6), dev="console", name=name, by="dealer", number=number)
    spin.extra.append(entered)


_ALL: tuple[Callable[[Croupier], RuledSpin], ...] = (
    valid,
    glitchy,
    stray_pulse,
    missed_pulses,
    dying_beam,
    short_spin,
    edge_short,
    edge_long,
    edge,
    same_direction,
    foreign_object,
    ball_out,
    ball_gone,
    rotor_reversed,
    hop,
    missed_index,
    stray_read,
    drop_unsensed,
    dealer_no_spin,
    dealer_no_spin_late,
    dealer_sets_number,
    dealer_early_no_more_bets,
    wheel_down,
)
KINDS: Mapping[str, Callable[[Croupier], RuledSpin]] = {kind.__name__: kind for kind in _ALL}

Mix = Mapping[str, float]
USUAL: Mix = {name: 12.0 if name == "valid" else 1.0 for name in KINDS}
"""Weights by kind. A third of the spins are valid ones without disturbances."""


_VERDICTS: Mapping[Accepted, Verdict] = {"call": "valid", "void": "void", "review": "review"}


def spin(
    kind: str,
    rng: Random,
    start_us: int,
    *,
    wheel: Wheel = AMERICAN,
    dead_beams: frozenset[int] = frozenset(),
) -> tuple[Scene, Feed]:
    """Return one spin of a kind, beginning at `start_us`; the beams in `dead_beams` have failed.

    Raises:
        KeyError: If the kind is not in KINDS.
    """
    return _play(kind, croupier_at(rng, wheel, start_us / 1e6), dead_beams)


def _play(kind: str, croupier: Croupier, dead_beams: frozenset[int]) -> tuple[Scene, Feed]:
    played = KINDS[kind](croupier)
    script = played.spin
    if dead_beams:
        script.faults.dead_beams, script.faults.dead_from_s = dead_beams, 0.0
    seen, truth = croupier.sensed(kind, script)
    end_us = max(reading.t for _, reading in seen)
    start_us = round(script.launch_s * 1e6)
    return Scene(kind=kind, start_us=start_us, end_us=end_us, truth=_truth(played, truth)), seen


def _truth(played: RuledSpin, truth: SpinTruth) -> Truth:
    verdict: Verdict = "void" if truth.reasons else "valid"
    if truth.accept == ["review"]:
        verdict = "review"
    return Truth(
        verdict=verdict,
        allowed=tuple(_VERDICTS[word] for word in truth.accept),
        reasons=tuple(truth.reasons) if verdict == "void" else (),
        may_add=played.may_add,
        number=truth.number if verdict == "valid" else None,
        revolutions=float(truth.note["turns"]),
        drop_us=truth.t_drop,
        ruled=played.ruled,
        ruled_number=played.ruled_number,
    )


def simulate(
    seed: int,
    mix: Mix = USUAL,
    n: int = 15,
    *,
    wheel: Wheel | None = None,
    dead_beams: frozenset[int] = frozenset(),
    rules: str = "roulette",
) -> tuple[Header, Feed, list[Scene]]:
    """Play `n` spins with kinds drawn from `mix`, on a random wheel if `wheel` is None.

    The same seed produces the same session. The first spin is always valid. The beams in `dead_beams` have
    failed.
    """
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    wheel = wheel or draw_wheel_geometry(rng)
    scenes: list[Scene] = []
    feed: Feed = []
    croupier = croupier_at(rng, wheel, rng.uniform(0.5, 2.0))
    for kind in ["valid", *rng.choices(list(mix), list(mix.values()), k=n - 1)]:
        scene, seen = _play(kind, croupier, dead_beams)
        scenes.append(scene)
        feed.extend(seen)
    header = Header(table=f"sim-wheel-{seed}", ruleset=rules, wheel=wheel)
    return header, in_order_of_arrival(feed), scenes
