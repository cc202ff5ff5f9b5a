"""With real weights, drafts made in a batch equal, bit for bit, those of a decoder with an engine of its own.

This holds as long as no answer takes KV cache cells that another has freed: if later tokens are stored before earlier
ones, sums of attention are rounded differently, which changes logits by up to one.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Draft, EngineEvent, Job
from cloud_server.engine.prefix_cache import PrefixCache
from models.engine import Engine
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from shared.aggregation.messages import Rule
from shared.aggregation.weights import row_weights
from tests.writing import GREEDY, RULES, chain_behind, same

PASSAGES = [
    "The heron stood by the river, where the ferryman had seen it every morning since the winter.",
    "Nobody in the village had seen such a winter, said the ferryman, and he had seen forty of them.",
    "Two eggs, flour, a pinch of salt: so the ferryman's wife baked what she took to the boat.",
    "The ferry leaves at noon, and once more at six, when the bell of the village church has rung.",
]
AHEAD = 6


@pytest.fixture(scope="module")
def engines(weights: Path) -> Iterator[tuple[Engine, Engine]]:
    path = weights / "smollm2-135m-instruct.q8_0.gguf"
    engine = LlamaCppEngine(LlamaModel(path), context=8192, sequences=24, threads=2, kv_type="q8_0")
    other = LlamaCppEngine(LlamaModel(path), context=1024, sequences=4, threads=2, kv_type="q8_0")
    yield engine, other
    engine.close()
    other.close()


def about(engine: Engine, question: str, rows: int, drawn_by: Rule | None) -> Job:
    def part(text: str) -> tuple[int, ...]:
        return tuple(engine.tokenize(text, special=True))

    head, tail = part("<|im_start|>user\n"), part(f"Question: {question}<|im_end|>\n<|im_start|>assistant\n")
    prompts = tuple((head, part(f"{passage}\n"), tail) for passage in PASSAGES[:rows])
    weights = tuple(row_weights([0.8 - 0.02 * row for row in range(rows)]).tolist())
    sampling = SamplingSettings(temperature=0.7, min_p=0.05, seed=11) if drawn_by != "greedy" else GREEDY
    return Job(prompts, weights, sampling, 40, (), drawn_by, AHEAD)


def stepped(batch: Batch) -> list[EngineEvent]:
    events: list[EngineEvent] = []
    while not batch.idle:
        events += batch.step()
    return events


def of(events: list[EngineEvent], key: int) -> list[Draft]:
    return [event for event in events if isinstance(event, Draft) and event.key == key]


def every(engine: Engine) -> dict[int, Job]:
    """Return a job for each rule and each number of rows, by key."""
    kinds = [(rows, drawn_by) for rows in (1, 2, 4) for drawn_by in RULES]
    return {key: about(engine, "When does the ferry leave?", *kind) for key, kind in enumerate(kinds)}


@pytest.mark.long
@pytest.mark.weights
def test_answers_of_every_rule_and_any_rows_beside_each_other_are_each_as_alone(engines: tuple[Engine, Engine]) -> None:
    engine, alone = engines
    batch, events = Batch(engine, PrefixCache(1 << 28)), list[EngineEvent]()
    batch.join(98, about(engine, "Who baked?", 1, None), AHEAD)
    batch.join(99, about(engine, "Who stood there?", 2, None), AHEAD)
    for key, item in every(engine).items():
        batch.join(key, item, AHEAD)
        for _ in range(3):
            events += batch.step()  # some still read their prompts while others draft
    events += stepped(batch)
    for key, item in every(engine).items():
        assert same(of(events, key), chain_behind(item, (), AHEAD, alone))
        batch.leave(key)
    for key in (98, 99):
        batch.leave(key)
    assert not len(batch)
    assert not any(map(engine.length, range(engine.info.sequences)))


@pytest.mark.long
@pytest.mark.weights
def test_whatever_was_corrected_an_answer_drafts_as_one_that_was_not(engines: tuple[Engine, Engine]) -> None:
    engine, alone = engines
    batch = Batch(engine, PrefixCache(1 << 28))
    for key, item in every(engine).items():
        batch.join(key, item, AHEAD)
        settled: list[int] = []
        for keep, text in ((3, " the old man"), (1, ",")):
            chain = of(stepped(batch), key)
            assert same(chain, chain_behind(item, settled, AHEAD, alone))
            settled += [made.token for made in chain[:keep]] + engine.tokenize(text)
            batch.correct(key, len(settled) - len(engine.tokenize(text)), engine.tokenize(text))
            batch.allow(key, len(settled) + AHEAD)
        batch.leave(key)
