"""Play readings through a session and keep its effects."""

from collections.abc import Iterable
from typing import TypeVar

from controller.engine.session import Session
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Effect
from controller.model.geometry import Wheel
from controller.model.outcomes import Data, Outcome
from controller.model.readings import AnyReading
from controller.model.rulesets import RuleSet
from controller.settings.rulesets import load_ruleset
from tests.scenes import TABLE

D = TypeVar("D", bound=Data)


class Played:
    """A session and its effects."""

    def __init__(
        self,
        rules: str = "craps-12-034",
        state: State | None = None,
        first: NextNumbers | None = None,
        *,
        wheel: Wheel | None = None,
        ruleset: RuleSet | None = None,
    ) -> None:
        self.session = Session(
            Setup(
                table="table-7",
                session="s1",
                ruleset=ruleset or load_ruleset(rules),
                dice_table=TABLE,
                wheel=wheel,
                state=state or State(),
                first=first or NextNumbers(),
            )
        )
        self.effects: list[Effect] = []

    def feed(self, *scenes: AnyReading | Iterable[AnyReading]) -> "Played":
        """Feed readings, or whole scenes of them, in order of arrival."""
        for scene in scenes:
            for reading in [scene] if isinstance(scene, AnyReading) else scene:
                self.effects += self.session.feed(reading)
        return self

    def finish(self, *, cut: bool = False) -> "Played":
        self.effects += self.session.finish(cut=cut)
        return self

    @property
    def outcomes(self) -> list[Outcome]:
        return [effect for effect in self.effects if isinstance(effect, Outcome)]

    def types(self, *types: str) -> list[str]:
        """Return the types of all outcomes, or of those whose type begins with one of `types`."""
        return [o.type for o in self.outcomes if not types or o.type.startswith(types)]

    def data(self, kind: type[D]) -> list[D]:
        return [o.data for o in self.outcomes if isinstance(o.data, kind)]

    def refusals(self) -> list[str]:
        return [getattr(o.data, "cause", "") for o in self.outcomes if o.type == "input.refused"]


def play(
    *scenes: AnyReading | Iterable[AnyReading], rules: str = "craps-12-034", state: State | None = None
) -> Played:
    return Played(rules, state).feed(*scenes).finish()
