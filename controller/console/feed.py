"""What all screens show, held once: asked again at each nudge of the controller, passed on to each stream."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

import msgspec

from controller.console.filmed import Attempt, DiePicture, Filmed
from controller.console.link import Json, Link, LinkError
from controller.console.metrics import type_told
from controller.console.seen import Board, Floor, read_board, read_floor

AGAIN_S = 0.3
"""After a lost connection the controller is looked for so often."""
MIN_S = 0.04
"""Minimum interval between two polls: even at a fast table a screen shows every state that lasts."""
REFRESH_S = 5.0
"""Asked again without a nudge: what changes without a word, as a fault's age."""


@dataclass(frozen=True, slots=True)
class Now:
    """How it stands: `floor` None where nobody answers, then `why`."""

    floor: Floor | None = None
    board: Board | None = None
    counts: dict[str, int] | None = None
    why: str = "the controller was not asked yet"
    filmed: tuple[DiePicture, ...] = ()
    """What a camera kept of the throw under review."""


def review_of(floor: Floor) -> Attempt | None:
    """Return the throw that is under review; None where none is."""
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
        """Outcomes of each type that were told since the console started."""

    async def run(self) -> None:
        """Follow it until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._listen())
            group.create_task(self._refresh())
            group.create_task(self._look())

    async def after(self, version: int, within_s: float) -> bool:
        """Wait until there is something newer than this version; False where nothing came in this time."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                await self._changed.wait_for(lambda: self.version > version)
        except TimeoutError:
            return False
        return True

    async def stir(self) -> None:
        """Wake every stream though nothing has changed at the table, as when a person signs out."""
        async with self._changed:
            self.version += 1
            self._changed.notify_all()

    async def _listen(self) -> None:
        while True:
            try:
                async with aclosing(self._lines()) as lines:
                    async for line in lines:
                        self._dirty.set()
                        if (type_ := type_told(line)) is not None:
                            self.told[type_] += 1
            except LinkError:
                self._dirty.set()
            await asyncio.sleep(AGAIN_S)

    def _lines(self) -> AsyncGenerator[Json, None]:
        return self._link.lines(do="watch", topics=["outcomes", "faults", "table"])

    async def _refresh(self) -> None:
        while True:
            self._dirty.clear()
            now = await self._asked()
            if now != self.now:
                self.now = now
                await self.stir()
            await asyncio.sleep(MIN_S)
            try:
                async with asyncio.timeout(REFRESH_S):
                    await self._dirty.wait()
            except TimeoutError:
                pass

    async def _look(self) -> None:
        """Look for pictures beside the feed: no key waits for them."""
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

    async def _asked(self) -> Now:
        try:
            told = await self._link.ask(do="table")
            if not told.get("ok"):
                return Now(why=str(told.get("says", "the controller refused to give the table's state")))
            floor = read_floor(told.get("floor"))
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
            return Now(why=f"the controller speaks another release's language ({error}); restart the console")
