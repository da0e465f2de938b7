"""What a screen is shown of an attempt that waits for a person."""

from typing import NamedTuple


class PictureFile(NamedTuple):
    """A file of a camera's pictures that a reading of the attempt names."""

    die: int
    sha256: str


class Drawn(NamedTuple):
    """The drawing as SVG (None: nothing can be drawn to scale), and the pictures that were taken."""

    svg: str | None = None
    pictures: tuple[PictureFile, ...] = ()
