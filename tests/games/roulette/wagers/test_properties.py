"""Properties of a roulette table under random bets and numbers."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.games.roulette.wagers.book import RouletteBook
from controller.games.roulette.wagers.layout import NUMBERS_PER_WAGER, RULES, Layout
from controller.settlement.run import settle
from tests.games.roulette.wagers.scene import PRINTED, USUAL, paytable
from tests.settlement.arbitrary import answer_all, ends, keep

Json = Mapping[str, object]

often = settings(max_examples=80, derandomize=True, deadline=None)
LAYOUT = Layout()
POCKETS = st.sampled_from(LAYOUT.pockets)
SPOTS = [(spot, which) for wager in RULES for which, spot in enumerate(LAYOUT.spots(wager), start=1)]


@st.composite
def bets(draw: st.DrawFn) -> list[Json]:
    """Draw valid bets by different players, so that no player's limit depends on another bet."""
    chosen = draw(st.lists(st.tuples(st.sampled_from(SPOTS), st.integers(100, 1000)), min_size=1, max_size=8))
    found: list[Json] = []
    for number, ((spot, which), cents) in enumerate(chosen):
        bet: dict[str, object] = {
            "do": "bet",
            "id": f"b{number}",
            "player": f"p{number}",
            "wager": spot.wager,
            "amount": cents,
        }
        if spot.wager in NUMBERS_PER_WAGER:
            bet["numbers"] = draw(st.permutations(sorted(spot.covers)))
        elif spot.wager in ("column", "dozen"):
            bet["which"] = which
        found.append(bet)
    return found


def settled(requests: Sequence[Json], name: str = PRINTED) -> list[dict[str, object]]:
    lines = [json.dumps(request).encode() for request in requests]
    return [json.loads(line) for line in b"".join(settle(lines, RouletteBook(paytable(name)))).splitlines()]


def spin(number: str) -> Json:
    return {"do": "spin", "number": number}


@often
@given(bets(), POCKETS, st.sampled_from([PRINTED, USUAL]))
def test_every_bet_is_decided_once_and_every_cent_is_accounted_for(
    made: list[Json], number: str, name: str
) -> None:
    told = settled([*made, spin(number)], name)
    assert sorted(str(line["id"]) for line in told) == sorted(str(bet["id"]) for bet in made)
    odds: dict[str, int] = {wager: pays.pays[0] for wager, pays in paytable(name).pays.items()}
    stakes = {bet["id"]: bet["amount"] for bet in made}
    for line in told:
        stake = stakes[line["id"]]
        assert isinstance(stake, int)
        won = stake * odds[str(line["wager"])] if line["status"] == "win" else 0
        assert (line["stake"], line["payout"]) == (stake, won)
        assert line["returned"] == (stake + won if line["status"] == "win" else 0)


@often
@given(bets(), POCKETS, st.integers(0, 10**6))
def test_the_order_of_bets_before_a_spin_does_not_matter(made: list[Json], number: str, seed: int) -> None:
    mixed = list(made)
    Random(seed).shuffle(mixed)
    first, second = settled([*made, spin(number)]), settled([*mixed, spin(number)])
    assert sorted(first, key=str) == sorted(second, key=str)


@often
@given(bets(), POCKETS, st.integers(0, 8))
def test_a_spin_that_does_not_count_and_repeated_calls_change_nothing(
    made: list[Json], number: str, where: int
) -> None:
    plain = [*made, spin(number)]
    close: Json = {"do": "close"}
    disturbed = [
        *made[:where],
        close,
        {"do": "no_spin"},
        *made[where:],
        close,
        close,
        spin(number),
        spin(number),
    ]
    assert settled(disturbed) == settled(plain)


@often
@given(bets(), st.lists(POCKETS, max_size=3))
def test_bets_left_at_the_end_are_pending_and_nothing_is_reported_twice(
    made: list[Json], numbers: list[str]
) -> None:
    requests = [*(spin(number) for number in numbers), *made]
    assert {line["status"] for line in settled(requests)} == {"pending"}
    told = Counter(line["id"] for line in settled([*made, *(spin(number) for number in numbers)]))
    assert set(told.values()) == {1}


WORDS = st.sampled_from([*RULES, "17", "0", "00", "a", "b", "p1", "", "zz"])
CENTS = st.integers(-5, 2000)
ARBITRARY = st.one_of(WORDS, CENTS, st.none(), st.booleans(), st.floats(), st.lists(WORDS, max_size=6))
REQUESTS = st.fixed_dictionaries(
    {"do": st.sampled_from(["bet", "close", "spin", "no_spin", "remove", "reduce", "increase", "roll"])},
    optional={
        "id": st.sampled_from(["a", "b", "c", ""]),
        "player": WORDS,
        "wager": WORDS,
        "amount": CENTS | ARBITRARY,
        "numbers": st.lists(WORDS, max_size=6),
        "which": st.integers(-1, 4) | ARBITRARY,
        "number": WORDS,
        "to": CENTS,
    },
)
FIELDS = {
    "bet": ("id", "player", "wager", "amount", "numbers", "which"),
    "spin": ("number",),
    "remove": ("id",),
    "reduce": ("id", "to"),
    "increase": ("id", "to"),
}


@settings(often, max_examples=150)
@given(bets(), st.lists(REQUESTS, max_size=12))
def test_no_requests_raise_anything_and_each_bet_ends_once(made: list[Json], requests: list[Json]) -> None:
    told = answer_all(
        RouletteBook(paytable(PRINTED)), [*made, *(keep(request, FIELDS) for request in requests)]
    )
    ended = ends(told)
    assert len(ended) == len(set(ended))
    assert {bet["id"] for bet in made} <= set(ended)
