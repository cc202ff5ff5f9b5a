"""The tables of the people named in the files, and of the user's own names. The rules for who is who are elsewhere."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from storage.database import Database
from storage.passages import PassageStore

State = tuple[int, int, tuple[str, ...]]
"""The data from which people are computed: the newest passage, the number of removed passages, and the user's own
names.
"""

Name = tuple[str, str, int]
"""A name as it is written in documents, its source, and the number of documents that contain it."""


@dataclass(frozen=True, slots=True)
class PersonRow:
    """A stored person: the name to show, whether this is the user, and every name."""

    name: str
    is_me: bool
    names: Sequence[Name]


@dataclass(frozen=True, slots=True)
class PeopleStore:
    """The tables of people of one database. Raises StoreError."""

    database: Database

    def named(self, prefix: bytes) -> list[tuple[str, str, int]]:
        """Return (source, people, number of documents) of all documents; `people` is a JSON array of names.

        The source is the documents' kind or, for documents of a file whose path begins with `prefix`, that path.
        """
        rows = self.database.execute(
            "SELECT CASE WHEN substr(path, 1, ?) = ? THEN CAST(path AS TEXT) ELSE kind END AS source, people, COUNT(*) "
            "FROM documents JOIN files ON files.id = file_id GROUP BY source, people",
            (len(prefix), prefix),
        )
        return [(source, people, count) for source, people, count in rows]

    def documents_of(self, kind: str) -> Iterator[tuple[bytes, str, str]]:
        """Yield (path, title, people) of the documents of a kind, reading them in batches."""
        last = 0
        while rows := self.database.execute(
            "SELECT documents.id, path, title, people FROM documents JOIN files ON files.id = file_id "
            "WHERE kind = ? AND documents.id > ? ORDER BY documents.id LIMIT 1000",
            (kind, last),
        ):
            yield from ((path, title, people) for _, path, title, people in rows)
            last = rows[-1][0]

    def is_current(self) -> bool:
        """Return whether the stored people were computed from the documents that are stored now."""
        documents = PassageStore(self.database).state()
        return self.database.execute("SELECT newest_passage, removals FROM people_read") == [documents]

    def all(self) -> list[PersonRow]:
        """Return every stored person."""
        people = {
            identity: PersonRow(name, bool(is_me), [])
            for identity, name, is_me in self.database.execute("SELECT id, name, is_me FROM people ORDER BY id")
        }
        names: dict[int, list[Name]] = {}
        for identity, *rest in self.database.execute(
            "SELECT person_id, written, source, count FROM person_names ORDER BY count DESC, written"
        ):
            names.setdefault(identity, []).append((rest[0], rest[1], rest[2]))
        return [PersonRow(row.name, row.is_me, names.get(identity, ())) for identity, row in people.items()]

    def clear(self) -> None:
        """Delete every stored person, so that no name outlives its documents."""
        self.database.execute("DELETE FROM people")
        self.database.execute("DELETE FROM people_read")

    def replace(self, people: Iterable[PersonRow], state: State) -> bool:
        """Replace the stored people by others, computed from the given state. Return False, and change nothing, if the
        state has changed.
        """
        rows = list(enumerate(people, 1))
        with self.database.transaction():
            if self.state() != state:
                return False
            self.clear()
            self.database.execute_many(
                "INSERT INTO people VALUES (?, ?, ?)", [(identity, row.name, row.is_me) for identity, row in rows]
            )
            self.database.execute_many(
                "INSERT OR REPLACE INTO person_names VALUES (?, ?, ?, ?)",
                [(identity, *name) for identity, row in rows for name in row.names],
            )
            self.database.execute("INSERT INTO people_read VALUES (?, ?)", state[:2])
        return True

    def own_names(self) -> list[str]:
        """Return the user's own names, which the user has confirmed."""
        return [row[0] for row in self.database.execute("SELECT written FROM own_names ORDER BY position")]

    def set_own_names(self, names: Iterable[str]) -> None:
        """Replace the user's own names; the stored people are no longer current."""
        with self.database.transaction():
            self.database.execute("DELETE FROM own_names")
            self.database.execute_many("INSERT INTO own_names VALUES (?, ?)", list(enumerate(dict.fromkeys(names))))
            self.database.execute("DELETE FROM people_read")

    def state(self) -> State:
        """Return the state of the data from which people are computed.

        If it has not changed, the stored people are still right.
        """
        return (*PassageStore(self.database).state(), tuple(self.own_names()))
