"""Simulated evenings at a roulette wheel: spins of every kind, with the truth of each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

import msgspec

from controller.model.geometry import Wheel
from controller.model.pockets import STANDARD_POCKETS
from controller.model.readings import BallOut, DeviceDown, DeviceUp, ForeignObject, PocketBall
from drivers.sim.scenes import Feed, Header, Scene, Truth, Verdict, in_order_of_arrival
from drivers.sim.spinner import WHEEL, Spin, Spinner, turned_around

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


def some_wheel(rng: Random) -> Wheel:
    """Draw a wheel: American or European, two to five beams, sensors at any angles.

    The beams are never spaced so evenly or so oppositely that they could not tell which way the ball runs.
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


def _call(hand: Spinner, spin: Spin, *, may_review: bool = False) -> Spin:
    allowed: tuple[Verdict, ...] = ("valid", "review") if may_review else ("valid",)
    return _is(spin, Truth(verdict="valid", allowed=allowed, number=hand.number(spin)))


def _void(spin: Spin, reason: str, *, may_review: bool = False, may_add: str = "") -> Spin:
    allowed: tuple[Verdict, ...] = ("void", "review") if may_review else ("void",)
    more = (may_add,) if may_add else ()
    return _is(spin, Truth(verdict="void", allowed=allowed, reasons=(reason,), may_add=more))


def _is(spin: Spin, truth: Truth) -> Spin:
    spin.truth = truth
    return spin


def valid(hand: Spinner) -> Spin:
    """Run an honest spin."""
    return _call(hand, hand.spin(hand.good_turns()))


def glitchy(hand: Spinner) -> Spin:
    """Beams fire twice now and then."""
    spin = hand.spin(hand.good_turns())
    spin.doubled = hand.rng.uniform(0.03, 0.12)
    return _call(hand, spin)


def stray_pulse(hand: Spinner) -> Spin:
    """A beam fires once while the ball is elsewhere."""
    spin = hand.spin(hand.good_turns())
    spin.strays = 1
    return _call(hand, spin, may_review=True)


def missed_pulses(hand: Spinner) -> Spin:
    """Beams miss the ball now and then."""
    spin = hand.spin(hand.rng.uniform(8, 28))
    spin.missed = hand.rng.uniform(0.03, 0.1)
    return _call(hand, spin)


def dying_beam(hand: Spinner) -> Spin:
    """One beam of three or more dies in the middle of a spin."""
    spin = hand.spin(hand.rng.uniform(9, 28))
    if len(hand.wheel.beams_deg) > 2:
        spin.dead_beams = frozenset((hand.rng.randrange(len(hand.wheel.beams_deg)),))
        spin.dead_from_s = hand.rng.uniform(spin.ball.launch_s, spin.ball.drop_s)
    return _call(hand, spin)


def short_spin(hand: Spinner) -> Spin:
    """The ball makes two or three turns only."""
    return _void(hand.spin(hand.rng.uniform(1.8, 2.85)), "too_few_revolutions")


def edge_short(hand: Spinner) -> Spin:
    """The ball falls somewhat short of four turns."""
    spin = hand.spin(hand.rng.uniform(3.2, 3.45))
    return _void(spin, "too_few_revolutions", may_review=True)


def edge_long(hand: Spinner) -> Spin:
    """The ball makes somewhat more than four turns."""
    return _call(hand, hand.spin(hand.rng.uniform(4.5, 4.8)), may_review=True)


def edge(hand: Spinner) -> Spin:
    """The ball makes as near four turns as can be."""
    turns = hand.rng.uniform(3.5, 4.5)
    spin = hand.spin(turns)
    if turns >= 4:
        return _call(hand, spin, may_review=True)
    return _void(spin, "too_few_revolutions", may_review=True)


def same_direction(hand: Spinner) -> Spin:
    """The ball runs the rotor's way."""
    spin = hand.spin(hand.good_turns())
    spin.rotors = [replace(spin.rotors[0], way=spin.ball.way)]
    return _void(spin, "same_direction")


def foreign_object(hand: Spinner) -> Spin:
    """Something falls into the wheel."""
    spin = hand.spin(hand.good_turns())
    t = round(1e6 * hand.rng.uniform(spin.ball.launch_s + 0.5, spin.settle_s))
    spin.extra.append(ForeignObject(t=t, dev=WHEEL, where=hand.rng.choice(("track", "rotor"))))
    return _void(spin, "foreign_object")


def ball_out(hand: Spinner) -> Spin:
    """The ball jumps out of the wheel and is seen outside."""
    spin = _ball_gone(hand)
    t = round(1e6 * (spin.ball.drop_s + hand.rng.uniform(0.3, 1.5)))
    spin.extra.append(BallOut(t=t, dev=WHEEL))
    return _void(spin, "ball_out")


def ball_gone(hand: Spinner) -> Spin:
    """The ball jumps out unseen: the reader falls silent."""
    return _void(_ball_gone(hand), "ball_out", may_review=True)


def _ball_gone(hand: Spinner) -> Spin:
    spin = hand.spin(hand.good_turns())
    spin.reader_dead = True
    rotor = spin.rotors[0]
    spin.rotors = [replace(rotor, end_s=rotor.end_s + 16, slowing=rotor.slowing * 0.4)]
    return spin


def rotor_reversed(hand: Spinner) -> Spin:
    """The dealer turns the rotor around while the ball runs."""
    spin = hand.spin(hand.rng.uniform(10, 28))
    middle = (spin.ball.launch_s + spin.ball.drop_s) / 2
    turned_around(spin, middle + hand.rng.uniform(-1.5, 1.0))
    return _void(spin, "rotor_reversed", may_add="same_direction")


def hop(hand: Spinner) -> Spin:
    """The ball lies in one pocket for a turn or two and then hops into another."""
    spin = hand.spin(hand.good_turns(), longer_turns=2.5)
    count = len(hand.wheel.pockets_clockwise)
    spin.rests.append(((spin.pocket + hand.rng.randint(2, count - 2)) % count, hand.rng.randint(1, 2)))
    # A bounce that happened to look like one turn more in that pocket would make three of two.
    spin.bounces_s = ()
    return _call(hand, spin)


def missed_index(hand: Spinner) -> Spin:
    """The index sensor misses the rotor's mark now and then."""
    spin = hand.spin(hand.good_turns())
    spin.missed_index = 0.12
    return _call(hand, spin, may_review=True)


def stray_read(hand: Spinner) -> Spin:
    """The pocket reader sees something that is not there, once, while the ball lies."""
    spin = hand.spin(hand.good_turns())
    t = round(1e6 * hand.rng.uniform(spin.settle_s + 0.3, spin.settle_s + 7))
    spin.extra.append(PocketBall(t=t, dev=WHEEL))
    return _call(hand, spin, may_review=True)


def drop_unsensed(hand: Spinner) -> Spin:
    """The drop sensor misses the ball."""
    spin = hand.spin(hand.good_turns())
    spin.drop_unsensed = True
    return _call(hand, spin, may_review=True)


def dealer_no_spin(hand: Spinner) -> Spin:
    """The dealer calls No Spin while the ball runs."""
    spin = hand.spin(hand.good_turns())
    hand.say(spin, hand.rng.uniform(spin.ball.launch_s + 1, spin.ball.drop_s), "no_spin")
    return _void(spin, "called")


def dealer_no_spin_late(hand: Spinner) -> Spin:
    """The dealer calls No Spin after the number was called: a correction."""
    spin = hand.spin(hand.good_turns())
    hand.say(spin, spin.lift_s + 0.2, "no_spin")
    spin = _call(hand, spin)
    assert spin.truth is not None
    return _is(spin, msgspec.structs.replace(spin.truth, ruled="corrected"))


def dealer_sets_number(hand: Spinner) -> Spin:
    """The dealer rules that another number won, after the call: a correction."""
    spin = hand.spin(hand.good_turns())
    other = hand.rng.choice([n for n in hand.wheel.pockets_clockwise if n != hand.number(spin)])
    hand.say(spin, spin.lift_s + 0.2, "set_number", other)
    spin = _call(hand, spin)
    assert spin.truth is not None
    return _is(spin, msgspec.structs.replace(spin.truth, ruled="corrected", ruled_number=other))


def dealer_early_no_more_bets(hand: Spinner) -> Spin:
    """The dealer calls No More Bets before the controller would."""
    spin = hand.spin(hand.rng.uniform(10, 28))
    hand.say(spin, spin.ball.launch_s + 1.5, "no_more_bets")
    return _call(hand, spin)


def wheel_down(hand: Spinner) -> Spin:
    """The wheel's board goes down in flight and is back before the ball is taken out."""
    spin = hand.spin(hand.good_turns())
    down = round(1e6 * hand.rng.uniform(spin.ball.launch_s + 0.5, spin.ball.drop_s - 0.1))
    up = round(1e6 * (spin.settle_s + hand.rng.uniform(-0.5, 1.5)))
    spin.blind = (down, max(up, down + 500_000))
    spin.extra.extend(
        (DeviceDown(t=down, dev=WHEEL, reason="unplugged"), DeviceUp(t=spin.blind[1], dev=WHEEL))
    )
    if hand.rng.random() < 0.5:
        hand.say(spin, spin.lift_s + 0.2, "set_number", hand.number(spin))
        truth = Truth(verdict="review", allowed=("review",), ruled="called", ruled_number=hand.number(spin))
        return _is(spin, truth)
    return _is(spin, Truth(verdict="review", allowed=("review",), ruled="unruled"))


_ALL: tuple[Callable[[Spinner], Spin], ...] = (
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
KINDS: Mapping[str, Callable[[Spinner], Spin]] = {kind.__name__: kind for kind in _ALL}
"""Every kind of spin by name."""

Mix = Mapping[str, float]
USUAL: Mix = {name: 12.0 if name == "valid" else 1.0 for name in KINDS}
"""A third of the spins plainly valid, the others of every kind."""


def spin(
    kind: str,
    rng: Random,
    start_us: int,
    *,
    wheel: Wheel = AMERICAN,
    dead_beams: frozenset[int] = frozenset(),
) -> tuple[Scene, Feed]:
    """Build one spin of a kind that begins at `start_us`; `dead_beams` have been dead all evening.

    Raises:
        KeyError: the kind is not one of KINDS.
    """
    hand = Spinner(rng, wheel, start_us)
    script = KINDS[kind](hand)
    if dead_beams:
        script.dead_beams, script.dead_from_s = dead_beams, 0.0
    seen = hand.sense(script)
    assert script.truth is not None
    truth = msgspec.structs.replace(
        script.truth, revolutions=round(script.ball.turns, 3), drop_us=script.drop_us
    )
    end_us = max(reading.t for _, reading in seen)
    return Scene(kind=kind, start_us=round(script.ball.launch_s * 1e6), end_us=end_us, truth=truth), seen


def evening(
    seed: int,
    mix: Mix = USUAL,
    n: int = 15,
    *,
    wheel: Wheel | None = None,
    dead_beams: frozenset[int] = frozenset(),
    rules: str = "roulette",
) -> tuple[Header, Feed, list[Scene]]:
    """Play `n` spins of the kinds of a mix (kind: weight), on a drawn wheel where none is given.

    The same seed gives the same evening. The first spin is an honest one.
    """
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    wheel = wheel or some_wheel(rng)
    scenes: list[Scene] = []
    feed: Feed = []
    now = rng.randint(500_000, 2_000_000)
    for kind in ["valid", *rng.choices(list(mix), list(mix.values()), k=n - 1)]:
        scene, seen = spin(kind, rng, now, wheel=wheel, dead_beams=dead_beams)
        scenes.append(scene)
        feed.extend(seen)
        now = scene.end_us + rng.randint(1_200_000, 4_000_000)
    header = Header(table=f"sim-wheel-{seed}", ruleset=rules, wheel=wheel)
    return header, in_order_of_arrival(feed), scenes
