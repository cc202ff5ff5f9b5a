"""sqlite-utils over a connection of ours, for schema steps and for lists. Imported where it is first used: that takes
0.04 s, which no start of the program is to wait for.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite_utils


def wrap(connection: sqlite3.Connection) -> sqlite_utils.Database:
    """The connection with the methods of sqlite-utils.

    The connection stays as it is: no pragma is set, and no plugin that some other package brings sees the store.
    """
    import sqlite_utils

    return sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False)
