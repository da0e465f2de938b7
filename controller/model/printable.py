"""Text from outside the program, in a form that is safe to display and to log."""

MAX_EXCERPT = 100
"""Maximum number of characters of an excerpt: a name, an outcome's id or the start of a longer text."""
_CUT = "..."


def printable(text: str) -> str:
    """Escape all characters that could control a terminal, forge a log line or reverse text on a screen.

    Names in a log or a message are not trusted. Text that is already printable is returned unchanged.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(text: str, max_chars: int = MAX_EXCERPT) -> str:
    """Return text from a message in printable form, cut to `max_chars` characters if it is longer."""
    shown = printable(text[: max_chars + 1])
    return shown if len(shown) <= max_chars else shown[: max_chars - len(_CUT)] + _CUT
