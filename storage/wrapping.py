"""Wraps a connection with sqlite-utils, for migrations and listings. That package is imported on first use, as its
import takes 0.04 s and would delay every start.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite_utils


def wrap(connection: sqlite3.Connection) -> sqlite_utils.Database:
    """Return the connection with the methods of sqlite-utils.

    The connection is unchanged: no pragma is set, and plugins of other packages do not see the store.
    """
    import sqlite_utils

    return sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False)
