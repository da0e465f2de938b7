"""Whether anybody listens at a unix socket."""

import socket
from pathlib import Path


def answered(path: Path) -> bool:
    """Tell whether somebody listens at this unix socket; raises OSError where that can't be found out."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
