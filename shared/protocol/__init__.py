"""The protocol between device and server, without I/O: converts frames to messages and back; see PROTOCOL.md.

Knows no socket, clock or thread, and is not thread-safe.
"""
