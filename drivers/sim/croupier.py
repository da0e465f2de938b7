"""A croupier, who turns the rotor, launches the ball and removes it, and the ground truth of each spin."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Literal, NamedTuple

import msgspec

from controller.model.geometry import Wheel
from controller.model.readings import AnyReading
from drivers.sim.scenes import Feed
from drivers.sim.wheel_motion import Bearing, Bowl, Fall, LossLaw, Push, Rotor, Run, fall, launch_speed, run
from drivers.sim.wheel_sensors import Faults, Optics, Play, SensedSpin, sense

Accepted = Literal["call", "void", "review", "nothing"]
Launch = Callable[[Random, float, float, int], Run]
"""Function that returns a ball's run. Its parameters are a random generator, the launch time (s), the
approximate number of turns, and the direction (+1 or -1)."""

VALID_TURNS = 4
CALL_MARGIN = 0.15
"""A review is as correct as a call if the pulses prove fewer than four turns plus this margin."""
VOID_MARGIN = 0.35
"""A review is as correct as a void if the ball might have made more than four turns minus this margin."""
MAX_SILENT_TURNS = 1.02
"""Maximum gap between two pulses, in turns, at which the pulses still prove a continuous run. On a wheel
with two beams, a missed pulse leaves a gap of exactly one turn."""
MAX_SCENE_S = 150.0
"""Maximum duration of a scene, long enough for seven turns of the slowest rotor after a spin."""


@dataclass(frozen=True)
class House:
    """One wheel, with its geometry, track, ball, rotor and sensors."""

    wheel: Wheel
    law: LossLaw = field(default_factory=LossLaw)
    bowl: Bowl = field(default_factory=Bowl)
    optics: Optics = field(default_factory=Optics)
    bearing: Bearing = field(default_factory=Bearing)
    rotor_speeds: tuple[float, float] = (0.25, 0.5)
    knocked_up: float = 0.03
    launch: Launch | None = None
    """Model of the ball's run, used instead of the equation of motion unless it is None."""

    def launched(self, rng: Random, launch_s: float, turns: float, direction: int) -> Run:
        """Return a run of about this many turns."""
        if self.launch is not None:
            return self.launch(rng, launch_s, turns, direction)
        speed = launch_speed(self.law, self.bowl, turns)
        return run(
            self.law, self.bowl, launch_s=launch_s, start=rng.random(), direction=direction, speed=speed
        )


class SpinTruth(msgspec.Struct, kw_only=True):
    """The ground truth of a scene, as written to a truth file; times are in us.

    `accept` lists the correct outcomes: call (with the number), void, review, or nothing if the table may
    ignore the scene. In a scene with two launches `accept` applies to the second launch; the first must not
    be called.
    """

    kind: str
    t0: int
    t_drop: int
    number: str | None
    verdict: Literal["valid", "no_spin"]
    reasons: list[str]
    undecidable: str | None
    accept: list[Accepted]
    note: dict[str, float | int | str]
    t_end: int


@dataclass(slots=True)
class Spin:
    """One scene, which its kind modifies before the sensors observe it."""

    play: Play
    faults: Faults
    pushes: list[Push]
    launch_s: float
    extra: list[AnyReading] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """Reasons for a No Spin, except too few turns."""
    may: set[Accepted] = field(default_factory=set)
    """Correct outcomes besides the verdict; `doubt` is the reason for them."""
    doubt: str | None = None
    must: set[Accepted] | None = None
    """The only correct outcomes; None if they follow from the number of turns."""
    launch: str = "strong"
    begun_before: bool = False
    """Whether a pulse precedes the launch. The table may publish it as a separate attempt, but must not call
    that attempt."""

    @property
    def ball(self) -> Run:
        """The ball's last run."""
        return self.play.runs[-1]

    def also_accept(self, reason: str, *accepted: Accepted) -> None:
        """Accept these outcomes besides the verdict."""
        self.may |= set(accepted)
        self.doubt = self.doubt or reason


class Croupier:
    """A croupier who plays successive scenes at one wheel, whose rotor keeps turning."""

    def __init__(
        self,
        rng: Random,
        house: House,
        begin_s: float = 2.0,
        launches_after_s: tuple[float, float] = (13.0, 18.0),
    ) -> None:
        """Begin a session; `launches_after_s` is the range of delays between a scene's start and the
        launch."""
        self.rng, self.house = rng, house
        self.now_s = begin_s
        self._launches_after_s = launches_after_s
        self._mark = rng.random()
        self._speed = rng.choice((1, -1)) * rng.uniform(*house.rotor_speeds)

    def spin(
        self,
        turns: float | None = None,
        *,
        same_way: bool = False,
        pushes: Callable[[float], list[Push]] = lambda _launch_s: [],
        longer_turns: float = 0.0,
    ) -> Spin:
        """Turn the rotor and launch the ball against it or, with `same_way`, in its direction.

        `pushes` returns further pushes of the rotor, given the launch time. The ball stays at rest for
        `longer_turns` additional turns.
        """
        rng, house = self.rng, self.house
        launch_s = self.now_s + rng.uniform(*self._launches_after_s)
        direction = rng.choice((1, -1))
        speed = direction * rng.uniform(*house.rotor_speeds)
        launch_push = Push(self.now_s + rng.uniform(0.6, 2.5), rng.uniform(0.6, 1.6), speed)
        all_pushes = [launch_push, *pushes(launch_s)]
        rotor = Rotor(
            self.now_s,
            self.now_s + MAX_SCENE_S,
            mark=self._mark,
            speed=self._speed,
            bearing=house.bearing,
            pushes=all_pushes,
        )
        turns = rng.uniform(7.0, 25.0) if turns is None else turns
        ball = house.launched(rng, launch_s, turns, direction if same_way else -direction)
        spin = Spin(Play([ball], rotor, None), Faults(), all_pushes, launch_s)
        if same_way:
            spin.reasons.append("same_direction")
            spin.may.add("review")
            spin.launch = "same_way"
        self.settle(spin, longer_turns=longer_turns)
        return spin

    def typical_spin(self) -> Spin:
        """Return a typical spin: mostly a strong launch, sometimes a weak one, one with a hand in a beam, or
        one in the rotor's direction.
        """
        kind = self.rng.choices(("strong", "weak", "hand", "same_way"), (60, 20, 10, 10))[0]
        match kind:
            case "weak":
                return self.weak()
            case "hand":
                spin = self.spin()
                beam = self.rng.randrange(len(self.house.wheel.beams_deg))
                spin.faults.strays_s.append((spin.launch_s - self.rng.uniform(0.25, 0.5), beam))
                spin.launch = "hand"
                return spin
            case "same_way":
                return self.spin(same_way=True)
            case _:
                return self.spin()

    def weak(self) -> Spin:
        """Return a weak spin of 2.7 to 5.6 turns."""
        spin = self.spin(self.rng.uniform(2.7, 5.6))
        spin.launch = "weak"
        return spin

    def settle(self, spin: Spin, longer_turns: float = 0.0) -> None:
        """Make the last ball fall and come to rest, and remove the ball after five or six turns of the
        rotor plus `longer_turns`."""
        rng, play = self.rng, spin.play
        pockets = len(self.house.wheel.pockets_clockwise)
        play.fall = fall(rng, play.runs[-1], play.rotor, knocked_up=self.house.knocked_up, pockets=pockets)
        self.rest_then_lift(spin, play.fall.settle_s, longer_turns)

    def rest_then_lift(self, spin: Spin, since_s: float, longer_turns: float = 0.0) -> None:
        """Remove the ball five or six turns of the rotor plus `longer_turns` after `since_s`, and end the
        scene."""
        rng, play = self.rng, spin.play
        turn_s = 1 / max(0.1, abs(play.rotor.speed_at(since_s)))
        play.lift_s = min(since_s + (longer_turns + rng.uniform(5.2, 6.4)) * turn_s, play.rotor.end_s - 3)
        play.end_s = min(play.lift_s + rng.uniform(1.0, 3.0), play.rotor.end_s)

    def turn_empty_rotor(self, spin: Spin) -> None:
        """Turn the empty rotor for longer than the table waits for a pocket reading."""
        since_s = max(spin.play.lift_s, spin.ball.end_s)
        turn_s = 1 / max(0.12, abs(spin.play.rotor.speed_at(since_s)))
        spin.play.end_s = min(since_s + 7.5 * turn_s, spin.play.rotor.end_s)

    def number(self, spin: Spin) -> str | None:
        """Return the winning number; None if the ball does not come to rest."""
        order = self.house.wheel.pockets_clockwise
        return None if spin.play.fall is None else order[spin.play.fall.pocket(len(order))]

    def rest_in_pocket(self, spin: Spin, pocket: int, since_s: float) -> None:
        """Make the ball lie in a pocket from `since_s` onwards; `pocket` counts clockwise from the mark."""
        spin.play.fall = Fall((), since_s, pocket / len(self.house.wheel.pockets_clockwise))

    def sensed(self, kind: str, spin: Spin) -> tuple[Feed, SpinTruth]:
        """Return a scene's readings in order of arrival, and its ground truth.

        The next scene begins where this scene ends.
        """
        rng, play = self.rng, spin.play
        play.begin_s = self.now_s
        play.rotor.end_s = play.end_s
        sensed = sense(rng, self.house.wheel, self.house.optics, play, spin.faults)
        readings = sorted([*sensed.readings, *spin.extra], key=lambda reading: reading.t)
        feed = [(r.t + rng.randint(1000, 3000), r) for r in readings]
        truth = self._truth(kind, spin, sensed)
        self._mark = play.rotor.mark_at(play.end_s) % 1.0
        self._speed = play.rotor.speed_at(play.end_s)
        self.now_s = play.end_s
        return sorted(feed, key=lambda item: item[0]), truth

    def _truth(self, kind: str, spin: Spin, sensed: SensedSpin) -> SpinTruth:
        ball = spin.ball
        proof = prove_turns(self.house.wheel, ball, sensed, spin.faults)
        reasons = list(spin.reasons)
        short = ball.turns < VALID_TURNS
        if short and spin.must is None:
            reasons.append("too_few_revolutions")
        accepted: set[Accepted] = {"void"} if reasons else {"call"}
        doubt = spin.doubt
        if not short and proof.low < VALID_TURNS + CALL_MARGIN:
            accepted.add("review")
            doubt = doubt or ("turns" if proof.low < VALID_TURNS else None)
        if short and proof.high > VALID_TURNS - VOID_MARGIN:
            accepted.add("review")
            doubt = doubt or ("turns" if proof.high >= VALID_TURNS else None)
        if proof.longest_gap > MAX_SILENT_TURNS:
            accepted.add("review")
            doubt = doubt or "silence"
        accepted = spin.must or accepted | spin.may
        return SpinTruth(
            kind=f"{kind}/{spin.launch}",
            t0=round((spin.launch_s - 0.7) * 1e6),
            t_drop=round(ball.end_s * 1e6),
            number=self.number(spin),
            verdict="no_spin" if reasons or spin.must == {"void"} else "valid",
            reasons=reasons,
            undecidable=doubt,
            accept=sorted(accepted),
            note={
                "turns": round(ball.turns, 3),
                "low": round(proof.low, 3),
                "high": round(proof.high, 3),
                "hole": round(proof.longest_gap, 3),
                "cuts": proof.cuts,
                "runs": len(spin.play.runs),
                "before": int(spin.begun_before or len(spin.play.runs) > 1),
                "drop_speed": round(ball.end_speed, 3),
                "rotor": round(abs(spin.play.rotor.speed_at(spin.launch_s)), 3),
                "beams": len(self.house.wheel.beams_deg),
            },
            t_end=round(spin.play.end_s * 1e6),
        )


class Kind(NamedTuple):
    """A kind of spin, with the functions that draw its wheel and play it."""

    house: Callable[[Random], House]
    play: Callable[[Croupier], Spin]


@dataclass(frozen=True, slots=True)
class PulseEvidence:
    """The evidence in a run's pulses: minimum and maximum number of turns, longest gap between two pulses (in
    turns), and number of pulses."""

    low: float
    high: float
    longest_gap: float
    cuts: int


def prove_turns(wheel: Wheel, ball: Run, sensed: SensedSpin, faults: Faults) -> PulseEvidence:
    """Return the evidence in the pulses that a ball's run caused.

    Before the first pulse, the ball might have travelled up to the full distance from the preceding beam.
    """
    inside = [t for t, _ in sensed.pulses_s if ball.launch_s - 0.01 <= t <= ball.end_s + 0.05]
    if not inside:
        return PulseEvidence(0.0, ball.turns, ball.turns, 0)
    places = [min(ball.turns_at(t), ball.turns) for t in inside]
    low = ball.turns - places[0]
    first = (ball.start + ball.direction * places[0]) % 1.0
    living = [deg for beam, deg in enumerate(wheel.beams_deg) if beam not in faults.dead_beams]
    backs = [((first - deg / 360) * ball.direction) % 1.0 for deg in living]
    back = min((gap for gap in backs if gap > 0.02), default=1.0)
    ends = [*places, ball.turns]
    return PulseEvidence(low, low + back, max(b - a for a, b in pairwise(ends)), len(inside))
