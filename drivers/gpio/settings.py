"""The settings of GPIO devices in a table's file, and their checks.

A line's number is its number on the chip, which equals the GPIO number on the 40-pin header. The chip, and
each input's pull, polarity and debounce time, have no defaults.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from drivers.readings import ReadingError, build_reading

Pull = Literal["up", "down", "none"]
ChipLabel = Literal["pinctrl-rp1", "pinctrl-bcm2711"]
"""The label of the header's chip, on a Raspberry Pi 5 and on a Raspberry Pi 4."""
TimedKind = Literal[
    "ball_beam",
    "ball_drop",
    "ball_out",
    "rotor_index",
    "rotor_phase",
    "pocket_ball",
    "foreign_object",
    "wall_impact",
]
"""The event that a timed input detects. `rotor_phase` is the second index sensor, which shows the
direction."""

HEADER_LINES = range(28)
_FIXED_PULL_UP = (2, 3)

MIN_DEBOUNCE_US = 1_000
MAX_BUTTON_DEBOUNCE_US = 25_000
"""Half the duration of a quick press (50 ms). A longer debounce time loses presses."""
MAX_SWITCH_DEBOUNCE_US = 250_000
"""Longer than for buttons, because doors and keys stay in position and heavy contacts bounce for longer."""
MIN_STUCK_US = 5_000_000


@dataclass(frozen=True, slots=True)
class TimedLimits:
    """Default settings for a kind of input, and the limits beyond which pulses could be missed."""

    hold_off_us: int
    max_hold_off_us: int
    max_debounce_us: int
    stuck_us: int
    middle: bool
    """Whether a reading's time is the middle of its pulse, when the ball or mark is centred. Otherwise,
    the time is the pulse's start."""


_S = 1_000_000
TIMED: Mapping[str, TimedLimits] = {
    # At 4 rev/s, which is faster than any launch (2.5 rev/s), the ball returns after 250 ms and breaks a beam
    # for at least 1.2 ms (a 12 mm chord at 9.8 m/s). At the drop, the ball passes in 20 ms and might break
    # the beam twice.
    "ball_beam": TimedLimits(50_000, 150_000, 1_000, 5 * _S, middle=True),
    "ball_drop": TimedLimits(500_000, 2 * _S, 5_000, 5 * _S, middle=False),
    "ball_out": TimedLimits(500_000, 2 * _S, 5_000, 30 * _S, middle=False),
    # A rotor that is parked with its mark or the ball under the sensor is not a fault.
    "rotor_index": TimedLimits(50_000, 300_000, 2_000, 0, middle=True),
    "rotor_phase": TimedLimits(0, 0, 2_000, 0, middle=True),
    # Pockets pass every 50 ms at 0.5 rev/s.
    "pocket_ball": TimedLimits(20_000, 40_000, 2_000, 0, middle=True),
    # A 39 mm chip that falls through a beam at 3 m/s breaks the beam for 13 ms, or less near the chip's edge.
    "foreign_object": TimedLimits(500_000, 2 * _S, 5_000, 0, middle=False),
    # Two dice can hit the wall 10 ms apart. The judge handles ringing that outlasts the hold-off time.
    "wall_impact": TimedLimits(4_000, 8_000, 500, 2 * _S, middle=False),
}
"""The limits of each kind of input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedInput:
    """An input whose timing affects an outcome."""

    line: int
    kind: TimedKind
    pull: Pull
    active_low: bool
    debounce_us: int
    """Minimum length of a pulse, and of a gap that ends a pulse. Shorter pulses and gaps are ignored."""
    fields: Mapping[str, str | int | float] = field(default_factory=dict)
    """Fixed fields of the input's readings: `beam`, `where`, or `wall`, `pos_mm` and `peak`."""
    dev: str = ""
    """The table's device to which the input belongs. By default, this `gpio-beams` device."""
    hold_off_us: int | None = None
    """Minimum time between the starts of two pulses. A pulse that starts earlier is ignored. The default
    depends on the kind."""
    stuck_us: int | None = None
    """Time for which the input must be active to be reported as stuck. 0 means that it is never reported. The
    default depends on the kind."""
    max_edges_per_s: int = 200
    """Maximum number of edges per second; an input with more edges is reported as babbling. A ball causes at
    most 10 edges per second."""

    @property
    def limits(self) -> TimedLimits:
        """The limits of the input's kind."""
        return TIMED[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamsSettings:
    """A `gpio-beams` device: beams, rotor index, pocket reader and impact comparators."""

    chip: ChipLabel
    inputs: Mapping[str, TimedInput]
    phase_first: Literal["cw", "ccw"] | None = None
    """The rotor's direction if its mark passes the `rotor_phase` sensor before the `rotor_index` sensor."""

    def __post_init__(self) -> None:
        """Raise ValueError with every mistake in the settings."""
        _raise_mistakes([*_line_mistakes(self.chip, self.inputs), *_beam_mistakes(self)])


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelInput:
    """A button, or a key, door or tamper switch."""

    line: int
    pull: Pull
    active_low: bool
    debounce_us: int
    kind: Literal["input", "switch"]
    name: str
    """The name of an input (no_roll, set_number...) or of a switch (door, tamper, key)."""
    by: str = ""
    """For an input, the role of the person who presses the button."""
    fields: Mapping[str, str | int | bool] = field(default_factory=dict)
    """The arguments of an input."""
    open_when: Literal["active", "inactive"] | None = None
    """For a switch, the state that means open. Wire the switch so that a cut wire means open."""
    stuck_us: int = 30_000_000
    """Time for which a button must be pressed to be reported as stuck. 0 means that it is never reported.
    Switches are not checked."""
    max_edges_per_s: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelOutput:
    """A lamp or a buzzer."""

    line: int
    active_low: bool
    lamp: str
    """The table lamp that the output follows: puck, no_more_bets, no_roll, lock, buzzer..."""
    lit_when: tuple[str, ...] = ()
    """The lamp values that switch the output on. `on_*` matches all values that begin with `on_`. The default
    is `on`."""
    dark_when: tuple[str, ...] = ()
    """The lamp values that switch the output off. They take precedence over `lit_when`. If `lit_when` is
    empty, all other values switch the output on."""
    for_ms: int = 0
    """Time after which the output is switched off; 0 means no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSettings:
    """A `gpio-panel` device: buttons, switches, lamps and buzzer.

    `factory` names the library that requests the lines, gpiod. A table's file from release 0.2 might name
    lgpio; gpiod is used in that case too.
    """

    chip: ChipLabel
    factory: Literal["gpiod", "lgpio"]
    inputs: Mapping[str, PanelInput] = field(default_factory=dict)
    outputs: Mapping[str, PanelOutput] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError with every mistake in the settings."""
        _raise_mistakes([*_line_mistakes(self.chip, self.inputs, self.outputs), *_panel_mistakes(self)])


def _raise_mistakes(mistakes: list[str]) -> None:
    if mistakes:
        raise ValueError("\n".join(mistakes))


def _line_mistakes(
    chip: str,
    inputs: Mapping[str, TimedInput] | Mapping[str, PanelInput],
    outputs: Mapping[str, PanelOutput] | None = None,
) -> Iterator[str]:
    if chip not in get_args(ChipLabel):
        yield (
            f"chip: found {chip!r}, expected pinctrl-rp1 (Raspberry Pi 5) or pinctrl-bcm2711 (Pi 4); "
            "use the label, because the chip's number depends on the kernel"
        )
    if not inputs and not outputs:
        yield "inputs: found no line, expected at least one; add a line or delete the device"
    taken: dict[int, str] = {}
    sections = {"inputs": inputs, "outputs": outputs or {}}
    for place, used in (
        (f"{name}.{key}", used) for name, group in sections.items() for key, used in group.items()
    ):
        if used.line not in HEADER_LINES:
            yield f"{place}.line: found {used.line}, expected a GPIO number on the header, 0 to 27"
        if used.line in taken:
            yield f"{place}.line: found {used.line}, but {taken[used.line]} uses that line; use another line"
        taken.setdefault(used.line, place)
    for key, read in inputs.items():
        yield from _input_mistakes(f"inputs.{key}", read)


def _input_mistakes(place: str, read: TimedInput | PanelInput) -> Iterator[str]:
    if read.pull not in get_args(Pull):
        yield f"{place}.pull: found {read.pull!r}, expected up, down or none"
    elif read.line in _FIXED_PULL_UP and read.pull != "up":
        yield f"{place}.pull: found {read.pull}, but the board pulls GPIO{read.line} up; use another line"
    if read.debounce_us < 0:
        yield f"{place}.debounce_us: found {read.debounce_us}, expected 0 or more"
    if read.stuck_us is not None and read.stuck_us < 0:
        yield f"{place}.stuck_us: found {read.stuck_us}, expected 0 (no limit) or a number of microseconds"
    if not 20 <= read.max_edges_per_s <= 10_000:
        yield f"{place}.max_edges_per_s: found {read.max_edges_per_s}, expected 20 to 10000"


def _beam_mistakes(settings: BeamsSettings) -> Iterator[str]:
    kinds = [timed.kind for timed in settings.inputs.values()]
    for kind in ("rotor_index", "rotor_phase"):
        if (found := kinds.count(kind)) > 1:
            yield f"inputs: found {found} inputs of kind {kind}, expected one; define a device for each wheel"
    if "rotor_index" in kinds and "rotor_phase" not in kinds:
        yield (
            "inputs: found a rotor_index without a rotor_phase, expected both because one sensor cannot show "
            "the rotor's direction; mount a second sensor next to the first"
        )
    if "rotor_phase" in kinds and settings.phase_first not in ("cw", "ccw"):
        yield "phase_first: missing, expected cw or ccw; turn the rotor to see which sensor reacts first"
    for key, timed in settings.inputs.items():
        yield from _timed_mistakes(f"inputs.{key}", timed)


def _timed_mistakes(place: str, timed: TimedInput) -> Iterator[str]:
    limits = TIMED.get(timed.kind)
    if limits is None:
        yield f"{place}.kind: found {timed.kind!r}, expected one of {', '.join(TIMED)}"
        return
    if timed.debounce_us > limits.max_debounce_us:
        yield (
            f"{place}.debounce_us: found {timed.debounce_us}, expected at most {limits.max_debounce_us} "
            f"for {timed.kind}; a longer time loses pulses"
        )
    if timed.hold_off_us is not None and not 0 <= timed.hold_off_us <= limits.max_hold_off_us:
        yield (
            f"{place}.hold_off_us: found {timed.hold_off_us}, expected 0 to {limits.max_hold_off_us} "
            f"for {timed.kind}; a longer time loses the next pulse"
        )
    if timed.kind == "rotor_phase":
        if timed.fields:
            yield f"{place}.fields: found {sorted(timed.fields)}, expected none for a rotor_phase"
        return
    own = {"direction": "cw"} if timed.kind == "rotor_index" else {}
    if own.keys() & timed.fields.keys():
        yield f"{place}.fields: found direction, expected none because it is measured; delete it"
        return
    try:
        build_reading(timed.kind, {**timed.fields, **own}, "dev", 0, 0)
    except ReadingError as error:
        yield f"{place}.fields: {error}"


def _panel_mistakes(settings: PanelSettings) -> Iterator[str]:
    factory: str = settings.factory
    if factory not in ("gpiod", "lgpio"):
        yield f"factory: found {factory!r}, expected gpiod, which works on a Raspberry Pi 4 and 5"
    for key, read in settings.inputs.items():
        yield from _panel_input_mistakes(f"inputs.{key}", read)
    for key, output in settings.outputs.items():
        if not output.lamp:
            yield (
                f"outputs.{key}.lamp: missing, expected the table lamp that the output follows, such as "
                "no_more_bets"
            )
        if output.for_ms < 0:
            yield (
                f"outputs.{key}.for_ms: found {output.for_ms}, expected 0 (no limit) or a number of "
                "milliseconds"
            )


def _panel_input_mistakes(place: str, read: PanelInput) -> Iterator[str]:
    max_us = MAX_BUTTON_DEBOUNCE_US if read.kind == "input" else MAX_SWITCH_DEBOUNCE_US
    if not MIN_DEBOUNCE_US <= read.debounce_us <= max_us:
        yield (
            f"{place}.debounce_us: found {read.debounce_us}, expected {MIN_DEBOUNCE_US} to {max_us} for a "
            f"{'button' if read.kind == 'input' else 'switch'}; contacts bounce for 1 to 20 ms, and a quick "
            "press of a button lasts 50 ms"
        )
    if read.kind == "input" and read.stuck_us and read.stuck_us < MIN_STUCK_US:
        yield (
            f"{place}.stuck_us: found {read.stuck_us}, expected 0 or at least {MIN_STUCK_US}, because a "
            "person might hold a button down for several seconds"
        )
    kind: str = read.kind
    if not read.name:
        yield f"{place}.name: missing, expected the name of the {kind}"
    if kind == "switch":
        if read.open_when not in ("active", "inactive"):
            yield (
                f"{place}.open_when: found {read.open_when!r}, expected the state that means open, active or "
                "inactive"
            )
        if read.by or read.fields:
            yield f"{place}: found `by` or `fields`, expected neither for a switch"
    elif kind == "input":
        if read.open_when is not None:
            yield f"{place}.open_when: found {read.open_when!r}, expected no value for an input"
        if not read.by:
            yield f"{place}.by: missing, expected the role of the person at the button, such as dealer"
        try:
            build_reading("input", {"name": read.name, "by": read.by, **read.fields}, "dev", 0, 0)
        except ReadingError as error:
            yield f"{place}.fields: {error}"
    else:
        yield f"{place}.kind: found {kind!r}, expected input or switch"
