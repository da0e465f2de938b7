"""The score of a practice: what stands of each attempt, what was missed, and the rule."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.cli.screen import Entry, Screen
from controller.model.outcomes import (
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    Outcome,
    RollCalled,
    RollCorrected,
    RollNoRoll,
    RollReview,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
    attempt_of,
)
from controller.model.readings import Input
from drivers.sim.practice import Asked, Hands, Result, in_order, right_word
from drivers.sim.scenes import Scene


@dataclass(slots=True)
class Standing:
    """What the table holds of one attempt now."""

    number: int
    result: Result | None = None
    decided: bool = False
    rule: str = ""
    """Of the review that it went through."""
    unruled: bool = False

    def hear(self, outcome: Outcome) -> None:
        """Apply an outcome of this attempt."""
        match outcome.data:
            case RollCalled(dice=dice):
                self.result, self.decided = dice, True
            case SpinCalled(number=number):
                self.result, self.decided = number, True
            case RollNoRoll(reasons=reasons) | SpinNoSpin(reasons=reasons):
                self.result, self.decided = None, True
                self.unruled = any(reason.code == "unruled" for reason in reasons)
            case RollReview(reasons=reasons) | SpinReview(reasons=reasons):
                self.rule = next((reason.rule for reason in reasons if reason.rule), "")
            case RollCorrected(dice=dice):
                self.result = dice
            case SpinCorrected(number=number):
                self.result = number
            case DealCalled(hands=hands, dealer=dealer):
                self.result, self.decided = in_order({**hands, "dealer": dealer}), True
            case DealVoid(reasons=reasons):
                self.result, self.decided = None, True
            case DealReview(reasons=reasons):
                self.rule = next((reason.rule for reason in reasons if reason.rule), "")
            case DealCorrected(hands=hands, dealer=dealer):
                self.result = None if hands is None else in_order({**hands, "dealer": dealer or ()})
            case _:
                pass


@dataclass(slots=True)
class Turn:
    """One attempt of the practice: what happened, and what stands of it."""

    scene: Scene
    card: Input | None = None
    """How a card of a deal is put right, where one must be."""
    standing: Standing | None = None


@dataclass(slots=True)
class Heard:
    """What a player asked for, and whether it was entered before play went on."""

    asked: Asked
    entered: bool = False


@dataclass(frozen=True, slots=True)
class Missed:
    """What stands otherwise than it should, what to say the next time, and the rule.

    `number` is the attempt's; None for what a player asked for between two attempts.
    """

    number: int | None
    what: str
    remedy: str
    rule: str


@dataclass(slots=True)
class Score:
    """Every attempt so far."""

    spoken_rule: str
    """The rule by which a person calls an attempt off."""
    read_rule: str
    """The rule by which a person decides what was read wrong."""
    void_word: str = "no_roll"
    """What a person says where an attempt does not count."""
    turns: list[Turn] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)

    def begin(self, scene: Scene, card: Input | None = None) -> None:
        """Begin the next attempt; `card` is how one of a deal is put right."""
        self.turns.append(Turn(scene, card))

    def ask(self, asked: Asked) -> None:
        """Add what a player asks for to the score."""
        self.heard.append(Heard(asked))

    def enter(self, name: str, seat: object) -> None:
        """Add an input that the table accepted to the score."""
        for heard in self.heard[-1:]:
            heard.entered |= (name, str(seat)) == (heard.asked.name, heard.asked.seat)

    def hear(self, outcome: Outcome) -> None:
        """Apply an outcome of the table: of the attempt under way, or of an earlier one."""
        number = attempt_of(outcome)
        if number is None or not self.turns:
            return
        standing = next((t.standing for t in self.turns if t.standing and t.standing.number == number), None)
        if standing is None:
            standing = self.turns[-1].standing = self.turns[-1].standing or Standing(number)
        standing.hear(outcome)

    def counted(self) -> list[Turn]:
        """Return the attempts that have one right end, and of which the table told something."""
        return [
            turn for turn in self.turns if turn.standing is not None and right_word(turn.scene) is not None
        ]

    def missed(self) -> list[Missed]:
        """Return what stands otherwise than it should, and what a player asked for in vain."""
        asked = [heard.asked for heard in self.heard if not heard.entered]
        return [missed for turn in self.counted() if (missed := self._missed(turn)) is not None] + [
            Missed(None, one.says, f"{one.name} {one.seat}", one.rule) for one in asked
        ]

    def _missed(self, turn: Turn) -> Missed | None:
        right, standing = right_word(turn.scene), turn.standing
        assert right is not None
        assert standing is not None
        stands = "under review" if not standing.decided else _result(standing.result)
        if standing.decided and not standing.unruled and _same(standing.result, right.result):
            return None
        if not standing.decided or standing.unruled:
            what = f"the review was not ruled on; right was {_result(right.result)}"
            return Missed(standing.number, what, self._remedy(right.result, turn.card), standing.rule)
        rule = self.spoken_rule if right.result is None else self.read_rule
        what = f"{stands} stands; right was {_result(right.result)}"
        return Missed(standing.number, what, self._remedy(right.result, turn.card), rule)

    def _remedy(self, result: Result | None, card: Input | None) -> str:
        if result is None:
            return self.void_word
        if isinstance(result, Mapping):
            return "accept" if card is None else _set_card(card)
        return f"set_number {result}" if isinstance(result, str) else f"set_dice {result[0]} {result[1]}"


def score_lines(screen: Screen, score: Score) -> list[str]:
    """Return the score: how many attempts are correct, and what was missed, with its rule."""
    count, missed = len(score.counted()) + len(score.heard), score.missed()
    if not count:
        return ["no attempt was completed: no score"]
    told = f"Score: {count - len(missed)} of {count} correct"
    lines = ["", screen.styled(told, "green" if not missed else "yellow")]
    for one in missed:
        rule = f" ({one.rule})" if one.rule else ""
        number = "" if one.number is None else one.number
        lines += screen.entry(Entry(f"  {number:>3}  ", f"{one.what}: say {one.remedy}{rule}"))
    return lines


def _same(one: Result | None, other: Result | None) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return sorted(one) == sorted(other)
    return one == other


def _result(result: Result | None) -> str:
    if result is None:
        return "that it does not count"
    if isinstance(result, Mapping):
        return _hands(result)
    return result if isinstance(result, str) else f"{result[0]}-{result[1]}"


def _hands(hands: Hands) -> str:
    return ", ".join(f"{position} {' '.join(cards)}" for position, cards in hands.items())


def _set_card(card: Input) -> str:
    replaces = "" if card.what is None else f" what={card.what}"
    return f"set_card {card.card} seat={card.seat}{replaces}"
