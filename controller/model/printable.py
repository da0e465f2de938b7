"""Foreign text in a form that people can be shown, and that a log can contain."""

MAX_EXCERPT = 100
"""Maximum number of characters of an excerpt: a name, an outcome's id or the start of a longer text."""
_CUT = "..."


def printable(text: str) -> str:
    """Escape all characters that could control a terminal, forge a line of a log or reverse text on a screen.

    Names in a log or a message are not trusted. Text that is printable already is returned unchanged.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(text: str, max_chars: int = MAX_EXCERPT) -> str:
    """Return text from a message in printable form, cut to `max_chars` characters if it is longer."""
    shown = printable(text[: max_chars + 1])
    return shown if len(shown) <= max_chars else shown[: max_chars - len(_CUT)] + _CUT
