"""The inputs that each role may enter, and the catalogue of refusals with stable codes and messages.

A refused input changes nothing. The refusal is published as `input.refused`, with its code as the cause.
"""

from controller.machines.flat import InputRefused
from controller.model.readings import Input
from controller.model.rulesets import RuleSet

REFUSALS: dict[str, str] = {
    "already_cleared": "the dice of this throw have already been collected",
    "already_closed": "the table is already closed",
    "already_locked": "the table is already locked; unlock it once the cause is fixed",
    "already_open": "the table is already open",
    "already_settled": "a settled outcome can't be changed; handle it as a dispute",
    "already_testing": "test mode is already on; switch it off when done",
    "already_void": "this attempt is already void; enter the result if the attempt should count",
    "attempt_open": "an attempt is still undecided; wait for the call or rule on it first",
    "bad_argument": "the input's argument is missing or invalid; enter it again",
    "bets_closed": "bets are already closed",
    "bets_open": "bets are already open",
    "button_first": "the button buys first; enter that purchase, or 0 cards for a pass",
    "button_stands": "the button has been placed; it moves on automatically from game to game",
    "button_tied": "players are tied for the button; those players draw again",
    "buying_over": "the game has started, so buying is over; buy cards for the next game",
    "card_late": "a card was reported too late to be assigned; check it and enter it with set_card",
    "card_not_bought": "no player is owed this card; take it back, or enter its purchase first",
    "card_unread": "a card could not be read; enter it with set_card",
    "cards_owed": "cards that were bought have not been pitched yet; pitch or enter them first",
    "confirmed_already": "this role has already confirmed that wager; the other role must still confirm it",
    "colour_taken": "another player's chips or the value chips already have that colour; choose another",
    "dice_at_rest": "the dice might be at rest, so it is too late to confirm wagers; bet on the next roll",
    "final_game_due": "two or more players are left; play the final game first",
    "final_game_over": "play has ended for the day; open the table again on the next day of play",
    "game_running": "a game is being played; finish it first",
    "has_acted": "this position has already played or folded; only staff can change that",
    "has_drawn": "this player has already drawn for the button; only players tied for the best card may"
    " draw again",
    "impossible_call": "this call is not possible in this phase of the game",
    "input_late": "the input arrived too late and changed nothing; enter it again if it still applies",
    "must_roll": "this roll can't be skipped; every player must roll at least once, and again after a tie",
    "no_attempt": "no attempt is open to a ruling; an attempt interrupted by a power cut can only be voided",
    "no_button": "nobody has the button; first draw one card for each player to decide who gets it",
    "no_change": "nothing would change; what was entered already applies",
    "no_deal": "no cards are out; play, fold and set_card are for a deal in progress",
    "no_late_wager": "no wager with this id awaits confirmation; a late wager must be entered while the dice"
    " are out",
    "no_game": "no game is being played; sell cards first",
    "no_roll_off": "only rolls in the roll-off can be skipped",
    "not_called_yet": "the attempt has not been called yet; wait for the call",
    "not_held": "no call is being held",
    "not_locked": "the table is not locked, so there is nothing to unlock",
    "not_now": "the round is at another stage; this is not the next step",
    "not_offered": "this rule set does not offer this input",
    "not_ready": "the table's self-test has not passed; see `tablectl status`",
    "not_ruled_yet": "the attempt is under review; rule on it first",
    "not_technicians": "technicians can't rule on attempts; call the dealer or a supervisor",
    "not_theirs": "a different staff role decides this; have a person with that role enter it",
    "not_staff": "only the table's staff may do this; call the dealer",
    "not_testing": "test mode is already off",
    "not_your_turn": "it is another player's turn to roll; see the order on the display",
    "nothing_to_accept": "nothing is proposed; enter the result or declare the attempt void instead",
    "nothing_to_clear": "there are no dice to collect",
    "nothing_to_inspect": "nothing awaits this inspection",
    "nothing_to_settle": "there is no result to settle",
    "play_asked": "Play was requested here; if it was not granted, the dealer folds this position",
    "played": "this position has a Play wager; enter play, or call a misdeal if Play was not intended",
    "one_at_a_time": "cards are bought one at a time in the re-buy; enter one card",
    "order_broken": "a card was missed, so it is unclear who gets the later cards; call a misdeal",
    "other_attempt": "the ruling names a different attempt from the one it would apply to; check the number,"
    " then enter it again",
    "over_limit": "a player may not buy that many cards in one game; enter fewer",
    "result_not_in": "there is no result yet; wait until everything is at rest, then enter it",
    "run_out_needs_come_out": "a run-out starts on a come-out roll; wait until the point is decided",
    "same_person": "two different people must confirm a late wager; have the second person sign in and do so",
    "sold_out": "the shoe does not have that many cards left; enter fewer",
    "table_closed": "the table is closed; open it first",
    "table_locked": "the table is locked; fix the cause and unlock it first",
    "table_open": "the table is open; close it first",
    "testing": "the table is in test mode, which accepts no other input; switch it off first",
    "too_few_players": "a game needs two or more players with cards; sell cards first",
    "too_many_positions": "that player would have too many positions; enter fewer, or a different player",
    "turn_passed": "the buy-in has passed this seat; the player may buy in the re-buy",
    "under_way": "an attempt is in progress; wait until it is decided",
    "unknown_input": "this game has no such input",
    "which_spin": "a spin might have been missed; name the spin that the ruling is for",
}
"""For each code, the message that says why the input was refused and what to do next."""


PLAYER_ROLES = frozenset({"player", "shooter", "guest"})
"""Roles that may not rule on attempts, or open or lock a table. All other roles are staff."""
PLAYER_INPUTS = frozenset({"pass_dice", "play", "fold", "decline", "buy", "leave"})
"""Inputs that players may enter."""
SETTLEMENT_INPUTS = frozenset({"line_bet", "pair_plus", "late_wager", "play_asked", "played"})
"""Inputs about wagers. Only the settlement engine may enter them."""
LATE_WAGER_CONFIRMERS = ("dealer", "boxperson")
"""The roles that must both confirm a late wager (C34-MK-1b)."""
RULINGS = frozenset(
    {"accept", "void", "no_roll", "set_dice", "no_spin", "set_number", "misdeal", "set_card", "play", "fold"}
)
"""Inputs that decide an attempt or a part of it. A technician may not enter them."""
_MAY_NOT_SET_FACES = {
    "boxperson": frozenset({"dealer", "stickperson"}),
    "dealer": frozenset({"stickperson"}),
}
"""For each role that can be the one to decide the faces, the staff roles that may not set them (C34-PT-3)."""


def require_role(entered: Input, rules: RuleSet) -> None:
    """Raise InputRefused if the input's role may not enter it."""
    if entered.by in PLAYER_ROLES and entered.name not in PLAYER_INPUTS:
        raise InputRefused("not_staff")
    if entered.by == "technician" and entered.name in RULINGS:
        raise InputRefused("not_technicians")
    if entered.name == "confirm_late" and entered.by not in LATE_WAGER_CONFIRMERS:
        raise InputRefused(
            "not_theirs", "a dealer and a boxperson must each confirm a late wager; have them do so"
        )
    faces_by = "dealer" if rules.throw is None else rules.throw.faces_by
    if entered.name == "set_dice" and entered.by in _MAY_NOT_SET_FACES[faces_by]:
        message = f"the {faces_by} calls the dice, not the {entered.by}; have the {faces_by} enter the faces"
        raise InputRefused("not_theirs", message)
