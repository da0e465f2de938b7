"""Build small logs in memory."""

import io
import json

from controller.model.readings import Reading
from controller.replay.log import Log

Fields = dict[str, object]

DICE_HEADER: Fields = {
    "log": "table-readings",
    "version": 1,
    "table": "t1",
    "ruleset": "craps-12-034",
    "epoch": "2026-01-01T20:00:00Z",
    "dice_table": {"length_mm": 3600, "width_mm": 1100, "die_mm": 19.0},
}
RELEASE: Fields = {"t": 2000, "dev": "cam", "kind": "die_released", "die": 1, "x": 450.0, "y": 500.0}
IMPACT: Fields = {"t": 3000, "dev": "wall", "kind": "wall_impact", "wall": "left", "pos_mm": 9, "peak": 700}
DROP: Fields = {"t": 4000, "dev": "wheel", "kind": "ball_drop"}


def text_of(*lines: Fields | str) -> bytes:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    return "".join(text + "\n" for text in texts).encode()


def opened(data: bytes, *, lenient: bool = False) -> Log:
    return Log(io.BytesIO(data), "a.jsonl", lenient=lenient)


def readings_of(data: bytes, *, lenient: bool = False) -> list[Reading]:
    return list(opened(data, lenient=lenient))
