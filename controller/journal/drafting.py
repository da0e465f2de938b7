"""From what the engine hands out to the rows that keep it."""

from collections.abc import Sequence

import msgspec

from controller.engine.setup import First, Setup
from controller.journal.chain import Draft, Wall
from controller.journal.contents import (
    ATTEMPT_BEGUN,
    LAMP,
    LANDMARKS,
    LATE,
    PROPOSED,
    WORDS,
    After,
    Begun,
    Word,
    canonical,
    encode,
)
from controller.journal.evidence import Evidence, Sources, evidence_of, learned, pack
from controller.model.effects import Effect, Judged, Lamp, Late, Proposed
from controller.model.outcomes import Outcome
from controller.model.readings import DieOffTable, DieRest


class Drafter:
    """Drafts rows in order, and remembers of the session what the next evidence needs."""

    def __init__(self, first: First, warnings: int) -> None:
        """Go on from these numbers."""
        self._first = first
        self._warnings = warnings
        self._sources: Sources = {}
        self._decided: tuple[int, int] | None = None

    def session(self, setup: Setup) -> None:
        """Begin a session."""
        self._first = setup.first
        self._warnings = setup.state.warnings
        self._sources = {dev: frozenset(kinds) for dev, kinds in setup.sources.items()}
        self._decided = None

    def effects(self, effects: Sequence[Effect], after: After, wall: Wall) -> list[Draft]:
        """Draft the rows of one reading's effects; the last one holds what stood afterwards."""
        drafts: list[Draft] = []
        ended: set[tuple[str, int]] = set()
        for place, effect in enumerate(effects):
            match effect:
                case Outcome():
                    proof = self._proof(effect, effects[place + 1 : place + 2])
                    drafts.append(outcome_draft(effect, wall, proof))
                    ended |= _ends(effect)
                case Lamp():
                    drafts.append(event_draft(LAMP, effect, wall))
                case Proposed():
                    self._decided = (effect.attempt, effect.t)
                    bare = msgspec.structs.replace(effect.verdict, evidence=())
                    drafts.append(event_draft(PROPOSED, msgspec.structs.replace(effect, verdict=bare), wall))
                case _:
                    pass
        t = max((effect.t for effect in effects if isinstance(effect, Outcome | Lamp | Proposed)), default=0)
        drafts += [
            _begin(word, getattr(after.first, word) - 1, t, wall) for word in self._new(after.first, ended)
        ]
        self._warnings = after.state.warnings
        if drafts:
            drafts[-1] = msgspec.structs.replace(drafts[-1], after=encode(after))
        return drafts

    def begins(self, attempt: Word, number: int, t: int, wall: Wall) -> list[Draft]:
        """Note that this attempt began, unless that is noted already."""
        if getattr(self._first, attempt) > number:
            return []
        self._first = msgspec.structs.replace(self._first, **{attempt: number + 1})
        return [_begin(attempt, number, t, wall)]

    def _new(self, first: First, ended: set[tuple[str, int]]) -> list[Word]:
        """Name the attempts that the session's numbers show to have begun, and not to have ended at once."""
        before, self._first = self._first, first
        return [
            word
            for word in WORDS
            if getattr(first, word) > getattr(before, word) and (word, getattr(first, word) - 1) not in ended
        ]

    def _proof(self, outcome: Outcome, following: Sequence[Effect]) -> Evidence | None:
        if not following or not isinstance(judged := following[0], Judged):
            return None
        decided_at = self._decided_at(judged)
        if (attempt := _attempt_of(outcome)) is not None:
            self._decided = (attempt[1], decided_at)
        self._sources = learned(self._sources, judged.readings)
        return evidence_of(judged, decided_at_us=decided_at, warnings=self._warnings, sources=self._sources)

    def _decided_at(self, judged: Judged) -> int:
        """Give when the judge was asked: when a person ruled, it was at rest, or proposed, before that."""
        outcome = judged.outcome
        attempt = _attempt_of(outcome)
        known = self._decided if self._decided is not None and attempt is not None else None
        by_sensors = getattr(outcome.data, "by", None) in (None, "sensors")
        if by_sensors and not _power_lost(outcome):
            return outcome.t
        if known is not None and attempt is not None and known[0] == attempt[1]:
            return known[1]
        ends = [r.t for r in judged.readings if isinstance(r, DieRest | DieOffTable) and r.t <= outcome.t]
        return max(ends, default=outcome.t)


def outcome_draft(outcome: Outcome, wall: Wall, proof: Evidence | None = None) -> Draft:
    """Draft an outcome's row: its bytes exactly as they will be published."""
    return Draft(
        name=outcome.type,
        wall=wall,
        seq=outcome.seq,
        body=canonical(outcome),
        evidence=None if proof is None else pack(proof),
        signed=True,
    )


def event_draft(name: str, data: object, wall: Wall) -> Draft:
    """Draft the row of an event that is no outcome."""
    return Draft(name=name, wall=wall, body=encode(data), signed=name in LANDMARKS)


def late_draft(late: Sequence[Late], wall: Wall) -> Draft:
    """Draft one row for readings that came too late to count."""
    return event_draft(LATE, late, wall)


def _begin(word: Word, number: int, t: int, wall: Wall) -> Draft:
    return event_draft(ATTEMPT_BEGUN, Begun(attempt=word, number=number, t=t), wall)


def _attempt_of(outcome: Outcome) -> tuple[Word, int] | None:
    for word in WORDS:
        number = getattr(outcome.data, word, None)
        if isinstance(number, int):
            return word, number
    return None


def _ends(outcome: Outcome) -> set[tuple[str, int]]:
    attempt = _attempt_of(outcome)
    return set() if attempt is None or outcome.type.endswith(".review") else {attempt}


def _power_lost(outcome: Outcome) -> bool:
    return any(reason.code == "power_lost" for reason in getattr(outcome.data, "reasons", ()))
