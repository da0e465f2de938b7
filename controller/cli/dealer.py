"""Calls as dealers say them."""

from controller.model.outcomes import RollCalled, RollCorrected

NUMBERS = ("", "", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_CRAPS = {2: "Two craps, aces", 3: "Three craps, ace-deuce", 12: "Twelve craps, boxcars"}
_PLAIN = {2: "Two, aces", 3: "Three, ace-deuce", 11: "Yo-leven", 12: "Twelve, boxcars"}


def call_in_words(roll: RollCalled | RollCorrected) -> str:
    """Say a roll that counts as the stickperson calls it."""
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
        case _:
            return _PLAIN.get(total, word.capitalize() + hard)


def puck_in_words(point_after: int | None) -> str:
    """Say where the puck lies."""
    return "OFF" if point_after is None else f"ON {NUMBERS[point_after]}"
