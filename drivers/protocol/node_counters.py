"""What one end of a node link has heard, good and bad, for the status line of a technician."""

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counters:
    """Figures since the link was made."""

    bytes: int = 0
    sentences: int = 0
    noise_bytes: int = 0
    """Bytes outside any sentence."""
    noise: int = 0
    """Lines in which no sentence starts."""
    half: int = 0
    bad_crc: int = 0
    bad_form: int = 0
    echoes: int = 0
    """Our own sentences coming back."""
    strangers: int = 0
    """Sentences of another node."""
    stale: int = 0
    """Sentences of another session, or before there is one."""
    forged: int = 0
    """Sentences whose seal is missing or wrong."""
    gaps: int = 0
    lost: int = 0
    """Sentences that never came in time."""
    recovered: int = 0
    """Missing sentences that came when asked for again."""
    repeated: int = 0
    reordered: int = 0
    """Sentences that came after they were given up."""
    babble: int = 0
    """Lines thrown away unread because there were too many."""
    refused: int = 0
    """Readings and answers that came too early or make no sense."""

    @property
    def flawed(self) -> int:
        """Lines that can't have been sent as they came."""
        return self.noise + self.half + self.bad_crc + self.bad_form

    def snapshot(self) -> dict[str, int]:
        """Give the figures by name."""
        return asdict(self)
