"""Attempts from the recorded logs, for drawings."""

from pathlib import Path

from controller.cli.attempts import AttemptRef, load_log_exhibit
from controller.technician.drawing import Exhibit
from controller.technician.spin_picture import SpinSeen, spin_seen
from controller.technician.throw_picture import ThrowSeen, throw_seen

LOGS = Path(__file__).parents[1] / "logs"


def attempt(log: str, number: int) -> Exhibit:
    return load_log_exhibit(AttemptRef(str(LOGS / f"{log}.jsonl.gz"), number), None)


def throw(log: str, number: int) -> ThrowSeen:
    """Return one throw of a recorded log as drawn."""
    exhibit = attempt(log, number)
    table, rules = exhibit.setup.dice_table, exhibit.setup.ruleset.throw
    assert exhibit.judged is not None
    assert table is not None
    assert rules is not None
    return throw_seen(exhibit.judged, table, rules)


def spin(log: str, number: int) -> SpinSeen:
    """Return one spin of a recorded log as drawn."""
    exhibit = attempt(log, number)
    wheel, rules = exhibit.setup.wheel, exhibit.setup.ruleset.spin
    assert exhibit.judged is not None
    assert wheel is not None
    assert rules is not None
    return spin_seen(exhibit.judged, wheel, rules, None if exhibit.closed is None else exhibit.closed.t)
