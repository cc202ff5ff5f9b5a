"""The table of sources on a phone that the user allows to be read. A row is the user's consent, and says how far the
source was read.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from storage.database import Database


@dataclass(frozen=True, slots=True)
class PhoneSource:
    """A source on a phone that may be read. Times are ISO 8601, UTC; `read_at` is None before it was first read to its
    end. `progress` says in JSON how far it was read; `failure` is why the last reading failed, "" if it did not.
    """

    name: str
    progress: str
    read_at: str | None
    failure: str


@dataclass(frozen=True, slots=True)
class PhoneSources:
    """The table of phone sources of one database. Raises StoreError."""

    database: Database

    def allow(self, name: str) -> None:
        """Store the consent to read a source; an earlier consent stays as it is."""
        self.database.execute("INSERT OR IGNORE INTO phone_sources VALUES (?, ?, '{}', NULL, NULL)", (name, _now()))

    def allowed(self) -> list[PhoneSource]:
        """Return the sources that may be read."""
        rows = self.database.execute(
            "SELECT name, progress, read_at, COALESCE(failure, '') FROM phone_sources ORDER BY name"
        )
        return [PhoneSource(*row) for row in rows]

    def stop(self, name: str) -> bool:
        """Delete the consent to read a source; return whether there was one."""
        return bool(self.database.execute("DELETE FROM phone_sources WHERE name = ? RETURNING name", (name,)))

    def note_progress(self, name: str, progress: str) -> bool:
        """Store how far a source has been read; return whether reading it is still allowed."""
        update = "UPDATE phone_sources SET progress = ? WHERE name = ? RETURNING name"
        return bool(self.database.execute(update, (progress, name)))

    def note_reading(self, name: str, failure: str = "") -> None:
        """Store that a source was just read to its end, or the reason why it could not be read."""
        if failure:
            self.database.execute("UPDATE phone_sources SET failure = ? WHERE name = ?", (failure, name))
        else:
            self.database.execute("UPDATE phone_sources SET read_at = ?, failure = NULL WHERE name = ?", (_now(), name))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
