"""Rule sets (`config/rulesets/*.yaml`). Each file is checked as a whole."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from controller.games.registry import GAMES, game_of
from controller.model.rulesets import (
    DEAL_CAUSES,
    SPIN_CAUSES,
    THROW_CAUSES,
    DealRules,
    HighRollerRules,
    RuleSet,
    SpinRules,
    ThrowRules,
)
from controller.model.tables import KeyPath
from controller.settings.document import validate
from controller.settings.mistakes import SettingsError, did_you_mean, one_of
from controller.settings.places import config_file
from controller.settings.yaml_text import Document, parse_document

SECTIONS = ("throw", "craps", "spin", "high_roller", "deal")
"""All sections that a rule set can have. Each game uses some of them."""


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """Values that are valid individually but not together. `at` lists the keys that could be changed."""

    at: tuple[KeyPath, ...]
    found: str
    expected: str
    hint: str = ""


def load_ruleset(name: str, directory: Path | None = None) -> RuleSet:
    """Load a rule set by name or file path. Raises SettingsError, listing all mistakes, if there are any."""
    return read_ruleset(config_file("rulesets", name, directory))


def read_ruleset(path: Path) -> RuleSet:
    """Read a rule set's file. Raises SettingsError, listing all mistakes, if there are any."""
    document = parse_document(path)
    rules = checked_ruleset(document)
    if rules.name != path.stem:
        # Logs and outcomes name the rule set, and this name must lead to its file.
        hint = "rename one of them"
        raise SettingsError(
            [document.mistake(("name",), f"'{rules.name}'", f"'{path.stem}', the name of the file", hint)]
        )
    return rules


def checked_ruleset(document: Document, changed_in: str = "") -> RuleSet:
    """Convert a document to a rule set.

    Raises SettingsError, listing all mistakes and contradictions, if there are any. A contradiction
    is reported in the file `changed_in` if that file contains one of the keys.
    """
    rules = validate(document, RuleSet)
    mistakes = []
    for wrong in _contradictions(rules):
        keys = [path for path in wrong.at if document.position(path).file == changed_in]
        mistakes.append(document.mistake((*keys, *wrong.at)[0], wrong.found, wrong.expected, wrong.hint))
    if mistakes:
        raise SettingsError(mistakes)
    return rules


def _contradictions(rules: RuleSet) -> Iterator[_Contradiction]:
    if rules.game not in GAMES:
        hint = did_you_mean(rules.game, tuple(GAMES))
        yield _Contradiction((("game",),), f"'{rules.game}'", one_of(tuple(GAMES)), hint)
        return
    wanted = game_of(rules.game).sections
    for section in SECTIONS:
        present = getattr(rules, section) is not None
        if section in wanted and not present:
            hint = f"add it, or correct the game ({rules.game})"
            yield _Contradiction(((section,),), "nothing", f"a section '{section}'", hint)
        elif section not in wanted and present:
            expected = f"no such section in a rule set for {rules.game}"
            yield _Contradiction(((section,),), f"a section '{section}'", expected, "delete it")
    if rules.throw:
        yield from _throw_contradictions(rules.throw)
        yield from _cause_contradictions("throw", rules.throw, THROW_CAUSES)
    if rules.spin:
        yield from _cause_contradictions("spin", rules.spin, SPIN_CAUSES)
    if rules.high_roller:
        yield from _high_roller_contradictions(rules.high_roller)
    if rules.deal:
        yield from _deal_contradictions(rules.deal)
        yield from _cause_contradictions("deal", rules.deal, DEAL_CAUSES)


def _throw_contradictions(throw: ThrowRules) -> Iterator[_Contradiction]:
    missed, warnings = ("throw", "missed_wall"), ("throw", "warnings")
    if throw.missed_wall == "warn" and throw.warnings == 0:
        hint = "or set missed_wall to no_roll"
        yield _Contradiction((warnings, missed), "0", "1 or more warnings with missed_wall: warn", hint)
    if throw.missed_wall == "no_roll" and throw.warnings:
        hint = "or set missed_wall to warn"
        yield _Contradiction((warnings, missed), str(throw.warnings), "0 with missed_wall: no_roll", hint)
    if throw.far_wall_required and throw.wall != "end":
        at = (("throw", "far_wall_required"), ("throw", "wall"))
        yield _Contradiction(at, "true", f"false with wall: {throw.wall}", "true is only for wall: end")
    stagger, together = ("throw", "stagger_notice_ms"), ("throw", "simultaneous_ms")
    if throw.stagger_notice_ms >= throw.simultaneous_ms:
        expected = f"less than simultaneous_ms ({throw.simultaneous_ms:g})"
        yield _Contradiction((stagger, together), f"{throw.stagger_notice_ms:g}", expected)
    hold, timeout = ("throw", "call_hold_ms"), ("throw", "settle_timeout_s")
    if throw.call_hold_ms >= throw.settle_timeout_s * 1000:
        expected = f"less than settle_timeout_s ({throw.settle_timeout_s * 1000:g} ms)"
        yield _Contradiction((hold, timeout), f"{throw.call_hold_ms:g}", expected)
    minimum, maximum = throw.sensors.impact_delay_ms
    if minimum > maximum:
        found, expected = f"{minimum:g} before {maximum:g}", "the shortest delay first, then the longest"
        yield _Contradiction((("throw", "sensors", "impact_delay_ms"),), found, expected)


def _high_roller_contradictions(rules: HighRollerRules) -> Iterator[_Contradiction]:
    take, maximum = ("high_roller", "bonus_take_cents"), ("high_roller", "bonus_most_cents")
    if rules.bonus_take_cents > rules.bonus_most_cents:
        expected = f"at most bonus_most_cents ({rules.bonus_most_cents})"
        yield _Contradiction((take, maximum), str(rules.bonus_take_cents), expected)


def _deal_contradictions(rules: DealRules) -> Iterator[_Contradiction]:
    hold, timeout = ("deal", "call_hold_ms"), ("deal", "deal_timeout_s")
    if rules.call_hold_ms >= rules.deal_timeout_s * 1000:
        expected = f"less than deal_timeout_s ({rules.deal_timeout_s * 1000:g} ms)"
        yield _Contradiction((hold, timeout), f"{rules.call_hold_ms:g}", expected)


def _cause_contradictions(
    section: str, rules: ThrowRules | SpinRules | DealRules, causes: tuple[str, ...]
) -> Iterator[_Contradiction]:
    known = rules.causes
    for cause in causes:
        if cause not in known:
            hint = f"add the key '{cause}'"
            yield _Contradiction(
                ((section, "causes", cause),), "nothing", "the id of the rule for this cause", hint
            )
    for cause in known:
        if cause not in causes:
            hint = did_you_mean(cause, [word for word in causes if word not in known]) or "delete it"
            yield _Contradiction(((section, "causes", cause),), "an unknown cause", one_of(causes), hint)
