"""What a sink is: it takes messages, and tells what comes back."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from controller.journal.contents import AckProof
from controller.publish.betting import OpenWord
from controller.publish.events import Acknowledgement, Answer, Message, TableStatus
from controller.publish.signing import Signer


class Ready:
    """The sink has only just become able to take messages: what it was offered before may be lost."""


class Acknowledged(NamedTuple):
    """An acknowledgement, with its proof for the journal."""

    ack: Acknowledgement
    proof: AckProof


Report = Ready | Answer | Acknowledged
Post = Callable[[Report], None]
"""Takes a report, from any thread, and returns at once."""


class Sink(Protocol):
    """A way to the settlement engine. No method waits; whatever takes time is the sink's own thread's."""

    @property
    def ready(self) -> bool:
        """Whether messages are taken now; those offered while it is not may be dropped."""

    def start(self, post: Post) -> None:
        """Begin, and report to this."""

    def offer(self, messages: Sequence[Message]) -> None:
        """Take messages in order. That they arrived is only ever known from an acknowledgement."""

    def say(self, word: OpenWord, key: Signer) -> None:
        """Make the table's word known, signed with its key; a word that can't go out now is lost."""

    def tell(self, status: TableStatus) -> None:
        """Make known how the table stands."""

    def show(self, board: bytes) -> None:
        """Make the table's board known, to those who come later as well."""

    def stop(self, timeout_s: float) -> bool:
        """End; False where the thread did not end in time."""
