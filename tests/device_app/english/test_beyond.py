"""Whether a question asks for more than the files contain, such as general knowledge."""

import pytest

from device_app.english import beyond
from shared.types import StoredPassage

CAT = "Treatment from March: Tirovet, 2.5 mg twice a day. Bruscolo's thyroid is overactive."
STAIRS = "The Mulberry Stairs have 112 steps, counted by Anna Berg."


def passage(text: str, title: str = "Notes", path: str = "notes/cat.md") -> StoredPassage:
    return StoredPassage(1, text, 0, None, None, 1, title, "note", None, ("WolfgangSchulz",), path)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How often does Bruscolo take Tirovet?", []),
        ("Is Bruscolo's overactive thyroid curable with radioactive iodine?", ["curable", "radioactive", "iodine"]),
        ("How many steps do the Mulberry Stairs have?", []),
        ("How many steps has the Eiffel Tower more than the Mulberry Stairs?", ["eiffel", "tower"]),
        ("Which treatments does Bruscolo's overactiveness get?", []),  # in any form
        ("Who counted the steps, Wolfgang Schulz?", []),  # a name written as one word
        ("What do the notes on the cat say?", []),  # where they lie
        ("What did Anna suggest about methimazole?", []),  # one word may be a slip
        ("Did he mention when they discussed it on Monday, and who told whom?", []),  # how it is asked
        ("Is 184000 or 7900 the number of steps?", []),
        ("Which steps did the plumber repair with the welder?", []),  # elsewhere in the files
    ],
)
def test_a_word_counts_that_the_files_know_nothing_of(question: str, expected: list[str]) -> None:
    elsewhere = {"plumber": 5, "repair": 9, "welder": 3}
    passages = [passage(CAT), passage(STAIRS)]
    assert beyond.words(question, passages, lambda word, most: min(elsewhere.get(word, 0), most), 200) == expected


@pytest.mark.parametrize(
    ("count", "total", "known"), [(1, 100, False), (2, 100, True), (6, 5000, False), (7, 5000, True)]
)
def test_in_a_large_store_a_few_passages_say_nothing(count: int, total: int, known: bool) -> None:
    words = beyond.words("An iodine cure?", [passage(CAT)], lambda _, most: min(count, most), total)
    assert words == ([] if known else ["iodine", "cure"])


@pytest.mark.parametrize(
    ("question", "total", "expected"),
    [
        ("An iodine cure?", 99, []),
        ("An iodine cure?", 100, ["iodine", "cure"]),
        ("Radioactive iodine, a cure?", 99, ["radioactive", "iodine", "cure"]),
    ],
)
def test_of_few_files_more_is_asked(question: str, total: int, expected: list[str]) -> None:
    assert beyond.words(question, [passage(CAT)], lambda *_: 0, total) == expected


def test_where_nothing_is_relevant_all_of_it_is_beyond() -> None:
    assert beyond.words("Which rivers flow?", [], lambda *_: 0, 100) == ["rivers", "flow"]
