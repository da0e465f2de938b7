"""Compare the outcomes of a session of spins with the truth, scene by scene."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from controller.model.outcomes import Bets, Outcome, SpinCalled, SpinNoSpin, SpinReview
from drivers.sim.croupier import Accepted, SpinTruth
from drivers.sim.scenes import is_closed_review

Mark = Literal["right", "review", "needless", "wrong_void", "false", "swallowed"]
MARKS: tuple[Mark, ...] = ("right", "review", "needless", "wrong_void", "false", "swallowed")
"""The verdicts, in this order: the true outcome; a review that the truth allows; a needless review; a void of
a valid spin; a call of an invalid spin or of another number; no outcome.
"""


LATE_US = 5_000_000
"""Maximum time from the start of a scene to a launch that ends an earlier, still open attempt."""
LATE_REVIEW_US = 1_000_000
"""Time from the start of a scene within which a review belongs to the scene before: a ball that has just been
launched is not reviewed yet."""
NEVER_S = -1000.0
"""The lead in a spin whose bets were never closed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one scene; `lead_s` is the time from the close of bets to the drop of a valid spin."""

    mark: Mark
    published: str
    reasons: tuple[str, ...] = ()
    lead_s: float | None = None


def verdicts(truths: Sequence[SpinTruth], outcomes: Sequence[Outcome]) -> list[Verdict]:
    """Return the verdict on each scene, which lasts until the next scene's `t0`.

    The next launch turns an unresolved review into a void with the additional reason `unruled`. This outcome
    belongs to the preceding scene, as does a review published right after the next launch.
    """
    ends = [truth.t0 for truth in truths[1:]] + [1 << 62]
    found = []
    bets = [o for o in outcomes if isinstance(o.data, Bets)]
    for truth, end_us in zip(truths, ends, strict=True):
        before = [o.type for o in bets if (o.t or 0) < truth.t0]
        bets_open = not before or before[-1] == "bets.opened"
        own = [o for o in outcomes if truth.t0 <= (o.t or 0) < end_us]
        words = [o for o in own if _is_word(o) and not _is_late(o, truth.t0)]
        late = [o for o in outcomes if _is_late(o, end_us)]
        words = words or late[:1]
        mark = _mark(truth, words)
        last = words[-1] if words else None
        published = "; ".join(_in_words(word) for word in words) or "nothing"
        found.append(Verdict(mark, published, _codes(last), _lead_s(truth, own, bets_open=bets_open)))
    return found


def _is_word(outcome: Outcome) -> bool:
    data = outcome.data
    if isinstance(data, SpinNoSpin):
        return "unruled" not in _codes(outcome)
    return isinstance(data, SpinCalled | SpinReview)


def _is_late(outcome: Outcome, launched_us: int) -> bool:
    """Return whether an outcome after a launch belongs to the spin before it."""
    since_us = (outcome.t or 0) - launched_us
    if isinstance(outcome.data, SpinReview):
        return 0 <= since_us < LATE_REVIEW_US
    return is_closed_review(outcome.data) and 0 <= since_us < LATE_US


def _mark(truth: SpinTruth, words: Sequence[Outcome]) -> Mark:
    if not words:
        return "right" if "nothing" in truth.accept else "swallowed"
    last = words[-1]
    calls = [word.data for word in words if isinstance(word.data, SpinCalled)]
    if any(call.number != truth.number or "call" not in truth.accept for call in calls):
        return "false"
    if any(isinstance(word.data, SpinCalled) for word in words[:-1]):
        return "false"
    published = {_word(last)} if truth.note["before"] else {_word(word) for word in words}
    if "review" in published:
        if published <= {*truth.accept, "review"}:
            return "review" if "review" in truth.accept else "needless"
        return "wrong_void"
    return "right" if published <= {*truth.accept} else "wrong_void"


def _word(outcome: Outcome) -> Accepted:
    if isinstance(outcome.data, SpinCalled):
        return "call"
    return "void" if isinstance(outcome.data, SpinNoSpin) and not is_closed_review(outcome.data) else "review"


def _codes(outcome: Outcome | None) -> tuple[str, ...]:
    if outcome is None or not isinstance(outcome.data, SpinNoSpin | SpinReview):
        return ()
    return tuple(reason.code for reason in outcome.data.reasons)


def _lead_s(truth: SpinTruth, own: Sequence[Outcome], *, bets_open: bool) -> float | None:
    """Return the time from the close of bets to the drop, for a single valid run that must be called.

    Return None if bets were already closed during a review, or if a stray pulse of the drop sensor closed
    them.
    """
    if truth.accept != ["call"] or truth.note["runs"] != 1:
        return None
    closed = [o for o in own if isinstance(o.data, Bets) and o.type == "bets.closed"]
    if not closed:
        return NEVER_S if bets_open else None
    lead_s = (truth.t_drop - (closed[0].t or 0)) / 1e6
    by_stray = isinstance(closed[0].data, Bets) and closed[0].data.cause == "ball_drop" and lead_s > 0
    return None if by_stray else lead_s


def _in_words(outcome: Outcome) -> str:
    data = outcome.data
    if isinstance(data, SpinCalled):
        return f"called {data.number} ({data.revolutions} turns)"
    if isinstance(data, SpinNoSpin | SpinReview):
        kind = "no spin" if isinstance(data, SpinNoSpin) else "review"
        return f"{kind} ({'; '.join(f'{r.code}: {r.seen}' for r in data.reasons)})"
    return outcome.type
