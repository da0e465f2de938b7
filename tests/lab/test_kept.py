"""The comparison of a disk after a power cut finds each kind of loss. These tests need no machine."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from tests.lab.cuts import MOMENTS, Cut, in_words
from tests.lab.guest import moments
from tests.lab.kept import Kept, Row, altered_recordings, differences, state_differences


def _roll(seq: int, point_after: int | None = None) -> Row:
    data = {"roll": seq, "point_after": point_after}
    outcome = {"id": f"craps/1/{seq}", "seq": seq, "type": "roll.called", "data": data}
    return Row(seq, "roll.called", f"{seq:02x}", b"{}", outcome)


def _published(row: Row) -> dict[str, object]:
    return {"outcome": row.outcome, "chain": row.link}


def test_a_published_outcome_that_is_not_on_the_disk_is_lost() -> None:
    kept = Kept([_roll(1)])

    assert differences(kept, [_published(_roll(1))], {}, Kept()) == []
    assert differences(kept, [_published(_roll(1)), _published(_roll(2))], {}, Kept()) == [
        "lost craps/1/2 roll.called"
    ]


def test_an_outcome_with_another_content_is_different() -> None:
    [found] = differences(Kept([_roll(1, point_after=4)]), [_published(_roll(1, point_after=6))], {}, Kept())

    assert found.startswith("different craps/1/1")


def test_a_row_that_was_there_before_must_stay() -> None:
    before = Kept([_roll(1), _roll(2)])

    assert differences(before, [], {}, before) == []
    assert differences(Kept([_roll(1)]), [], {}, before) == [
        "rows that were there before have changed or are missing"
    ]


def test_an_acknowledged_outcome_must_not_wait_again() -> None:
    kept = Kept([_roll(1)], waiting=frozenset({1}))

    assert differences(kept, [], {"craps/1/1": "01"}, Kept()) == ["acknowledged but waiting again: craps/1/1"]


def test_of_an_acknowledged_outcome_the_body_may_be_pruned_but_not_the_row() -> None:
    published, taken = [_published(_roll(1))], {"craps/1/1": "01"}
    dropped = Row(1, "roll.called", "01", None, None, dropped=True)

    assert differences(Kept([dropped]), published, taken, Kept([_roll(1)])) == []
    assert differences(Kept([dropped], waiting=frozenset({1})), published, {}, Kept()) == [
        "pruned but not settled: row 1"
    ]
    assert differences(Kept([]), published, taken, Kept()) == [
        "lost craps/1/1 roll.called",
        "acknowledged but lost: craps/1/1",
    ]


def test_an_attempt_before_a_pruned_outcome_needs_no_review() -> None:
    begun = b'{"attempt":"roll","number":1,"t":0}'
    rows = [Row(1, "session.started", "01", b"{}", None), Row(2, "attempt.begun", "02", begun, None)]
    dropped = Row(3, "roll.called", "03", None, None, dropped=True)

    assert Kept(rows).in_flight() == {("roll", 1)}
    assert Kept([*rows, dropped]).in_flight() == set()


def test_a_different_state_of_the_game_is_found() -> None:
    board = {"results": [{"subject": "roll/1"}], "puck": "on_6", "point": 6}
    six, four = Kept([_roll(1, point_after=6)]), Kept([_roll(1, point_after=4)])

    assert state_differences(six, six, board) == []
    assert state_differences(four, four, board) == ["the point is 6 instead of 4"]


def test_a_result_missing_from_the_board_is_found() -> None:
    board = {"results": [{"subject": "roll/1"}], "puck": None, "point": None}
    before = Kept([_roll(1), _roll(2)])

    [found] = state_differences(before, before, board)
    assert found.startswith("the board's last results are ['roll/1']")


def test_a_pruned_result_need_not_be_on_the_board() -> None:
    board: dict[str, object] = {"results": [], "puck": None, "point": None}
    decided = {"evidence_below": 2, "bodies_below": 2, "by": "controller", "who": None}
    pruned = Row(3, "journal.pruned", "03", json.dumps(decided).encode(), None)
    old, newer = Kept([_roll(1), pruned]), Kept([_roll(1), _roll(2), pruned])

    assert state_differences(old, old, board) == []
    assert len(state_differences(newer, newer, board)) == 1


def test_an_attempt_that_was_cut_off_must_get_a_review() -> None:
    begun = b'{"attempt":"roll","number":2,"t":0}'
    before = Kept([Row(1, "session.started", "01", b"{}", None), Row(2, "attempt.begun", "02", begun, None)])
    unlocked = _other(3, "table.unlocked", {})
    review = _other(4, "roll.review", {"roll": 2})
    board: dict[str, object] = {"results": [], "puck": None, "point": None}

    assert state_differences(before, Kept([*before.rows, unlocked, review]), board) == []
    [found] = state_differences(before, Kept([*before.rows, unlocked]), board)
    assert found.startswith("interrupted but not reviewed")


def test_a_recording_shorter_than_its_row_says_is_found(tmp_path: Path) -> None:
    reported = {
        "name": "craps-1-001",
        "size": 4,
        "sha256": hashlib.sha256(b"abcd").hexdigest(),
        "readings": 9,
    }
    rows = [Row(1, "recording.closed", "01", json.dumps(reported).encode(), None)]
    file = tmp_path / "craps-1-001.jsonl.gz"

    assert altered_recordings(rows, tmp_path) == [
        "recording craps-1-001: 0 of 4 bytes, or different contents"
    ]
    file.write_bytes(b"abcd")
    assert altered_recordings(rows, tmp_path) == []
    file.write_bytes(b"abce")
    assert altered_recordings(rows, tmp_path) == [
        "recording craps-1-001: 4 of 4 bytes, or different contents"
    ]


def _other(seq: int, kind: str, data: dict[str, object]) -> Row:
    outcome = {"id": f"craps/1/{seq}", "seq": seq, "type": kind, "data": data}
    return Row(seq, kind, f"{seq:02x}", b"{}", outcome)


def test_n_cuts_without_a_loss_prove_three_in_n() -> None:
    cut = Cut(release="r", game="craps-v1", told=3, acknowledged=2, in_flight=1, began=True, bad=[])

    assert "300 of 300 passed" in in_words([cut] * 300)
    assert "3/n = 1.00%" in in_words([cut] * 300)
    assert "3/n" not in in_words([cut] * 20)


def test_each_moment_of_a_cut_is_one_that_the_guest_can_reach() -> None:
    assert set(MOMENTS) == set(moments.MOMENTS)


def test_every_worst_moment_is_one_of_this_controller() -> None:
    """A separate process checks that each function replaced by a moment exists."""
    prepare = (
        "from tests.lab.guest.moments import MOMENTS, Moment, _smaller\n"
        "_smaller()\n"
        "for name, prepare in MOMENTS.items():\n"
        "    prepare(Moment(name, 1))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", prepare], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
