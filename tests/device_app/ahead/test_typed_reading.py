"""Retrieval and prefilling for a question that is still being typed: when nothing is done, and that answers stay the
same.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from device_app.ahead.typed_reading import PIECE_TOKENS, nearest, read, read_question, readable_ranks
from device_app.ahead.typing import RANKED, ReadQuestion
from device_app.device import Device
from device_app.english import query
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


def after(looks: int) -> Callable[[int], bool]:
    """Return a function that asks the work to stop at its check number `looks`, counted from 0."""
    taken = count()
    return lambda _: next(taken) == looks


def test_a_reading_gives_way_within_a_piece_and_is_continued_by_what_follows(device: Device) -> None:
    drill, done = of(device, "drill"), list[int]()
    source = device.begin_loading().result()

    def gives_way(tokens: int) -> bool:
        done.append(tokens)
        return len(done) == 4

    reading = read(device, drill.id, gives_way)
    assert not reading.done
    assert reading.tokens == 2 * PIECE_TOKENS
    assert done == [0, 0, PIECE_TOKENS, 2 * PIECE_TOKENS]
    assert not kept(device)
    assert source.engine.length(0) == 2 * PIECE_TOKENS
    prompt = replace(prompts.build("", [drill], source.template), tail=())
    assert read(device, drill.id, lambda _: False).tokens == source.count(prompt) - 2 * PIECE_TOKENS
    assert kept(device) == {drill.id}


def test_an_answer_continues_what_was_broken_off(device: Device) -> None:
    hits = device.retriever.search(query.parse(DRILL, date.today()), 1, 0.0)
    typed = ReadWhileTyping()
    assert not read(device, hits[0].passage.id, after(5)).done
    typed.broken_off.append(hits[0].passage.id)
    typed.tokens = PIECE_TOKENS
    *_, answer = device.assistant.ask(DRILL, device.options(), None, typed)
    assert isinstance(answer, AskAnswer)
    assert answer.trace.tokens_cached == 4 * PIECE_TOKENS
    assert answer.trace.joined == {hits[0].passage.id}
    assert answer.as_json()["trace"]["read_while_typing"]["served"] == 1


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        (DRILL, DRILL),
        ("Who has borrowed the blue", "Who has borrowed the blue"),
        ("Who has borrowed the red saw", "Who has borrowed the "),
        ("When is the", "Wh"),
        (f"{DRILL} And the saw?", DRILL),
        ("from:petra Who has", "Who has"),
    ],
)
@pytest.mark.parametrize("is_whole", [False, True])
def test_only_what_is_new_of_a_question_is_computed(device: Device, typed: str, same: str, *, is_whole: bool) -> None:
    drill, source = of(device, "drill"), device.begin_loading().result()
    assert read(device, drill.id, lambda _: False).done
    reading = read_question(device, ReadQuestion(drill.id, typed, is_whole), lambda _: False)
    assert reading.done
    assert reading.tokens > 0
    trace = Trace()
    prompt = prompts.build(DRILL, [drill], source.template)
    source.prefilled(prompt, trace, device.qkv_tree)
    new = len(source.tokens(prompt.tail)) - len(source.engine.tokenize(f"Question: {same}"))
    assert trace.tokens_prefilled == (0 if typed == DRILL and is_whole else new)
    assert trace.tokens_prefilled + trace.tokens_cached == source.count(prompt) == source.engine.length(0)
    assert (trace.segments_cached, trace.joined) == (2, {drill.id})


def test_a_prompt_of_several_rows_ends_what_was_read_of_a_question(device: Device) -> None:
    drill, other = of(device, "drill"), of(device, "dentist")
    source, tree = device.begin_loading().result(), device.qkv_tree
    assert read(device, drill.id, lambda _: False).done
    assert read_question(device, ReadQuestion(drill.id, DRILL), lambda _: False).tokens
    source.prefilled(prompts.build(DRILL, [drill, other], source.template), Trace(), tree)
    trace, prompt = Trace(), prompts.build(DRILL, [drill], source.template)
    source.prefilled(prompt, trace, tree)
    assert trace.tokens_prefilled == len(source.tokens(prompt.tail))


def test_what_was_read_of_a_question_serves_one_prompt_and_no_other(device: Device) -> None:
    drill, other = of(device, "drill"), of(device, "dentist")
    source, tree = device.begin_loading().result(), device.qkv_tree
    assert read(device, drill.id, lambda _: False).done
    for first, second in ((other, drill), (drill, drill)):
        assert read_question(device, ReadQuestion(drill.id, DRILL), lambda _: False).tokens
        counted = []
        for passage in (first, second):
            trace = Trace()
            source.prefilled(prompts.build(DRILL, [passage], source.template), trace, tree)
            counted.append(trace.tokens_prefilled)
        tail = len(source.tokens(prompts.build(DRILL, [], source.template).tail))
        assert counted[1] == tail
        assert (counted[0] < tail) is (first is drill)


@pytest.mark.parametrize(
    ("passage", "text"), [("drill", "from:petra"), ("drill", "after:2026-13 drill"), ("dentist", DRILL)]
)
def test_a_question_that_cannot_follow_on_its_passage_is_not_read(device: Device, passage: str, text: str) -> None:
    assert read(device, of(device, "drill").id, lambda _: False).done
    assert read_question(device, ReadQuestion(of(device, passage).id, text), lambda _: False).tokens == 0
    assert read_question(device, ReadQuestion(999, DRILL), lambda _: False).tokens == 0


def test_a_question_that_gives_way_at_once_is_not_taken_for_read(device: Device) -> None:
    drill = of(device, "drill")
    assert read(device, drill.id, lambda _: False).done
    reading = read_question(device, ReadQuestion(drill.id, DRILL), lambda _: True)
    assert (reading.tokens, reading.done) == (0, False)


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


def logits(device: Device, passage: StoredPassage, *, is_read: bool = False) -> Logits:
    """Return the logits after a question's prompt, computed with the KV states that are cached or were prefilled
    before.
    """
    source, trace = device.begin_loading().result(), Trace()
    prompt = prompts.build(DRILL, [passage], source.template)
    (row,) = source.prefilled(prompt, trace, device.qkv_tree)
    assert trace.joined == ({passage.id} if is_read or kept(device) else set())
    return row.copy()


@pytest.mark.long
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
        assert not read(device, passage.id, after(3)).done  # broken off first
        assert np.array_equal(logits(device, passage, is_read=True), without)
        assert read(device, passage.id, lambda _: False).tokens > 2 * PIECE_TOKENS
        assert np.array_equal(logits(device, passage), without)
        for typed in ("Who has", "Who has borrowed", "Who has borrowed the bl", DRILL):
            assert read_question(device, ReadQuestion(passage.id, typed), lambda _: False).tokens >= 1
        assert np.array_equal(logits(device, passage), without)
        for typed in ("Who has borrowed the red saw", "When is the dentist?", DRILL + " And the saw", DRILL):
            assert read_question(device, ReadQuestion(passage.id, typed, is_whole=True), lambda _: False).tokens >= 1
            assert np.array_equal(logits(device, passage), without)
        device.begin_loading().result().engine.clear(0)
        for is_whole in (False, True):  # the end alone, of what was read
            assert read_question(device, ReadQuestion(passage.id, DRILL, is_whole), lambda _: False).tokens >= 1
        assert np.array_equal(logits(device, passage), without)
