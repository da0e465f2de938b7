"""The transition table of the High Roller machine, and the game's state between rolls."""

import msgspec

from controller.machines.flat import Arrow, MachineTable
from controller.model.conversion import converter_of
from controller.model.outcomes import Seat
from controller.rules.high_roller.rolls import BonusPot, BoughtCard, RollOff, clockwise_from

BUYING = ("buy_in", "re_buy")
ROLLING = ("elimination", "roll_off", "tied")

HIGH_ROLLER_TABLE = MachineTable(
    name="high_roller",
    initial="button_draw",
    states={
        "button_draw": "each player is dealt a card face up; the highest card (by default) gets the button",
        "buy_in": "players buy cards, the button first, and the dealer pitches them face up",
        "re_buy": "players buy further cards, one at a time",
        "elimination": "the button throws; players without a card that matches the total are out",
        "roll_off": "each remaining player rolls once for each matching card",
        "tied": "the players tied for the highest roll throw again, by default once each",
        "won": "the game is won; the winner must be paid",
    },
    triggers={
        "draw_button": "a player is dealt a card for the button",
        "button_placed": "the player with the best card gets the button",
        "buy": "a player buys cards, or passes",
        "re_buy": "a player buys one more card",
        "start_roll": "buying ends",
        "no_match": "nobody has a card that matches the total; the same player throws again",
        "survivors": "two or more players have a card that matches the total",
        "roll": "a roll after which more rolls are due",
        "decline": "a player skips a roll",
        "tie": "after the last roll, two or more players are tied for the highest roll",
        "win": "only one player matched, or one player rolled highest",
        "abandon": "the game is void and all stakes are returned",
        "next_game": "the winner is paid, the button moves on and buying begins",
    },
    arrows=(
        Arrow("draw_button", ("button_draw",), "button_draw"),
        Arrow("button_placed", ("button_draw",), "buy_in"),
        Arrow("buy", ("buy_in",), "buy_in"),
        Arrow("re_buy", BUYING, "re_buy"),
        Arrow("start_roll", BUYING, "elimination"),
        Arrow("no_match", ("elimination",), "elimination"),
        Arrow("survivors", ("elimination",), "roll_off"),
        Arrow("roll", ("roll_off",), "roll_off"),
        Arrow("roll", ("tied",), "tied"),
        Arrow("decline", ("roll_off",), "roll_off"),
        Arrow("decline", ("tied",), "tied"),
        Arrow("tie", ("roll_off", "tied"), "tied"),
        Arrow("win", ROLLING, "won"),
        Arrow("abandon", (*BUYING, *ROLLING), "buy_in"),
        Arrow("next_game", ("won",), "buy_in"),
    ),
    refusals={
        **{(state, "draw_button"): "button_stands" for state in (*BUYING, *ROLLING, "won")},
        **{(state, "button_placed"): "button_stands" for state in (*BUYING, *ROLLING, "won")},
        ("button_draw", "buy"): "no_button",
        ("re_buy", "buy"): "one_at_a_time",
        **{(state, "buy"): "buying_over" for state in ROLLING},
        ("won", "buy"): "not_now",
        ("button_draw", "re_buy"): "no_button",
        **{(state, "re_buy"): "buying_over" for state in ROLLING},
        ("won", "re_buy"): "not_now",
        ("button_draw", "start_roll"): "no_button",
        **{(state, "start_roll"): "buying_over" for state in ROLLING},
        ("won", "start_roll"): "no_game",
        **{
            (state, trigger): "not_now"
            for trigger in ("no_match", "survivors")
            for state in ("button_draw", *BUYING, "roll_off", "tied", "won")
        },
        **{
            (state, trigger): "not_now"
            for trigger in ("roll", "tie")
            for state in ("button_draw", *BUYING, "elimination", "won")
        },
        **{(state, "decline"): "no_roll_off" for state in ("button_draw", *BUYING, "elimination", "won")},
        **{(state, "win"): "not_now" for state in ("button_draw", *BUYING, "won")},
        ("button_draw", "abandon"): "no_game",
        ("won", "abandon"): "no_game",
        **{(state, "next_game"): "not_now" for state in ("button_draw", *BUYING, *ROLLING)},
    },
)


class HighRollerState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The game's state between throws, as stored in a recording's header.

    `seats` are the seats at the table, clockwise. Every other field that refers to a seat holds the seat's
    name as text. `draws` are the cards drawn for the button, and `redraw` the tied players who draw again.
    `cards` holds the totals that match each player's cards, and `owed` the number of cards bought but not yet
    pitched. `asked` is the last player who bought or passed in the buy-in. `gone` are the players who have
    left but keep their seats until the next game.
    """

    stage: str = "button_draw"
    seats: tuple[Seat, ...] = ()
    draws: dict[str, int] = {}
    redraw: tuple[str, ...] = ()
    button: str | None = None
    game: int = 1
    cards: dict[str, tuple[int, ...]] = {}
    owed: dict[str, int] = {}
    asked: str | None = None
    missed: int = 0
    """The maximum number of cards that have left the shoe without being assigned to a player.

    If it is not 0 and several players are owed cards, it is not clear who the next card is for.
    """
    gone: tuple[str, ...] = ()
    bonus_take: int = 0
    thrower: str | None = None
    """The player who throws the elimination roll; None for the button."""
    roll_off: RollOff | None = None
    pot: BonusPot = BonusPot()
    closing: bool = False
    final: bool = False
    over: bool = False
    """Whether the final game has been played, or the hours of operation have ended without one."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the seats, clockwise."""
        return tuple(map(str, self.seats))

    @property
    def clockwise(self) -> list[str]:
        """The names of the seats clockwise from the button or, if nobody has it, from the first seat."""
        return clockwise_from(self.button, self.names) if self.button in self.names else list(self.names)

    @property
    def holders(self) -> list[str]:
        """The players with cards, clockwise from the button."""
        return [seat for seat in self.clockwise if self.cards.get(seat)]

    @property
    def pitched_cards(self) -> list[BoughtCard]:
        """All cards pitched in this game, clockwise from the button."""
        return [
            BoughtCard(f"{seat}:{number}", seat, rank)
            for seat in self.clockwise
            for number, rank in enumerate(self.cards.get(seat, ()), 1)
        ]

    @property
    def sold(self) -> int:
        """The number of cards bought, pitched or not."""
        return sum(map(len, self.cards.values())) + sum(self.owed.values())

    def seat(self, name: str) -> Seat:
        """Return the seat with this name, in its original type."""
        return next((seat for seat in self.seats if str(seat) == name), name)

    def replace(self, **changes: object) -> "HighRollerState":
        """Return a copy of this state with these fields changed."""
        return msgspec.structs.replace(self, **changes)


as_high_roller_state = converter_of(HighRollerState)
"""Converts the JSON values of a recorded state to a HighRollerState."""
