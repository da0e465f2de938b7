"""Replay: a log's readings through the same engine that a live table runs, in the data's own time."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from controller.engine.session import Session
from controller.games.registry import game_of
from controller.machines.setup import LOCKING_SWITCHES, First, Setup, State
from controller.model.effects import Effect, Late
from controller.model.geometry import Wheel, beam_mistakes, pocket_mistakes
from controller.model.readings import AnyReading, kind_of
from controller.model.rulesets import Calls, RuleSet
from controller.replay.log import Header, Log
from controller.replay.source import LogError

DEFAULT_SESSION = "replay"
"""The session's word in outcomes' ids where the log names none."""


def setup_of(header: Header, ruleset: RuleSet, name: str, calls: Calls | None = None) -> Setup:
    """Make a session's start from a log's header.

    `name` is the log's, for messages; `calls` replaces the header's word on who calls. Raises LogError where
    the header lacks the geometry that the rule set's game needs, or gives two.
    """
    needed = game_of(ruleset.game).geometry
    given = [part for part in ("dice_table", "wheel") if getattr(header, part) is not None]
    if needed is not None and given != [needed]:
        found = f"a header with {' and '.join(given) or 'no geometry'}"
        expected = f"`{needed}` alone for the rule set {ruleset.name}"
        raise LogError(name, found, expected, "fix the header, or name another rule set with --rules", line=1)
    if header.wheel is not None:
        _check_wheel(header.wheel, ruleset, name)
    state = header.state or State()
    switches = LOCKING_SWITCHES if header.locking_switches is None else header.locking_switches
    return Setup(
        table=header.table,
        ruleset=ruleset,
        session=DEFAULT_SESSION if header.session is None else str(header.session),
        first=header.first or First(),
        state=state if calls is None else msgspec.structs.replace(state, calls=calls),
        dice_table=header.dice_table,
        wheel=header.wheel,
        sources=header.sources or {},
        locking_switches=frozenset(switches),
    )


def _check_wheel(wheel: Wheel, ruleset: RuleSet, name: str) -> None:
    """Raise LogError where a header's wheel can't be: a number might be of a wrong pocket."""
    judged = ruleset.spin is not None and ruleset.spin.revolutions != "trusted_wheel"
    for key, found, expected in (
        *pocket_mistakes(wheel.pockets, wheel.pockets_clockwise),
        *beam_mistakes(wheel.beams_deg, judged=judged),
    ):
        place = ".".join(str(part) for part in ("wheel", *key))
        raise LogError(name, f"{found} as `{place}` of the header", expected, "fix the header", line=1)


def replay(log: Log, setup: Setup, progress: Callable[[int], None] | None = None) -> Iterator[Effect]:
    """Run a log through a session and give every effect in order, those of its end included.

    `progress` is called now and then with the number of lines read. Raises LogError at a bad line.
    """
    session = Session(setup)
    for batch in log.batches():
        effects = session.feed_all(batch)
        if log.first_late is None:
            log.first_late = _first_late(effects, batch, log.numbers)
        yield from effects
        if progress is not None:
            progress(log.lines)
    yield from session.finish(cut=log.truncated)


def _first_late(effects: Sequence[Effect], batch: Sequence[AnyReading], lines: Sequence[int]) -> str | None:
    """Name the first reading that does not count, and its line unless it waited for a later block's word."""
    late = next((effect for effect in effects if isinstance(effect, Late)), None)
    if late is None:
        return None
    seen = late.reading
    line = next((f"line {n}, " for reading, n in zip(batch, lines, strict=True) if reading is seen), "")
    return f"{line}{kind_of(seen)} of {seen.dev}, its time off by {late.behind_us / 1_000_000:.3f} s"
