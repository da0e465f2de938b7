"""Scenes of an SS2 wheel for tests: its lines, half a second apart, as readings of a table."""

from collections.abc import Iterable
from dataclasses import replace

from controller.engine.session import Session
from controller.machines.setup import Setup, State
from controller.model.effects import Effect
from controller.model.geometry import STANDARD_POCKETS, Wheel
from controller.model.outcomes import Outcome
from controller.model.readings import AnyReading, WheelStatus
from controller.model.rulesets import RuleSet
from controller.settings.rulesets import load_ruleset
from drivers.ss2.device import Ss2Settings, Ss2Wheel

PERIOD_US = 500_000
START_US = 10_000_000
AMERICAN = Wheel(
    pockets="american",
    pockets_clockwise=STANDARD_POCKETS["american"],
    beams_deg=(10, 130, 250),
    pocket_reader_deg=0,
    rotor_index_deg=200,
    drop_rev_per_s=0.5,
)


def frame(state: int, spin: int, number: str, *, flags: str = "0", rpm: int = 171, direction: int = 0) -> str:
    """Return a status frame; `number` has its two characters."""
    return f"*X;{state};{spin:03};{number};{flags};{rpm:03};{direction}"


def game(
    spin: int,
    last: str,
    number: str,
    *,
    in_rim: Iterable[str] = "000000",
    no_more_bets: Iterable[str] = "0" * 20,
    announced: bool = True,
    direction: int = 0,
) -> list[str]:
    """Return one game from the bets to the number; `in_rim` and `no_more_bets` are flags frame by frame."""
    lines = [frame(2, spin, last, direction=direction)] * 8
    lines += [frame(3, spin, last, flags=flags, direction=direction) for flags in in_rim]
    lines += [frame(4, spin, last, flags=flags, direction=direction) for flags in no_more_bets]
    lines += [number] if announced else []
    return lines + [frame(5, spin, number, direction=direction)] * 8


def heard(lines: Iterable[str], begins_us: int = START_US, wheel: Ss2Wheel | None = None) -> list[AnyReading]:
    """Feed these lines to the wheel's driver, half a second apart; an empty one is a frame not sent."""
    wheel = wheel or Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
    readings: list[AnyReading] = []
    t = begins_us
    for line in lines:
        while (due := wheel.next_deadline()) is not None and due < t:
            readings += wheel.tick(due)
        readings += wheel.receive(t, line.encode() + b"\r\n")
        t += PERIOD_US if line == "" or line.startswith("*") else 0
    return readings


def reports(readings: Iterable[AnyReading]) -> list[WheelStatus]:
    return [reading for reading in readings if isinstance(reading, WheelStatus)]


def trusting_rules(ruleset: str = "roulette") -> RuleSet:
    """Return the rule set of a table that trusts its wheel."""
    rules = load_ruleset(ruleset)
    assert rules.spin is not None
    return replace(rules, spin=replace(rules.spin, revolutions="trusted_wheel"))


def outcomes(
    *scenes: Iterable[AnyReading],
    ruleset: RuleSet | None = None,
    state: State | None = None,
    wheel: Wheel = AMERICAN,
) -> list[Outcome]:
    """Play readings, in time order, through a table with this wheel to the end; return the outcomes."""
    setup = Setup(table="w", ruleset=ruleset or trusting_rules(), wheel=wheel, state=state or State())
    session = Session(setup)
    effects: list[Effect] = []
    readings = [reading for scene in scenes for reading in scene]
    for reading in sorted(readings, key=lambda reading: reading.t):
        effects += session.advance(reading.t)
        effects += session.feed(reading)
    effects += session.finish()
    return [effect for effect in effects if isinstance(effect, Outcome)]
