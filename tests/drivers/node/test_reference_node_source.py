"""Tests that the reference node runs under MicroPython and that no input stops it."""

import ast
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

import drivers
from drivers.firmware.shared.node import Node
from drivers.node.sentences import crc_of

SOURCE = Path(drivers.__file__).parent / "firmware" / "shared" / "node.py"
NOT_ON_A_BOARD = (ast.Match, ast.AsyncFunctionDef, ast.NamedExpr, ast.TryStar, ast.Starred)


class Board(Node):
    """A board with a stopped clock that discards its output."""

    def clock(self) -> int:
        return 5_000_000

    def write(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        assert len(line) <= 512

    def command(self, verb: str, fields: dict[str, str]) -> tuple[bool, str]:
        return bool(fields), verb


def test_the_reference_node_uses_only_what_micropython_has() -> None:
    tree = list(ast.walk(ast.parse(SOURCE.read_text())))
    imported = {name.name for node in tree if isinstance(node, ast.Import) for name in node.names}
    assert imported == {"hashlib"}
    assert not [node for node in tree if isinstance(node, (ast.ImportFrom, *NOT_ON_A_BOARD))]
    assert not [
        node for node in tree if isinstance(node, ast.ClassDef) and (node.bases or node.decorator_list)
    ]


bodies = st.binary(max_size=40).map(lambda body: body.replace(b"\n", b" "))
fields = st.sampled_from(
    [b"", b" id=1", b" id=", b" first=1 last=9", b" nonce=3F2A0123456789AB version=1", b" x"]
)


@settings(derandomize=True, max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"", b">w1 3F2A 1 5 ", b">w1 3F2A 0 5 hello"]), bodies, fields, st.booleans()
        ),
        max_size=8,
    )
)
def test_the_reference_node_continues_whatever_it_receives(
    pieces: list[tuple[bytes, bytes, bytes, bool]],
) -> None:
    board = Board("w1", "die_at", boot="B" * 16, salt="F" * 16, does="lamp")
    board.announce()
    for head, body, tail, checked in pieces:
        line = head + body + tail
        board.receive(line + (b"*" + crc_of(line) if checked else b"") + b"\n")
    board.tick()
    hello = b">w1 3F2A 0 5 hello version=1 nonce=3F2A0123456789AB"
    board.receive(hello + b"*" + crc_of(hello) + b"\n")
    assert board.session == "3F2A"
