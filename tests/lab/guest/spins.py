"""A session at a wheel on real lines, through the daemon, in real time."""

from collections.abc import Sequence

import msgspec

from tests.lab.guest.table import ReceivedMessage, Watch, rule_pending
from tests.lab.guest.waiting import must, now_us, until
from tests.lab.guest.wheel import (
    PAID,
    WORDS,
    Lateness,
    begin_table,
    differences,
    lateness,
    outcomes_of,
    play,
    simulate_spins,
    turns_unseen,
)


class SpinResults(msgspec.Struct, frozen=True, kw_only=True):
    """The published outcomes of spins, compared with the truth; times in us."""

    spins: int
    edges: int
    words: list[str]
    different: list[str]
    not_judged: list[str]
    """The spins whose lines were driven too late, with their outcomes."""
    revolutions_off: list[float]
    """Error of the revolutions in each call, counted from the first detected beam."""
    bets_closed_before_drop_us: list[int]
    """For each called spin, the time from the lamp of No More Bets to the drop."""
    late: Lateness
    faults: list[str]
    exit_code: int


def play_session(kinds: Sequence[str], seed: int, bounces: int, *, panel: bool) -> SpinResults:
    """Play these kinds of spins one after another, at a table with or without a panel of buttons."""
    chip, table = begin_table(panel=panel)
    watch = Watch("outcomes", "faults", "lamps")
    scenes, edges = simulate_spins(kinds, seed, now_us() + 1_000_000, bounces)
    pulls = play(chip, edges, [(scene.end_us + 900_000, rule_pending) for scene in scenes])
    last = scenes[-1]
    until(lambda: bool(outcomes_of(last, None, watch.outcomes)))
    off, closed = [], []
    for scene, following in zip(scenes, [*scenes[1:], None], strict=True):
        own = outcomes_of(scene, following, watch.outcomes)
        if own and own[0]["type"] == "spin.called" and scene.truth.revolutions is not None:
            to_see = scene.truth.revolutions - turns_unseen(scene, edges)
            off.append(round(own[0]["data"]["revolutions"] - to_see, 3))
            drop_us = scene.truth.drop_us or scene.end_us
            closed += [drop_us - one for one in _closings(watch.lamps, scene.start_us, scene.end_us)[:1]]
    different, not_judged = differences(scenes, watch.outcomes, pulls)
    return SpinResults(
        spins=len(scenes),
        edges=len(edges),
        words=[WORDS[one.what["type"]] for one in watch.outcomes if one.what["type"] in WORDS],
        different=different,
        not_judged=not_judged,
        revolutions_off=off,
        bets_closed_before_drop_us=closed,
        late=lateness(pulls),
        faults=[code for code, _ in watch.faults_begun()],
        exit_code=table.stop(),
    )


def _closings(lamps: Sequence[ReceivedMessage], start_us: int, end_us: int) -> list[int]:
    return [
        one.at_us
        for one in lamps
        if one.what["name"] == "no_more_bets" and one.what["shows"] == "on" and start_us <= one.at_us < end_us
    ]


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """Times from an edge on a line, in us; `lost` counts presses that were never reported."""

    to_reading_us: list[int]
    to_outcome_us: list[int]
    stamp_off_us: list[int]
    lost: int


def press_often(times: int) -> Latencies:
    """Press a button that is refused without a spin; time its reading and its durable refusal."""
    chip, table = begin_table()
    watch = Watch("outcomes", "readings")
    to_reading, to_outcome, stamp_off, lost = [], [], [], 0
    for _ in range(times):
        readings, outcomes = len(watch.readings), len(watch.outcomes)
        pressed_us = now_us()
        chip.pull(PAID, False)
        if until(lambda: len(watch.outcomes) > outcomes, 5, 0.001):  # noqa: B023 - called immediately
            to_outcome.append(watch.outcomes[outcomes].at_us - pressed_us)
        heard = [one for one in watch.readings[readings:] if one.what["kind"] == "input"]
        lost += not heard
        for one in heard[:1]:
            to_reading.append(one.at_us - pressed_us)
            stamp_off.append(one.what["t"] - pressed_us)
        chip.pull(PAID, True)
        released_us = now_us()
        must("the button's bounce is over", lambda: now_us() > released_us + 300_000)  # noqa: B023 - called immediately
    table.stop()
    return Latencies(to_reading_us=to_reading, to_outcome_us=to_outcome, stamp_off_us=stamp_off, lost=lost)
