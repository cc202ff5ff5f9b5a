"""The companion server for the link's tests."""

from tests.companion import serve

__all__ = ["serve"]
