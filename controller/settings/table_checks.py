"""What must fit together in a table's file, beyond the type of each value."""

from collections.abc import Iterator, Mapping

from controller.games.registry import game_of
from controller.model.publishing import LOCAL_HOSTS, PUBLIC_KEY, TABLE_NAME
from controller.model.rulesets import RuleSet
from controller.model.tables import Device
from controller.model.wheel_checks import beam_mistakes, pocket_mistakes
from controller.settings.devices import Devices
from controller.settings.mistakes import Mistake
from controller.settings.table_file import DiceTableSection, TableFile, WheelSection
from controller.settings.yaml_text import Document


def table_mistakes(
    document: Document, written: TableFile, rules: RuleSet, devices: Devices
) -> Iterator[Mistake]:
    """Find every contradiction inside a table's file and with its rule set."""
    if "/" in written.table:
        expected = "a name without '/', which parts the ids of outcomes"
        yield document.mistake(("table",), f"'{written.table}'", expected)
    yield from _geometry(document, written, rules)
    if written.dice_table:
        yield from _dice_table(document, written.dice_table)
    if written.wheel:
        yield from _wheel(document, written.wheel, rules)
        yield from _wheel_geometry(document, written.wheel, rules)
    yield from _publishing(document, written)
    yield from _devices(document, devices)
    if written.devices and devices.whole:
        yield from _blind_spots(document, devices.devices, rules)


def _geometry(document: Document, written: TableFile, rules: RuleSet) -> Iterator[Mistake]:
    wanted = game_of(rules.game).geometry
    for section, there in (("dice_table", written.dice_table), ("wheel", written.wheel)):
        if section == wanted and there is None:
            hint = f"'{rules.name}' is a rule set of {rules.game}"
            yield document.mistake((section,), "nothing", f"a section '{section}'", hint)
        elif section != wanted and there is not None:
            expected = f"no such section with '{rules.name}', a rule set of {rules.game}"
            yield document.mistake((section,), f"a section '{section}'", expected, "delete it")


_SIZES_MM: Mapping[str, tuple[float, float]] = {
    "length_mm": (1000, 6000),
    "width_mm": (500, 3000),
    "die_mm": (8, 40),
}
"""Dice tables are 6 to 16 feet long, dice a third of an inch to an inch and a half; other figures are slips:
feet or inches for millimetres, or a digit too few."""


def _dice_table(document: Document, table: DiceTableSection) -> Iterator[Mistake]:
    for key, (least, most) in _SIZES_MM.items():
        size = getattr(table, key)
        if not least <= size <= most:
            expected = f"{least:g} to {most:g} mm"
            hint = "a foot is 304.8 mm, an inch 25.4 mm"
            yield document.mistake(("dice_table", key), f"{size:g}", expected, hint)
    if table.die_mm >= min(table.length_mm, table.width_mm):
        expected = "less than the table's own size"
        yield document.mistake(("dice_table", "die_mm"), f"{table.die_mm:g}", expected)
    for number, zone in enumerate(table.zones):
        for corner, (x, y) in enumerate(zone.polygon):
            if not (0 <= x <= table.length_mm and 0 <= y <= table.width_mm):
                at = ("dice_table", "zones", number, "polygon", corner)
                expected = f"a corner inside the table (x to {table.length_mm:g}, y to {table.width_mm:g} mm)"
                yield document.mistake(at, f"[{x:g}, {y:g}]", expected)


def _wheel(document: Document, wheel: WheelSection, rules: RuleSet) -> Iterator[Mistake]:
    judged = rules.spin is not None and rules.spin.revolutions != "trusted_wheel"
    if wheel.pockets_clockwise is not None:
        for key, found, expected in pocket_mistakes(wheel.pockets, wheel.pockets_clockwise):
            yield document.mistake(("wheel", *key), found, expected, "or leave the key out")
    if wheel.beams_deg is not None:
        for key, found, expected in beam_mistakes(wheel.beams_deg, judged=judged):
            yield document.mistake(("wheel", *key), found, expected)


def _wheel_geometry(document: Document, wheel: WheelSection, rules: RuleSet) -> Iterator[Mistake]:
    """Find what is missing where the table's own sensors judge; a trusted wheel needs none of it."""
    if rules.spin is None or rules.spin.revolutions == "trusted_wheel":
        return
    for key in ("beams_deg", "pocket_reader_deg", "rotor_index_deg", "drop_rev_per_s"):
        if getattr(wheel, key) is None:
            hint = "or, on a table that has only a smart wheel, set spin: {revolutions: trusted_wheel}"
            yield document.mistake(("wheel", key), "nothing", "where its sensors are, to count turns", hint)


def _publishing(document: Document, written: TableFile) -> Iterator[Mistake]:
    publish = written.publish
    if publish.to == "mqtt":
        if publish.mqtt is None:
            hint = "add mqtt: with the broker's host"
            yield document.mistake(("publish", "mqtt"), "nothing", "the way to the broker", hint)
        if not TABLE_NAME.fullmatch(written.table):
            expected = "1 to 64 letters, digits, '-', '_' and '.', as whoever publishes over MQTT must have"
            yield document.mistake(("table",), f"'{written.table}'", expected)
    key = None if publish.mqtt is None else publish.mqtt.engine_key
    if key is not None and not PUBLIC_KEY.fullmatch(key):
        hint = (
            "copy what `tablectl settlement key` prints, or leave it out to keep the first key that is shown"
        )
        expected = "64 hexadecimal digits, the settlement engine's public key"
        yield document.mistake(("publish", "mqtt", "engine_key"), repr(key), expected, hint)
    if publish.mqtt is not None and publish.mqtt.tls is None and publish.mqtt.host not in LOCAL_HOSTS:
        hint = "only a broker on this machine goes without"
        found, expected = f"nothing, for the broker at {publish.mqtt.host}", "the files of TLS 1.3"
        yield document.mistake(("publish", "mqtt", "tls"), found, expected, hint)
    if publish.to == "socket" and publish.max_unacknowledged is not None:
        expected = "no such limit with to: socket: whoever asks there is not missed"
        yield document.mistake(
            ("publish", "max_unacknowledged"), str(publish.max_unacknowledged), expected, "delete it"
        )


def _devices(document: Document, devices: Devices) -> Iterator[Mistake]:
    for name, device in devices.devices.items():
        at = ("devices", name)
        if not device.reads and not devices.may_read_nothing(name):
            found = "an empty list" if document.has((*at, "reads")) else "nothing"
            yield document.mistake((*at, "reads"), found, "the kinds of reading it sends")
        if "wall_impact" in device.reads and device.wall is None:
            expected = "the wall it listens to"
            yield document.mistake((*at, "wall"), "nothing", expected, "add wall: left, right, front or back")
        if "wall_impact" not in device.reads and device.wall is not None:
            expected = "no wall: it does not read wall_impact"
            yield document.mistake(
                (*at, "wall"), f"'{device.wall}'", expected, "delete it, or add wall_impact"
            )


def _blind_spots(document: Document, devices: Mapping[str, Device], rules: RuleSet) -> Iterator[Mistake]:
    """Find what the rules need and no device reads: such a table could only ever ask a person."""
    read = {kind for device in devices.values() for kind in device.reads}
    hint = "add the device that reads it"
    for kind in _needed_kinds(rules):
        if kind not in read:
            yield document.mistake(
                ("devices",), f"no device that reads {kind}", f"one, for {rules.name}", hint
            )
    heard = {device.wall for device in devices.values()}
    for wall in _needed_walls(rules):
        if wall not in heard:
            yield document.mistake(
                ("devices",), f"no device at the {wall} wall", f"one, for {rules.name}", hint
            )


def _needed_kinds(rules: RuleSet) -> tuple[str, ...]:
    if rules.throw:
        return ("die_released", "die_at", "die_rest")
    if rules.spin and rules.spin.revolutions == "trusted_wheel":
        return ("wheel_status",)
    if rules.spin:
        return ("ball_beam", "ball_drop", "rotor_index", "pocket_ball")
    return ("card",)


def _needed_walls(rules: RuleSet) -> tuple[str, ...]:
    if not rules.throw:
        return ()
    return ("left", "right", "front", "back") if rules.throw.wall == "any" else ("left", "right")
