"""Compares published outcomes with the truth."""

from collections.abc import Sequence
from typing import Any

from drivers.sim.scenes import Scene, Truth
from tests.lab.guest.table import ReceivedMessage

VERDICTS = {
    f"{attempt}.{word}": verdict
    for attempt, void in (("roll", "no_roll"), ("spin", "no_spin"), ("deal", "void"))
    for word, verdict in (("called", "valid"), (void, "void"), ("review", "review"))
}
EARLY_US = 300_000
"""Maximum time by which an outcome may precede its scene, because of the error of a board's clock."""


def outcomes_on(
    scene: Scene, following: Scene | None, heard: Sequence[ReceivedMessage]
) -> list[dict[str, Any]]:
    """Return the first outcome of each attempt in a scene. A later outcome of an attempt is a ruling."""
    end_us = following.start_us if following else scene.end_us + 3_600_000_000
    first: dict[int, dict[str, Any]] = {}
    for one in heard:
        if one.what["type"] in VERDICTS:
            first.setdefault(one.what["data"][one.what["type"].partition(".")[0]], one.what)
    return [one for one in first.values() if scene.start_us - EARLY_US <= one["t"] < end_us - EARLY_US]


def judged(
    scenes: Sequence[Scene], heard: Sequence[ReceivedMessage]
) -> tuple[list[str], list[str], list[str]]:
    """Return the first outcome of each scene, the wrong calls, and the wrong voids and missing outcomes.

    A review is never listed as wrong here. Whether it was needless depends on the judge, not on the cable.
    """
    words, wrong, needless = [], [], []
    for scene, following in zip(scenes, [*scenes[1:], None], strict=True):
        own = outcomes_on(scene, following, heard)
        word = VERDICTS[own[0]["type"]] if own else "silent"
        words.append(word)
        data, truth = own[0]["data"] if own else {}, scene.truth
        if word == "valid" and ("valid" not in truth.allowed or not _is_so(data, truth)):
            wrong.append(f"{scene.kind}: called {data} instead of {truth}")
        elif word not in truth.allowed and word != "review":
            needless.append(f"{scene.kind}: {word} instead of {truth.verdict}: {data}")
    return words, wrong, needless


def _is_so(data: dict[str, Any], truth: Truth) -> bool:
    if "dice" in data:
        return truth.dice is not None and sorted(data["dice"]) == sorted(truth.dice)
    if "hands" in data:
        called = {**data["hands"], "dealer": data["dealer"]}
        return {at: sorted(cards) for at, cards in called.items()} == {
            at: sorted(cards) for at, cards in truth.hands.items()
        }
    return bool(data["number"] == truth.number)
