"""What is called at a table, in the words of those who call it."""

from collections.abc import Iterator, Sequence

from controller.model.outcomes import (
    DealCalled,
    DealCorrected,
    GameStarted,
    GameWon,
    RollCalled,
    RollCorrected,
    Seat,
    SeatResult,
)

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
_BESIDES = {
    "Pair Plus": (" pair", " flush", " straight", " three of a kind"),
    "Ante Bonus": (" straight", " straight flush", " three of a kind"),
}
"""The hands that win besides, whatever the dealer has (T-PP-1, T-AB-1)."""
_PLURAL = {"six": "sixes"}


def call_in_words(roll: RollCalled | RollCorrected) -> str:
    """Return a roll as the stickperson calls it, or as the dealer does at High Roller."""
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
            return f"{word.capitalize()}: whoever holds no {word} is out"
        case "no_match":
            return f"{word.capitalize()}: no player holds it, all stay in"
        case "roll_off":
            return f"{word.capitalize()} in the roll-off"
        case "tie":
            return f"{word.capitalize()} in the roll-off: a tie at the top, roll again"
        case _:
            return _PLAIN.get(total, word.capitalize() + hard)


def puck_in_words(point_after: int | None) -> str:
    """Return where the puck lies."""
    return "OFF" if point_after is None else f"ON {NUMBERS[point_after]}"


def seats_in_words(seats: Sequence[Seat | str]) -> str:
    """Return seats as they are named: "seat 2", "seats 5, 6 and 3"."""
    *others, last = map(str, seats)
    return f"seats {', '.join(others)} and {last}" if others else f"seat {last}"


def dollars(cents: int) -> str:
    """Return an amount as it is paid out."""
    return f"${cents // 100:,}.{cents % 100:02}"


def dealer_in_words(deal: DealCalled | DealCorrected) -> str:
    """Return what the dealer announces of the own hand (T-DEAL-6), and what that means to the Ante."""
    announced = deal.announcement or ""
    return announced if deal.qualifies else f"{announced}: the Ante pays 1 to 1, Play goes back"


def seat_in_words(result: SeatResult) -> str:
    """Return how a position's hand fares against the dealer's, and what it wins besides (T-PP-1, T-AB-1)."""
    hand = hand_in_words(result.hand)
    match result.result:
        case "fold":
            return f"{hand}: folded, take the Ante"
        case "win":
            called = f"{hand}: wins, pay Ante and Play"
        case "lose":
            called = f"{hand}: loses, take Ante and Play"
        case "push":
            called = f"{hand}: a push, Ante and Play stay level"
        case _:
            called = f"{hand}: pay the Ante, Play goes back"
    won = [name for name, hands in _BESIDES.items() if result.hand.endswith(hands)]
    return f"{called}; {' and '.join(won)} {'wins' if len(won) == 1 else 'win'}" if won else called


def hand_in_words(hand: str) -> str:
    """Return a hand such as "8-A pair" or "K-7-6 high" as it is said: "pair of eights", "king high"."""
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
    """Return how a game of High Roller is opened."""
    final = ", the final game" if game.final else ""
    return f"Game {game.game}{final}: the dice go to the button, seat {game.button}"


def won_in_words(won: GameWon) -> str:
    """Return who wins a game of High Roller, with what, and what is paid."""
    bonus = f", and the Bonus Pot of {dollars(won.bonus_paid)}" if won.bonus_paid else ""
    return f"Seat {won.player} wins {dollars(won.pot.prize)} with {NUMBERS[won.total]}{bonus}"


def pot_in_words(won: GameWon) -> Iterator[str]:
    """Yield the parts of a pot (H-MONEY-1)."""
    pot = won.pot
    yield f"gross {dollars(pot.gross)}, rake {dollars(pot.rake)}, to the Bonus Pot {dollars(pot.bonus)}"
