"""Tables that answer each query at once, from what the engine has settled, whether bets are open."""

from itertools import count

from controller.publish.betting import OpenStatement
from controller.settlement_service.engine import Engine
from controller.settlement_service.gate import Gate, NoStatement

PATIENCE_S = 300.0
"""How long a test waits for an expected message: far longer than any busy machine takes."""


def gate(wait_s: float = PATIENCE_S) -> Gate:
    """Make a gate whose queries are numbered in order."""
    numbers = count(1)
    return Gate(lambda: f"{next(numbers):032x}", wait_s)


def oblige(engine: Engine) -> None:
    """Answer each query of this engine immediately, as a table without delays does."""

    def answer(table: str, nonce: str) -> NoStatement | None:
        with engine.work() as work:
            standing = engine.table(work, table)
        assert standing is not None
        word = OpenStatement(
            table=table,
            session="1",
            round=standing.round or 1,
            takes="wagers" if standing.betting == "open" else "play",
            sequence=standing.next_seq - 1,
            t=0,
            until=0,
            heard={nonce: 0},
        )
        engine.gate.accept(word)
        return None

    engine.gate.connect(answer)
