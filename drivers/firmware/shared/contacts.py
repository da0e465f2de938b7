"""Contacts that bounce: keys and switches, stamped by their first edge."""

BOUNCE_US = 20000
"""Mechanical contacts bounce for 1 to 10 ms; nobody presses twice within 20 ms."""


class Contact:
    """One contact: a change counts at its first edge once it has lasted."""

    def __init__(self, active: bool) -> None:
        """Stand as it is now."""
        self.active = active
        self.level = active
        self.since_us = 0

    def edge(self, active: bool, at_us: int) -> None:
        """Note an edge."""
        if active != self.level:
            if active != self.active:
                self.since_us = at_us if self.level == self.active else self.since_us
            self.level = active

    def settled(self, now_us: int) -> bool:
        """Whether it has changed for good by now; its time is `since_us`."""
        if self.level == self.active or now_us - self.since_us < BOUNCE_US:
            return False
        self.active = self.level
        return True
