"""Evidence: the readings and the verdict behind an outcome, packed so that it can be judged again alone."""

import zlib
from typing import cast

import msgspec

from controller.model.effects import Basis, Judged, Verdict
from controller.model.readings import AnyReading
from controller.model.verdicts import DealVerdict, Reason, SpinVerdict, ThrowVerdict

LEVEL = 3
"""Of zlib: on a throw's readings half of level 6's time, for an eighth more bytes."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the judge had before it and what it said.

    The keys up to `objection` and `sources` are those of the verdict's `Basis`. `rests_on` are the places
    among `readings` of those that the verdict rests on.
    """

    decided_at_us: int
    called: Reason | None = None
    warnings: int = 0
    learned: dict[str, float] = {}
    late_close: bool = False
    late: tuple[AnyReading, ...] = ()
    doubt: str = ""
    objection: Reason | None = None
    throw: ThrowVerdict | None = None
    spin: SpinVerdict | None = None
    deal: DealVerdict | None = None
    rests_on: tuple[int, ...] = ()
    sources: dict[str, tuple[str, ...]] = {}
    readings: tuple[AnyReading, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Give the verdict as it was, with the readings it rests on."""
        bare = self.throw or self.spin or self.deal
        assert bare is not None
        return msgspec.structs.replace(bare, evidence=tuple(self.readings[place] for place in self.rests_on))

    @property
    def basis(self) -> Basis:
        """Give what the judge had beside the readings, as it was."""
        return Basis(
            decided_at_us=self.decided_at_us,
            called=self.called,
            warnings=self.warnings,
            sources=self.sources,
            learned=self.learned,
            late_close=self.late_close,
            late=self.late,
            doubt=self.doubt,
            objection=self.objection,
        )


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Evidence).decode


def evidence_of(judged: Judged) -> Evidence:
    """Make the evidence of a verdict just given."""
    basis = judged.basis
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
        called=basis.called,
        warnings=basis.warnings,
        learned=dict(basis.learned),
        late_close=basis.late_close,
        late=basis.late,
        doubt=basis.doubt,
        objection=basis.objection,
        throw=bare if isinstance(bare, ThrowVerdict) else None,
        spin=bare if isinstance(bare, SpinVerdict) else None,
        deal=bare if isinstance(bare, DealVerdict) else None,
        rests_on=tuple(rests_on),
        sources=dict(sorted(basis.sources.items())),
        readings=tuple(cast("list[AnyReading]", readings)),
    )


def pack(evidence: Evidence) -> bytes:
    """Compress evidence; the same evidence gives the same bytes on one machine."""
    return zlib.compress(_encode(evidence), LEVEL)


def unpack(packed: bytes) -> Evidence:
    """Read packed evidence whose digest has been checked."""
    return _decode(zlib.decompress(packed))
