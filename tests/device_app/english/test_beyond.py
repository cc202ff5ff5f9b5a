"""Whether a question asks for more than the files contain, such as general knowledge."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from device_app.english import beyond
from device_app.english.query import Query
from shared.types import Filters, StoredPassage

CAT = "Treatment from March: Tirovet, 2.5 mg twice a day. Bruscolo's thyroid is overactive."
STAIRS = "The Mulberry Stairs have 112 steps, counted by Anna Berg."


@dataclass(frozen=True)
class Files:
    """Files with a number of passages, and the number of passages of each word; `others` is that of any other word."""

    passages: int
    counts: Mapping[str, int] = field(default_factory=dict)
    others: int = 0

    def held(self, term: str, most: int) -> int:
        return min(self.counts.get(term, self.others), most)

    def total(self) -> int:
        return self.passages


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
    files = Files(200, {"plumber": 5, "repair": 9, "welder": 3})
    assert beyond.words(Query(question), [passage(CAT), passage(STAIRS)], files) == expected


@pytest.mark.parametrize(
    ("count", "total", "known"), [(1, 100, False), (2, 100, True), (6, 5000, False), (7, 5000, True)]
)
def test_in_a_large_store_a_few_passages_say_nothing(count: int, total: int, known: bool) -> None:
    words = beyond.words(Query("An iodine cure?"), [passage(CAT)], Files(total, others=count))
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
    assert beyond.words(Query(question), [passage(CAT)], Files(total)) == expected


def test_where_nothing_is_relevant_all_of_it_is_beyond() -> None:
    assert beyond.words(Query("Which rivers flow?"), [], Files(100)) == ["rivers", "flow"]


def test_a_filter_limits_what_is_asked_of_the_files() -> None:
    limited = Query("Which rivers flow?", Filters(kinds=("note",)))
    assert beyond.words(limited, [], Files(100)) == []
