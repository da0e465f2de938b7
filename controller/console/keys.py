"""The keys on the staff's page, for the inputs that the controller currently accepts from a role.

A key has a label, and enters one input with its arguments.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from controller.console.answers import Data, Floor

Fields = Mapping[str, object]
Look = Literal["plain", "stop", "go", "quiet"]

SEATS: Mapping[str, int] = {"craps": 16, "roulette": 8, "high_roller": 12, "three_card": 7}
"""The number of seats offered at a table of each game."""
DEFAULT_SEATS = max(SEATS.values())
"""The number of seats offered at tables of other games."""
_RANKS = tuple("23456789TJQKA")
_LOCK_REASONS = ("Dealer's break", "Dispute at the table", "Inspection", "Other")
_HEADINGS: tuple[tuple[str, str], ...] = (
    ("run_out", "run-out"),
    ("closing", "closing time"),
    ("void", "abandon"),
    ("dice_set", "dice set"),
    ("open_table", "open"),
    ("lock", "lock"),
    ("close_table", "close"),
    ("test_mode", "test"),
)
"""The parts of a group's heading, by input."""
_VOID_CAUSES = (("called", "Called"), ("disputed", "Dispute"), ("cheating", "Cheating suspected"))
_VOID_WORDS: Mapping[str, str] = {"roll": "no_roll", "spin": "no_spin", "deal": "misdeal"}
_VOID_LABELS: Mapping[str, str] = {"roll": "No Roll", "spin": "No Spin", "deal": "Misdeal"}
CHIPS = ("blue", "yellow", "orange", "purple", "brown", "pink", "white", "grey")
DICE_SETS = tuple(map(str, range(1, 9)))
"""The numbers of the sets of dice, as printed on their boxes."""
APPROVALS: Mapping[str, tuple[str, str]] = {
    "identity": (
        "Approve the change",
        "Was the change intended, and do you approve the table in its present state?",
    ),
    "device": ("Device repaired", "Was the device repaired and tested?"),
    "clock": ("The clock is correct", "Does the table's clock show the correct time now?"),
}
"""The label and the question of the key for each kind of approval."""
_PLAIN: Mapping[str, tuple[str, Look]] = {
    "no_more_bets": ("No More Bets", "stop"),
    "open_bets": ("Open bets", "go"),
    "dice_collected": ("Dice are back", "plain"),
    "paid": ("All paid", "go"),
    "start_roll": ("Start rolling", "go"),
    "pass_dice": ("Shooter passes the dice", "plain"),
}
"""The labels and looks of keys for inputs without arguments or confirmation."""
_OF_PLAY = frozenset({"no_more_bets", "open_bets", "start_roll"})
"""The inputs in `_PLAIN` that have no key while the table is locked."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key with its label and its input to the table."""

    label: str
    say: Fields
    look: Look = "plain"
    confirm: str = ""
    """The question asked before the input is entered; empty if one touch enters it."""
    confirm_label: str = "Yes"


UNLOCK = Key("Unlock", {"name": "unlock"}, "go", "Unlock the table?", "Unlock")


@dataclass(frozen=True, slots=True)
class Form:
    """An input that needs choices, with a row for each choice and a key that enters the input."""

    word: str
    title: str
    fields: tuple[str, ...]
    """The rows of choices: dice, number, seat, seats, card, to, wrong, count, chips or set."""
    submit: str
    """The label of the key, with `{}` for the choices; empty if each seat is a key itself."""
    what: str = ""
    """The number of the attempt that the input applies to; empty if it applies to none."""
    confirm: str = ""
    """The question asked after a seat is touched, shown after the seat's number; empty if none is asked."""
    seats: tuple[str, ...] = ()
    chosen: tuple[str, ...] = ()
    """The initial choices."""
    cards: tuple[tuple[str, str], ...] = ()
    """The cards of a deal, each with its position, from which the incorrect card is chosen."""
    ranks: tuple[str, ...] = _RANKS
    suited: bool = True


@dataclass(frozen=True, slots=True)
class Ruling:
    """The rulings possible now, on a review, a proposal, or the last result if it is not settled."""

    kind: Literal["review", "proposed", "correction"]
    attempt: str
    number: int
    keys: tuple[Key, ...]
    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Keys for the whole table, under one heading."""

    name: str
    """Identifies the group even if its heading changes, so that an open group remains open."""
    title: str
    keys: tuple[Key, ...] = ()
    forms: tuple[Form, ...] = ()


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of a role at one moment."""

    ruling: Ruling | None = None
    now: tuple[Key, ...] = ()
    """The large keys for the current moment of play."""
    forms: tuple[Form, ...] = ()
    """The forms for the current moment of play."""
    table: tuple[Group, ...] = field(default=())
    unlock: Key | None = None
    """Shown next to the reason for the lock."""
    approvals: Mapping[str, Key] = field(default_factory=dict)
    """The keys for approvals, by kind. An approval clears a fault."""


def keys_for(floor: Floor, role: str) -> Keys:
    """Return the keys of a role for this state of the table."""
    may = frozenset(floor.may.get(role, ()))
    ruling = _ruling(floor, may)
    ruled = frozenset() if ruling is None else frozenset(_inputs_of(ruling))
    return Keys(
        ruling=ruling,
        now=tuple(_now(floor, may - ruled)),
        forms=tuple(_forms(floor, may - ruled)),
        table=tuple(_table(floor, may)),
        unlock=UNLOCK if "unlock" in may else None,
        approvals={
            what: Key(label, {"approve": what}, "go", question, label)
            for what, (label, question) in APPROVALS.items()
            if f"approve {what}" in may
        },
    )


# --- rulings ---


def _ruling(floor: Floor, may: frozenset[str]) -> Ruling | None:
    awaited = floor.awaited
    kind: Literal["review", "proposed", "correction"]
    if awaited is not None:
        attempt, number, kind = awaited.attempt, awaited.number, awaited.state
        may &= frozenset(awaited.may) | {"play", "fold"}
    elif floor.standing is not None and not floor.attempt.under_way:
        attempt, number, kind = floor.attempt.word, floor.standing, "correction"
        may -= {"accept", "dice_collected"}
    else:
        return None
    keys = tuple(_ruling_keys(attempt, number, kind, may, floor))
    forms = tuple(_ruling_forms(attempt, number, kind, may, floor))
    if not keys and not forms:
        return None
    return Ruling(kind, attempt, number, keys, forms)


def _ruling_keys(attempt: str, number: int, kind: str, may: frozenset[str], floor: Floor) -> Iterator[Key]:
    named, void = f"{attempt} {number}", _VOID_WORDS[attempt]
    if "accept" in may:
        awaited = floor.awaited
        proposed = "" if awaited is None else awaited.proposes or awaited.seen
        label = f"Accept {proposed}" if proposed else "Accept"
        question = "" if kind == "proposed" else f"Accept {proposed or 'what was seen'} for {named}?"
        yield Key(label, {"name": "accept", "what": str(number)}, "go", question, label)
    if void in may:
        label = _VOID_LABELS[attempt]
        for code, words in _VOID_CAUSES:
            say = {"name": void, "what": str(number), "reason": code}
            shown = label if code == "called" else f"{label}: {words}"
            yield Key(shown, say, "stop", f"{shown} for {named}?", shown)
    if kind == "correction" and "settled" in may and "paid" not in may:
        label, done = "All paid", f"Have all wagers on {named} been paid?"
        if _void(floor, number):
            label, done = (
                ("Stakes returned", f"Have all stakes on {named} been returned?")
                if attempt == "deal"
                else (f"{_VOID_LABELS[attempt]} stands", f"Does {named} remain void?")
            )
        question = f"{done} The result can't be changed afterwards."
        yield Key(label, {"name": "settled", "what": str(number)}, "quiet", question, label)


def _ruling_forms(attempt: str, number: int, kind: str, may: frozenset[str], floor: Floor) -> Iterator[Form]:
    named = f"{attempt} {number}"
    if "set_dice" in may:
        yield Form("set_dice", "The dice show", ("dice",), f"Rule {named} as {{}}", str(number))
    if "set_number" in may:
        yield Form("set_number", "The ball is in", ("number",), f"Rule {named} as {{}}", str(number))
    if attempt == "deal" and "set_card" in may:
        yield from _card_forms(floor, number, kind)
    if attempt == "deal" and kind != "proposed":
        yield from _acts(floor, may, str(number))


def _card_forms(floor: Floor, number: int, kind: str) -> Iterator[Form]:
    """Yield the form to enter a missing card or, if no card is missing, to replace a card."""
    submit = f"Enter {{}} in deal {number}"
    if kind != "correction":
        lacks = () if floor.awaited is None else floor.awaited.lacks
        if lacks:
            yield Form(
                "set_card", "A card that was not read", ("card", "to"), submit, str(number), seats=lacks,
                chosen=lacks[:1],
            )  # fmt: skip
        elif floor.awaited is not None and floor.awaited.entered:
            yield Form(
                "set_card", "A card that was entered incorrectly", ("wrong", "card"), submit, str(number),
                cards=floor.awaited.entered,
            )  # fmt: skip
        return
    data = _last_result(floor, number)
    if data is None or data.hands is None or data.dealer is None:
        seats = (*_seated(floor), "dealer")
        yield Form("set_card", "A card that was not read", ("card", "to"), submit, str(number), seats=seats)
        return
    hands = {**data.hands, "dealer": data.dealer}
    cards = tuple((position, card) for position, hand in hands.items() for card in hand)
    yield Form("set_card", "A card that was misread", ("wrong", "card"), submit, str(number), cards=cards)


def _last_result(floor: Floor, number: int | None) -> Data | None:
    outcomes = next((result.outcomes for result in floor.results if result.number == number), ())
    return outcomes[-1].data if outcomes else None


def _void(floor: Floor, number: int | None) -> bool:
    """Return whether the attempt is known to be void now. All wagers on a void deal are returned."""
    data = _last_result(floor, number)
    return data is not None and data.dice is None and data.number is None and data.hands is None


def _inputs_of(ruling: Ruling) -> Iterator[str]:
    yield from ("void", "accept")
    for key in ruling.keys:
        yield str(key.say["name"])
    for form in ruling.forms:
        yield form.word


# --- the moment of play ---


def _now(floor: Floor, may: frozenset[str]) -> Iterator[Key]:
    attempt = floor.attempt
    void = _VOID_WORDS[attempt.word]
    if void in may and floor.awaited is None:
        named = _VOID_LABELS[attempt.word]
        say: dict[str, object] = {"name": void}
        if attempt.under_way:
            say["what"] = str(attempt.number)
            yield Key(named, say, "stop")
            if attempt.word == "deal":  # During a deal there is time to enter the cause.
                for code, words in _VOID_CAUSES[1:]:
                    label = f"{named}: {words}"
                    question = f"{label} for deal {attempt.number}?"
                    yield Key(label, {**say, "reason": code}, "stop", question, label)
        elif attempt.word == "spin":  # for a launched ball that no sensor has detected yet
            yield Key(named, say, "stop", "Stop the spin that is being launched?", named)
    if "confirm_late" in may:
        for late in floor.late:
            yield Key(f"Confirm bet: {late.says}", {"name": "confirm_late", "what": late.wager}, "go")
    for word, (label, look) in _PLAIN.items():
        if word in may and not (floor.lock == "locked" and word in _OF_PLAY):
            returned = word == "paid" and floor.game == "three_card" and _void(floor, floor.standing)
            yield Key("Stakes returned" if returned else label, {"name": word}, look)
    for what in floor.state.inspect if "inspected" in may else ():
        yield Key(f"{what.capitalize()} inspected", {"name": "inspected", "what": what}, "go")
    if "settled" in may and "paid" not in may:
        question = "Has the winner been paid? The result can't be changed afterwards."
        yield Key("Winner paid", {"name": "settled"}, "quiet", question, "Winner paid")


def _forms(floor: Floor, may: frozenset[str]) -> Iterator[Form]:
    game = floor.game
    if game == "three_card":
        if "seats" in may:
            yield Form(
                "seats", "Positions with wagers", ("seats",), "Deal to these", seats=_numbers(game),
                chosen=_seated(floor),
            )  # fmt: skip
        yield from _acts(floor, may, str(floor.attempt.number))
    if game == "high_roller":
        yield from _high_roller(floor, may)
    if "new_shooter" in may:
        yield Form("new_shooter", "New shooter", ("seat",), "", seats=_numbers(game))
    if "chips" in may:
        yield Form("chips", "Colour chips", ("seat", "chips"), "Enter {}", seats=_numbers(game))


def _acts(floor: Floor, may: frozenset[str], number: str) -> Iterator[Form]:
    for word, title in (("play", "Play"), ("fold", "Fold")):
        if word in may:
            yield Form(word, title, ("seat",), "", number, seats=_seated(floor))


def _high_roller(floor: Floor, may: frozenset[str]) -> Iterator[Form]:
    game = floor.state.high_roller
    seated = () if game is None else tuple(str(seat) for seat in game.seats if str(seat) not in game.gone)
    if "draw_button" in may:
        yield Form(
            "draw_button", "Card for the button", ("seat", "card"), "Enter {}", seats=_numbers("high_roller"),
            suited=False,
        )  # fmt: skip
    if "buy" in may:
        yield Form("buy", "Buy cards", ("seat", "count"), "Enter {}", seats=_numbers("high_roller"))
    if not seated:
        return
    if "set_card" in may:
        owed = () if game is None else tuple(seat for seat in seated if game.owed.get(seat))
        yield Form(
            "set_card", "A card that was not read", ("seat", "card"), "Enter {}", seats=seated,
            chosen=owed[:1], suited=False,
        )  # fmt: skip
    if "decline" in may:
        yield Form("decline", "Player skips a roll", ("seat",), "", seats=seated)
    if "leave" in may:
        yield Form(
            "leave",
            "Player leaves the table",
            ("seat",),
            "",
            confirm="is this player leaving the table?",
            seats=seated,
        )


# --- the table itself ---


def _table(floor: Floor, may: frozenset[str]) -> Iterator[Group]:
    state = floor.state
    play: list[Key] = []
    if "run_out" in may:
        on = not state.run_out
        label = "Begin a run-out" if on else "End the run-out"
        question = "Begin a run-out? Its rolls set no point." if on else "Is the run-out over?"
        play.append(Key(label, {"name": "run_out", "on": on}, confirm=question))
    if "closing" in may:
        closing = state.high_roller is not None and state.high_roller.closing
        question = (
            "Are the hours of play over?"
            if closing
            else "Are only 15 minutes left? The next game will be the final one."
        )
        play.append(Key("Closing time", {"name": "closing"}, "quiet", question, "Closing time"))
    if floor.game == "high_roller" and "void" in may:
        question = "Abandon the whole game? All stakes are returned."
        say = {"name": "void", "what": "game", "reason": "declared"}
        play.append(Key("Abandon the game", say, "quiet", question, "Abandon the game"))
    dice_set = Form("dice_set", "Set of dice in play", ("set",), "", seats=DICE_SETS)
    forms = (dice_set,) if "dice_set" in may else ()
    if play or forms:
        yield Group("play", _heading(play, forms), tuple(play), forms)
    if of_table := tuple(_table_keys(may)):
        yield Group("table", _heading(of_table), of_table)


def _heading(keys: Iterable[Key], forms: Iterable[Form] = ()) -> str:
    words = {str(key.say["name"]) for key in keys} | {form.word for form in forms}
    return ", ".join(says for word, says in _HEADINGS if word in words).capitalize()


def _table_keys(may: frozenset[str]) -> Iterator[Key]:
    if "lock" in may:
        for reason in _LOCK_REASONS:
            yield Key(f"Lock: {reason}", {"name": "lock", "reason": reason}, "quiet")
    if "open_table" in may:
        yield Key("Open the table", {"name": "open_table"}, "go")
    if "close_table" in may:
        yield Key("Close the table", {"name": "close_table"}, "quiet", "Close the table?", "Close")
    if "test_mode on" in may:
        question = "Begin test mode? Nothing counts until it is switched off."
        yield Key("Test mode", {"name": "test_mode", "on": True}, "quiet", question, "Begin testing")
    if "test_mode off" in may:
        yield Key("End test mode", {"name": "test_mode", "on": False}, "go")


def _numbers(game: str) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, SEATS.get(game, DEFAULT_SEATS) + 1))


def _seated(floor: Floor) -> tuple[str, ...]:
    cards = floor.state.three_card
    return () if cards is None else tuple(map(str, cards.seats))
