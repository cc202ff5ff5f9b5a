"""Makes documents of a day's messages, of a day's calls, and of contacts. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from device_app.english import naming
from device_app.english.codes import holds_one_time_code
from device_app.knowledge.directory import ME, Directory
from device_app.knowledge.phone.entries import Contact, Entry
from shared.types import Block, Document

_DAY = re.compile(r" (\d{4}-\d\d-\d\d)(?: part \d+)?$")


@dataclass(slots=True)
class Book:
    """A phone book: the name of each number, from known people and from entries that have a name and a number."""

    names: dict[str, str] = field(default_factory=dict)
    _numbers: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, directory: Directory) -> "Book":
        """Return the phone book of everybody in the directory with a name and a number."""
        book = cls()
        for person in directory.people:
            for each in person.sightings:
                named = naming.split(each.written)
                if named.number and named.name:
                    book.add(named.number, person.name if naming.fits(person.name, named.name) else named.name)
        return book

    def add(self, number: str, name: str) -> None:
        """Add the name of a number, unless either is empty."""
        if name and (key := naming.number_key(number)):
            self.names.setdefault(key, name)
            self._numbers.setdefault(naming.name_key(name), set()).add(key)

    def name(self, entry: Entry) -> str:
        """Return the name of the other person in an entry; "" if their number has no known name."""
        return entry.name or self.names.get(naming.number_key(entry.number), "")

    def label(self, entry: Entry) -> str:
        """Return the other person's name for a title, with the number if the name has several numbers."""
        name = self.name(entry)
        if name and len(self._numbers.get(naming.name_key(name), ())) > 1:
            return f"{name} ({entry.number})"
        return name or entry.number or "an unknown number"


def of_messages(entries: Sequence[Entry], book: Book) -> tuple[list[Document], int]:
    """Return a day's messages as a chat for each thread, and how many with one-time codes were left out."""
    kept = [entry for entry in entries if not _holds_code(entry, book)]
    return [_chat(thread, book) for thread in _threads(kept, book)], len(entries) - len(kept)


def of_calls(entries: Sequence[Entry], book: Book) -> list[Document]:
    """Return a day's calls as documents, one for each person."""
    documents = []
    for thread in _threads(entries, book):
        first, label = thread[0], book.label(thread[0])
        blocks = tuple(Block(entry.text.format(name=book.name(entry) or label)) for entry in thread)
        title = f"Calls with {label}, {first.day}"
        documents.append(Document(f"{first.thread} {first.day}", "call", title, blocks, first.at, _people(first, book)))
    return documents


def of_contacts(contacts: Iterable[Contact]) -> list[Document]:
    """Return a document for each name, with all numbers of that name."""
    numbers: dict[str, dict[str, str]] = {}
    for contact in contacts:
        numbers.setdefault(contact.name, {}).setdefault(naming.number_key(contact.number), contact.number)
    return [
        Document(
            name,
            "contact",
            name,
            tuple(Block(f"The number of {name} is {number}.") for number in some.values()),
            people=tuple(f"{name} <{number}>" for number in some.values()),
        )
        for name, some in numbers.items()
    ]


def day_of(key: str) -> date | None:
    """Return the day in the key of a stored document of messages or calls; None if the key has none."""
    match = _DAY.search(key)
    return date.fromisoformat(match[1]) if match else None


def _holds_code(entry: Entry, book: Book) -> bool:
    return holds_one_time_code(entry.text, from_contact=entry.is_mine or bool(book.name(entry)))


def _threads(entries: Sequence[Entry], book: Book) -> Iterator[list[Entry]]:
    """Yield the entries of each thread, ordered by the thread's first entry; add their names to the phone book."""
    threads: dict[str, list[Entry]] = {}
    for entry in entries:
        book.add(entry.number, entry.name)
        threads.setdefault(entry.thread, []).append(entry)
    yield from threads.values()


def _chat(thread: Sequence[Entry], book: Book) -> Document:
    first, label = thread[0], book.label(thread[0])
    blocks = tuple(
        Block(f"{ME if entry.is_mine else book.name(entry) or entry.number}: {' '.join(entry.text.split())}")
        for entry in thread
    )
    people = [*_people(first, book), *([ME] if any(entry.is_mine for entry in thread) else [])]
    title = f"Messages with {label}, {first.day}"
    return Document(f"{first.thread} {first.day}", "chat", title, blocks, first.at, tuple(people))


def _people(entry: Entry, book: Book) -> tuple[str, ...]:
    name, number = book.name(entry), entry.number
    return (f"{name} <{number}>" if name and number and name != number else name or number,)
