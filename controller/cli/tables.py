"""Documents of the configuration as aligned rows of key and value."""

from collections.abc import Iterable, Iterator, Mapping

Value = object
Row = tuple[str, str]


def aligned(rows: Iterable[Row], indent: str = "  ") -> Iterator[str]:
    """Write rows of two columns, the second aligned."""
    table = list(rows)
    width = max((len(key) for key, _ in table), default=0)
    return (f"{indent}{key:<{width}}  {text}".rstrip() for key, text in table)


def rows_of(value: Mapping[str, Value], path: str = "") -> Iterator[Row]:
    """Give every value of a nested document with its dotted key; a figure keeps its rule beside it."""
    for name, part in value.items():
        key = f"{path}.{name}" if path else name
        if isinstance(part, Mapping) and not _is_figure(part):
            yield from rows_of(part, key)
        else:
            yield key, _text(part)


def _is_figure(value: Mapping[str, Value]) -> bool:
    return "rule" in value and ("pays" in value or "value" in value)


def _text(value: Value) -> str:
    match value:
        case Mapping() if _is_figure(value):
            return _figure(value)
        case Mapping():
            return ", ".join(f"{name}: {_text(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_text, value))
        case bool():
            return "yes" if value else "no"
        case None:
            return "-"
        case float():
            return f"{value:g}"
    return str(value)


def _figure(figure: Mapping[str, Value]) -> str:
    match figure.get("pays"):
        case [int() as won, int() as staked]:
            shown = f"{won} to {staked}"
        case None:
            shown = _text(figure["value"])
        case pays:
            shown = _text(pays)
    reason = f"  {figure['reason']}" if "reason" in figure else ""
    return f"{shown}  [{figure['rule']}]{reason}"
