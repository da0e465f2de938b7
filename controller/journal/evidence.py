"""Evidence: the readings and the verdict behind an outcome, packed so that it can be judged again alone."""

import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import msgspec

from controller.model.effects import Judged, Verdict
from controller.model.readings import (
    AnyReading,
    DeviceDown,
    DeviceFault,
    DeviceUp,
    Input,
    Reading,
    Switch,
    WallImpact,
)
from controller.model.verdicts import SpinVerdict, ThrowVerdict

Sources = Mapping[str, frozenset[str]]
"""Which reading kinds each device is known to send."""

LEVEL = 3
"""Of zlib: on a throw's readings half of level 6's time, for an eighth more bytes."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the judge had before it and what it said.

    `decided_at_us` is when it was asked (None: when the readings themselves decided), `warnings` what the
    shooter had had by then, `learned` what was known of the wheel, `late_close` whether bets were still open
    at the drop. `rests_on` are the places among `readings` of those that the verdict rests on.
    """

    decided_at_us: int | None
    warnings: int = 0
    learned: dict[str, float] = {}
    late_close: bool = False
    throw: ThrowVerdict | None = None
    spin: SpinVerdict | None = None
    rests_on: tuple[int, ...] = ()
    sources: dict[str, tuple[str, ...]] = {}
    readings: tuple[AnyReading, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Give the verdict as it was, with the readings it rests on."""
        bare = self.throw or self.spin
        assert bare is not None
        return msgspec.structs.replace(bare, evidence=tuple(self.readings[place] for place in self.rests_on))

    @property
    def known_sources(self) -> Sources:
        """Give the sources as the judge takes them."""
        return {dev: frozenset(kinds) for dev, kinds in self.sources.items()}


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Evidence).decode


class Basis(NamedTuple):
    """What a verdict rests on beside the attempt's readings."""

    decided_at_us: int | None
    warnings: int
    sources: Sources
    learned: dict[str, float]
    late_close: bool


def evidence_of(judged: Judged, basis: Basis) -> Evidence:
    """Make the evidence of a verdict just given."""
    readings = list(judged.readings)
    places = {id(reading): place for place, reading in enumerate(readings)}
    rests_on: list[int] = []
    for reading in judged.verdict.evidence:
        if id(reading) not in places:
            places[id(reading)] = len(readings)
            readings.append(reading)
        rests_on.append(places[id(reading)])
    bare = msgspec.structs.replace(judged.verdict, evidence=())
    return Evidence(
        decided_at_us=basis.decided_at_us,
        warnings=basis.warnings,
        learned=basis.learned,
        late_close=basis.late_close,
        throw=bare if isinstance(bare, ThrowVerdict) else None,
        spin=bare if isinstance(bare, SpinVerdict) else None,
        rests_on=tuple(rests_on),
        sources={dev: tuple(sorted(kinds)) for dev, kinds in sorted(basis.sources.items())},
        readings=tuple(cast("list[AnyReading]", readings)),
    )


def pack(evidence: Evidence) -> bytes:
    """Compress evidence; the same evidence gives the same bytes on one machine."""
    return zlib.compress(_encode(evidence), LEVEL)


def unpack(packed: bytes) -> Evidence:
    """Read packed evidence whose digest has been checked."""
    return _decode(zlib.decompress(packed))


def learned(sources: Sources, readings: Sequence[Reading]) -> Sources:
    """Add what devices showed themselves to send (`wall_impact:left` for a wall's)."""
    kinds = {(r.dev, type(r), r.wall if type(r) is WallImpact else "") for r in readings}
    known = dict(sources)
    for dev, kind, wall in kinds:
        if kind not in _TELL_NO_SOURCE:
            word = f"{kind.__struct_config__.tag}:{wall}" if wall else str(kind.__struct_config__.tag)
            known[dev] = known.get(dev, frozenset()) | {word}
    return known


_TELL_NO_SOURCE = (DeviceUp, DeviceDown, DeviceFault, Switch, Input)
