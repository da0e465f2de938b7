"""Text for the screens: causes, calls and results in the terms used at a table."""

from collections.abc import Mapping, Sequence

from controller.console.answers import AttemptOutcome, Data, Reason, Result

CAUSES: Mapping[str, str] = {
    "not_simultaneous": "the dice did not leave the hand together",
    "no_wall_hit": "{die} did not hit the wall",
    "off_table": "{die} left the table",
    "stacked": "{die} came to rest on the other die",
    "on_bank": "{die} is in the bank",
    "in_cup": "{die} is in the cup",
    "on_rail": "{die} is on the rail",
    "cocked": "{die} does not lie flat",
    "foreign_contact": "{die} touched a foreign object",
    "one_die_thrown": "only one die was thrown",
    "called": "called by the staff",
    "cheating": "called by the staff",
    "disputed": "called by the staff after a dispute",
    "low_confidence": "a face can't be read with certainty",
    "conflict": "the sensors disagree",
    "missing_reading": "a sensor reading is missing",
    "wall_unclear": "it is not clear whether {die} hit the wall",
    "power_lost": "the power or a device failed during play",
    "unruled": "play continued without a ruling",
    "same_direction": "the ball and the wheel turned in the same direction",
    "too_few_revolutions": "the ball made too few revolutions",
    "foreign_object": "a foreign object was in the wheel",
    "ball_out": "the ball left the wheel",
    "rotor_reversed": "the wheel was turned backwards",
    "late_close": "bets were still open when the ball dropped",
    "revolutions_unclear": "it is not certain that the ball made enough revolutions",
    "wrong_count": "the wrong number of cards was dealt",
    "card_twice": "a card was dealt twice",
    "shoe_opened": "the shoe was opened",
    "unread_card": "a card can't be read",
}
"""The reasons why an attempt does not count or is under review. The rule's id is shown next to the text."""
_OF_BOTH: Mapping[str, str] = {
    "no_wall_hit": "Neither die hit the wall",
    "off_table": "Both dice left the table",
    "stacked": "One die came to rest on the other",
    "on_bank": "Both dice are in the bank",
    "in_cup": "Both dice are in the cup",
    "on_rail": "Both dice are on the rail",
    "cocked": "Neither die lies flat",
    "foreign_contact": "Both dice touched a foreign object",
    "wall_unclear": "It is not clear whether the dice hit the wall",
}
_CALLS: Mapping[str, str] = {
    "natural": "natural",
    "craps": "craps",
    "point_set": "point set",
    "point_made": "point made",
    "seven_out": "seven out",
    "no_decision": "no decision",
    "elimination": "elimination",
    "no_match": "no match",
    "roll_off": "roll-off",
    "tie": "tie",
}
_VOIDS: Mapping[str, str] = {"roll": "No Roll", "spin": "No Spin", "deal": "Misdeal"}
_STAGES: Mapping[str, str] = {"button_draw": "Draw for the button", "roll_off": "Roll-off", "rebuy": "Re-buy"}
_RESULT_REQUESTS: Mapping[str, str] = {
    "roll": "touch the faces of the dice",
    "spin": "touch the ball's pocket",
    "deal": "enter the missing card",
}
"""The instructions for a review in which staff can enter the result."""
PLAYED: Mapping[str, str] = {"roll": "Rolls", "spin": "Spins", "deal": "Deals"}
"""The heading of a display's counts, by kind of attempt."""


def cause(reason: Reason) -> str:
    """Return a reason as text, without the sensors' measurements."""
    die = "a die" if reason.die is None else f"die {reason.die}"
    words = CAUSES.get(reason.code, reason.code.replace("_", " ")).replace("{die}", die)
    return words[:1].upper() + words[1:]


def describe_cause(reason: Reason, among: Sequence[Reason]) -> str:
    """Return one of several reasons as text. If the reason applies to both dice, the text names both."""
    dice = {one.die for one in among if (one.code, one.rule) == (reason.code, reason.rule)}
    if dice == {1, 2} and reason.code in _OF_BOTH:
        return _OF_BOTH[reason.code]
    return cause(reason)


def causes(reasons: Sequence[Reason]) -> tuple[tuple[str, str], ...]:
    """Return the distinct causes as text, each with its rule's id."""
    return tuple(dict.fromkeys((describe_cause(reason, reasons), reason.rule or "") for reason in reasons))


def measured(reasons: Sequence[Reason], rule: str, cause: str) -> str:
    """Return the measurements for the reasons that `causes` lists with this rule and this text."""
    ours = [one for one in reasons if (one.rule or "") == rule and describe_cause(one, reasons) == cause]
    return "; ".join(dict.fromkeys(one.seen for one in ours if one.seen))


def stage(name: str) -> str:
    """Return the name of a stage of a High Roller game."""
    return _STAGES.get(name, name.replace("_", " ").capitalize())


def ruling_requested(attempt: str, result_may_be_ruled: bool) -> str:
    """Return the instruction for a review: enter a result or a void, or only a void."""
    void = _VOIDS[attempt]
    return f": {_RESULT_REQUESTS[attempt]}, or {void}" if result_may_be_ruled else f": touch {void}"


def void_name(attempt: str) -> str:
    """Return the name of a void attempt of this kind."""
    return _VOIDS[attempt]


def call_of(data: Data) -> str:
    """Return the call of a result, such as `point made`, a dealer's announcement, or a pocket's colour."""
    if data.call:
        return _CALLS.get(data.call, data.call.replace("_", " "))
    if data.announcement:
        return data.announcement
    return data.colour or ""


def outcome(shown: AttemptOutcome) -> str:
    """Return an outcome of an attempt as short text."""
    attempt, _, what = shown.type.partition(".")
    data = shown.data
    if what == "review":
        return "under review"
    if data.dice is not None:
        return f"{data.dice[0]}-{data.dice[1]}"
    if data.number is not None:
        return data.number
    if data.hands is not None:
        return "dealt"
    return void_name(attempt)


def result(shown: AttemptOutcome) -> str:
    """Return the text of a result that can be corrected; for a deal, the dealer's announcement."""
    return shown.data.announcement or outcome(shown)


def ruled_by(result: Result) -> str:
    """Return the role and name (if known) of the person who ruled on the result; empty if no person did."""
    data = result.outcomes[-1].data
    if data.by in (None, "sensors", "nobody"):
        return ""
    return f"{data.by} {data.who}" if data.who else str(data.by)


def card_name(card: str) -> str:
    """Return a card with its suit's symbol: `K♦`."""
    suits = {"c": "♣", "d": "♦", "h": "♥", "s": "♠"}
    rank, suit = card[:-1], card[-1:]
    if suit not in suits:
        return card
    return f"{'10' if rank == 'T' else rank}{suits[suit]}"


_PROMPTS: Mapping[str, str] = {
    "dice": "both dice",
    "number": "the number",
    "seat": "a seat",
    "to": "the card's position",
    "seats": "the positions",
    "card": "the card",
    "count": "the number of cards",
    "chips": "a colour",
}
"""The choices to make, by field."""


def prompt(fields: Sequence[str], chosen: Sequence[str] = ()) -> str:
    """Return the instruction that lists the choices needed to enable the key; a chosen seat is omitted."""
    if "wrong" in fields:
        return "Touch the incorrect card, then the correct one"
    open_ = [field for field in fields if not (field in ("to", "seat") and chosen)]
    return f"Touch {' and '.join(_PROMPTS[field] for field in open_)}"
