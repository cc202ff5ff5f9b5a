"""Fixtures that start the companion server, for the server's own tests."""

from tests.companion import serve

__all__ = ["serve"]
