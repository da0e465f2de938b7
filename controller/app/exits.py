"""What the daemon tells systemd and the shell when it ends."""

STOPPED = 0
"""Stopped in order: all that waited is on the disk."""
BAD_SETTINGS = 2
"""The table's file or the usage is wrong; nothing was started."""
IN_USE = 4
"""Another controller holds the journal or answers at the socket."""
NOT_FLUSHED = 5
"""Stopped, but the disk did not take the last rows."""
DEFECT = 70
"""The core failed on a defect of its own; systemd starts it anew."""
