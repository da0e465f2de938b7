"""Offline replays of a run's recordings."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import msgspec

from controller.journal.chain import Row
from controller.journal.contents import SESSION_STARTED, Identity, StateAfterRow, canonical
from controller.machines.setup import Setup
from controller.model.outcomes import Outcome
from controller.replay.log import open_log
from controller.replay.run import build_setup, replay
from controller.replay.source import Source


def last_session(rows: list[Row]) -> tuple[Setup, list[Row]]:
    """Return the setup of the last session and the rows of its outcomes."""
    start = max(place for place, row in enumerate(rows) if row.name == SESSION_STARTED)
    body = rows[start].body
    assert body is not None
    identity = msgspec.json.decode(body, type=Identity)
    return identity.setup, [row for row in rows[start:] if row.seq is not None]


def replayed(folder: Path, setup: Setup) -> list[bytes]:
    """Replay each recording of a session from its header, and return the bytes of the outcomes.

    An attempt in flight at the end of a recording goes to review, and the next session publishes the review.
    """
    published: list[bytes] = []
    for path in sorted(folder.glob(f"{setup.table}-{int(setup.session):06d}-*.jsonl.gz")):
        with open_log(str(path)) as log:
            assert log.header.rules is not None
            alone = build_setup(log.header, log.header.rules, log.name)
            outcomes = [effect for effect in replay(log, alone) if isinstance(effect, Outcome)]
            if log.truncated and outcomes and _power_lost(outcomes[-1]):
                outcomes.pop()
            published += [canonical(outcome) for outcome in outcomes]
    return published


def _power_lost(outcome: Outcome) -> bool:
    return any(reason.code == "power_lost" for reason in getattr(outcome.data, "reasons", ()))


def recorded_hashes(path: Path) -> Iterator[str]:
    digest = sha256()
    with path.open("rb") as stream:
        for line in b"".join(Source(stream)).splitlines(keepends=True):
            digest.update(line)
            yield digest.hexdigest()


def recordings_named(rows: list[Row], folder: Path) -> bool:
    """Return whether every row names an existing recording and its hash at that point."""
    known = {path.name: set(recorded_hashes(path)) for path in folder.glob("*.jsonl.gz")}
    for row in rows:
        if row.after is None:
            continue
        recording = msgspec.json.decode(row.after, type=StateAfterRow).recording
        if recording is not None and recording.sha256 not in known[f"{recording.name}.jsonl.gz"]:
            return False
    return True
