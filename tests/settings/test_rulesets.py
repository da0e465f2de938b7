"""The shipped rule sets match the documents, and a contradiction is reported at its line."""

from pathlib import Path

import pytest

from controller.model.rulesets import SPIN_CAUSES, THROW_CAUSES, RuleSet, ThrowRules
from controller.settings.mistakes import Mistake, SettingsError
from controller.settings.places import config_file, config_names
from controller.settings.rulesets import load_ruleset, read_ruleset

SHIPPED = {
    "craps-12-034": "craps",
    "craps-v1": "craps",
    "high-roller-12-005": "high_roller",
    "roulette": "roulette",
    "roulette-conventional": "roulette",
    "three-card-poker-12-014": "three_card",
}


def throw_of(name: str) -> ThrowRules:
    throw = load_ruleset(name).throw
    assert throw is not None
    return throw


def changed(folder: Path, name: str, *edits: tuple[str, str]) -> Path:
    """Copy a shipped rule set with some of its text replaced."""
    source = config_file("rulesets", name)
    text = source.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    copy = folder / source.name
    copy.write_text(text)
    return copy


def only_mistake(path: Path) -> Mistake:
    with pytest.raises(SettingsError) as caught:
        read_ruleset(path)
    (mistake,) = caught.value.mistakes
    return mistake


def line_of(path: Path, text: str) -> int:
    return next(number for number, line in enumerate(path.read_text().splitlines(), 1) if text in line)


def test_every_document_has_its_rule_set() -> None:
    assert {name: load_ruleset(name).game for name in config_names("rulesets")} == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_every_cause_has_its_rule(name: str) -> None:
    rules = load_ruleset(name)
    if rules.throw:
        assert set(rules.throw.causes) == set(THROW_CAUSES)
    if rules.spin:
        assert set(rules.spin.causes) == set(SPIN_CAUSES)


@pytest.mark.parametrize("name", ["craps-12-034", "craps-v1", "high-roller-12-005"])
def test_throws_are_timed_by_the_contract(name: str) -> None:
    throw = throw_of(name)
    assert (throw.simultaneous_ms, throw.stagger_notice_ms, throw.call_hold_ms) == (150, 50, 250)
    assert (throw.settle_timeout_s, throw.min_confidence) == (8, 0.6)


def test_craps_12_034_requires_an_end_wall_from_the_first_throw() -> None:
    throw = throw_of("craps-12-034")
    assert (throw.wall, throw.far_wall_required, throw.missed_wall) == ("end", False, "no_roll")
    assert throw.causes["no_wall_hit"] == "C34-INV-2ii"


def test_craps_version_1_warns_three_times_first() -> None:
    throw = throw_of("craps-v1")
    assert (throw.wall, throw.missed_wall, throw.warnings) == ("far", "warn", 3)
    assert throw.causes["no_wall_hit"] == "CV1-SHOOT-3"
    assert throw.causes["cocked"] == "!V1-25"


def test_high_roller_accepts_any_wall_and_contact_with_cards_only() -> None:
    throw = throw_of("high-roller-12-005")
    assert (throw.wall, throw.objects) == ("any", "cards_only")
    assert throw.causes["foreign_contact"] == "H-LEGAL-3"


def test_both_roulette_rule_sets_have_the_same_spin_rules() -> None:
    printed, conventional = load_ruleset("roulette").spin, load_ruleset("roulette-conventional").spin
    assert printed == conventional
    assert printed is not None
    assert (printed.min_revolutions, printed.pocket_reads, printed.late_close) == (4, 3, "review")
    assert printed.causes["too_few_revolutions"] == "R-IRR-2"


def test_the_defaults_are_those_of_the_contract() -> None:
    written = throw_of("craps-12-034")
    assert ThrowRules(wall="end", faces_by="boxperson", causes=written.causes) == written


@pytest.mark.parametrize(
    ("name", "before", "after", "key", "expected"),
    [
        ("craps-v1", "warnings: 3", "warnings: 0", "throw.warnings", "1 or more warnings"),
        ("craps-v1", "missed_wall: warn", "missed_wall: no_roll", "throw.warnings", "0 with missed_wall"),
        (
            "craps-v1",
            "far_wall_required: false",
            "far_wall_required: true",
            "throw.far_wall_required",
            "false",
        ),
        (
            "craps-v1",
            "stagger_notice_ms: 50",
            "stagger_notice_ms: 150",
            "throw.stagger_notice_ms",
            "less than",
        ),
        (
            "craps-v1",
            "call_hold_ms: 250",
            "call_hold_ms: 8000",
            "throw.call_hold_ms",
            "less than settle_timeout_s",
        ),
        ("craps-v1", "min_confidence: 0.6", "min_confidence: 60", "throw.min_confidence", "at most 1"),
        ("roulette", "pocket_reads: 3", "pocket_reads: 0", "spin.pocket_reads", "a whole number, at least 1"),
        ("roulette", "R-IRR-1", "''", "spin.causes.same_direction", "text that is not empty"),
    ],
)
def test_a_contradiction_is_reported_at_its_line(
    tmp_path: Path, name: str, before: str, after: str, key: str, expected: str
) -> None:
    path = changed(tmp_path, name, (before, after))
    mistake = only_mistake(path)
    assert (mistake.key, mistake.line) == (key, line_of(path, f" {key.rpartition('.')[2]}:"))
    assert expected in mistake.expected


def test_for_a_misspelt_cause_the_right_one_is_suggested(tmp_path: Path) -> None:
    path = changed(tmp_path, "craps-12-034", ("on_bank:", "on_banc:"))
    with pytest.raises(SettingsError) as caught:
        read_ruleset(path)
    missing, unknown = caught.value.mistakes
    assert (missing.line, missing.hint) == (line_of(path, "causes:"), "add the key 'on_bank'")
    assert (unknown.line, unknown.hint) == (line_of(path, "on_banc:"), "did you mean 'on_bank'?")


def test_each_game_has_its_own_sections(tmp_path: Path) -> None:
    path = changed(tmp_path, "roulette", ("game: roulette", "game: craps"))
    with pytest.raises(SettingsError) as caught:
        read_ruleset(path)
    assert [(mistake.key, mistake.found) for mistake in caught.value.mistakes] == [
        ("throw", "nothing"),
        ("craps", "nothing"),
        ("spin", "a section 'spin'"),
    ]


def test_a_rule_set_has_the_name_of_its_file(tmp_path: Path) -> None:
    path = changed(tmp_path, "roulette", ("name: roulette", "name: rulette"))
    assert str(only_mistake(path)).endswith(
        "name: found 'rulette', expected 'roulette', the name of the file; rename one of them"
    )


def test_an_impact_window_must_not_end_before_it_begins(tmp_path: Path) -> None:
    sensors = "throw:\n  sensors:\n    impact_delay_ms: [2, 0.5]\n"
    path = changed(tmp_path, "craps-12-034", ("throw:\n", sensors))
    mistake = only_mistake(path)
    assert (mistake.key, mistake.found) == ("throw.sensors.impact_delay_ms", "2 before 0.5")
    assert mistake.line == line_of(path, "impact_delay_ms")


def test_an_unknown_rule_set_is_a_mistake_that_lists_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="no 'craps', expected one of 'craps-12-034', 'craps-v1'"):
        load_ruleset("craps")


def test_rule_sets_may_be_anywhere(tmp_path: Path) -> None:
    rules: RuleSet = load_ruleset(str(changed(tmp_path, "craps-v1", ("warnings: 3", "warnings: 5"))))
    assert rules.throw is not None
    assert rules.throw.warnings == 5
