"""What all screens show, held once: fetched again whenever the controller reports a change, and passed on to
each stream.

This includes the pictures that a camera kept of the throw under review. The controller names the files only
for an attempt that waits for a person; they are read here, each verified. Streams are limited in number, and
one person's streams can't keep another person out.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from controller.console.link import Json, Link, LinkError
from controller.console.metrics import type_of_line
from controller.console.seen import Board, Floor, read_board, read_floor
from controller.evidence.pictures import Folder, MissingError, Pictures, taken_us
from controller.model.conversion import converter_of

TRIES, TRY_S = 8, 0.5
"""The camera writes its pictures a moment after it has named them."""
HELD = 2
"""Verified files in memory: the two dice of a throw, 12 MB each at most."""
SLOWER = 4
"""A clip is shown at a quarter of its speed: what matters lasts for three frames."""
LONGEST_S = 0.5
ROUNDS = 2


class PictureFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a reading of the throw names, as sent by the controller."""

    die: int
    sha256: str


class DiePicture(NamedTuple):
    """The pictures of one die at rest, or why there are none."""

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
        """Return what is there for a review; None if it has not been looked for yet."""
        return () if review is None else self._shown.get(review)

    async def look(self, table: Link, review: Attempt) -> None:
        """Look for the pictures of a review; an older one is forgotten."""
        try:
            answer: Json = await table.once(do="picture", number=review[0])
            named = _named_of(answer.get("pictures", ()))
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
        """Read and verify a file, again if it has changed; a deleted one is no longer shown."""
        stamp = self._folder.stamp(sha256)
        if stamp is not None and (sha256, stamp) in self._held:
            return self._held[sha256, stamp]
        pictures = await asyncio.to_thread(self._folder.pictures, sha256)
        if stamp is not None:
            while len(self._held) >= HELD:
                del self._held[next(iter(self._held))]
            self._held[sha256, stamp] = pictures
        return pictures


AGAIN_S = 0.3
"""How often a lost connection to the controller is retried."""
MIN_S = 0.04
"""Minimum interval between two polls: even at a fast table a screen shows every lasting state."""
REFRESH_S = 5.0
"""How often to ask without a prompt, for what changes by itself, such as a fault's age."""


@dataclass(frozen=True, slots=True)
class Now:
    """The state: `floor` is None if nobody answers, then `why`."""

    floor: Floor | None = None
    board: Board | None = None
    counts: dict[str, int] | None = None
    why: str = "the controller has not been asked yet"
    filmed: tuple[DiePicture, ...] = ()
    """What a camera kept of the throw under review."""


def review_of(floor: Floor) -> Attempt | None:
    """Return the throw that is under review; None if none is."""
    awaited = floor.awaited
    if awaited is None or awaited.attempt != "roll" or awaited.state != "review":
        return None
    told = next((result.told for result in floor.results if result.number == awaited.number), ())
    return (awaited.number, told[-1].sequence) if told else None


class Feed:
    """Follows one controller."""

    def __init__(self, link: Link, filmed: Filmed) -> None:
        """Follow the controller at this link once `run`."""
        self._link = link
        self._filmed = filmed
        self._reviewed: asyncio.Queue[Attempt] = asyncio.Queue()
        self._sought: Attempt | None = None
        self._dirty = asyncio.Event()
        self._changed = asyncio.Condition()
        self.now = Now()
        self.version = 0
        self.told: Counter[str] = Counter()
        """Outcomes of each type since the console started."""

    async def run(self) -> None:
        """Follow it until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._refresh())
            group.create_task(self._fetch_changed())

    async def after(self, version: int, within_s: float) -> bool:
        """Wait until there is something newer than this version; False if nothing came in this time."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                await self._changed.wait_for(lambda: self.version > version)
        except TimeoutError:
            return False
        return True

    async def stir(self) -> None:
        """Wake every stream although nothing has changed at the table, as when a person signs out."""
        async with self._changed:
            self.version += 1
            self._changed.notify_all()

    async def _listen(self) -> None:
        while True:
            try:
                async with aclosing(self._lines()) as lines:
                    async for line in lines:
                        self._dirty.set()
                        if (type_ := type_of_line(line)) is not None:
                            self.told[type_] += 1
            except LinkError:
                self._dirty.set()
            await asyncio.sleep(AGAIN_S)

    def _lines(self) -> AsyncGenerator[Json, None]:
        return self._link.lines(do="watch", topics=["outcomes", "faults", "table"])

    async def _refresh(self) -> None:
        while True:
            self._dirty.clear()
            now = await self._fetch()
            if now != self.now:
                self.now = now
                await self.stir()
            await asyncio.sleep(MIN_S)
            try:
                async with asyncio.timeout(REFRESH_S):
                    await self._dirty.wait()
            except TimeoutError:
                pass

    async def _fetch_changed(self) -> None:
        """Look for pictures apart from the feed: no key waits for them."""
        while True:
            review = await self._reviewed.get()
            await self._filmed.look(self._link, review)
            self._dirty.set()

    def _pictures(self, floor: Floor) -> tuple[DiePicture, ...]:
        review = review_of(floor)
        shown = self._filmed.of(review)
        if shown is None and review is not None and review != self._sought:
            self._sought = review
            self._reviewed.put_nowait(review)
        return shown or ()

    async def _fetch(self) -> Now:
        try:
            answer = await self._link.ask(do="table")
            if not answer.get("ok"):
                return Now(why=str(answer.get("says", "the controller refused to give the table's state")))
            floor = read_floor(answer.get("floor"))
            if not floor.up:
                return Now(floor=floor)
            shown = await self._link.ask(do="board")
            if not shown.get("ok"):
                return Now(floor=floor)
            filmed = self._pictures(floor)
            counts = msgspec.convert(shown.get("counts"), dict[str, int])
            return Now(floor=floor, board=read_board(shown.get("board")), counts=counts, filmed=filmed)
        except LinkError as error:
            return Now(why=str(error))
        except msgspec.ValidationError as error:
            return Now(why=f"the controller is a different release ({error}); restart the console")


@dataclass(slots=True, eq=False)
class Stream:
    """One stream: its owner, what ends its connection, and whether it still has its place."""

    owner: str
    end: Callable[[], None]
    stands: bool = True


class Streams:
    """The streams of one kind of screen.

    When all places are taken, a new stream replaces the oldest one of the owner who has the most, so a
    stranger who opens many ends only his own.
    """

    def __init__(self, most: int) -> None:
        """Allow at most this many at once."""
        self._most = most
        self._fed: list[Stream] = []

    @contextmanager
    def of(self, owner: str, end: Callable[[], None] = lambda: None) -> Iterator[Stream]:
        """Count a stream of this owner while the context lasts; `end` closes its connection."""
        if len(self._fed) >= self._most:
            counts = Counter(one.owner for one in self._fed)
            oldest = max(self._fed, key=lambda one: counts[one.owner])
            self._fed.remove(oldest)
            oldest.stands = False
            oldest.end()
        stream = Stream(owner, end)
        self._fed.append(stream)
        try:
            yield stream
        finally:
            if stream.stands:
                self._fed.remove(stream)

    def __len__(self) -> int:
        """Return the number of open streams."""
        return len(self._fed)
