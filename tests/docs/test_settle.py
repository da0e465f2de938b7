"""The page about `tablectl settle` matches the requests, the pay tables and the answers."""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from controller.cli.rules import settle_stream
from controller.games.craps.wagers.paytable import CrapsPayTable, rules_of
from controller.games.roulette.wagers.layout import RULES as ROULETTE
from controller.settings.paytables import load_paytable, open_book
from controller.settlement.book import Status

PAGE = (Path(__file__).parents[2] / "docs" / "settle.md").read_text(encoding="utf-8")
SHARED = {"increase", "reduce", "remove"}
GAMES = {
    "Craps": ("craps-12-034", "craps-v1"),
    "Roulette": ("roulette", "roulette-conventional"),
    "Three Card Poker": ("three-card-poker-12-014",),
    "High Roller": ("high-roller-12-005",),
}
Fields = tuple[frozenset[str], frozenset[str]]


def section(heading: str) -> str:
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def rows(heading: str, first: str) -> Iterator[list[str]]:
    """Yield the cells of each row of the table whose first column is headed `first`."""
    inside = False
    for line in section(heading).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif inside and not line.startswith("|---"):
            yield cells
        elif cells[0] == first:
            inside = True


def words(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`(\w+)`", cell))


def documented(heading: str) -> dict[str, Fields]:
    """Return each request with its fields and its optional fields, as documented."""
    found = {}
    for do, fields, optional, *_ in rows(heading, "do"):
        (name,) = words(do)
        found[name] = words(fields), words(optional)
    return found


def declared(ruleset: str) -> dict[str, Fields]:
    """Return each request with its fields and its optional fields, as the types declare them."""
    found = {}
    for kind in open_book(ruleset).vocabulary:
        fields = msgspec.structs.fields(kind)
        needed = frozenset(field.name for field in fields if field.required)
        found[str(kind.__struct_config__.tag)] = needed, frozenset(field.name for field in fields) - needed
    return found


@pytest.mark.parametrize(("heading", "ruleset"), [(game, name) for game in GAMES for name in GAMES[game]])
def test_every_request_is_on_the_page_with_its_fields(heading: str, ruleset: str) -> None:
    assert documented("Changing a bet") | documented(heading) == declared(ruleset)
    assert set(documented("Changing a bet")) == SHARED


def wagers(heading: str) -> set[str]:
    """Return the wagers that the page names for a game."""
    return {word for names, _ in rows(heading, "wagers") for word in words(names)}


def test_every_wager_is_on_the_page() -> None:
    c34, cv1 = (set(rules_of(load_paytable(name, CrapsPayTable))) for name in GAMES["Craps"])
    assert wagers("Craps") == c34 | cv1
    only = re.search(r"Craps Version 1 has no (.*); Craps 12 034 has no (.*)\.", section("Craps"))
    assert only is not None
    assert (set(words(only[1])), set(words(only[2]))) == (c34 - cv1, cv1 - c34)
    assert wagers("Roulette") == set(ROULETTE)
    assert wagers("Three Card Poker") == {"ante", "pair_plus", "side", "play"}
    assert wagers("High Roller") == {"card"}


def test_every_status_is_on_the_page() -> None:
    assert [name for status, _ in rows("Answers", "status") for name in words(status)] == [*get_args(Status)]


def test_the_example_gives_the_result_on_the_page() -> None:
    asked, answered = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    out = io.BytesIO()
    assert settle_stream(io.BytesIO(asked.encode()), out, io.StringIO(), "craps-12-034") == 0
    assert out.getvalue().decode() == answered
