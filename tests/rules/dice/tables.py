"""Rule sets and simple throws for the tests of the throw judge."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from controller.model.readings import DieAt, DieReleased, DieRest, Reading, WallImpact
from controller.model.rulesets import ThrowRules
from controller.model.verdicts import Reason, Ruling, ThrowVerdict
from controller.rules.dice import judge_throw
from tests.rules.dice.throws import SOURCES, TABLE, Body, Maker, Throw

C34 = ThrowRules(
    wall="end",
    causes={
        "not_simultaneous": "C34-INV-2i",
        "no_wall_hit": "C34-INV-2ii",
        "off_table": "C34-INV-1a",
        "stacked": "C34-INV-1b",
        "on_bank": "C34-INV-2iii",
        "in_cup": "C34-INV-2iv",
        "on_rail": "C34-INV-2iv",
        "cocked": "C34-PT-2",
        "one_die_thrown": "C34-DICE-5",
        "called": "C34-INV-2vi",
        "low_confidence": "C34-PT-1",
        "conflict": "C34-PT-3",
        "missing_reading": "C34-INV-2ii",
        "wall_unclear": "C34-INV-2ii",
    },
)
C34_FAR = replace(C34, far_wall_required=True)
CV1 = ThrowRules(
    wall="far",
    missed_wall="warn",
    warnings=3,
    causes={
        "not_simultaneous": "CV1-INV-1",
        "no_wall_hit": "CV1-SHOOT-3",
        "one_die_thrown": "CV1-INV-2",
        "off_table": "!V1-25",
        "stacked": "!V1-25",
        "cocked": "!V1-25",
        "wall_unclear": "CV1-SHOOT-3",
        "missing_reading": "CV1-SHOOT-3",
    },
)
HIGH_ROLLER = ThrowRules(
    wall="any",
    objects="cards_only",
    parted="notice",
    causes={
        "not_simultaneous": "H-ROLL-1",
        "no_wall_hit": "H-LEGAL-1",
        "off_table": "H-LEGAL-2",
        "foreign_contact": "H-LEGAL-3",
        "stacked": "!H-15",
        "cocked": "!H-15",
        "missing_reading": "H-LEGAL-1",
    },
)
CALLED = Reason(code="called", rule="C34-INV-2vi", seen="the boxperson called No Roll")


def dice(*, far: str = "right", y: tuple[float, float] = (350.0, 700.0), late_ms: float = 10.0) -> list[Body]:
    """Return two bodies that hit the far end and come to rest apart on the felt, showing 4 and 3."""
    right = far == "right"
    return [
        Body(
            number=number,
            t0=0.0 if number == 1 else late_ms,
            x=450.0 if right else 3150.0,
            y=y[number - 1],
            vx=4.0 if right else -4.0,
            vy=0.0,
            face=5 - number,
        )
        for number in (1, 2)
    ]


def thrown(bodies: list[Body], seed: int = 7, **sensing: object) -> Throw:
    """Return the throw of these bodies, sensed with a fixed seed."""
    return Maker(seed).sense("plain", bodies, **sensing)  # type: ignore[arg-type]  # passed on as they are


def judged(
    throw: Throw,
    rules: ThrowRules = C34,
    *,
    warnings: int = 0,
    called: Reason | None = None,
    decided_at_us: int | None = None,
    sources: Mapping[str, frozenset[str]] = SOURCES,
) -> ThrowVerdict:
    """Judge a throw on the tests' table. The default decision time is that of the last reading."""
    at = throw.decided_at_us if decided_at_us is None else decided_at_us
    return judge_throw(
        throw.readings, TABLE, rules, decided_at_us=at, warnings=warnings, called=called, sources=sources
    )


def rested(**die_two: object) -> Throw:
    """Return a simple throw with this resting position of die 2."""
    return thrown(dice(), rests={2: die_two})


def ruled(verdict: ThrowVerdict) -> tuple[Ruling, list[tuple[str, int | None]]]:
    """Return a verdict's ruling, and its causes with their dice."""
    return verdict.ruling, [(reason.code, reason.die) for reason in verdict.reasons]


def without(throw: Throw, unwanted: Callable[[Reading], bool]) -> Throw:
    left = [reading for reading in throw.readings if not unwanted(reading)]
    return Throw(throw.kind, throw.bodies, left, throw.decided_at_us, throw.hit)


def adding(throw: Throw, *more: Reading) -> Throw:
    """Add readings in time order."""
    readings = sorted([*throw.readings, *more], key=lambda reading: reading.t)
    last = max(throw.decided_at_us, readings[-1].t)
    return Throw(throw.kind, throw.bodies, readings, last, throw.hit)


def of(throw: Throw, die: int) -> DieRest:
    """Return a die's resting position."""
    return next(r for r in throw.readings if isinstance(r, DieRest) and r.die == die)


def release(throw: Throw, die: int) -> DieReleased:
    """Return a die's release."""
    return next(r for r in throw.readings if isinstance(r, DieReleased) and r.die == die)


def impacts(throw: Throw) -> list[WallImpact]:
    return [r for r in throw.readings if isinstance(r, WallImpact)]


def track(throw: Throw, die: int) -> list[DieAt]:
    return [r for r in throw.readings if isinstance(r, DieAt) and r.die == die]
