"""Questions that rules understand by meaning, and those of which they must not."""

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from device_app.english import query
from device_app.everyday.phrasings import Phrasings
from device_app.everyday.rule import Asked, Everyday, Ruled
from device_app.everyday.rules import everyday
from device_app.knowledge.known_people import known_people
from models.catalog import Weights, find
from models.embedder import OnnxEmbedder
from models.engine import Embedder
from models.fake import FakeEmbedder
from shared.errors import WeightsMissing
from storage.database import Database
from storage.knowledge import KnowledgeStore
from tests.device_app.everyday.conftest import NOW

UNREAD = "what did Rick Moen say last"
"""A question that the rules do not understand as it is worded."""


class Counted(FakeEmbedder):
    """A fake embedder that counts the texts it embeds, and passes for the one with which thresholds were measured."""

    fingerprint = "all-MiniLM-L6-v2 of tests"
    embedded = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.embedded += len(texts)
        return super().embed(texts)


def rules(life: Database, embedder: Embedder, folder: Path) -> Everyday:
    return everyday(KnowledgeStore(life), known_people(life), Phrasings(lambda: embedder, folder))


def asked(question: str) -> Asked:
    return Asked(query.parse(question, NOW.date()), NOW)


@pytest.mark.weights
@pytest.mark.parametrize(
    ("question", "read_as", "part"),
    [
        ("what did Rick Moen say last", "what was the last mail from Rick Moen", "Winter plans"),
        ("did Tom Reed ever happen to mail me", "did Tom Reed write to me", "Boat"),
    ],
)
def test_a_question_is_read_as_the_plain_one_of_its_meaning(
    life: Database, weights: Path, tmp_path: Path, question: str, read_as: str, part: str
) -> None:
    embedder = OnnxEmbedder(Weights(weights).path(find("all-minilm-l6-v2")), threads=1)
    ruled = rules(life, embedder, tmp_path).answer(asked(question))
    assert ruled
    assert f"read as “{read_as}”" in ruled.understood
    assert part in ruled.text


@pytest.mark.weights
@pytest.mark.parametrize(
    "question",
    [
        "why did Rick Moen say so last",
        "what did Rick Moen not say last",
        "what does Rick Moen think of skiing in the Alps",
        "mails from Zorblax that he might have posted",
        "let me see what mails Rick Moen deleted",
        "mails from anyone but Rick Moen in November",
        "What was the second to last mail from Rick Moen?",
    ],
)
def test_other_meanings_are_left_to_the_model(life: Database, weights: Path, tmp_path: Path, question: str) -> None:
    embedder = OnnxEmbedder(Weights(weights).path(find("all-minilm-l6-v2")), threads=1)
    assert rules(life, embedder, tmp_path).answer(asked(question)) is None


def test_the_vectors_of_the_table_are_computed_once(life: Database, tmp_path: Path) -> None:
    first, second = Counted(), Counted()
    rules(life, first, tmp_path).answer(asked(UNREAD))
    rules(life, second, tmp_path).answer(asked(UNREAD))
    assert first.embedded > second.embedded == 1
    for damaged in tmp_path.iterdir():
        damaged.write_bytes(b"no vectors")
    third = Counted()
    rules(life, third, tmp_path).answer(asked(UNREAD))
    assert third.embedded == first.embedded


def test_without_its_embedder_nothing_is_read_by_meaning(life: Database, tmp_path: Path) -> None:
    def missing() -> Embedder:
        raise WeightsMissing("not pulled")

    without = everyday(KnowledgeStore(life), known_people(life), Phrasings(missing, tmp_path))
    assert without.answer(asked(UNREAD)) is None
    assert rules(life, FakeEmbedder(), tmp_path).answer(asked(UNREAD)) is None
    assert not list(tmp_path.iterdir())


def test_follow_ups_and_filters_are_not_read_by_meaning(life: Database, tmp_path: Path) -> None:
    embedder = Counted()
    said = rules(life, embedder, tmp_path)
    assert said.answer(asked(f"from:rick {UNREAD}")) is None
    assert embedder.embedded == 0


@pytest.mark.parametrize("may_be_empty", [True, False])
def test_nothing_is_an_answer_to_another_wording_only_where_it_is_sure_of_any(
    tmp_path: Path, may_be_empty: bool
) -> None:
    class Plain(Phrasings):
        def plain(self, question: str, today: date, is_name: Callable[[str], bool]) -> str:
            return "am I free"

    class Free:
        stands_alone = True

        def answer(self, asked: Asked) -> Ruled | None:
            is_plain = asked.text == "am I free"
            return Ruled("Nothing.", "days · agenda", may_be_empty=may_be_empty) if is_plain else None

    ruled = Everyday((Free(),), phrasings=Plain(FakeEmbedder, tmp_path)).answer(asked(UNREAD))
    assert (ruled is not None) is may_be_empty
