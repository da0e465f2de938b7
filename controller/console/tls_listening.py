"""The console's port; one that speaks TLS tells plain HTTP so, and does not hang up without a word."""

import socket
from collections.abc import Sequence

HELLO = 0x16
"""The first byte of every TLS connection: a handshake record (RFC 8446, 5.1)."""
FIRST_S = 5
"""The kernel hands a connection over once it has sent something, or after about this time."""
_WORDS = b"This console accepts HTTPS only: use https:// instead of http://.\n"
ANSWER = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
    b"connection: close\r\ncache-control: no-store\r\n\r\n%b" % (len(_WORDS), _WORDS)
)
_NOW = socket.MSG_DONTWAIT
_HEAD_BYTES = 65_536


class TlsListening(socket.socket):
    """A listening socket that hands over what begins as TLS, and answers everything else itself."""

    def accept(self) -> tuple[socket.socket, object]:
        """Return the next connection; raises ConnectionAbortedError where it was no TLS and was answered."""
        connection, address = super().accept()
        if _began_plain(connection):
            _answer(connection)
            raise ConnectionAbortedError
        return connection, address


def listening(host: str, port: int, kind: type[socket.socket]) -> Sequence[socket.socket]:
    """Bind sockets of this class to every address of a host; raises OSError."""
    bound: list[socket.socket] = []
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    try:
        for family, type_, protocol, _, address in dict.fromkeys(infos):
            one = kind(family, type_, protocol)
            bound.append(one)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if kind is TlsListening:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, FIRST_S)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
    except OSError:
        for one in bound:
            one.close()
        raise
    return bound


def _began_plain(connection: socket.socket) -> bool:
    try:
        first = connection.recv(1, socket.MSG_PEEK | _NOW)
    except OSError:
        return False  # Nothing was sent yet: the handshake's own time limit ends it.
    return first != b"" and first[0] != HELLO


def _answer(connection: socket.socket) -> None:
    with connection:
        try:
            connection.recv(_HEAD_BYTES, _NOW)  # what is left unread would reset the connection
            connection.send(ANSWER, _NOW)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            return  # It is gone already.
