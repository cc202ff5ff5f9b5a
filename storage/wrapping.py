"""sqlite-utils over a connection of ours, for schema steps and for lists. Imported where it is first used: that takes
0.05 s, and 0.1 s more where numpy is not there yet, which no start of the program is to wait for.
"""

from __future__ import annotations

import sqlite3
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite_utils


def wrap(connection: sqlite3.Connection) -> sqlite_utils.Database:
    """The connection with the methods of sqlite-utils.

    The connection stays as it is: no pragma is set, and no plugin that some other package brings sees the store.
    """
    # It imports pandas where there is one, 0.6 s, to store a type that nothing here has.
    hidden = not {"pandas", "sqlite_utils"} & sys.modules.keys()
    if hidden:
        sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        import sqlite_utils
    finally:
        if hidden:
            sys.modules.pop("pandas", None)
    return sqlite_utils.Database(connection, recursive_triggers=False, execute_plugins=False)
