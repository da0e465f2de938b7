"""Throws of two dice, from the first release to the judgement, for all dice games.

The judge is in `controller.rules.dice`.
"""

from collections.abc import Mapping
from typing import Protocol

from controller.machines.agenda import Agenda
from controller.machines.attempts import Attempts
from controller.machines.flat import InputRefused
from controller.machines.game import PlaysAttempts
from controller.machines.health import Health
from controller.machines.lifecycle import THROW, Decided, Results, StandingCall
from controller.model.effects import Basis
from controller.model.geometry import DiceTable
from controller.model.readings import (
    AnyReading,
    DieAt,
    DieContact,
    DieLost,
    DieOffTable,
    DieReleased,
    DieRest,
    Input,
    Reading,
    WallImpact,
)
from controller.model.rulesets import Calls, ThrowRules
from controller.model.verdicts import Reason, ThrowVerdict
from controller.rules.dice.in_motion import Motion, find_motion
from controller.rules.dice.judge import judge_and_learn
from controller.rules.dice.scene import THROWN_MM_PER_S

Dice = tuple[int, int]

AT_REST_WITHIN_MM = 10.0
"""A die is at rest while its track stays within this distance, in mm, of its resting position, both along and
across the table. The distance is five times the track's noise."""
OTHER_DIE_US = 1_000_000
"""A release within this time of a rejected one belongs to the other die of the same throw."""
THROWN_POINTS = 4
"""The number of consecutive track points at throwing speed that prove a throw without a reported release."""

FLYING_UNTIL_US = 300_000
"""Dice without a track point for this long are not in flight, and a person may enter their faces."""

THROW_READINGS = (DieReleased, DieAt, DieRest, DieOffTable, DieLost, DieContact, WallImpact)
"""The readings that the judge of throws uses."""


class DiceGame(Results[Dice], Protocol):
    """The dice game's part in the life cycle of its throws."""

    @property
    def warnings(self) -> int:
        """The number of warnings given to the current shooter."""


class Throws:
    """The throws of one table, from the first release to the ruling."""

    last_entry: Input | None = None
    """Always None, because no input contributes to the detected dice."""

    def __init__(
        self,
        game: DiceGame,
        rules: ThrowRules,
        table: DiceTable,
        agenda: Agenda,
        health: Health,
        *,
        calls: Calls,
        last: int = 0,
        learned: Mapping[str, float] | None = None,
    ) -> None:
        """Start after throw `last`. `learned` holds wall properties learned from earlier throws."""
        self._game = game
        self._rules = rules
        self._table = table
        self._agenda = agenda
        self._health = health
        self._readings: list[Reading] = []
        self._late: list[AnyReading] = []
        self._basis = Basis(decided_at_us=0)
        self._known: Mapping[str, float] = learned or {}
        self.learned: Mapping[str, float] = self._known
        """The learned wall properties, which are updated when a throw is judged."""
        self._down: dict[int, DieRest | DieOffTable] = {}
        self._moving: dict[int, list[DieAt]] = {1: [], 2: []}
        self._rejected_us = -OTHER_DIE_US - 1
        self.attempts: Attempts[Dice, ThrowVerdict] = Attempts(
            THROW, game, self, agenda, rules, calls=calls, last=last
        )

    def resume(self, call: StandingCall, before: object) -> None:
        """Continue from a roll that can still be corrected. `before` is the game's state before the roll."""
        value = call.value
        self.attempts.resume(call, value if isinstance(value, tuple) else None, before)

    # --- readings and timers ---

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        attempts = self.attempts
        if attempts.in_progress:
            self._readings.append(reading)
            if type(reading) is not DieAt or reading.die in self._down:
                self._watch(reading)
        elif attempts.state == "held" and not attempts.cleared:
            self._watch_held(reading)
        elif isinstance(reading, DieReleased):
            if attempts.state == "held":
                attempts.make_call()
            if reading.t - self._rejected_us > OTHER_DIE_US:
                self._begin([reading], reading.t)
        elif attempts.cleared and attempts.state != "held" and isinstance(reading, DieAt):
            self._detect_throw(reading)

    def reject_attempt(self, release: Reading) -> None:
        """Handle a release while the table is not in play. Neither die of that throw begins an attempt."""
        self._rejected_us = release.t
        self.attempts.cleared = False

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used. Its throw might have to go to review."""
        attempts = self.attempts
        if not isinstance(reading, THROW_READINGS):
            return
        released = isinstance(reading, DieReleased) and reading.t > self._over_us()
        if attempts.in_progress or attempts.state == "held":
            if released or reading.t >= attempts.began_us:
                self._late.append(reading)
                if attempts.state == "held":
                    self._decide(self._basis.decided_at_us)
        elif released:
            self._begin([], reading.t)
            self._late.append(reading)

    def _over_us(self) -> int:
        """Return the time up to which releases belong to the current or last throw."""
        if self.attempts.in_progress:
            return self._basis.decided_at_us
        return max(self._basis.decided_at_us, self._readings[-1].t if self._readings else 0)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        if name == "hold":
            self.attempts.make_call()
        elif name == "settle" and self.attempts.in_progress:
            self._decide(t)

    def _begin(self, first: list[Reading], t: int) -> None:
        self.attempts.begin(t)
        self._known = self.learned
        self._late.clear()
        self._readings = [*self._health.down.values(), *first]
        self._down.clear()
        for points in self._moving.values():
            points.clear()
        self._wait_for_rest(t)

    def _wait_for_rest(self, now_us: int) -> None:
        """Set the timer for judging the throw: `settle_timeout_s` after it began, but not before now."""
        due_us = self.attempts.began_us + round(self._rules.settle_timeout_s * 1_000_000)
        self._agenda.set_timer("settle", max(due_us, now_us))

    def _detect_throw(self, point: DieAt) -> None:
        points = self._moving[point.die]
        if points and not _fast(points[-1], point):
            points.clear()
        points.append(point)
        if len(points) >= THROWN_POINTS:
            both: list[Reading] = [*self._moving[1], *self._moving[2]]
            both.sort(key=lambda r: r.t)
            self._begin(both, both[0].t)

    def _watch(self, reading: Reading) -> None:
        down = self._down
        match reading:
            case DieRest() | DieOffTable():
                down[reading.die] = reading
                if len(down) == 2:
                    self._decide(reading.t)
            case DieReleased():
                down.pop(reading.die, None)
            case DieAt() if _left(down[reading.die], reading):
                del down[reading.die]

    def _watch_held(self, reading: Reading) -> None:
        match reading:
            case DieReleased():
                moved = True
            case DieAt() if reading.die in self._down:
                moved = _left(self._down[reading.die], reading)
            case DieRest() | DieOffTable():
                self._readings.append(reading)
                self._down[reading.die] = reading
                self._decide(reading.t)
                return
            case DieContact() | DieLost() | WallImpact():
                self._readings.append(reading)
                return
            case _:
                return
        if moved:
            self._readings.append(reading)
            del self._down[reading.die]
            self.attempts.on_die_moved()
            self._wait_for_rest(reading.t)

    def _decide(self, t: int) -> None:
        self._agenda.stop_timer("settle")
        self.attempts.on_verdict(t, self.judge(t, None))

    # --- the AttemptJudge interface ---

    def value_of(self, verdict: ThrowVerdict) -> Dice | None:
        """Return the faces that the sensors detected."""
        return verdict.dice

    def value_entered(self, entered: Input) -> Dice:
        """Return the entered faces. Raise InputRefused for dice in flight or for impossible faces."""
        if not self.result_can_be_entered(entered.t):
            raise InputRefused("result_not_in")
        dice = entered.dice
        if dice is None or len(dice) != 2 or not all(1 <= face <= 6 for face in dice):
            found = "nothing" if dice is None else list(dice)
            raise InputRefused(
                "bad_argument", f"set_dice needs two faces from 1 to 6, found {found}; enter them again"
            )
        return (dice[0], dice[1])

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether the readings up to `t` show no die in flight."""
        return not (self.attempts.in_progress and self._flying_at(t))

    def _flying_at(self, t: int) -> bool:
        since = t - FLYING_UNTIL_US
        return any(r.t > since for r in self._readings if isinstance(r, DieReleased | DieAt))

    def judge(self, t: int, called: Reason | None) -> ThrowVerdict:
        """Judge the current throw by its readings up to `t`."""
        basis = self._basis = Basis(
            decided_at_us=t,
            called=called,
            warnings=self._game.warnings,
            sources=dict(self._health.sources),
            learned=self._known,
            late=tuple(self._late),
        )
        verdict, self.learned = judge_and_learn(self._readings, self._table, self._rules, basis)
        return verdict

    @property
    def motion(self) -> Motion:
        """The motion of the dice in the current throw."""
        return find_motion(self._readings)

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the current throw."""
        return tuple(self._readings)

    def basis(self) -> Basis:
        """Return the data, other than the readings, on which the last verdict was based."""
        return self._basis

    def on_decision(self, decided: Decided) -> None:
        """Stop the timer of a void throw."""
        if decided in ("void", "lapsed"):
            self._agenda.stop_timer("settle")


class PlaysThrows(PlaysAttempts):
    """The methods of a dice game's machine that depend only on its throws."""

    throws: Throws

    @property
    def attempts(self) -> Attempts[Dice, ThrowVerdict]:
        """This game's attempts, which are throws."""
        return self.throws.attempts

    def receive(self, reading: Reading) -> None:
        """Handle the next reading, in time order."""
        self.throws.receive(reading)

    def late(self, reading: AnyReading) -> None:
        """Handle a reading that arrived too late to be used."""
        self.throws.late(reading)

    def timer(self, name: str, t: int) -> None:
        """Handle a timer that is due at `t`."""
        self.throws.timer(name, t)

    def begins_attempt(self, reading: Reading) -> bool:
        """Return whether this reading begins a throw."""
        return isinstance(reading, DieReleased) and not self.attempts.in_progress

    def reject_attempt(self, reading: Reading) -> None:
        """Handle a release while the table is not in play."""
        self.throws.reject_attempt(reading)


def _fast(before: DieAt, now: DieAt) -> bool:
    elapsed_s = (now.t - before.t) / 1_000_000
    distance_mm = ((now.x - before.x) ** 2 + (now.y - before.y) ** 2) ** 0.5
    return 0 < elapsed_s < 0.1 and distance_mm > THROWN_MM_PER_S * elapsed_s


def _left(place: DieRest | DieOffTable, point: DieAt) -> bool:
    if isinstance(place, DieOffTable):
        return False
    return abs(point.x - place.x) > AT_REST_WITHIN_MM or abs(point.y - place.y) > AT_REST_WITHIN_MM
