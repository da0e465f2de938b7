"""Check the outcomes of a card game against its ground truth.

The deals of Three Card Poker are compared with the cards that left the shoe. High Roller is replayed from the
published cards and rolls, by rules that are independent of the controller's.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from controller.model.effects import Effect, LateReading
from controller.model.outcomes import (
    CardPitched,
    DealCalled,
    DealCorrected,
    GameStarted,
    GameVoid,
    GameWon,
    Outcome,
    PlayerEliminated,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
)
from controller.replay.run import as_json, compare
from drivers.sim import high_roller
from drivers.sim.scenes import PlayedAttempt, Scene, Truth
from drivers.sim.three_card import DealtHands, results

TOLD = frozenset(
    {
        *("input.refused", "bets.closed", "deal.called", "deal.void", "deal.review", "deal.corrected"),
        *("game.started", "game.won", "game.void", "player.eliminated", "bonus.paid", "roll.declined"),
        *("roll.called", "roll.no_roll", "roll.review", "roll.corrected"),
    }
)
"""Types of outcome that the truth of a scene lists completely and in order."""
_NOT_OF = {"high_roller": frozenset({"bets.closed", "input.refused"}), "three_card": frozenset[str]()}
_SEATS = frozenset({"button", "player", "players", "next_player"})


def throws_of(played: Iterable[PlayedAttempt]) -> list[PlayedAttempt]:
    """Return the rolls and the inputs between them as separate attempts, without deals."""
    found: list[PlayedAttempt] = []
    for game in played:
        throws = game.scene.throws
        before = game.scene
        if throws:
            nothing = Truth(verdict="void", allowed=("void",))
            before = Scene(kind="buying", start_us=before.start_us, end_us=throws[0].start_us, truth=nothing)
        if throws or game.scene.kind == "clearing_up":
            throws = (before, *throws)
        for number, throw in enumerate(throws):
            ends_us = throws[number + 1].start_us if number + 1 < len(throws) else game.ends_us
            found.append(
                PlayedAttempt(
                    t=game.t, attempt=number + 1, scene=throw, ends_us=ends_us, disturbed_by=game.disturbed_by
                )
            )
    return found


def wrong_card_outcomes(played: Sequence[PlayedAttempt], effects: Sequence[Effect], game: str) -> list[str]:
    """Return the wrong outcomes of scenes that no fault can have affected."""
    published = [e for e in effects if isinstance(e, Outcome) and e.type in TOLD - _NOT_OF[game]]
    late_us = [effect.reading.t for effect in effects if isinstance(effect, LateReading)]
    found: list[str] = []
    sound = True
    for story in played:
        scene = story.scene
        late = any(scene.start_us <= t < story.ends_us for t in late_us)
        sound = (sound or not scene.depends_on_previous) and not late and not story.disturbed_by
        if sound and scene.truth.told:
            own = [_seats_named(as_json(o)) for o in published if scene.start_us <= o.t < story.ends_us]
            types = {str(each["type"]) for each in scene.truth.told}
            if not any(each["type"] == "bonus.paid" for each in scene.truth.told):
                own = [each for each in own if each["type"] != "bonus.paid" or _pot_known(scene.truth.told)]
            found += [f"{_name(story)}: {each['type']} not due" for each in own if each["type"] not in types]
            if (difference := compare(own, [*map(_seats_named, scene.truth.told)])) is not None:
                found.append(f"{_name(story)}: {difference}")
    return found


def _seats_named(published: dict[str, Any]) -> dict[str, Any]:
    """Return the outcome with its seats as text, the form that the truth uses."""
    named = {
        key: value
        if value is None or isinstance(value, str)
        else [*map(str, value)]
        if isinstance(value, list)
        else str(value)
        for key, value in published["data"].items()
        if key in _SEATS
    }
    return {**published, "data": {**published["data"], **named}}


def _pot_known(published: Sequence[dict[str, Any]]) -> bool:
    return all("bonus_paid" in each["data"] for each in published if each["type"] == "game.won")


def false_deals(played: Sequence[PlayedAttempt], effects: Iterable[Effect]) -> list[str]:
    """Return called hands that were not dealt, and results that do not follow from the hands."""
    found: list[str] = []
    for effect in effects:
        if not isinstance(effect, Outcome) or not isinstance(effect.data, DealCalled | DealCorrected):
            continue
        data = effect.data
        if data.hands is None or data.dealer is None:
            continue
        hands = {**{seat: list(cards) for seat, cards in data.hands.items()}, "dealer": list(data.dealer)}
        then = [story for story in played if story.scene.start_us <= effect.t < story.ends_us]
        if then and not any(_were_dealt(hands, story) for story in then):
            found.append(f"{[_name(s) for s in then]}: {effect.type} {hands} was not dealt")
        due = results(DealtHands(hands, list(data.folds)))
        answer = [{"seat": each.seat, "result": each.result} for each in data.results]
        if answer != due:
            found.append(f"{effect.type} at {effect.t}: published {answer}, due {due}")
    return found


def _were_dealt(hands: dict[str, list[str]], story: PlayedAttempt) -> bool:
    """Return whether the scene dealt these hands, or a person entered them."""
    if story.scene.kind == "card_too_many" and any("dead_sensor" in by for by in story.disturbed_by):
        # One missed card and one extra card leave the count unchanged. A shoe without positions can't detect
        # this.
        return True
    out = story.scene.truth.cards
    named = [each["data"] for each in story.scene.truth.told if "hands" in each["data"]]  # type: ignore[operator]  # its data
    shown = [{**each["hands"], "dealer": hands["dealer"]} for each in named if each["hands"]]  # type: ignore[index]  # as above
    if any(_same(hands, each) for each in shown):
        return True
    return _same(hands, {position: list(cards) for position, cards in out.items()})


def _same(one: dict[str, list[str]], other: dict[str, list[str]]) -> bool:
    return {p: sorted(cards) for p, cards in one.items()} == {p: sorted(cards) for p, cards in other.items()}


class _Along:
    """A game of High Roller, replayed from its published cards and rolls."""

    def __init__(self) -> None:
        self.cards: dict[str, list[int]] = {}
        self.game: high_roller.Game | None = None
        self.before: high_roller.Game | None = None
        self.due: list[tuple[str, object]] = []

    def take(self, outcome: Outcome) -> Iterator[str]:
        """Apply an outcome, and yield every part of it that contradicts the earlier outcomes."""
        data = outcome.data
        match data:
            case CardPitched():
                held = self.cards.setdefault(str(data.player), [])
                if data.replaces is not None:
                    held.remove(data.replaces)
                held.append(data.card)
            case GameStarted():
                yield from self._start(data)
            case RollNoRoll() if self.game is not None:
                self.before = self.game.copy()
            case RollCalled():
                yield from self._roll(data.total, data.call, data.next_player)
            case RollCorrected():
                self.game, self.due = self.before, []
                if data.total is not None:
                    yield from self._roll(data.total, data.call, data.next_player)
            case RollDeclined() if self.game is not None:
                self.game.turns.pop(0)
                self._expect(*self.game.rolls_done())
            case PlayerEliminated():
                yield from self._is_due("out", sorted(map(str, data.players)))
            case GameWon():
                yield from self._is_due("won", (str(data.player), data.total, data.pot.gross, data.pot.rake))
                self.cards = {}
            case GameVoid():
                self.game, self.cards, self.due = None, {}, []
            case _:
                pass

    def _start(self, data: GameStarted) -> Iterator[str]:
        published = {seat: sorted(cards) for seat, cards in data.cards.items() if cards}
        pitched = {seat: sorted(cards) for seat, cards in self.cards.items() if cards}
        if published != pitched:
            yield f"game {data.game} starts with {published}, but {pitched} were pitched"
        seats = sorted(int(seat) for seat in data.seats)
        at = seats.index(int(data.button))
        cards = {int(seat): list(held) for seat, held in data.cards.items()}
        self.game = high_roller.Game(data.game, [*seats[at:], *seats[:at]], cards)
        self.due = []

    def _roll(self, total: int, call: str | None, next_player: object) -> Iterator[str]:
        if self.game is None:
            yield f"a roll of {total} was published without a game"
            return
        self.before = self.game.copy()
        due, out = self.game.throw(total)
        self._expect(due, out)
        thrower = None if self.game.winner is not None else self.game.roller
        if (due, str(thrower)) != (call, str(next_player)):
            yield f"{total} was published as {call}, next {next_player}; expected {due}, next {thrower}"

    def _expect(self, _call: str, out: list[int]) -> None:
        game = self.game
        assert game is not None
        self.due = [("out", sorted(map(str, out)))] if out else []
        if game.winner is not None:
            self.due.append(("won", (str(game.winner), game.total, game.gross, game.gross // 10)))

    def _is_due(self, kind: str, published: object) -> Iterator[str]:
        due = self.due.pop(0) if self.due else None
        if due != (kind, published):
            yield f"published {kind} {published}, expected {due}"


def false_games(effects: Iterable[Effect]) -> list[str]:
    """Return every result that does not follow from the cards and rolls published before it."""
    along = _Along()
    return [
        f"{effect.type} at {effect.t}: {wrong}"
        for effect in effects
        if isinstance(effect, Outcome)
        for wrong in along.take(effect)
    ]


def false_cards(played: Sequence[PlayedAttempt], effects: Iterable[Effect]) -> list[str]:
    """Return published cards that did not leave the shoe."""
    found: list[str] = []
    for effect in effects:
        if isinstance(effect, Outcome) and isinstance(data := effect.data, CardPitched) and data.by == "shoe":
            then = [story for story in played if story.scene.start_us <= effect.t < story.ends_us]
            out = [card for story in then for cards in story.scene.truth.cards.values() for card in cards]
            if then and str(data.card) not in out:
                found.append(f"card {data.card} at {effect.t} did not leave the shoe")
    return found


def _name(story: PlayedAttempt) -> str:
    by = f" under {', '.join(story.disturbed_by)}" if story.disturbed_by else ""
    return f"#{story.attempt} {story.scene.kind}{by}"
