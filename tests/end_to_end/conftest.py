"""Fixtures that start a companion server, for the tests of device and server together."""

from tests.companion import serve

__all__ = ["serve"]
