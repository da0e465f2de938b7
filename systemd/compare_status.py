"""Print the problems in a table's status that are new since an upgrade.

Both arguments are outputs of `tablectl status --json`. Runs on the machine's own Python, with only the
standard library.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Status = Mapping[str, Any]  # Any: another release's status, in which keys may be missing

EXPECTED_FAULTS = frozenset({"identity_changed", "journal_old_layout", "self_test_waits"})
"""Faults expected after an upgrade: the self-test can't pass until a person approves the program or the
journal."""
CLOCK_FAULTS = "clock_"
"""The prefix of faults of the wall clock, which do not depend on the release."""


def find_regressions(before: str, now: str) -> Iterator[str]:
    """Yield the new problems; if `before` is empty, report only a controller that does not respond."""
    if not now:
        yield "a controller that does not respond on its control socket"
    elif before:
        old, new = json.loads(before), json.loads(now)
        yield from (text for code, text in _faults(new).items() if code not in _faults(old))
        yield from (text for name, text in _failing(new).items() if name not in _failing(old))


def _faults(status: Status) -> dict[str, str]:
    """Return the unexpected faults that lock the table."""
    faults: Sequence[Status] = status.get("faults", ())
    locking = {str(one["code"]): f"{one['code']}: {one.get('found')}" for one in faults if one.get("locks")}
    return {
        code: text
        for code, text in locking.items()
        if code not in EXPECTED_FAULTS and not code.startswith(CLOCK_FAULTS)
    }


def _failing(status: Status) -> dict[str, str]:
    """Return the failing checks of the self-test, without `faults`, which only repeats the faults."""
    checks: Sequence[Status] = status.get("self_test", ())
    failing = (one for one in checks if not one.get("ok") and one.get("name") != "faults")
    return {str(one["name"]): f"self-test {one['name']}: {one.get('says')}" for one in failing}


if __name__ == "__main__":
    sys.stdout.write("; ".join(find_regressions(*sys.argv[1:3])))
