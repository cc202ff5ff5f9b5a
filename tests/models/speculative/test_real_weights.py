"""Speculative decoding with the real model and a q8_0 KV cache: text and states equal those without drafts, bit for
bit.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from device_app.inference.local import LocalSource
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from models.speculative.costs import PassCosts, measured
from models.speculative.drafting import Drafting
from shared.prompt import CHATML, Prompt, build
from shared.trace import Trace
from shared.types import StoredPassage

pytestmark = pytest.mark.weights

CHEAP = PassCosts(((1, 1.0), (16, 1.5)), is_exact=True)
TEXTS = (
    "The ferry to Bergen leaves on Friday at 9:40 from pier 4. The booking reference of the ferry is KX-2291. Whoever "
    "has the booking reference of the ferry may change the booking until Thursday at noon.",
    "Petra has borrowed the blue drill until Sunday. The green drill is in the cellar, behind the paint.",
)


@pytest.fixture(scope="module")
def engine(weights: Path) -> Iterator[LlamaCppEngine]:
    model = LlamaModel(weights / "smollm2-135m-instruct.q8_0.gguf")
    engine = LlamaCppEngine(model, context=1024, sequences=3, threads=1, kv_type="q8_0")
    yield engine
    engine.close()


def prompt(*texts: str) -> Prompt:
    passages = [
        StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")
        for number, text in enumerate(texts)
    ]
    return build("What is the booking reference, and where is the green drill?", passages, CHATML)


def written(
    engine: LlamaCppEngine, drafting: Drafting, asked: Prompt, sampling: SamplingSettings
) -> tuple[list[int], Trace]:
    trace = Trace()
    source = LocalSource(engine, CHATML, drafting)
    similarities = [0.6] * len(asked.passages)
    stream = source.stream(asked, sampling, max_tokens=60, similarities=similarities, trace=trace)
    return [piece.token for piece in stream], trace


@pytest.mark.long
@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_text_is_that_of_no_drafting(engine: LlamaCppEngine, rows: int, temperature: float) -> None:
    asked = prompt(*TEXTS) if rows == 2 else prompt(*TEXTS).joined()
    sampling = SamplingSettings(temperature=temperature, seed=7)
    plain, _ = written(engine, Drafting(), asked, sampling)
    drafted, trace = written(engine, Drafting("auto", costs=CHEAP), asked, sampling)
    assert drafted == plain
    if rows == 1:
        assert trace.drafts.drafted > trace.drafts.accepted > 0
    else:  # a rejected draft would free cells that the other row fills
        assert trace.drafts.drafted == 0


def test_states_cut_after_a_drafted_answer_are_as_exact_as_those_after_a_plain_one(engine: LlamaCppEngine) -> None:
    asked, more = prompt(*TEXTS).joined(), engine.tokenize(" And when does the ferry leave?")
    behind = []
    for drafting in (Drafting(), Drafting("auto", costs=CHEAP)):
        written(engine, drafting, asked, SamplingSettings())
        half = engine.length(0) // 2
        kept = [engine.slice(0, 0, half), engine.slice(0, half, engine.length(0))]
        engine.clear(0)
        engine.join(0, kept)
        behind.append(engine.prefill(0, more))
    assert np.array_equal(behind[0], behind[1])


@pytest.mark.long
def test_the_measured_engine_is_exact_and_its_passes_cost_less_than_their_tokens(engine: LlamaCppEngine) -> None:
    costs = measured(engine, {})
    assert costs.is_exact
    assert costs.ratio(16) < 16
