"""Rule sets: the settings of the documents that the judges and the game machines obey.

Plain frozen dataclasses, so that the core needs no configuration library; `controller.settings` fills them
from `config/rulesets/*.yaml`, where each value has its rule's id or its reason beside it. The defaults are
those of the contract.
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
Word = Annotated[str, MinLen(1)]

Calls = Literal["automatic", "confirm"]
"""Who makes the calls: the controller if the readings are certain, or a person who confirms its proposal."""

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
"""Why a throw is a No Roll or goes to review; a rule set names the rule behind each."""

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
"""Why a spin is a No Spin or goes to review; a rule set names the rule behind each."""

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
"""Why a deal is void or goes to review; a rule set names the rule behind each."""

THROW_CAUSES: tuple[str, ...] = get_args(ThrowCause)
SPIN_CAUSES: tuple[str, ...] = get_args(SpinCause)
DEAL_CAUSES: tuple[str, ...] = get_args(DealCause)


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorErrors:
    """What the dice sensors of a table can be trusted to, one standard deviation where not said otherwise."""

    track_noise_mm: Positive = 2.0
    """Error of one track point, each way."""
    impact_position_mm: Positive = 25.0
    """Error of an impact's position along its wall."""
    impact_delay_ms: tuple[NotNegative, NotNegative] = (0.5, 2.0)
    """Shortest and longest time from the hit to the impact's own time."""
    ringing_ms: NotNegative = 12.0
    """A second impact of the same sensor within this time may be the first one's ringing."""
    frame_ms: Positive = 11.1
    """Time between camera frames."""
    hit_counts_per_m_s: Positive = 300.0
    """Peak of an impact for each metre a second that it turns a die by, until the table's hits tell it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrowRules:
    """When a throw of two dice counts."""

    wall: Literal["end", "far", "any"]
    """Which wall the dice must hit: an end wall, the one farthest from the shooter, or any."""
    far_wall_required: bool = False
    """With `wall: end`: ask for the far end (!34-11); a near end is then no hit, else a notice."""
    missed_wall: Literal["no_roll", "warn"] = "no_roll"
    """What a die that misses the wall means: a No Roll at once, or a warning first (CV1-SHOOT-4)."""
    warnings: Annotated[int, Ge(0)] = 0
    """With `missed_wall: warn`: how many warnings a shooter has before a throw without any hit is void."""
    objects: Literal["ignore", "cards_only"] = "ignore"
    """Contact with things on the table: no cause (C34-INV-3), or only cards may be touched (H-LEGAL-3)."""
    loose_chips: Literal["review", "no_roll", "ignore"] = "review"
    """With `objects: cards_only`: what it means to touch loose chips, or to lie on them (!H-14)."""
    aslant: Literal["no_roll", "review"] = "no_roll"
    """What a stacked or cocked die means: a No Roll at once, or a person rules (!H-15)."""
    simultaneous_ms: Positive = 150.0
    """Releases farther apart than this did not leave the hand together."""
    parted: Literal["no_roll", "notice"] = "no_roll"
    """What dice that left the hand apart are: a No Roll, or a notice (H-ROLL-1 asks for nothing)."""
    stagger_notice_ms: NotNegative = 50.0
    """From here on releases that are apart are noted."""
    settle_timeout_s: Positive = 8.0
    """The longest time from a throw's first release to its decision."""
    call_hold_ms: NotNegative = 250.0
    """How long an automatic call is held, so that a spoken No Roll still counts."""
    unwatched_ms: Positive = 500.0
    """A die out of sight for longer may have left the table or been turned; a hand needs about this long."""
    min_confidence: Share = 0.6
    """Below this the camera's face is not believed."""
    faces_by: Literal["boxperson", "dealer"] = "dealer"
    """Who decides the faces (`set_dice`): the boxperson, or the dealer if the table has none."""
    causes: Mapping[str, Word] = field(default_factory=dict)
    """The rule id behind each cause of a No Roll or a review, by the cause's code."""
    sensors: SensorErrors = field(default_factory=SensorErrors)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrapsRules:
    """What a craps table does with its shooters."""

    passes_dice_on: Literal["seven_out", "any_loser"] = "seven_out"
    """What costs the shooter the dice (!34-15)."""
    run_out: bool = True
    """Whether an old shooter may throw without a line bet to decide Come bets (C34-CONT-2b)."""
    line_bet: Literal["notice", "refuse"] = "notice"
    """What a come-out roll is whose shooter is known to have no line bet: noted, or, where it would count, a
    review: dice that have left the hand are thrown, and only a person can refuse them."""
    line_bet_rule: Word = "C34-DICE-4"
    """The rule that asks for the shooter's line bet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HighRollerRules:
    """What a High Roller table sells, keeps and does with its players. Amounts are cents."""

    card_cents: Count = 100
    """What one card costs, the same for every card of a game (H-BET-1, !H-18)."""
    cards_per_player: Count = 150
    """The most cards that a player buys a game (H-CAP-1)."""
    decks: Annotated[int, Ge(4), Le(10)] = 10
    """Decks in the shoe, 44 cards each (H-EQ-1, !H-8)."""
    rake_percent: Annotated[int, Ge(0), Le(100)] = 10
    """The rake, of the gross (H-MONEY-1, !H-5)."""
    bonus_most_cents: Cents = 200
    """The most that a game may give to the Bonus Pot (H-MONEY-1)."""
    bonus_take_cents: Cents = 200
    """What a game gives to the Bonus Pot where nothing else is entered before the roll (!H-6)."""
    rake_above_bonus_cents: Cents | None = None
    """By how much the rake must exceed the Bonus Pot's share; none where that policy is off (!H-6)."""
    bonus_share_joins: Literal["before", "after"] = "before"
    """Whether a game's own share goes into the Bonus Pot before that is paid, or begins the next (!H-12)."""
    wins_for_bonus: Count = 3
    """Games in a row that win the Bonus Pot (H-BONUS-1)."""
    button_to: Literal["highest", "lowest"] = "highest"
    """Which card for the button places it (!H-9)."""
    button_without_cards: Literal["throws", "passes"] = "throws"
    """Whether a button without cards throws the elimination roll, or the next player with some (!H-16)."""
    lone_match: Literal["wins", "rolls"] = "wins"
    """Whether one player who alone matches has won, or rolls all the same, which only he can win (!H-2)."""
    roll_order: Literal["most_cards", "button"] = "most_cards"
    """Who begins the roll-off: the most matching cards, equals from the button on; or the button (!H-4)."""
    ties_roll: Literal["once", "per_card"] = "once"
    """How often each tied player rolls again: once, or once for each card that he rolled for (!H-3)."""
    no_match: Literal["roll_again", "void_game"] = "roll_again"
    """What follows an elimination throw that nobody matches (!H-1)."""
    rolls_may_be_left_out: bool = True
    """Whether a player with several matching cards may leave out a roll (!H-17)."""
    leaver: Literal["dealer_rolls", "void_game"] = "dealer_rolls"
    """What becomes of the game when a player with cards leaves (!H-19)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DealRules:
    """How a deal of three cards a position runs, and when it counts."""

    order: Literal["rotation", "stacks"] = "rotation"
    """How cards reach the positions where the shoe does not say: one each in turn, or three at once."""
    positions_per_player: Literal[1, 2] = 2
    """Whether one player may play two adjacent positions (T-DEAL-1d)."""
    reconcile_from: Literal["right", "left"] = "right"
    """From which side of the dealer the hands are reconciled (T-DEAL-7)."""
    equal_hands: Literal["push", "dealer_wins"] = "push"
    """What Ante and Play do where a hand equals that of a dealer who plays (!T-3)."""
    deal_timeout_s: Positive = 120.0
    """Time after the last card at which a deal that lacks cards is decided."""
    act_timeout_s: Positive = 300.0
    """Time after the last card at which a deal that lacks a play or fold goes to review."""
    call_hold_ms: NotNegative = 250.0
    """How long an automatic call is held."""
    causes: Mapping[str, Word] = field(default_factory=dict)
    """The rule id behind each cause of a void deal or a review, by the cause's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpinRules:
    """When a spin of the ball counts."""

    min_revolutions: Positive = 4.0
    """Full revolutions in the track (R-SPIN-2)."""
    revolutions: Literal["counted", "trusted_wheel"] = "counted"
    """Counted by the table's own beams, or taken on a smart wheel's word."""
    no_more_bets_lead_s: NotNegative = 3.0
    """How long before the predicted drop No More Bets is called (R-SPIN-3)."""
    late_close: Literal["valid", "review", "void"] = "review"
    """What a spin is whose bets were still open at the drop."""
    pocket_reads: Count = 3
    """Agreeing pocket reads on as many different rotor turns."""
    turns_without_read: Count = 5
    """Rotor turns after the drop without a pocket read before the ball counts as out."""
    object_before_launch_s: NotNegative = 1.0
    """What a sensor sees in the wheel, or a person enters, this long before the first beam belongs to the
    spin."""
    call_hold_ms: NotNegative = 250.0
    """How long an automatic call is held."""
    value_chip_colours: tuple[Word, ...] = ()
    """The colours of the house's value chips, which no player's own chips may have (R-PLACE-2)."""
    causes: Mapping[str, Word] = field(default_factory=dict)
    """The rule id behind each cause of a No Spin or a review, by the cause's code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSet:
    """One document's rules under one name: the word after `--rules`, in logs, tables and outcomes."""

    name: Word
    title: Word
    game: Word
    """The game that the document describes; `controller.games.registry` has them all."""
    throw: ThrowRules | None = None
    craps: CrapsRules | None = None
    spin: SpinRules | None = None
    high_roller: HighRollerRules | None = None
    deal: DealRules | None = None
    max_lateness_ms: NotNegative = 120.0
    """How late a reading may arrive and still count."""
