"""The context that several sequences share may be larger than the model's trained context; a single sequence may not
be.
"""

from pathlib import Path

import numpy as np
import pytest

from cloud_server.engine.batch import Batch
from cloud_server.engine.jobs import Job
from cloud_server.engine.prefix_cache import PrefixCache
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from shared.errors import ContextFull
from tests.tiny_model import tiny_model

TRAINED = 512


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(tmp_path_factory.mktemp("model") / "tiny.gguf", "llama")


def test_its_room_is_what_was_asked_for_and_each_sequence_is_held_to_the_training(model: Path) -> None:
    alone = LlamaCppEngine(LlamaModel(model), context=2048, sequences=1, threads=1)
    assert (alone.info.context, alone.info.prompt_room) == (TRAINED, TRAINED)
    shared = LlamaCppEngine(LlamaModel(model), context=2048, sequences=3, threads=1, shared=True)
    assert (shared.info.context, shared.info.prompt_room) == (2048, TRAINED)
    tokens = [5 + place % 200 for place in range(TRAINED)]
    expected = alone.prefill(0, tokens)
    for sequence in range(3):  # three times what the model was trained for
        assert np.allclose(shared.prefill(sequence, tokens), expected, atol=1e-3)
    for more in (lambda: shared.prefill(0, [5]), lambda: shared.decode({1: 5, 2: 5})):
        with pytest.raises(ContextFull, match="trained for 512"):
            more()
    alone.close()
    shared.close()


def test_as_many_answers_are_written_at_once_as_the_setting_has_room_for(model: Path) -> None:
    engine = LlamaCppEngine(LlamaModel(model), context=2048, sequences=8, threads=1, shared=True)
    batch = Batch(engine, PrefixCache(0))

    def job(prompt: int, answer: int) -> Job:
        return Job(((tuple(range(5, 5 + prompt)),),), (0.0,), SamplingSettings(), answer)

    assert batch.possible(job(112, 400))
    assert not batch.possible(job(113, 400))
    for key in range(7):  # 7 of 280 tokens: where the context was cut to 512, one
        assert batch.room().takes(job(80, 200))
        batch.join(key, job(80, 200), 200)
    assert not batch.room().takes(job(80, 200))
    engine.close()
