"""Rule sets, which express the rule documents as settings of the judges and the game machines.

Rule sets are frozen dataclasses, so the core needs no configuration library. `controller.settings` loads them
from `config/rulesets/*.yaml`, where the comment beside each value states the rule or the reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Gt, Le, MinLen

Positive = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1)]
Cents = Annotated[int, Ge(0), Le(10**6)]
NonEmpty = Annotated[str, MinLen(1)]

Calls = Literal["automatic", "confirm"]
"""Who makes the calls: the controller, or a person who confirms the controller's proposals."""

ThrowCause = Literal[
    "not_simultaneous",
    "no_wall_hit",
    "off_table",
    "stacked",
    "on_bank",
    "in_cup",
    "on_rail",
    "cocked",
    "foreign_contact",
    "one_die_thrown",
    "called",
    "cheating",
    "disputed",
    "low_confidence",
    "conflict",
    "missing_reading",
    "wall_unclear",
    "power_lost",
    "unruled",
]
"""The causes of a No Roll or a review. A rule set names the rule for each cause."""

SpinCause = Literal[
    "same_direction",
    "too_few_revolutions",
    "foreign_object",
    "ball_out",
    "rotor_reversed",
    "called",
    "late_close",
    "missing_reading",
    "conflict",
    "revolutions_unclear",
    "power_lost",
    "unruled",
]
"""The causes of a No Spin or a review. A rule set names the rule for each cause."""

DealCause = Literal[
    "wrong_count",
    "card_twice",
    "shoe_opened",
    "called",
    "cheating",
    "disputed",
    "unread_card",
    "missing_reading",
    "conflict",
    "power_lost",
    "unruled",
]
"""The causes of a void deal or a review. A rule set names the rule for each cause."""

THROW_CAUSES: tuple[str, ...] = get_args(ThrowCause)
SPIN_CAUSES: tuple[str, ...] = get_args(SpinCause)
DEAL_CAUSES: tuple[str, ...] = get_args(DealCause)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorErrors:
    """The errors of a table's dice sensors, as one standard deviation unless stated otherwise."""

    track_noise_mm: Positive = 2.0
    """The error of a track point, along x and along y."""
    impact_position_mm: Positive = 25.0
    """The error of an impact's position along its wall."""
    impact_delay_ms: tuple[NotNegative, NotNegative] = (0.5, 2.0)
    """The minimum and maximum delay from a hit to the timestamp of its impact reading."""
    ringing_ms: NotNegative = 12.0
    """A second impact at a sensor within this time might be the ringing of the first."""
    frame_ms: Positive = 11.1
    """The time between camera frames."""
    hit_counts_per_m_s: Positive = 300.0
    """The initial ratio of an impact's peak (counts) to the change in the die's velocity (m/s).

    The table then learns the ratio from hits.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowRules:
    """The rules that decide whether a throw of two dice counts."""

    wall: Literal["end", "far", "any"]
    """The wall that the dice must hit: an end wall, the wall farthest from the shooter, or any wall."""
    far_wall_required: bool = False
    """With `wall: end`, whether the far end wall is required (!34-11).

    If it is, a hit on the near end wall does not count. Otherwise, such a hit causes a notice.
    """
    missed_wall: Literal["no_roll", "warn"] = "no_roll"
    """The result if a die misses the wall: an immediate No Roll, or first a warning (CV1-SHOOT-4)."""
    warnings: Annotated[int, Ge(0)] = 0
    """With `missed_wall: warn`, the number of warnings given to a shooter before a throw without a hit is
    void."""
    objects: Literal["ignore", "cards_only"] = "ignore"
    """The treatment of contact with objects on the table.

    With `ignore`, contact never causes a No Roll or a review (C34-INV-3). With `cards_only`, only contact
    with cards is allowed (H-LEGAL-3).
    """
    loose_chips: Literal["review", "no_roll", "ignore"] = "review"
    """With `objects: cards_only`, the result if a die touches or rests on loose chips (!H-14)."""
    aslant: Literal["no_roll", "review"] = "no_roll"
    """The result if a die is stacked or cocked: an immediate No Roll, or a review (!H-15)."""
    simultaneous_ms: Positive = 150.0
    """Dice released within this time of each other are treated as leaving the hand together."""
    parted: Literal["no_roll", "notice"] = "no_roll"
    """The result if the dice do not leave the hand together: a No Roll, or a notice.

    H-ROLL-1 does not require the dice to leave the hand together.
    """
    stagger_notice_ms: NotNegative = 50.0
    """Releases at least this far apart in time cause a notice."""
    settle_timeout_s: Positive = 8.0
    """The maximum time from a throw's first release to its decision."""
    call_hold_ms: NotNegative = 250.0
    """The time for which an automatic call is held, so that a spoken No Roll still counts."""
    unwatched_ms: Positive = 500.0
    """A die that is out of sight for longer than this might have left the table or been turned by hand."""
    min_confidence: Share = 0.6
    """The minimum confidence of a face that counts."""
    faces_by: Literal["boxperson", "dealer"] = "dealer"
    """The role that decides the faces (`set_dice`). A table without a boxperson uses `dealer`."""
    causes: Mapping[str, NonEmpty] = field(default_factory=dict)
    """The id of the rule for each cause of a No Roll or a review, by the code of the cause."""
    sensors: SensorErrors = field(default_factory=SensorErrors)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsRules:
    """A craps table's rules for its shooters."""

    passes_dice_on: Literal["seven_out", "any_loser"] = "seven_out"
    """The rolls after which the shooter must pass the dice (!34-15)."""
    run_out: bool = True
    """Whether a previous shooter without a line bet may throw to decide Come bets (C34-CONT-2b)."""
    line_bet: Literal["notice", "refuse"] = "notice"
    """The result of a come-out roll whose shooter is known to have no line bet.

    With `notice`, the outcome contains a notice. With `refuse`, a roll that would count goes to review,
    because only a person can refuse dice that have already been thrown.
    """
    line_bet_rule: NonEmpty = "C34-DICE-4"
    """The rule that requires the shooter's line bet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HighRollerRules:
    """A High Roller table's rules for cards, money, the button and the rolls. Amounts are in cents."""

    card_cents: Count = 100
    """The price of every card in a game (H-BET-1, !H-18)."""
    cards_per_player: Count = 150
    """The maximum number of cards that a player may buy per game (H-CAP-1)."""
    decks: Annotated[int, Ge(4), Le(10)] = 10
    """The number of decks in the shoe, with 44 cards each (H-EQ-1, !H-8)."""
    rake_percent: Annotated[int, Ge(0), Le(100)] = 10
    """The rake, as a percentage of the gross (H-MONEY-1, !H-5)."""
    bonus_most_cents: Cents = 200
    """The maximum amount that a game may pay into the Bonus Pot (H-MONEY-1)."""
    bonus_take_cents: Cents = 200
    """The amount that a game pays into the Bonus Pot if no other is entered before the roll (!H-6)."""
    rake_above_bonus_cents: Cents | None = None
    """The minimum amount by which the rake must exceed a game's amount for the Bonus Pot (!H-6).

    None for no minimum.
    """
    bonus_share_joins: Literal["before", "after"] = "before"
    """Whether a game's amount is added to the Bonus Pot before or after the pot is paid (!H-12)."""
    wins_for_bonus: Count = 3
    """The number of games that a player must win in a row to win the Bonus Pot (H-BONUS-1)."""
    button_to: Literal["highest", "lowest"] = "highest"
    """Which card wins the button in the draw (!H-9)."""
    button_without_cards: Literal["throws", "passes"] = "throws"
    """Who throws the elimination roll if the player with the button has no cards (!H-16).

    That player throws (`throws`), or the next player with cards does (`passes`).
    """
    lone_match: Literal["wins", "rolls"] = "wins"
    """Whether a player who is the only one to match wins immediately or must still roll (!H-2)."""
    roll_order: Literal["most_cards", "button"] = "most_cards"
    """Who begins the roll-off (!H-4).

    With `most_cards`, the player with the most matching cards begins, and ties are broken in order from the
    button. With `button`, the players roll in order from the button.
    """
    ties_roll: Literal["once", "per_card"] = "once"
    """How many times each tied player rolls again: once, or once per matching card (!H-3)."""
    no_match: Literal["roll_again", "void_game"] = "roll_again"
    """The result of an elimination throw that nobody matches (!H-1)."""
    rolls_may_be_left_out: bool = True
    """Whether a player with several matching cards may skip a roll (!H-17)."""
    leaver: Literal["dealer_rolls", "void_game"] = "dealer_rolls"
    """The effect on the game when a player with cards leaves (!H-19)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DealRules:
    """The rules for dealing three cards to each position and for deciding whether the deal counts."""

    order: Literal["rotation", "stacks"] = "rotation"
    """The order of dealing if the shoe reports no positions: one card each in turn, or three at once."""
    positions_per_player: Literal[1, 2] = 2
    """The number of adjacent positions that one player may play (T-DEAL-1d)."""
    reconcile_from: Literal["right", "left"] = "right"
    """The side of the dealer from which the hands are reconciled (T-DEAL-7)."""
    equal_hands: Literal["push", "dealer_wins"] = "push"
    """The result of Ante and Play if the dealer plays and the two hands are equal (!T-3)."""
    deal_timeout_s: Positive = 120.0
    """A deal with missing cards is decided this long after its last card."""
    act_timeout_s: Positive = 300.0
    """A deal with a missing play or fold goes to review this long after its last card, play or fold."""
    call_hold_ms: NotNegative = 250.0
    """The time for which an automatic call is held."""
    causes: Mapping[str, NonEmpty] = field(default_factory=dict)
    """The id of the rule for each cause of a void deal or a review, by the code of the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpinRules:
    """The rules that decide whether a spin of the ball counts."""

    min_revolutions: Positive = 4.0
    """The number of full revolutions in the track that a valid spin requires (R-SPIN-2)."""
    revolutions: Literal["counted", "trusted_wheel"] = "counted"
    """Whether the table's beams count the revolutions, or a smart wheel is trusted to count them."""
    no_more_bets_lead_s: NotNegative = 3.0
    """The time from the call of No More Bets to the predicted drop (R-SPIN-3)."""
    late_close: Literal["valid", "review", "void"] = "review"
    """The result of a spin during which betting was still open at the drop."""
    pocket_reads: Count = 3
    """The number of agreeing pocket readings, on different rotor turns, that prove the number."""
    turns_without_read: Count = 5
    """The ball is treated as out if, after the drop, the rotor makes this many turns without a pocket
    reading."""
    object_before_launch_s: NotNegative = 1.0
    """The interval before the first beam pulse in which a detected or entered object belongs to the spin."""
    call_hold_ms: NotNegative = 250.0
    """The time for which an automatic call is held."""
    value_chip_colours: tuple[NonEmpty, ...] = ()
    """The colours of the house's value chips, which can't be sold to players (R-PLACE-2)."""
    causes: Mapping[str, NonEmpty] = field(default_factory=dict)
    """The id of the rule for each cause of a No Spin or a review, by the code of the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """The rules of one document. `name` is used with `--rules` and in logs, table files and outcomes."""

    name: NonEmpty
    title: NonEmpty
    game: NonEmpty
    """The game, as named in `controller.games.registry`."""
    throw: ThrowRules | None = None
    craps: CrapsRules | None = None
    spin: SpinRules | None = None
    high_roller: HighRollerRules | None = None
    deal: DealRules | None = None
    max_lateness_ms: NotNegative = 120.0
    """The maximum time from a reading's timestamp to its arrival. A later reading is not used."""
