"""One table's wager book. It applies steps and returns lines and movements of money, without any I/O.

A step is one indivisible change, as stored in the database. The book retains the steps since the last
settled state (the anchor). A correction replaces the requests of the corrected outcome and replays these
steps. Outcomes that do not affect wagers, such as a review or a device's health, have no step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import or_
from typing import Literal, NamedTuple

import msgspec

from controller.games.registry import game_of
from controller.model.conversion import converter_of
from controller.model.outcomes import Outcome
from controller.settlement.book import (
    AnswerLine,
    Book,
    Decided,
    RawRequest,
    Reduced,
    Refusal,
    RefusedLine,
    Request,
)
from controller.settlement.wagers import EndedAttempt, Wagers
from controller.settlement_service.ledger import Movement, Tally, Wager

Kind = Literal["asked", "outcome", "correction", "reset", "struck"]
"""The kind of a step:

asked: a player's granted request
outcome: an outcome
correction: an outcome that replaces an earlier one
reset: a fresh start, when the table opens or closes or a person has resolved a contradiction
struck: the withdrawal of requests that the table received after bets had closed
"""


class ReceivedAt(NamedTuple):
    """When a table received a request. `t` is the table's time in microseconds."""

    session: str
    round: int
    t: int


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step of a table's history.

    Attributes:
        n: the step's number; a table's steps are numbered from 1 without gaps.
        requests: requests as defined by the settle contract, with players' names instead of seats.
        seq: the outcome's number.
        corrects: the number of the outcome that a correction replaces.
        result: True at the end of an attempt; earlier attempts can then no longer be corrected.
        refund: why all stakes are returned before the requests are applied; empty if they are not returned.
        point_after: the table's point after the step, if reported.
        heard: when the table received a request that was granted because bets were open.
        strikes: the numbers of the steps whose requests are withdrawn.
    """

    n: int
    kind: Kind
    requests: tuple[RawRequest, ...] = ()
    seq: int | None = None
    corrects: int | None = None
    result: bool = False
    refund: str = ""
    point_after: int | Literal["off"] | None = None
    heard: ReceivedAt | None = None
    strikes: tuple[int, ...] = ()


class Anchor(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A settled state: the book is empty after step `n`. The requests in `prelude` bring a fresh game to this
    state.

    `carry` is the breakage that has not been booked yet: a fraction of a cent, in lowest terms.
    """

    n: int = 0
    prelude: tuple[RawRequest, ...] = ()
    carry: tuple[int, int] = (0, 1)


class StepAnswer(msgspec.Struct, frozen=True):
    """A line of the answer to step `of_n`."""

    of_n: int
    line: AnswerLine


CORRECTIONS = frozenset({"roll.corrected", "spin.corrected", "deal.corrected"})
RESULTS = frozenset(
    {"roll.called", "roll.no_roll", "spin.called", "spin.no_spin", "deal.called", "deal.void"}
)
"""Outcomes that end an attempt. Earlier attempts can then no longer be corrected."""


def requests_of(outcome: Outcome, game: str) -> list[RawRequest]:
    """Return the requests to the game that result from an outcome, in order."""
    return game_of(game).wagers().requests_of(outcome)


class Contradiction(Exception):
    """An outcome contradicts the wager book."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(f"found {found}, expected {expected}")


class UnknownRequest(Exception):
    """A request that the table's game does not support."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """The result of a step. It supersedes the results of step `supersedes_from` and all later steps."""

    lines: tuple[StepAnswer, ...]
    movement: Movement
    wagers: tuple[Wager, ...]
    players: Mapping[str, str] = field(default_factory=dict)
    """The owners of the wagers named in the lines."""
    refused: bool = False
    supersedes_from: int | None = None
    anchor: Anchor | None = None


@dataclass(slots=True)
class _RecordedStep:
    """A step as corrected so far; `seqs` holds the numbers of its outcome and that outcome's corrections."""

    step: Step
    movement: Movement
    seqs: set[int] = field(default_factory=set)


class _State:
    """A game in progress: the tally of its wagers, and its state of play."""

    def __init__(self, rules: "RuleSetGame", table: str, anchor: Anchor) -> None:
        self._rules = rules
        self.play_state = rules.wagers.play_state()
        at_table = rules.wagers.bought_at_table is not None
        self.tally = Tally(table, rules.fresh(), Fraction(*anchor.carry), paid_at_table=at_table)
        for raw in anchor.prelude:
            request = rules.decode(raw)
            self.tally.apply(request)
            self.play_state.follow(request)

    def run(self, step: Step, *, shooters: bool = True) -> tuple[list[StepAnswer], Movement, bool]:
        """Apply a step; return its lines, its movement, and whether a player's request was refused.

        Raises Contradiction if the game refuses an outcome's request or the game's point is not the table's.
        """
        lines: list[StepAnswer] = []
        moved = Movement()
        if step.kind == "reset":
            self.play_state = self._rules.wagers.play_state()
        if step.refund:
            back = self.tally.refund(self._new_book(), step.refund)
            lines += [StepAnswer(step.n, line) for line in back.lines]
            moved.add(back.movement)
        for raw in step.requests:
            request = self._rules.decode(raw)
            if self.play_state.is_redundant(request) or (
                not shooters and self.play_state.names_shooter(request)
            ):
                continue
            applied = self.tally.apply(request)
            lines += [StepAnswer(step.n, line) for line in applied.lines]
            moved.add(applied.movement)
            if applied.refused:
                if step.kind != "asked":
                    reasons = "; ".join(
                        line.reason for line in applied.lines if isinstance(line, RefusedLine)
                    )
                    raise Contradiction(
                        f"a refused `{raw['do']}` ({reasons})", "a request that the game accepts"
                    )
                return lines, moved, True
            self.play_state.follow(request)
        self._check_point(step)
        return lines, moved, False

    def _new_book(self) -> Book:
        game = self._rules.fresh()
        for raw in self.play_state.prelude():
            game.apply(self._rules.decode(raw))
        return game

    def _check_point(self, step: Step) -> None:
        if step.point_after is None:
            return
        expected = None if step.point_after == "off" else step.point_after
        if self.play_state.point != expected:
            found, own = (_describe_point(point) for point in (expected, self.play_state.point))
            raise Contradiction(f"{found} at the table", own)

    def settled(self, step: Step, lines: Sequence[StepAnswer]) -> Sequence[RawRequest] | None:
        """Return the prelude of an anchor after this step; None if the state is not settled."""
        if self.tally.up:
            return None
        ended = EndedAttempt(
            self.play_state, step.requests, [answer.line for answer in lines], self.tally.remembers
        )
        return self._rules.wagers.settled_at(ended)


class RuleSetGame:
    """The game that a rule set defines."""

    def __init__(self, name: str, wagers: Wagers, fresh: Callable[[], Book]) -> None:
        """Store the game's name and wagers; `fresh` returns a new book."""
        self.name = name
        self.wagers = wagers
        self.fresh = fresh
        self._request_of = converter_of(reduce(or_, fresh().vocabulary))

    def decode(self, raw: RawRequest) -> Request:
        """Decode a request. Raises UnknownRequest if this game has no such request."""
        try:
            request = self._request_of(raw, str_keys=True)
        except msgspec.ValidationError as error:
            expected = f"a request of {self.name}"
            raise UnknownRequest(f"found {str(raw.get('do'))!r}, expected {expected} ({error})") from error
        assert isinstance(request, Request)
        return request


class TableBook:
    """A table's book. After an exception, discard the book and load it again."""

    def __init__(self, game: RuleSetGame, table: str, anchor: Anchor, *, compact: bool = True) -> None:
        """Begin at an anchor. With `compact`, later anchors replace it."""
        self._game = game
        self._table = table
        self._anchor = anchor
        self._compact = compact
        self._state = _State(game, table, anchor)
        self._history: list[_RecordedStep] = []
        self._candidate: tuple[int, Anchor, tuple[str, ...]] | None = None
        self.last_n = anchor.n

    @property
    def point(self) -> int | None:
        """The point of a craps table."""
        return self._state.play_state.point

    @property
    def line_bet(self) -> tuple[str, bool] | None:
        """A craps table's shooter, and False if a required line bet is missing; None without a shooter."""
        shooter = self._state.play_state.shooter
        return None if shooter is None else (shooter, not self._state.tally.lacks_line_bet)

    @property
    def late_refusal(self) -> Refusal | None:
        """The game's refusal of bets made with the dice out; None if it accepts them when confirmed."""
        return self._state.tally.late_refusal

    @property
    def without_pair_plus(self) -> tuple[str, ...]:
        """The positions of a Three Card Poker table that have an Ante and no Pair Plus."""
        return self._state.tally.without_pair_plus

    @property
    def played(self) -> tuple[str, ...]:
        """The positions of a Three Card Poker table that have a Play wager."""
        return self._state.tally.played

    @property
    def empty(self) -> bool:
        """Whether no wager is up."""
        return not self._state.tally.up

    def wager(self, id_: str) -> Wager | None:
        """Return the wager with this id; None if no such wager was accepted since the anchor."""
        return self._state.tally.wagers.get(id_)

    def player_at(self, seat: str) -> str | None:
        """Return the player whose wagers are up at a seat; None if no wagers are up there."""
        requests = (raw for kept in self._history for raw in kept.step.requests)
        here = {str(one["id"]) for one in requests if one["do"] == "bet" and str(one.get("seat")) == seat}
        return next((wager.player for wager in self._state.tally.up if wager.id in here), None)

    def stakes_of(self, player: str) -> int:
        """Return the cents that a player has at risk."""
        return sum(wager.stake for wager in self._state.tally.up if wager.player == player)

    def cost(self, raw: RawRequest) -> int:
        """Return the cost of a request to its player, in cents. Raises UnknownRequest."""
        return self._state.tally.cost(self._game.decode(raw))

    def apply(self, step: Step) -> StepResult:
        """Apply the next step. Raises Contradiction or UnknownRequest."""
        assert step.n == self.last_n + 1
        anchor = self._move_anchor() if step.result else None
        match step.kind:
            case "correction":
                booked = self._correct(step)
            case "struck":
                booked = self._strike(step)
            case _:
                booked = self._append(step)
        if booked.refused:
            return booked
        self.last_n = step.n
        return StepResult(
            booked.lines,
            booked.movement,
            booked.wagers,
            {wager.id: wager.player for wager in booked.wagers},
            supersedes_from=booked.supersedes_from,
            anchor=anchor,
        )

    def _append(self, step: Step) -> StepResult:
        lines, moved, refused = self._state.run(step)
        if refused:
            return StepResult(tuple(lines), Movement(), (), refused=True)
        self._history.append(_RecordedStep(step, moved, set() if step.seq is None else {step.seq}))
        if self._compact and step.result:
            self._note_candidate(step, lines)
        return StepResult(tuple(lines), moved, tuple(self._touched(step, lines)))

    def _touched(self, step: Step, lines: Sequence[StepAnswer]) -> list[Wager]:
        named = [str(raw["id"]) for raw in step.requests if "id" in raw]
        changed = (answer.line.id for answer in lines if isinstance(answer.line, Decided | Reduced))
        ids = dict.fromkeys([*named, *changed])
        return [wager for id_ in ids if (wager := self.wager(id_))]

    # --- settled states ---

    def _note_candidate(self, step: Step, lines: Sequence[StepAnswer]) -> None:
        prelude = self._state.settled(step, lines)
        if prelude is None:
            self._candidate = None
            return
        carry = self._state.tally.carry.as_integer_ratio()
        anchor = Anchor(n=step.n, prelude=tuple(prelude), carry=carry)
        self._candidate = len(self._history), anchor, tuple(self._state.tally.wagers)

    def _move_anchor(self) -> Anchor | None:
        """Make the candidate the anchor, since the attempt before it can no longer be corrected."""
        if self._candidate is None:
            return None
        kept, anchor, decided = self._candidate
        self._candidate = None
        self._anchor = anchor
        del self._history[:kept]
        self._state.tally.forget(decided)
        return anchor

    # --- corrections and withdrawals ---

    def received_after(self, closed: ReceivedAt) -> tuple[int, ...]:
        """Return the numbers of the steps whose requests were received after the close of the same round."""
        heard = ((kept.step.n, kept.step.heard) for kept in self._history)
        return tuple(n for n, at in heard if at is not None and at[:2] == closed[:2] and at.t > closed.t)

    def last_received(self, of: ReceivedAt) -> int | None:
        """Return when the table received the round's last valid request; None if there is none."""
        heard = (kept.step.heard for kept in self._history)
        return max((at.t for at in heard if at is not None and at[:2] == of[:2]), default=None)

    def _strike(self, step: Step) -> StepResult:
        """Void granted requests by replaying the book without them."""
        struck = set(step.strikes)
        first = next((i for i, kept in enumerate(self._history) if kept.step.n in struck), None)
        if first is None:
            raise Contradiction(f"steps {sorted(struck)} to withdraw", "steps since the last settled state")

        def play_again() -> list[StepAnswer]:
            return self._replay(first, lambda kept: None if kept.step.n in struck else kept)

        return self._book_difference(first, play_again)

    def _correct(self, step: Step) -> StepResult:
        first = next((i for i, kept in enumerate(self._history) if step.corrects in kept.seqs), None)
        if first is None:
            raise Contradiction(
                f"a correction of outcome {step.corrects}", "a correction of the latest attempt"
            )
        corrected = self._history[first]

        def play_again() -> list[StepAnswer]:
            seqs = corrected.seqs if step.seq is None else corrected.seqs | {step.seq}
            corrected_step = _RecordedStep(_corrected(corrected.step, step), corrected.movement, seqs)
            return self._replay(
                first, lambda kept: corrected_step if kept is corrected else kept, shooters_after=False
            )

        return self._book_difference(first, play_again)

    def _book_difference(self, first: int, play_again: Callable[[], list[StepAnswer]]) -> StepResult:
        """Replay the steps and book the change in money; the step at index `first` has changed."""
        before = Movement()
        for kept in self._history:
            before.add(kept.movement)
        from_n = self._history[first].step.n
        accepted = dict(self._state.tally.wagers)
        lines = play_again()
        removed = [wager for id_, wager in accepted.items() if self.wager(id_) is None]
        moved = Movement()
        for kept in self._history:
            moved.add(kept.movement)
        moved.add(before, -1)
        wagers = (*self._state.tally.wagers.values(), *(_closed(wager) for wager in removed))
        return StepResult(tuple(lines), moved, wagers, supersedes_from=from_n)

    def _replay(
        self,
        first: int,
        current_step: Callable[[_RecordedStep], _RecordedStep | None],
        *,
        shooters_after: bool = True,
    ) -> list[StepAnswer]:
        """Replay all steps, void bets that can no longer be granted, and return the lines from `first` on.

        `current_step` returns the current form of a step, or None if the step is withdrawn. The anchor
        remains until the next result, because another correction might need these steps. After a correction,
        the table names the shooter again. Without `shooters_after`, the shooters named in steps after `first`
        are therefore ignored.
        """
        history, self._history = self._history, []
        self._candidate = None
        self._state = _State(self._game, self._table, self._anchor)
        lines: list[StepAnswer] = []
        for i, before in enumerate(history):
            kept = current_step(before)
            if kept is None:
                lines += [StepAnswer(before.step.n, _voided(raw, _TOO_LATE)) for raw in _bets(before.step)]
                continue
            answers, moved, refused = self._state.run(kept.step, shooters=shooters_after or i <= first)
            if refused:
                lines += [StepAnswer(kept.step.n, _voided(raw, _NOT_POSSIBLE)) for raw in _bets(kept.step)]
                continue
            self._history.append(_RecordedStep(kept.step, moved, kept.seqs))
            if i >= first:
                lines += answers
        return lines


def _describe_point(point: int | None) -> str:
    return "no point" if point is None else f"point {point}"


def _corrected(step: Step, correction: Step) -> Step:
    return msgspec.structs.replace(
        step, requests=correction.requests, refund=correction.refund, point_after=correction.point_after
    )


def _bets(step: Step) -> list[RawRequest]:
    return [raw for raw in step.requests if raw["do"] == "bet"]


_TOO_LATE = "bets had already closed when the table received this bet; sensors reported the close too late"
_NOT_POSSIBLE = "the correction of an earlier outcome made this bet impossible"


def _voided(bet: RawRequest, reason: str) -> Decided:
    amount = bet["amount"]
    assert isinstance(amount, int)
    return Decided(str(bet["id"]), str(bet["wager"]), "void", amount, 0, amount, reason)


def _closed(wager: Wager) -> Wager:
    return Wager(wager.id, wager.player, wager.wager, 0, "void")
