"""What the lamps show, as the core wants it; each change is told once to who drives or watches them."""

from collections.abc import Callable

import msgspec

from controller.app.hub import Hub

_encode = msgspec.json.Encoder().encode


class Lamps:
    """Each lamp by its name, and what it shows; a lamp of no name here was never lit."""

    def __init__(self, hub: Hub, lit: Callable[[str, str], None]) -> None:
        """Tell the hub and `lit` of each change."""
        self.shown: dict[str, str] = {}
        self.asks = ""
        """What a guided test asks for now: the lamp `test` shows it."""
        self._hub = hub
        self._lit = lit

    def light(self, name: str, shows: str) -> None:
        """Let a lamp show this; what it shows already is no news."""
        if self.shown.get(name) != shows:
            self.shown[name] = shows
            self._lit(name, shows)
            self._hub.tell("lamps", b'{"lamp":%s}\n' % _encode({"name": name, "shows": shows}))

    def mark_test(self, *, testing: bool) -> None:
        """Let the lamp `test` show whether a test runs, and what it asks for; dark it needs no telling."""
        shows = (self.asks or "on") if testing else "off"
        if shows != self.shown.get("test", "off"):
            self.light("test", shows)
