"""Record simulated sessions and their expected outcomes: `python -m tests.sim.record DIRECTORY`.

The logs in tests/logs with names in `sim-*` were recorded in this way. They stay unchanged when the
simulators change.
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from drivers.sim import dice, wheel
from drivers.sim.scenes import Feed, Header, Scene, write_log

Recorded = tuple[Header, Feed, list[Scene]]
TWICE = frozenset({"both_short", "both_off"})
"""Kinds whose reason applies to each die."""

_ONE_ANSWER: Mapping[str, float] = {
    name: 1.0
    for name in dice.KINDS
    if name not in ("wall_down_one_short", "second_look", "soft_hit", "merged", "near_wall")
    and not name.startswith(("occluded_", "swapped_", "touch_", "phantom_"))
}
_SPINS: Mapping[str, float] = {
    "valid": 3.0,
    **dict.fromkeys(
        (
            "glitchy",
            "missed_pulses",
            "dying_beam",
            "hop",
            "short_spin",
            "same_direction",
            "foreign_object",
            "ball_out",
            "dealer_no_spin",
            "dealer_no_spin_late",
            "dealer_sets_number",
            "dealer_early_no_more_bets",
        ),
        1.0,
    ),
}
_DEAD_BEAM = {"valid": 3.0, "missed_pulses": 1.0, "hop": 1.0, "short_spin": 1.0, "same_direction": 1.0}


def recordings() -> Mapping[str, Recorded]:
    return {
        "sim-craps-12-034-a": dice.simulate(90_001, _ONE_ANSWER, 20),
        "sim-craps-12-034-b": dice.simulate(90_002, {**_ONE_ANSWER, "valid": 20.0}, 20),
        "sim-craps-12-034-plain": dice.simulate(90_003, dice.PLAIN, 20),
        "sim-craps-v1": dice.simulate(
            90_004, {"valid": 6.0, "one_short": 2.0, "off_table": 1.0}, 16, rules="craps-v1"
        ),
        "sim-roulette-american": wheel.simulate(90_005, _SPINS, 16, wheel=wheel.AMERICAN),
        "sim-roulette-european": wheel.simulate(90_006, _SPINS, 16, wheel=wheel.EUROPEAN),
        "sim-roulette-dead-beam": wheel.simulate(
            90_007, _DEAD_BEAM, 12, wheel=wheel.AMERICAN, dead_beams=frozenset((1,))
        ),
    }


def expected(scenes: list[Scene], attempt: str) -> Iterator[dict[str, object]]:
    """Yield the expected outcomes of a session; `attempt` is `roll` or `spin`."""
    void = f"{attempt}.no_{attempt}"
    for number, scene in enumerate(scenes, 1):
        truth, own = scene.truth, {attempt: number}
        last = number == len(scenes)
        if truth.verdict == "valid":
            yield {"type": f"{attempt}.called", "data": {**own, **_result(truth.dice, truth.number)}}
        elif truth.verdict == "void":
            times = 2 if scene.kind in TWICE else 1
            reasons = [{"code": code} for code in truth.reasons for _ in range(times)]
            yield {"type": void, "data": {**own, "reasons": reasons}}
        else:
            yield {"type": f"{attempt}.review", "data": own}
        match truth.ruled:
            case "called":
                result = _result(truth.ruled_dice, truth.ruled_number)
                yield {"type": f"{attempt}.called", "data": {**own, **result, "grade": "person"}}
            case "void":
                yield {"type": void, "data": {**own, "reasons": [{"code": "called"}], "by": "boxperson"}}
            case "corrected":
                result = _result(truth.ruled_dice, truth.ruled_number)
                yield {"type": f"{attempt}.corrected", "data": {**own, **result}}
            case None | "unruled" if truth.verdict == "review" and not last:
                yield {"type": void, "data": {**own, "reasons": [{"code": "unruled"}]}}
            case _:
                pass


def _result(faces: tuple[int, int] | None, number: str | None) -> dict[str, object]:
    if faces is not None:
        return {"dice": list(faces), "total": sum(faces)}
    return {"number": number} if number is not None else {}


def main(directory: str) -> None:
    for name, (header, feed, scenes) in recordings().items():
        attempt = "spin" if header.wheel else "roll"
        write_log(Path(directory, f"{name}.jsonl.gz"), header, feed)
        lines = [msgspec.json.encode(outcome).decode() + "\n" for outcome in expected(scenes, attempt)]
        Path(directory, f"{name}.expected.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
