"""The whole program held against its maker's list, compiled copies too, by a process that runs none of them.

The controller itself compares the files of its sources at its start. To compile them again takes a second or
more, and a controller that runs a planted copy would find nothing. So it is done aside, by
`python -X pycache_prefix=NOWHERE -m controller.app.release_check KEYS`, which compiles all that it runs and
writes one line of JSON, what it found.
"""

import sys
from pathlib import Path

import msgspec

from controller.app.aside import Aside, step_behind
from controller.app.faults import ActiveFaults, Fault
from controller.app.release import ReleaseFault, place_of, trusted_keys, verify

NOWHERE = "/proc/none"
"""A folder that nobody can make: Python finds no compiled copy below it, and leaves none."""


class Found(msgspec.Struct, frozen=True):
    """What differs, in words; empty if nothing does."""

    differs: str


_decode = msgspec.json.Decoder(Found).decode


def check(keys: Path) -> Found:
    """Return what differs from the list that a key of this file signed."""
    try:
        verify(place_of(), trusted_keys(keys))
    except ReleaseFault as fault:
        return Found(str(fault))
    except OSError as error:
        return Found(f"{error.filename}: {error.strerror}")
    return Found("")


def main(keys: str) -> None:
    """Check at the lowest priority, and write what was found."""
    step_behind()
    sys.stdout.buffer.write(msgspec.json.encode(check(Path(keys))) + b"\n")


class ReleaseCheck:
    """One check of the program that runs here; what differs locks play."""

    def __init__(self, keys: Path, faults: ActiveFaults) -> None:
        """Hold it against the list signed by a key of this file."""
        self._keys = keys
        self._faults = faults
        words = ("-B", "-X", f"pycache_prefix={NOWHERE}", "-m", "controller.app.release_check", str(keys))
        aside = Aside("release", words, faults, taken=self._taken)
        self.start = aside.start
        self.stop = aside.stop

    def _taken(self, told: bytes) -> bool:
        try:
            found = _decode(told)
        except msgspec.MsgspecError:
            return False
        if found.differs:
            self._faults.began(Fault("release_unverified", str(self._keys), found.differs))
        return True


if __name__ == "__main__":
    main(sys.argv[1])
