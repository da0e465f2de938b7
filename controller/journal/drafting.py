"""From what the engine hands out to the rows that keep it."""

from collections.abc import Sequence

import msgspec

from controller.journal.chain import Draft, WallTime
from controller.journal.contents import (
    ATTEMPT_BEGUN,
    LAMP,
    LANDMARKS,
    LATE,
    PROPOSED,
    STATE_NOTED,
    After,
    Evidence,
    Noted,
    SessionStart,
    canonical,
    encode,
    evidence_of,
    pack,
)
from controller.machines.setup import First, Setup, State
from controller.model.effects import Effect, Judged, Lamp, Late, Proposed
from controller.model.outcomes import WORDS, Outcome, Word


class Drafter:
    """Drafts rows in order, and remembers which attempts are noted to have begun."""

    def __init__(self, first: First) -> None:
        """Go on from these numbers."""
        self._first = first
        self._state = State()

    def session(self, setup: Setup) -> None:
        """Begin a session."""
        self._first, self._state = setup.first, setup.state

    def effects(self, effects: Sequence[Effect], after: After, wall: WallTime) -> list[Draft]:
        """Draft the rows of one reading's effects; the last one holds what stood afterwards.

        Without any effect the state has changed all the same: a row of its own says so.
        """
        begun = self._begun(after.first)
        drafts: list[Draft] = []
        ended: set[tuple[Word, int]] = set()
        for place, effect in enumerate(effects):
            match effect:
                case Outcome():
                    drafts.append(outcome_draft(effect, wall, _proof(effects[place + 1 : place + 2])))
                    ended |= _ends(effect)
                case Lamp():
                    drafts.append(event_draft(LAMP, effect, wall))
                case Proposed():
                    bare = msgspec.structs.replace(effect.verdict, evidence=())
                    told = msgspec.structs.replace(effect, verdict=bare)
                    drafts.append(event_draft(PROPOSED, told, wall))
                case _:
                    pass
        t = max((effect.t for effect in effects if isinstance(effect, Outcome | Lamp | Proposed)), default=0)
        drafts += [_begin(word, number, t, wall) for word, number in begun if (word, number) not in ended]
        if not (effects or drafts):
            noted = Noted(changed=differing(self._state, after.state))
            drafts.append(event_draft(STATE_NOTED, noted, wall))
        self._first, self._state = after.first, after.state
        if drafts:
            drafts[-1] = msgspec.structs.replace(drafts[-1], after=encode(after))
        return drafts

    def begins(self, attempt: Word, number: int, t: int, wall: WallTime) -> list[Draft]:
        """Note that this attempt began, unless that is noted already."""
        first = msgspec.structs.replace(self._first, **{attempt: number + 1})
        begun = self._begun(first)
        if begun:
            self._first = first
        return [_begin(word, number, t, wall) for word, number in begun]

    def _begun(self, first: First) -> list[tuple[Word, int]]:
        """Name the attempts that the session's numbers show to have begun since the last ones."""
        return [
            (word, getattr(first, word) - 1)
            for word in WORDS
            if getattr(first, word) > getattr(self._first, word)
        ]


def differing(before: State, after: State) -> tuple[str, ...]:
    """Name the parts in which two states differ."""
    return tuple(name for name in State.__struct_fields__ if getattr(before, name) != getattr(after, name))


def outcome_draft(outcome: Outcome, wall: WallTime, proof: Evidence | None = None) -> Draft:
    """Draft an outcome's row: its bytes exactly as they will be published."""
    return Draft(
        name=outcome.type,
        wall=wall,
        seq=outcome.seq,
        body=canonical(outcome),
        evidence=None if proof is None else pack(proof),
        signed=True,
    )


def event_draft(name: str, data: object, wall: WallTime) -> Draft:
    """Draft the row of an event that is no outcome."""
    return Draft(name=name, wall=wall, body=encode(data), signed=name in LANDMARKS)


def late_draft(late: Sequence[Late], wall: WallTime) -> Draft:
    """Draft one row for readings that came too late to count."""
    return event_draft(LATE, late, wall)


def _proof(following: Sequence[Effect]) -> Evidence | None:
    return evidence_of(judged) if following and isinstance(judged := following[0], Judged) else None


def _begin(word: Word, number: int, t: int, wall: WallTime) -> Draft:
    return event_draft(ATTEMPT_BEGUN, SessionStart(attempt=word, number=number, t=t), wall)


def _attempt_of(outcome: Outcome) -> tuple[Word, int] | None:
    for word in WORDS:
        number = getattr(outcome.data, word, None)
        if isinstance(number, int):
            return word, number
    return None


def _ends(outcome: Outcome) -> set[tuple[Word, int]]:
    attempt = _attempt_of(outcome)
    return set() if attempt is None or outcome.type.endswith(".review") else {attempt}
