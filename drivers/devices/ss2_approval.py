"""The approved settings of an SS2 wheel, and what reading them back makes of them.

A wheel's OK proves nothing: it was seen to acknowledge a setting and keep the old value. And a setting that
has drifted can look like a broken sensor. So every value is read back before the table opens.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drivers.protocol.ss2 import READ_STATE_AND_MODE, read_parameter, set_mode, set_parameter
from drivers.protocol.ss2_requests import Answer

_MODE = "mode"
_TOLERANCE = 0.001


@dataclass(frozen=True, slots=True)
class Question:
    """One value to read: its name, the command, and the letters that the reply may bear."""

    name: str
    command: bytes
    letters: str


class Approval:
    """Which values the wheel must have, and which it was seen to have."""

    def __init__(self, parameters: Mapping[str, tuple[float, ...]], mode: int | None) -> None:
        """`parameters` by the letter that sets them, as `m`: (1.5,); raises ValueError for an unknown one."""
        self._wanted: dict[str, tuple[float, ...]] = dict(parameters)
        self._commands = {letter: read_parameter(letter) for letter in parameters}
        if mode is not None:
            self._wanted[_MODE] = (float(mode),)
            self._commands[_MODE] = READ_STATE_AND_MODE
        self._wrong: dict[str, str] = {}
        self._unread = set(self._wanted)

    @property
    def verified(self) -> bool:
        """Whether every value was read back and is the approved one."""
        return not self._unread and not self._wrong

    @property
    def differences(self) -> tuple[str, ...]:
        """Say of each value that differs what was found and what is approved."""
        return tuple(self._wrong[name] for name in sorted(self._wrong))

    def begin(self) -> None:
        """Read everything anew: the wheel was away, and what was not committed is lost."""
        self._unread = set(self._wanted)
        self._wrong.clear()

    def questions(self) -> Iterator[Question]:
        """Give what is still to be read."""
        for name in sorted(self._unread):
            yield Question(name, self._commands[name], "O" if name == _MODE else "T")

    def corrections(self) -> Iterator[Question]:
        """Give the commands that set what differs; each must be read back after it."""
        for name in sorted(self._wrong):
            values = self._wanted[name]
            if name == _MODE:
                yield Question(f"set {name}", set_mode(round(values[0])), "o")
            else:
                yield Question(f"set {name}", set_parameter(name, values), "TZ")
        self._unread |= set(self._wrong)

    def hear(self, answer: Answer) -> None:
        """Take an answer to one of the questions; one without a value leaves it unread."""
        wanted = self._wanted.get(answer.name)
        values = _values(answer)
        if wanted is None or not values:
            return
        if answer.name == _MODE:
            values = values[-1:]
        self._unread.discard(answer.name)
        self._wrong.pop(answer.name, None)
        if len(values) != len(wanted) or any(
            abs(found - right) > _TOLERANCE for found, right in zip(values, wanted, strict=True)
        ):
            what = _MODE if answer.name == _MODE else f"parameter {answer.name}"
            self._wrong[answer.name] = f"{what} is {_words(values)}, approved is {_words(wanted)}"


def _values(answer: Answer) -> tuple[float, ...]:
    if answer.outcome != "value":
        return ()
    words = answer.text.split()
    if words and words[0].isalpha():
        words = words[1:]
    try:
        return tuple(float(word) for word in words)
    except ValueError:
        return ()


def _words(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)
