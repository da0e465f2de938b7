"""Tables (`config/tables/*.yaml`). Each file describes one table and is checked as a whole."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Le, MinLen

from controller.games.registry import game_of
from controller.model.geometry import STANDARD_POCKETS, DiceTable, Wheel, Zone, beam_mistakes, pocket_mistakes
from controller.model.readings import Surface
from controller.model.rulesets import Calls, NonEmpty, NotNegative, Positive, RuleSet
from controller.model.tables import (
    LOCAL_HOSTS,
    PUBLIC_KEY,
    TABLE_NAME,
    DeclaredDevice,
    OnOpen,
    PublishSettings,
    RetentionSettings,
    TableSettings,
)
from controller.settings.devices import DeviceKinds, Devices
from controller.settings.document import validate
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_file, is_path
from controller.settings.rulesets import SECTIONS, checked_ruleset
from controller.settings.yaml_text import Document, parse_document


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneSection:
    """A polygon. A die inside it is taken to rest on the surface `kind`, whatever the camera reports.

    A zone of felt or cards does not override the camera.
    """

    kind: Surface
    polygon: Annotated[tuple[tuple[float, float], ...], MinLen(3)]
    """Corner points [x, y] in millimetres."""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiceTableSection:
    """The inner dimensions of a dice table, and the size of its dice."""

    length_mm: Positive
    """From the left end wall (x = 0) to the right end wall."""
    width_mm: Positive
    """From the stickperson's rail (y = 0) to the boxperson's rail."""
    die_mm: Positive
    """The edge length of a die."""
    wall_relief_mm: Annotated[float, Ge(0), Le(50)] = 12.0
    """From the tips of the walls' pyramids to their bases. The table is measured from tip to tip."""
    zones: tuple[ZoneSection, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSection:
    """A wheel. Bowl angles are in degrees, positive counter-clockwise as seen from above."""

    pockets: Literal["american", "european"]
    pockets_clockwise: tuple[str, ...] | None = None
    """The pockets clockwise from the rotor's mark, in quotes. By default, the standard order from 0."""
    beams_deg: Annotated[tuple[float, ...], MinLen(1)] | None = None
    """The bowl angles of the track beams, by beam number.

    A trusted wheel needs neither this key nor the keys below.
    """
    pocket_reader_deg: float | None = None
    """The bowl angle of the pocket reader."""
    rotor_index_deg: float | None = None
    """The bowl angle of the rotor's mark when the index sensor fires."""
    drop_rev_per_s: Positive | None = None
    """The nominal speed at which the ball leaves the track."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """The contents of a table file."""

    table: NonEmpty
    """The name of the table in logs and outcomes."""
    ruleset: NonEmpty
    """The name of a rule set, or the path of its file relative to this file."""
    calls: Calls = "automatic"
    """Who makes the calls: the controller, or a person who confirms the controller's proposals."""
    dice_table: DiceTableSection | None = None
    wheel: WheelSection | None = None
    max_lateness_ms: NotNegative | None = None
    """Replaces the value in the rule set."""
    throw: Mapping[str, object] | None = None
    """Thresholds that differ from those of the rule set."""
    craps: Mapping[str, object] | None = None
    """Rules that differ from those of the rule set."""
    spin: Mapping[str, object] | None = None
    """Thresholds that differ from those of the rule set."""
    high_roller: Mapping[str, object] | None = None
    """Policies that differ from those of the rule set."""
    deal: Mapping[str, object] | None = None
    """Policies that differ from those of the rule set."""
    devices: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The devices by name, each with its readings and its connection."""
    switches: Mapping[str, OnOpen] = field(default_factory=dict)
    """The effect of each switch when it opens. By default, `door` and `tamper` lock the table."""
    publish: PublishSettings = field(default_factory=PublishSettings)
    """The destination of outcomes, and the limits on play without acknowledgement."""
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    """How long the journal keeps the readings behind outcomes, and the contents of outcomes."""


def table_mistakes(
    document: Document, written: TableFile, rules: RuleSet, devices: Devices
) -> Iterator[Mistake]:
    """Yield all contradictions within a table file, and between the file and its rule set."""
    if "/" in written.table:
        expected = "a name without '/', which separates the parts of an outcome's id"
        yield document.mistake(("table",), f"'{written.table}'", expected)
    yield from _geometry(document, written, rules)
    if written.dice_table:
        yield from _dice_table_mistakes(document, written.dice_table)
    if written.wheel:
        yield from _wheel_mistakes(document, written.wheel, rules)
        yield from _wheel_geometry(document, written.wheel, rules)
    yield from _publishing(document, written)
    yield from _retention(document, written.retention)
    yield from _devices(document, devices)
    if written.devices and devices.complete:
        yield from _blind_spots(document, devices.devices, rules)


def _geometry(document: Document, written: TableFile, rules: RuleSet) -> Iterator[Mistake]:
    wanted = game_of(rules.game).geometry
    for section, written_section in (("dice_table", written.dice_table), ("wheel", written.wheel)):
        if section == wanted and written_section is None:
            hint = f"'{rules.name}' is a rule set for {rules.game}"
            yield document.mistake((section,), "nothing", f"a section '{section}'", hint)
        elif section != wanted and written_section is not None:
            expected = f"no such section with '{rules.name}', a rule set for {rules.game}"
            yield document.mistake((section,), f"a section '{section}'", expected, "delete it")


_SIZES_MM: Mapping[str, tuple[float, float]] = {
    "length_mm": (1000, 6000),
    "width_mm": (500, 3000),
    "die_mm": (8, 40),
}
"""The accepted sizes, which include those of all real tables and dice.

Dice tables are 6 to 16 feet long, and dice measure a third of an inch to an inch and a half. Other values are
mistakes, such as feet or inches instead of millimetres, or a missing digit.
"""


def _dice_table_mistakes(document: Document, table: DiceTableSection) -> Iterator[Mistake]:
    for key, (minimum, maximum) in _SIZES_MM.items():
        size = getattr(table, key)
        if not minimum <= size <= maximum:
            expected = f"{minimum:g} to {maximum:g} mm"
            hint = "a foot is 304.8 mm, an inch 25.4 mm"
            yield document.mistake(("dice_table", key), f"{size:g}", expected, hint)
    if table.die_mm >= min(table.length_mm, table.width_mm):
        expected = "less than the table's length and width"
        yield document.mistake(("dice_table", "die_mm"), f"{table.die_mm:g}", expected)
    for number, zone in enumerate(table.zones):
        for corner, (x, y) in enumerate(zone.polygon):
            if not (0 <= x <= table.length_mm and 0 <= y <= table.width_mm):
                at = ("dice_table", "zones", number, "polygon", corner)
                expected = f"a corner inside the table (x to {table.length_mm:g}, y to {table.width_mm:g} mm)"
                yield document.mistake(at, f"[{x:g}, {y:g}]", expected)


def _wheel_mistakes(document: Document, wheel: WheelSection, rules: RuleSet) -> Iterator[Mistake]:
    judged = rules.spin is not None and rules.spin.revolutions != "trusted_wheel"
    if wheel.pockets_clockwise is not None:
        for key, found, expected in pocket_mistakes(wheel.pockets, wheel.pockets_clockwise):
            yield document.mistake(("wheel", *key), found, expected, "or leave the key out")
    if wheel.beams_deg is not None:
        for key, found, expected in beam_mistakes(wheel.beams_deg, judged=judged):
            yield document.mistake(("wheel", *key), found, expected)


def _wheel_geometry(document: Document, wheel: WheelSection, rules: RuleSet) -> Iterator[Mistake]:
    """Yield the keys missing for spins judged by the table's sensors. A trusted wheel needs none of them."""
    if rules.spin is None or rules.spin.revolutions == "trusted_wheel":
        return
    for key in ("beams_deg", "pocket_reader_deg", "rotor_index_deg", "drop_rev_per_s"):
        if getattr(wheel, key) is None:
            hint = "or, on a table that has only a smart wheel, set spin: {revolutions: trusted_wheel}"
            expected = "a value, because this table's own sensors judge its spins"
            yield document.mistake(("wheel", key), "nothing", expected, hint)


def _publishing(document: Document, written: TableFile) -> Iterator[Mistake]:
    publish = written.publish
    if publish.to == "mqtt":
        if publish.mqtt is None:
            hint = "add a section mqtt with the broker's host"
            yield document.mistake(("publish", "mqtt"), "nothing", "the broker's settings", hint)
        if not TABLE_NAME.fullmatch(written.table):
            expected = "1 to 64 letters, digits, '-', '_' and '.', as publishing over MQTT requires"
            yield document.mistake(("table",), f"'{written.table}'", expected)
    key = None if publish.mqtt is None else publish.mqtt.engine_key
    if key is not None and not PUBLIC_KEY.fullmatch(key):
        copied = "copy the output of `tablectl settlement key`"
        hint = f"{copied}, or leave engine_key out to trust the first key received"
        expected = "64 hexadecimal digits, the settlement engine's public key"
        yield document.mistake(("publish", "mqtt", "engine_key"), repr(key), expected, hint)
    if publish.mqtt is not None and publish.mqtt.tls is None and publish.mqtt.host not in LOCAL_HOSTS:
        hint = "only a broker on this machine needs no TLS"
        found, expected = "nothing", f"the files for TLS 1.3 with the broker at {publish.mqtt.host}"
        yield document.mistake(("publish", "mqtt", "tls"), found, expected, hint)
    if publish.to == "socket" and publish.max_unacknowledged is not None:
        expected = "no such limit with `to: socket`, because clients of the socket are not monitored"
        yield document.mistake(
            ("publish", "max_unacknowledged"), str(publish.max_unacknowledged), expected, "delete it"
        )


def _retention(document: Document, retention: RetentionSettings) -> Iterator[Mistake]:
    evidence, outcomes = retention.evidence_days, retention.outcomes_days
    if outcomes is not None and (evidence is None or evidence > outcomes):
        found = "nothing, which means forever" if evidence is None else f"{evidence}"
        expected = f"at most outcomes_days ({outcomes})"
        yield document.mistake(("retention", "evidence_days"), found, expected)


def _devices(document: Document, devices: Devices) -> Iterator[Mistake]:
    for name, device in devices.devices.items():
        at = ("devices", name)
        if not device.reads and not devices.may_omit_reads(name):
            found = "an empty list" if document.has((*at, "reads")) else "nothing"
            yield document.mistake((*at, "reads"), found, "the kinds of reading that it sends")
        if "wall_impact" in device.reads and device.wall is None:
            expected = "the wall on which it is mounted"
            yield document.mistake((*at, "wall"), "nothing", expected, "add wall: left, right, front or back")
        if "wall_impact" not in device.reads and device.wall is not None:
            expected = "no wall, because it does not read wall_impact"
            yield document.mistake(
                (*at, "wall"), f"'{device.wall}'", expected, "delete it, or add wall_impact"
            )


def _blind_spots(
    document: Document, devices: Mapping[str, DeclaredDevice], rules: RuleSet
) -> Iterator[Mistake]:
    """Yield each kind of reading and each wall that the rules require but no device covers.

    Without them, every attempt would go to review.
    """
    read = {kind for device in devices.values() for kind in device.reads}
    hint = "add the device"
    for kind in _needed_kinds(rules):
        if kind not in read:
            yield document.mistake(
                ("devices",), f"no device that reads {kind}", f"one, as {rules.name} requires", hint
            )
    walls = {device.wall for device in devices.values()}
    for wall in _needed_walls(rules):
        if wall not in walls:
            yield document.mistake(
                ("devices",), f"no device at the {wall} wall", f"one, as {rules.name} requires", hint
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


_LOCKING_SWITCHES: Mapping[str, OnOpen] = {"door": "lock", "tamper": "lock"}


def load_table(
    name: str, directory: Path | None = None, *, kinds: DeviceKinds | None = None
) -> TableSettings:
    """Load a table by name or file path, with its rule set and the table's changes to that rule set.

    `kinds` maps names to kinds of hardware. Without it, the hardware settings of devices are not read.

    Raises:
        SettingsError: the table file has mistakes or contradicts its rule set. The error lists all of them.
    """
    path = config_file("tables", name, directory)
    document = parse_document(path)
    mistakes: list[Mistake] = []
    written: TableFile | None = None
    rules: RuleSet | None = None
    try:
        written = validate(document, TableFile)
    except SettingsError as error:
        mistakes += error.mistakes
    try:
        rules = _rules_for(document, path, directory)
    except SettingsError as error:
        mistakes += error.mistakes
    devices = Devices(document, kinds, path.parent)
    mistakes += devices.mistakes
    if written and rules:
        mistakes += table_mistakes(document, written, rules, devices)
    else:
        mistakes += _in_valid_sections(document, mistakes, devices, directory)
    if not written or not rules or mistakes:
        raise SettingsError(mistakes)
    return _settings(written, rules, devices.devices)


def _in_valid_sections(
    document: Document, mistakes: Sequence[Mistake], devices: Devices, directory: Path | None
) -> list[Mistake]:
    """Return the contradictions between the valid sections, so that all mistakes are reported at once."""
    wrong = {re.split(r"[.\[]", mistake.key)[0] for mistake in mistakes}
    left = document.without(wrong - {"table", "ruleset"})
    try:
        written = validate(left, TableFile)
        rules = _rules_for(left, Path(document.position(()).file), directory)
    except SettingsError:
        return []
    if rules is None:
        return []
    found = table_mistakes(left, written, rules, devices)
    return [mistake for mistake in found if re.split(r"[.\[]", mistake.key)[0] not in wrong]


def _rules_for(table: Document, path: Path, directory: Path | None) -> RuleSet | None:
    """Return the table's rule set with the table's changes; None if the table names no rule set."""
    name = table.value.get("ruleset") if isinstance(table.value, dict) else None
    if not isinstance(name, str) or not name:
        return None
    try:
        file = path.parent / name if is_path(name) else config_file("rulesets", name, directory)
        base = parse_document(file)
    except SettingsError as error:
        first = error.mistakes[0]
        raise SettingsError([table.mistake(("ruleset",), first.found, first.expected, first.hint)]) from error
    rules = checked_ruleset(base)
    _refuse_unused_sections(table, rules)
    changed = table.only((*SECTIONS, "max_lateness_ms"))
    if not changed:
        return rules
    return checked_ruleset(base.overlaid(table, changed), changed_in=table.position(()).file)


def _refuse_unused_sections(table: Document, rules: RuleSet) -> None:
    unused = [section for section in table.only(SECTIONS) if section not in game_of(rules.game).sections]
    expected = f"only sections for {rules.game} ({rules.name})"
    hint = "delete it, or correct the ruleset"
    if unused:
        raise SettingsError(
            table.mistake((section,), f"a section '{section}'", expected, hint) for section in unused
        )


def _settings(written: TableFile, rules: RuleSet, devices: Mapping[str, DeclaredDevice]) -> TableSettings:
    return TableSettings(
        table=written.table,
        rules=rules,
        calls=written.calls,
        dice_table=_dice_table(written.dice_table) if written.dice_table else None,
        wheel=_wheel(written.wheel) if written.wheel else None,
        devices=devices,
        switches={**_LOCKING_SWITCHES, **written.switches},
        publish=written.publish,
        retention=written.retention,
    )


def _dice_table(section: DiceTableSection) -> DiceTable:
    zones = tuple(Zone(kind=zone.kind, polygon=zone.polygon, name=zone.name) for zone in section.zones)
    return DiceTable(
        length_mm=section.length_mm,
        width_mm=section.width_mm,
        die_mm=section.die_mm,
        wall_relief_mm=section.wall_relief_mm,
        zones=zones,
    )


def _wheel(section: WheelSection) -> Wheel:
    order = section.pockets_clockwise or STANDARD_POCKETS[section.pockets]
    beams, reader = section.beams_deg, section.pocket_reader_deg
    index, drop = section.rotor_index_deg, section.drop_rev_per_s
    if beams is None or reader is None or index is None or drop is None:
        return Wheel.trusted(section.pockets, order)
    return Wheel(
        pockets=section.pockets,
        pockets_clockwise=order,
        beams_deg=beams,
        pocket_reader_deg=reader,
        rotor_index_deg=index,
        drop_rev_per_s=drop,
    )
