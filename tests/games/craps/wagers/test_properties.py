"""Properties of a craps table under random bets and rolls."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.games.craps.wagers.book import CrapsBook
from controller.settlement.run import Decoder
from tests.games.craps.wagers.scene import C34, CV1, paytable

Step = Mapping[str, Any]
Told = Mapping[str, Any]

IDS = st.sampled_from([f"b{n}" for n in range(10)])
PLAYERS = st.sampled_from(["p1", "p2"])
FACES = st.integers(1, 6)
CENTS = st.sampled_from([1, 100, 200, 400, 500, 600, 1000, 1001])
EASY_TO_MAKE = ["pass", "dont_pass", "field", "any7", "any_craps", "craps2", "craps3", "craps12", "yo"]
COMBINED = ["c_and_e", "horn", "whirl"]
OTHERS = ["come", "dont_come", "big6", "big8", "hi_lo", "sharp_shooter", "nonsense"]

PLAIN = st.fixed_dictionaries({"wager": st.sampled_from([*EASY_TO_MAKE, *COMBINED, *OTHERS])})
NUMBERED = st.fixed_dictionaries(
    {
        "wager": st.sampled_from(["place", "place_lose", "hard", "horn_high", "pass"]),
        "number": st.integers(2, 12),
    }
)
ODDS = st.fixed_dictionaries(
    {
        "wager": st.sampled_from(["pass_odds", "dont_pass_odds", "come_odds", "dont_come_odds"]),
        "base": IDS,
    }
)
HOPS = st.fixed_dictionaries({"wager": st.just("hop"), "dice": st.lists(FACES, min_size=2, max_size=2)})
WAYS = st.fixed_dictionaries(
    {},
    optional={
        "working": st.sampled_from(["on", "off"]),
        "ride": st.booleans(),
        "late": st.booleans(),
        "confirmed": st.booleans(),
    },
)
WHO = st.fixed_dictionaries({"do": st.just("bet"), "id": IDS, "player": PLAYERS, "amount": CENTS})
BETS = st.builds(lambda who, kind, ways: {**who, **kind, **ways}, WHO, PLAIN | NUMBERED | ODDS | HOPS, WAYS)
ROLLS = st.fixed_dictionaries({"do": st.just("roll"), "dice": st.lists(FACES, min_size=2, max_size=2)})
CHANGES = st.one_of(
    st.fixed_dictionaries({"do": st.just("working"), "id": IDS, "on": st.booleans()}),
    st.fixed_dictionaries({"do": st.sampled_from(["reduce", "increase"]), "id": IDS, "to": CENTS}),
    st.fixed_dictionaries({"do": st.sampled_from(["remove", "no_action"]), "id": IDS}),
)
TABLE = st.one_of(
    st.just({"do": "no_roll"}),
    st.fixed_dictionaries({"do": st.just("new_shooter"), "player": PLAYERS}),
    st.fixed_dictionaries({"do": st.just("run_out"), "on": st.booleans()}),
)
SESSIONS = st.lists(st.one_of(BETS, ROLLS, BETS, ROLLS, CHANGES, TABLE), max_size=40)
BOTH = pytest.mark.parametrize("name", [C34, CV1])
QUICK = settings(derandomize=True, max_examples=60, deadline=None)


def play(name: str, steps: Sequence[Step]) -> list[tuple[Step, list[Told]]]:
    """Return each step with its results, and finally the remaining bets."""
    game = CrapsBook(paytable(name))
    decoder = Decoder(game.vocabulary)
    results = [(step, game.apply(decoder.decode(json.dumps(step).encode(), 1))) for step in steps]
    results.append(({"do": "end"}, game.finish()))
    return [(step, msgspec.to_builtins(lines)) for step, lines in results]


def results_of(name: str, steps: Sequence[Step]) -> list[Told]:
    return [line for _, lines in play(name, steps) for line in lines]


def is_last(line: Told) -> bool:
    """Return whether this is a bet's last line, and not a win of a bet that stays up or rides."""
    return bool(line["status"] != "win" or line["returned"] == line["stake"] + line["payout"])


def granted(lines: Sequence[Told]) -> bool:
    return all(line["status"] not in ("rejected", "refused") for line in lines)


@BOTH
@QUICK
@given(steps=SESSIONS)
def test_every_accepted_bet_has_one_last_line_and_none_after_it(name: str, steps: list[Step]) -> None:
    played = play(name, steps)
    accepted = [step["id"] for step, lines in played if step["do"] == "bet" and granted(lines)]
    assert len(accepted) == len(set(accepted))
    told = [line for _, lines in played for line in lines]
    of_bets = [line for line in told if line["status"] not in ("rejected", "refused", "reduced")]
    for bet in accepted:
        lasts = [is_last(line) for line in of_bets if line["id"] == bet]
        assert lasts == [False] * (len(lasts) - 1) + [True]
    assert {line["id"] for line in of_bets} == set(accepted)


@BOTH
@QUICK
@given(steps=SESSIONS)
def test_every_cent_is_accounted_for_in_craps(name: str, steps: list[Step]) -> None:
    at_risk: dict[str, int] = {}
    for step, lines in play(name, steps):
        if step["do"] == "bet" and granted(lines):
            at_risk[step["id"]] = step["amount"]
        if step["do"] == "increase" and granted(lines):
            assert at_risk[step["id"]] < step["to"]
            at_risk[step["id"]] = step["to"]
        for line in lines:
            if line["status"] in ("rejected", "refused"):
                continue
            assert line.get("stake", at_risk[line["id"]]) == at_risk[line["id"]]
            at_risk[line["id"]] += line.get("payout", 0) - line["returned"]
            if line["status"] == "reduced":
                assert at_risk[line["id"]] == step["to"]
            elif line["status"] in ("lose", "pending"):
                assert line["payout"] == line["returned"] == 0
                at_risk[line["id"]] = 0
    assert not any(at_risk.values())


@BOTH
@QUICK
@given(steps=SESSIONS)
def test_bets_that_are_up_stay_within_the_limits(name: str, steps: list[Step]) -> None:
    limits = paytable(name).settings
    for line in results_of(name, steps):
        if line["status"] in ("win", "lose", "push", "pending"):
            assert line["stake"] >= (limits.minimum_cents.value or 1)
            assert line["stake"] <= (limits.maximum_cents.value or line["stake"])


@BOTH
@QUICK
@given(steps=SESSIONS)
def test_a_refusal_changes_nothing(name: str, steps: list[Step]) -> None:
    played = play(name, steps)
    without = [step for step, lines in played[:-1] if granted(lines)]
    told = [line for _, lines in played if granted(lines) for line in lines]
    assert results_of(name, without) == told


@BOTH
@QUICK
@given(steps=SESSIONS, where=st.integers(0, 40))
def test_a_no_roll_changes_nothing(name: str, steps: list[Step], where: int) -> None:
    assert results_of(name, [*steps[:where], {"do": "no_roll"}, *steps[where:]]) == results_of(name, steps)


@BOTH
@QUICK
@given(steps=SESSIONS)
def test_a_bet_sent_twice_is_accepted_once(name: str, steps: list[Step]) -> None:
    once = play(name, steps)
    stutter = [step for step, lines in once[:-1] for _ in range(1 + (step["do"] == "bet" and granted(lines)))]
    twice = results_of(name, stutter)
    assert [line for line in twice if not is_repeat(line)] == [
        line for line in results_of(name, steps) if not is_repeat(line)
    ]
    assert sum(map(is_repeat, twice)) >= len(stutter) - len(steps)


def is_repeat(line: Told) -> bool:
    return line["status"] == "rejected" and "BOOK-ID" in line["reason"]


SIMULTANEOUS = st.lists(
    st.tuples(
        st.sampled_from([*EASY_TO_MAKE, *COMBINED, "place 6", "place 9", "hard 8"]),
        st.sampled_from([400, 1000]),
    ),
    min_size=2,
    max_size=8,
)


@BOTH
@QUICK
@given(kinds=SIMULTANEOUS, rolls=st.lists(ROLLS, min_size=1, max_size=8), data=st.data())
def test_the_order_of_simultaneous_bets_does_not_matter(
    name: str, kinds: list[tuple[str, int]], rolls: list[Step], data: st.DataObject
) -> None:
    bets = [_bet(f"b{n}", *kind) for n, kind in enumerate(kinds)]
    shuffled = data.draw(st.permutations(bets))
    told, other = results_of(name, [*bets, *rolls]), results_of(name, [*shuffled, *rolls])
    assert sorted(map(json.dumps, told)) == sorted(map(json.dumps, other))


def _bet(name: str, kind: str, amount: int) -> Step:
    wager, _, number = kind.partition(" ")
    step = {"do": "bet", "id": name, "player": name, "wager": wager, "amount": amount}
    return {**step, "number": int(number)} if number else step
