"""Fixtures that start a companion server, for the tests of the device's link to it."""

from tests.companion import serve

__all__ = ["serve"]
