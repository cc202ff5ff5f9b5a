"""The order of the training data: every source gets its share, and the order is the same for the same seed."""

import math
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from models.fake import END, FakeEngine
from scripts.answerer.curriculum import MOST_PAIRS, SHARES, TOGETHER, curriculum
from scripts.answerer.lessons import Lesson, Pair, passage
from scripts.answerer.packing import Tree, cut
from scripts.benchmarks.answers_skills import CHATS
from tests.scripts.datasets import made_data

ROOT = Path(__file__).parents[3]
ENGINE = FakeEngine()
TOKENS = 60_000  # bytes: the engine has no others
REAL = [
    Lesson(
        name,
        (passage(f"The {number}th thing is {name}.", "Things"),),
        tuple(Pair(f"What is thing {number}, question {question}?", name) for question in range(9)),
        (f"What is thing {number}?",),
    )
    for name in ("xquad", "qmsum", "quotes")
    for number in range(6)
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_data.folders(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def made(data: Path) -> Callable[..., list[Tree]]:
    def make(tokens: int = TOKENS, seed: int = 7, real: list[Lesson] = REAL, data: Path = data) -> list[Tree]:
        return curriculum(real, data, lambda text, special: ENGINE.tokenize(text, special=special), END, tokens, seed)

    return make


def kinds(trees: list[Tree]) -> Counter[str]:
    """Return the number of tokens from each source."""
    counts = Counter[str]()
    for tree in trees:
        counts[tree.source] += len(tree)
    return counts


def test_a_seed_gives_the_same_order_and_another_gives_another(made: Callable[..., list[Tree]]) -> None:
    assert made() == made()
    assert made(seed=8) != made()


def test_every_kind_of_source_has_its_share(made: Callable[..., list[Tree]]) -> None:
    read = kinds(made())
    assert sum(SHARES.values()) == pytest.approx(1)
    for kind in ("xquad", "qmsum", "quotes", "lives", "chat"):  # of the others these made data hold less
        assert SHARES[kind] <= read[kind] / TOKENS < SHARES[kind] + 0.06, kind
    assert read["encyclopedia"] > 0
    assert read["plain"] > 0


def test_sources_are_named_and_mixed(made: Callable[..., list[Tree]]) -> None:
    trees = made()
    assert {tree.source for tree in trees} == {*SHARES} - {"nq_passages", "lihuaworld"}
    assert len({tree.source for tree in trees[:20]}) >= 3
    assert all(tree.branches for tree in trees)


def test_of_one_lesson_come_some_questions_and_one_to_be_asked(data: Path) -> None:
    trees = curriculum(REAL, data, lambda text, _: [*map(len, text.split())], END, 9_000, 7)
    assert [len(tree.branches) for tree in trees if tree.source == "xquad"][:3] == 3 * [MOST_PAIRS + 1]


def test_no_more_is_chosen_than_is_read(made: Callable[..., list[Tree]]) -> None:
    assert all(part == cut(part) for part in made())


def test_real_lessons_come_again_in_another_order(made: Callable[..., list[Tree]]) -> None:
    read = Counter(part.trunk for part in made() if part.source == "xquad")
    assert len(read) == sum(lesson.source == "xquad" for lesson in REAL)
    assert max(read.values()) - min(read.values()) <= 1


def test_of_prompts_of_several_passages_each_pass_reads_another_part(made: Callable[..., list[Tree]]) -> None:
    several = [replace(lesson, passages=lesson.passages * 2) for lesson in REAL if lesson.source == "xquad"]
    alone = REAL[:1]
    trunks = [part.trunk for part in made(real=[*several, *alone]) if part.source == "xquad"]
    single = min(trunks, key=len)
    assert trunks.count(single) / len(trunks) == pytest.approx(1 / (1 + math.ceil(TOGETHER * len(several))), abs=0.1)
    assert len({*trunks}) == len(several) + 1


def test_little_is_never_nothing_and_missing_folders_leave_the_rest(
    made: Callable[..., list[Tree]], tmp_path: Path
) -> None:
    assert {*kinds(made(tokens=1))} == {*SHARES} - {"nq_passages", "lihuaworld"}  # of which there are no lessons
    assert {*kinds(made(tokens=1, data=tmp_path))} == {"xquad", "qmsum", "quotes", "lives", "chat"}
    assert {*kinds(made(tokens=1, real=[], data=tmp_path))} == {"lives", "chat"}


def test_what_is_said_without_passages_is_not_what_the_benchmark_says(
    data: Path, made: Callable[..., list[Tree]]
) -> None:
    said = {
        bytes(token for token in part.branches[0].tokens if token < END) for part in made() if part.source == "chat"
    }
    assert any(b"You're welcome!" in message for message in said)
    assert not any(chat.encode() in message for message in said for chat in CHATS)


def test_what_the_benchmark_says_without_passages_is_not_nearly_taught_either() -> None:
    talks = tomllib.loads((ROOT / "scripts" / "answerer" / "small_talk.toml").read_text("utf-8"))["talk"]
    taught = [asked for talk in talks for asked in talk["asked"]]
    near = [(chat, asked) for chat in CHATS for asked in taught if SequenceMatcher(None, chat, asked).ratio() > 0.75]
    assert not near
