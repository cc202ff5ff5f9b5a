"""Which names belong to the same person: the rules, and filters that find a person under each name."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import naming
from device_app.knowledge.directory import ME, Directory
from device_app.knowledge.known_people import KnownPeople, known_people
from device_app.knowledge.people import Person, Sighting, resolve
from shared.types import Filters, SearchFilters
from storage.database import Database


def groups(*written: str, mine: Sequence[str] = ()) -> list[set[str]]:
    people = resolve([Sighting(each, "mail") for each in written], mine)
    return sorted(({each.written for each in person.sightings} for person in people), key=sorted)


SAME = {
    "a name without a space": {"Jake Watson <jake@w.org>", "JakeWatson"},
    "an address with and without a name": {"Anna Berg <anna@berg.org>", "anna@berg.org"},
    "a number through contacts": {"Anna Berg <+46 70-123 45 67>", "0701234567"},
    "a first name with the same address": {"Rick <rick@m.com>", "Rick Moen <RICK@m.com>"},
    "the last name first": {"Watson, Jake", "Jake Watson"},
    "two addresses of a full name": {"Anna Berg <a@x.org>", "Anna Berg <b@y.org>"},
    "an address that spells the name": {"rick.moen@m.com", "Rick Moen"},
    "the only full name with the first name": {"Petra", "Petra Novak <petra@n.org>"},
    "a first name that is a word": {"Will", "Will Smith"},
    "written from right to left": {"\u200fדוד כהן", "דוד כהן <david@k.il>"},
}


@pytest.mark.parametrize("written", SAME.values(), ids=list(SAME))
def test_the_same_person(written: set[str]) -> None:
    assert groups(*written) == [written]


APART = {
    "two people with the same first name": {"Anna Berg", "Anna Lang"},
    "members of a family at an address": {"Mum and Dad <home@b.org>", "Anna <home@b.org>"},
    "two numbers": {"+46 70-123 45 67", "+46 70-123 45 68"},
    "two names of firms": {"MYBANK", "Parcels"},
}


@pytest.mark.parametrize("written", APART.values(), ids=list(APART))
def test_different_people(written: set[str]) -> None:
    assert groups(*written) == sorted([{each} for each in written], key=sorted)


def test_a_first_name_of_two_people_is_of_neither() -> None:
    assert {"Anna"} in groups("Anna", "Anna Berg", "Anna Lang")


def test_what_the_person_is_called_is_always_the_same_person() -> None:
    people = resolve([Sighting("LiHua", "chat"), Sighting("li@h.cn", "mail")], ["Li Hua", "li@h.cn"])
    assert [each.written for each in people[0].sightings if each.source != "you"] == ["LiHua", "li@h.cn"]
    assert people[0].is_me
    assert people[0].name == "Li Hua"


@given(st.lists(st.sampled_from(sorted(set().union(*SAME.values(), *APART.values()))), unique=True), st.randoms())
def test_the_order_makes_no_difference(written: list[str], random: Random) -> None:
    mixed = written.copy()
    random.shuffle(mixed)
    assert groups(*written) == groups(*mixed)


@pytest.fixture
def directory() -> Directory:
    """Two people of the same name, one of whom has two numbers, and the user."""
    written = [
        "Jake Watson <jake@w.org>",
        "JakeWatson",
        "Anna Berg <0701234567>",
        "Anna Berg <0709999999>",
        "Anna Berg",
    ]
    return Directory(resolve([Sighting(each, "chat") for each in written], ["Li Hua", "LiHua"]))


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("jake", {"Jake Watson <jake@w.org>", "JakeWatson"}),
        ("jakewatson", {"Jake Watson <jake@w.org>", "JakeWatson"}),
        ("jake@w.org", {"Jake Watson <jake@w.org>", "JakeWatson"}),
        ("+46 70 123 45 67", {"Anna Berg <0701234567>"}),
        ("me", {ME, "Li Hua", "LiHua"}),
        ("ja", set()),
        ("", set()),
        (".*", set()),
    ],
)
def test_a_typed_name_stands_for_everything_that_the_person_is_called(
    typed: str, written: set[str], directory: Directory
) -> None:
    assert set(directory.written(typed)) == written


def test_me_matches_no_part_of_a_name(directory: Directory) -> None:
    widened = directory.widened(SearchFilters(senders=("me",), people=("jake",)))
    assert "me" not in widened.senders
    assert '"LiHua"' in widened.senders
    assert widened.people == ("jake", '"Jake Watson <jake@w.org>"', '"JakeWatson"')
    assert Directory(()).widened(Filters(people=("me",))).people == (f'"{ME}"',)


def test_the_table_is_computed_again_when_documents_change(tmp_path: Path) -> None:
    database = Database(tmp_path / "jackdaw.db")
    people = known_people(database)
    people.keep()
    assert people.store.is_current()
    database.execute("INSERT INTO files VALUES (1, 'x', 0, 0, '', '', '')")
    database.execute("""INSERT INTO documents VALUES (1, 1, '', '', 'chat', '', NULL, '["JakeWatson", "Me"]')""")
    database.execute("INSERT INTO passages VALUES (1, 1, 0, 'Hello', NULL, NULL)")
    assert not people.store.is_current()
    assert [person.name for person in people.directory.people] == ["JakeWatson"]
    people.state_me(["Jake Watson"])
    assert people.store.is_current()
    stored = people.store.all()
    assert [(row.name, row.is_me) for row in stored] == [("Jake Watson", True)]
    assert set(known_people(database).directory.written("me")) == {ME, "JakeWatson", "Jake Watson"}
    database.close()


@pytest.mark.parametrize("meanwhile", ["removed", "added", "named"])
def test_what_changes_while_the_table_is_computed_is_not_missed(
    meanwhile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, other = Database(tmp_path / "jackdaw.db"), Database(tmp_path / "jackdaw.db")
    write(database, 1, "Anna Berg")
    people = known_people(database)
    resolved = people._resolved

    def change() -> None:
        if meanwhile == "removed":
            other.execute("DELETE FROM files")
        elif meanwhile == "added":
            write(other, 2, "Petra Novak")
        else:
            known_people(other).store.set_own_names(["Anna Berg"])

    changes = [change]

    def resolve_slowly(_: KnownPeople) -> list[Person]:
        before = resolved()
        if changes:
            changes.pop()()
        return before

    monkeypatch.setattr(KnownPeople, "_resolved", resolve_slowly)
    people.keep()
    expected = {"removed": [], "added": [("Anna Berg", 0), ("Petra Novak", 0)], "named": [("Anna Berg", 1)]}
    assert database.execute("SELECT name, is_me FROM people ORDER BY name") == expected[meanwhile]
    assert people.store.is_current()
    for each in (database, other):
        each.close()


def write(database: Database, number: int, name: str) -> None:
    """Store a chat with a person."""
    with database.transaction():
        database.execute("INSERT INTO files VALUES (?, ?, 0, 0, '', '', '')", (number, str(number)))
        database.execute(
            "INSERT INTO documents VALUES (?, ?, '', '', 'chat', '', NULL, json_array(?))", (number, number, name)
        )
        database.execute("INSERT INTO passages VALUES (?, ?, 0, 'Hello', NULL, NULL)", (number, number))


def test_each_name_is_taken_apart_once_or_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more names than the cache holds, each name would otherwise be split into words at every step."""
    names: list[str] = []

    def words(name: str) -> tuple[str, ...]:
        names.append(name)
        return tuple(name.lower().split())

    monkeypatch.setattr(naming, "words", words)
    assert len(resolve([Sighting(f"Person{n} Name{n} <p{n}@x.example>", "mail") for n in range(10)])) == 10
    assert len(names) <= 20
