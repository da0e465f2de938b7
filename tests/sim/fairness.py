"""Check the outcomes of a session with injected faults.

No outcome may be wrong, and an undisturbed attempt must have all its outcomes. In a disturbed attempt the
table may have detected only a part of the events. A review or a missing outcome is then as correct as a call.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.model.effects import Effect, Judged, LateReading
from controller.model.outcomes import (
    Bets,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
)
from controller.model.readings import (
    AnyReading,
    BallBeam,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    DieAt,
    DieReleased,
    WheelStatus,
)
from drivers.sim.scenes import FaultBegan, PlayedAttempt, Truth, disagreements
from tests.sim.card_fairness import false_cards, false_deals, false_games, throws_of, wrong_card_outcomes

_BEGINNINGS = (DieReleased, DieAt, BallBeam, WheelStatus)
_CLOCKS_US = 5_000
"""Maximum error of a node's timestamp, in microseconds, by which a reading may precede its scene."""
_BEFORE_US = 300_000
"""Maximum time from a device's last valid message to the report of its loss, in microseconds."""
_AFTER_US = 10_000_000
_HIDDEN: Mapping[str, tuple[str, ...]] = {
    "hidden_die": ("one_die_thrown", "not_simultaneous"),
}
"""Acceptable reasons if a fault hid a die from the table and no device reported the fault."""
_ONCE_A_GAME_US = 120_000_000
"""Maximum age, in microseconds, of the report of a wheel's fault, which the wheel sends once per game."""


def wrong_outcomes(played: Sequence[PlayedAttempt], effects: Iterable[Effect]) -> list[str]:
    """Return every wrong outcome, and every missing or needless outcome of an undisturbed attempt."""
    published = list(effects)
    if any(story.scene.truth.told for story in played):
        return _wrong_card_outcomes(played, published)
    bets = [effect for effect in published if isinstance(effect, Outcome) and isinstance(effect.data, Bets)]
    attempts = _attempts_of(published)
    # A busy machine may exceed the link's limits at ten times real time.
    late_us = [effect.reading.t for effect in published if isinstance(effect, LateReading)]
    found: list[str] = []
    disturbed = False
    for story in played:
        late = any(story.scene.start_us <= t < story.ends_us for t in late_us)
        disturbed, before_disturbed = late or bool(story.disturbed_by), disturbed
        if disturbed or before_disturbed:
            continue
        own = [a for a in attempts if story.scene.start_us <= a.begun_us < story.ends_us]
        words = [word for attempt in own for word in attempt.words]
        first = own[0].number if own else 1
        found += [
            f"{_name(story)}: {each.fault}, {each.told}"
            for each in disagreements([story.scene], [*bets, *words], first)
        ]
    return found + _false(played, attempts)


def _wrong_card_outcomes(played: Sequence[PlayedAttempt], published: list[Effect]) -> list[str]:
    rolls = throws_of(played)
    if not any(story.scene.throws for story in played):
        return wrong_card_outcomes(played, published, "three_card") + false_deals(played, published)
    false = false_cards(played, published) + false_games(published) + _false(rolls, _attempts_of(published))
    return wrong_card_outcomes(played, published, "high_roller") + false


def _false(played: Sequence[PlayedAttempt], attempts: Iterable["Attempt"]) -> list[str]:
    found: list[str] = []
    for attempt in attempts:
        stories = [
            p for p in played if p.scene.start_us <= attempt.decided_us and p.ends_us > attempt.begun_us
        ]
        if stories and stories[-1].ends_us > attempt.decided_us:
            found += _false_outcomes(attempt, stories, played)
    return found


@dataclass(slots=True)
class Attempt:
    """The outcomes of an attempt, and the period that the table assigned to the attempt."""

    number: int
    begun_us: int
    decided_us: int
    words: list[Outcome]


def _attempts_of(published: Sequence[Effect]) -> list[Attempt]:
    begun: dict[str, int] = {}
    for effect in published:
        if isinstance(effect, Judged):
            seen = [reading.t for reading in effect.readings if isinstance(reading, _BEGINNINGS)]
            begun[effect.outcome.id] = min(seen, default=effect.outcome.t) + _CLOCKS_US
    attempts: dict[int, Attempt] = {}
    for effect in published:
        if not isinstance(effect, Outcome):
            continue
        number = getattr(effect.data, "roll", None) or getattr(effect.data, "spin", None)
        if number is not None:
            since_us = begun.get(effect.id, effect.t)
            attempts.setdefault(number, Attempt(number, since_us, effect.t, [])).words.append(effect)
    return list(attempts.values())


def unnamed(faults: Iterable[FaultBegan], readings: Sequence[AnyReading]) -> list[str]:
    """Return the faults that no reading reported with one of the expected codes.

    A fault of a device that was already down is left out, because the device may have reported another code.
    """
    health = [r for r in readings if isinstance(r, DeviceDown | DeviceFault | DeviceUp)]
    return [
        f"{fault.fault} at {fault.device or 'all'} ({fault.t}):"
        f" no reading has one of the codes {', '.join(fault.codes)}"
        for fault in faults
        if fault.codes and not _is_down(fault, health) and not any(_names(r, fault) for r in health)
    ]


def _is_down(fault: FaultBegan, health: Sequence[AnyReading]) -> bool:
    before = [r for r in health if r.dev == fault.device and r.t < fault.t and not isinstance(r, DeviceFault)]
    return bool(before) and isinstance(before[-1], DeviceDown)


def _names(reading: AnyReading, fault: FaultBegan) -> bool:
    assert isinstance(reading, DeviceDown | DeviceFault | DeviceUp)
    before_us = _ONCE_A_GAME_US if fault.fault.startswith("wheel_") else _BEFORE_US
    return (
        reading.code in fault.codes
        and fault.device in ("", reading.dev)
        and fault.t - before_us <= reading.t <= fault.t + round(fault.seconds * 1e6) + _AFTER_US
    )


def _false_outcomes(
    attempt: Attempt, stories: Sequence[PlayedAttempt], played: Sequence[PlayedAttempt]
) -> Iterator[str]:
    """Yield the outcomes that none of the scenes explains."""
    names = "; ".join(map(_name, stories))
    calls = [word for word in attempt.words if isinstance(word.data, RollCalled | SpinCalled)]
    if len(calls) > 1:
        yield f"{names}: {len(calls)} calls of one attempt"
    for word in attempt.words:
        # A person rules on the dice that are now on the table, even if the table did not detect their throw.
        now = [p for p in played if p.scene.start_us <= word.t < p.ends_us]
        if not any(_is_true(word.data, story) for story in [*stories, *now]):
            yield f"{names}: {word.type} {_reported(word.data)} is false"


def _is_true(data: Data, story: PlayedAttempt) -> bool:
    truth = story.scene.truth
    stuck = any(fault.startswith("stuck_button") for fault in story.disturbed_by)
    by_person = stuck or "called" in truth.reasons or truth.ruled in ("void", "corrected", "stands")
    match data:
        case RollCalled() | SpinCalled():
            return _may_be_called(truth, data)
        case RollNoRoll() | SpinNoSpin():
            hidden = {code for fault in story.disturbed_by for code in _HIDDEN.get(fault.split()[0], ())}
            said = {*hidden, *truth.reasons, *truth.may_add, "unruled", *(("called",) if by_person else ())}
            return {reason.code for reason in data.reasons} <= said
        case RollCorrected() | SpinCorrected():
            value = _value(data)
            return by_person if value is None else value in (truth.ruled_dice, truth.ruled_number)
        case _:
            return True


def _may_be_called(truth: Truth, data: RollCalled | SpinCalled) -> bool:
    value = _value(data)
    if data.grade == "person":
        return value in (truth.ruled_dice, truth.ruled_number)
    if truth.verdict == "void":
        return truth.reasons == ("called",)
    wanted = {truth.dice, truth.number} - {None}
    if truth.any_order and truth.dice is not None:
        wanted.add((truth.dice[1], truth.dice[0]))
    return value in wanted


def _reported(data: Data) -> str:
    if isinstance(data, RollNoRoll | SpinNoSpin):
        return f"for {', '.join(reason.code for reason in data.reasons)}"
    return str(_value(data)) if isinstance(data, _Valued) else ""


_Valued = RollCalled | SpinCalled | RollCorrected | SpinCorrected


def _value(data: _Valued) -> tuple[int, int] | str | None:
    return data.dice if isinstance(data, RollCalled | RollCorrected) else data.number


def _name(story: PlayedAttempt) -> str:
    by = f" under {', '.join(story.disturbed_by)}" if story.disturbed_by else ""
    return f"#{story.attempt} {story.scene.kind}{by}"
