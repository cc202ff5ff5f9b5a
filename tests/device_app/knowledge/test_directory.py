"""Which person a name in a question refers to, and how people are shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english import naming
from device_app.knowledge.directory import ME, Directory, several
from device_app.knowledge.people import Person, Sighting, resolve

WRITTEN = (
    "Jake Watson <jake@w.org>",
    "JakeWatson",
    "Anna Berg <berg@a.org>",
    "Anna Lang",
    "Rick Moen <rick@linux.org>",
    "Ronald McDonald <ron@m.org>",
    "list@harbour-club.org",
    "Sam <sam@one.org>",
    "Sam <sam@two.org>",
)


def directory(*written: str) -> Directory:
    return Directory(resolve([Sighting(each, "mail") for each in written]))


MEANT = {
    "jakewatson": ["Jake Watson"],
    "Jake": ["Jake Watson"],
    "jake's": ["Jake Watson"],
    "Dr. Watson": ["Jake Watson"],
    "anna": ["Anna Berg", "Anna Lang"],
    "Anna Berg": ["Anna Berg"],
    "mcdonald": ["Ronald McDonald"],
    "ronald": ["Ronald McDonald"],
    "rick mohen": ["Rick Moen"],  # misspelled
    "the harbour club": ["list@harbour-club.org"],  # by the words of an address
    "club": ["list@harbour-club.org"],
    "sam": ["Sam", "Sam"],
    "mona": [],  # four letters may be of another name
    "zorblax": [],
    "": [],
    "the": [],
    "*": [],
}


@pytest.mark.parametrize("name", MEANT)
def test_whom_a_name_means(name: str) -> None:
    assert sorted(person.name for person in directory(*WRITTEN).meant(name)) == MEANT[name]


def test_a_name_of_very_many_people_means_nobody() -> None:
    assert directory(*(f"Anna {chr(65 + number)}berg" for number in range(13))).meant("Anna") == []


def test_who_asks_is_guessed_only_where_nothing_is_confirmed() -> None:
    guess = Person([Sighting("Li Hua <li@h.cn>", "mail")], is_me=True)
    guessed = Directory((guess,), lambda: guess)
    assert [person.name for person in guessed.meant("I")] == ["Li Hua"]
    assert guessed.written_as("me", guessed.meant("me")) == [ME, "Li Hua <li@h.cn>"]
    confirmed = Directory(resolve([], ["Runa Fjelde"]), lambda: guess)
    assert [person.name for person in confirmed.meant("me")] == ["Runa Fjelde"]
    assert Directory(()).meant("me") == []


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("anna", "two people are called Anna: Anna Berg and Anna Lang"),
        ("sam", "two people are called Sam: Sam <sam@one.org> and Sam <sam@two.org>"),
        ("jake", ""),
        ("zorblax", ""),
    ],
)
def test_several_people_of_one_name_are_named(name: str, note: str) -> None:
    assert several(name, directory(*WRITTEN).meant(name)) == note


def test_of_many_people_of_one_name_some_are_named() -> None:
    people = directory("Anna A", "Anna B", "Anna C", "Anna D", "Anna E", "Anna F").meant("Anna")
    assert several("Anna", people) == "6 people are called Anna: Anna A, Anna B, Anna C, Anna D and 2 more"


@given(st.lists(st.sampled_from(WRITTEN), unique=True))
def test_whoever_is_written_so_is_meant_and_is_always_shown_by_the_same_name(written: list[str]) -> None:
    people = directory(*written)
    for person in people.people:
        assert len({people.name(each.written) for each in person.sightings}) == 1
        for each in person.sightings:
            if name := naming.split(each.written).name:
                assert person in people.meant(name)
                assert person in people.meant(name.lower())
