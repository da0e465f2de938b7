"""A High Roller table, played step by step."""

from collections.abc import Iterable
from dataclasses import replace

from controller.games.high_roller.table import HighRollerState, as_high_roller_state
from controller.machines.setup import State, read_memory, to_json_values
from controller.model.outcomes import (
    RollCalled,
)
from controller.model.readings import Card, Face
from controller.model.rulesets import RuleSet
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.scenes import SECOND_US, input_at, throw

RULES = load_ruleset("high-roller-12-005")
FACES: dict[int, tuple[Face, Face]] = {
    2: (1, 1), 3: (1, 2), 4: (1, 3), 5: (1, 4), 6: (1, 5), 7: (1, 6),
    8: (2, 6), 9: (3, 6), 10: (4, 6), 11: (5, 6), 12: (6, 6),
}  # fmt: skip


def changed(**policies: object) -> RuleSet:
    """Return the shipped rules with changed policies."""
    assert RULES.high_roller is not None
    return replace(RULES, high_roller=replace(RULES.high_roller, **policies))  # type: ignore[arg-type]  # any key


class HighRollerTable:
    """A High Roller table, played step by step; each step takes ten seconds."""

    def __init__(self, ruleset: RuleSet = RULES, state: HighRollerState | None = None) -> None:
        self.played = Played(
            state=State(high_roller=None if state is None else to_json_values(state)), ruleset=ruleset
        )
        self.now = 0

    def enter(self, name: str, by: str = "dealer", **arguments: object) -> "HighRollerTable":
        """Enter a person's input."""
        self.now += 10 * SECOND_US
        self.played.feed(input_at(self.now, name, by, **arguments))
        return self

    def button(self, **drawn: str) -> "HighRollerTable":
        """Deal cards for the button: `button(s1="Q", s2="9")`."""
        for seat, card in drawn.items():
            self.enter("draw_button", seat=seat[1:], card=card)
        return self

    def buys(self, seat: str, *ranks: str | int) -> "HighRollerTable":
        """Sell a player these cards and pitch them."""
        self.enter("buy", seat=seat, count=len(ranks))
        return self.pitched(*ranks)

    def pitched(self, *ranks: str | int | None, to: str | None = None) -> "HighRollerTable":
        """Deal cards from the shoe."""
        for rank in ranks:
            self.now += SECOND_US
            self.played.feed(Card(t=self.now, dev="shoe", rank=rank, to=to))
        return self

    def rolls(self, *totals: int) -> "HighRollerTable":
        """Throw these totals."""
        for total in totals:
            self.now += 10 * SECOND_US
            self.played.feed(throw(self.now, FACES[total]))
        return self

    def illegal(self) -> "HighRollerTable":
        """Throw dice of which the first stops before the wall."""
        self.now += 10 * SECOND_US
        self.played.feed(throw(self.now, (3, 4), short_mm=(300, 0)))
        return self

    def end(self) -> Played:
        return self.played.finish()

    @property
    def state(self) -> HighRollerState:
        self.played.effects += self.played.session.advance(self.now + 5 * SECOND_US)
        state = read_memory(self.played.session.state().high_roller, as_high_roller_state)
        assert state is not None
        return state


def two_players(
    *, first: Iterable[str | int] = ("7", "8"), second: Iterable[str | int] = ("7", "9")
) -> HighRollerTable:
    """Return a table at which seats 1 (the button) and 2 have bought their cards."""
    return HighRollerTable().button(s1="Q", s2="9").buys("1", *first).buys("2", *second)


def calls(played: Played) -> list[tuple[object, str, int]]:
    return [(c.player, c.call, c.total) for c in played.data(RollCalled)]


def won_in_a_row(games: int) -> HighRollerTable:
    """Play games that seat 2 wins; seats 1 and 2 have the button alternately."""
    table = two_players(first=(7,), second=(9,)).rolls(9)
    for game in range(1, games):
        order = ("2", "1") if game % 2 else ("1", "2")
        for seat in order:
            table.buys(seat, 9 if seat == "2" else 7)
        table.rolls(9)
    return table
