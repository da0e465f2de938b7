"""Print in what respects a table's status is worse under a new release than under the one before it.

Both arguments are outputs of `tablectl status --json`. Runs on the machine's own Python, with only the
standard library.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Status = Mapping[str, Any]  # Any: another release's status, in which keys may be missing

OF_EVERY_UPGRADE = frozenset({"identity_changed", "journal_old_layout", "self_test_waits"})
"""Expected after every upgrade: the self-test can't pass until a person approves the program or journal."""
NOT_OF_THE_RELEASE = "clock_"
"""Faults of the wall clock do not depend on the release."""


def worse(before: str, now: str) -> Iterator[str]:
    """Yield what is wrong now and was not before; nothing if the status before is unknown."""
    if not now:
        yield "no controller at its control socket"
    elif before:
        old, new = json.loads(before), json.loads(now)
        yield from (words for code, words in _faults(new).items() if code not in _faults(old))
        yield from (words for name, words in _failing(new).items() if name not in _failing(old))


def _faults(status: Status) -> dict[str, str]:
    faults: Sequence[Status] = status.get("faults", ())
    locking = {str(one["code"]): f"{one['code']}: {one.get('found')}" for one in faults if one.get("locks")}
    return {
        code: words
        for code, words in locking.items()
        if code not in OF_EVERY_UPGRADE and not code.startswith(NOT_OF_THE_RELEASE)
    }


def _failing(status: Status) -> dict[str, str]:
    """Return the failing checks of the self-test, without `faults`, which only repeats the faults."""
    checks: Sequence[Status] = status.get("self_test", ())
    failing = (one for one in checks if not one.get("ok") and one.get("name") != "faults")
    return {str(one["name"]): f"self-test {one['name']}: {one.get('says')}" for one in failing}


if __name__ == "__main__":
    sys.stdout.write("; ".join(worse(*sys.argv[1:3])))
