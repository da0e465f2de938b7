"""The life-cycle of one attempt, the same for a throw, a spin and a deal, and its result.

It is in progress until it is decided; then its call is held for a moment (automatic), proposed to a person
(confirm) or under review; called or void; open to a person's ruling until it is settled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

import msgspec

from controller.machines.flat import Arrow, MachineTable
from controller.model.effects import Basis
from controller.model.outcomes import Data, Grade
from controller.model.readings import Card, Input, Reading
from controller.model.verdicts import Dealt, DealVerdict, Notice, Reason, SpinVerdict, ThrowVerdict


@dataclass(frozen=True, slots=True)
class AttemptTerms:
    """What the dealers call the parts of one kind of attempt."""

    attempt: Literal["roll", "spin", "deal"]
    """The attempt itself, as outcomes name it: `roll`."""
    begin: str
    """What begins it: `release`."""
    under_way: str
    """It is under way: `in_flight`."""
    void: str
    """It does not count: the name of the state and of a person's input."""
    set_result: str
    """A person enters the result: `set_dice`."""
    clear: str | None = None
    """What was thrown is taken away, if that ends it: `dice_collected`."""
    cleared: str = "collected"
    """It has been taken away."""
    settle: str = "settled"
    """The last wager it decided is paid."""
    says_void: str | None = None
    """A person's input that declares it void, if that is neither `void` nor the state."""
    replaces: bool = False
    """Whether the `what` of a result also names the part of it that is replaced: `Kd`, `3`, or `3 Kd`."""

    def attempt_named(self, entered: Input) -> str | None:
        """Return the number of the attempt that an input names in `what`, as it was entered."""
        if entered.what is None or not (self.replaces and entered.name == self.set_result):
            return entered.what
        return next((word for word in entered.what.split() if word.isdecimal()), None)

    def part_named(self, entered: Input) -> str | None:
        """Return the part of the result that an input names in `what`, as it was entered."""
        parts = [word for word in (entered.what or "").split() if not word.isdecimal()]
        return " ".join(parts) or None


THROW = AttemptTerms(
    attempt="roll",
    begin="release",
    under_way="in_flight",
    void="no_roll",
    set_result="set_dice",
    clear="dice_collected",
)
SPIN = AttemptTerms(
    attempt="spin",
    begin="launch",
    under_way="in_spin",
    void="no_spin",
    set_result="set_number",
)
DEAL = AttemptTerms(
    attempt="deal",
    begin="first_card",
    under_way="dealing",
    void="void",
    set_result="set_card",
    says_void="misdeal",
    replaces=True,
)


def life_cycle(words: AttemptTerms) -> MachineTable:
    """Make the life-cycle's table in these words."""
    under_way, no_result = words.under_way, words.void
    open_states = (under_way, "held", "proposed", "review")
    return MachineTable(
        name=words.attempt,
        initial="waiting",
        states={
            "waiting": "nothing is under way and nothing can be ruled on",
            under_way: f"the {words.attempt} is in progress and not decided",
            "held": "decided and about to be called, so that a person can still stop it",
            "proposed": "decided; a person must confirm the proposal",
            "review": "not decidable by the readings; a person must rule",
            "called": "called; open to a ruling until it is settled",
            no_result: "does not count; open to a ruling until it is settled",
            "settled": "settled; nothing changes it",
            **_if_cleared(
                words, {words.cleared: f"taken away; the last {words.attempt} is open to a ruling"}
            ),
        },
        triggers={
            words.begin: f"a {words.attempt} begins",
            "judged_valid": "the judge finds it valid; the call is held",
            "judged_proposal": "the judge's word waits for a person",
            "judged_void": "the judge finds a certain cause against it",
            "judged_review": "the judge can't tell",
            "moved": "what was at rest moves again during the hold",
            "hold_over": "the hold ends",
            no_result: "a person declares that it does not count",
            words.set_result: "a person enters the result",
            "accept": "a person accepts the result proposed",
            f"accept_{no_result}": f"a person accepts the proposed {no_result}",
            words.settle: "everything that it decided is paid",
            "power_lost": "the recording ends in the middle of it",
            **_if_cleared(words, {words.clear or "": "what was thrown is taken away"}),
        },
        arrows=(
            Arrow(words.begin, ("waiting", *open_states, "called", no_result, "settled"), under_way),
            Arrow("judged_valid", (under_way, "held"), "held"),
            Arrow("judged_proposal", (under_way,), "proposed"),
            Arrow("judged_void", (under_way, "held"), no_result),
            Arrow("judged_review", (under_way, "held"), "review"),
            Arrow("moved", ("held",), under_way),
            Arrow("hold_over", ("held",), "called"),
            Arrow(no_result, (*open_states, "called"), no_result),
            Arrow(words.set_result, (*open_states, "called", no_result), "called"),
            Arrow("accept", ("held", "proposed", "review"), "called"),
            Arrow(f"accept_{no_result}", ("proposed",), no_result),
            Arrow(words.settle, ("called", no_result), "settled"),
            Arrow("power_lost", (under_way, "held", "proposed"), "review"),
            *(_clearing(words, words.clear) if words.clear else ()),
        ),
        refusals=_refusals(words),
    )


def _if_cleared(words: AttemptTerms, entries: dict[str, str]) -> dict[str, str]:
    return entries if words.clear else {}


def _clearing(words: AttemptTerms, clear: str) -> tuple[Arrow, ...]:
    cleared = (words.cleared,)
    return (
        Arrow(clear, ("called", words.void), words.cleared),
        Arrow(clear, ("settled",), "waiting"),
        *(Arrow(clear, (state,), state) for state in ("held", "proposed", "review")),
        Arrow(words.begin, cleared, words.under_way),
        Arrow(words.void, cleared, words.cleared),
        Arrow(words.set_result, cleared, words.cleared),
        Arrow(words.settle, cleared, "waiting"),
    )


def _refusals(words: AttemptTerms) -> dict[tuple[str, str], str]:
    under_way, no_result = words.under_way, words.void
    decided = ("called", no_result, "settled", *((words.cleared,) if words.clear else ()))
    judge_only_under_way = ("waiting", "proposed", "review", *decided)
    refusals = {
        (state, trigger): "not_now"
        for trigger in ("judged_valid", "judged_void", "judged_review")
        for state in judge_only_under_way
    }
    refusals |= {(state, "judged_proposal"): "not_now" for state in ("held", *judge_only_under_way)}
    not_held = ("waiting", under_way, "proposed", "review", *decided)
    refusals |= {(state, trigger): "not_held" for trigger in ("moved", "hold_over") for state in not_held}
    refusals |= {("waiting", trigger): "no_attempt" for trigger in (no_result, words.set_result)}
    refusals |= {("settled", trigger): "already_settled" for trigger in (no_result, words.set_result)}
    refusals |= {
        (no_result, no_result): "already_void",
        ("waiting", words.settle): "nothing_to_settle",
        (under_way, words.settle): "not_called_yet",
        ("held", words.settle): "not_called_yet",
        ("proposed", words.settle): "not_called_yet",
        ("review", words.settle): "not_ruled_yet",
        ("settled", words.settle): "already_settled",
    }
    refusals |= {(state, "accept"): "nothing_to_accept" for state in ("waiting", under_way, *decided)}
    refusals |= {
        (state, f"accept_{no_result}"): "nothing_to_accept"
        for state in ("waiting", under_way, "held", "review", *decided)
    }
    refusals |= {(state, "power_lost"): "no_attempt" for state in ("waiting", "review", *decided)}
    if words.clear:
        refusals |= {
            (under_way, words.clear): "under_way",
            ("waiting", words.clear): "nothing_to_clear",
            (words.cleared, words.clear): "already_cleared",
        }
    return refusals


class StandingCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A roll, spin or deal that was called or declared void and is not settled.

    `state` is where it is in its life-cycle, `outcome` the id of the outcome that a correction replaces,
    `since` what people have entered after it. The game's state before it is under the game's own name, in
    that game's words; a deal keeps the cards and what people entered of them, for a ruling on one card.
    """

    number: int
    state: str
    outcome: str
    value: tuple[int, int] | str | Dealt | None = None
    since: tuple[Input, ...] = ()
    away: bool = False
    """Whether the controller stopped since then: an attempt may have been made that nobody saw."""
    craps: dict[str, object] | None = None
    high_roller: dict[str, object] | None = None
    seats: tuple[str, ...] = ()
    cards: tuple[Card | Input, ...] = ()
    played: tuple[str, ...] = ()
    """In a deal: the positions with a Play wager, as the settlement engine reports; nobody folds them."""


def as_spoken(value: object) -> str:
    """Return a value in words: `3-4`, `17`, `called`; empty for none."""
    match value:
        case None:
            return ""
        case (int() as one, int() as other):
            return f"{one}-{other}"
        case str():
            return value
        case _:
            return "called"


Value = TypeVar("Value")
Seen_co = TypeVar("Seen_co", covariant=True)
V = TypeVar("V", bound=ThrowVerdict | SpinVerdict | DealVerdict)

Decided = Literal["called", "void", "review", "lapsed"]
"""How an attempt was decided; a review that nobody ruled on lapses when the next attempt begins."""


class AttemptJudge(Protocol[Seen_co, V]):
    """What is seen of a game's attempts, and its judge."""

    def judge(self, t: int, called: Reason | None) -> V:
        """Judge the attempt on what was seen up to t."""

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the attempt."""

    def basis(self) -> Basis:
        """Return what the judge's last verdict rests on in addition to them."""

    def value_of(self, verdict: V) -> Seen_co | None:
        """Return what the judge saw."""

    def value_entered(self, entered: Input) -> Seen_co:
        """Return what a person entered; raises InputRefused if it makes no sense."""

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether a person can know a result of the present attempt at t."""

    @property
    def last_entry(self) -> Input | None:
        """A person's last input that the value seen rests on; None if sensors saw all of it."""

    def decided(self, decided: Decided) -> None:
        """Stop waiting for what would decide the attempt."""


class AttemptRules(Protocol):
    """The rules by which attempts of every kind are called."""

    @property
    def call_hold_ms(self) -> float:
        """How long a call is held, during which what lay at rest may move again."""

    @property
    def causes(self) -> Mapping[str, str]:
        """The rule ids by cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[Value]):
    """An attempt's result: its value if it counts, its reasons if it does not, and who decided."""

    number: int
    value: Value | None
    grade: Grade
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    warning: bool = False
    by: str | None = None
    who: str | None = None


class Results(Protocol[Value]):
    """What every game does with its attempts, from the first to what follows from the last."""

    def snapshot(self) -> object:
        """Return the game's state, to come back to when the result is corrected."""

    def restore(self, snapshot: object) -> None:
        """Go back to that state."""

    def began(self, t: int) -> None:
        """An attempt begins."""

    def call(self, result: Result[Value]) -> Data:
        """Apply a result that counts, and return what to publish."""

    def no_result(self, result: Result[Value]) -> Data:
        """Apply a result that does not count, and return what to publish."""

    def review(self, result: Result[Value]) -> Data:
        """Return what to publish for a review."""

    def correct(self, result: Result[Value], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply a result in place of the one just undone, then the inputs since.

        Returns what to publish. An entry that the corrected game no longer allows lapses.
        """

    def follow_up(self, t: int) -> None:
        """Publish what follows from a result: betting opens, the dice pass."""
