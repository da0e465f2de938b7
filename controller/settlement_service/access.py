"""Who may do what at the HTTP API: a table of deeds and roles."""

from collections.abc import Mapping
from typing import Literal

Role = Literal["staff", "player", "reader"]
Reach = Literal["nothing", "own", "all"]
Deed = Literal[
    "account",
    "alarms",
    "bet",
    "bets",
    "change",
    "deposit",
    "open_account",
    "results",
    "rounds",
    "tables",
    "take_seat",
    "wager",
    "withdraw",
]

ACCESS: Mapping[Deed, Mapping[Role, Reach]] = {
    "account": {"staff": "all", "player": "own", "reader": "all"},
    "alarms": {"staff": "all", "player": "nothing", "reader": "all"},
    "bet": {"staff": "all", "player": "own", "reader": "nothing"},
    "bets": {"staff": "all", "player": "own", "reader": "nothing"},
    "change": {"staff": "all", "player": "own", "reader": "nothing"},
    "deposit": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "open_account": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "results": {"staff": "all", "player": "own", "reader": "all"},
    "rounds": {"staff": "all", "player": "nothing", "reader": "all"},
    "tables": {"staff": "all", "player": "nothing", "reader": "all"},
    "take_seat": {"staff": "all", "player": "nothing", "reader": "nothing"},
    "wager": {"staff": "all", "player": "own", "reader": "all"},
    "withdraw": {"staff": "all", "player": "nothing", "reader": "nothing"},
}
"""How far each role reaches: `own` is the one account that the token is for, its wagers and its seats."""
