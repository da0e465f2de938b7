"""The table's questions for a node's clock, each as long as its answer."""

from collections.abc import Mapping

from drivers.protocol.node_clock import Answer
from drivers.protocol.node_sentences import CLOCK_US, Sentence
from drivers.protocol.node_times import PING_AGAIN_US
from drivers.protocol.node_wire import Wire

KEPT = 8
MOST_PADDING = 64


class Questions:
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
        """Tell whether a node that spoke then had time to answer, and did not."""
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
            self._padding = min(MOST_PADDING, max(0, self._padding + self._answer_bytes - len(line)))

    def answer(self, sentence: Sentence, line_bytes: int, now_us: int) -> Answer | None:
        """Take an answer of this length in bytes; None where it answers nothing or makes no sense."""
        number, got = number_in(sentence.fields, "id"), number_in(sentence.fields, "got")
        if number is None or got is None or got >= CLOCK_US:
            return None
        sent_us = self._asked.pop(number, None)
        if sent_us is None:
            return None
        self.unanswered_us = None
        self._answer_bytes = line_bytes
        return Answer(sent_us, got, sentence.clock_us, now_us)


def number_in(fields: Mapping[str, str], name: str, missing: str = "") -> int | None:
    """Read a field that is a whole number of at most ten digits."""
    text = fields.get(name, missing)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None
