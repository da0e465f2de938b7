"""Live frames become readings, and pictures of what happens: nothing is told from a view that is in doubt."""

from controller.cli.camera_album import Album
from controller.model.readings import DeviceDown, DeviceUp, Reading
from drivers.vision.arrays import Array
from drivers.vision.following import Follower, Track
from drivers.vision.moving import median_of
from drivers.vision.rig import Rig
from drivers.vision.view import View

LEARNING = 31
"""Frames whose median is the empty table, at the start."""
SILENT = "silent"
BUMPED_MM = 6.0
"""A shift of 10 mm must be found; it is measured to a millimetre or two."""


class Watching:
    """Turns live frames into readings: no face and no track from a view that is in doubt."""

    def __init__(self, rig: Rig, album: Album | None = None, *, alone: bool = True) -> None:
        """Start by learning the empty table; pictures of what happens then go into the album.

        `alone` is false for one of two cameras whose readings a `Pair` makes one.
        """
        self._rig = rig
        self._alone = alone
        self._album = album
        self._learnt: list[Array] = []
        self._follower: Follower | None = None
        self._view: View | None = None
        self._empty: Array | None = None
        self._fault: str | None = None
        self._last: tuple[int, Array] | None = None

    def frame(self, t_us: int, picture: Array) -> list[Reading]:
        """Return the readings of a frame; none while the table is being learnt or the view is in doubt."""
        if self._view is None or self._follower is None or self._empty is None:
            self._learnt.append(picture)
            if len(self._learnt) == LEARNING:
                self._empty = median_of(self._learnt)
                middle = (picture.shape[1] / 2, picture.shape[0] / 2)
                self._view = View(self._empty, BUMPED_MM * self._rig.px_per_mm(*middle))
                self._follower = Follower(self._rig, self._empty, alone=self._alone)
                self._learnt = []
            return []
        self._last = (t_us, picture)
        verdict = self._view.look(t_us, picture)
        readings: list[Reading] = []
        if verdict.fault != self._fault:
            if verdict.fault is not None:
                readings = self._pictured(t_us, picture, self._follower.abandoned(t_us))
            readings.append(self._health(t_us, verdict.fault, verdict.seen))
            self._fault = verdict.fault
            self._follower = Follower(self._rig, self._empty, alone=self._alone)
            if self._album is not None:
                self._album.forget()
        if self._view.doubtful:
            # What hides the table belongs to a throw's clip too; no face and no track is taken from it.
            return readings or self._pictured(t_us, picture, [])
        return readings + self._pictured(t_us, picture, self._follower.frame(t_us, picture))

    def hangs(self, t_us: int) -> list[Reading]:
        """Return that its frames no longer come, though another camera's do; it is up again with the next."""
        if self._fault == SILENT:
            return []
        told = self.ended(t_us)
        self._fault = SILENT
        return [*told, self._health(t_us, SILENT, "it sends no frame; its cable or driver hangs")]

    def ended(self, t_us: int) -> list[Reading]:
        """Return the dice that are lost because no more frames come, with what was seen of them."""
        if self._follower is None or self._last is None:
            return []
        return self._pictured(self._last[0], self._last[1], self._follower.abandoned(t_us))

    def _pictured(self, t_us: int, picture: Array, told: list[Reading]) -> list[Reading]:
        if self._album is None or self._follower is None:
            return told
        return self._album.frame(t_us, picture, told, self._follower.looks)

    @property
    def tracks(self) -> tuple[Track, ...]:
        """Return the dice that are followed now."""
        return () if self._follower is None else self._follower.tracks()

    @property
    def says(self) -> str:
        """Return in a word how the view is."""
        if self._fault == SILENT:
            return SILENT
        if self._view is None:
            return f"learning the empty table, frame {len(self._learnt)} of {LEARNING}"
        return self._fault or ("in doubt" if self._view.doubtful else "following")

    def _health(self, t_us: int, fault: str | None, seen: str) -> Reading:
        dev = self._rig.file.camera
        if fault is None:
            return DeviceUp(t=t_us, dev=dev, reason="it sees its table again")
        return DeviceDown(t=t_us, dev=dev, code=fault, reason=seen)
