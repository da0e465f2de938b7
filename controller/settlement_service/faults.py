"""Faults of the settlement engine itself, and refusals of requests to it."""


class SettlementFault(Exception):
    """Settlement can't continue. `where` names the file, address or setting concerned."""

    def __init__(self, code: str, where: str, found: str, expected: str) -> None:
        super().__init__(f"{where}: found {found}, expected {expected} [{code}]")
        self.code = code


class DatabaseUnavailable(Exception):
    """The database does not respond. The request might have been carried out; repeat it."""


class RequestRefused(Exception):
    """A request was refused and changed nothing. `rule` is the rule's id or a code."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(f"{rule}: {reason}")
        self.rule = rule
        self.reason = reason
