"""Reading a journal: the outcomes, their evidence, the people who ruled, and repeated judgements."""

import io
import json
from dataclasses import replace
from typing import Literal, cast

import msgspec
import pytest

from controller.engine.session import Session
from controller.journal.contents import (
    Evidence,
    Recording,
    StateAfterRow,
    canonical,
    decode_outcome,
    pack,
    unpack,
)
from controller.journal.faults import JournalFault
from controller.journal.reading import Reader
from controller.journal.recall import RecalledOutcome, judge_again, recall
from controller.machines.setup import NextNumbers, Setup, State
from controller.model.effects import Judged
from controller.model.readings import AnyReading, DeviceDown, RotorIndex
from controller.model.rulesets import Calls
from controller.model.verdicts import Ruling, SpinVerdict
from controller.settings.rulesets import load_ruleset
from drivers.sim import dice, high_roller, three_card, wheel
from tests.journal.rig import (
    NAME,
    Rig,
    append,
    begin,
    durable,
    identity,
    play_throws,
    session_steps,
    setup_at,
    throws,
)
from tests.journal.tamper import sql, tamper
from tests.rules.wheel.simulator import Scene, spin
from tests.rules.wheel.simulator import wheel as simulated_wheel
from tests.scenes import SECOND_US, input_at, throw


def test_show_lists_rows_by_number_range_and_type(rig: Rig) -> None:
    rig.played(4)
    with Reader(rig.place.journal) as reader:
        everything = list(reader.rows())
        assert [row.n for row in everything] == list(range(1, len(everything) + 1))
        assert [row.n for row in reader.rows(3, 7)] == [3, 4, 5, 6, 7]
        assert {row.name for row in reader.rows(types={"roll.called", "roll.no_roll"})} == {
            "roll.called",
            "roll.no_roll",
        }
        assert list(reader.rows(10_000)) == []
        assert all(row.evidence is None for row in everything)


def test_show_reads_more_than_one_slice(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.journal.reading.SLICE", 3)
    rig.played(2)
    with Reader(rig.place.journal) as reader:
        assert [row.n for row in reader.rows(2, 9)] == list(range(2, 10))


def test_export_writes_json_lines_with_all_contents(rig: Rig) -> None:
    rig.played(2)
    stream = io.BytesIO()
    with Reader(rig.place.journal) as reader:
        count = reader.export(stream)
        rows = list(reader.rows())
    origin, *lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert origin["table"] == NAME
    assert origin["public_key"] == rig.key.public.raw.hex()
    assert count == len(lines) == len(rows)
    called = next(line for line in lines if line["name"] == "roll.called")
    assert called["body"]["data"]["dice"] == [4, 4]
    assert called["evidence"]["throw"]["dice"] == [4, 4]
    assert len(called["evidence"]["readings"]) > 100
    assert called["link"] == next(row.link.hex() for row in rows if row.n == called["n"])


def test_export_stops_at_damage_and_keeps_the_rows_before_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.journal.reading.SLICE", 5)
    rig.played(20)
    with rig.place.journal.open("r+b") as file:
        file.seek(4096 * (rig.place.journal.stat().st_size // 4096 * 3 // 4))
        file.write(b"\xa5" * 4096 * 5)
    stream = io.BytesIO()
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="journal_damaged"):
        reader.export(stream)
    assert len(stream.getvalue().splitlines()) > 5


def test_export_writes_no_row_that_was_changed(rig: Rig) -> None:
    rig.played(2)
    tamper(
        rig.place.journal, sql("UPDATE evidence SET packed = x'00' WHERE n = (SELECT max(n) FROM evidence)")
    )
    stream = io.BytesIO()
    with Reader(rig.place.journal) as reader, pytest.raises(JournalFault, match="journal_row_changed"):
        reader.export(stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) > 5
    assert all(json.loads(line) for line in lines)


def recalled(rig: Rig, outcome_id: str) -> RecalledOutcome:
    with Reader(rig.place.journal) as reader:
        return recall(reader, outcome_id)


def ids(rig: Rig, name: str) -> list[str]:
    return [f"{NAME}/1/{row.seq}" for row in rig.published if row.name == name]


def test_a_call_is_recalled_with_all_of_its_evidence(rig: Rig) -> None:
    played = rig.played(2)
    judged = next(e for step in played for e in step.effects if isinstance(e, Judged))
    found = recalled(rig, ids(rig, "roll.called")[0])
    assert found.outcome == judged.outcome
    assert found.row.body == canonical(judged.outcome)
    assert found.evidence is not None
    assert found.evidence.verdict == judged.verdict
    assert found.evidence.readings == judged.readings
    assert found.judged_again is not None
    assert found.judged_again.verdict == judged.verdict
    assert found.judged_again.differences == ()
    assert found.ruled_by is None
    assert found.signed
    assert found.identity is not None
    assert found.identity.software == "1.2.3"


def test_a_persons_ruling_names_the_person(rig: Rig) -> None:
    rig.played(8)
    people = [
        found.ruled_by for outcome_id in ids(rig, "roll.no_roll") if (found := recalled(rig, outcome_id))
    ]
    assert "boxperson ann" in people
    assert None in people


def test_corrections_are_recalled_with_the_outcomes_they_correct(rig: Rig) -> None:
    readings: list[AnyReading] = [
        *throw(SECOND_US, (2, 4)),
        input_at(6 * SECOND_US, "set_dice", dice=(2, 3), who="ann"),
        input_at(7 * SECOND_US, "no_roll", who="bob"),
        input_at(9 * SECOND_US, "nonsense"),
    ]
    session = Session(setup_at(NextNumbers(), State()))
    with rig.open() as journal:
        begin(journal)
        for step in session_steps(session, readings):
            durable(append(journal, step))
    found = recalled(rig, ids(rig, "roll.called")[0])
    assert [getattr(corrections.data, "who", None) for corrections in found.corrections] == ["ann", "bob"]


def test_an_outcome_without_a_verdict_is_recalled_as_it_is(rig: Rig) -> None:
    rig.played(1)
    found = recalled(rig, ids(rig, "bets.closed")[0])
    assert found.evidence is None
    assert found.judged_again is None
    assert found.corrections == ()


@pytest.mark.parametrize("outcome_id", ["nonsense", f"{NAME}/1/999", f"{NAME}/2/1", ""])
def test_an_unknown_id_is_named(rig: Rig, outcome_id: str) -> None:
    rig.played(1)
    with pytest.raises(JournalFault, match="no outcome"):
        recalled(rig, outcome_id)


def test_an_edited_outcome_is_recalled_with_its_fault(rig: Rig) -> None:
    rig.played(1)
    outcome_id = ids(rig, "roll.called")[0]
    seq = int(outcome_id.rpartition("/")[2])
    edit = "CAST(replace(CAST(body AS TEXT), '[4,4]', '[4,3]') AS BLOB)"
    tamper(rig.place.journal, sql(f"UPDATE rows SET body = {edit} WHERE seq = ?", seq))
    with pytest.raises(JournalFault, match="journal_row_changed"):
        recalled(rig, outcome_id)


def test_a_different_verdict_of_the_present_judge_is_reported(rig: Rig) -> None:
    rig.played(1)
    found = recalled(rig, ids(rig, "roll.called")[0])
    assert found.evidence is not None
    assert found.identity is not None
    assert found.evidence.throw is not None
    other = msgspec.structs.replace(found.evidence.throw, ruling=Ruling.VOID, dice=(1, 1))
    judgement = judge_again(msgspec.structs.replace(found.evidence, throw=other), found.identity.setup)
    assert judgement is not None
    assert [difference.partition(":")[0] for difference in judgement.differences] == ["ruling", "dice"]


def test_a_verdict_that_this_version_cannot_judge_is_left_open(rig: Rig) -> None:
    spin = SpinVerdict(ruling=Ruling.VALID, sentence="17", number="17")
    evidence = Evidence(decided_at_us=1, spin=spin)
    assert unpack(pack(evidence)) == evidence
    assert evidence.verdict == spin
    assert judge_again(evidence, setup_at(NextNumbers(), State())) is None


def test_the_recording_behind_an_outcome_is_named(rig: Rig) -> None:
    span = Recording(name="2026-01-01T20.jsonl.gz", from_us=1, to_us=2, sha256="ab")
    step = play_throws(1)[0]
    with rig.open() as journal:
        begin(journal)
        durable(journal.append(step.effects, step.state, step.first, span))
    with Reader(rig.place.journal) as reader:
        (row,) = reader.rows(types={"attempt.begun"})
    assert row.after is not None
    assert msgspec.json.decode(row.after, type=StateAfterRow).recording == span


# --- judged again from the evidence alone ---


def judged_again_everywhere(rig: Rig, readings: list[AnyReading], setup: Setup) -> int:
    """Journal the readings' effects, recall every outcome, and count the unchanged verdicts."""
    session = Session(setup)
    with rig.open() as journal:
        journal.start(identity(setup))
        for step in session_steps(session, readings):
            append(journal, step)
        durable(journal.note("clock.noted", {}))
    same = 0
    with Reader(rig.place.journal) as reader:
        for row in rig.published:
            found = recall(reader, f"{NAME}/1/{row.seq}")
            if found.judged_again is not None:
                assert found.judged_again.differences == (), found.outcome
                same += 1
    return same


@pytest.mark.parametrize("rules", ["craps-12-034", "craps-v1"])
def test_a_simulated_session_is_judged_the_same_from_its_evidence(rig: Rig, rules: dice.Rules) -> None:
    """Throws of every kind: short, staggered, cocked, off the table, doubtful, ruled on."""
    header, feed, _ = dice.simulate(5, n=25, rules=rules)
    assert header.dice_table is not msgspec.UNSET
    setup = replace(setup_at(NextNumbers(), State(), rules=rules), dice_table=header.dice_table)
    assert judged_again_everywhere(rig, [reading for _, reading in feed], setup) > 20


@pytest.mark.parametrize("seed", [1, 2])
def test_a_simulated_wheel_is_judged_the_same_from_its_evidence(rig: Rig, seed: int) -> None:
    """Spins of every kind, each with the properties of the wheel learned from earlier spins."""
    header, feed, _ = wheel.simulate(seed, n=20)
    assert header.wheel is not msgspec.UNSET
    setup = Setup(table=NAME, session="1", ruleset=load_ruleset("roulette"), wheel=header.wheel)
    assert judged_again_everywhere(rig, [reading for _, reading in feed], setup) > 15


@pytest.mark.parametrize("calls", ["automatic", "confirm"])
@pytest.mark.parametrize("directed", [True, False])
def test_simulated_deals_are_judged_the_same_from_their_evidence(
    rig: Rig, *, directed: bool, calls: Calls
) -> None:
    """Deals of every kind: short, a card twice, unread, the shoe opened, the shoe offline, misdeals."""
    _, feed, _ = three_card.simulate(7, n=25, directed=directed)
    rules = load_ruleset("three-card-poker-12-014")
    setup = Setup(table=NAME, session="1", ruleset=rules, state=State(calls=calls))
    assert judged_again_everywhere(rig, [reading for _, reading in feed], setup) > 20
    called = [row for row in rig.published if row.name == "deal.called"]
    assert len(called) > 8 or calls == "confirm"


def test_simulated_games_of_high_roller_are_judged_the_same_from_their_evidence(rig: Rig) -> None:
    header, feed, _ = high_roller.simulate(3, games=3)
    assert header.dice_table is not msgspec.UNSET
    setup = replace(
        setup_at(NextNumbers(), State(), rules="high-roller-12-005"), dice_table=header.dice_table
    )
    assert judged_again_everywhere(rig, [reading for _, reading in feed], setup) >= 5


@pytest.mark.parametrize("policy", ["review", "void", "valid"])
def test_bets_that_closed_late_are_part_of_the_evidence(
    rig: Rig, policy: Literal["review", "void", "valid"]
) -> None:
    """The table's file sets too low a drop speed, so the first ball drops earlier than predicted."""
    header, feed, _ = wheel.simulate(4, {"valid": 1}, n=6)
    assert header.wheel is not msgspec.UNSET
    slow = msgspec.structs.replace(header.wheel, drop_rev_per_s=0.9 * header.wheel.drop_rev_per_s)
    rules = load_ruleset("roulette")
    assert rules.spin is not None
    late = replace(rules, spin=replace(rules.spin, no_more_bets_lead_s=0.0, late_close=policy))
    setup = Setup(table=NAME, session="1", ruleset=late, wheel=slow)
    assert judged_again_everywhere(rig, [reading for _, reading in feed], setup) >= 6
    assert any(b"late_close" in (row.body or b"") for row in rig.published if row.name == "bets.closed")


@pytest.mark.parametrize("calls", ["automatic", "confirm"])
def test_a_late_ruling_does_not_change_the_recalled_verdict(rig: Rig, calls: Calls) -> None:
    readings: list[AnyReading] = []
    t = SECOND_US
    for number, name in enumerate(("accept", "no_roll", "set_dice", "dice_collected", "accept")):
        one = throw(t, (3, 4), confidence=0.4 if number == 3 else 0.9)
        wait = 100_000 if number != 4 else 3 * SECOND_US
        readings += [*one, input_at(one[-1].t + wait, name, dice=(3, 4) if name == "set_dice" else None)]
        t += 12 * SECOND_US
    readings.append(DeviceDown(t=t, dev="cam"))
    readings += [*throw(t + SECOND_US, (2, 2)), *throws(1, t + 20 * SECOND_US)]
    assert judged_again_everywhere(rig, readings, setup_at(NextNumbers(), State(calls=calls))) >= 4


@pytest.mark.parametrize("calls", ["automatic", "confirm"])
def test_a_dealers_rulings_on_spins_do_not_change_the_recalled_verdicts(rig: Rig, calls: Calls) -> None:
    """Rulings that accept, void and enter a number, within the call's hold and after it."""
    header, feed, _ = wheel.simulate(3, {"valid": 1}, n=9)
    assert header.wheel is not msgspec.UNSET
    setup = Setup(table=NAME, session="1", ruleset=load_ruleset("roulette"), wheel=header.wheel)
    sensed = [reading for _, reading in feed]
    calls_us = [
        o.t
        for step in session_steps(Session(setup), sensed)
        for o in step.outcomes
        if o.type == "spin.called"
    ]
    rulings = [
        input_at(
            t + (60_000, 180_000, 700_000)[number // 3], name, number="17" if name == "set_number" else None
        )
        for number, t in enumerate(calls_us)
        for name in [("accept", "no_spin", "set_number")[number % 3]]
    ]
    assert len(rulings) >= 8
    readings = sorted([*sensed, *rulings], key=lambda reading: reading.t)
    setup = replace(setup, state=State(calls=calls))
    assert judged_again_everywhere(rig, readings, setup) >= 8
    assert {getattr(decode_outcome(row.body or b"").data, "by", None) for row in rig.published} >= {
        "boxperson"
    }


def test_a_no_roll_called_in_flight_is_kept_with_the_readings_until_then(rig: Rig) -> None:
    thrown = throw(SECOND_US, (3, 4))
    shout = input_at(thrown[len(thrown) // 2].t + 1, "no_roll", who="ann")
    readings = sorted([*thrown, shout], key=lambda reading: reading.t)
    assert judged_again_everywhere(rig, readings, setup_at(NextNumbers(), State())) == 1
    found = recalled(rig, ids(rig, "roll.no_roll")[0])
    assert found.evidence is not None
    assert found.evidence.decided_at_us == shout.t
    assert found.evidence.called is not None
    assert found.evidence.called.code == "called"
    assert 10 < len(found.evidence.readings) < len(thrown)


def test_a_no_spin_called_while_the_ball_runs_gives_the_same_verdict_again(rig: Rig) -> None:
    header, feed, scenes = wheel.simulate(6, {"valid": 1}, n=3)
    assert header.wheel is not msgspec.UNSET
    setup = Setup(table=NAME, session="1", ruleset=load_ruleset("roulette"), wheel=header.wheel)
    sensed = [reading for _, reading in feed]
    shouts = [input_at(scene.start_us + 6 * SECOND_US, "no_spin", who="ann") for scene in scenes]
    readings = sorted([*sensed, *shouts], key=lambda reading: reading.t)
    assert judged_again_everywhere(rig, readings, setup) == 3
    assert all(
        recalled(rig, outcome_id).ruled_by == "boxperson ann" for outcome_id in ids(rig, "spin.no_spin")
    )


def test_a_spin_ended_by_the_next_launch_is_judged_the_same_from_its_evidence(rig: Rig) -> None:
    bowl = simulated_wheel()
    first = spin(Scene(wheel=bowl, revolutions=14.0, pocket=9, bounces=0))
    blind = [r for r in first.readings if not isinstance(r, RotorIndex)]
    soon = spin(Scene(wheel=bowl, pocket=20, bounces=0, seed=2, begins_us=first.end_us + 3 * SECOND_US))
    after = [r for r in soon.readings if r.t > first.end_us + SECOND_US]
    setup = Setup(table=NAME, session="1", ruleset=load_ruleset("roulette"), wheel=bowl)
    readings = cast("list[AnyReading]", sorted([*blind, *after], key=lambda reading: reading.t))
    assert judged_again_everywhere(rig, readings, setup) >= 2
    assert any(b"unruled" in (row.body or b"") for row in rig.published)
