"""Tell in what a table stands worse under a new release than under the one before it.

Both are what `tablectl status --json` printed. Runs on the machine's own Python, so it knows the standard
library alone.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Status = Mapping[str, Any]  # Any: another release's words, of which a part may be missing

OF_EVERY_UPGRADE = frozenset({"identity_changed", "journal_old_layout", "self_test_waits"})
"""A person takes the new program as right, or an old journal; until then the self-test can't pass."""
NO_PROGRAM_S = "clock_"
"""What a wall clock does is no release's doing."""


def worse(before: str, now: str) -> Iterator[str]:
    """Name what is wrong now and was not before; nothing where no controller told how it stood before."""
    if not now:
        yield "nobody answers at its control socket"
    elif before:
        old, new = json.loads(before), json.loads(now)
        yield from (words for code, words in _faults(new).items() if code not in _faults(old))
        yield from (words for name, words in _failing(new).items() if name not in _failing(old))


def _faults(status: Status) -> dict[str, str]:
    told: Sequence[Status] = status.get("faults", ())
    locking = {str(one["code"]): f"{one['code']}: {one.get('found')}" for one in told if one.get("locks")}
    return {
        code: words
        for code, words in locking.items()
        if code not in OF_EVERY_UPGRADE and not code.startswith(NO_PROGRAM_S)
    }


def _failing(status: Status) -> dict[str, str]:
    """Give the checks of the self-test that fail; the one of the faults tells of each of them only again."""
    told: Sequence[Status] = status.get("self_test", ())
    failing = (one for one in told if not one.get("ok") and one.get("name") != "faults")
    return {str(one["name"]): f"self-test {one['name']}: {one.get('says')}" for one in failing}


if __name__ == "__main__":
    sys.stdout.write("; ".join(worse(*sys.argv[1:3])))
