"""The settlement engine of the daemon's own process, where it is installed."""

import secrets
import time
from collections.abc import Callable
from importlib.util import find_spec

from controller.app.publishing import EngineMaker
from controller.publish.betting import OpenWord
from controller.publish.embedded import Consumer, EngineFor
from controller.publish.events import Answer


def engine_maker() -> EngineMaker | None:
    """Give what makes the engine; None where the extra `settlement` is not installed."""
    return _Late if find_spec("sqlalchemy") is not None else None


class _Late(Consumer):
    """Loads the engine in its own thread: its database's library takes longer than a start may."""

    def __init__(self, asked: EngineFor) -> None:
        self._asked = asked
        self._engine: Consumer | None = None

    def begin(self) -> None:
        self._loaded().begin()

    def take(self, event: bytes, answer: Callable[[Answer], None]) -> None:
        self._loaded().take(event, answer)

    def hear(self, word: OpenWord) -> None:
        if self._engine is not None:
            self._engine.hear(word)

    def end(self) -> None:
        if self._engine is not None:
            self._engine.end()

    def _loaded(self) -> Consumer:
        if self._engine is None:
            from controller.settlement_service.within import EngineWithin  # noqa: PLC0415 - see the class

            self._engine = EngineWithin(
                self._asked, lambda: time.time_ns() // 1000, lambda: secrets.token_hex(16)
            )
        return self._engine
