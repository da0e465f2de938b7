"""The shipped pay tables of roulette, Three Card Poker and High Roller, and reports of mistakes in them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from controller.games.high_roller.wagers.paytable import HighRollerPayTable
from controller.games.roulette.wagers.paytable import RoulettePayTable
from controller.games.three_card.wagers.paytable import ThreeCardPayTable
from controller.settings.mistakes import SettingsError
from controller.settings.paytables import load_paytable
from controller.settings.places import config_file
from tests.games.high_roller.wagers.scene import H12005
from tests.games.roulette.wagers.scene import PRINTED, USUAL
from tests.games.three_card.wagers.scene import T12014

SHIPPED: Mapping[str, type[object]] = {
    PRINTED: RoulettePayTable,
    USUAL: RoulettePayTable,
    T12014: ThreeCardPayTable,
    H12005: HighRollerPayTable,
}
RULE = re.compile(r"!?(R|T|H|X)-[A-Z0-9]+(-\d+[a-z]?)?")


def parts(value: object) -> Iterator[object]:
    """Yield every dataclass inside a pay table."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from parts(inner)
    elif is_dataclass(value):
        yield value
        for field in fields(value):
            yield from parts(getattr(value, field.name))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_figure_has_its_rule_and_every_setting_its_reason(name: str) -> None:
    table = load_paytable(name, SHIPPED[name])
    found = [part for part in parts(table) if hasattr(part, "rule")]
    assert len(found) > 7
    for part in found:
        assert RULE.fullmatch(getattr(part, "rule", "")), part
        assert getattr(part, "reason", "reason"), part


@pytest.mark.parametrize(
    ("name", "right", "wrong", "expected"),
    [
        (PRINTED, "  five: {", "  fives: {", "pays.fives"),
        (PRINTED, "  five: {pays: [5, 1], rule: R-PAY-5}\n", "", "add five"),
        (PRINTED, "pays: [35, 1]", "pays: [35, 0]", "pays.straight.pays[1]: found 0"),
        (PRINTED, "value: double_zero", "value: triple_zero", "'triple_zero'"),
        (PRINTED, "value: [100, 1000]", "value: [100, 99]", "(the maximum) no less than the first (100)"),
        (T12014, "value: stands", "value: stand", "did you mean 'stands'?"),
        (T12014, "  mini_royal: {pays: [40, 1]", "  royal: {pays: [40, 1]", "pair_plus.royal"),
        (H12005, "value: 10\n    rule: H-EQ-1", "value: 11\n    rule: H-EQ-1", "decks.value: found 11"),
        (H12005, "value: 10\n    rule: H-MONEY-1", "value: 101\n    rule: H-MONEY-1", "found 101"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_by_its_place(
    tmp_path: Path, name: str, right: str, wrong: str, expected: str
) -> None:
    text = config_file("paytables", name).read_text(encoding="utf-8")
    assert text.count(right) == 1
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(SettingsError) as mistakes:
        load_paytable(str(changed), SHIPPED[name])
    assert expected in str(mistakes.value)
    assert "changed.yaml:" in str(mistakes.value)
