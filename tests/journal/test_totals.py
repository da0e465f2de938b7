"""What the rows add up to, so that a start knows what was cut off."""

import pytest

from controller.journal.chain import Row, WallTime
from controller.journal.contents import AttemptProgress
from controller.journal.totals import Totals


def told(name: str) -> Row:
    """Return a row that tells an outcome of this type."""
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
def test_only_a_rolls_own_end_ends_it(name: str, left: AttemptProgress) -> None:
    memory = Totals(attempts={"roll": AttemptProgress(number=4, t=9)})
    memory.take(told(name))
    assert memory.attempts["roll"] == left
