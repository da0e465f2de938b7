"""The fault codes of an SS2 wheel, with causes and remedies.

docs/devices/ss2.md lists the same codes.
"""

from collections.abc import Iterator

from drivers.health import DEVICE_FAULTS, Cause

COMPONENT = "component"
POWER_CYCLE = "power_cycle"
ROTOR_SPEED = "rotor_speed"
SELF_TEST = "self_test"
"""The fault code for a failed self-test. If the wheel's code is known, it is appended after `_`."""

_READ_BACK = "when its settings are read back"
_AT_ONCE = "at once"
_APPROVED = "when the wheel restarts, or a person approves it"
_APPROVE = "then: tablectl approve device"


def _locking_cause(likely: str, do: str) -> Cause:
    """Return the entry for a fault that locks the table until a person approves the wheel."""
    return Cause(likely, f"{do}; {_APPROVE}", _APPROVED)


def _ball_sensors(first: int, likely: str, do: str) -> Iterator[tuple[str, Cause]]:
    for sensor in range(1, 4):
        yield f"{SELF_TEST}_{first + sensor}", _locking_cause(likely, do.format(sensor=sensor))


WHEEL_FAULTS: dict[str, Cause] = {
    **DEVICE_FAULTS,
    "starting": Cause(
        "the wheel has just been switched on and sends nothing for a few seconds",
        "wait ten seconds; then check that the wheel is on and that its cable is a null-modem cable",
        "with the first status frame",
    ),
    "silent": Cause(
        "the wheel is off or has hung, its cable is unplugged, or bit 128 of its mode word is not set",
        "switch the wheel off and on and wait ten seconds; check its plug; if it sends its status only on"
        " request, set ask_status: true in the table's file",
        "with the next status frame",
    ),
    "unchecked": Cause(
        "the wheel has just started, or its rotor is still turning",
        "wait until the rotor has stopped; the settings are then read automatically",
        _READ_BACK,
    ),
    "configuration": Cause(
        "a parameter was changed, or the wheel was replaced",
        "use the manufacturer's tool to restore each setting named here to its approved value and save it;"
        " then power-cycle the wheel",
        _READ_BACK,
    ),
    COMPONENT: _locking_cause(
        "a stuck sensor, the motor or the encoder",
        "run the wheel's self-test (*F) when the wheel is idle, and replace the part named by the test",
    ),
    ROTOR_SPEED: Cause(
        "the wheel's parameter m was changed, or its encoder is failing",
        "compare parameter m with the approved value; if they are equal, check the encoder",
        "when the rotor's speed in play is plausible",
    ),
    f"{SELF_TEST}_1": _locking_cause(
        "the wheel's electronics",
        "switch the wheel off and on and run its self-test again; if it fails again, contact the"
        " manufacturer",
    ),
    f"{SELF_TEST}_2": _locking_cause(
        "there is no ball in the wheel", "put the ball into the wheel and run the wheel's self-test again"
    ),
    f"{SELF_TEST}_3": _locking_cause(
        "the ball is not in a pocket, or the pocket sensor is dirty",
        "check the ball's position, clean the pocket sensor, and run the wheel's self-test again",
    ),
    f"{SELF_TEST}_4": _locking_cause(
        "the plugs of two ball sensors are swapped, or the ball was launched in the wrong direction",
        "check the plugs of the ball sensors, and run the wheel's self-test again",
    ),
    f"{SELF_TEST}_5": _locking_cause(
        "the motor, its plug or its fuse, or an object that blocks the rotor",
        "switch the wheel off and turn the rotor by hand; free the rotor, or check the motor's plug and fuse",
    ),
    f"{SELF_TEST}_6": _locking_cause(
        "the encoder is not calibrated or has failed",
        "calibrate the encoder with the manufacturer's tool and the ball fixed in pocket 0; if the encoder"
        " fails again, replace it",
    ),
    f"{SELF_TEST}_7": _locking_cause(
        "the launcher or the drive works in one direction only",
        "check the air jet and the drive for clockwise games, and run the wheel's self-test again",
    ),
    f"{SELF_TEST}_8": _locking_cause(
        "the launcher or the drive works in one direction only",
        "check the air jet and the drive for anti-clockwise games, and run the wheel's self-test again",
    ),
    **dict(
        _ball_sensors(
            10,
            "dirt or light on the sensor, or the sensor itself",
            "clean ball sensor {sensor} and shade it from light; replace the sensor if it stays on",
        )
    ),
    **dict(
        _ball_sensors(
            20,
            "the sensor is dirty, its plug is loose, or the sensor has failed",
            "clean ball sensor {sensor} and push its plug fully in; replace the sensor if it stays blind",
        )
    ),
    f"{SELF_TEST}_100": _locking_cause(
        "the ball could not be launched or did not come to rest in the time allowed by the test",
        "check the ball, the rim and the air jet, and run the wheel's self-test again",
    ),
    SELF_TEST: _locking_cause(
        "a wheel newer than this release",
        "look up the code in the manufacturer's guide and repair the part named there",
    ),
    "number_changed": Cause(
        "the ball was moved in its pocket, or the pocket sensor read twice",
        "check the ball's position and rule on the review; clean the pocket sensor if the fault recurs",
        _AT_ONCE,
    ),
    "missed_games": Cause(
        "the wheel kept playing while it was disconnected or the controller was down",
        "check the number that the wheel shows and rule on the review; if no cable was unplugged, check the"
        " plugs",
        _AT_ONCE,
    ),
    POWER_CYCLE: Cause(
        "the wheel was switched off and on, or its supply failed for a moment",
        "no action is needed the first time, because the settings are read back; if nobody switched the wheel"
        " off, check its supply",
        _AT_ONCE,
    ),
    "unknown_state": Cause(
        "bit 32 of the wheel's parameter g is set, but the table's file does not say so",
        "set state_7: true in the table's file, or clear bit 32 of the wheel's parameter g",
        _AT_ONCE,
    ),
    "void_refused": Cause(
        "the wheel was busy, or its game was already over",
        "watch the wheel; if it continues the void game, that game's number does not count, so enter no_spin",
        _AT_ONCE,
    ),
    "licence": Cause(
        "the licence for the bonus numbers expires soon; play does not need bonus numbers",
        "have the manufacturer renew the licence, or clear the bonus numbers' bit (32768) in the mode word",
        _AT_ONCE,
    ),
}
