"""The control socket's own corners."""

import socket

from controller.app.control import _gone


def test_a_watcher_that_says_nothing_is_still_there() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0.001)
    with ours, theirs:
        assert not _gone(ours)
        theirs.sendall(b"?")
        assert not _gone(ours)
        assert ours.recv(1) == b"?"
        theirs.close()
        assert _gone(ours)
