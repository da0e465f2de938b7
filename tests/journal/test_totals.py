"""Totals of the rows, from which a start identifies the interrupted attempt."""

import pytest

from controller.journal.chain import Row, WallTime
from controller.journal.contents import AttemptProgress
from controller.journal.totals import Totals


def outcome_row(name: str) -> Row:
    return Row(
        n=7,
        name=name,
        seq=3,
        wall=WallTime(us=0, synced=True),
        body=None,
        after=None,
        digest=b"",
        evidence_digest=None,
        link=b"",
        signature=None,
    )


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("roll.called", AttemptProgress(number=4, t=9, ended=True)),
        ("roll.review", AttemptProgress(number=4, t=9, review=True)),
        ("roll.declined", AttemptProgress(number=4, t=9)),
        ("spin.called", AttemptProgress(number=4, t=9)),
    ],
)
def test_a_roll_is_ended_only_by_its_own_outcome(name: str, left: AttemptProgress) -> None:
    memory = Totals(attempts={"roll": AttemptProgress(number=4, t=9)})
    memory.add(outcome_row(name))
    assert memory.attempts["roll"] == left
