"""From what the engine hands out to the rows that keep it."""

from collections.abc import Sequence

import msgspec

from controller.engine.setup import First, Setup, State
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
from controller.journal.evidence import Basis, Evidence, Sources, evidence_of, learned, pack
from controller.model.effects import Effect, Judged, Lamp, Late, Proposed
from controller.model.outcomes import Bets, Outcome
from controller.model.readings import DieOffTable, DieRest


class Drafter:
    """Drafts rows in order, and remembers of the session what the next evidence needs."""

    def __init__(self, first: First, state: State) -> None:
        """Go on from these numbers and this state."""
        self._first = first
        self._state = state
        self._sources: Sources = {}
        self._decided: tuple[int, int] | None = None
        self._late_close = False
        self._learned: dict[int, dict[str, float]] = {}

    def session(self, setup: Setup) -> None:
        """Begin a session."""
        self._first = setup.first
        self._state = setup.state
        self._sources = {dev: frozenset(kinds) for dev, kinds in setup.sources.items()}
        self._decided = None
        self._late_close = False
        self._learned.clear()

    def effects(self, effects: Sequence[Effect], after: After, wall: Wall) -> list[Draft]:
        """Draft the rows of one reading's effects; the last one holds what stood afterwards."""
        begun = self._begun(after.first)
        drafts: list[Draft] = []
        ended: set[tuple[Word, int]] = set()
        for place, effect in enumerate(effects):
            match effect:
                case Outcome():
                    proof = self._proof(effect, effects[place + 1 : place + 2])
                    drafts.append(outcome_draft(effect, wall, proof))
                    ended |= _ends(effect)
                    self._note_late_close(effect)
                case Lamp():
                    drafts.append(event_draft(LAMP, effect, wall))
                case Proposed():
                    self._decided = (effect.attempt, effect.t)
                    bare = msgspec.structs.replace(effect.verdict, evidence=())
                    told = msgspec.structs.replace(effect, verdict=bare)
                    drafts.append(event_draft(PROPOSED, told, wall))
                case _:
                    pass
        t = max((effect.t for effect in effects if isinstance(effect, Outcome | Lamp | Proposed)), default=0)
        drafts += [_begin(word, number, t, wall) for word, number in begun if (word, number) not in ended]
        self._first, self._state = after.first, after.state
        if drafts:
            drafts[-1] = msgspec.structs.replace(drafts[-1], after=encode(after))
        return drafts

    def begins(self, attempt: Word, number: int, t: int, wall: Wall) -> list[Draft]:
        """Note that this attempt began, unless that is noted already."""
        first = msgspec.structs.replace(self._first, **{attempt: number + 1})
        begun = self._begun(first)
        if begun:
            self._first = first
        return [_begin(word, number, t, wall) for word, number in begun]

    def _begun(self, first: First) -> list[tuple[Word, int]]:
        """Name the attempts that the session's numbers show to have begun since the last ones."""
        begun: list[tuple[Word, int]] = [
            (word, getattr(first, word) - 1)
            for word in WORDS
            if getattr(first, word) > getattr(self._first, word)
        ]
        for _, number in begun:
            self._learned = {number: self._state.learned, **dict(list(self._learned.items())[:1])}
        return begun

    def _proof(self, outcome: Outcome, following: Sequence[Effect]) -> Evidence | None:
        if not following or not isinstance(judged := following[0], Judged):
            return None
        attempt = _attempt_of(outcome)
        number = 0 if attempt is None else attempt[1]
        decided_at_us = self._decided_at(judged, number)
        if decided_at_us is not None:
            self._decided = (number, decided_at_us)
        self._sources = learned(self._sources, judged.readings)
        basis = Basis(
            decided_at_us=decided_at_us,
            warnings=self._state.warnings,
            sources=self._sources,
            learned=self._learned.get(number, self._state.learned),
            late_close=self._late_close,
        )
        return evidence_of(judged, basis)

    def _decided_at(self, judged: Judged, number: int) -> int | None:
        """Give when the judge was asked; a person rules on what was decided before."""
        outcome = judged.outcome
        by_sensors = getattr(outcome.data, "by", None) in (None, "sensors")
        if by_sensors and not _power_lost(outcome):
            return outcome.t
        if self._decided is not None and self._decided[0] == number:
            return self._decided[1]
        ends = [r.t for r in judged.readings if isinstance(r, DieRest | DieOffTable) and r.t <= outcome.t]
        return max(ends, default=None)

    def _note_late_close(self, outcome: Outcome) -> None:
        if isinstance(outcome.data, Bets):
            self._late_close = outcome.data.cause == "ball_drop"
        elif outcome.type in ("spin.called", "spin.no_spin"):
            self._late_close = False


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


def _ends(outcome: Outcome) -> set[tuple[Word, int]]:
    attempt = _attempt_of(outcome)
    return set() if attempt is None or outcome.type.endswith(".review") else {attempt}


def _power_lost(outcome: Outcome) -> bool:
    return any(reason.code == "power_lost" for reason in getattr(outcome.data, "reasons", ()))
