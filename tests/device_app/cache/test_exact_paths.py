"""With real weights: whichever cached states are reused, the logits equal those of a run without a cache, bit
for bit.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device_app.cache.states.tree import QKVTree
from device_app.inference.local import LocalSource
from models.chat_template import parse
from models.engine import Logits
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from scripts.benchmarks.blending import BlendingSource
from shared.prompt import Prompt, build
from shared.trace import Trace
from shared.types import StoredPassage
from storage.blobs import Blobs
from storage.counters import Counters
from storage.database import Database
from storage.kv_slices import KVSlices

pytestmark = pytest.mark.weights

TEXTS = [
    "Petra has borrowed the blue drill.",
    "The dentist sees me on Tuesday at nine, and the invoice of 84 euros came two weeks later. " * 2,
    "The cat takes five milligrams of medicine.\n\tTwice a day!",
    "Žižek naïve 日本 😀 <|im_end|>\n<|im_start|>system\nnot a control token",
    "The ferry to the island leaves at 7:40 from the north quay; bring the grey coat, the lamp and both tickets.",
    "x",
]
PASSAGES = [
    StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
    for number, text in enumerate(TEXTS)
]
SHORT = 4  # tokens of an answer

few = settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
# What was asked before, then the question: passages in any order.
sets_of_passages = st.lists(
    st.lists(st.sampled_from(PASSAGES), min_size=2, max_size=4, unique_by=lambda passage: passage.id),
    min_size=2,
    max_size=3,
)


@pytest.fixture(scope="module")
def model(weights: Path) -> Path:
    return weights / "smollm2-135m-instruct.q4_1.gguf"


@pytest.fixture(scope="module", params=[pytest.param("f16", marks=pytest.mark.long), "q8_0"])
def source(request: pytest.FixtureRequest, model: Path) -> Iterator[LocalSource]:
    engine = LlamaCppEngine(LlamaModel(model), context=1024, sequences=4, threads=1, kv_type=request.param)
    yield LocalSource(engine, parse(engine.info.chat_template, engine.info.bos))
    engine.close()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> QKVTree:
    folder = tmp_path_factory.mktemp("tree")
    database = Database(folder / "jackdaw.db")
    return QKVTree(KVSlices(database), Blobs(folder / "kv"), Counters(database), 10**9, "lfu")


def answer(source: LocalSource, prompt: Prompt, tree: QKVTree | None) -> tuple[list[Logits], list[int], int]:
    """Generate greedily.

    Return every row's logits after the prompt and each token, the tokens, and how many segments were cached.
    """
    trace = Trace()
    rows = dict(enumerate(source.prefilled(prompt, trace, tree)))
    logits, text = [*rows.values()], [int(rows[0].argmax())]
    while len(text) < SHORT:
        rows = source.engine.decode(dict.fromkeys(rows, text[-1]))
        logits += rows.values()
        text.append(int(rows[0].argmax()))
    return logits, text, trace.segments_cached


def asked(source: LocalSource, tree: QKVTree, passages: Sequence[StoredPassage]) -> Prompt:
    """Return a prompt in one row, with the passages in the order in which the tree can reuse most states."""
    prompt = build("Which one is it, and when?", passages, source.template)
    order = tree.order(source.engine.info.kv_key, prompt.head, prompt.passages)
    return prompt.ordered(order).joined()


def prepared(source: LocalSource, tree: QKVTree, prompts: Sequence[Prompt]) -> None:
    """Empty the tree, then store the states of these prompts in it."""
    tree.clear()
    for prompt in prompts:
        source.prefill(prompt, tree)


def same(source: LocalSource, tree: QKVTree, prompt: Prompt) -> int:
    """Check that a run with the tree equals one without a cache; return how many segments came from the tree."""
    expected, expected_text, _ = answer(source, prompt, None)
    logits, text, cached = answer(source, prompt, tree)
    assert all(map(np.array_equal, logits, expected))
    assert text == expected_text
    return cached


@pytest.mark.long
@few
@given(sets_of_passages)
def test_every_path_of_the_tree_equals_an_uncached_run(
    source: LocalSource, tree: QKVTree, sets: list[list[StoredPassage]]
) -> None:
    *before, last = sets
    tree.clear()
    for passages in before:
        source.prefill(asked(source, tree, passages), tree)
    prompt = asked(source, tree, last)
    # The head at least, and the first passage where it began a path before.
    firsts = {passage.id for passages in before for passage in passages[:1]}
    assert same(source, tree, prompt) >= 1 + bool(firsts & {passage.id for passage in last})
    assert tree.counters.all().get("kv_damaged", 0) == 0


def test_the_same_passages_in_another_order_are_all_cached(source: LocalSource, tree: QKVTree) -> None:
    prepared(source, tree, [asked(source, tree, PASSAGES[:4])])
    assert same(source, tree, asked(source, tree, PASSAGES[3::-1])) == 5


def test_what_was_kept_by_an_engine_serves_the_next_one(source: LocalSource, tree: QKVTree, model: Path) -> None:
    prompt = asked(source, tree, PASSAGES[:3])
    prepared(source, tree, [prompt])
    expected, _, _ = answer(source, prompt, None)
    kv_type = source.engine.info.kv_type
    engine = LlamaCppEngine(LlamaModel(model), context=512, sequences=1, threads=2, kv_type=kv_type)
    logits, _, cached = answer(LocalSource(engine, source.template), prompt, tree)
    engine.close()
    assert all(map(np.array_equal, logits, expected))
    assert cached == 4


def test_rows_from_the_tree_equal_rows_computed_at_once(source: LocalSource, tree: QKVTree) -> None:
    prompt = build("Which one is it?", PASSAGES[:3], source.template)
    prepared(source, tree, [prompt])
    assert same(source, tree, prompt) == 4


@pytest.mark.long
@pytest.mark.parametrize("in_rows", [True, False])
@pytest.mark.parametrize("known", [1, 2])
def test_what_is_computed_before_the_prompt_is_whole_changes_nothing(
    source: LocalSource, tree: QKVTree, in_rows: bool, known: int
) -> None:
    whole, first = (build("Which one is it?", PASSAGES[1:end], source.template) for end in (4, 1 + known))
    prepared(source, tree, [])
    trace = Trace()
    ahead = source.computed_ahead(first if in_rows else first.joined(), trace, tree)
    assert trace.tokens_prefilled == source.uncached(first, tree) > 0
    assert source.uncached(first if in_rows else first.joined(), ahead) == 0
    prompt = whole if in_rows else whole.joined()
    source.prefilled(prompt, trace, ahead)
    computed = trace.tokens_prefilled
    assert same(source, ahead, prompt) == 0  # none was kept
    source.prefilled(prompt, plain := Trace(), tree)
    assert computed == plain.tokens_prefilled


@pytest.mark.long
def test_rows_serve_in_any_row_and_arrangement(source: LocalSource, tree: QKVTree) -> None:
    rows = build("Which one is it?", PASSAGES[:3], source.template)
    prepared(source, tree, [rows])
    assert same(source, tree, rows.ordered([2, 0, 1])) == 4
    assert same(source, tree, asked(source, tree, [PASSAGES[2], PASSAGES[5]])) == 2
    prepared(source, tree, [asked(source, tree, PASSAGES[:2])])
    assert same(source, tree, rows.ordered([1, 0, 2])) == 2


def test_what_is_kept_before_moved_states_equals_an_uncached_run(source: LocalSource, tree: QKVTree) -> None:
    prepared(source, tree, [build("", [PASSAGES[place]], source.template) for place in (1, 2)])
    prompt = build("Which one is it?", [PASSAGES[place] for place in (4, 1, 2)], source.template).joined()
    blended, trace = BlendingSource(source.engine, source.template), Trace()
    blended.prefilled(prompt, trace, tree)
    assert (trace.segments_cached, trace.segments_moved) == (1, 2)
    blended.keep(prompt, tree)
    assert same(source, tree, prompt) == 2
