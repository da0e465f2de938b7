"""The readings of simulated spins agree with their truth, and the referee judges a table's outcomes."""

from itertools import pairwise

import msgspec
import pytest

from controller.model.geometry import Wheel
from controller.model.outcomes import Bets, Outcome, SpinCalled, SpinNoSpin, SpinReview
from controller.model.readings import AnyReading, BallBeam, BallDrop, PocketBall, RotorIndex
from controller.model.verdicts import Reason
from drivers.sim.croupier import SpinTruth
from drivers.sim.spins import KINDS, simulate
from tests.sim.spin_referee import NEVER_S, verdicts

TRUTH = SpinTruth(
    kind="clean/strong",
    t0=1_000_000,
    t_drop=21_000_000,
    number="17",
    verdict="valid",
    reasons=[],
    undecidable=None,
    accept=["call"],
    note={"runs": 1, "before": 0},
    t_end=50_000_000,
)


def pocket_at(wheel: Wheel, passes: list[RotorIndex], t: int) -> str:
    """Return the pocket of a reading from the index passes before and after it."""
    before = max(r.t for r in passes if r.t <= t)
    after = min(r.t for r in passes if r.t > t)
    way = next(r.direction for r in passes if r.t == after)
    mark = wheel.rotor_index_deg + (1 if way == "ccw" else -1) * 360 * (t - before) / (after - before)
    count = len(wheel.pockets_clockwise)
    return wheel.pockets_clockwise[round(((mark - wheel.pocket_reader_deg) % 360) / (360 / count)) % count]


def readings_of(kind: str, seed: int, n: int = 2) -> tuple[Wheel, list[AnyReading], list[SpinTruth]]:
    header, feed, truths = simulate(kind, seed, n)
    assert isinstance(header.wheel, Wheel)
    return header.wheel, [reading for _, reading in feed], truths


def test_the_same_kind_and_seed_give_the_same_session_and_another_seed_another() -> None:
    assert simulate("dust", 5, 2) == simulate("dust", 5, 2)
    assert simulate("dust", 5, 2)[1] != simulate("dust", 6, 2)[1]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_spin_occurs_with_a_truth_that_states_the_right_outcome(kind: str) -> None:
    _, feed, truths = simulate(kind, 5, 2)
    assert [arrived for arrived, _ in feed] == sorted(arrived for arrived, _ in feed)
    assert all(a.t_end < b.t0 for a, b in pairwise(truths))
    for truth in truths:
        assert truth.accept
        assert truth.t0 < truth.t_drop < truth.t_end
        assert (truth.verdict == "no_spin") == bool(truth.reasons)
        assert ("call" in truth.accept) <= (truth.verdict == "valid")


@pytest.mark.parametrize("kind", ["clean", "pushed", "knee", "laps", "beams_2", "hop", "single_zero"])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_reads_of_a_spin_are_in_the_pocket_of_its_truth(kind: str, seed: int) -> None:
    wheel, readings, truths = readings_of(kind, seed)
    for truth in truths:
        own = [r for r in readings if truth.t0 <= r.t <= truth.t_end]
        passes = [r for r in own if isinstance(r, RotorIndex)]
        reads = [r.t for r in own if isinstance(r, PocketBall) and r.t < passes[-1].t]
        assert {pocket_at(wheel, passes, t) for t in reads[-3:]} == {truth.number}


@pytest.mark.parametrize("kind", ["clean", "tilted", "laps"])
def test_the_pulses_of_a_spin_are_the_turns_of_its_truth(kind: str) -> None:
    wheel, readings, truths = readings_of(kind, 3, 4)
    for truth in truths:
        pulses = [r for r in readings if isinstance(r, BallBeam) and truth.t0 <= r.t <= truth.t_drop + 50_000]
        expected = float(truth.note["turns"]) * len(wheel.beams_deg)
        by_hand = truth.kind.endswith("/hand")
        assert abs(len(pulses) - by_hand - expected) <= 1.5
        drop = next(r.t for r in readings if isinstance(r, BallDrop) and r.t > truth.t0)
        assert drop - truth.t_drop == pytest.approx(120_000, abs=50_000)


def outcome(t_s: float, type_: str, data: Bets | SpinCalled | SpinNoSpin | SpinReview) -> Outcome:
    return Outcome(type=type_, t=round(t_s * 1e6), id="t/s/1", seq=1, data=data)


def called(number: str = "17", t_s: float = 35.0) -> Outcome:
    data = SpinCalled(
        spin=1, number=number, colour="black", revolutions=9, grade="sensors", notices=(), by=None, who=None
    )
    return outcome(t_s, "spin.called", data)


def void(code: str = "too_few_revolutions", t_s: float = 30.0) -> Outcome:
    reason = Reason(code=code, rule="R-SPIN-2", seen="")
    data = SpinNoSpin(spin=1, reasons=(reason,), by="sensors", who=None, notices=())
    return outcome(t_s, "spin.no_spin", data)


def review(t_s: float = 33.0) -> Outcome:
    return outcome(t_s, "spin.review", SpinReview(spin=1, reasons=(), number=None, notices=()))


SHORT = msgspec.structs.replace(TRUTH, verdict="no_spin", reasons=["too_few_revolutions"], accept=["void"])
UNSURE = msgspec.structs.replace(TRUTH, accept=["call", "review"])
AGAIN = msgspec.structs.replace(TRUTH, note={"runs": 2, "before": 1})


@pytest.mark.parametrize(
    ("truth", "expected", "mark"),
    [
        (TRUTH, [called()], "right"),
        (SHORT, [void()], "right"),
        (AGAIN, [void(), called()], "right"),
        (AGAIN, [review(), void("unruled", 33.1), called()], "right"),
        (UNSURE, [review()], "review"),
        (TRUTH, [review()], "needless"),
        (SHORT, [review()], "needless"),
        (TRUTH, [void()], "wrong_void"),
        (TRUTH, [void(), called()], "wrong_void"),
        (UNSURE, [void()], "wrong_void"),
        (TRUTH, [called("18")], "false"),
        (SHORT, [called()], "false"),
        (AGAIN, [called(t_s=20.0), called()], "false"),
        (TRUTH, [], "swallowed"),
        (TRUTH, [called(t_s=0.5)], "swallowed"),
    ],
)
def test_the_referee_marks_the_outcome_of_a_spin(
    truth: SpinTruth, expected: list[Outcome], mark: str
) -> None:
    assert [verdict.mark for verdict in verdicts([truth], expected)] == [mark]


def test_a_review_published_with_the_next_launch_counts_for_the_spin_before() -> None:
    later = msgspec.structs.replace(TRUTH, t0=61_000_000, t_drop=81_000_000, t_end=100_000_000)
    reasons = tuple(Reason(code=code, rule="R-SPIN-4", seen="") for code in ("conflict", "unruled"))
    data = SpinNoSpin(spin=1, reasons=reasons, by="nobody", who=None, notices=())
    published = [outcome(61.9, "spin.no_spin", data), called(t_s=95.0)]
    assert [verdict.mark for verdict in verdicts([UNSURE, later], published)] == ["review", "right"]


def test_the_lead_of_no_more_bets_is_measured_to_the_drop() -> None:
    closed = outcome(18.0, "bets.closed", Bets(round=1, cause="ball_speed"))
    assert [verdict.lead_s for verdict in verdicts([TRUTH], [closed, called()])] == [3.0]
    assert [verdict.lead_s for verdict in verdicts([SHORT], [closed, void()])] == [None]
    stray = outcome(12.0, "bets.closed", Bets(round=1, cause="ball_drop"))
    assert [verdict.lead_s for verdict in verdicts([TRUTH], [stray, called()])] == [None]
    before = outcome(0.5, "bets.closed", Bets(round=1, cause="ball_speed"))
    assert [verdict.lead_s for verdict in verdicts([TRUTH], [before, called()])] == [None]
    assert [verdict.lead_s for verdict in verdicts([TRUTH], [called()])] == [NEVER_S]


UNCLEAR = tuple(Reason(code=code, rule="", seen="") for code in ("conflict", "unruled"))
CLOSED = SpinNoSpin(spin=1, reasons=UNCLEAR, by="nobody", who=None, notices=())


@pytest.mark.parametrize("late", [review(60.4), outcome(60.4, "spin.no_spin", CLOSED)])
def test_a_review_that_comes_right_after_the_next_launch_belongs_to_the_spin_before(late: Outcome) -> None:
    following = msgspec.structs.replace(TRUTH, t0=60_000_000)
    found = verdicts([UNSURE, following], [late, called(t_s=95.0)])
    assert [verdict.mark for verdict in found] == ["review", "right"]
