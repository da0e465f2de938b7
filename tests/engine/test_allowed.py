"""A table accepts exactly the inputs that it lists as allowed, at every stage."""

from collections.abc import Iterator
from copy import deepcopy

import pytest

from controller.engine.session import Session
from controller.machines.setup import State
from controller.model.readings import AnyReading, Input
from tests.engine.play import Played
from tests.games.high_roller.played_table import HighRollerTable, two_players
from tests.games.three_card.deal import HANDS, Table, seated
from tests.rules.wheel.simulator import Scene, spin, wheel
from tests.scenes import SECOND_US, input_at, throw

WHEEL = wheel()
SPIN = spin(Scene(wheel=WHEEL, revolutions=14.0, pocket=9, bounces=0))
READINGS = [reading for reading in SPIN.readings if isinstance(reading, AnyReading)]
LATER_US = 2 * SECOND_US

WORDS: dict[str, tuple[dict[str, object], ...]] = {
    "open_table": ({},),
    "close_table": ({},),
    "lock": ({},),
    "unlock": ({},),
    "test_mode on": ({"on": True},),
    "test_mode off": ({"on": False},),
    "inspected": tuple({"what": what} for what in ("dice", "ball", "wheel", "shoe")),
    "dice_set": ({"what": "2"},),
    "accept": ({},),
    "void": ({}, {"what": "game"}),
    "settled": ({},),
    "no_roll": ({},),
    "set_dice": ({"dice": [1, 1]}, {"dice": [1, 2]}),
    "dice_collected": ({},),
    "new_shooter": ({"seat": 1}, {"seat": 2}),
    "pass_dice": ({},),
    "run_out": ({"on": True}, {"on": False}),
    "open_bets": ({},),
    "no_more_bets": ({},),
    "no_spin": ({},),
    "set_number": ({"number": "8"}, {"number": "10"}),
    "chips": ({"seat": "1", "what": "blue"},),
    "paid": ({},),
    "seats": ({"seats": ["1", "2"]},),
    "play": ({"seat": "1"}, {"seat": "2"}),
    "fold": ({"seat": "1"}, {"seat": "2"}),
    "set_card": (
        {"card": "4h", "seat": "1", "what": "Jd"},
        {"card": "7d", "seat": "2"},
        {"card": "7", "seat": "1"},
        {"card": "9", "seat": "1", "what": "7"},
        {"card": "4h", "seat": "2", "what": "Qh"},
        {"card": "7", "seat": "3"},
    ),
    "misdeal": ({},),
    "draw_button": ({"seat": "1", "card": "9"}, {"seat": "2", "card": "8"}),
    "buy": ({"seat": "1", "count": 1}, {"seat": "2", "count": 1}),
    "start_roll": ({},),
    "decline": ({},),
    "leave": ({"seat": "1"}, {"seat": "2"}),
    "closing": ({}, {"count": 1}),
}
"""Every input with sets of arguments. Whenever the input is possible, one of the sets is valid."""


def accepted(session: Session, at_us: int) -> set[str]:
    """Try every input on a copy of the session, and return the names of the accepted inputs."""
    found: set[str] = set()
    trial = deepcopy(session)
    for name, variants in WORDS.items():
        for arguments in variants:
            if taken(trial, at_us, name, arguments):
                found.add(name)
                trial = deepcopy(session)  # a refused input changed nothing
                break
    return found


def taken(session: Session, at_us: int, name: str, arguments: dict[str, object]) -> bool:
    """Return whether an input is accepted if no earlier reading can still arrive."""
    answers: list[object] = []
    session._on_input = lambda _entered, refused, _answer: answers.append(refused)
    entered: Input = input_at(at_us, name.split(maxsplit=1)[0], "supervisor", **arguments)
    session._enter(entered)
    return answers == [None]


def stages() -> Iterator[tuple[str, Session, int]]:
    """Yield sessions at every stage of every game, each with its current time."""
    yield from craps()
    yield from roulette()
    yield from three_card()
    yield from high_roller()


def at(played: Played, now_us: int) -> tuple[Session, int]:
    played.effects += played.session.advance(now_us)
    return played.session, now_us


def craps() -> Iterator[tuple[str, Session, int]]:
    thrown, unsure = throw(SECOND_US, (3, 3)), throw(SECOND_US, (3, 3), confidence=0.4)
    unseen = throw(SECOND_US, (None, None))
    short = throw(SECOND_US, (3, 3), short_mm=(300, 0))
    rest = max(r.t for r in thrown)
    confirm = State(calls="confirm")

    def game(*scenes: AnyReading | list[AnyReading], state: State | None = None) -> Played:
        return Played(state=state).feed(*scenes)

    yield "craps: at rest", *at(game(), SECOND_US)
    yield "craps: closed", *at(game(state=State(table="closed")), SECOND_US)
    yield "craps: locked", *at(game(state=State(lock="locked")), SECOND_US)
    yield "craps: test mode", *at(game(input_at(1, "test_mode", on=True)), SECOND_US)
    yield "craps: flying", *at(game([r for r in thrown if r.t < SECOND_US + 500_000]), SECOND_US + 600_000)
    yield "craps: held", *at(game(thrown), rest + 200_000)
    yield "craps: called", *at(game(thrown), rest + LATER_US)
    yield "craps: no roll", *at(game(short), rest + LATER_US)
    yield "craps: review with faces", *at(game(unsure), rest + LATER_US)
    yield "craps: review without", *at(game(unseen), rest + LATER_US)
    yield "craps: proposed", *at(game(thrown, state=confirm), rest + LATER_US)
    yield "craps: proposed no roll", *at(game(short, state=confirm), rest + LATER_US)
    collected = input_at(rest + LATER_US, "dice_collected")
    yield "craps: collected", *at(game(thrown, collected), rest + 2 * LATER_US)
    settled = input_at(rest + 2 * LATER_US, "settled")
    yield "craps: settled", *at(game(thrown, settled), rest + 3 * LATER_US)
    yield "craps: all over", *at(game(thrown, collected, settled), rest + 3 * LATER_US)
    yield "craps: run out", *at(game(input_at(1, "run_out", on=True)), SECOND_US)


def roulette() -> Iterator[tuple[str, Session, int]]:
    end = SPIN.end_us + 5 * SECOND_US
    first = READINGS[0].t
    for name, until in (("track", first + 6 * SECOND_US), ("dropped", SPIN.end_us - 4 * SECOND_US)):
        yield (
            f"roulette: {name}",
            *at(Played("roulette", wheel=WHEEL).feed([r for r in READINGS if r.t < until]), until),
        )
    yield "roulette: betting", *at(Played("roulette", wheel=WHEEL), SECOND_US)
    yield "roulette: called", *at(Played("roulette", wheel=WHEEL).feed(READINGS), end)
    proposed = Played("roulette", State(calls="confirm"), wheel=WHEEL).feed(READINGS)
    yield "roulette: proposed", *at(proposed, end)
    closed = Played("roulette", wheel=WHEEL).feed(input_at(SECOND_US, "no_more_bets"))
    yield "roulette: closed by the dealer", *at(closed, 2 * SECOND_US)
    paid = Played("roulette", wheel=WHEEL).feed(READINGS, input_at(end, "paid"))
    yield "roulette: paid", *at(paid, end + LATER_US)


def three_card() -> Iterator[tuple[str, Session, int]]:
    def deal(name: str, table: Table) -> tuple[str, Session, int]:
        return f"three card: {name}", table.played.session, table.quiet(1).now

    yield deal("betting", seated())
    yield deal("no more bets", seated().enter("no_more_bets"))
    yield deal("dealing", seated().deals({"1": "Qh Jd 2c"}))
    yield deal("acting", seated().deals())
    yield deal("called", seated().deals().act(p1="play", p2="play"))
    yield deal("review", seated().deals({**HANDS, "2": "7s ? 9h"}).act(p1="play", p2="play"))
    yield deal("void", seated().deals({**HANDS, "2": "7s Qh 9h"}))
    yield deal("paid", seated().deals().act(p1="play", p2="play").quiet(2).enter("paid"))
    confirm = Table(state=State(calls="confirm")).enter("seats", seats=["1", "2"]).deals()
    yield deal("proposed", confirm.act(p1="play", p2="play"))


def high_roller() -> Iterator[tuple[str, Session, int]]:
    def game(name: str, table: HighRollerTable) -> tuple[str, Session, int]:
        assert table.state is not None
        return f"high roller: {name}", table.played.session, table.now + 5 * SECOND_US

    yield game("before the button", HighRollerTable())
    yield game("one card for the button", HighRollerTable().button(s1="Q"))
    yield game("cards owed", HighRollerTable().button(s1="Q", s2="9").enter("buy", seat="1", count=1))
    yield game("bought", two_players())
    yield game("started", two_players().enter("start_roll"))
    yield game("roll-off", two_players(first=(7, 7)).rolls(7))
    yield game("must roll", two_players().rolls(7))
    yield game("left out", two_players(first=(7, 7)).rolls(7).enter("decline"))
    yield game("won", two_players().rolls(9))
    yield game("illegal", two_players().illegal())
    yield game("abandoned", two_players().enter("void", "supervisor", what="game"))
    yield game("over", two_players(first=(7,), second=(9,)).rolls(9).enter("closing", count=1))


STAGES = list(stages())


@pytest.mark.parametrize(("session", "at_us"), [s[1:] for s in STAGES], ids=[s[0] for s in STAGES])
def test_every_listed_input_is_accepted_and_every_accepted_input_is_listed(
    session: Session, at_us: int
) -> None:
    listed = set(session.allowed())
    assert listed == accepted(session, at_us)
