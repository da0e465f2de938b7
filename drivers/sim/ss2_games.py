"""Simulated evenings of an automatic wheel that tells its own states: games with their truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from controller.model.readings import Input
from drivers.protocol.ss2 import Flag, State
from drivers.sim.scenes import Feed, Scene, Truth
from drivers.sim.ss2_wheel import Change, with_flag

_REVIEW = Truth(verdict="review", allowed=("review",), ruled="unruled")


def _seconds(rng: Random, least: float, most: float) -> int:
    return round(1e6 * rng.uniform(least, most))


@dataclass(slots=True)
class Game:
    """One game as an honest wheel plays it: when it comes into each state; kinds change it."""

    rng: Random
    start_us: int
    number: str
    pockets: Sequence[str]
    changes: list[Change] = field(init=False)
    said: list[Input] = field(default_factory=list)
    launch_us: int = field(init=False)
    close_us: int = field(init=False)
    number_us: int = field(init=False)
    end_us: int = field(init=False)

    def __post_init__(self) -> None:
        """Let the game take its course."""
        rng = self.rng
        self.launch_us = self.start_us + _seconds(rng, 6.0, 10.0)
        self.close_us = self.launch_us + _seconds(rng, 3.5, 4.5)
        self.number_us = self.close_us + _seconds(rng, 9.0, 14.0)
        self.end_us = self.number_us + _seconds(rng, 5.0, 6.0)
        self.changes = [
            Change(self.start_us, State.PLACE_BETS),
            Change(self.start_us + 1_200_000, State.PLACE_BETS, turned=True),
            Change(self.launch_us, State.BALL_IN_RIM),
            Change(self.close_us, State.NO_MORE_BETS),
            Change(self.number_us, State.WINNING_NUMBER, number=self.number),
        ]

    def until(self, at_us: int, *then: Change) -> None:
        """Go another way from a moment on."""
        self.changes = sorted(
            [*(c for c in self.changes if c.at_us < at_us), *then], key=lambda change: change.at_us
        )

    def say(self, at_us: int, name: str, number: str | None = None) -> None:
        """Have the dealer enter something."""
        self.said.append(Input(t=at_us, dev="console", name=name, by="dealer", number=number))


def _honest(game: Game) -> Truth:
    return Truth(verdict="valid", allowed=("valid",), number=game.number)


def _void(reason: str) -> Truth:
    return Truth(verdict="void", allowed=("void",), reasons=(reason,))


def valid(game: Game) -> Truth:
    """Play an honest game."""
    return _honest(game)


def launched_again(game: Game) -> Truth:
    """The launch fails once; the wheel says so until a moment after the ball is in its rim."""
    game.changes += [
        with_flag(State.PLACE_BETS, game.launch_us - 2_500_000, Flag.LAUNCH_FAILED),
        with_flag(State.BALL_IN_RIM, game.launch_us + 1, Flag.LAUNCH_FAILED),
        Change(game.launch_us + 1_400_000, State.BALL_IN_RIM),
    ]
    return _honest(game)


def ball_unsensed(game: Game) -> Truth:
    """The wheel does not sense the ball for three seconds."""
    game.changes += [
        with_flag(State.NO_MORE_BETS, game.close_us + 3_000_000, Flag.BALL_MISSING),
        Change(game.close_us + 6_000_000, State.NO_MORE_BETS),
    ]
    return _honest(game)


def with_rotor(game: Game) -> Truth:
    """The ball runs with the rotor."""
    at = game.launch_us + 1_500_000
    game.until(at, with_flag(State.BALL_IN_RIM, at, Flag.BALL_WITH_ROTOR))
    return _void("same_direction")


def rotor_turned(game: Game) -> Truth:
    """The rotor turns over while the ball runs."""
    at = game.close_us + 3_000_000
    game.until(at, Change(at, State.NO_MORE_BETS, turned=True))
    return _void("rotor_reversed")


def ball_missing(game: Game) -> Truth:
    """The wheel does not sense the ball any more."""
    at = game.close_us + 2_000_000
    game.until(at, with_flag(State.NO_MORE_BETS, at, Flag.BALL_MISSING))
    return _REVIEW


def component(game: Game) -> Truth:
    """A sensor or the motor fails in play, and the wheel closes."""
    at = game.close_us + 2_000_000
    failing = with_flag(State.NO_MORE_BETS, at, Flag.COMPONENT_FAULT)
    game.until(at, failing, with_flag(State.CLOSED, at + 3_000_000, Flag.COMPONENT_FAULT))
    return _REVIEW


def misfire(game: Game) -> Truth:
    """The wheel gives the game up and goes back to its beginning."""
    at = game.close_us + 4_000_000
    game.until(at, Change(at, State.ROTOR_STARTED))
    return _REVIEW


def dealer_no_spin(game: Game) -> Truth:
    """The dealer calls No Spin while the ball runs."""
    game.say(game.close_us + 2_000_000, "no_spin")
    return _void("called")


def dealer_sets_number(game: Game) -> Truth:
    """The dealer rules another number after the call."""
    other = game.rng.choice([number for number in game.pockets if number != game.number])
    game.say(game.number_us + 2_500_000, "set_number", other)
    return Truth(
        verdict="valid", allowed=("valid",), number=game.number, ruled="corrected", ruled_number=other
    )


_ALL: tuple[Callable[[Game], Truth], ...] = (
    valid,
    launched_again,
    ball_unsensed,
    with_rotor,
    rotor_turned,
    ball_missing,
    component,
    misfire,
    dealer_no_spin,
    dealer_sets_number,
)
KINDS: Mapping[str, Callable[[Game], Truth]] = {kind.__name__: kind for kind in _ALL}
"""Every kind of game by name."""
USUAL: Mapping[str, float] = {name: 9.0 if name == "valid" else 1.0 for name in KINDS}


def evening(
    seed: int, pockets: Sequence[str], mix: Mapping[str, float] = USUAL, n: int = 10
) -> tuple[list[Change], Feed, list[Scene]]:
    """Play `n` games of the kinds of a mix: what the wheel does, what people say, and the truth of each."""
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    changes: list[Change] = []
    feed: Feed = []
    scenes: list[Scene] = []
    now = 500_000
    for kind in rng.choices(list(mix), list(mix.values()), k=n):
        game = Game(rng, now, rng.choice(pockets), pockets)
        truth = KINDS[kind](game)
        changes += sorted(game.changes, key=lambda change: change.at_us)
        feed += [(said.t + rng.randint(200, 3000), said) for said in game.said]
        scenes.append(Scene(kind=kind, start_us=game.launch_us, end_us=game.end_us, truth=truth))
        now = game.end_us + _seconds(rng, 0.5, 1.5)
    return changes, feed, scenes
