"""How the results of keyword search and vector search are combined."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.english.terms import terms
from device_app.knowledge.fusion import Candidate, fold, fuse
from shared.types import Hit, StoredPassage


def passage(number: int, text: str, document: int | None = None) -> StoredPassage:
    own = number if document is None else document
    return StoredPassage(number, text, 0, None, None, own, "", "note", None, (), "/a")


@pytest.mark.parametrize(
    ("question", "looked_up"),
    [
        ("When is the dentist?", ["dentist"]),
        ("Who has Petra's blue drill? Petra?", ["petra", "blue", "drill"]),
        ("What did Zoë eat at the CAFÉ?", ["zoe", "eat", "cafe"]),
        ("がくせい 학생", ["がくせい", "학생"]),
        ("What is it?", ["what", "is", "it"]),
        ("  ", []),
    ],
)
def test_terms_are_the_words_that_say_something(question: str, looked_up: list[str]) -> None:
    assert terms(question) == looked_up


def test_no_candidates_no_scores() -> None:
    assert fuse("dentist", []) == []


candidates = st.lists(
    st.builds(
        Candidate,
        st.builds(passage, st.integers(1, 9), st.text("dentis t", max_size=30)),
        st.floats(-1, 1),
        st.floats(0, 12),
    ),
    min_size=1,
    max_size=8,
)


@given(st.text(max_size=40), candidates)
def test_scores_lie_between_0_and_1(question: str, expected: list[Candidate]) -> None:
    scores = fuse(question, expected)
    assert len(scores) == len(expected)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Candidate(passage(1, "x"), 0.7), Candidate(passage(2, "x"), 0.3)),
        (Candidate(passage(1, "x"), 0.5, dated=3.0), Candidate(passage(2, "x"), 0.5)),
        (Candidate(passage(1, "my dentist"), 0.5), Candidate(passage(2, "my cat"), 0.5)),
        (Candidate(passage(1, "my dentist"), 0.5), Candidate(passage(2, "my dentists"), 0.5)),
        (Candidate(passage(1, "the DÉNTIST"), 0.5), Candidate(passage(2, "the cat"), 0.5)),
        (Candidate(passage(1, "my dentists"), 0.5), Candidate(passage(2, "my cats"), 0.5)),
        (Candidate(passage(1, "x", 7), 0.5), Candidate(passage(2, "x", 8), 0.5)),
    ],
)
def test_each_fact_counts(better: Candidate, worse: Candidate) -> None:
    # The last case: another passage of the same document speaks of the dentist.
    company = Candidate(passage(3, "the dentist", 7), -1)
    scores = fuse("dentist", [better, worse, company])
    assert scores[0] > scores[1]


def test_rare_words_say_more_than_common_ones() -> None:
    common = [Candidate(passage(number, "the book club"), 0.2) for number in range(10, 20)]
    rare, frequent = Candidate(passage(1, "quixote"), 0.5), Candidate(passage(2, "book"), 0.5)
    scores = fuse("book quixote", [rare, frequent, *common])
    assert scores[0] > scores[1]


def test_words_count_less_where_the_embedding_understood() -> None:
    holds, lacks = passage(1, "dentist"), passage(2, "x")
    gains = []
    for best in (0.3, 0.9):
        first, second = fuse("dentist", [Candidate(holds, 0.2), Candidate(lacks, 0.2), Candidate(lacks, best)])[:2]
        gains.append(math.log(first / (1 - first)) - math.log(second / (1 - second)))
    assert gains[0] > 2 * gains[1] > 0


@pytest.mark.parametrize(
    ("asked", "held", "not_held"),
    [
        ("memory", "memories", "memo"),
        ("cities", "city", "citadel"),
        ("moving", "move", "movie"),
        ("running", "runner", "runway"),
        ("drill", "drilled", "drillbit"),
        ("string", "strings", "street"),
        ("suggest", "suggestion", "sugar"),
    ],
)
def test_a_word_is_held_in_any_of_its_forms(asked: str, held: str, not_held: str) -> None:
    first, second = fuse(asked, [Candidate(passage(1, held), 0.5), Candidate(passage(2, not_held), 0.5)])
    assert first > second


def test_two_bills_are_not_one() -> None:
    bill = (
        "Dear Ms Fjelde, please find the bill for the electricity of the flat in {}: {} euros, due in two weeks. " * 2
    )
    march, april = bill.format("March", 41, "March", 41), bill.format("April", 97, "April", 97)
    assert len(fold([Hit(passage(1, march), 1, 1), Hit(passage(2, april), 1, 1)], 2)) == 2
    assert len(fold([Hit(passage(1, "🎸"), 1, 1), Hit(passage(2, "😊"), 1, 1)], 2)) == 2


def test_nearly_the_same_text_is_shown_once() -> None:
    words = " ".join(f"word{number}" for number in range(30))
    texts = [words, f"{words} more", "other text", words]
    hits = [Hit(passage(n, text), 1 - n / 10, 0.5) for n, text in enumerate(texts)]

    def folded(count: int) -> list[tuple[int, list[int]]]:
        return [(hit.passage.id, [copy.id for copy in hit.copies]) for hit in fold(hits, count)]

    assert folded(3) == folded(2) == [(0, [1, 3]), (2, [])]
    assert folded(1) == [(0, [1])]
