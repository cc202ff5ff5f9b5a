"""Cache statistics: running totals by name, overall and per day."""

from dataclasses import dataclass
from datetime import date

from storage.database import Database


@dataclass(frozen=True, slots=True)
class Counters:
    """The running totals of one database."""

    database: Database

    def add(self, **amounts: float) -> None:
        """Add the amounts to the totals of these names, overall and for today."""
        added = [(name, amount) for name, amount in amounts.items() if amount]
        today = date.today().isoformat()
        with self.database.transaction():
            self.database.execute_many(
                "INSERT INTO cache_counters VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
                added,
            )
            self.database.execute_many(
                "INSERT INTO cache_days VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value",
                [(today, *count) for count in added],
            )

    def set(self, name: str, value: float) -> None:
        """Set an overall total to a value, for a total that marks how far some work has progressed; totals per day
        stay.
        """
        self.database.execute("INSERT OR REPLACE INTO cache_counters VALUES (?, ?)", (name, value))

    def forget(self, *names: str) -> None:
        """Delete the overall totals with the given names; totals per day stay."""
        self.database.execute_many("DELETE FROM cache_counters WHERE name = ?", [(name,) for name in names])

    def all(self) -> dict[str, float]:
        """Return every overall total, by name."""
        return dict(self.database.execute("SELECT name, value FROM cache_counters ORDER BY name"))
