"""A Three Card Poker table, played step by step."""

from dataclasses import replace

from controller.machines.setup import NextNumbers, State
from controller.model.outcomes import DealCalled
from controller.model.readings import Card, DeviceDown, DeviceFault, DeviceUp, Switch
from controller.model.rulesets import RuleSet
from controller.settings.rulesets import load_ruleset
from tests.engine.play import Played
from tests.scenes import SECOND_US, input_at

RULES = load_ruleset("three-card-poker-12-014")
HANDS = {"1": "Qh Jd 2c", "2": "7s 7d 9h", "dealer": "3s Kc 8d"}
ROTATION = ["Qh", "7s", "3s", "Jd", "7d", "Kc", "2c", "9h", "8d"]
"""The same hands in the dealing order of a shoe without positions."""


def changed(**policies: object) -> RuleSet:
    """Return the shipped rules with changed policies."""
    assert RULES.deal is not None
    return replace(RULES, deal=replace(RULES.deal, **policies))  # type: ignore[arg-type]  # any key


class Table:
    """A Three Card Poker table, played step by step."""

    def __init__(
        self, ruleset: RuleSet = RULES, state: State | None = None, first: NextNumbers | None = None
    ) -> None:
        self.played = Played(state=state, first=first, ruleset=ruleset)
        self.now = 0

    def enter(self, name: str, by: str = "dealer", after_s: float = 5.0, **arguments: object) -> "Table":
        """Enter a person's input."""
        self.now += round(after_s * SECOND_US)
        self.played.feed(input_at(self.now, name, by, **arguments))
        return self

    def card(self, text: str | None, to: str | None = None, after_s: float = 0.5) -> "Table":
        """Deal a card from the shoe; None is a card that it could not read."""
        self.now += round(after_s * SECOND_US)
        rank, suit = (text[:-1], text[-1]) if text else (None, None)
        self.played.feed(Card(t=self.now, dev="shoe", rank=rank, suit=suit, to=to))  # type: ignore[arg-type]  # a suit
        return self

    def deals(self, hands: dict[str, str] | None = None) -> "Table":
        """Deal these hands from a shoe with positions; `?` is a card that could not be read."""
        self.now += 10 * SECOND_US
        for position, hand in (hands or HANDS).items():
            for text in hand.split():
                self.card(None if text == "?" else text, position)
        return self

    def in_order(self, cards: list[str]) -> "Table":
        """Deal these cards from a shoe without positions."""
        self.now += 10 * SECOND_US
        for text in cards:
            self.card(text)
        return self

    def act(self, **acts: str) -> "Table":
        """Enter the positions' actions: `act(p1="play", p2="fold")`."""
        for seat, act in acts.items():
            self.enter(act, seat=seat[1:])
        return self

    def reads(self, kind: type[DeviceDown | DeviceUp | DeviceFault], dev: str = "shoe") -> "Table":
        """Report a device's health."""
        self.now += SECOND_US // 10
        self.played.feed(kind(t=self.now, dev=dev, reason="unplugged"))
        return self

    def lid(self, *, name: str = "shoe_lid", is_open: bool = True) -> "Table":
        """Open or close the shoe."""
        self.now += SECOND_US // 10
        self.played.feed(Switch(t=self.now, dev="shoe", name=name, open=is_open))
        return self

    def quiet(self, seconds: float) -> "Table":
        """Advance the time."""
        self.now += round(seconds * SECOND_US)
        self.played.effects += self.played.session.advance(self.now)
        return self

    def end(self, *, cut: bool = False) -> Played:
        return self.played.finish(cut=cut)


def seated(*seats: str) -> Table:
    """Return a table with these positions named, 1 and 2 by default."""
    return Table().enter("seats", seats=list(seats or ("1", "2")))


def codes(reasons: tuple[object, ...]) -> list[str]:
    return [getattr(reason, "code", "") for reason in reasons]


def called(played: Played) -> DealCalled:
    (data,) = played.data(DealCalled)
    return data
