"""Scenes of a simulated session with their ground truth, and their comparison with published outcomes."""

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

import msgspec

from controller.model.geometry import DiceTable, Wheel
from controller.model.outcomes import (
    Bets,
    Data,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
)
from controller.model.readings import AnyReading

CAMERA = "cam"
Verdict = Literal["valid", "void", "review"]
Feed = list[tuple[int, AnyReading]]
"""Readings with their times of arrival (table time, us), in order of arrival."""
Expected = dict[str, object]
"""An outcome that must be published, with its type and the keys of its data that must match."""


class Truth(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The ground truth of an attempt, and the outcomes that may be published.

    `verdict` is the correct verdict. `allowed` lists the correct first outcomes, including a review if the
    readings leave doubt. A void must have the codes in `reasons` and may have those in `may_add`. `ruled` is
    the result of a person's ruling after the first outcome.
    """

    verdict: Verdict
    allowed: tuple[Verdict, ...]
    reasons: tuple[str, ...] = ()
    may_add: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    dice: tuple[int, int] | None = None
    any_order: bool = False
    """Whether both orders of the faces are correct, as they are if the camera might confuse the dice."""
    number: str | None = None
    revolutions: float | None = None
    drop_us: int | None = None
    ruled: Literal["called", "void", "corrected", "unruled", "stands"] | None = None
    ruled_dice: tuple[int, int] | None = None
    ruled_number: str | None = None
    cards: dict[str, tuple[str, ...]] = {}
    hands: dict[str, tuple[str, ...]] = {}
    """Final cards of each position, `dealer` included."""
    told: tuple[Expected, ...] = ()
    """All outcomes of a card game, in order, without the numbers of rolls, deals and games."""


class Scene(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One attempt of a session, or one game of several rolls."""

    kind: str
    start_us: int
    end_us: int
    truth: Truth
    throws: tuple["Scene", ...] = ()
    """Rolls of a game that consists of several rolls."""
    depends_on_previous: bool = False
    """Whether the expected outcomes depend on the preceding scenes."""


def without_numbers(outcomes: Iterable[Expected]) -> tuple[Expected, ...]:
    """Return outcomes without the numbers of rolls, deals and games, which differ after a missed attempt."""
    kept: list[Expected] = []
    for outcome in outcomes:
        data = outcome["data"]
        assert isinstance(data, dict)
        outcomes_of_attempt = {
            key: value for key, value in data.items() if key not in ("roll", "deal", "game")
        }
        kept.append({"type": outcome["type"], "data": outcomes_of_attempt})
    return tuple(kept)


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a log of table readings."""

    log: Literal["table-readings"] = "table-readings"
    version: int = 1
    table: str
    ruleset: str
    epoch: str = "2026-01-01T20:00:00Z"
    dice_table: DiceTable | msgspec.UnsetType = msgspec.UNSET
    wheel: Wheel | msgspec.UnsetType = msgspec.UNSET


def with_camera_lag(seen: Iterable[AnyReading], rng: Random) -> Feed:
    """Return a camera's readings with times of arrival. Each frame has a random lag, and frames arrive
    in order."""
    feed: Feed = []
    last_t, arrival = -1, 0
    for reading in seen:
        if reading.t != last_t:
            arrival = max(arrival + 1, reading.t + rng.randint(30_000, 80_000))
            last_t = reading.t
        feed.append((arrival, reading))
    return feed


def in_order_of_arrival(feed: Iterable[tuple[int, AnyReading]]) -> Feed:
    """Sort readings by time of arrival; readings that arrive together keep their order."""
    return sorted(feed, key=lambda item: item[0])


def write_log(path: Path, header: Header, feed: Feed, *, arrived: bool = False) -> None:
    """Write a log of table readings, compressed with gzip if the name ends in `.gz`.

    With `arrived`, each line contains the reading's time of arrival.
    """
    encode = msgspec.json.Encoder().encode
    lines = [encode(header)]
    for arrived_us, reading in feed:
        lines.append(encode(msgspec.structs.replace(reading, arrived=arrived_us if arrived else None)))
    data = b"\n".join(lines) + b"\n"
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


class PlayedAttempt(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="told", tag="attempt"
):
    """An attempt, its ground truth, and the faults that might have hidden part of the attempt.

    The attempt ends at `ends_us`, when the next attempt begins. The table may publish a review of a disturbed
    attempt, or nothing if it could not sense the attempt, but never a wrong result.
    """

    t: int
    attempt: int
    scene: Scene
    ends_us: int
    disturbed_by: tuple[str, ...] = ()


class FaultBegan(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault"):
    """The start of a fault, with its symptoms and the codes of which the table must report one."""

    t: int
    fault: str
    device: str
    seconds: float
    codes: tuple[str, ...]
    sees: str


class FaultOver(msgspec.Struct, frozen=True, kw_only=True, tag_field="told", tag="fault_over"):
    """The end of a fault; the device must recover soon."""

    t: int
    fault: str
    device: str


Story = PlayedAttempt | FaultBegan | FaultOver


_FIRST_OUTCOME_VERDICTS: dict[str, Verdict] = {
    "roll.called": "valid",
    "roll.no_roll": "void",
    "roll.review": "review",
    "spin.called": "valid",
    "spin.no_spin": "void",
    "spin.review": "review",
}


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference between the published outcomes of an attempt and the ground truth; `fault` is its kind.

    `wrong`: the result is wrong. `wrong_reasons`: a void is correct, but its reasons are not.
    `needless_void`: a valid throw or spin is void. `needless_review`: an attempt is under review
    although the readings decide it.
    `silent`: an outcome is missing. `late_close`: bets are open when the ball drops.
    """

    attempt: int
    scene: Scene
    fault: str
    told: str


def disagreements(scenes: Sequence[Scene], outcomes: Iterable[Outcome], first: int = 1) -> list[Disagreement]:
    """Return the differences between a session's outcomes and its ground truth.

    `first` is the number of the session's first attempt.
    """
    published = list(outcomes)
    found: list[Disagreement] = []
    for number, scene in enumerate(scenes, first):
        outcomes_of_attempt = [outcome for outcome in published if _attempt_of(outcome) == number]
        last = number == first + len(scenes) - 1
        for fault, later in _find_faults(scene.truth, outcomes_of_attempt, last=last):
            found.append(Disagreement(number, scene, fault, later))
    surplus = [outcome for outcome in published if (_attempt_of(outcome) or 0) >= first + len(scenes)]
    if surplus and scenes:
        found.append(
            Disagreement(first + len(scenes), scenes[-1], "wrong", f"no such attempt: {surplus[0].type}")
        )
    return found + _late_closes(scenes, published, first)


def _attempt_of(outcome: Outcome) -> int | None:
    data = outcome.data
    if isinstance(data, RollCalled | RollNoRoll | RollReview | RollCorrected):
        return data.roll
    if isinstance(data, SpinCalled | SpinNoSpin | SpinReview | SpinCorrected):
        return data.spin
    return None


def _find_faults(
    truth: Truth, outcomes_of_attempt: list[Outcome], *, last: bool
) -> Iterable[tuple[str, str]]:
    results = [outcome for outcome in outcomes_of_attempt if outcome.type in _FIRST_OUTCOME_VERDICTS]
    if not results:
        yield "silent", "nothing was published"
        return
    verdict = _FIRST_OUTCOME_VERDICTS[results[0].type]
    first = _in_words(results[0])
    if is_closed_review(results[0].data):
        if "review" not in truth.allowed:
            yield _fault_for("review"), first
        return
    if len(results) == 1 and _is_ruling(truth, results[0].data):
        return
    if verdict not in truth.allowed:
        yield _fault_for(verdict), first
        return
    if wrong := _wrong_content(truth, results[0]):
        yield "wrong_reasons" if verdict == "void" else "wrong", f"{wrong}: {first}"
    if verdict == "review":
        yield from _after_review(truth, results[1:], last=last)
    elif len(results) > 1:
        yield "wrong", f"two results: {first}, then {_in_words(results[1])}"
    else:
        yield from _after_call(
            truth, [outcome for outcome in outcomes_of_attempt if outcome.type.endswith(".corrected")]
        )


def is_closed_review(data: Data) -> bool:
    """Return whether an attempt became void when the next one began, before its review was published."""
    if not isinstance(data, RollNoRoll | SpinNoSpin):
        return False
    codes = {reason.code for reason in data.reasons}
    return "unruled" in codes and codes != {"unruled"}


def _is_ruling(truth: Truth, data: Data) -> bool:
    """Return whether an outcome is a person's ruling, entered before a review was published."""
    if isinstance(data, RollCalled):
        return truth.ruled == "called" and data.grade == "person" and data.dice == truth.ruled_dice
    if isinstance(data, SpinCalled):
        return truth.ruled == "called" and data.grade == "person" and data.number == truth.ruled_number
    if isinstance(data, RollNoRoll | SpinNoSpin):
        return truth.ruled == "void" and {reason.code for reason in data.reasons} == {"called"}
    return False


def _fault_for(verdict: Verdict) -> str:
    if verdict == "review":
        return "needless_review"
    return "needless_void" if verdict == "void" else "wrong"


def _wrong_content(truth: Truth, outcome: Outcome) -> str:
    data = outcome.data
    if isinstance(data, RollCalled):
        wanted = {truth.dice}
        if truth.any_order and truth.dice is not None:
            wanted.add((truth.dice[1], truth.dice[0]))
        missing = {*truth.notices} - {notice.code for notice in data.notices}
        if missing:
            return f"the call lacks the notice{'s' * (len(missing) > 1)} {', '.join(sorted(missing))}"
        return "" if data.dice in wanted else f"the dice were {_as_text(truth.dice)}"
    if isinstance(data, SpinCalled):
        return "" if data.number == truth.number else f"the number was {_as_text(truth.number)}"
    if isinstance(data, RollNoRoll | SpinNoSpin):
        codes = {reason.code for reason in data.reasons}
        if codes - {*truth.reasons, *truth.may_add} or {*truth.reasons} - codes:
            return f"the reasons were {', '.join(truth.reasons) or 'none'}"
    return ""


def _after_review(truth: Truth, later: list[Outcome], *, last: bool) -> Iterable[tuple[str, str]]:
    if truth.ruled in ("called", "void"):
        if not later:
            yield "silent", "a person ruled, but nothing was published"
            return
        data = later[0].data
        if _FIRST_OUTCOME_VERDICTS[later[0].type] != ("valid" if truth.ruled == "called" else "void"):
            yield "wrong", f"the outcome contradicts a person's ruling: {_in_words(later[0])}"
        elif isinstance(data, RollCalled) and (data.dice != truth.ruled_dice or data.grade != "person"):
            yield "wrong", f"a person set {_as_text(truth.ruled_dice)}: {_in_words(later[0])}"
        elif isinstance(data, SpinCalled) and (data.number != truth.ruled_number or data.grade != "person"):
            yield "wrong", f"a person set {_as_text(truth.ruled_number)}: {_in_words(later[0])}"
        return
    if last and not later:
        return
    if not later:
        yield "silent", "nobody ruled, and the review was never closed"
        return
    data = later[0].data
    if not isinstance(data, RollNoRoll | SpinNoSpin) or {r.code for r in data.reasons} != {"unruled"}:
        yield "wrong", f"nobody ruled, but the table published {_in_words(later[0])}"


def _after_call(truth: Truth, corrected: list[Outcome]) -> Iterable[tuple[str, str]]:
    if truth.ruled != "corrected":
        if corrected:
            yield "wrong", f"corrected although nobody ruled: {_in_words(corrected[0])}"
        return
    if len(corrected) != 1:
        yield "silent", f"a person ruled once, but {len(corrected)} corrections were published"
        return
    data = corrected[0].data
    if isinstance(data, RollCorrected) and data.dice != truth.ruled_dice:
        yield (
            "wrong",
            f"corrected to {_as_text(data.dice)}, but the ruling was {_as_text(truth.ruled_dice)}",
        )
    if isinstance(data, SpinCorrected) and data.number != truth.ruled_number:
        yield (
            "wrong",
            f"corrected to {_as_text(data.number)}, but the ruling was {_as_text(truth.ruled_number)}",
        )


def _late_closes(scenes: Sequence[Scene], outcomes: list[Outcome], first: int) -> list[Disagreement]:
    """Return a disagreement for each valid spin whose ball drops while bets are open."""
    found: list[Disagreement] = []
    bets = [o for o in outcomes if isinstance(o.data, Bets)]
    for number, scene in enumerate(scenes, first):
        drop = scene.truth.drop_us
        if drop is None or scene.truth.allowed != ("valid",):
            continue
        before = [o.type for o in bets if o.t < drop]
        if not before or before[-1] != "bets.closed":
            found.append(Disagreement(number, scene, "late_close", "bets were open when the ball dropped"))
    return found


def _as_text(result: tuple[int, int] | str | None) -> str:
    if result is None:
        return "no result"
    return result if isinstance(result, str) else f"{result[0]}-{result[1]}"


def _in_words(outcome: Outcome) -> str:
    data = outcome.data
    if isinstance(data, RollCalled):
        return f"called {data.dice[0]}-{data.dice[1]}"
    if isinstance(data, SpinCalled):
        return f"called {data.number}"
    if isinstance(data, RollNoRoll | RollReview | SpinNoSpin | SpinReview):
        return f"{outcome.type} ({', '.join(f'{r.code}: {r.seen}' for r in data.reasons)})"
    return outcome.type
