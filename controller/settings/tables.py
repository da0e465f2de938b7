"""Tables: `config/tables/*.yaml`, one file that describes one table."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from controller.games.registry import game_of
from controller.model.geometry import DiceTable, Wheel, Zone
from controller.model.pockets import STANDARD_POCKETS
from controller.model.rulesets import RuleSet
from controller.model.tables import Device, OnOpen, TableSettings
from controller.settings.devices import DeviceKinds, Devices
from controller.settings.document import validate
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_file, is_path
from controller.settings.rulesets import SECTIONS, checked_ruleset
from controller.settings.table_checks import table_mistakes
from controller.settings.table_file import DiceTableSection, TableFile, WheelSection
from controller.settings.yaml_text import Document, parse_document

_LOCKING_SWITCHES: Mapping[str, OnOpen] = {"door": "lock", "tamper": "lock"}


def load_table(
    name: str, directory: Path | None = None, *, kinds: DeviceKinds | None = None
) -> TableSettings:
    """Load a table by its name or its file's path, with its rule set and its own thresholds in it.

    `kinds` are the kinds of hardware by their words; without them no device gets its kind's settings.

    Raises SettingsError with every mistake in the table's file and, where the two don't fit, in its rule set.
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
        mistakes += _in_what_is_left(document, mistakes, devices, directory)
    if not written or not rules or mistakes:
        raise SettingsError(mistakes)
    return _settings(written, rules, devices.devices)


def _in_what_is_left(
    document: Document, mistakes: Sequence[Mistake], devices: Devices, directory: Path | None
) -> list[Mistake]:
    """Find what does not fit together in the sections that are well, so that all is told in one round."""
    wrong = {re.split(r"[.\[]", mistake.key)[0] for mistake in mistakes}
    left = document.without(wrong - {"table", "ruleset"})
    try:
        written = validate(left, TableFile)
        rules = _rules_for(left, Path(document.place(()).file), directory)
    except SettingsError:
        return []
    if rules is None:
        return []
    found = table_mistakes(left, written, rules, devices)
    return [mistake for mistake in found if re.split(r"[.\[]", mistake.key)[0] not in wrong]


def _rules_for(table: Document, path: Path, directory: Path | None) -> RuleSet | None:
    """Give the table's rule set with the table's changes, or None where the table does not name one."""
    name = table.value.get("ruleset") if isinstance(table.value, dict) else None
    if not isinstance(name, str) or not name:
        return None
    try:
        file = path.parent / name if is_path(name) else config_file("rulesets", name, directory)
        base = parse_document(file)
    except SettingsError as error:
        told = error.mistakes[0]
        raise SettingsError([table.mistake(("ruleset",), told.found, told.expected, told.hint)]) from error
    rules = checked_ruleset(base)
    _refuse_foreign_sections(table, rules)
    changed = table.only((*SECTIONS, "max_lateness_ms"))
    if not changed:
        return rules
    return checked_ruleset(base.overlaid(table, changed), changed_in=table.place(()).file)


def _refuse_foreign_sections(table: Document, rules: RuleSet) -> None:
    foreign = [section for section in table.only(SECTIONS) if section not in game_of(rules.game).sections]
    expected = f"thresholds of {rules.game} ({rules.name})"
    hint = "delete it, or correct the ruleset"
    if foreign:
        raise SettingsError(
            table.mistake((section,), f"a section '{section}'", expected, hint) for section in foreign
        )


def _settings(written: TableFile, rules: RuleSet, devices: Mapping[str, Device]) -> TableSettings:
    return TableSettings(
        table=written.table,
        rules=rules,
        calls=written.calls,
        dice_table=_dice_table(written.dice_table) if written.dice_table else None,
        wheel=_wheel(written.wheel) if written.wheel else None,
        devices=devices,
        switches={**_LOCKING_SWITCHES, **written.switches},
        publish=written.publish,
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
        return Wheel.at_its_word(section.pockets, order)
    return Wheel(
        pockets=section.pockets,
        pockets_clockwise=order,
        beams_deg=beams,
        pocket_reader_deg=reader,
        rotor_index_deg=index,
        drop_rev_per_s=drop,
    )
