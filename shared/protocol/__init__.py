"""The link between device and server, without I/O: frames in, messages out, and back. PROTOCOL.md is its page.

Knows no socket, no clock and no thread: edges own them, and everything here is one caller at a time.
"""
