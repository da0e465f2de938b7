"""What the table asks of a node: commands until they are acknowledged, and questions for its clock."""

from collections.abc import Mapping
from dataclasses import dataclass

from drivers.node.clock import ClockAnswer
from drivers.node.sentences import CLOCK_US, CommandResult, Sentence
from drivers.node.times import PING_AGAIN_US
from drivers.node.wire import Wire

TRIES = 4
AGAIN_US = 150_000
MAX_WAITING = 32
KEPT_US = 2_000_000
"""A command that waits for its node to come up is given up after this long."""


@dataclass(slots=True)
class _Waiting:
    verb: str
    fields: dict[str, str]
    given_us: int
    due_us: int
    tries: int = 0


class Commands:
    """The commands that wait for their acknowledgement."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}
        self._number = 0

    def add(self, now_us: int, verb: str, fields: Mapping[str, str]) -> int:
        """Queue a command; return its number. Raises OverflowError where too many wait already."""
        if len(self._waiting) >= MAX_WAITING:
            raise OverflowError(f"{MAX_WAITING} commands wait for the node already")
        self._number += 1
        self._waiting[self._number] = _Waiting(verb, {"id": str(self._number), **fields}, now_us, now_us)
        return self._number

    def next_deadline(self) -> int | None:
        """Return when the next command is to be sent, sent again or given up."""
        return min((waiting.due_us for waiting in self._waiting.values()), default=None)

    def send_due(self, now_us: int, wire: Wire) -> list[CommandResult]:
        """Send what is due; return those that had their last try."""
        given_up = []
        for number, waiting in list(self._waiting.items()):
            if now_us < waiting.due_us:
                continue
            if waiting.tries == TRIES:
                given_up.append(self._end(number, f"no answer after {TRIES} tries"))
                continue
            waiting.tries += 1
            waiting.due_us = now_us + AGAIN_US
            wire.say(now_us, waiting.verb, waiting.fields)
        return given_up

    def expire(self, now_us: int) -> list[CommandResult]:
        """Abandon what has waited too long for a node that is not up."""
        late = [n for n, waiting in self._waiting.items() if now_us >= waiting.given_us + KEPT_US]
        return [self._end(number, "the node is not up") for number in late]

    def expiry(self) -> int | None:
        """Return when the next command that waits for its node is given up."""
        return min((waiting.given_us + KEPT_US for waiting in self._waiting.values()), default=None)

    def acknowledged(self, fields: Mapping[str, str]) -> CommandResult | None:
        """Handle an acknowledgement; None where no such command waits."""
        number = fields.get("id", "")
        if not number.isdecimal() or len(number) > 10 or int(number) not in self._waiting:
            return None
        del self._waiting[int(number)]
        return CommandResult(int(number), fields.get("ok") == "1", fields.get("says", ""))

    def _end(self, number: int, says: str) -> CommandResult:
        waiting = self._waiting.pop(number)
        return CommandResult(number, ok=False, says=f"{waiting.verb}: {says}")


KEPT = 8
MAX_PADDING = 64


class ClockQueries:
    """The questions that wait for an answer.

    A sentence takes milliseconds on a slow line. Padding the question to its answer's length makes both ways
    take the same time, whatever the line's speed.
    """

    def __init__(self) -> None:
        self._asked: dict[int, int] = {}
        self._number = 0
        self._padding = 0
        self._answer_bytes: int | None = None
        self.unanswered_us: int | None = None
        """When the first question since the last answer was asked; None where none was."""

    def forget(self) -> None:
        """Expect no answer to what was asked."""
        self._asked.clear()
        self.unanswered_us = None

    def ignored(self, heard_us: int) -> bool:
        """Return whether a node that spoke then had time to answer, and did not."""
        return self.unanswered_us is not None and heard_us >= self.unanswered_us + PING_AGAIN_US

    def ask(self, now_us: int, wire: Wire) -> None:
        """Say the next question."""
        self._number += 1
        self._asked[self._number] = now_us
        if self.unanswered_us is None:
            self.unanswered_us = now_us
        if len(self._asked) > KEPT:
            del self._asked[next(iter(self._asked))]
        line = wire.say(now_us, "ping", {"id": str(self._number), "pad": "0" * self._padding})
        if self._answer_bytes is not None:
            self._padding = min(MAX_PADDING, max(0, self._padding + self._answer_bytes - len(line)))

    def answer(self, sentence: Sentence, line_bytes: int, now_us: int) -> ClockAnswer | None:
        """Handle an answer of this length in bytes; None where it answers nothing or makes no sense."""
        number, got = number_in(sentence.fields, "id"), number_in(sentence.fields, "got")
        if number is None or got is None or got >= CLOCK_US:
            return None
        sent_us = self._asked.pop(number, None)
        if sent_us is None:
            return None
        self.unanswered_us = None
        self._answer_bytes = line_bytes
        return ClockAnswer(sent_us, got, sentence.clock_us, now_us)


def number_in(fields: Mapping[str, str], name: str, missing: str = "") -> int | None:
    """Read a field that is a whole number of at most ten digits."""
    text = fields.get(name, missing)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None
