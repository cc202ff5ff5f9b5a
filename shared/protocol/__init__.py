"""The protocol between device and server, without I/O: converts frames to messages and back; see PROTOCOL.md.

Uses no socket, clock or thread, and is not thread-safe.
"""
