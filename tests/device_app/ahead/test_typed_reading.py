"""Searching for a half-typed question and reading its passages: what is left alone, and that answers stay the same."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from device_app.ahead.typed_reading import PIECE_TOKENS, nearest, read, readable_ranks
from device_app.ahead.typing import RANKED
from device_app.device import Device
from device_app.question.answer import Answer as AskAnswer
from device_app.question.options import Arrangement, Plan
from device_app.question.typed import ReadWhileTyping
from device_app.settings import Answer, Cache, Model, Settings
from models.catalog import Weights
from models.engine import Logits
from models.fake import FakeEmbedder
from shared import prompt as prompts
from shared.trace import Trace
from shared.types import StoredPassage
from storage.paths import HOME_VARIABLE, Paths
from tests.devices import fake_device

DRILL = "Who has borrowed the blue drill?"


@pytest.fixture
def device(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    """A device that has read the notes."""
    monkeypatch.setattr(Weights, "adapter", lambda *_: None)
    settings = Settings(answer=Answer(summaries="quoted"))
    with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path / "home")}), settings) as device:
        device.ingestion().run([notes])
        yield device


def kept(device: Device) -> set[int | None]:
    return {row.passage_id for row in device.qkv_tree.rows.all()} - {None}


def of(device: Device, words: str) -> StoredPassage:
    return next(passage for passage in device.knowledge.passages_after(0, 9) if words in passage.text)


@pytest.mark.parametrize(
    ("text", "finds"),
    [
        (DRILL, True),
        ("who has the blue dri", True),
        ("", False),
        ("from:petra", False),
        ("from:", False),
        ('from:"petra the blue drill', True),
        ("after:2026-13 blue drill", False),
        ("What was said about the blue drill?", False),
        ("zzz yyy xxx", False),
    ],
)
def test_what_is_typed_by_half_is_searched_and_raises_nothing(device: Device, text: str, finds: bool) -> None:
    ranking = nearest(device, text)
    assert bool(ranking) is finds
    assert sorted(ranking, key=lambda scored: -scored[1]) == list(ranking)


def test_nothing_is_read_for_a_question_that_a_kept_answer_may_serve(device: Device) -> None:
    assert nearest(device, DRILL)
    list(device.assistant.ask(DRILL, device.options()))
    before = device.database.execute("SELECT * FROM qa_entries")
    assert nearest(device, DRILL) == ()
    assert device.database.execute("SELECT * FROM qa_entries") == before


def test_a_passage_is_read_once_and_not_if_it_is_gone(device: Device) -> None:
    drill = of(device, "drill")
    first, second, gone = (read(device, identity, lambda _: False) for identity in (drill.id, drill.id, 999))
    assert first.done
    assert first.tokens > 0
    assert (second.done, second.tokens) == (gone.done, gone.tokens) == (True, 0)
    assert kept(device) == {drill.id}


def test_a_reading_gives_way_within_a_piece_and_leaves_nothing(device: Device) -> None:
    drill, shares = of(device, "drill"), list[float]()
    engine = device.begin_loading().result().engine

    def gives_way(share: float) -> bool:
        shares.append(share)
        return len(shares) == 4

    reading = read(device, drill.id, gives_way)
    assert not reading.done
    assert reading.tokens == 2 * PIECE_TOKENS
    assert shares == sorted(shares)
    assert 0 < shares[-1] < 1
    assert not kept(device)
    assert engine.length(0) == 0
    assert read(device, drill.id, lambda _: False).done


def test_nothing_is_read_where_no_states_are_kept(tmp_path: Path, notes: Path) -> None:
    settings = Settings(cache=Cache(kv_mb=0))
    with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path / "home")}), settings) as device:
        device.ingestion().run([notes])
        assert read(device, of(device, "drill").id, lambda _: False).tokens == 0


@pytest.mark.parametrize(
    ("passages", "arrangement", "ranks"),
    [(1, "prompt", RANKED), (3, "prompt", 1), (3, "cheapest", 1), (3, "rows", RANKED)],
)
def test_of_passages_that_share_a_prompt_the_likeliest_alone_is_read(
    passages: int, arrangement: Arrangement, ranks: int
) -> None:
    assert readable_ranks(Plan(passages, arrangement)) == ranks


@pytest.mark.parametrize("arrangement", ["prompt", "cheapest", "rows"])
@pytest.mark.parametrize("rank", range(3))
def test_passages_that_share_a_prompt_stand_in_it_as_without(
    tmp_path: Path, notes: Path, arrangement: Arrangement, rank: int
) -> None:
    settings = Settings(answer=Answer(passages=3, arrangement=arrangement, relevance=0.0), cache=Cache(threshold=1.0))
    question = "Who has the blue drill, and when is the dentist, and where was the heron?"
    prompts_of, texts = list[list[int | None]](), list[str]()
    for typed in (False, True):
        with fake_device(Paths.locate({HOME_VARIABLE: str(tmp_path / f"home {typed}")}), settings) as device:
            device.ingestion().run([notes])
            read_before = ReadWhileTyping()
            request = replace(device.assistant._request(question, device.options(), None), typed=read_before)
            hits = device.assistant._facts.retrieved(request, quotes=False).hits[:3]
            if typed:
                passage = hits[rank].passage.id
                assert read(device, passage, lambda _: False).tokens
                read_before.passages.append(passage)
                assert kept(device) == {passage}
            prompt = device.assistant._writer(request).attempt(hits).prompt
            assert prompt
            prompts_of.append([segment.passage for row in prompt.passages for segment in row])
            *_, answer = device.assistant.ask(question, device.options(), None, read_before)
            assert isinstance(answer, AskAnswer)
            texts.append(answer.text)
    assert len(prompts_of[0]) == 3
    assert prompts_of[0] == prompts_of[1]
    assert texts[0] == texts[1]


def logits(device: Device, passage: StoredPassage) -> Logits:
    """Behind the prompt of a question, from what the tree keeps."""
    source, trace = device.begin_loading().result(), Trace()
    prompt = prompts.build(DRILL, [passage], source.template)
    (row,) = source.prefilled(prompt, trace, device.qkv_tree)
    assert trace.joined == ({passage.id} if kept(device) else set())
    return row.copy()


@pytest.mark.weights
@pytest.mark.parametrize("kv", [pytest.param("f16", marks=pytest.mark.long), "q8_0"])
def test_real_logits_are_the_same_to_the_bit_with_and_without(
    tmp_path: Path, notes: Path, weights: Path, kv: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "long.md").write_text("# The ferry\n\n" + "The blue drill crossed with the ferry at 7:40 that day. " * 12)
    paths = Paths.locate({HOME_VARIABLE: str(tmp_path / "home")})
    paths.create()
    paths.weights.symlink_to(weights)
    settings = Settings(model=Model(kv=kv, context=1024, threads=1))  # type: ignore[arg-type]
    with Device(paths, settings, embedder=FakeEmbedder) as device:
        device.ingestion().run([notes])
        passage = max(device.knowledge.passages_after(0, 9), key=lambda passage: len(passage.text))
        without = logits(device, passage)
        calls = count()
        assert not read(device, passage.id, lambda _: next(calls) == 3).done  # broken off first
        assert read(device, passage.id, lambda _: False).tokens > 2 * PIECE_TOKENS
        assert np.array_equal(logits(device, passage), without)
