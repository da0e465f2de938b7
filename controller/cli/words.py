"""Outcomes, verdicts and readings as lines of text, and calls in the dealers' terms."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch

import msgspec

from controller.model.effects import Effect, Judged, Lamp, LateReading, Proposed
from controller.model.outcomes import (
    Bets,
    BonusPaid,
    CardPitched,
    CardsBought,
    Data,
    DealCalled,
    DealCorrected,
    DealReview,
    DealVoid,
    GameStarted,
    GameVoid,
    GameWon,
    Outcome,
    PlayerEliminated,
    RollCalled,
    RollCorrected,
    RollDeclined,
    RollNoRoll,
    RollReview,
    Seat,
    SeatResult,
    ShooterChanged,
    SpinCalled,
    SpinCorrected,
    SpinNoSpin,
    SpinReview,
    TableEvent,
)
from controller.model.printable import printable
from controller.model.readings import Reading, kind_of
from controller.model.verdicts import Notice, Reason

NUMBERS = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CRAPS = {2: "Two craps, aces", 3: "Three craps, ace-deuce", 12: "Twelve craps, boxcars"}
_PLAIN = {2: "Two, aces", 3: "Three, ace-deuce", 11: "Yo-leven", 12: "Twelve, boxcars"}
_RANKS = {
    **{str(number): NUMBERS[number] for number in range(2, 10)},
    "T": "ten",
    "J": "jack",
    "Q": "queen",
    "K": "king",
    "A": "ace",
}
_SIDE_WINS = {
    "Pair Plus": (" pair", " flush", " straight", " three of a kind"),
    "Ante Bonus": (" straight", " straight flush", " three of a kind"),
}
"""The hands that win these bets whatever the dealer holds (T-PP-1, T-AB-1)."""
_PLURAL = {"six": "sixes"}


def call_in_words(roll: RollCalled | RollCorrected) -> str:
    """Return the call of a roll: the stickperson's call at craps, the dealer's call at High Roller."""
    assert roll.dice is not None
    total = sum(roll.dice)
    word = NUMBERS[total]
    hard = ", the hard way" if roll.dice[0] == roll.dice[1] and total in (4, 6, 8, 10) else ""
    match roll.call:
        case "natural":
            return "Yo-leven, front line winner" if total == 11 else "Seven, front line winner"
        case "craps":
            return f"{_CRAPS[total]}, line away"
        case "point_set":
            return f"Point is {word}{hard}"
        case "point_made":
            return f"{word.capitalize()}{hard}, winner {word}, pay the line"
        case "seven_out":
            return "Seven out, line away"
        case "elimination":
            return f"{word.capitalize()}: players without it are out"
        case "no_match":
            return f"{word.capitalize()}: no player holds it, all stay in"
        case "roll_off":
            return f"{word.capitalize()} in the roll-off"
        case "tie":
            return f"{word.capitalize()} in the roll-off: a tie at the top, roll again"
        case _:
            return _PLAIN.get(total, word.capitalize() + hard)


def puck_in_words(point_after: int | None) -> str:
    """Return the puck's position, OFF or ON with the point."""
    return "OFF" if point_after is None else f"ON {NUMBERS[point_after]}"


def seats_in_words(seats: Sequence[Seat | str]) -> str:
    """Return a list of seats, such as "seat 2" or "seats 5, 6 and 3"."""
    *others, last = map(str, seats)
    return f"seats {', '.join(others)} and {last}" if others else f"seat {last}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, such as "no faults", "1 fault" or "12 faults"."""
    return f"{count:,} {noun}" if count == 1 else f"{f'{count:,}' if count else 'no'} {plural or noun + 's'}"


def dollars(cents: int) -> str:
    """Return an amount in dollars and cents, such as $1,250.00."""
    return f"${cents // 100:,}.{cents % 100:02}"


def dealer_in_words(deal: DealCalled | DealCorrected) -> str:
    """Return the announcement of the dealer's hand (T-DEAL-6) and, if it does not qualify, the payment."""
    announced = deal.announcement or ""
    return announced if deal.qualifies else f"{announced}: the Ante pays 1 to 1, Play goes back"


def seat_in_words(result: SeatResult) -> str:
    """Return a seat's hand, its result against the dealer and its winning side bets (T-PP-1, T-AB-1)."""
    hand = hand_in_words(result.hand)
    match result.result:
        case "fold":
            return f"{hand}: folded, take the Ante"
        case "win":
            called = f"{hand}: wins, pay Ante and Play"
        case "lose":
            called = f"{hand}: loses, take Ante and Play"
        case "push":
            called = f"{hand}: a push, Ante and Play stand"
        case _:
            called = f"{hand}: pay the Ante, Play goes back"
    won = [name for name, hands in _SIDE_WINS.items() if result.hand.endswith(hands)]
    return f"{called}; {' and '.join(won)} {'wins' if len(won) == 1 else 'win'}" if won else called


def hand_in_words(hand: str) -> str:
    """Return the spoken name of a hand: "pair of eights" for "8-A pair", "king high" for "K-7-6 high"."""
    ranks, _, kind = hand.partition(" ")
    highest = _RANKS.get(ranks.partition("-")[0], ranks)
    many = _PLURAL.get(highest, f"{highest}s")
    match kind:
        case "high":
            return f"{highest} high"
        case "pair":
            return f"pair of {many}"
        case "three of a kind":
            return f"three {many}"
        case "flush" | "straight" | "straight flush":
            return f"{kind}, {highest} high"
        case _:
            return kind or hand


def game_in_words(game: GameStarted) -> str:
    """Return the announcement of a new game of High Roller."""
    final = ", the final game" if game.final else ""
    return f"Game {game.game}{final}: the dice go to the button, seat {game.button}"


def won_in_words(won: GameWon) -> str:
    """Return the winner of a game of High Roller, the winning total and the amounts paid."""
    bonus = f", and the Bonus Pot of {dollars(won.bonus_paid)}" if won.bonus_paid else ""
    return f"Seat {won.player} wins {dollars(won.pot.prize)} with {NUMBERS[won.total]}{bonus}"


def pot_in_words(won: GameWon) -> Iterator[str]:
    """Yield the line with the parts of a pot (H-MONEY-1)."""
    pot = won.pot
    yield f"gross {dollars(pot.gross)}, rake {dollars(pot.rake)}, to the Bonus Pot {dollars(pot.bonus)}"


_INDENT = " " * 13
_MAX_LISTED = 3
"""Maximum number of readings of one kind listed individually; a longer list is shown as a time span."""


def log_clock(t_us: int) -> str:
    """Return a log's time in hours, minutes, seconds and milliseconds."""
    seconds, ms = divmod(t_us // 1000, 1000)
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"


Stamp = Callable[[int], str]
"""Formats a table time in microseconds for people."""


def wall_clock(wall_us: int) -> str:
    """Return a wall time as local time, to the second."""
    return time.strftime("%H:%M:%S", time.localtime(wall_us // 1_000_000))


def wall_date(wall_us: int) -> str:
    """Return a wall time as a local date and time with the time zone's name."""
    return time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(wall_us // 1_000_000))


def wall_stamp(wall_us: int, at_us: int) -> Stamp:
    """Return a formatter of table times as wall times; `wall_us` is the wall time at table time `at_us`."""
    return lambda t_us: wall_clock(wall_us + t_us - at_us)


def effect_lines(effect: Effect, *, explain: bool, stamp: Stamp = log_clock) -> Iterator[str]:
    """Yield an effect's lines; `explain` adds verdicts, lamps and late readings."""
    return map(printable, _effect_lines(effect, explain=explain, stamp=stamp))


def _effect_lines(effect: Effect, *, explain: bool, stamp: Stamp) -> Iterator[str]:
    match effect:
        case Outcome():
            yield f"{stamp(effect.t):>11}  {effect.type:<16} {in_words(effect)}"
        case Proposed():
            yield f"{stamp(effect.t):>11}  {'proposed':<16} #{effect.attempt} {effect.verdict.sentence}"
        case Judged() if explain:
            yield from _explained(effect)
        case Lamp() if explain:
            yield f"{stamp(effect.t):>11}  {'lamp':<16} {effect.name}: {effect.shows}"
        case LateReading() if explain:
            late = (
                f"arrived {effect.behind_us / 1000:.1f} ms too late, not used: {reading_line(effect.reading)}"
            )
            yield f"{stamp(effect.reading.t):>11}  {'late':<16} {late}"
        case _:
            pass


def reading_line(reading: Reading) -> str:
    """Return a reading as a line: time in seconds, device, kind and fields."""
    fields = {
        name: value
        for name, value in msgspec.to_builtins(reading).items()
        if name not in {"kind", "t", "dev"}
    }
    values = "".join(f" {name}={value}" for name, value in fields.items())
    return f"{reading.t / 1e6:.6f} s {reading.dev} {kind_of(reading)}{values}"


def in_words(outcome: Outcome) -> str:
    """Return an outcome's contents in a few words, without its type."""
    data = outcome.data
    if isinstance(data, TableEvent) and data.cause == outcome.type.replace(".", "_"):
        return f"{data.what or ''}{_by(data.by, data.who)}{f': {data.says}' if data.says else ''}"
    return describe(data)


@singledispatch
def describe(data: Data) -> str:
    """Return an outcome's contents in a few words."""
    return msgspec.json.encode(data).decode()


@describe.register
def _(data: RollCalled) -> str:
    return (
        f"#{data.roll} {_dice(data.dice)}, {_stage(data)}: {plain(data.call)}"
        + _shooter_now(data)
        + _source(data.grade, data.by, data.who)
        + _notices_text(data.notices)
    )


@describe.register
def _(data: RollNoRoll) -> str:
    return f"#{data.roll} {_causes(data.reasons)}{_by(data.by, data.who)}{_notices_text(data.notices)}"


@describe.register
def _(data: RollReview) -> str:
    seen = f", seen {_dice(data.dice)}" if data.dice else ""
    return f"#{data.roll} {_causes(data.reasons)}{seen}{_notices_text(data.notices)}"


@describe.register
def _(data: RollCorrected) -> str:
    call = f"{_dice(data.dice)}, {plain(data.call or '')}" if data.dice else _causes(data.reasons)
    return f"#{data.roll} {call}, {plain(data.ruling)}{_by(data.by, data.who)}, corrects {data.corrects}"


@describe.register
def _(data: SpinCalled) -> str:
    turns = "" if data.revolutions is None else f", {data.revolutions:.1f} revolutions"
    source = _source(data.grade, data.by, data.who)
    return f"#{data.spin} {data.number} {data.colour}{turns}{source}{_notices_text(data.notices)}"


@describe.register
def _(data: SpinNoSpin) -> str:
    return f"#{data.spin} {_causes(data.reasons)}{_by(data.by, data.who)}{_notices_text(data.notices)}"


@describe.register
def _(data: SpinReview) -> str:
    seen = f", seen {data.number}" if data.number is not None else ""
    return f"#{data.spin} {_causes(data.reasons)}{seen}{_notices_text(data.notices)}"


@describe.register
def _(data: SpinCorrected) -> str:
    call = f"{data.number} {data.colour}" if data.number is not None else _causes(data.reasons)
    return f"#{data.spin} {call}, {plain(data.ruling)}{_by(data.by, data.who)}, corrects {data.corrects}"


@describe.register
def _(data: DealCalled) -> str:
    folds = f", folded: {', '.join(data.folds)}" if data.folds else ""
    hands = "; ".join(f"{result.seat} {result.hand} {plain(result.result)}" for result in data.results)
    source = _source(data.grade, data.by, data.who)
    return f"#{data.deal} {data.announcement}, {' '.join(data.dealer)}: {hands}{folds}{source}"


@describe.register
def _(data: DealVoid) -> str:
    return f"#{data.deal} {_causes(data.reasons)}{_by(data.by, data.who)}{_notices_text(data.notices)}"


@describe.register
def _(data: DealReview) -> str:
    return f"#{data.deal} {_causes(data.reasons)}{_notices_text(data.notices)}"


@describe.register
def _(data: DealCorrected) -> str:
    call = data.announcement or _causes(data.reasons)
    return f"#{data.deal} {call}, {plain(data.ruling)}{_by(data.by, data.who)}, corrects {data.corrects}"


@describe.register
def _(data: CardsBought) -> str:
    cards = "a card" if data.count == 1 else f"{data.count} cards"
    return f"game {data.game}, seat {data.player} buys {cards}{_by(data.by, data.who)}"


@describe.register
def _(data: CardPitched) -> str:
    instead = "" if data.replaces is None else f" instead of {data.replaces}"
    return f"game {data.game}, seat {data.player} gets {data.card}{instead}{_by(data.by, data.who)}"


@describe.register
def _(data: GameStarted) -> str:
    cards = "; ".join(f"seat {seat}: {' '.join(map(str, ranks))}" for seat, ranks in data.cards.items())
    final = ", the final game" if data.final else ""
    return f"game {data.game}{final}, button at seat {data.button}: {cards}"


@describe.register
def _(data: GameVoid) -> str:
    return f"game {data.game} {_causes(data.reasons)}{_by(data.by, data.who)}"


@describe.register
def _(data: PlayerEliminated) -> str:
    seats = "seat" if len(data.players) == 1 else "seats"
    return f"game {data.game}, out: {seats} {', '.join(map(str, data.players))}"


@describe.register
def _(data: RollDeclined) -> str:
    return f"game {data.game}, seat {data.player} skips a roll{_by(data.by, data.who)}"


@describe.register
def _(data: GameWon) -> str:
    pot = data.pot
    parts = f"gross {dollars(pot.gross)}, rake {dollars(pot.rake)}, Bonus Pot {dollars(pot.bonus)}"
    paid = f", and the Bonus Pot of {dollars(data.bonus_paid)}" if data.bonus_paid else ""
    return f"game {data.game}, seat {data.player} wins {dollars(pot.prize)} with {data.total}{paid} ({parts})"


@describe.register
def _(data: BonusPaid) -> str:
    recipient = "the house, as rake" if data.player is None else f"seat {data.player}, {plain(data.cause)}"
    return f"{dollars(data.amount)} to {recipient}"


@describe.register
def _(data: Bets) -> str:
    prompts = "".join(f"; {one.seen}" for one in data.notices if one.code == "without_pair_plus")
    return f"round {data.round}, {plain(data.cause)}{_notices_text(data.notices)}{prompts}"


@describe.register
def _(data: ShooterChanged) -> str:
    seat = "the next shooter" if data.shooter is None else f"seat {data.shooter}"
    return f"{seat}, {plain(data.cause)}{_by(data.by, data.who)}"


@describe.register
def _(data: TableEvent) -> str:
    what = f"{data.what}: " if data.what else ""
    message = f" ({data.says})" if data.says else ""
    return f"{what}{plain(data.cause)}{_by(data.by, data.who)}{message}"


def _explained(judged: Judged) -> Iterator[str]:
    verdict = judged.verdict
    yield f"{_INDENT}{verdict.sentence}"
    for reason in verdict.reasons:
        yield f"{_INDENT}cause  {_finding(reason)}"
    for notice in verdict.notices:
        yield f"{_INDENT}notice {_finding(notice)}"
    for row in _readings(verdict.evidence):
        yield f"{_INDENT}from   {row}"
    if judged.readings:
        times = [reading.t for reading in judged.readings]
        span = f"{min(times) / 1e6:.6f} to {max(times) / 1e6:.6f} s"
        yield f"{_INDENT}of {counted(len(judged.readings), 'reading')} of this attempt, {span}"


def _finding(finding: Reason | Notice) -> str:
    die = f" die {finding.die}" if finding.die is not None else ""
    rule = f" [{finding.rule}]" if finding.rule else ""
    return f"{finding.code}{die}{rule}: {finding.seen}"


def _readings(readings: Iterable[Reading]) -> Iterator[str]:
    rows: dict[tuple[str, str, int], list[Reading]] = {}
    for reading in readings:
        rows.setdefault((reading.dev, kind_of(reading), getattr(reading, "die", 0)), []).append(reading)
    for (dev, kind, die), row in rows.items():
        if len(row) <= _MAX_LISTED:
            yield from map(reading_line, row)
        else:
            whose = f" die={die}" if die else ""
            span = f"{row[0].t / 1e6:.6f} to {row[-1].t / 1e6:.6f} s"
            yield f"{span} {dev} {kind}{whose}, {len(row)} readings"


def _dice(dice: tuple[int, int]) -> str:
    return f"{dice[0]}-{dice[1]} = {sum(dice)}"


def _stage(data: RollCalled) -> str:
    if not isinstance(data.game, msgspec.UnsetType):
        return f"game {data.game}, seat {data.player}"
    return "come-out" if data.point is None else f"point {data.point}"


def _causes(reasons: Iterable[Reason]) -> str:
    """Return each cause once, with the numbers of the dice concerned."""
    dice: dict[str, set[int]] = {}
    for reason in reasons:
        dice.setdefault(reason.code, set()).update([] if reason.die is None else [reason.die])
    return ", ".join(plain(code) + _of_dice(which) for code, which in dice.items())


def _of_dice(which: set[int]) -> str:
    if not which:
        return ""
    return f" ({'die' if len(which) == 1 else 'dice'} {' and '.join(map(str, sorted(which)))})"


def _shooter_now(data: RollCalled) -> str:
    return "" if data.shooter is None else f", shooter at seat {data.shooter}"


def _source(grade: str, by: str | None, who: str | None) -> str:
    if by is not None:
        return _by(by, who)
    return "" if grade == "sensors" else f", reported by the {grade}"


def _by(by: str | None, who: str | None) -> str:
    if by is None or by == "sensors":
        return ""
    return f", by {by}" if who is None else f", by {by} {who}"


def _notices_text(notices: Iterable[Notice]) -> str:
    codes = ", ".join(plain(notice.code) for notice in notices)
    return f" [{codes}]" if codes else ""


def plain(code: str) -> str:
    """Return a code such as no_wall_hit or table.locked in words; leave text with spaces unchanged."""
    return code if " " in code else code.replace("_", " ").replace(".", " ")
