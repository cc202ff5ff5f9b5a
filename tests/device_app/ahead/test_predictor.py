"""The prompts with which a model predicts questions, and which parts of its replies are used."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.ahead.predictor import (
    ALIKE,
    DATED,
    LEAST_WORDS,
    MOST_WORDS,
    NAMED,
    RECENT,
    Vectors,
    as_question,
    asked_about,
    choose,
    expected_use,
    history_prompt,
    normalised,
    parse,
)
from device_app.english import query
from shared.types import StoredPassage

DENTIST = StoredPassage(
    1, "The dentist moved to 19 March.", 0, None, None, 1, "Dentist", "mail", "2026-03-02", (), "/mail"
)
DRILL = StoredPassage(2, "Petra has the blue drill.", 0, None, None, 2, "Things lent", "note", None, (), "/notes")


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("who has the drill", "Who has the drill?"),
        (" What is it that Petra has ", "What is it that Petra has?"),
        (" Who has the drill?", "Who has the drill?"),
        ("whoever has the drill", "whoever has the drill"),
        ("Petra has the drill.", "Petra has the drill."),
        ("what Petra has is the drill.", "what Petra has is the drill."),
        ("", ""),
    ],
)
def test_a_question_is_read_as_people_type_it(text: str, question: str) -> None:
    assert as_question(text) == question


def test_questions_like_the_earlier_ones_are_asked_for_with_the_latest_last() -> None:
    asked = history_prompt(["Who has the drill?", "When is the dentist?"])
    assert asked == "Who has the drill?\nWhen is the dentist?\n\nWrite 5 more questions like these."


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        ("1. Who has the drill?\n2. When is the dentist?", ["Who has the drill?", "When is the dentist?"]),
        ("1. Who has the drill?; 2. When is the dentist?", ["Who has the drill?", "When is the dentist?"]),
        ("1. Who has the drill? 2. When is the dentist?", ["Who has the drill?", "When is the dentist?"]),
        ("- Who has the drill?\n* When is the dentist?", ["Who has the drill?", "When is the dentist?"]),
        ('"Who has the drill?"\n**When is the dentist?**', ["Who has the drill?", "When is the dentist?"]),
        ("Question 1: Who has the drill?\nQ2. When is the dentist?", ["Who has the drill?", "When is the dentist?"]),
        ("(1) Who has the drill?", ["Who has the drill?"]),
        ("Here are five questions:\n\n1) Who has   the drill?", ["Who has the drill?"]),
        ("1. Who has the drill?\n2. who has the drill ?", ["Who has the drill?"]),
        ("1. Who has the drill?\n2. When is the den", ["Who has the drill?"]),
        ("Can you tell me who has the drill?", ["Can you tell me who has the drill?"]),
        ("What did Dr. Bonetti say on 19 March?", []),
        ("What happened at 16:15 on 2026-03-19?", ["What happened at 16:15 on 2026-03-19?"]),
        ("Was ist mit der Bohrmaschine?", ["Was ist mit der Bohrmaschine?"]),
        ("", []),
        ("What drill?", []),
        ("X:1:1:1?", []),
        (" ".join(["who"] * 31) + "?", []),
        ("Who has the drill? Petra has it.", []),
        ("Who has it? When is it back?", []),
        ("I wonder. Who has the drill?", []),
        ("Main topic: who has the drill?", []),
        ("What happened on XXX day?", []),
        ("What did [name] say about it?", []),
        ("What did <person> say about it?", []),
        ("What did ___ say about it?", []),
        ("So what did Petra... say?", []),
        ("What is your favourite drill?", []),
        ("What do you think of drills?", []),
        ("How can I help you today?", []),
        ("What can the AI assistant do?", []),
        ("What is the text about, in short?", []),
        ("Who is the author of the above passage?", []),
    ],
)
def test_only_single_questions_are_kept(reply: str, questions: list[str]) -> None:
    assert parse(reply) == questions


def test_no_more_than_the_stride_are_kept() -> None:
    reply = "\n".join(f"{number}. Who has drill number {number}?" for number in range(1, 9))
    assert parse(reply, 2) == ["Who has drill number 1?", "Who has drill number 2?"]
    assert len(parse(reply)) == 5


@given(st.text(st.sampled_from("12 who drill?.:;\n-\"[X'…"), max_size=200), st.integers(0, 6))
def test_whatever_is_replied_what_is_kept_can_be_asked(reply: str, stride: int) -> None:
    kept = parse(reply, stride)
    assert len(kept) <= stride
    assert len({normalised(entry) for entry in kept}) == len(kept)
    for question in kept:
        assert parse(question) == [question]
        assert question.count("?") == 1
        assert question.endswith("?")
        assert LEAST_WORDS <= len(question.split()) <= MOST_WORDS


def unit(*rows: list[float]) -> Vectors:
    vectors: Vectors = np.array(rows, np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


NOTHING = np.empty((0, 2), np.float32)


@pytest.mark.parametrize(
    ("embeddings", "limit", "kept"),
    [
        (unit([1, 0], [0, 1], [1, 1]), 5, ["a", "b", "c"]),
        (unit([1, 0], [0, 1], [1, 1]), 2, ["a", "b"]),
        (unit([1, 0], [1, 0.1], [0, 1]), 5, ["a", "c"]),
        (unit([1, 0], [0, 1], [1, 1]), 0, []),
        (NOTHING, 5, []),
    ],
)
def test_what_is_alike_is_chosen_once(embeddings: Vectors, limit: int, kept: list[str]) -> None:
    assert choose(["a", "b", "c"][: len(embeddings)], embeddings, limit) == kept


angles = st.lists(st.floats(0, 6.25), max_size=8).map(
    lambda some: np.array([[np.cos(item), np.sin(item)] for item in some], np.float32).reshape(-1, 2)
)


@given(angles, st.integers(0, 8))
def test_what_is_chosen_is_diverse_and_nothing_else_would_have_fitted(vectors: Vectors, limit: int) -> None:
    kept = [int(name) for name in choose([str(number) for number in range(len(vectors))], vectors, limit)]
    assert len(kept) <= limit
    chosen = vectors[kept]
    nearness = chosen @ chosen.T
    np.fill_diagonal(nearness, -1)
    assert (nearness <= ALIKE + 1e-6).all()
    if len(kept) < limit:
        others = vectors[[number for number in range(len(vectors)) if number not in kept]]
        assert ((others @ chosen.T).max(axis=1, initial=-1) > ALIKE - 1e-6).all()


def test_the_nearest_to_a_passage_are_chosen_first() -> None:
    embeddings = unit([1, 0], [1, 1], [0, 1])
    assert choose(["a", "b", "c"], embeddings, 2, near=unit([0.1, 1])[0]) == ["c", "b"]


def stored(number: int, document: int, path: str = "/a") -> StoredPassage:
    return StoredPassage(number, "", 0, None, None, document, "", "note", None, (), path)


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        ((stored(2, 1), [1, 0]), (stored(3, 7), [1, 0])),
        ((stored(2, 1), [1, 0]), (stored(3, 2), [1, 0])),
        ((stored(2, 2), [1, 0]), (stored(3, 3), [1, 0])),
        ((stored(2, 2), [1, 0]), (stored(3, 2, "/b"), [1, 0])),
        ((stored(2, 7), [0, 1]), (stored(3, 7), [1, 0])),
        ((stored(2, 7), [0, 1]), (stored(3, 1), [-1, 0])),
    ],
    ids=["same document", "next document", "no longer next", "same file", "near the question", "near enough"],
)
def test_what_is_near_a_question_or_beside_its_source_is_expected_next(
    nearer: tuple[StoredPassage, list[float]], farther: tuple[StoredPassage, list[float]]
) -> None:
    passages, vectors = [nearer[0], farther[0]], unit(nearer[1], farther[1])
    scores = expected_use(passages, vectors, unit([0, 1]), [stored(1, 1)])
    assert scores[0] > scores[1]


def test_the_last_question_counts_most() -> None:
    passages = [stored(1, 1), stored(2, 5)]
    scores = expected_use(passages, unit([1, 0], [0, 1]), unit([1, 0], [0, 1]), passages)
    assert scores[1] > scores[0]


def test_questions_of_long_ago_are_forgotten() -> None:
    asked, sources = unit([1, 0]).repeat(RECENT, axis=0), [stored(1, 1, "/a")] * RECENT
    earlier = np.concatenate([unit([0, 1]), asked])
    passages, vectors = [stored(2, 5, "/b"), stored(3, 1, "/a")], unit([0, 1], [1, 1])
    recent = expected_use(passages, vectors, asked, sources)
    assert expected_use(passages, vectors, earlier, [passages[0], *sources]).tolist() == recent.tolist()


def test_without_questions_nothing_is_expected_more_than_the_rest() -> None:
    assert expected_use([DENTIST, DRILL], unit([1, 0], [0, 1]), NOTHING, []).tolist() == [0, 0]


def test_a_form_that_the_person_asks_is_chosen_sooner() -> None:
    embeddings = np.array([[0.80, 0.60], [0.75, -0.6614]], np.float32)
    near = np.array([1.0, 0.0], np.float32)
    assert choose(["Where is it?", "When is it?"], embeddings, 1, near) == ["Where is it?"]
    assert choose(["Where is it?", "When is it?"], embeddings, 1, near, [0.0, 1.0]) == ["When is it?"]
    assert choose(["Where is it?", "When is it?"], embeddings, 1, near, [0.2, 0.3]) == ["Where is it?"]


@pytest.mark.parametrize(
    ("people", "day", "bonus"),
    [
        (("Anna Berg <anna@berg.example>",), None, NAMED),
        (("Bo Lind",), "2026-03-14T09:00:00", DATED),
        (("AnnaBerg", "Anna"), "2026-03-15", NAMED),
        (("Bo Lind",), None, 0.0),
        ((), "2026-03-14", DATED),
    ],
)
def test_people_and_days_that_were_asked_about_come_sooner(
    people: tuple[str, ...], day: str | None, bonus: float
) -> None:
    passage = StoredPassage(1, "Hello.", 0, None, None, 1, "A note", "note", day, people, "/a")
    asked = [
        query.parse("What did Anna say?", date(2026, 3, 20)),
        query.parse("What was on 14 March?", date(2026, 3, 20)),
    ]
    assert asked_about([passage], asked).tolist() == [pytest.approx(bonus)]
    assert asked_about([passage], []).tolist() == [0.0]
