"""The colours of a wheel's pockets are determined in one place."""

import ast
from pathlib import Path

from controller.model.pockets import RED, colour_of

CONTROLLER = Path(__file__).parents[2] / "controller"


def test_colours_are_those_of_the_wheel() -> None:
    assert {colour_of(zero) for zero in ("0", "00", "000", "0000")} == {"green"}
    assert [colour_of(pocket) for pocket in ("1", "2", "10", "11", "19", "28", "29", "36")] == [
        "red", "black", "black", "black", "red", "black", "black", "red",
    ]  # fmt: skip
    assert len(RED) == 18


def test_the_red_numbers_are_listed_once() -> None:
    """A second list could differ, and a display would then show another colour than the bets are paid by."""
    red = {int(number) for number in RED}
    lists = [
        str(file.relative_to(CONTROLLER))
        for file in CONTROLLER.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Tuple | ast.List | ast.Set)
        and {each.value for each in node.elts if isinstance(each, ast.Constant)} == red
    ]
    assert lists == ["model/pockets.py"]
