"""What a camera kept of the throw under review: looked for once, shown picture by picture, each verified.

The controller names the files for an attempt that waits for a person, and for no other; they are read here.
"""

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.console.link import Json, Link, LinkError
from controller.evidence.container import Pictures, taken_us
from controller.evidence.folder import Folder, MissingError
from controller.model.conversion import converter_of

TRIES, TRY_S = 8, 0.5
"""The camera writes its pictures a moment after it has named them."""
HELD = 2
"""Verified files in memory: the two dice of a throw, 12 MB each at most."""
SLOWER = 4
"""A clip is shown at a quarter of its pace: what matters lasts for three frames."""
LONGEST_S = 0.5
ROUNDS = 2


class PictureFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a reading of the throw names, as the controller tells it."""

    die: int
    sha256: str


class DiePicture(NamedTuple):
    """What there is of one die at rest, or why there is nothing."""

    die: int
    sha256: str
    stills: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    clip: int = 0
    up: int | None = None
    confidence: float | None = None
    why: str = ""


Attempt = tuple[int, int]
"""A review: the attempt's number, and the sequence number of its last outcome."""
_named_of = converter_of(tuple[PictureFile, ...])


class Filmed:
    """The pictures of the review that waits now."""

    def __init__(self, folder: Path) -> None:
        """Read from this folder."""
        self._folder = Folder(folder)
        self._shown: dict[Attempt, tuple[DiePicture, ...]] = {}
        self._held: dict[tuple[str, tuple[int, int, int]], Pictures] = {}

    def of(self, review: Attempt | None) -> tuple[DiePicture, ...] | None:
        """Return what there is of a review; None where it was not looked for yet."""
        return () if review is None else self._shown.get(review)

    async def look(self, table: Link, review: Attempt) -> None:
        """Look for the pictures of a review; an old one is forgotten."""
        try:
            told: Json = await table.once(do="picture", number=review[0])
            named = _named_of(told.get("pictures", ()))
        except (LinkError, msgspec.ValidationError):
            named = ()
        shown = [await self._shown_of(one) for one in named]
        self._shown = {review: tuple(shown)}

    async def picture(self, sha256: str, name: str) -> bytes:
        """Return one JPEG of a file; raises MissingError."""
        pictures = await self._pictures(sha256)
        if name not in pictures.entries:
            raise MissingError(f"no picture {name[:40]!r} in this file")
        return pictures.entries[name]

    async def clip(self, sha256: str) -> tuple[tuple[float, bytes], ...]:
        """Return a clip's pictures, each with the seconds that it stays; raises MissingError."""
        pictures = await self._pictures(sha256)
        names = pictures.of("clip")
        times = [taken_us(name) for name in names]
        stays = [min((after - at) / 1e6 * SLOWER, LONGEST_S) for at, after in pairwise(times)]
        return tuple(
            (stay, pictures.entries[name]) for name, stay in zip(names, [*stays, LONGEST_S], strict=True)
        )

    async def _shown_of(self, named: PictureFile) -> DiePicture:
        why = ""
        for _ in range(TRIES):
            try:
                pictures = await self._pictures(named.sha256)
            except MissingError as missing:
                why = str(missing)
                if self._folder.stamp(named.sha256) is not None:
                    break
                await asyncio.sleep(TRY_S)
                continue
            about = pictures.about
            return DiePicture(
                named.die,
                named.sha256,
                pictures.of("die"),
                pictures.of("whole"),
                len(pictures.of("clip")),
                about.up,
                about.confidence,
            )
        return DiePicture(named.die, named.sha256, why=why)

    async def _pictures(self, sha256: str) -> Pictures:
        """Read and verify a file, anew where it is another; one that is deleted is shown no longer."""
        stamp = self._folder.stamp(sha256)
        if stamp is not None and (sha256, stamp) in self._held:
            return self._held[sha256, stamp]
        pictures = await asyncio.to_thread(self._folder.pictures, sha256)
        if stamp is not None:
            while len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[sha256, stamp] = pictures
        return pictures
