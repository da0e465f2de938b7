"""Wire protocols without a port, a clock or a thread: bytes in, messages out, and bytes again.

Each knows its own deadlines: the caller hands in bytes and the time, asks for the next deadline, and sends
what `take_output` gives. Standard library only, so that a simulator or a test can be the other end.
"""
