"""Throws and spins in characters, for a terminal that shows no pictures."""

from controller.pictures.drawing import Spot
from controller.pictures.grid import Grid
from controller.pictures.spin_seen import SpinSeen
from controller.pictures.throw_seen import DieShown, ThrowSeen, Touch
from controller.rules.dice.encounter import Hit

_LEAST_COLUMNS, _MOST_COLUMNS = 40, 160
_SPEED_ROWS = 9
_GUTTER = 7


def plot(seen: ThrowSeen | SpinSeen, columns: int, *, braille: bool) -> list[str]:
    """Draw what was seen, so many columns wide."""
    columns = min(max(columns, _LEAST_COLUMNS), _MOST_COLUMNS)
    if isinstance(seen, ThrowSeen):
        return _throw(seen, columns, braille=braille)
    return _spin(seen, columns, braille=braille)


def _throw(seen: ThrowSeen, columns: int, *, braille: bool) -> list[str]:
    """Draw the plan inside its walls: a die let go (1), at rest ([4]), and at a wall (H, X or ?)."""
    table, inside = seen.table, columns - 4
    # A character is about twice as high as wide.
    rows = max(min(round(inside * table.width_mm / table.length_mm / 2), 14), 5)
    grid = Grid(inside, rows, braille=braille)

    def spot(x: float, y: float) -> Spot:
        return x / table.length_mm, 1.0 - y / table.width_mm

    for zone in table.zones:
        grid.line([spot(*corner) for corner in (*zone.polygon, zone.polygon[0])], "'", every=2)
    for die in seen.dice:
        for leg in die.legs:
            grid.line([spot(*point) for point in leg.points], str(die.number), every=4 if leg.hidden else 1)
    for die in seen.dice:
        if die.points:
            grid.write(spot(*die.points[0][1]), str(die.number))
        for touch in _shown(die):
            grid.write(
                spot(*touch.centre), {Hit.YES: "H", Hit.NO: "X", Hit.UNCLEAR: "?"}[touch.encounter.hit]
            )
        if die.rest is not None:
            grid.write(spot(die.rest.x, die.rest.y), f"[{die.rest.up or '?'}]")
    ears: dict[tuple[str, int], str] = {}
    for heard in seen.heard:
        share = 1.0 - heard.impact.pos_mm / table.width_mm
        ears[heard.impact.wall, min(max(int(share * rows), 0), rows - 1)] = heard.key
    edge = "+" + "-" * inside + "+"
    body = [
        f"{ears.get(('left', i), ' ')}|{row:<{inside}}|{ears.get(('right', i), ' ')}".rstrip()
        for i, row in enumerate(grid.lines())
    ]
    legend = "1, 2 let go and track; [n] at rest; H hit, X short, ? unclear; A, B impacts heard"
    return [f" {edge}", *body, f" {edge}", legend]


def _shown(die: DieShown) -> list[Touch]:
    missed = [die.best] if die.best is not None and die.best.encounter.hit is Hit.NO else []
    return [*die.touches, *missed]


def _spin(seen: SpinSeen, columns: int, *, braille: bool) -> list[str]:
    """Draw the speed over time, a row of ticks for each beam, the rotor and the reads, and the time below."""
    inside = columns - _GUTTER - 1
    first, last = min(0.0, max(seen.closed_s or 0.0, -2.0)), seen.last_s * 1.02
    fastest = 1.1 * max([0.5, *(v for _, v in seen.laps), *(s.speed_rev_per_s for s in seen.fitted)])
    grid = Grid(inside, _SPEED_ROWS, braille=braille)

    def across(seconds: float) -> float:
        return (seconds - first) / (last - first)

    for seconds, value in seen.laps:
        grid.dot((across(seconds), 1.0 - value / fastest), "o")
    grid.line([(across(s.seconds), 1.0 - s.speed_rev_per_s / fastest) for s in seen.fitted], "*")
    for at, name in ((seen.closed_s, "no more bets"), (seen.left_track_s, "drop")):
        if at is not None and first <= at <= last:
            grid.line([(across(at), 0.0), (across(at), 1.0)], "|", every=2)
            grid.write((across(at) + 1.5 / inside, 0.0 if name == "drop" else 0.13), name)
    names = {0: f"{fastest:.1f}", _SPEED_ROWS // 2: "rev/s", _SPEED_ROWS - 1: "0"}
    rows = [f"{names.get(i, ''):>{_GUTTER - 1}} |{row}" for i, row in enumerate(grid.lines())]
    for beam in range(seen.beams):
        ticks = [(pulse.seconds, "|" if pulse.own else "x") for pulse in seen.pulses if pulse.beam == beam]
        rows.append(
            _row(f"beam {beam}", [(across(s), mark) for s, mark in ticks] or [(0.0, "silent")], inside)
        )
    rows.append(_row("rotor", [(across(s), "|") for s in seen.rotor_s if s >= first], inside))
    rows.append(_row("pocket", [(across(read.seconds), read.number or "?") for read in seen.reads], inside))
    scale = [(share, f"{first + share * (last - first):.0f} s") for share in (0.0, 0.25, 0.5, 0.75, 0.999)]
    return [*rows, _row("", scale, inside)]


def _row(name: str, marks: list[tuple[float, str]], inside: int) -> str:
    row = Grid(inside, 1, braille=False)
    for share, mark in marks:
        row.write((share, 0.0), mark)
    return f"{name:>{_GUTTER - 1}} |{row.lines()[0]}".rstrip()
