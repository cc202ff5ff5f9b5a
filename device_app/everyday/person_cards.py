"""What is known of people: names, addresses and numbers, each with the person that has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from device_app.english import naming
from device_app.everyday.kinds import counted_kind
from device_app.everyday.rule import Item
from shared.printable import safe_line

if TYPE_CHECKING:
    from device_app.english.persons import PersonQuestion
    from device_app.knowledge.people import Person

_MOST_PEOPLE: Final = 5


@dataclass(frozen=True, slots=True)
class PersonItem(Item):
    """A person, with the known addresses and telephone numbers; `lines` are the lines of files that name the person."""

    TYPE: ClassVar[str] = "person"
    name: str
    addresses: tuple[str, ...]
    numbers: tuple[str, ...]
    lines: tuple[str, ...] = ()

    def known(self, ask: str) -> tuple[str, ...]:
        """Return the numbers or addresses that a question of the kind `ask` asks for; () for other questions."""
        either = (*self.addresses, *self.numbers)
        return {"phone": self.numbers, "mail": self.addresses, "reach": either}.get(ask, ())


def card(name: str, people: Sequence[Person]) -> PersonItem:
    """Return what is known of one person, all of whose spellings are given, or of all people called `name`."""
    named = [naming.split(each.written) for person in people for each in person.sightings]
    name = people[0].name if people else name
    addresses = dict.fromkeys(each.address for each in named if each.address)
    numbers = dict.fromkeys(each.number for each in named if each.number)
    return PersonItem(naming.shown(name), tuple(addresses), tuple(numbers))


def items(name: str, people: Sequence[Person], lines: Sequence[str]) -> tuple[PersonItem, ...]:
    """Return each person called `name` with the `lines` that have the person's whole name, all if there is only one."""
    if len(people) < 2:
        return (replace(card(name, people), lines=tuple(lines)),)
    return tuple(_with_lines(card(name, [person]), lines) for person in people)


def heads(question: PersonQuestion, people: Sequence[Person]) -> str:
    """Return a line for each of the people: the name, and what is asked for; only those of whom it is known."""
    every = ((card(question.name, [person]), person) for person in people)
    is_who = question.ask == "who"
    said = [
        (safe_line(each.name), *each.addresses[:2], *each.numbers[:2], *_counts([person]))
        if is_who
        else (safe_line(each.name), *each.known(question.ask))
        for each, person in every
        if is_who or each.known(question.ask)
    ]
    return "\n\n".join(" · ".join(parts) for parts in said[:_MOST_PEOPLE])


def _with_lines(item: PersonItem, lines: Sequence[str]) -> PersonItem:
    words = {*naming.words(item.name)}
    return replace(item, lines=tuple(line for line in lines if words <= {*naming.words(line)}))


def _counts(people: Sequence[Person]) -> Iterator[str]:
    """Yield in how many documents of each kind the given people are named: "8 mails"."""
    counts: dict[str, int] = {}
    for each in (each for person in people for each in person.sightings):
        counts[each.source] = counts.get(each.source, 0) + each.count
    yield from (
        counted_kind(kind, count) for kind, count in counts.items() if kind in ("mail", "chat", "note", "event")
    )
