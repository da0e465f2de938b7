"""A smart wheel: the games of a session with their ground truth, and the wheel's end of the SS2 link.

The wheel plays its games independently of the table, reports twice a second, and responds to commands. It
acknowledges a host's `*R`, which has no other effect.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from controller.model.readings import AnyReading, Input
from drivers.sim.boards import BoardClock
from drivers.sim.scenes import Feed, Scene, Truth
from drivers.ss2.protocol import LAST_SPIN, SET_LETTERS, Flag, Mode, State

FRAME_US = 500_000
MUTE_US = 4_000_000
"""Time for which the wheel's controller is silent after power-on."""
MODE = Mode.REVERSE_EACH_GAME | Mode.RANDOM_ROTOR_SPEED | Mode.AUTOMATIC_STATUS
APPROVED = {"m": (1.5,), "n": (2920.0,)}
"""The approved parameters in a virtual table's file; the wheel starts with these values."""
_PARAMETERS = {**APPROVED, "k": (1900.0,), "s": (14.0, 17.5), "h": (60.0,), "z": (38.0,), "g": (0.0,)}
_SHOWN = {"0": " 0", "00": "00", "000": "38", "0000": "39"}
_MAX_COMMAND_BYTES = 80
_STOPPED = frozenset({State.CLOSED, State.ROTOR_STARTED})


@dataclass(frozen=True, slots=True)
class Change:
    """A change in the wheel's state at `at_us`. The change to state 5 includes the winning number."""

    at_us: int
    state: State
    flags: int = 0
    turned: bool = False
    """Whether the rotor changes direction."""
    number: str | None = None


class Ss2Wheel:
    """A simulated smart wheel at the end of its cable."""

    def __init__(self, name: str, rng: Random) -> None:
        """Create the device with this name."""
        self.name = name
        self.hung = False
        self.input_broken = False
        self.clock = BoardClock(0, 0, 0.0)
        """Unused, because the wheel does not timestamp its readings."""
        self.add_flags = 0
        """Flags added to every frame in play."""
        self.shows_rpm_x10: int | None = None
        """Speed that replaces the rotor's speed in reports during play."""
        self.hides_numbers = False
        """Whether the wheel proceeds to the next game without reporting a number."""
        self.parameters = dict(_PARAMETERS)
        self._rng = rng
        self._script: deque[Change] = deque()
        self._heard = bytearray()
        self._output: list[bytes] = []
        self._next_frame_us = 0
        self._committed = dict(_PARAMETERS)
        self._state = State.CLOSED
        self._flags = 0
        self._number: str | None = None
        self._spin = 1
        self._decided = False
        self._clockwise = True
        self._rpm_x10 = 0
        self._answers: dict[str, Callable[[str], str]] = {
            "T": self._parameter,
            "O": lambda _: f"O {self._state} 1 {self.parameters['h'][0]:g} {int(MODE)}",
            "o": self._set_mode,
            "R": lambda _: "R OK",
            "F": lambda _: "F 0" if self._state == State.CLOSED else "F BUSY",
            "K": lambda _: "K CAM",
            "S": lambda _: "S 2.52",
        }

    def play(self, changes: Iterable[Change]) -> None:
        """Queue changes after those already queued."""
        self._script.extend(changes)

    def start(self, now_us: int) -> None:
        """Start with the committed settings; the wheel is silent at first, as after power-on."""
        self.parameters = dict(self._committed)
        self._state, self._flags, self._number, self._spin = State.CLOSED, 0, None, 1
        self._rpm_x10, self._decided = 0, False
        self._heard.clear()
        self._output.clear()
        self._next_frame_us = now_us + MUTE_US

    def restart(self, now_us: int) -> None:
        """Restart."""
        self.start(now_us)

    def drift(self, letter: str, values: tuple[float, ...]) -> None:
        """Change and commit a setting, as the vendor's own tool would."""
        self.parameters[letter] = self._committed[letter] = values

    def sense(self, now_us: int, reading: AnyReading) -> None:
        """Ignore the reading; the wheel reports only its games."""

    def send_line(self, line: bytes) -> None:
        """Send a line without checking its contents."""
        self._output.append(line + b"\r\n")

    def receive(self, now_us: int, data: bytes) -> None:
        """Handle commands."""
        if self.hung or self.input_broken or now_us < self._next_frame_us - FRAME_US:
            return
        self._heard += data
        *lines, remainder = self._heard.replace(b"\n", b"\r").split(b"\r")
        self._heard[:] = remainder[-_MAX_COMMAND_BYTES:]
        for line in lines:
            if line.startswith(b"*") and len(line) > 1:
                self._handle_command(line[1:].decode("ascii", "replace"))

    def tick(self, now_us: int) -> None:
        """Apply the changes that are due, and send a report if one is due."""
        while self._script and self._script[0].at_us <= now_us:
            self._change(self._script.popleft())
        if now_us >= self._next_frame_us:
            self._next_frame_us += FRAME_US * ((now_us - self._next_frame_us) // FRAME_US + 1)
            if not self.hung:
                self.send_line(self._frame())

    def next_due_us(self) -> int | None:
        """Return the time of the next report or change."""
        change = self._script[0].at_us if self._script else self._next_frame_us
        return min(change, self._next_frame_us)

    def take_output(self) -> bytes:
        """Return and clear the bytes queued for the table."""
        output = b"".join(self._output)
        self._output.clear()
        return output

    def _change(self, change: Change) -> None:
        if change.state == State.PLACE_BETS and self._decided:
            self._spin, self._decided = self._spin % LAST_SPIN + 1, False
        if change.state == State.WINNING_NUMBER and self.hides_numbers:
            self._number, self._decided = change.number, True
            return
        if change.state == State.WINNING_NUMBER and self._state != State.WINNING_NUMBER:
            self._number, self._decided = change.number, True
            if not self.hung:
                self.send_line(self._shown().encode())
        if self._state in _STOPPED and change.state not in _STOPPED:
            self._rpm_x10 = self._rng.randint(140, 175)
        self._state, self._flags = change.state, change.flags
        if change.turned:
            self._clockwise = not self._clockwise

    def _frame(self) -> bytes:
        in_play = State.BALL_IN_RIM <= self._state <= State.WINNING_NUMBER
        speed = self.shows_rpm_x10 if in_play and self.shows_rpm_x10 is not None else self._rpm_x10
        flags = self._flags | (self.add_flags if in_play else 0)
        number, direction = self._shown(), int(not self._clockwise)
        return f"*X;{int(self._state)};{self._spin:03};{number};{flags:X};{speed:03};{direction}".encode()

    def _shown(self) -> str:
        return "  " if self._number is None else _SHOWN.get(self._number, f"{self._number:>2}")

    def _handle_command(self, command: str) -> None:
        if command == "X":
            self.send_line(self._frame())
            return
        answer = self._answers.get(command[0])
        self.send_line(f"*{answer(command[1:].strip()) if answer else command[0] + ' NO'}".encode())

    def _set_mode(self, text: str) -> str:
        return f"o {text}" if self._state == State.CLOSED else "o BUSY"

    def _parameter(self, text: str) -> str:
        """Read, set or commit a parameter; respond OK even to an invalid value, as the real wheel does."""
        letter, _, values = text.partition(" ")
        if letter == "f":
            self._committed = dict(self.parameters)
        elif letter.isupper() and letter.lower() in self.parameters:
            found = self.parameters[letter.lower()]
            return f"T {letter.lower()} " + " ".join(f"{value:.1f}" for value in found)
        elif len(letter) == 1 and letter in SET_LETTERS and values:
            self.parameters[letter] = tuple(float(word) for word in values.split() if _is_number(word))
        return "T OK"


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdigit()


def with_flag(state: State, at_us: int, flag: Flag) -> Change:
    """Return a change that sets a warning flag in a state."""
    return Change(at_us, state, int(flag))


_REVIEW = Truth(verdict="review", allowed=("review",), ruled="unruled")


def _seconds(rng: Random, low: float, high: float) -> int:
    return round(1e6 * rng.uniform(low, high))


@dataclass(slots=True)
class Game:
    """A game at a fault-free wheel. The function for the game's kind modifies the game."""

    rng: Random
    start_us: int
    number: str
    pockets: Sequence[str]
    changes: list[Change] = field(init=False)
    inputs: list[Input] = field(default_factory=list)
    launch_us: int = field(init=False)
    close_us: int = field(init=False)
    number_us: int = field(init=False)
    end_us: int = field(init=False)

    def __post_init__(self) -> None:
        """Draw the times of the game's states."""
        rng = self.rng
        self.launch_us = self.start_us + _seconds(rng, 6.0, 10.0)
        self.close_us = self.launch_us + _seconds(rng, 3.5, 4.5)
        self.number_us = self.close_us + _seconds(rng, 9.0, 14.0)
        self.end_us = self.number_us + _seconds(rng, 5.0, 6.0)
        self.changes = [
            Change(self.start_us, State.PLACE_BETS),
            Change(self.start_us + 1_200_000, State.PLACE_BETS, turned=True),
            Change(self.launch_us, State.BALL_IN_RIM),
            Change(self.close_us, State.NO_MORE_BETS),
            Change(self.number_us, State.WINNING_NUMBER, number=self.number),
        ]

    def replace_changes_from(self, at_us: int, *new_changes: Change) -> None:
        """Replace the changes from `at_us` onwards."""
        self.changes = sorted(
            [*(c for c in self.changes if c.at_us < at_us), *new_changes], key=lambda change: change.at_us
        )

    def add_input(self, at_us: int, name: str, number: str | None = None) -> None:
        """Add an input by the dealer."""
        self.inputs.append(Input(t=at_us, dev="console", name=name, by="dealer", number=number))


def _expected_truth(game: Game) -> Truth:
    return Truth(verdict="valid", allowed=("valid",), number=game.number)


def _void(reason: str) -> Truth:
    return Truth(verdict="void", allowed=("void",), reasons=(reason,))


def valid(game: Game) -> Truth:
    """A game without any disturbance."""
    return _expected_truth(game)


def launched_again(game: Game) -> Truth:
    """The launch fails once; the wheel reports the failure until 1.4 s after the second launch."""
    game.changes += [
        with_flag(State.PLACE_BETS, game.launch_us - 2_500_000, Flag.LAUNCH_FAILED),
        with_flag(State.BALL_IN_RIM, game.launch_us + 1, Flag.LAUNCH_FAILED),
        Change(game.launch_us + 1_400_000, State.BALL_IN_RIM),
    ]
    return _expected_truth(game)


def ball_unsensed(game: Game) -> Truth:
    """The wheel fails to detect the ball for three seconds."""
    game.changes += [
        with_flag(State.NO_MORE_BETS, game.close_us + 3_000_000, Flag.BALL_MISSING),
        Change(game.close_us + 6_000_000, State.NO_MORE_BETS),
    ]
    return _expected_truth(game)


def with_rotor(game: Game) -> Truth:
    """The ball runs in the rotor's direction."""
    at = game.launch_us + 1_500_000
    game.replace_changes_from(at, with_flag(State.BALL_IN_RIM, at, Flag.BALL_WITH_ROTOR))
    return _void("same_direction")


def rotor_turned(game: Game) -> Truth:
    """The rotor changes direction while the ball runs."""
    at = game.close_us + 3_000_000
    game.replace_changes_from(at, Change(at, State.NO_MORE_BETS, turned=True))
    return _void("rotor_reversed")


def ball_missing(game: Game) -> Truth:
    """The wheel does not detect the ball again in this game."""
    at = game.close_us + 2_000_000
    game.replace_changes_from(at, with_flag(State.NO_MORE_BETS, at, Flag.BALL_MISSING))
    return _REVIEW


def component(game: Game) -> Truth:
    """A sensor or the motor fails in play, and the wheel closes."""
    at = game.close_us + 2_000_000
    failing = with_flag(State.NO_MORE_BETS, at, Flag.COMPONENT_FAULT)
    game.replace_changes_from(at, failing, with_flag(State.CLOSED, at + 3_000_000, Flag.COMPONENT_FAULT))
    return _REVIEW


def misfire(game: Game) -> Truth:
    """The wheel aborts the game and returns to state 1."""
    at = game.close_us + 4_000_000
    game.replace_changes_from(at, Change(at, State.ROTOR_STARTED))
    return _REVIEW


def dealer_no_spin(game: Game) -> Truth:
    """The dealer calls No Spin while the ball runs."""
    game.add_input(game.close_us + 2_000_000, "no_spin")
    return _void("called")


def dealer_sets_number(game: Game) -> Truth:
    """The dealer corrects a published number."""
    other = game.rng.choice([number for number in game.pockets if number != game.number])
    game.add_input(game.number_us + 2_500_000, "set_number", other)
    return Truth(
        verdict="valid", allowed=("valid",), number=game.number, ruled="corrected", ruled_number=other
    )


_ALL: tuple[Callable[[Game], Truth], ...] = (
    valid,
    launched_again,
    ball_unsensed,
    with_rotor,
    rotor_turned,
    ball_missing,
    component,
    misfire,
    dealer_no_spin,
    dealer_sets_number,
)
KINDS: Mapping[str, Callable[[Game], Truth]] = {kind.__name__: kind for kind in _ALL}
USUAL: Mapping[str, float] = {name: 9.0 if name == "valid" else 1.0 for name in KINDS}


def simulate(
    seed: int, pockets: Sequence[str], mix: Mapping[str, float] = USUAL, n: int = 10
) -> tuple[list[Change], Feed, list[Scene]]:
    """Play `n` games with kinds drawn from `mix`.

    Return the wheel's changes, people's inputs and the scenes.
    """
    rng = Random(seed)  # noqa: S311 - a reproducible simulation, not a secret
    changes: list[Change] = []
    feed: Feed = []
    scenes: list[Scene] = []
    now = 500_000
    for kind in rng.choices(list(mix), list(mix.values()), k=n):
        game = Game(rng, now, rng.choice(pockets), pockets)
        truth = KINDS[kind](game)
        changes += sorted(game.changes, key=lambda change: change.at_us)
        feed += [(entered.t + rng.randint(200, 3000), entered) for entered in game.inputs]
        scenes.append(Scene(kind=kind, start_us=game.launch_us, end_us=game.end_us, truth=truth))
        now = game.end_us + _seconds(rng, 0.5, 1.5)
    return changes, feed, scenes
