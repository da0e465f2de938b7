"""What to do about a sensor that failed its test."""

from collections.abc import Mapping

_CAMERA = (
    "clean its lens and its light, take away what hides the felt; then tablectl calibrate camera {device}"
)
_WINDOW = "clean its window, look at its cable"
STEPS: Mapping[str, str] = {
    "device": "tablectl faults says what is wrong with it; look at its plug and its power first",
    **dict.fromkeys(
        ("die_released", "die_at", "die_rest", "die_off_table", "die_lost", "die_contact"), _CAMERA
    ),
    "wall_impact": "press the sensor and its cable home; then tablectl calibrate walls {device}",
    "ball_beam": "clean both ends of the beam, look at its cable; then tablectl calibrate wheel {device}",
    "ball_drop": _WINDOW,
    "rotor_index": "clean the rotor's mark, set the sensor nearer; then tablectl calibrate wheel {device}",
    "pocket_ball": "clean the reader's window; then tablectl calibrate wheel {device}",
    "wheel_status": "read the wheel's own display; docs/devices/ss2.md says what each state means",
    "foreign_object": _WINDOW,
    "ball_out": _WINDOW,
    "card": "clean the shoe's window, and draw the same card again",
    "input": "press the button again by itself; look at its wire and its line in the table's file",
}
"""By the kind of reading; `{device}` is the device's name."""
_WIRE = "look at its wire, and at its line in the table's file"
"""Of a switch, a lamp or the buzzer, which have names of their own."""


def next_step(device: str, sensor: str) -> str:
    """Return what to do about this sensor, and how to test it again."""
    kind = sensor.partition(" ")[0]
    step = STEPS.get(kind, _WIRE).format(device=device)
    only = "" if kind == "device" else f" --only {kind}" if kind in STEPS else ""
    return f"{step}; then tablectl test {device}{only}"
