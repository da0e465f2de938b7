"""Raw captures of a device's serial line, played through its driver and the session of a table."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from controller.engine.session import Session, SetupError
from controller.engine.setup import Setup, State
from controller.model.effects import Effect
from controller.model.geometry import Wheel
from controller.model.pockets import STANDARD_POCKETS
from controller.model.readings import AnyReading
from controller.model.rulesets import Calls, RuleSet
from controller.replay.capture import Capture
from drivers.ss2.device import Ss2Settings, Ss2Wheel
from drivers.ss2.protocol import with_its_blank

DEVICES = ("ss2",)
"""The devices whose captures can be played."""
WHEELS = (37, 38, 39, 40)
"""The pocket counts that an SS2 wheel can have."""
DEFAULT_RULES = "roulette"
_PROGRESS_EVERY = 10_000


def setup_for_wheel(ruleset: RuleSet, pockets: int, calls: Calls | None) -> Setup:
    """Make the start of a table that has nothing but the wheel, and so must take it at its word.

    Raises SetupError where the rule set is not of roulette.
    """
    if ruleset.spin is None:
        raise SetupError(f"rule set {ruleset.name} plays {ruleset.game}: name one of roulette with --rules")
    return Setup(
        table="wheel",
        ruleset=replace(ruleset, spin=replace(ruleset.spin, revolutions="trusted_wheel")),
        state=State(calls=calls),
        wheel=_wheel(pockets),
    )


class CapturePlay:
    """One capture on its way through driver and session; `wheel` counts what the driver read."""

    def __init__(self, capture: Capture, setup: Setup) -> None:
        """Raises SetupError where the setup lacks what its game needs."""
        self.wheel = Ss2Wheel("ss2", Ss2Settings(port="", listen_only=True))
        self._capture = capture
        self._session = Session(setup)

    def effects(self, progress: Callable[[int], None] | None = None) -> Iterator[Effect]:
        """Play it and give every effect in order; `progress` hears now and then how many lines were read."""
        for line in self._capture:
            yield from self._tick_until(line.t)
            yield from self._feed(self.wheel.receive(line.t, with_its_blank(line.text) + b"\r\n"))
            yield from self._session.advance(line.t)
            if progress is not None and self._capture.lines % _PROGRESS_EVERY == 0:
                progress(self._capture.lines)
        yield from self._session.finish(cut=self._capture.truncated)

    def _tick_until(self, t: int) -> Iterator[Effect]:
        while (due := self.wheel.next_deadline()) is not None and due < t:
            yield from self._feed(self.wheel.tick(due))

    def _feed(self, readings: list[AnyReading]) -> Iterator[Effect]:
        for reading in readings:
            yield from self._session.advance(reading.t)
            yield from self._session.feed(reading)


def _wheel(pockets: int) -> Wheel:
    """Describe the wheel; where triple and quadruple zero lie is not known, and does not matter here."""
    name = "european" if pockets == min(WHEELS) else "american"
    more_zeros = ("000", "0000")[: max(0, pockets - 38)]
    return Wheel.at_its_word(name, (*STANDARD_POCKETS[name], *more_zeros))
