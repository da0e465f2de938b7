"""A table's journal drops expired contents automatically, but not while the clock is in doubt."""

from pathlib import Path

import pytest

from controller.app.background import CHECK_EVERY_US, DAY_US, PRUNED_BY, Retention
from controller.journal.chain import WallTime
from controller.journal.contents import PRUNED
from controller.journal.journal import Journal
from controller.journal.reading import Reader
from controller.journal.writer import Limits
from controller.model.tables import RetentionSettings
from controller.settings.mistakes import SettingsError
from controller.settings.tables import load_table
from tests.app.rig import until
from tests.journal.rig import NAME, NIGHT_US, Rig, append, begin, durable, play_throws, rig_in

KEPT_90 = RetentionSettings(evidence_days=90)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return rig_in(tmp_path)


def played(rig: Rig) -> Journal:
    """Play eight throws that settlement has acknowledged."""
    journal = rig.open(Limits(rows_between_checkpoints=4))
    begin(journal)
    for step in play_throws(8):
        durable(append(journal, step))
    for row in rig.published:
        durable(journal.acknowledge(f"{NAME}/1/{row.seq}", row.link.hex(), "settlement"))
    return journal


def kept(rig: Rig) -> tuple[int, int, int]:
    """Return the numbers of rows with evidence, of outcomes with a body, and of removals."""
    with Reader(rig.place.journal) as reader:
        rows = list(reader.rows(evidence=True))
    return (
        sum(row.evidence is not None for row in rows),
        sum(row.body is not None for row in rows if row.seq is not None),
        sum(row.name == PRUNED for row in rows),
    )


def wall(days: float, *, synced: bool = True) -> WallTime:
    return WallTime(NIGHT_US + round(days * DAY_US), synced)


def test_evidence_is_removed_after_its_days_and_the_journal_verifies(rig: Rig) -> None:
    with played(rig) as journal:
        Retention(journal, KEPT_90, lambda: wall(91)).drop_expired(0)
        until(lambda: kept(rig)[0] == 0, "the evidence is gone")
        published = len(rig.published)
        assert kept(rig) == (0, published, 1)
    with Reader(rig.place.journal) as reader:
        assert reader.verify_all().dropped == 8
        (pruned,) = [row for row in reader.rows() if row.name == PRUNED]
    assert pruned.body is not None
    assert f'"by":"{PRUNED_BY}"' in pruned.body.decode()


def test_outcomes_are_removed_after_their_days(rig: Rig) -> None:
    settings = RetentionSettings(evidence_days=90, outcomes_days=365)
    with played(rig) as journal:
        Retention(journal, settings, lambda: wall(366)).drop_expired(0)
        until(lambda: kept(rig)[:2] == (0, 0), "evidence and outcomes are gone")


@pytest.mark.parametrize(
    ("settings", "now"),
    [
        (KEPT_90, wall(89)),
        (KEPT_90, wall(91, synced=False)),
        (RetentionSettings(), wall(36_500)),
    ],
    ids=["too young", "clock not synchronized", "kept for ever"],
)
def test_nothing_is_removed_early_or_on_a_doubtful_clock(
    rig: Rig, settings: RetentionSettings, now: WallTime
) -> None:
    with played(rig) as journal:
        before = kept(rig)
        Retention(journal, settings, lambda: now).drop_expired(0)
        durable(journal.note("shift.ended", {}))
        assert kept(rig) == before


def test_retention_runs_once_an_hour_and_is_journaled_only_when_something_is_removed(rig: Rig) -> None:
    with played(rig) as journal:
        days = [89.0]
        retention = Retention(journal, KEPT_90, lambda: wall(days[0]))
        retention.drop_expired(0)
        days[0] = 91
        retention.drop_expired(CHECK_EVERY_US - 1)
        durable(journal.note("shift.ended", {}))
        assert kept(rig)[2] == 0
        retention.drop_expired(CHECK_EVERY_US)
        until(lambda: kept(rig)[0] == 0, "the evidence is gone")
        retention.drop_expired(2 * CHECK_EVERY_US)
        durable(journal.note("shift.ended", {}))
        assert kept(rig)[2] == 1


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("{evidence_days: 30}", "retention.evidence_days"),
        ("{evidence_days: 90, outcomes_days: 300}", "retention.outcomes_days"),
        ("{outcomes_days: 400}", "retention.evidence_days"),
        ("{evidence_days: 500, outcomes_days: 400}", "retention.evidence_days"),
    ],
)
def test_retention_periods_below_the_legal_minimum_are_mistakes(
    tmp_path: Path, written: str, key: str
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "table: mine\nruleset: craps-12-034\ndice_table: {length_mm: 3600, width_mm: 1100, die_mm: 19}\n"
        f"retention: {written}\n",
        encoding="utf-8",
    )
    with pytest.raises(SettingsError) as raised:
        load_table(str(path))
    assert [mistake.key for mistake in raised.value.mistakes] == [key]
