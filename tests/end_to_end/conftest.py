"""The companion server for the tests of both sides together."""

from tests.companion import serve

__all__ = ["serve"]
