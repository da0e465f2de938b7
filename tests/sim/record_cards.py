"""Record simulated sessions of the card games: `python -m tests.sim.record_cards DIRECTORY`.

The logs `sim-high-roller-*` and `sim-three-card-*` in tests/logs were recorded in this way. They stay
unchanged when the simulators change.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from drivers.sim import high_roller, three_card
from drivers.sim.scenes import Feed, Header, write_log

Recorded = tuple[Header, Feed, list[dict[str, object]]]
_EVERY_KIND = dict.fromkeys(three_card.KINDS, 1.0)


def recordings() -> Mapping[str, Recorded]:
    return {
        "sim-high-roller-a": high_roller.simulate(90_011, 5),
        "sim-high-roller-b": high_roller.simulate(90_012, 5),
        "sim-three-card-directed": three_card.simulate(90_013, _EVERY_KIND, 20),
        "sim-three-card-rotation": three_card.simulate(90_014, _EVERY_KIND, 20, directed=False),
    }


def main(directory: str) -> None:
    for name, (header, feed, truth) in recordings().items():
        write_log(Path(directory, f"{name}.jsonl.gz"), header, feed)
        lines = [msgspec.json.encode(outcome).decode() + "\n" for outcome in truth]
        Path(directory, f"{name}.expected.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
