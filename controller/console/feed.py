"""The state shared by all screens, and the streams that send it to the screens.

The console fetches the state every few seconds and when the controller reports a change. The state includes
the camera's pictures of the throw under review. The controller names the picture files only for an attempt
that awaits a ruling, and the console verifies each file.
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

from controller.console.answers import Board, Floor, read_board, read_floor
from controller.console.link import Json, Link, LinkError
from controller.console.metrics import type_of_line
from controller.evidence.pictures import Folder, MissingError, Pictures, taken_us
from controller.model.conversion import converter_of

RETRIES, RETRY_S = 8, 0.5
"""Number of tries to load a missing file, and the interval between them. The camera's reading can name the
file before the file is written."""
MAX_FILES_IN_MEMORY = 2
"""Maximum number of verified files in memory, one for each die of a throw. Cameras write files of at most
12 MB."""
SLOWDOWN = 4
"""The factor by which a clip is slowed down."""
MAX_FRAME_S = 0.5
"""Maximum time for which a frame of a clip is shown; the last frame is shown for this time."""
CLIP_REPEATS = 2
"""The number of times that a clip is played."""


class PictureFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of pictures that is named in a reading of the throw."""

    die: int
    sha256: str


class DiePictures(NamedTuple):
    """The file of one die's pictures, and their names. `why` is the reason if there are none."""

    die: int
    sha256: str
    stills: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    """Pictures of the whole view."""
    clip: int = 0
    """The number of frames in the clip."""
    up: int | None = None
    """The face that the camera read; None if it read none."""
    confidence: float | None = None
    why: str = ""


ReviewId = tuple[int, int]
"""Identifies a review by the attempt's number and the sequence number of the attempt's last outcome."""
_named_of = converter_of(tuple[PictureFile, ...])


class ReviewPictures:
    """The pictures of the throw under review."""

    def __init__(self, folder: Path) -> None:
        """Read files from this folder."""
        self._folder = Folder(folder)
        self._shown: dict[ReviewId, tuple[DiePictures, ...]] = {}
        self._held: dict[tuple[str, tuple[int, int, int]], Pictures] = {}

    def of(self, review: ReviewId | None) -> tuple[DiePictures, ...] | None:
        """Return a review's pictures: empty without a review, None if they have not been loaded yet."""
        return () if review is None else self._shown.get(review)

    async def load(self, table: Link, review: ReviewId) -> None:
        """Load a review's pictures, and discard those of the previous review."""
        try:
            answer: Json = await table.once(do="picture", number=review[0])
            named = _named_of(answer.get("pictures", ()))
        except (LinkError, msgspec.ValidationError):
            named = ()
        shown = [await self._load(one) for one in named]
        self._shown = {review: tuple(shown)}

    async def picture(self, sha256: str, name: str) -> bytes:
        """Return the JPEG with this name from a file. Raises MissingError."""
        pictures = await self._pictures(sha256)
        if name not in pictures.entries:
            raise MissingError(f"no picture {name[:40]!r} in this file")
        return pictures.entries[name]

    async def clip(self, sha256: str) -> tuple[tuple[float, bytes], ...]:
        """Return a clip's JPEGs, each with its display time in seconds. Raises MissingError."""
        pictures = await self._pictures(sha256)
        names = pictures.of("clip")
        times = [taken_us(name) for name in names]
        shown_s = [min((after - at) / 1e6 * SLOWDOWN, MAX_FRAME_S) for at, after in pairwise(times)]
        return tuple(
            (frame_s, pictures.entries[name])
            for name, frame_s in zip(names, [*shown_s, MAX_FRAME_S], strict=True)
        )

    async def _load(self, named: PictureFile) -> DiePictures:
        why = ""
        for _ in range(RETRIES):
            try:
                pictures = await self._pictures(named.sha256)
            except MissingError as missing:
                why = str(missing)
                if self._folder.stamp(named.sha256) is not None:
                    break
                await asyncio.sleep(RETRY_S)
                continue
            about = pictures.about
            return DiePictures(
                named.die,
                named.sha256,
                pictures.of("die"),
                pictures.of("whole"),
                len(pictures.of("clip")),
                about.up,
                about.confidence,
            )
        return DiePictures(named.die, named.sha256, why=why)

    async def _pictures(self, sha256: str) -> Pictures:
        """Return a file's pictures, from memory unless the file has changed. Raises MissingError."""
        stamp = self._folder.stamp(sha256)
        if stamp is not None and (sha256, stamp) in self._held:
            return self._held[sha256, stamp]
        pictures = await asyncio.to_thread(self._folder.pictures, sha256)
        if stamp is not None:
            while len(self._held) >= MAX_FILES_IN_MEMORY:
                del self._held[next(iter(self._held))]
            self._held[sha256, stamp] = pictures
        return pictures


RECONNECT_S = 0.3
"""Delay before the console reconnects to the controller after losing the connection."""
MIN_POLL_S = 0.04
"""Minimum interval between two requests, too short for a person to notice."""
REFRESH_S = 5.0
"""Interval between requests when no change is reported. Changes in an active fault's text, for example, are
not reported."""


@dataclass(frozen=True, slots=True)
class ScreenState:
    """The shared state. If the controller sends no state, `floor` is None and `why` is the reason."""

    floor: Floor | None = None
    board: Board | None = None
    counts: dict[str, int] | None = None
    why: str = "the console has not yet received the table's state"
    filmed: tuple[DiePictures, ...] = ()
    """The camera's pictures of the throw under review."""


def review_of(floor: Floor) -> ReviewId | None:
    """Return the id of the current review of a throw; None if no throw is under review."""
    awaited = floor.awaited
    if awaited is None or awaited.attempt != "roll" or awaited.state != "review":
        return None
    outcomes = next((result.outcomes for result in floor.results if result.number == awaited.number), ())
    return (awaited.number, outcomes[-1].sequence) if outcomes else None


class Feed:
    """Keeps `now` up to date, and wakes the streams when it changes."""

    def __init__(self, link: Link, filmed: ReviewPictures) -> None:
        """Use the controller at this link; `run` keeps the state up to date."""
        self._link = link
        self._filmed = filmed
        self._reviewed: asyncio.Queue[ReviewId] = asyncio.Queue()
        self._sought: ReviewId | None = None
        self._dirty = asyncio.Event()
        self._changed = asyncio.Condition()
        self.now = ScreenState()
        self.version = 0
        self.outcome_counts: Counter[str] = Counter()
        """The number of outcomes of each type since the console started."""

    async def run(self) -> None:
        """Follow the controller until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._refresh())
            group.create_task(self._load_pictures())

    async def after(self, version: int, within_s: float) -> bool:
        """Wait for a newer version; return False if none arrives within this time."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                await self._changed.wait_for(lambda: self.version > version)
        except TimeoutError:
            return False
        return True

    async def wake(self) -> None:
        """Wake all streams after a change in the state or in a session."""
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
                            self.outcome_counts[type_] += 1
            except LinkError:
                self._dirty.set()
            await asyncio.sleep(RECONNECT_S)

    def _lines(self) -> AsyncGenerator[Json, None]:
        return self._link.lines(do="watch", topics=["outcomes", "faults", "table"])

    async def _refresh(self) -> None:
        while True:
            self._dirty.clear()
            now = await self._fetch()
            if now != self.now:
                self.now = now
                await self.wake()
            await asyncio.sleep(MIN_POLL_S)
            try:
                async with asyncio.timeout(REFRESH_S):
                    await self._dirty.wait()
            except TimeoutError:
                pass

    async def _load_pictures(self) -> None:
        """Load pictures in a separate task, so that the other panels do not wait for the pictures."""
        while True:
            review = await self._reviewed.get()
            await self._filmed.load(self._link, review)
            self._dirty.set()

    def _pictures(self, floor: Floor) -> tuple[DiePictures, ...]:
        review = review_of(floor)
        shown = self._filmed.of(review)
        if shown is None and review is not None and review != self._sought:
            self._sought = review
            self._reviewed.put_nowait(review)
        return shown or ()

    async def _fetch(self) -> ScreenState:
        try:
            answer = await self._link.ask(do="table")
            if not answer.get("ok"):
                return ScreenState(
                    why=str(answer.get("says", "the controller refused to send the table's state"))
                )
            floor = read_floor(answer.get("floor"))
            if not floor.up:
                return ScreenState(floor=floor)
            shown = await self._link.ask(do="board")
            if not shown.get("ok"):
                return ScreenState(floor=floor)
            filmed = self._pictures(floor)
            counts = msgspec.convert(shown.get("counts"), dict[str, int])
            return ScreenState(
                floor=floor, board=read_board(shown.get("board")), counts=counts, filmed=filmed
            )
        except LinkError as error:
            return ScreenState(why=str(error))
        except msgspec.ValidationError as error:
            return ScreenState(why=different_release(error))


def different_release(error: msgspec.ValidationError) -> str:
    """Return the message for an answer that this release can't decode."""
    return f"the controller and the console are from different releases ({error}); restart the console"


@dataclass(slots=True, eq=False)
class Stream:
    """A stream: its owner, the function that closes its connection, and whether it still has a slot."""

    owner: str
    end: Callable[[], None]
    is_open: bool = True


class NoRoomError(Exception):
    """All slots are taken, each by a different owner."""


class Streams:
    """The streams of one kind of screen.

    When all slots are taken, a new stream replaces the oldest stream of the owner with the most streams, if
    that owner has at least two more than the new stream's owner. Otherwise it replaces its owner's oldest
    stream, or is refused if its owner has none. Owners who compete for slots therefore share them
    evenly, and no owner loses its only stream to another.
    """

    def __init__(self, max_open: int) -> None:
        """Allow at most this number of simultaneous streams."""
        self._max_open = max_open
        self._open: list[Stream] = []

    @contextmanager
    def hold(self, owner: str, end: Callable[[], None] = lambda: None) -> Iterator[Stream]:
        """Hold a slot for an owner's stream; `end` closes the stream's connection. Raises NoRoomError."""
        if len(self._open) >= self._max_open:
            oldest = self._replaceable_by(owner)
            self._open.remove(oldest)
            oldest.is_open = False
            oldest.end()
        stream = Stream(owner, end)
        self._open.append(stream)
        try:
            yield stream
        finally:
            if stream.is_open:
                self._open.remove(stream)

    def _replaceable_by(self, owner: str) -> Stream:
        counts = Counter(one.owner for one in self._open)
        oldest = max(self._open, key=lambda one: counts[one.owner])
        if counts[oldest.owner] > counts[owner] + 1:
            return oldest
        own = next((one for one in self._open if one.owner == owner), None)
        if own is None:
            raise NoRoomError
        return own

    def __len__(self) -> int:
        return len(self._open)
