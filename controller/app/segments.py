"""A segment: one run of the engine, and the recording that replays to the same outcomes.

The engine is begun anew with every recording, from the state that its header carries: so what a piece gives
in replay can't differ from what was told live.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import NamedTuple

import msgspec

from controller.app.recorder import Begin, End, Recorder
from controller.engine.session import Heard, Session
from controller.engine.setup import First, Setup, State
from controller.journal.contents import Recording
from controller.model.effects import Effect, Judged
from controller.model.readings import AnyReading
from controller.replay.header import Header

_encode = msgspec.json.Encoder().encode


class Segment:
    """The engine at work on what is recorded."""

    def __init__(
        self, setup: Setup, name: str, epoch: str, recorder: Recorder, heard: Heard | None = None
    ) -> None:
        """Begin a recording of this name; `heard` is told what came of each input.

        Raises SetupError where the setup lacks what its game needs.
        """
        self.name = name
        self.session = Session(setup, heard)
        self.size = 0
        """Bytes so far, unpacked."""
        self.last_us = 0
        """The latest time that a reading of it claims."""
        self.began_us: int | None = None
        """When its first reading arrived."""
        self._recorder = recorder
        header = Header(
            version=1,
            table=setup.table,
            ruleset=setup.ruleset.name,
            epoch=epoch,
            dice_table=setup.dice_table,
            wheel=setup.wheel,
            session=setup.session,
            first=setup.first,
            state=msgspec.structs.replace(setup.state, calls=setup.state.calls or setup.calls),
            rules=setup.ruleset,
            sources={dev: tuple(kinds) for dev, kinds in setup.sources.items()},
            locking_switches=tuple(sorted(setup.locking_switches)),
        )
        self._digest = sha256(_encode(header) + b"\n")
        self._arrived_us = 0
        recorder.put(Begin(name, header))

    def feed(self, reading: AnyReading) -> Sequence[Effect]:
        """Record a reading and let the engine have it."""
        line = _encode(reading) + b"\n"
        self._digest.update(line)
        self.size += len(line)
        self.last_us = max(self.last_us, reading.t)
        self._arrived_us = reading.t if reading.arrived is None else reading.arrived
        if self.began_us is None:
            self.began_us = self._arrived_us
        self._recorder.put(reading)
        return self.session.feed(reading)

    def recording(self, effects: Sequence[Effect]) -> Recording:
        """Say where the readings behind these effects are: by arrival, with the hash of all lines so far."""
        arrivals = [
            reading.t if reading.arrived is None else reading.arrived
            for effect in effects
            if isinstance(effect, Judged)
            for reading in effect.readings
        ]
        from_us = min(arrivals, default=self._arrived_us)
        return Recording(
            name=self.name, from_us=from_us, to_us=self._arrived_us, sha256=self._digest.hexdigest()
        )

    def end(self) -> Sequence[Effect]:
        """End it between two attempts: what waits in the engine comes out, as it does in a replay."""
        self._recorder.put(End(whole=True))
        return self.session.finish()

    def cut(self) -> None:
        """End it in the middle of an attempt, as a power cut would."""
        self._recorder.put(End(whole=False))


class Rotation(NamedTuple):
    """When a recording is long enough to end at the next rest."""

    size: int = 16 * 1024 * 1024
    after_us: int = 6 * 3600 * 1_000_000
    quiet_us: int = 60_000_000
    """It ends only after so long without an outcome or an input: until then a call may be corrected."""


class Pieces:
    """A session's recordings, one after the other, numbered from 1."""

    def __init__(
        self, setup: Setup, epoch: str, recorder: Recorder, rotation: Rotation, heard: Heard | None = None
    ) -> None:
        """Record a session of this setup; `heard` is told what came of each input."""
        self.rotation = rotation
        self._setup = setup
        self._epoch = epoch
        self._recorder = recorder
        self._heard = heard
        self._begun = 0

    def next(self, state: State, first: First, after: Segment | None = None) -> Segment:
        """Begin a recording, where there is one before it with what devices said in that."""
        self._begun += 1
        name = f"{self._setup.table}-{int(self._setup.session):06d}-{self._begun:03d}"
        standing = None if after is None else after.session.standing()
        setup = replace(self._setup, state=msgspec.structs.replace(state, standing=standing), first=first)
        return Segment(setup, name, self._epoch, self._recorder, self._heard)

    def due(self, segment: Segment, now_us: int) -> bool:
        """Tell whether a recording is long enough, or one that lost something must end."""
        began_us = segment.began_us
        long = began_us is not None and now_us - began_us > self.rotation.after_us
        return long or segment.size > self.rotation.size or self._recorder.lossy
