"""Running totals of what the caches did, by name, in all and of each day."""

from dataclasses import dataclass
from datetime import date

from storage.database import Database


@dataclass(frozen=True, slots=True)
class Counters:
    """The totals of one database."""

    database: Database

    def add(self, **amounts: float) -> None:
        """Add to totals, and to those of this day."""
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
        """Make a total this value: a mark of how far some work is."""
        self.database.execute("INSERT OR REPLACE INTO cache_counters VALUES (?, ?)", (name, value))

    def forget(self, *names: str) -> None:
        """Drop totals, marks among them."""
        self.database.execute_many("DELETE FROM cache_counters WHERE name = ?", [(name,) for name in names])

    def all(self) -> dict[str, float]:
        """Every total."""
        return dict(self.database.execute("SELECT name, value FROM cache_counters ORDER BY name"))
