"""Run the dice camera's process (`tablectl camera run`) on a rendered video beside a measurement.

`python -m tests.benchmarks.watching_camera FOLDER` renders the video and writes its rig file. `watching` runs
the camera with these files repeatedly. The video has 60 frames per second of 640 x 480 pixels. Every second
and a half, two dice come in, turn and are read.
"""

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

FPS, EMPTY_FRAMES = 60.0, 60
THROW_US, THROWS = 1_500_000, 6
FACES = ((5, 6), (1, 2), (3, 4))
FILM, RIG, SOCKET = "throws.avi", "rig.yaml", "camera.sock"
UNIT = ("nice", "-n", "2")
"""The command line in `systemd/table-camera.service`."""
FIRST_WORD_S = 60.0
CAMERA = "import sys; from controller.cli.main import main; sys.exit(main(sys.argv[1:]))"


def draw(folder: Path) -> None:
    import cv2  # noqa: PLC0415 - the measured process must not load vision

    from drivers.sim.filming import Filming  # noqa: PLC0415
    from tests.drivers.vision.films import FILM_RIG, rig, thrown  # noqa: PLC0415

    camera = Filming(replace(FILM_RIG, fps=FPS), 1)
    size = (FILM_RIG.lens.width, FILM_RIG.lens.height)
    film = cv2.VideoWriter(str(folder / FILM), cv2.VideoWriter.fourcc(*"MJPG"), FPS, size)
    for _ in range(EMPTY_FRAMES):
        film.write(camera.empty())
    for throw in range(THROWS):
        for _, picture, _ in camera.frames(thrown(*FACES[throw % len(FACES)]), THROW_US):
            film.write(picture)
    film.release()
    file = msgspec.structs.replace(rig().file, source=str(folder / FILM), socket=str(folder / SOCKET))
    settings = {name: value for name, value in msgspec.to_builtins(file).items() if value is not None}
    (folder / RIG).write_bytes(msgspec.json.encode(settings))


class _Readings:
    """The table's socket, which accepts the camera's readings and counts the dice."""

    def __init__(self, path: Path) -> None:
        self.read = 0
        self._heard = threading.Event()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        threading.Thread(target=self._work, daemon=True).start()

    def wait(self) -> None:
        """Wait until the first die has been read."""
        if not self._heard.wait(FIRST_WORD_S):
            raise SystemExit(f"watching_camera: no die was read within {FIRST_WORD_S:.0f} s")

    def close(self) -> None:
        self._socket.close()

    def _work(self) -> None:
        while True:
            try:
                camera, _ = self._socket.accept()
            except OSError:
                return
            with camera, camera.makefile("rb") as lines:
                for line in lines:
                    if b'"die_rest"' in line:
                        self.read += 1
                        self._heard.set()


@contextmanager
def watching(folder: Path) -> Iterator[_Readings]:
    """Run a camera within the context, which begins after the camera's first reading of a die."""
    subprocess.run([sys.executable, "-m", "tests.benchmarks.watching_camera", str(folder)], check=True)
    readings = _Readings(folder / SOCKET)
    command = [*UNIT, sys.executable, "-c", CAMERA, "camera", "run", str(folder / RIG)]
    with subprocess.Popen(command) as camera:
        try:
            readings.wait()
            yield readings
        finally:
            camera.terminate()
            readings.close()


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
