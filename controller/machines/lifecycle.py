"""The life cycle of an attempt, which is a throw, a spin or a deal.

An attempt is in progress until the judge decides it. Its call is then held for a moment (`calls: automatic`)
or proposed to a person (`calls: confirm`), or the attempt goes to review. A called or void attempt is open to
a ruling until it is settled.
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
    """The names of the states, triggers and inputs for one kind of attempt."""

    attempt: Literal["roll", "spin", "deal"]
    """The attempt's name in outcomes, such as `roll`."""
    begin: str
    """The trigger that begins the attempt, such as `release`."""
    in_progress: str
    """The state of an attempt in progress, such as `in_flight`."""
    void: str
    """The state of an attempt that does not count, and the input that declares an attempt void."""
    set_result: str
    """The input that enters the result, such as `set_dice`."""
    clear: str | None = None
    """The input that reports that the dice are collected (`dice_collected`); None if there is none."""
    cleared: str = "collected"
    """The state after `clear`."""
    settle: str = "settled"
    """The input that reports that all wagers decided by the attempt are paid."""
    void_input: str | None = None
    """The input that declares the attempt void, if it is neither `void` nor the name of the state."""
    replaces: bool = False
    """Whether the `what` of a result can name the part to replace, as in `Kd` or `3 Kd`."""

    def attempt_named(self, entered: Input) -> str | None:
        """Return the attempt that an input names in `what`, as entered; None if it names none."""
        if entered.what is None or not (self.replaces and entered.name == self.set_result):
            return entered.what
        return next((word for word in entered.what.split() if word.isdecimal()), None)

    def part_named(self, entered: Input) -> str | None:
        """Return the part of the result that an input names in `what`, as entered; None if it names none."""
        parts = [word for word in (entered.what or "").split() if not word.isdecimal()]
        return " ".join(parts) or None


THROW = AttemptTerms(
    attempt="roll",
    begin="release",
    in_progress="in_flight",
    void="no_roll",
    set_result="set_dice",
    clear="dice_collected",
)
SPIN = AttemptTerms(
    attempt="spin",
    begin="launch",
    in_progress="in_spin",
    void="no_spin",
    set_result="set_number",
)
DEAL = AttemptTerms(
    attempt="deal",
    begin="first_card",
    in_progress="dealing",
    void="void",
    set_result="set_card",
    void_input="misdeal",
    replaces=True,
)


def life_cycle(terms: AttemptTerms) -> MachineTable:
    """Return the life cycle's table for these terms."""
    in_progress, no_result = terms.in_progress, terms.void
    open_states = (in_progress, "held", "proposed", "review")
    void_name = (terms.void_input or terms.void).replace("_", " ").title()
    return MachineTable(
        name=terms.attempt,
        initial="waiting",
        states={
            "waiting": "no attempt is in progress or open to a ruling",
            in_progress: f"the {terms.attempt} is in progress and not yet decided",
            "held": "decided; the call is held for a moment so that a person can stop it",
            "proposed": "decided; a person must confirm the proposal",
            "review": f"the readings do not decide the {terms.attempt}; a person must rule",
            "called": "called; open to a ruling until settled",
            no_result: "does not count; open to a ruling until settled",
            "settled": "settled; can no longer be changed",
            **_if_cleared(
                terms, {terms.cleared: f"dice collected; the last {terms.attempt} is still open to a ruling"}
            ),
        },
        triggers={
            terms.begin: f"a {terms.attempt} begins",
            "judged_valid": f"the judge finds the {terms.attempt} valid; the call is held",
            "judged_proposal": "the judge's verdict awaits a person's confirmation",
            "judged_void": f"the judge finds conclusive grounds to void the {terms.attempt}",
            "judged_review": f"the judge can't decide the {terms.attempt}",
            "moved": "something that was at rest moves again during the hold",
            "hold_over": "the hold ends",
            no_result: f"a person declares that the {terms.attempt} does not count",
            terms.set_result: "a person enters the result",
            "accept": "a person accepts the proposed result",
            f"accept_{no_result}": f"a person accepts the proposed {void_name}",
            terms.settle: f"all wagers that the {terms.attempt} decided are paid or collected",
            "power_lost": f"the recording ends during the {terms.attempt}, for example in a power cut",
            **_if_cleared(terms, {terms.clear or "": "the dice are collected"}),
        },
        arrows=(
            Arrow(terms.begin, ("waiting", *open_states, "called", no_result, "settled"), in_progress),
            Arrow("judged_valid", (in_progress, "held"), "held"),
            Arrow("judged_proposal", (in_progress,), "proposed"),
            Arrow("judged_void", (in_progress, "held"), no_result),
            Arrow("judged_review", (in_progress, "held"), "review"),
            Arrow("moved", ("held",), in_progress),
            Arrow("hold_over", ("held",), "called"),
            Arrow(no_result, (*open_states, "called"), no_result),
            Arrow(terms.set_result, (*open_states, "called", no_result), "called"),
            Arrow("accept", ("held", "proposed", "review"), "called"),
            Arrow(f"accept_{no_result}", ("proposed",), no_result),
            Arrow(terms.settle, ("called", no_result), "settled"),
            Arrow("power_lost", (in_progress, "held", "proposed"), "review"),
            *(_clearing(terms, terms.clear) if terms.clear else ()),
        ),
        refusals=_refusals(terms),
    )


def _if_cleared(terms: AttemptTerms, entries: dict[str, str]) -> dict[str, str]:
    return entries if terms.clear else {}


def _clearing(terms: AttemptTerms, clear: str) -> tuple[Arrow, ...]:
    cleared = (terms.cleared,)
    return (
        Arrow(clear, ("called", terms.void), terms.cleared),
        Arrow(clear, ("settled",), "waiting"),
        *(Arrow(clear, (state,), state) for state in ("held", "proposed", "review")),
        Arrow(terms.begin, cleared, terms.in_progress),
        Arrow(terms.void, cleared, terms.cleared),
        Arrow(terms.set_result, cleared, terms.cleared),
        Arrow(terms.settle, cleared, "waiting"),
    )


def _refusals(terms: AttemptTerms) -> dict[tuple[str, str], str]:
    in_progress, no_result = terms.in_progress, terms.void
    decided = ("called", no_result, "settled", *((terms.cleared,) if terms.clear else ()))
    judge_only_in_progress = ("waiting", "proposed", "review", *decided)
    refusals = {
        (state, trigger): "not_now"
        for trigger in ("judged_valid", "judged_void", "judged_review")
        for state in judge_only_in_progress
    }
    refusals |= {(state, "judged_proposal"): "not_now" for state in ("held", *judge_only_in_progress)}
    not_held = ("waiting", in_progress, "proposed", "review", *decided)
    refusals |= {(state, trigger): "not_held" for trigger in ("moved", "hold_over") for state in not_held}
    refusals |= {("waiting", trigger): "no_attempt" for trigger in (no_result, terms.set_result)}
    refusals |= {("settled", trigger): "already_settled" for trigger in (no_result, terms.set_result)}
    refusals |= {
        (no_result, no_result): "already_void",
        ("waiting", terms.settle): "nothing_to_settle",
        (in_progress, terms.settle): "not_called_yet",
        ("held", terms.settle): "not_called_yet",
        ("proposed", terms.settle): "not_called_yet",
        ("review", terms.settle): "not_ruled_yet",
        ("settled", terms.settle): "already_settled",
    }
    refusals |= {(state, "accept"): "nothing_to_accept" for state in ("waiting", in_progress, *decided)}
    refusals |= {
        (state, f"accept_{no_result}"): "nothing_to_accept"
        for state in ("waiting", in_progress, "held", "review", *decided)
    }
    refusals |= {(state, "power_lost"): "no_attempt" for state in ("waiting", "review", *decided)}
    if terms.clear:
        refusals |= {
            (in_progress, terms.clear): "under_way",
            ("waiting", terms.clear): "nothing_to_clear",
            (terms.cleared, terms.clear): "already_cleared",
        }
    return refusals


class StandingCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A called or void roll, spin or deal that is not settled.

    `state` is its state in the life cycle. `outcome` is the id of the outcome that a correction replaces.
    `since` holds the inputs made after that outcome. The field with the game's name holds the game's state
    before the call. A deal also has its cards and inputs, for rulings on a single card.
    """

    number: int
    state: str
    outcome: str
    value: tuple[int, int] | str | Dealt | None = None
    since: tuple[Input, ...] = ()
    away: bool = False
    """Whether the controller has stopped since the call and might have missed an attempt."""
    craps: dict[str, object] | None = None
    high_roller: dict[str, object] | None = None
    seats: tuple[str, ...] = ()
    cards: tuple[Card | Input, ...] = ()
    played: tuple[str, ...] = ()
    """The positions of a deal for which the settlement engine reported Play. They can't be folded."""


def as_spoken(value: object) -> str:
    """Return a value as text, such as `3-4` or `17`; `called` for a deal, and empty for None."""
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
"""How an attempt was decided. A review without a ruling lapses when the next attempt begins."""


class AttemptJudge(Protocol[Seen_co, V]):
    """Collects the readings of a game's attempts and judges the attempts."""

    def judge(self, t: int, called: Reason | None) -> V:
        """Judge the attempt by its readings up to `t`. `called` is a person's reason for declaring it
        void."""

    def readings(self) -> tuple[Reading, ...]:
        """Return every reading of the attempt."""

    def basis(self) -> Basis:
        """Return the data, other than the readings, on which the last verdict was based."""

    def value_of(self, verdict: V) -> Seen_co | None:
        """Return the value that the sensors detected; None if it is uncertain."""

    def value_entered(self, entered: Input) -> Seen_co:
        """Return the value that a person entered. Raise InputRefused if it is impossible."""

    def result_can_be_entered(self, t: int) -> bool:
        """Return whether a person may enter the attempt's result at `t`."""

    @property
    def last_entry(self) -> Input | None:
        """The last input that contributes to the detected value; None if there is none."""

    def on_decision(self, decided: Decided) -> None:
        """Stop the timers that would force a decision."""


class AttemptRules(Protocol):
    """The rules for the calls of all attempts."""

    @property
    def call_hold_ms(self) -> float:
        """The time, in ms, for which an automatic call is held."""

    @property
    def causes(self) -> Mapping[str, str]:
        """The id of the rule for each cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(Generic[Value]):
    """The result of an attempt: its value, or the reasons for a void, and the source of the decision."""

    number: int
    value: Value | None
    grade: Grade
    reasons: tuple[Reason, ...] = ()
    notices: tuple[Notice, ...] = ()
    warning: bool = False
    by: str | None = None
    who: str | None = None


class Results(Protocol[Value]):
    """A game's part in the life cycle. It applies results and returns the data to publish."""

    def snapshot(self) -> object:
        """Return the game's state for a later `restore`."""

    def restore(self, snapshot: object) -> None:
        """Restore a state returned by `snapshot`."""

    def began(self, t: int) -> None:
        """Handle the beginning of an attempt at `t`."""

    def call(self, result: Result[Value]) -> Data:
        """Apply a valid result and return the data to publish."""

    def no_result(self, result: Result[Value]) -> Data:
        """Apply a void result and return the data to publish."""

    def review(self, result: Result[Value]) -> Data:
        """Return the data to publish for a review."""

    def correct(self, result: Result[Value], corrects: str, ruling: str, since: Sequence[Input]) -> Data:
        """Apply a corrected result and return the data to publish.

        The inputs made since the original result are reapplied, except those that are no longer allowed.
        """

    def follow_up(self, t: int) -> None:
        """Publish the consequences of a result, such as a new betting round or a new shooter."""
