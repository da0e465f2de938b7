"""One game of a smart wheel as the wheel reports it, with the contradictions in its reports.

The wheel's number counts only if the wheel was observed to change from state 4 to state 5 within one game,
and no report contradicts the number. The number shown before state 5 is the previous game's.
"""

from collections.abc import Collection
from typing import Literal

import msgspec

from controller.model.readings import (
    TURNING_IN_WORDS,
    BallOut,
    DeviceDown,
    DeviceUp,
    ForeignObject,
    Reading,
    Turning,
    WheelStatus,
)
from controller.model.rulesets import SpinRules
from controller.model.verdicts import Notice, Reason, Ruling, SpinVerdict

BALL_IN_RIM, NO_MORE_BETS, NUMBER, NO_BALL = 3, 4, 5, 7
"""States of an SS2 wheel (`WheelStatus.state`)."""
RUNNING = frozenset({BALL_IN_RIM, NO_MORE_BETS, NO_BALL})
BETWEEN_GAMES = frozenset({1, 2, 6})
BALL_MISSING, WITH_ROTOR, COMPONENT, LAUNCH_FAILED = 1, 2, 4, 8
"""Flags of an SS2 wheel (`WheelStatus.flags`)."""
MAX_BALL_MISSING_US = 5_000_000
"""Time without detection after which the ball is treated as missing (manufacturer's value)."""
MAX_LAUNCH_REPORT_US = 3_000_000
"""Time after the launch during which the wheel can still report that the launch failed (manufacturer's
value)."""
NUMBER_TIMEOUT_US = 90_000_000
"""Time without a change of state after which it is assumed that the wheel will report no number. The wheel
itself gives up after 75 s."""
MAX_RPM_X10 = 300
"""Maximum plausible speed of the rotor, in units of 0.1 rpm. A wheel turns at 10 to 25 rpm."""
MAX_GAME_COUNT = 256
"""Maximum value of the wheel's game counter, which then continues at 0 or 1."""
_MANY_GAMES = MAX_GAME_COUNT // 2
"""Half of the counter's range. A larger apparent increase means that the counter went back."""

RULES = {
    "same_direction": "R-SPIN-1",
    "foreign_object": "R-IRR-3",
    "ball_out": "!R-8",
    "rotor_reversed": "!R-8",
    "missing_reading": "R-SPIN-4",
    "conflict": "R-SPIN-4",
}
"""Rule behind each cause, for rule sets that name none."""


def games_between(before: WheelStatus, after: WheelStatus) -> int:
    """Return the number of games from one status to another, allowing for the counter's wrap at 256.

    The result is 0 if the wheel does not number its games. A result of more than 128 means that the counter
    went back because the wheel was powered off.
    """
    if before.spin is None or after.spin is None or before.spin == after.spin:
        return 0
    return (
        1 if (before.spin, after.spin) == (MAX_GAME_COUNT, 0) else (after.spin - before.spin) % MAX_GAME_COUNT
    )


class WheelGameState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The recorded state of a smart wheel's games: its last status, and whether the game in progress at that
    time is accounted for."""

    last: WheelStatus
    known: bool
    before_silence_us: int | None = None
    """Time of the last status before a silence. It is kept only while the reports made during the silence
    arrive in one burst."""


class WheelGames:
    """Recognizes the games of a smart wheel from its successive statuses."""

    def __init__(self, wheel_state: WheelGameState | None = None) -> None:
        """Continue from a recorded state; without one, the game in progress at the first status is
        unknown."""
        self.last: WheelStatus | None = None if wheel_state is None else wheel_state.last
        self._known = wheel_state is not None and wheel_state.known
        self.before_silence_us = None if wheel_state is None else wheel_state.before_silence_us
        """Time of the last status before a silence. It is kept only while the reports made during the silence
        arrive in one burst."""

    @property
    def wheel_state(self) -> WheelGameState | None:
        """State from which a recording can continue."""
        if self.last is None:
            return None
        return WheelGameState(last=self.last, known=self._known, before_silence_us=self.before_silence_us)

    def receive(self, status: WheelStatus) -> Literal["seen", "unseen"] | None:
        """Handle the next status. Return `seen` if it begins a game, or `unseen` if it shows that a game was
        played whose earlier statuses were not received."""
        last, self.last = self.last, status
        games = 0 if last is None else games_between(last, status)
        known, self._known = self._known, status.state not in BETWEEN_GAMES
        if status.state in (BALL_IN_RIM, NO_MORE_BETS):
            relaunched = last is not None and last.state == NO_MORE_BETS and status.state == BALL_IN_RIM
            return "seen" if not known or games or relaunched else None
        if last is None:
            return None
        if status.state == NUMBER:
            return "unseen" if not known or games else None
        if status.state == NO_BALL:
            self._known = known and not games
            return None
        ruled_on = known and last.state != NUMBER
        return "unseen" if not ruled_on and known < games <= _MANY_GAMES else None


class SmartWheelGame:
    """One game of a smart wheel, updated with each status in time order."""

    def __init__(self, pockets: Collection[str], rules: SpinRules, before: WheelStatus | None = None) -> None:
        """`pockets` are the wheel's numbers, `before` its last status before the game."""
        self.readings: list[Reading] = []
        self.first: WheelStatus | None = None
        self.closed_by: WheelStatus | None = None
        """The status with the wheel's No More Bets."""
        self.number_by: WheelStatus | None = None
        self.decided_by: Reading | None = None
        self._pockets = frozenset(pockets)
        self._rules = rules
        self._before = before
        self._last = before
        self._voids: list[Reason] = []
        self._doubts: list[Reason] = []
        self._number: str | None = None
        self._rotor_direction: Turning | None = None
        self._missing_since_us: int | None = None
        self._unchanged_since_us = 0
        self._announced: str | None = None

    @property
    def number(self) -> str | None:
        """The number that the wheel reported for this game, observed or not; None if it reported none."""
        return self._number

    @property
    def observed(self) -> bool:
        """Whether the change to the number was observed and nothing contradicts the number."""
        return self.number_by is not None and not self._voids and not self._doubts

    def give_up_at_us(self) -> int:
        """Return the time at which the game is decided if the wheel stays in its current state."""
        return self._unchanged_since_us + NUMBER_TIMEOUT_US

    def receive(self, reading: Reading) -> None:
        """Handle the next reading: first a `device_down` of the wheel if one is still in force, then all
        readings from the launch on."""
        if not isinstance(reading, WheelStatus | DeviceDown | DeviceUp | ForeignObject | BallOut):
            return
        self.readings.append(reading)
        match reading:
            case WheelStatus():
                self._follow(reading)
            case DeviceDown():
                self._note_down(reading)
            case ForeignObject() if self.first is not None and self.number_by is None:
                self._add_void("foreign_object", f"a foreign object in the wheel ({reading.where})", reading)
            case BallOut() if self.first is not None and self.number_by is None:
                self._add_void("ball_out", "the ball was seen outside the wheel", reading)
            case _:
                pass

    def verdict(self, called: Reason | None = None) -> SpinVerdict:
        """Judge the reports; a game without a number goes to review.

        `called` is a person's No Spin.
        """
        voids = [called, *self._voids] if called is not None else self._voids
        doubts = self._doubts
        if not doubts and self.number_by is None:
            doubts = [self._reason("missing_reading", f"the wheel reported no number; {self._last_report()}")]
        if voids:
            ruling, reasons = Ruling.VOID, voids
        elif doubts:
            ruling, reasons = Ruling.REVIEW, doubts
        else:
            ruling, reasons = Ruling.VALID, []
        return SpinVerdict(
            ruling=ruling,
            sentence=self._sentence(ruling, reasons),
            number=self._number if self._number in self._pockets else None,
            reasons=tuple(reasons),
            notices=tuple(self._notices()),
            evidence=tuple(self.readings),
            grade="wheel",
        )

    # --- what the wheel reports ---

    def _follow(self, status: WheelStatus) -> None:
        last, self._last = self._last, status
        if self.first is not None and status.dev != self.first.dev:
            self._last = last
            return
        if last is None or self.first is None or last.state != status.state:
            self._unchanged_since_us = status.t
        if self.first is None:
            self.first = status
            if status.state in BETWEEN_GAMES:
                self._skip_games(last if last is not None else status, status)
                return
        elif self.number_by is not None:
            self._check_after_number(status)
            return
        elif last is not None and self._is_over(last, status):
            self._end(last, status)
            return
        self._announced = status.announced or self._announced
        self._find_faults(status)
        if status.state == NO_MORE_BETS and self.closed_by is None:
            self.closed_by = status
        if status.state == NUMBER:
            self._take_number(last if last is not None else status, status)

    def _skip_games(self, before: WheelStatus, status: WheelStatus) -> None:
        games = games_between(before, status)
        self._number = _number(status) if games == 1 else None
        unseen = games - (before.state == NUMBER)
        games_were = "games were" if unseen > 1 else "game was"
        played = f"{unseen} {games_were} played while nothing was received from the wheel"
        seen = f"{played}: it went from {_game(before)} to {_game(status)}"
        self._add_doubt("missing_reading", seen, status)
        self.decided_by = status

    def _is_over(self, last: WheelStatus, status: WheelStatus) -> bool:
        relaunched = last.state == NO_MORE_BETS and status.state == BALL_IN_RIM
        return status.state not in RUNNING | {NUMBER} or games_between(last, status) > 0 or relaunched

    def _end(self, last: WheelStatus, status: WheelStatus) -> None:
        if games_between(last, status) == 1 and status.state in BETWEEN_GAMES:
            self._number = _number(status)
        change = f"from state {last.state} of {_game(last)} to state {status.state} of {_game(status)}"
        self._add_doubt("missing_reading", f"the wheel went {change}: its number was not observed", status)
        self.decided_by = status

    def _take_number(self, last: WheelStatus, status: WheelStatus) -> None:
        self._number = _number(status)
        self.number_by = status
        if last.state != NO_MORE_BETS or games_between(last, status):
            went = f"the wheel went from state {last.state} of {_game(last)} to state 5 of {_game(status)}"
            self._add_doubt("missing_reading", f"{went}: its change from 4 to 5 was not observed", status)
        elif status.unheard_ms:
            silent = (
                f"nothing was received from the wheel for {status.unheard_ms / 1000:.1f} s before its number"
            )
            self._add_doubt("missing_reading", f"{silent}: the change from 4 to 5 was not observed", status)
        if status.flags:
            self._add_doubt("conflict", f"the number came with the warning flags {status.flags:X}", status)
        if self._number not in self._pockets:
            shown = (
                "no number" if self._number is None else f"{self._number!r}, which is not one of its pockets"
            )
            self._add_doubt("conflict", f"the wheel reached state 5 and showed {shown}", status)
        if self._announced is not None and self._announced != self._number:
            seen = f"the wheel announced {self._announced} and then showed {_shown(self._number)}"
            self._add_doubt("conflict", seen, status)
        self.decided_by = status

    def _check_after_number(self, status: WheelStatus) -> None:
        if status.state != NUMBER or self.number_by is None or games_between(self.number_by, status):
            return
        if _number(status) != self._number:
            seen = f"the wheel showed {_shown(self._number)} and then {_shown(_number(status))}"
            self._add_doubt("conflict", seen, status)
        self._find_faults(status)

    def _find_faults(self, status: WheelStatus) -> None:
        flags = status.flags
        if flags & WITH_ROTOR:
            if status.state == BALL_IN_RIM:
                self._add_void(
                    "same_direction", "the wheel reports that the ball ran with the rotor (flag 2)", status
                )
            else:
                seen = f"the wheel reports in state {status.state} that the ball ran with the rotor (flag 2)"
                self._add_doubt("conflict", seen, status, decides=True)
        if flags & COMPONENT:
            seen = "the wheel reports a sensor, motor or encoder fault (flag 4)"
            self._add_doubt("missing_reading", seen, status, decides=True)
        self._find_missing_ball(status)
        assert self.first is not None
        if flags & LAUNCH_FAILED and status.t - self.first.t >= MAX_LAUNCH_REPORT_US:
            after = f"{MAX_LAUNCH_REPORT_US / 1e6:g} s after the launch"
            seen = f"{after}, the wheel still reports that the launch failed (flag 8)"
            self._add_doubt("conflict", seen, status, decides=True)
        self._find_rotor_faults(status)
        before = self._before
        if before is None or games_between(before, self.first):
            before = self.first
        if status.state in RUNNING and _number(status) != _number(before):
            self._number = _number(status)
            shown = f"{_shown(_number(before))} and then {_shown(self._number)}"
            seen = f"the wheel showed {shown} before state 5"
            self._add_doubt("conflict", seen, status)

    def _find_missing_ball(self, status: WheelStatus) -> None:
        if not status.flags & BALL_MISSING:
            self._missing_since_us = None
            return
        if self._missing_since_us is None:
            self._missing_since_us = status.t
        if status.t - self._missing_since_us >= MAX_BALL_MISSING_US:
            seen = f"the wheel has not sensed the ball for {MAX_BALL_MISSING_US / 1e6:g} s (flag 1)"
            self._add_doubt("missing_reading", seen, status, decides=True)

    def _find_rotor_faults(self, status: WheelStatus) -> None:
        speed = status.rotor_rpm_x10
        if speed is not None and not 0 < speed <= MAX_RPM_X10:
            self._add_doubt("conflict", f"a rotor speed of {speed / 10:g} rpm is not plausible", status)
        if status.direction is None:
            return
        if self._rotor_direction is None:
            self._rotor_direction = status.direction
        elif status.direction != self._rotor_direction:
            now = TURNING_IN_WORDS[status.direction]
            seen = f"the rotor reversed during the spin and now turns {now}"
            self._add_void("rotor_reversed", seen, status)

    # --- findings ---

    def _note_down(self, reading: DeviceDown) -> None:
        if self.first is None or reading.dev == self.first.dev:
            why = f": {reading.reason}" if reading.reason else ""
            self._add_doubt("missing_reading", f"{reading.dev} was down during the spin{why}", reading)

    def _add_void(self, code: str, seen: str, reading: Reading) -> None:
        if all(reason.code != code for reason in self._voids):
            self._voids.append(self._reason(code, seen))
        self.decided_by = self.decided_by or reading

    def _add_doubt(self, code: str, seen: str, reading: Reading, *, decides: bool = False) -> None:
        """Add a reason to doubt the number; with `decides`, the doubt cannot be resolved and decides the
        game."""
        reason = self._reason(code, seen)
        if reason not in self._doubts:
            self._doubts.append(reason)
        if decides:
            self.decided_by = self.decided_by or reading

    def _reason(self, code: str, seen: str) -> Reason:
        return Reason(code=code, rule=self._rules.causes.get(code, RULES[code]), seen=seen)

    def _notices(self) -> list[Notice]:
        first, before = self.first, self._before
        unseen = first is not None and first.state == NO_MORE_BETS and before is not None
        if not unseen:
            return []
        return [
            Notice(
                code="state_unseen", seen="nothing was received from the wheel while the ball was in the rim"
            )
        ]

    def _last_report(self) -> str:
        if self._last is None:
            return "it sent no status at all"
        return f"its last report was state {self._last.state} of {_game(self._last)}"

    def _sentence(self, ruling: Ruling, reasons: list[Reason]) -> str:
        if ruling is not Ruling.VALID:
            head = "No Spin" if ruling is Ruling.VOID else "Review"
            return f"{head}: " + "; ".join(f"{reason.seen} ({reason.rule})" for reason in reasons)
        assert self.number_by is not None
        rotor = self._rotor_direction
        turning = f" against a rotor turning {TURNING_IN_WORDS[rotor]}" if rotor else ""
        announced = " after the number was announced" if self._announced else ""
        return (
            f"{self._number}: the wheel reports that the ball ran{turning} (R-SPIN-1, R-SPIN-2 on trust), "
            f"and the change from state 4 to 5 of {_game(self.number_by)} was observed{announced} (R-SPIN-4)"
        )


def _number(status: WheelStatus) -> str | None:
    return None if status.number is None else str(status.number)


def _game(status: WheelStatus) -> str:
    return "a game" if status.spin is None else f"game {status.spin:03}"


def _shown(number: str | None) -> str:
    return "no number" if number is None else number
