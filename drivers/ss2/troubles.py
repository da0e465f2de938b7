"""The faults of an SS2 wheel: the codes of its `device_down` and `device_fault`, causes and remedies.

docs/devices/ss2.md lists the same codes.
"""

from collections.abc import Iterator

from drivers.health import TROUBLES, Cause

COMPONENT = "component"
POWER_CYCLE = "power_cycle"
ROTOR_SPEED = "rotor_speed"
SELF_TEST = "self_test"
"""Followed by `_` and the self-test's code, if this release knows its meaning."""

_READ_BACK = "when its settings are read back"
_AT_ONCE = "at once"
_APPROVED = "when the wheel restarts, or a person approves it"
_APPROVE = "then: tablectl approve device"


def _part(likely: str, do: str) -> Cause:
    """Return the cause of a fault that locks the table until a person has checked the wheel."""
    return Cause(likely, f"{do}; {_APPROVE}", _APPROVED)


def _ball_sensors(first: int, likely: str, do: str) -> Iterator[tuple[str, Cause]]:
    for sensor in range(1, 4):
        yield f"{SELF_TEST}_{first + sensor}", _part(likely, do.format(sensor=sensor))


TROUBLES_OF_WHEEL: dict[str, Cause] = {
    **TROUBLES,
    "starting": Cause(
        "the wheel has just been switched on: it is silent for some seconds",
        "wait ten seconds; then see that the wheel is on, and that its cable is a null-modem one",
        "with the first status frame",
    ),
    "silent": Cause(
        "the wheel is off or hangs, its cable is out at the wheel, or bit 128 of its mode word is not set",
        "switch the wheel off and on and wait ten seconds; look at its plug; if it only answers when asked,"
        " set ask_status: true in the table's file",
        "with the next status frame",
    ),
    "unchecked": Cause(
        "the wheel has just started, or its rotor still turns",
        "wait until the rotor has run down: it is asked again automatically",
        _READ_BACK,
    ),
    "configuration": Cause(
        "somebody changed a parameter, or the wheel was replaced",
        "set what it names to the approved value with the maker's tool, commit it there, and power-cycle the"
        " wheel",
        _READ_BACK,
    ),
    COMPONENT: _part(
        "a sensor that is stuck, the motor or the encoder",
        "run the wheel's self-test (*F) when it is idle, and replace the part that it names",
    ),
    ROTOR_SPEED: Cause(
        "its parameter m was changed, or its encoder fails",
        "compare its parameter m with the approved one, and look at its encoder if it is the same",
        "when the speed is right again in play",
    ),
    f"{SELF_TEST}_1": _part(
        "the wheel's own electronics",
        "switch the wheel off and on and run its self-test again; if it fails again, call the maker",
    ),
    f"{SELF_TEST}_2": _part("there is no ball in the wheel", "put the ball in and run its self-test again"),
    f"{SELF_TEST}_3": _part(
        "the ball lies in no pocket, or the pocket sensor is dirty",
        "look where the ball lies, clean the pocket sensor, and run its self-test again",
    ),
    f"{SELF_TEST}_4": _part(
        "the plugs of two ball sensors are exchanged, or the ball was blown the wrong way",
        "look at the plugs of the ball sensors, and run its self-test again",
    ),
    f"{SELF_TEST}_5": _part(
        "the motor, its plug or its fuse, or something that holds the rotor",
        "switch the wheel off and turn the rotor by hand: free it, or look at the motor's plug and fuse",
    ),
    f"{SELF_TEST}_6": _part(
        "the encoder has no datum, or it failed",
        "calibrate it with the maker's tool, the ball fixed in pocket 0; replace it if it fails again",
    ),
    f"{SELF_TEST}_7": _part(
        "the launcher or the drive works in one direction only",
        "look at the air jet and the drive for clockwise games, and run its self-test again",
    ),
    f"{SELF_TEST}_8": _part(
        "the launcher or the drive works in one direction only",
        "look at the air jet and the drive for anti-clockwise games, and run its self-test again",
    ),
    **dict(
        _ball_sensors(
            10,
            "dirt or light on the sensor, or the sensor itself",
            "clean ball sensor {sensor} and shade it from light; replace it if it stays on",
        )
    ),
    **dict(
        _ball_sensors(
            20,
            "dirt on the sensor, its plug, or the sensor itself",
            "clean ball sensor {sensor} and press its plug home; replace it if it stays blind",
        )
    ),
    f"{SELF_TEST}_100": _part(
        "the ball could not be launched or did not come to rest within the test's time",
        "look at ball, rim and air jet, and run its self-test again",
    ),
    SELF_TEST: _part(
        "a newer wheel than this release knows",
        "look the code up in the maker's guide and repair what it names",
    ),
    "number_changed": Cause(
        "the ball was moved in its pocket, or the pocket sensor read twice",
        "look where the ball lies and rule on the review; clean the pocket sensor if it happens again",
        _AT_ONCE,
    ),
    "missed_games": Cause(
        "the wheel kept playing while it was disconnected or the controller was down",
        "look at what the wheel shows and rule on the review; if no cable was out, look at its plugs",
        _AT_ONCE,
    ),
    POWER_CYCLE: Cause(
        "the wheel was switched off and on, or its supply failed for a moment",
        "nothing, once: its settings are read back; if nobody switched it off, check its supply",
        _AT_ONCE,
    ),
    "unknown_state": Cause(
        "bit 32 of its parameter g is set, but the table's file does not say so",
        "set state_7: true in the table's file, or take 32 out of the wheel's parameter g",
        _AT_ONCE,
    ),
    "void_refused": Cause(
        "the wheel was busy, or its game was over already",
        "watch the wheel: if it goes on with the void game, its number does not count; call no_spin for it",
        _AT_ONCE,
    ),
    "licence": Cause(
        "the licence of its bonus numbers; play does not need them",
        "have the maker renew it, or take the bonus numbers (32768) out of the wheel's mode word",
        _AT_ONCE,
    ),
}
