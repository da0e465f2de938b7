"""The causes of a No Spin and of a review. Each rule is one function with one id."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from math import inf, isfinite
from operator import sub

from controller.model.geometry import Wheel
from controller.model.readings import (
    TURNING_IN_WORDS,
    BallBeam,
    BallDrop,
    BallOut,
    DeviceFault,
    ForeignObject,
    PocketBall,
    Reading,
    RotorIndex,
    Turning,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Notice, Reason
from controller.rules.wheel.ball import BallRun, turns_of_other_ball
from controller.rules.wheel.devices import SILENT_TURNS, Absence, find_silence_before, without_repeats
from controller.rules.wheel.learned import Learned
from controller.rules.wheel.trace import Reversal, SpinTrace

RULES = {
    "same_direction": "R-IRR-1",
    "too_few_revolutions": "R-IRR-2",
    "foreign_object": "R-IRR-3",
    "ball_out": "!R-8",
    "rotor_reversed": "!R-8",
    "missing_reading": "R-SPIN-4",
    "conflict": "R-SPIN-4",
    "revolutions_unclear": "R-SPIN-2",
}
"""Rule behind each cause, for rule sets that name none."""
_OUTSIDE_THE_WHEEL = frozenset({"felt", "layout", "table"})
_DROP_SPEED_TOLERANCE = 0.3
"""Maximum relative difference between a ball's drop speed and the wheel's: a few per cent, plus the effect of
a tilted bowl."""
_MAX_UNSEEN_SPEED_RATIO = 2.0
"""Maximum ratio of an unseen launch speed to the first measured speed."""
_MAX_STRAY_FRACTION = 0.15
"""Fraction of stray pulses above which the direction alone is not enough to void a spin."""
_MARK_OVERDUE_TURNS = 1.3
"""Number of turns since the mark's last pass after which the next pass is overdue. A board that missed the
mark might also have missed the launch."""
SENSED = frozenset({BallBeam, BallDrop, BallOut, ForeignObject, PocketBall, RotorIndex})
"""Readings of a wheel's sensors."""


class Case:
    """One spin as presented to the judge: the readings, and the run that the ball's pulses show."""

    def __init__(
        self, trace: SpinTrace, ball: BallRun | None, seen: Sequence[Reading], decided_at_us: int
    ) -> None:
        """`ball` is None if the pulses are not those of a ball that slows down; `seen` holds the
        trace's readings."""
        self.trace = trace
        self.ball = ball
        self.seen = seen
        self.decided_at_us = decided_at_us
        self.wheel: Wheel = trace.wheel
        self.rules: SpinRules = trace.rules
        self.learned: Learned = trace.learned
        """Values learned about the wheel before this spin."""
        self.reversal = self._find_reversal()
        """First change of the rotor's direction after the launch."""
        self.rotor_direction: Turning | None = (
            trace.rotor_direction if self.reversal is None else self.reversal.before
        )
        """Rotor's direction at the launch; None if no index pass shows it."""
        self.at_rest_us: int | None = (
            None if trace.pockets.confirmed is None else trace.pockets.agreeing[0].reading.t
        )
        """Time by which the ball had certainly come to rest; None if this is not certain."""
        self.launch_hidden_by = self._find_what_hid_launch()
        """Absence or fault that might have hidden the ball's launch and first turns."""
        self.max_turns = self._find_max_turns()
        """Maximum number of turns of the ball; infinite if nothing limits it."""
        self.drop_fits = self._check_drop_fits()
        """Whether the ball had approximately the wheel's drop speed when the drop was sensed."""

    def rule(self, code: str) -> str:
        """Return the id of the rule behind a cause."""
        return self.rules.causes.get(code, RULES[code])

    def reason(self, code: str, seen: str) -> Reason:
        """Return a reason with a cause and its description."""
        return Reason(code=code, rule=self.rule(code), seen=seen)

    def turns_seen(self) -> str:
        """Describe the ball's turns, as in "3.6 turns (3.5 to 3.7), 4 required"."""
        assert self.ball is not None
        ball = self.ball
        most = f"to {self.max_turns:.1f}" if isfinite(self.max_turns) else "or more"
        return (
            f"{ball.turns:.1f} turns ({ball.turns_from:.1f} {most}), {self.rules.min_revolutions:g} required"
        )

    @property
    def began_us(self) -> int:
        """Time of the ball's first pulse."""
        if self.ball is not None:
            return self.ball.passes[0].t
        pulses = self.trace.pulses
        return pulses[0].t if pulses else self.decided_at_us

    def _find_reversal(self) -> Reversal | None:
        if not self.trace.reversals:
            return None
        began_us = self.began_us
        return next((change for change in self.trace.reversals if change.last_us >= began_us), None)

    def _find_what_hid_launch(self) -> Absence | DeviceFault | None:
        devices, began_us = self.trace.devices, self.began_us
        if (
            hidden_by := devices.find_absence_at_launch(began_us) or devices.find_fault("ball_beam")
        ) is not None:
            return hidden_by
        dev = next((pulse.dev for pulse in self.trace.pulses), "")
        passes = without_repeats([mark for mark in self.trace.index_passes if mark.dev == dev])
        # If the mark passed within a lap before the first pulse, the ball might already have been running.
        search_times_us = began_us, began_us - self._first_lap_us()
        for at in dict.fromkeys([bisect_left(passes, since_us, key=time_of) for since_us in search_times_us]):
            passes_us = [mark.t for mark in passes[:at]]
            hidden_by = find_silence_before(dev, passes_us, began_us) or self._find_overdue(passes, at)
            if hidden_by is not None:
                return hidden_by
        return None

    def _first_lap_us(self) -> int:
        """Return the duration of a lap at the ball's initial speed; 0 if the ball passed only one beam."""
        if self.ball is None or len(self.ball.passes) < 2:
            return 0
        first, second = self.ball.passes[:2]
        return round((second.t - first.t) / (second.turns - first.turns))

    def _find_overdue(self, passes: Sequence[RotorIndex], at: int) -> Absence | None:
        """Return the absence from the mark's last pass to the ball's first pulse, if the mark was overdue.

        The gap that is checked ends with pass `at`, or with the decision if no pass followed. The duration of
        the turn after the gap, or of the turn before it if none follows, decides whether the mark was
        overdue. If the pass was due only after the ball's first pulse, only the index sensor missed
        something, and the result is None.
        """
        if not at or (at < len(passes) and passes[at - 1].direction != passes[at].direction):
            return None
        last = passes[at - 1]
        first_us = passes[at].t if at < len(passes) else self.decided_at_us
        turn_before_us = last.t - passes[at - 2].t if at >= 2 else inf
        turn_us = passes[at + 1].t - first_us if at + 1 < len(passes) else turn_before_us
        if (
            first_us - last.t <= _MARK_OVERDUE_TURNS * turn_us
            or last.t + min(turn_us, turn_before_us) > self.began_us
        ):
            return None
        return Absence(last.dev, last.t, self.began_us)

    def _find_max_turns(self) -> float:
        ball, hidden_by = self.ball, self.launch_hidden_by
        if ball is None:
            return inf
        if hidden_by is None:
            return ball.turns_to
        if isinstance(hidden_by, DeviceFault):
            return inf
        if len(ball.passes) < 2:
            return inf
        first, second = ball.passes[:2]
        speed = _MAX_UNSEEN_SPEED_RATIO * (second.turns - first.turns) * 1e6 / (second.t - first.t)
        return max(ball.turns_to, ball.turns + speed * (first.t - hidden_by.since_us) / 1e6)

    def was_confirmed_by(self, at_us: int) -> bool:
        """Return whether the number was confirmed by this time."""
        decided_by = self.trace.pockets.decided_by
        return decided_by is not None and decided_by.t <= at_us

    def _check_drop_fits(self) -> bool:
        if self.ball is None or self.trace.drop is None:
            return False
        expected, _ = self.learned.drop_speed(self.wheel.drop_rev_per_s)
        return abs(self.ball.end_speed / expected - 1.0) <= _DROP_SPEED_TOLERANCE

    def objects(self) -> list[ForeignObject]:
        """Return the objects detected since `object_before_launch_s` before the first pulse.

        The margin is needed because a ball is released some time before it reaches a beam.
        """
        pulses = self.trace.pulses
        first_us = pulses[0].t if pulses else self.decided_at_us
        since_us = first_us - round(self.rules.object_before_launch_s * 1e6)
        return [reading for reading in self.trace.foreign if reading.t >= since_us]

    @property
    def index_silent(self) -> bool:
        """Whether more than two index passes were due but were not detected."""
        return self.trace.rotor.turns_at(self.decided_at_us) is None

    @property
    def silent_turns_passed(self) -> bool:
        """Whether a sensed drop was followed by the allowed number of turns without a pocket reading."""
        drop = self.trace.drop
        if drop is None or self.trace.pockets.seen or self.index_silent:
            return False
        return self.decided_at_us >= self.trace.rotor.after_turns_us(drop.t, self.rules.turns_without_read)


def same_direction(case: Case) -> Reason | None:
    """R-SPIN-1, R-IRR-1: the ball must run against the rotor."""
    ball, rotor = case.ball, case.rotor_direction
    if ball is None or rotor is None or ball.direction != rotor or _is_doubtful(ball):
        return None
    return case.reason("same_direction", f"the ball and the rotor both turned {TURNING_IN_WORDS[rotor]}")


def _beams(numbers: Sequence[int]) -> str:
    return f"beam{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def direction_doubtful(case: Case) -> Reason | None:
    """R-SPIN-1: the ball seems to run with the rotor, but too many pulses are stray to be certain."""
    ball, rotor = case.ball, case.rotor_direction
    if ball is None or rotor is None or ball.direction != rotor or not _is_doubtful(ball):
        return None
    seen = (
        f"the ball seems to have run {TURNING_IN_WORDS[rotor]}, in the rotor's direction,"
        f" but {ball.stray_pulses} of the pulses are stray"
    )
    return case.reason("missing_reading", seen)


def _is_doubtful(ball: BallRun) -> bool:
    return ball.stray_pulses > 1 + _MAX_STRAY_FRACTION * len(ball.passes)


def too_few_revolutions(case: Case) -> Reason | None:
    """R-SPIN-2, R-IRR-2: the ball certainly made fewer turns in the track than the rules require."""
    ball = case.ball
    if ball is None or not case.drop_fits or case.trace.devices.down:
        return None
    if ball.silent_s or ball.silent_at_us is not None or case.max_turns >= case.rules.min_revolutions:
        return None
    return case.reason("too_few_revolutions", f"{case.turns_seen()}; R-SPIN-2")


def foreign_object(case: Case) -> Reason | None:
    """R-IRR-3: an object was in the wheel before the ball came to rest."""
    for reading in case.objects():
        if _in_wheel(reading) and (case.at_rest_us is None or reading.t < case.at_rest_us):
            return case.reason("foreign_object", f"a foreign object in the wheel ({reading.where})")
    return None


def ball_out(case: Case) -> Reason | None:
    """!R-8: the ball was seen outside the wheel, or lies in none of its pockets."""
    for reading in case.trace.out:
        if case.at_rest_us is None or reading.t < case.at_rest_us:
            return case.reason("ball_out", "the ball was seen outside the wheel")
    if not case.silent_turns_passed or not case.learned.pocket_reader_known:
        return None
    if case.trace.devices.down or case.trace.devices.find_fault("pocket_ball"):
        return None
    turns = case.rules.turns_without_read
    return case.reason(
        "ball_out", f"the ball left the track and {turns} rotor turns passed without a pocket reading"
    )


def rotor_reversed(case: Case) -> Reason | None:
    """!R-8: the rotor reversed or stopped while the ball might have been in play."""
    trace, reversal = case.trace, case.reversal
    if reversal is not None:
        if not case.trace.in_play(reversal.first_us):
            return None
        now = TURNING_IN_WORDS[reversal.shown_by.direction]
        return case.reason("rotor_reversed", f"the rotor reversed during the spin and now turns {now}")
    stops_us = trace.rotor.stops_us()
    if (
        trace.pockets.confirmed is None
        and trace.marks
        and stops_us is not None
        and case.decided_at_us >= stops_us
        and trace.in_play(stops_us)
        and not trace.devices.down
    ):
        return case.reason("rotor_reversed", "the rotor came to a stop before a number was read")
    return None


def rotor_handled(case: Case) -> Reason | None:
    """R-SPIN-4: a person reversed the rotor before the number was confirmed, when the ball might already have
    been at rest."""
    reversal = case.reversal
    if reversal is None or case.trace.in_play(reversal.first_us) or case.was_confirmed_by(reversal.first_us):
        return None
    now = TURNING_IN_WORDS[reversal.shown_by.direction]
    return case.reason(
        "missing_reading",
        f"the rotor reversed and now turns {now}; the ball might already have been at rest, but no number was"
        " confirmed",
    )


def device_lost(case: Case) -> Reason | None:
    """A device that was down during the spin might have missed a decisive reading."""
    down = sorted(case.trace.devices.down)
    if not down:
        return None
    were = "was" if len(down) == 1 else "were"
    return case.reason("missing_reading", f"{', '.join(down)} {were} down during the spin")


def launch_unseen(case: Case) -> Reason | None:
    """R-SPIN-2: the launch was not seen, and the part of the run that was seen is too short to count on its
    own."""
    ball, hidden_by = case.ball, case.launch_hidden_by
    required = case.rules.min_revolutions
    if ball is None or hidden_by is None or ball.turns_from >= required or case.max_turns < required:
        return None
    if isinstance(hidden_by, DeviceFault):
        seen = f"{hidden_by.dev} missed readings ({hidden_by.code}), so the launch might have been missed"
    elif hidden_by.back_us >= case.began_us:
        silent_s = (case.began_us - hidden_by.since_us) / 1e6
        seen = f"{hidden_by.dev} sent nothing for {silent_s:.1f} s before the ball's first pulse"
    else:
        before_s = (case.began_us - hidden_by.back_us) / 1e6
        seen = f"{hidden_by.dev} was down or blind until {before_s:.1f} s before the ball's first pulse"
    return case.reason("missing_reading", seen)


def rotor_unknown(case: Case) -> Reason | None:
    """R-SPIN-1 needs the rotor's direction."""
    if case.trace.rotor_direction is not None:
        return None
    return case.reason("missing_reading", "no index pass during the spin showed the rotor's direction")


def ball_direction_unknown(case: Case) -> Reason | None:
    """R-SPIN-1 needs the ball's direction."""
    ball = case.ball
    if ball is None or ball.direction is not None:
        return None
    beams = sorted({at.beam for at in ball.passes})
    return case.reason("missing_reading", f"{_beams(beams)} alone can't show the direction of the ball")


def revolutions_unclear(case: Case) -> Reason | None:
    """R-SPIN-2 needs a run that is certainly long enough."""
    ball, required = case.ball, case.rules.min_revolutions
    if ball is None:
        return case.reason("revolutions_unclear", _no_run(len(case.trace.pulses)))
    if ball.turns_from >= required or too_few_revolutions(case) is not None:
        return None
    silence = ""
    if ball.silent_s:
        silence = f"; then no beam detected the ball for {ball.silent_s:.1f} s before the drop"
    elif ball.silent_at_us is not None:
        silence = "; turns before a silence of the beams are not counted"
    return case.reason("revolutions_unclear", case.turns_seen() + silence)


def _no_run(pulses: int) -> str:
    if not pulses:
        return "no beam detected the ball"
    if pulses == 1:
        return "a single beam pulse does not form the run of a ball"
    return f"the {pulses} beam pulses do not form the run of a ball"


def fell_silent(case: Case) -> Reason | None:
    """R-SPIN-2: a person might have caught a ball that working beams did not detect for more than a turn."""
    ball = case.ball
    if ball is None or not ball.silent_s or ball.turns_from < case.rules.min_revolutions:
        return None
    return case.reason(
        "missing_reading", f"no beam detected the ball for {ball.silent_s:.1f} s before it left the track"
    )


def drop_contradicts(case: Case) -> Reason | None:
    """The drop sensor and the ball's speed must agree."""
    if case.ball is None or case.ball.silent_s or case.trace.drop is None or case.drop_fits:
        return None
    return case.reason(
        "conflict", f"the drop sensor fired at a ball speed of {case.ball.end_speed:.2f} rev/s"
    )


def pocket_missing(case: Case) -> Reason | None:
    """R-SPIN-4 needs the configured number of agreeing pocket readings, each on a different rotor turn."""
    pockets, needed = case.trace.pockets, case.rules.pocket_reads
    if pockets.confirmed is not None:
        return None
    reads = pockets.reads
    placed = [read for read in reads if read.number is not None]
    numbers = list(dict.fromkeys(read.number for read in placed))
    if len(placed) >= needed:
        found = ", ".join(map(str, numbers))
        return case.reason(
            "conflict", f"{len(placed)} pocket readings did not agree on {needed} consecutive turns: {found}"
        )
    if len(placed) < len(reads):
        return case.reason(
            "missing_reading",
            f"for {len(reads) - len(placed)} of {len(reads)} pocket readings, the pocket could not be"
            " determined from the index passes",
        )
    return case.reason("missing_reading", f"received only {len(placed)} of {needed} pocket readings")


def sensors_silent(case: Case) -> Reason | None:
    """R-IRR-3: an object might have entered the wheel while no sensor reported for several turns."""
    at_rest_us = case.at_rest_us
    if at_rest_us is None:
        return None
    began_us, longest_us = case.began_us, SILENT_TURNS * case.trace.rotor.period_us()
    marks_us = [mark.t for mark in case.trace.index_passes if began_us < mark.t < at_rest_us]
    if case.ball is not None and _longest_between([began_us, *marks_us, at_rest_us]) <= longest_us:
        return None
    silent_us = _longest_between(
        [r.t for r in case.seen if type(r) in SENSED and began_us <= r.t <= at_rest_us]
    )
    if silent_us <= longest_us:
        return None
    return case.reason(
        "missing_reading", f"no sensor of the wheel reported anything for {silent_us / 1e6:.1f} s"
    )


def _longest_between(times_us: Sequence[int]) -> int:
    return max(map(sub, times_us[1:], times_us), default=0)


def pocket_contradicted(case: Case) -> Reason | None:
    """The reader detected the ball in a different pocket after the number was confirmed."""
    confirmed, contradicting = case.trace.pockets.confirmed, case.trace.pockets.contradicting
    if confirmed is None or contradicting is None:
        return None
    return case.reason(
        "conflict", f"the reader detected the ball in {confirmed.number} and then in {contradicting.number}"
    )


def second_ball(case: Case) -> Reason | None:
    """A ball in the track cannot be in a pocket, and one ball makes only one run."""
    trace = case.trace
    turns = 0.0 if case.ball is None else turns_of_other_ball(trace.chain, case.ball, trace.pulses)
    if turns:
        return case.reason(
            "conflict", f"a second ball ran {turns:.1f} turns in the track alongside the first"
        )
    read = case.trace.reads_while_running.confirmed
    if read is None:
        return None
    return case.reason(
        "conflict", f"the reader detected a ball in pocket {read.number} while the ball was still running"
    )


def out_after_rest(case: Case) -> Reason | None:
    """A ball at rest in a pocket cannot be outside the wheel."""
    if case.at_rest_us is None or not any(reading.t >= case.at_rest_us for reading in case.trace.out):
        return None
    return case.reason(
        "conflict", "a ball was seen outside the wheel after the ball had come to rest in a pocket"
    )


def index_contradicts(case: Case) -> Reason | None:
    """The last index pass showed a different direction from the passes before it."""
    contrary = case.trace.contrary_mark
    if contrary is None or case.trace.rotor_direction is None:
        return None
    return case.reason(
        "conflict",
        f"the last index pass showed the rotor turning {TURNING_IN_WORDS[contrary.direction]}, but the passes"
        " before it showed the opposite direction",
    )


NO_SPIN_RULES: tuple[Callable[[Case], Reason | None], ...] = (
    same_direction,
    too_few_revolutions,
    foreign_object,
    ball_out,
    rotor_reversed,
)
REVIEW_RULES: tuple[Callable[[Case], Reason | None], ...] = (
    device_lost,
    launch_unseen,
    rotor_handled,
    rotor_unknown,
    ball_direction_unknown,
    direction_doubtful,
    revolutions_unclear,
    fell_silent,
    drop_contradicts,
    pocket_missing,
    sensors_silent,
    pocket_contradicted,
    second_ball,
    out_after_rest,
    index_contradicts,
)


def notices(case: Case) -> list[Notice]:
    """Return notices of facts that do not change the ruling."""
    found: list[Notice] = []
    ball, trace = case.ball, case.trace
    if ball is not None and len(ball.passes) >= 2 * len(case.wheel.beams_deg):
        silent = [beam for beam, pulses in enumerate(trace.chain.pulse_counts) if not pulses]
        if silent:
            were = "was" if len(silent) == 1 else "were"
            found.append(Notice(code="beam_silent", seen=f"track {_beams(silent)} {were} never interrupted"))
    if trace.drop is None and trace.pockets.confirmed is not None:
        found.append(Notice(code="drop_silent", seen="the drop sensor did not fire"))
    for reading in case.objects():
        if not _in_wheel(reading):
            found.append(
                Notice(code="foreign_object", seen=f"an object lay on the {reading.where}, outside the wheel")
            )
        elif case.at_rest_us is not None and reading.t >= case.at_rest_us:
            found.append(
                Notice(
                    code="foreign_object", seen="an object was in the wheel after the ball had come to rest"
                )
            )
    return found


def _in_wheel(reading: ForeignObject) -> bool:
    return reading.where not in _OUTSIDE_THE_WHEEL


def time_of(reading: Reading) -> int:
    """Return the time of a reading, in microseconds."""
    return reading.t
