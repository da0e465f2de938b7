"""An enrolled table in the engine's memory: its row, its wager book, and outcomes that arrived early."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from sqlalchemy import Connection, func, select

from controller.games.registry import game_of
from controller.journal.keys import PublicKey
from controller.model.outcomes import Bets, Outcome, data_of
from controller.publish.events import read_event
from controller.settings.paytables import open_book
from controller.settings.rulesets import load_ruleset
from controller.settlement_service import schema
from controller.settlement_service.book import RESULTS, Anchor, RuleSetGame, Step, TableBook
from controller.settlement_service.deliveries import Delivery

Betting = Literal["open", "closed"]
BETTING: Mapping[str, Betting] = {
    "bets.opened": "open",
    "table.opened": "open",
    "bets.closed": "closed",
    "table.closed": "closed",
}
"""The outcomes that open or close betting."""
_NO_DICE_OUT = RESULTS | {"table.closed"}
"""The outcomes after which no dice are out until betting closes again."""
Games = Callable[[str], RuleSetGame]
_decode_anchor = msgspec.json.Decoder(Anchor).decode
_decode_step = msgspec.json.Decoder(Step).decode


@dataclass(slots=True)
class EnrolledTable:
    """An enrolled table."""

    name: str
    rules: str
    game: RuleSetGame
    key: PublicKey
    first_seq: int
    next_seq: int
    betting: Betting
    betting_seq: int
    """The number of the outcome that last opened or closed betting; 0 if there is none."""
    decided_seq: int
    """The number of the newest result or closing of the table; 0 if there is none."""
    round: int | None
    """The round of bets; None if the table has not reported one."""
    anchor: Anchor
    halted: str | None
    skip_seq: int | None
    """The number of the outcome that a person has decided to accept without applying it."""
    book: TableBook
    early: dict[int, tuple[Delivery, Outcome]] = field(default_factory=dict)

    def follow_bets(self, outcome: Outcome) -> None:
        """Update the state of betting if an outcome opens or closes it, or ends an attempt."""
        if outcome.type in BETTING:
            self.betting, self.betting_seq = BETTING[outcome.type], outcome.seq
            if isinstance(outcome.data, Bets):
                self.round = outcome.data.round
        if outcome.type in _NO_DICE_OUT:
            self.decided_seq = outcome.seq

    @property
    def dice_out(self) -> bool:
        """Whether betting is closed for a throw that is undecided, according to the outcomes settled so far.

        Always False in a game that does not accept bets made with the dice out.
        """
        closed = self.game.wagers.accepts_late and self.betting == "closed"
        return closed and self.decided_seq < self.betting_seq

    def row(self) -> dict[str, object]:
        """Return the columns of the table's row that can change."""
        return {
            "next_seq": self.next_seq,
            "last_n": self.book.last_n,
            "betting": self.betting,
            "anchor": msgspec.json.encode(self.anchor).decode(),
            "halted": self.halted,
            "skip_seq": self.skip_seq,
        }


def shipped_games() -> Games:
    """Return a function that returns the game of a named rule set, or raises SettingsError.

    The function loads each game once.
    """
    known: dict[str, RuleSetGame] = {}

    def find(rules: str) -> RuleSetGame:
        if rules not in known:
            pristine = open_book(rules)
            name = load_ruleset(rules).game
            known[rules] = RuleSetGame(name, game_of(name).wagers(), lambda: copy.deepcopy(pristine))
        return known[rules]

    return find


def load_table(connection: Connection, name: str, games: Games) -> EnrolledTable | None:
    """Load a table and replay its steps since the anchor; return None if the table is not enrolled."""
    row = connection.execute(select(schema.tables).where(schema.tables.c.name == name)).first()
    if row is None:
        return None
    keys = schema.keys
    pinned = select(keys.c.public_key).where(keys.c.table_name == name).order_by(keys.c.from_seq.desc())
    anchor = _decode_anchor(row.anchor)
    game = games(row.rules)
    book = TableBook(game, name, anchor)
    for step in steps_after(connection, name, anchor.n):
        anchor = book.apply(step).anchor or anchor
    betting_seq, round_ = _betting_of(connection, name)
    return EnrolledTable(
        name=name,
        rules=row.rules,
        game=game,
        key=PublicKey(connection.execute(pinned).scalars().first() or b""),
        first_seq=row.first_seq,
        next_seq=row.next_seq,
        betting="open" if row.betting == "open" else "closed",
        betting_seq=betting_seq,
        decided_seq=_decided_of(connection, name),
        round=round_,
        anchor=anchor,
        halted=row.halted,
        skip_seq=row.skip_seq,
        book=book,
    )


def _betting_of(connection: Connection, table: str) -> tuple[int, int | None]:
    """Return the number of the outcome that last opened or closed betting, and the last reported round."""
    outcomes = schema.outcomes
    newest = (
        select(outcomes.c.seq, outcomes.c.type, outcomes.c.event)
        .where(outcomes.c.table_name == table, outcomes.c.type.in_(list(BETTING)))
        .order_by(outcomes.c.seq.desc())
    )
    last = connection.execute(newest.limit(1)).first()
    newest_bets = connection.execute(newest.where(outcomes.c.type.startswith("bets.")).limit(1)).first()
    round_ = None
    if newest_bets is not None:
        data = data_of(newest_bets.type, read_event(newest_bets.event).data)
        assert isinstance(data, Bets)
        round_ = data.round
    return (0 if last is None else last.seq), round_


def _decided_of(connection: Connection, table: str) -> int:
    """Return the number of a table's newest result or closing; 0 if there is none."""
    outcomes = schema.outcomes
    newest = select(func.max(outcomes.c.seq)).where(
        outcomes.c.table_name == table, outcomes.c.type.in_(list(_NO_DICE_OUT))
    )
    seq: int | None = connection.execute(newest).scalar_one()
    return 0 if seq is None else seq


def steps_after(connection: Connection, table: str, n: int) -> list[Step]:
    """Return a table's steps after step `n`, in order."""
    steps = schema.steps
    query = select(steps.c.body).where(steps.c.table_name == table, steps.c.n > n).order_by(steps.c.n)
    return [_decode_step(body) for body in connection.execute(query).scalars()]
