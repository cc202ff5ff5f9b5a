"""The companion server for races."""

from tests.companion import serve

__all__ = ["serve"]
