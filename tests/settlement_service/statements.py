"""Statements of tables that answer each query immediately, from the engine's settled outcomes."""

from itertools import count

from controller.publish.betting import OpenStatement
from controller.settlement_service.engine import Engine
from controller.settlement_service.gate import Gate, MissingStatement

PATIENCE_S = 300.0
"""Time limit for an expected message, in seconds, far longer than on a busy machine."""


def gate(wait_s: float = PATIENCE_S) -> Gate:
    """Return a gate whose queries are numbered in order."""
    numbers = count(1)
    return Gate(lambda: f"{next(numbers):032x}", wait_s)


def answer_queries(engine: Engine) -> None:
    """Answer each query from this engine immediately, as a table without delays would."""

    def answer(table: str, nonce: str) -> MissingStatement | None:
        with engine.work() as work:
            enrolled = engine.table(work, table)
        assert enrolled is not None
        statement = OpenStatement(
            table=table,
            session="1",
            round=enrolled.round or 1,
            takes="wagers" if enrolled.betting == "open" else "play",
            sequence=enrolled.next_seq - 1,
            t=0,
            until=0,
            heard={nonce: 0},
        )
        engine.gate.accept(statement)
        return None

    engine.gate.connect(answer)
