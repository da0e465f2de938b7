"""Properties of a High Roller table under random purchases and throws."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from controller.games.high_roller.wagers.book import HighRollerBook
from controller.settlement.run import settle
from tests.games.high_roller.wagers.scene import paytable
from tests.settlement.arbitrary import answer_all, ends, keep

Json = Mapping[str, object]

often = settings(max_examples=80, derandomize=True, deadline=None)
SEATS = ("1", "2", "3", "4")
DICE = st.tuples(st.integers(1, 6), st.integers(1, 6))


@st.composite
def openings(draw: st.DrawFn) -> list[Json]:
    """Draw a game, and cards of few ranks (so that some match) for at least two players."""
    button, take = draw(st.sampled_from(SEATS)), draw(st.integers(0, 200))
    final = draw(st.booleans())
    owners = draw(
        st.lists(st.sampled_from(SEATS), min_size=2, max_size=9).filter(lambda some: len(set(some)) > 1)
    )
    game: Json = {"do": "game", "seats": SEATS, "button": button, "bonus_take": take, "final": final}
    return [game] + [
        {"do": "bet", "id": f"c{number}", "player": owner, "card": str(draw(st.integers(6, 8)))}
        for number, owner in enumerate(owners)
    ]


def throws(dice: Sequence[tuple[int, int]]) -> list[Json]:
    return [{"do": "throw", "dice": thrown} for thrown in dice]


def settled(requests: Sequence[Json]) -> list[dict[str, object]]:
    lines = [json.dumps(request).encode() for request in requests]
    return [json.loads(line) for line in b"".join(settle(lines, HighRollerBook(paytable()))).splitlines()]


def cents(line: Json, key: str) -> int:
    value = line[key]
    assert isinstance(value, int)
    return value


def winner_of(opening: Sequence[Json], dice: Sequence[tuple[int, int]]) -> tuple[str, int] | None:
    """Play a game by the document's text alone; return the winner and the number of throws."""
    seats = [
        *SEATS[SEATS.index(str(opening[0]["button"])) :],
        *SEATS[: SEATS.index(str(opening[0]["button"]))],
    ]
    totals = [sum(thrown) for thrown in dice]
    cards = [(str(card["player"]), int(str(card["card"]))) for card in opening[1:]]
    first = next((n for n, total in enumerate(totals) if any(rank == total for _, rank in cards)), None)
    if first is None:
        return None
    rolls = Counter(player for player, rank in cards if rank == totals[first])
    used = first + 1
    left = sorted(rolls, key=lambda player: (-rolls[player], seats.index(player)))
    while len(left) > 1:
        best = {}
        for player in left:
            mine = totals[used : used + rolls[player]]
            if len(mine) < rolls[player]:
                return None
            best[player], used = max(mine), used + rolls[player]
        left = [player for player in left if best[player] == max(best.values())]
        rolls = Counter(left)
    return left[0], used


@settings(often, max_examples=200)
@given(openings(), st.lists(DICE, max_size=30))
def test_the_winner_follows_the_text_and_nothing_is_decided_before(
    opening: list[Json], dice: list[tuple[int, int]]
) -> None:
    told = settled([*opening, *throws(dice)])
    expected = winner_of(opening, dice)
    if expected is None:
        assert {line["status"] for line in told} == {"pending"}
        return
    winner, used = expected
    (money,) = (line for line in told if line.get("wager") == "pot")
    assert money["winner"] == winner
    before = settled([*opening, *throws(dice[: used - 1])])
    assert {line["status"] for line in before} == {"pending"}


@often
@given(
    st.lists(st.tuples(openings(), st.lists(DICE, max_size=25)), min_size=1, max_size=6), st.integers(0, 2)
)
def test_every_cent_is_accounted_for(
    games: list[tuple[list[Json], list[tuple[int, int]]]], players: int
) -> None:
    requests: list[Json] = []
    for number, (opening, dice) in enumerate(games):
        requests += [
            opening[0],
            *({**card, "id": f"{number}-{card['id']}"} for card in opening[1:]),
            *throws(dice),
        ]
    bought = {str(request["id"]) for request in requests if request["do"] == "bet"}
    told = settled([*requests, {"do": "end", "players": players}])
    if told[-1]["status"] == "pending":
        assert refusals(told) == ["H-CLOSE-1"]
        told = settled([*requests, {"do": "void"}, {"do": "end", "players": players}])
    cards = [line for line in told if line.get("wager") == "card"]
    assert Counter(str(line["id"]) for line in cards) == Counter(bought)
    pots = [line for line in told if line.get("wager") == "pot"]
    for line in pots:
        assert cents(line, "gross") == sum(cents(line, part) for part in ("rake", "bonus", "prize"))
        assert cents(line, "rake") * 10 == cents(line, "gross")
    decided = [line for line in cards if line["status"] in ("win", "lose")]
    assert sum(cents(line, "stake") for line in decided) == sum(cents(line, "gross") for line in pots)
    returned = sum(cents(line, "returned") for line in decided)
    assert returned == sum(cents(line, "prize") + cents(line, "bonus_paid") for line in pots)
    saved = sum(cents(line, "bonus") - cents(line, "bonus_paid") for line in pots)
    recorded = [cents(line, "rake") for line in told if line.get("do") == "end"]
    assert recorded == ([saved] if saved and players < 2 else [])


def refusals(answer: Sequence[Json]) -> list[object]:
    return [line["rule"] for line in answer if line.get("do") == "end"]


WORDS = st.sampled_from(["1", "2", "3", "J", "Q", "K", "7", "a", "", "card"])
NUMBERS = st.integers(-2, 13)
ARBITRARY = st.one_of(WORDS, NUMBERS, st.none(), st.booleans(), st.floats(), st.lists(WORDS, max_size=4))
REQUESTS = st.fixed_dictionaries(
    {
        "do": st.sampled_from(
            ["game", "bet", "throw", "throw", "illegal", "decline", "end", "remove", "increase"]
        )
    },
    optional={
        "id": st.sampled_from(["a", "b", "c", "game:1", ""]),
        "player": st.sampled_from(SEATS) | ARBITRARY,
        "card": WORDS | NUMBERS,
        "amount": st.sampled_from([100, 200]) | ARBITRARY,
        "wager": WORDS,
        "dice": DICE,
        "seats": st.lists(WORDS, max_size=3),
        "button": WORDS,
        "bonus_take": st.integers(-1, 300),
        "final": st.booleans(),
        "players": NUMBERS,
        "to": NUMBERS,
        "reason": WORDS,
    },
)
FIELDS = {
    "game": ("seats", "button", "bonus_take", "final"),
    "bet": ("id", "player", "card", "wager", "amount"),
    "throw": ("dice", "player"),
    "illegal": ("player", "reason"),
    "decline": ("player",),
    "end": ("players",),
    "remove": ("id",),
    "increase": ("id", "to"),
}


@settings(often, max_examples=150)
@given(openings(), st.lists(REQUESTS, max_size=25))
def test_no_requests_raise_anything_and_each_card_ends_once(
    opening: list[Json], requests: list[Json]
) -> None:
    absurd = [keep(request, FIELDS) for request in requests]
    ended = ends(answer_all(HighRollerBook(paytable()), [*opening, *absurd]))
    assert len(ended) == len(set(ended))
    assert {card["id"] for card in opening[1:]} <= set(ended)
