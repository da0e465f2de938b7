"""A type's converter is built during the import of a module, never in a function that two threads may run."""

import ast
import gc
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import get_args

import msgspec
import pytest

import controller
import drivers
from controller.model.conversion import converter_of

PLAIN = {bool, bytes, dict, float, int, list, object, str, tuple, type(None), msgspec.Raw}
"""Types that msgspec decodes without building a converter."""
GUARDED = {
    # A command, which settles lines in its only thread.
    "controller/settlement/run.py: msgspec.json.Decoder(reduce(or_, vocabulary))",
    # Only settlement has requests, and its engine loads books and reads requests under one lock.
    "controller/settlement_service/book.py: converter_of(reduce(or_, fresh().vocabulary))",
    # This function makes converters; the last test of this file checks that it builds the type.
    "controller/model/conversion.py: msgspec.json.Decoder(kind)",
}
"""Calls in functions that two threads cannot run at the same time, and the reasons."""


def sources() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every module of the program."""
    for package in (controller, drivers):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            yield str(path.relative_to(root.parent)), path.read_text(encoding="utf-8")


def in_functions(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that happen in a function instead of at import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body: list[ast.stmt] | list[ast.expr] = node.body
        elif isinstance(node, ast.Lambda):
            body = [node.body]
        else:
            continue
        for inside in body:
            yield from (call for call in ast.walk(inside) if isinstance(call, ast.Call))


def type_built(call: ast.Call, names: dict[str, str]) -> ast.expr | None:
    """Return the type that a call makes msgspec build; `names` maps imported names to their origins."""
    text = ast.unparse(call.func)
    first, _, rest = text.partition(".")
    name = f"{names.get(first, first)}.{rest}".removesuffix(".")
    by_name = next((keyword.value for keyword in call.keywords if keyword.arg == "type"), None)
    if by_name is not None and ("decode" in text or "convert" in text):
        return by_name
    if name == "msgspec.convert" and len(call.args) > 1:
        return call.args[1]
    ours = name == "controller.model.conversion.converter_of"
    return call.args[0] if call.args and (ours or _is_decoder(name)) else None


def _is_decoder(name: str) -> bool:
    return name.startswith("msgspec.") and name.endswith(".Decoder")


def imported(tree: ast.Module) -> dict[str, str]:
    """Return the origins of a module's imported names."""
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def is_plain(kind: object) -> bool:
    """Return whether msgspec decodes a type without building a converter."""
    parts = get_args(kind)
    return all(is_plain(part) for part in parts if part is not ...) if parts else kind in PLAIN


def found_in(path: str, text: str) -> set[str]:
    """Return the calls of a module that build one of the program's types inside a function."""
    tree = ast.parse(text)
    names = imported(tree)
    found = set()
    for call in in_functions(tree):
        kind = type_built(call, names)
        if kind is None:
            continue
        known = vars(import_module(path.removesuffix(".py").replace("/", "."))) if path else {}
        try:
            plain = is_plain(eval(ast.unparse(kind), dict(known)))
        except NameError:
            plain = False
        if not plain:
            found.add(f"{path}: {ast.unparse(call)}")
    return found


def test_no_function_builds_a_type_that_another_thread_may_be_building() -> None:
    found = {call for path, text in sources() for call in found_in(path, text)}
    assert found == GUARDED


@pytest.mark.parametrize(
    "line",
    [
        "msgspec.json.decode(line, type=Reading)",
        "msgspec.msgpack.decode(line, type=list[Reading])",
        "msgspec.convert(line, Reading)",
        "msgspec.convert(line, type=Reading)",
        "msgspec.json.Decoder(Reading).decode(line)",
        "Decoder(Reading).decode(line)",
        "converter_of(Reading)(line)",
    ],
)
def test_such_a_call_is_found(line: str) -> None:
    text = (
        "import msgspec\n"
        "from msgspec.json import Decoder\n"
        "from controller.model.conversion import converter_of\n"
        f"def read(line):\n    return {line}\n"
        "made_at_import = msgspec.json.Decoder(Reading)\n"
        "def fields(line):\n    return msgspec.json.decode(line, type=dict[str, int])\n"
    )
    (found,) = found_in("", text)
    assert found.removeprefix(": ") in line


def is_built(kind: type[msgspec.Struct]) -> bool:
    """Return whether msgspec has built a type; the result is stored with the type."""
    return any(type(kept).__name__ == "StructInfo" for kept in gc.get_referents(kind))


def test_a_converters_type_and_all_types_in_it_are_built_with_the_converter() -> None:
    class Inner(msgspec.Struct):
        n: int

    class Outer(msgspec.Struct):
        inner: Inner | None = None

    assert not is_built(Outer)
    outer_of = converter_of(Outer)
    assert is_built(Outer)
    assert is_built(Inner)
    assert outer_of({"inner": {"n": 1}}) == Outer(Inner(1))
