"""The pictures that the readings of an attempt name: found, verified, told in a line each, written out."""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from controller.cli.shell import say
from controller.cli.whole_file import unwritable, whole_file
from controller.evidence.container import Pictures, taken_us
from controller.evidence.folder import ENDING, FOLDER, Folder, MissingError
from controller.model.readings import DieLost, DieRest, Reading


class Filmed(NamedTuple):
    """One file that a reading names: `pictures` None where it can't be shown, and then why."""

    reading: DieRest | DieLost
    sha256: str
    pictures: Pictures | None
    why: str


def add_pictures(parser: argparse.ArgumentParser) -> None:
    """Declare where a camera's pictures are, and where they shall be written."""
    parser.add_argument(
        "--evidence",
        type=Path,
        default=Path(FOLDER),
        metavar="DIR",
        help=f"folder of the camera's pictures (default: {FOLDER})",
    )
    parser.add_argument("--extract", type=Path, metavar="DIR", help="write its pictures into this folder")


def filmed(readings: Iterable[Reading], folder: Folder) -> Iterator[Filmed]:
    """Yield what the readings name, in their order."""
    for reading in readings:
        if not isinstance(reading, DieRest | DieLost) or reading.pictures is None:
            continue
        try:
            yield Filmed(reading, reading.pictures, folder.pictures(reading.pictures), "")
        except MissingError as missing:
            yield Filmed(reading, reading.pictures, None, str(missing))


def line_of(one: Filmed, folder: Folder) -> str:
    """Describe in a line what pictures there are of a die, or why there are none."""
    what = "came to rest" if isinstance(one.reading, DieRest) else "was lost"
    head = f"die {one.reading.die}, {what} at {one.reading.t / 1e6:.3f} s: "
    if one.pictures is None:
        return f"{head}pictures {one.sha256[:12]} are {one.why}"
    clip = [taken_us(name) for name in one.pictures.of("clip")]
    lasts = f" over {(clip[-1] - clip[0]) / 1e6:.1f} s" if len(clip) > 1 else ""
    cut = ", cut off at its largest size" if one.pictures.about.clip_cut else ""
    return (
        f"{head}{len(one.pictures.of('die'))} stills, {len(one.pictures.of('whole'))} frames, a clip of"
        f" {len(clip)}{lasts}{cut}; as the camera took them: {folder.path / one.sha256}{ENDING}"
    )


def told_of(one: Filmed) -> dict[str, object]:
    """Return the same as JSON values."""
    names = () if one.pictures is None else tuple(sorted(one.pictures.entries))
    return {
        "die": one.reading.die,
        "sha256": one.sha256,
        "verified": one.pictures is not None,
        "why_not": one.why or None,
        "names": names,
    }


def extracted(found: Iterable[Filmed], into: Path) -> bool:
    """Write all pictures into a folder and say how many; False where they can't be written, which is said."""
    written = 0
    path = into
    try:
        into.mkdir(parents=True, exist_ok=True)
        for one in found:
            for name, jpeg in ({} if one.pictures is None else one.pictures.entries).items():
                path = into / f"die{one.reading.die}-{one.sha256[:8]}-{name}"
                with whole_file(path) as stream:
                    stream.write(jpeg)
                written += 1
    except OSError as error:
        say(unwritable(path, error))
        return False
    say(f"{into}: {written} pictures written")
    return True
