"""Cut a stream of bytes into lines, however it comes, with a bound on what is kept."""


class Lines:
    """The bytes since the last line end, and how many of them were too many to keep."""

    def __init__(self, limit: int) -> None:
        """Keep the last `limit` bytes of a line: what follows a burst of noise is not lost with it."""
        self._limit = limit
        self._rest = bytearray()
        self._dropped = 0

    def feed(self, data: bytes) -> list[tuple[bytes, int]]:
        """Take bytes; give each whole line without its line end, and how many bytes it lost in front."""
        rest = self._rest
        rest += data
        lines = []
        if b"\n" in data:
            *whole, last = bytes(rest).split(b"\n")
            for line in whole:
                kept = line[-self._limit :]
                lines.append((kept.removesuffix(b"\r"), self._dropped + len(line) - len(kept)))
                self._dropped = 0
            rest[:] = last
        if len(rest) > self._limit:
            self._dropped += len(rest) - self._limit
            del rest[: -self._limit]
        return lines

    def clear(self) -> int:
        """Forget an unfinished line; give its length in bytes."""
        unfinished = len(self._rest) + self._dropped
        self._rest.clear()
        self._dropped = 0
        return unfinished
