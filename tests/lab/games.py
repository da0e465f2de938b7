"""Sessions of four games as feeds for a table without devices, and the table's settings."""

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from controller.settings.places import config_home
from drivers.sim import dice, high_roller, three_card, wheel
from drivers.sim.scenes import Feed

GAMES: Mapping[str, Callable[[], Feed]] = {
    "craps": lambda: dice.simulate(11, {"valid": 6, "one_short": 3, "off_table": 1}, 25)[1],
    "roulette": lambda: wheel.simulate(
        12, {"valid": 3, "hop": 1, "short_spin": 0.5, "dealer_sets_number": 0.5}, 25, wheel=wheel.AMERICAN
    )[1],
    "three-card": lambda: three_card.simulate(13)[1],
    "high-roller": lambda: high_roller.simulate(14, games=4)[1],
}
"""The games by the name of the shipped sample. Calls are automatic, because the table has no staff."""


def lay_out(game: str, folder: Path) -> None:
    """Write a game's feed and its table's file into the guest's folder."""
    rows = sorted(GAMES[game](), key=lambda one: one[0])
    encode = msgspec.json.encode
    lines = [encode(msgspec.structs.replace(reading, arrived=arrived)) for arrived, reading in rows]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "feed.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    text = (config_home() / "tables" / f"{game}.yaml").read_text()
    if game == "high-roller":  # its table must have the length of the simulated table
        text = text.replace("length_mm: 2400", f"length_mm: {dice.TABLE.length_mm:g}")
    (folder / "table.yaml").write_text(text + "\npublish: {to: socket}\n")
