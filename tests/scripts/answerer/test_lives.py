"""Generated lives: the answer to each question is in a passage or, for unanswerable questions, in none."""

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from scripts.answerer.lessons import Lesson, Pair
from scripts.answerer.lives import lives
from scripts.answerer.lives_kinds import Kind, kinds
from scripts.answerer.slots import gaps
from scripts.answerer.slots_made import MADE, words
from shared.prompt import NOT_FOUND, passage_text

COUNT = 400
SCRIPTS = Path(__file__).parents[3] / "scripts"
SAMPLE_LIFE = SCRIPTS / "sample_life"
ASIDES = [
    line
    for lines in tomllib.loads((SCRIPTS / "answerer" / "slots_asides.toml").read_text("utf-8")).values()
    for line in lines
]


@cache
def lessons() -> tuple[Lesson, ...]:
    return tuple(lives(11, COUNT))


def pairs() -> list[tuple[Lesson, Pair]]:
    return [(lesson, pair) for lesson in lessons() for pair in lesson.pairs]


def read(lesson: Lesson) -> str:
    return "\n".join(passage_text(passage) for passage in lesson.passages)


def test_a_seed_gives_the_same_lessons_and_another_gives_others() -> None:
    assert list(lives(11, 20)) == list(lessons()[:20])
    assert not {read(life) for life in lives(12, 20)} & {read(life) for life in lessons()}


def test_a_lesson_has_one_to_three_passages_and_two_to_six_questions_mostly() -> None:
    counts = Counter(len(lesson.passages) for lesson in lessons())
    assert set(counts) == {1, 2, 3}
    assert 0.42 < counts[1] / COUNT < 0.58
    assert all(1 <= len(lesson.pairs) <= 6 for lesson in lessons())
    assert sum(len(lesson.pairs) >= 2 for lesson in lessons()) > 0.98 * COUNT


def test_an_answer_stands_in_a_passage_or_joins_what_stands_in_two() -> None:
    for lesson, pair in pairs():
        if pair.answer not in (NOT_FOUND, "Yes", "No"):
            parts = [pair.answer] if pair.answer in read(lesson) else pair.answer.split(" and ")
            assert all(part in read(lesson) for part in parts), (read(lesson), pair)


def test_answers_are_short() -> None:
    assert all(len(pair.answer.split()) <= 16 for _, pair in pairs())
    assert sum(len(pair.answer.split()) <= 8 for _, pair in pairs()) > 0.98 * len(pairs())


def test_a_fifth_or_so_is_not_told_some_follow_and_some_are_yes_or_no() -> None:
    asked = [pair for _, pair in pairs()]
    assert 0.18 < sum(pair.abstains for pair in asked) / len(asked) < 0.27
    assert 0.05 < sum(bool(pair.earlier) for pair in asked) / len(asked) < 0.12
    yes, no = (sum(pair.answer == answer for pair in asked) for answer in ("Yes", "No"))
    assert 0.3 < yes / (yes + no) < 0.75


def test_answers_stand_in_every_place_of_the_prompt() -> None:
    places = Counter(
        next(place for place, passage in enumerate(lesson.passages) if pair.answer in passage_text(passage))
        for lesson, pair in pairs()
        if len(lesson.passages) == 3 and pair.answer in read(lesson)
    )
    assert min(places[place] for place in range(3)) > 0.2 * sum(places.values())


def test_no_question_is_asked_twice_of_the_same_passages() -> None:
    for lesson in lessons():
        asked = [pair.question.lower() for pair in lesson.pairs]
        assert len(set(asked)) == len(asked)
    assert len({(read(lesson), pair.question) for lesson, pair in pairs()}) == len(pairs())


def test_only_single_passages_say_what_would_be_asked_of_them() -> None:
    assert all(not lesson.asked for lesson in lessons() if len(lesson.passages) > 1)
    single = [lesson for lesson in lessons() if len(lesson.passages) == 1]
    assert sum(bool(lesson.asked) for lesson in single) > 0.8 * len(single)
    assert all(len(lesson.asked) <= 3 and "passage" not in " ".join(lesson.asked) for lesson in single)


def test_nothing_is_left_unfilled() -> None:
    for lesson in lessons():
        shown = read(lesson) + "".join(pair.question + pair.answer for pair in lesson.pairs)
        assert not re.search(r"[{}|]|#(?!\d)", shown), shown


def test_the_sample_life_is_not_in_them() -> None:
    text = "\n".join(path.read_text("utf-8", "ignore") for path in SAMPLE_LIFE.rglob("*") if path.is_file())
    known = set(re.findall(r"[^\W\d_]+", text))
    assert not {name for name in (*words()["first"], *words()["pet"]) if name in known}
    assert not {name for name in words()["last"] if name in known}


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_every_question_of_a_kind_asks_for_what_a_text_of_it_can_tell(kind: Kind) -> None:
    written_gaps = set(gaps("".join((*kind.text, *kind.title, *kind.rows))))
    for table in (kind.ask, kind.follow, kind.both, kind.check):
        for answer, wordings in table.items():
            used = set(gaps(answer.replace("#", "1")))
            asked = {name for wording in wordings for name in gaps(wording.replace("#", "1"))} - {"x", "y"}
            rows = set(gaps("".join((*kind.text, *kind.title, *kind.rows)).replace("#", "1")))
            assert used | asked <= written_gaps | rows, (kind.name, used | asked - written_gaps - rows)
    for mark in (*kind.yes, *kind.no):
        assert mark.replace("#", "1") in written_gaps | set(gaps("".join(kind.rows).replace("#", "1")))


def test_nothing_stands_in_a_table_that_is_never_drawn() -> None:
    drawn = set(gaps(" ".join(ASIDES)))
    for kind in kinds():
        tables = (kind.ask, kind.follow, kind.both, kind.check)
        asked = [line for table in tables for answer, wordings in table.items() for line in (answer, *wordings)]
        used = set(gaps(" ".join((*kind.text, *kind.title, *kind.rows, *kind.none, *asked)).replace("#", "1")))
        own = used | {name.rstrip("0123456789") for name in used}
        assert {*kind.picks, *kind.compare} <= own, kind.name
        assert {*kind.vague} <= {*kind.ask, *kind.follow}, kind.name
        drawn |= own
    assert not set(MADE) - {name.rstrip("0123456789") for name in drawn}


def test_there_are_thirty_kinds_and_two_hundred_names() -> None:
    assert len(kinds()) >= 30
    assert len(words()["first"]) >= 200
    assert len(words()["last"]) >= 150
