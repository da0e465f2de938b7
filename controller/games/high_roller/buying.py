"""The steps of High Roller other than the rolls: the button, the cards, players who leave, and closing.

The functions are pure. A function that performs an action returns the game's new state or raises
InputRefused.
"""

from controller.games.high_roller.table import BUYING, ROLLING, HighRollerState
from controller.machines.flat import InputRefused
from controller.model.outcomes import CardPitched, CardsBought, Seat
from controller.model.readings import Card, Input
from controller.model.rulesets import HighRollerRules
from controller.rules.high_roller.rolls import CARDS_PER_DECK, CARDS_PER_RANK, BonusPot, rank_of


def rank_entered(card: str | int | None, what: str) -> int:
    """Return the total that matches a card such as `Qh`, `Q` or `12`. Raise InputRefused if none matches."""
    rank = None if card is None else _rank_of(card)
    if rank is None:
        raise InputRefused(
            "bad_argument", f"{what} needs a card from 2 to Queen, or a number from 2 to 12; enter it again"
        )
    return rank


def rank_dealt(card: Card) -> int:
    """Return the total that matches a card from the shoe.

    Raise InputRefused if the shoe did not read the card, or if no total matches it.
    """
    if card.rank is None:
        raise InputRefused("card_unread")
    rank = _rank_of(card.rank)
    if rank is None:
        raise InputRefused(
            "card_unread",
            f"found the card {card.rank} from the shoe, expected 2 to Queen; check the card and enter it with"
            " set_card",
        )
    return rank


def _rank_of(card: str | int) -> int | None:
    text = str(card).strip().upper()
    return rank_of(text) or (rank_of(text[:-1]) if text[-1:] in ("C", "D", "H", "S") else None)


def seat_name(seat: Seat | None, what: str) -> str:
    """Return a seat's name. Raise InputRefused if no seat is given."""
    if seat is None or not str(seat):
        raise InputRefused("bad_argument", f"{what} needs a seat; enter it again")
    return str(seat)


def seated(state: HighRollerState, seat: Seat | None, what: str) -> tuple[HighRollerState, str]:
    """Seat a player if necessary; return the state and the seat's name.

    Raise InputRefused if no seat is given.
    """
    name = seat_name(seat, what)
    if name in state.names:
        return state, name
    seats = sorted((*state.seats, seat), key=lambda s: (not str(s).isdecimal(), len(str(s)), str(s)))
    return state.replace(seats=tuple(seats)), name


def draw(state: HighRollerState, seat: Seat | None, rank: int, rules: HighRollerRules) -> HighRollerState:
    """Record a player's card for the button. Players tied for the best card draw again (H-BTN-1, !H-9)."""
    state, name = seated(state, seat, "draw_button")
    if state.redraw:
        if name not in state.redraw:
            raise InputRefused("has_drawn", f"only seats {', '.join(state.redraw)} draw again for the button")
        if name not in state.draws:
            return state.replace(draws={**state.draws, name: rank})
    elif name not in state.draws:
        return state.replace(draws={**state.draws, name: rank})
    tied = _best(state, rules)
    if name not in tied or len(tied) < 2 or _still_to_draw(state):
        raise InputRefused("has_drawn")
    return state.replace(redraw=tied, draws={name: rank})


def place_button(state: HighRollerState, rules: HighRollerRules) -> HighRollerState:
    """Give the button to the player with the highest card, or the lowest if so configured (H-BTN-1, !H-9).

    Raise InputRefused if no card has been drawn or if players are tied.
    """
    if not state.draws:
        raise InputRefused("no_button")
    tied = _still_to_draw(state) or _best(state, rules)
    if len(tied) > 1 or _still_to_draw(state):
        seats = " and ".join(f"seat {name}" for name in tied)
        raise InputRefused("button_tied", f"there is a tie for the button; {seats} must draw again")
    return state.replace(stage="buy_in", button=tied[0], draws={}, redraw=())


def _best(state: HighRollerState, rules: HighRollerRules) -> tuple[str, ...]:
    best = (max if rules.button_to == "highest" else min)(state.draws.values())
    return tuple(seat for seat, rank in state.draws.items() if rank == best)


def _still_to_draw(state: HighRollerState) -> tuple[str, ...]:
    return tuple(seat for seat in state.redraw if seat not in state.draws)


def is_re_buy(state: HighRollerState, name: str) -> bool:
    """Return whether a purchase is a re-buy.

    It is one if the re-buy has begun, or if the buy-in has passed the player's seat and all cards bought have
    been pitched.
    """
    if state.stage == "re_buy":
        return True
    order = state.clockwise
    passed = name in order and state.asked in order and order.index(name) <= order.index(state.asked)
    return passed and bool(state.cards) and not state.owed


def buy(state: HighRollerState, seat: Seat | None, count: int, rules: HighRollerRules) -> HighRollerState:
    """Sell cards in the buy-in, clockwise from the button (H-BTN-2). A count of 0 is a pass."""
    state, name = seated(state, seat, "buy")
    order = state.clockwise
    if state.asked is None and name != state.button:
        raise InputRefused("button_first", f"the button, seat {state.button}, buys or passes first (H-BTN-2)")
    if state.asked is not None and state.asked in order and order.index(name) <= order.index(state.asked):
        raise InputRefused("turn_passed")
    return _sold(state, name, count, rules).replace(asked=name)


def buy_again(
    state: HighRollerState, seat: Seat | None, count: int, rules: HighRollerRules
) -> HighRollerState:
    """Sell a card in the re-buy (H-REBUY-1). The button buys or passes first (H-BTN-2), unless it has left.

    A count of 0 is a pass.
    """
    state, name = seated(state, seat, "buy")
    if state.stage != "re_buy" and name != state.button and state.button not in state.gone:
        raise InputRefused("button_first", f"the button, seat {state.button}, buys or passes first (H-BTN-2)")
    if count > 1:
        raise InputRefused("one_at_a_time")
    if state.owed:
        raise InputRefused("cards_owed", _owed_to(state))
    return _sold(state, name, count, rules).replace(stage="re_buy")


def _sold(state: HighRollerState, name: str, count: int, rules: HighRollerRules) -> HighRollerState:
    if count < 0:
        raise InputRefused(
            "bad_argument", f"buy: found {count} cards, expected 1 or more, or 0 to pass; enter it again"
        )
    held = len(state.cards.get(name, ())) + state.owed.get(name, 0)
    if held + count > rules.cards_per_player:
        most = rules.cards_per_player
        message = f"seat {name} has {held} of at most {most} cards in this game (H-CAP-1); enter fewer"
        raise InputRefused("over_limit", message)
    if state.sold + count > rules.decks * CARDS_PER_DECK:
        left = rules.decks * CARDS_PER_DECK - state.sold
        raise InputRefused(
            "sold_out",
            f"found a purchase of {count}, expected at most {left}, the number of cards left in the decks"
            " (!H-8); enter fewer",
        )
    if not count:
        return state
    final = state.final if state.sold else state.closing
    owed = {**state.owed, name: state.owed.get(name, 0) + count}
    gone = tuple(seat for seat in state.gone if seat != name)
    return state.replace(owed=owed, final=final, gone=gone)


def pitch(
    state: HighRollerState, seat: Seat | None, rank: int, rules: HighRollerRules
) -> tuple[HighRollerState, str]:
    """Pitch a card to `seat` or, for None, to the first player clockwise who is owed a card (H-DEAL-1).

    Return the new state and the player's name. Raise InputRefused if that player is not owed a card, if
    nobody is owed one, or if no card of this rank is left.
    """
    first = next((name for name in state.clockwise if state.owed.get(name)), None)
    name = first if seat is None else str(seat)
    if name is None or not state.owed.get(name) or state.stage not in BUYING:
        raise InputRefused("card_not_bought")
    _require_left_in_decks(state, rank, rules)
    less = {each: count - (each == name) for each, count in state.owed.items()}
    owed = {each: count for each, count in less.items() if count}
    cards = {**state.cards, name: (*state.cards.get(name, ()), rank)}
    return state.replace(owed=owed, cards=cards, missed=state.missed if owed else 0), name


def require_known_player(state: HighRollerState, card: Card) -> None:
    """Raise InputRefused if the card's player is unknown, for example because an earlier card was missed."""
    if card.to is None and state.stage == "button_draw":
        raise InputRefused(
            "card_unread",
            "a card from the shoe needs a seat when players draw for the button; enter it with draw_button",
        )
    if card.to is None and state.missed and len(state.owed) > 1:
        raise InputRefused(
            "order_broken", "an earlier card was missed; enter both cards with set_card, each with its seat"
        )


def miss_cards(state: HighRollerState, cards: int = 1) -> HighRollerState:
    """Record that up to this many cards have left the shoe without being assigned to a player.

    The next card's player might then be unknown.
    """
    owed = sum(state.owed.values())
    return state.replace(missed=min(state.missed + cards, owed)) if owed else state


def enter_missed_card(state: HighRollerState) -> HighRollerState:
    """Record that a person has entered a missed card."""
    return state.replace(missed=max(0, state.missed - 1))


def bought(state: HighRollerState, entered: Input, count: int) -> CardsBought:
    """Return the data of a purchase."""
    player = state.seat(str(entered.seat))
    return CardsBought(game=state.game, player=player, count=count, by=entered.by, who=entered.who)


def pitched(
    state: HighRollerState, seen: Card | Input, name: str, rank: int, replaced: int | None
) -> CardPitched:
    """Return the data of a card pitched to its player."""
    by, who = (seen.by, seen.who) if isinstance(seen, Input) else ("shoe", None)
    player = state.seat(name)
    return CardPitched(game=state.game, player=player, card=rank, replaces=replaced, by=by, who=who)


def _require_left_in_decks(state: HighRollerState, rank: int, rules: HighRollerRules) -> None:
    """Raise InputRefused if all cards of this rank have already been dealt (H-EQ-1)."""
    maximum = rules.decks * CARDS_PER_RANK
    if sum(held.count(rank) for held in state.cards.values()) >= maximum:
        dealt = f"all {maximum} cards that match {rank} in {rules.decks} decks have been dealt (H-EQ-1)"
        raise InputRefused("sold_out", f"{dealt}; check the card")


def replace_card(
    state: HighRollerState, seat: Seat | None, rank: int, replaced: int, rules: HighRollerRules
) -> HighRollerState:
    """Replace a card that was misread or entered incorrectly. This is possible only during buying."""
    name = str(seat)
    held = list(state.cards.get(name, ()))
    if seat is None or replaced not in held or state.stage not in BUYING:
        raise InputRefused(
            "bad_argument",
            "set_card can replace only a card that the given seat holds, and only during buying;"
            " check the card and the seat",
        )
    if rank != replaced:
        _require_left_in_decks(state, rank, rules)
    held[held.index(replaced)] = rank
    return state.replace(cards={**state.cards, name: tuple(held)})


def bonus_take(entered: int | None, rules: HighRollerRules) -> int:
    """Return the amount, in cents, that a game pays into the Bonus Pot (!H-6).

    An entered amount replaces the configured one. Raise InputRefused if it is out of range.
    """
    take = rules.bonus_take_cents if entered is None else entered
    if not 0 <= take <= rules.bonus_most_cents:
        maximum = rules.bonus_most_cents
        raise InputRefused(
            "bad_argument", f"found {take} cents for the Bonus Pot, expected 0 to {maximum}; enter it again"
        )
    return take


def require_ready(state: HighRollerState) -> None:
    """Raise InputRefused if cards are being bought and the game can't start yet.

    At least two players must have cards, and all bought cards must have been pitched (H-START-1).
    """
    if state.stage not in BUYING:
        return
    if state.owed:
        raise InputRefused("cards_owed", _owed_to(state))
    if len(state.holders) < 2:
        raise InputRefused("too_few_players")


def no_roll_due(state: HighRollerState) -> InputRefused | None:
    """Return the reason for rejecting dice thrown now; None if a roll is due."""
    if state.stage in ROLLING:
        return None
    if state.stage not in BUYING:
        return InputRefused("no_button" if state.stage == "button_draw" else "no_game")
    try:
        require_ready(state)
    except InputRefused as refused:
        return refused
    return None


def leave(state: HighRollerState, name: str) -> HighRollerState:
    """Record that a player has left. The player's cards stay in the game (!H-19).

    Raise InputRefused if no player at the table has this seat.
    """
    if name not in state.names or name in state.gone:
        seats = ", ".join(other for other in state.names if other not in state.gone)
        raise InputRefused(
            "bad_argument",
            f"leave: found seat {name}, expected the seat of a player at the table ({seats or 'no players'});"
            " enter it again",
        )
    if state.cards.get(name) or state.owed.get(name) or state.stage not in (*BUYING, "button_draw"):
        return state.replace(gone=(*state.gone, name))
    return unseated(state, (name,))


def unseated(state: HighRollerState, left: tuple[str, ...]) -> HighRollerState:
    """Remove the seats in `left`. The button moves on if the player with the button leaves.

    If no seats remain, the next players draw for the button.
    """
    stay = tuple(seat for seat in state.seats if str(seat) not in left)
    button = next((name for name in state.clockwise if name not in left), None) if state.button else None
    last_asked = state.asked
    if last_asked in left:
        before = state.clockwise[: state.clockwise.index(last_asked)]
        last_asked = next((name for name in reversed(before) if name not in left), None)
    return state.replace(
        stage="button_draw" if not stay else state.stage,
        seats=stay,
        button=button,
        asked=last_asked,
        draws={name: rank for name, rank in state.draws.items() if name not in left},
        redraw=tuple(name for name in state.redraw if name not in left),
        gone=tuple(name for name in state.gone if name not in left),
    )


def next_game(state: HighRollerState, *, button_moves: bool) -> HighRollerState:
    """Return the state for the next game. The button moves clockwise (H-BTN-3), except after a void game."""
    order = state.clockwise
    button = order[1] if button_moves and len(order) > 1 else state.button
    fresh = state.replace(
        stage="buy_in",
        game=state.game + 1,
        button=button,
        cards={},
        owed={},
        missed=0,
        asked=None,
        roll_off=None,
        bonus_take=0,
        thrower=None,
        final=False,
    )
    return unseated(fresh, state.gone) if state.gone else fresh


def _owed_to(state: HighRollerState) -> str:
    owed = ", ".join(f"{count} to seat {name}" for name, count in state.owed.items())
    return f"cards that were bought have not been pitched yet ({owed}); pitch or enter them first"


def close_hours(state: HighRollerState, count: int | None) -> HighRollerState:
    """Record that the hours of operation end in 15 minutes (H-CLOSE-1) or have ended.

    The first entry without `count` announces the last 15 minutes. Any other entry ends the hours. `count` is
    the number of players left; by default, the players at the table are counted. With fewer than two players,
    there is no final game for the Bonus Pot (H-CLOSE-2).

    Raise InputRefused if the final game has been played or the hours have already ended, or if the entry
    would end the hours while a game is in progress or two or more players are left.
    """
    if state.over:
        raise InputRefused("final_game_over")
    if count is None and not state.closing:
        return state.replace(closing=True)
    if state.sold and state.stage != "won":
        raise InputRefused("game_running")
    left = len(state.seats) - len(state.gone) if count is None else count
    if left >= 2:
        raise InputRefused("final_game_due")
    return state.replace(closing=True, over=True, pot=BonusPot())
