"""`tablectl camera live`: show a camera's picture with the dice's tracks, in a browser or as a video.

The server listens on the loopback interface only, because the pictures show people's hands.
"""

import argparse
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import cv2
import numpy as np

from controller.cli.camera_input import CameraInputError, no_frame_message, write_file
from controller.cli.camera_watching import SILENT, Cameras, add_second_camera, cameras_of
from controller.cli.shell import OK, say, whole_number
from controller.cli.words import counted
from drivers.vision.arrays import Array
from drivers.vision.following import Track

EXAMPLES = (
    "tablectl camera live rig.yaml                # in a browser on this machine: http://127.0.0.1:8322",
    "tablectl camera live rig.yaml --to seen.avi",
    "tablectl camera live rig.yaml --beside second.yaml",
)
HOST, PORT = "127.0.0.1", 8322
COLOURS = {1: (255, 180, 60), 2: (60, 120, 255)}
"""The dice's colours, as blue, green and red. `tablectl explain` uses darker shades of them."""
JPEG_QUALITY = 80
SHOWN_WIDTH_PX = 1280
"""Maximum width of a picture; a browser would not show more detail."""
STEP_US = 60_000
"""Minimum interval between pictures sent to a browser; at most 16 pictures are sent per second."""
VIDEO_FPS = 30.0
VIDEO_SUFFIX = ".avi"
WAIT_S = 2.0
PAGE = (
    b'<!doctype html><html lang="en"><title>Dice camera</title>'
    b'<body style="margin:0;background:#111">'
    b'<img src="/stream" alt="What the camera sees" style="width:100%">'
)


def add_arguments(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare the command and its arguments."""
    live = commands.add_parser(
        "live",
        help="show the camera's picture with the dice's tracks",
        description="show the camera's picture with the dice's tracks, in a browser on this machine or as a"
        " video; stop `camera run` first if it uses the device",
    )
    live.add_argument("rig", metavar="RIG.yaml", type=Path, help="the camera's rig file")
    add_second_camera(live)
    live.add_argument(
        "--source", metavar="SOURCE", help="use this device or video instead of the rig file's `source`"
    )
    live.add_argument("--to", type=Path, metavar="FILE.avi", help="write a video instead of serving a page")
    live.add_argument(
        "--port",
        type=whole_number(0, 65535),
        default=PORT,
        metavar="N",
        help=f"the page's port (default: {PORT}; 0: any free port)",
    )
    live.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the picture until stopped or until a source ends; raises CameraInputError."""
    cameras = cameras_of(arguments.rig, arguments.beside, arguments.source)
    if arguments.to is not None:
        _check_name(arguments.to, cameras.sources)
        _write(watched(cameras), arguments.to, cameras.source)
    else:
        _serve(watched(cameras), arguments.port, cameras.source)
    return OK


def _check_name(path: Path, sources: Sequence[str]) -> None:
    """Raise CameraInputError for an unsupported extension or the path of a source."""
    if path.suffix.lower() != VIDEO_SUFFIX:
        raise CameraInputError(f"{path}: found an unsupported file extension, expected {VIDEO_SUFFIX}")
    if path.exists() and any(Path(source).exists() and path.samefile(source) for source in sources):
        raise CameraInputError(f"{path} is the source itself; choose a different name")


def watched(cameras: Cameras) -> Iterator[tuple[int, Array]]:
    """Yield times and pictures with the dice's tracks; two cameras' pictures appear side by side."""
    watch = cameras.watch(None)
    newest: list[Array | None] = [None] * cameras.count
    paced_by: int | None = None
    for camera, t_us, picture in cameras.frames():
        watch.frame(camera, t_us, picture)
        newest[camera] = annotate(picture, watch.tracks(camera), watch.status(camera))
        if paced_by is None or watch.status(paced_by) == SILENT:
            paced_by = camera
        if camera == paced_by:
            yield t_us, _side_by_side(newest)


def _side_by_side(pictures: Sequence[Array | None]) -> Array:
    """Join pictures side by side, at the size of the first; a missing picture is black."""
    height, width = next(picture.shape[:2] for picture in pictures if picture is not None)
    dark: Array = np.zeros((height, width, 3), np.uint8)
    row = [dark if picture is None else cv2.resize(picture, (width, height)) for picture in pictures]
    joined: Array = cv2.hconcat(row)
    return joined


def annotate(picture: Array, tracks: tuple[Track, ...], status: str) -> Array:
    """Return a picture, reduced to the maximum width, with tracks, faces and the camera's status."""
    fraction = min(1.0, SHOWN_WIDTH_PX / picture.shape[1])
    shown = picture.copy()
    if fraction < 1.0:
        shown = cv2.resize(picture, None, fx=fraction, fy=fraction, interpolation=cv2.INTER_AREA)
    for track in tracks:
        colour = COLOURS.get(track.die, (200, 200, 200))
        points = np.round(fraction * np.array(track.places)).astype(np.int32).reshape(-1, 1, 2)
        cv2.polylines(shown, [points], isClosed=False, color=colour, thickness=2, lineType=cv2.LINE_AA)
        x, y = (int(value) for value in points[-1, 0])
        cv2.circle(shown, (x, y), 6, colour, 2, cv2.LINE_AA)
        what = "lost" if track.lost else f"shows {track.up}" if track.up else "no face" if track.rests else ""
        _write_on(shown, f"die {track.die} {what}", (x + 10, y - 10), colour)
    _write_on(shown, status, (10, shown.shape[0] - 12), (255, 255, 255))
    return shown


def _write_on(picture: Array, words: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    x, y = at
    # A thicker font is also wider, so the dark rim uses the same font, shifted by a pixel.
    rim = [((x + right, y + down), (0, 0, 0)) for right in (-1, 0, 1) for down in (-1, 0, 1)]
    for place, shade in (*rim, (at, colour)):
        cv2.putText(picture, words, place, cv2.FONT_HERSHEY_SIMPLEX, 0.5, shade, 1, cv2.LINE_AA)


def _write(drawn: Iterator[tuple[int, Array]], path: Path, source: str) -> None:
    writer: cv2.VideoWriter | None = None
    frames = 0
    with ExitStack() as opened:
        for _, picture in drawn:
            if writer is None:
                write_file(path, b"")
                size = (picture.shape[1], picture.shape[0])
                writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), VIDEO_FPS, size)
                opened.callback(writer.release)
                if not writer.isOpened():
                    raise CameraInputError(f"{path} cannot be written; use NAME.avi in a writable folder")
            writer.write(picture)
            frames += 1
    if not frames:
        raise CameraInputError(no_frame_message(source))
    # OpenCV does not report a failed write, such as on a full disk, so the written frames are read back.
    if (kept := int(cv2.VideoCapture(str(path)).get(cv2.CAP_PROP_FRAME_COUNT))) < frames:
        raise CameraInputError(
            f"{path}: found {max(0, kept)} of {frames} frames in the file, expected all of them;"
            " check whether the disk is full"
        )
    say(f"{path}: wrote {counted(frames, 'frame')}")


class _Latest:
    """The newest picture; a slow browser skips older pictures."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jpeg = b""
        self._number = 0

    def put(self, jpeg: bytes) -> None:
        with self._changed:
            self._jpeg, self._number = jpeg, self._number + 1
            self._changed.notify_all()

    def after(self, number: int) -> tuple[int, bytes]:
        with self._changed:
            self._changed.wait_for(lambda: self._number > number, WAIT_S)
            return self._number, self._jpeg


def _serve(drawn: Iterator[tuple[int, Array]], port: int, source: str) -> None:
    latest = _Latest()
    try:
        server = ThreadingHTTPServer((HOST, port), _handler(latest.after))
    except OSError as error:
        raise CameraInputError(
            f"--port: {HOST}:{port} is not available ({error.strerror}); choose a free port"
        ) from error
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://{HOST}:{server.server_address[1]}", flush=True)
    sent_us = 0
    try:
        for t_us, picture in drawn:
            if t_us - sent_us >= STEP_US:
                sent_us = t_us
                latest.put(bytes(cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])[1]))
    finally:
        server.shutdown()
        server.server_close()
    if not sent_us:
        raise CameraInputError(no_frame_message(source))


def _handler(after: Callable[[int], tuple[int, bytes]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """Serves the page and its stream if a request's Host header names the loopback interface."""

        def do_GET(self) -> None:
            host = self.headers.get("host", "").partition(":")[0]
            if host not in (HOST, "localhost") or self.path not in ("/", "/stream"):
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("cache-control", "no-store")
            if self.path == "/":
                self.send_header("content-type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(PAGE)
                return
            self.send_header("content-type", "multipart/x-mixed-replace; boundary=frame")
            self.end_headers()
            number = 0
            while True:
                number, jpeg = after(number)
                head = b"--frame\r\ncontent-type: image/jpeg\r\ncontent-length: %d\r\n\r\n" % len(jpeg)
                try:
                    self.wfile.write(head + jpeg + b"\r\n")
                except OSError:
                    return

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
            """Suppress the request log."""

    return Handler
