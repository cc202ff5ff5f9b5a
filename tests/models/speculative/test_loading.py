"""Loading the draft model: if it cannot draft, the reason is reported, and the main model answers without it."""

import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from device_app.inference import loading
from device_app.inference.local import LocalSource
from device_app.settings.schema import Model
from models import catalog
from models.catalog import Weights
from models.exactness import Verdicts
from models.llama_cpp import LlamaCppEngine
from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel
from models.sampling import SamplingSettings
from models.speculative.costs import DraftCosts, PassCosts
from models.speculative.draft_setting import described, drafter_entry, engine_type, free_memory, stored
from models.speculative.drafting import Drafting
from models.speculative.loading import drafting
from models.speculative.network_file import About, said, target_of
from models.verdict import EXACT
from shared.errors import UsageError
from shared.prompt import CHATML, build
from shared.trace import Trace
from tests.adapter_file import Array, write
from tests.models.speculative.networks import small_shape
from tests.models.speculative.networks import tensors as tensors_of
from tests.models.speculative.networks import write as write_network
from tests.tiny_model import VOCABULARY, metadata, tensors, tiny_model, words

CHEAP = PassCosts(((1, 1.0), (4, 1.2), (16, 2.0)), is_exact=True)
PLENTY = 1 << 40


def written(path: Path, changes: Mapping[str, object], change: Callable[[dict[str, Array]], None]) -> Path:
    """Write a tiny model with the given changes of its metadata and its weights."""
    values = {**metadata("llama"), **words(), **changes}
    arrays = tensors(write(path.with_suffix(".metadata"), values, {}))
    change(arrays)
    return write(path, values, arrays)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def small(folder: Path) -> Path:
    return tiny_model(folder / "small.gguf", "llama", words())


@pytest.fixture(scope="module")
def large(folder: Path, small: Path) -> Path:
    """Write a model that generates the small model's text at the cost of two further layers, whose output is zero."""
    own = tensors(small.with_suffix(".metadata"))

    def deeper(arrays: dict[str, Array]) -> None:
        for name, array in arrays.items():
            is_further = name.startswith(("blk.6.", "blk.7."))
            array[...] = (0 if "attn_output" in name or "ffn_down" in name else array) if is_further else own[name]

    return written(folder / "large.gguf", {"llama.block_count": 8}, deeper)


@pytest.fixture(scope="module")
def engine(large: Path) -> Iterator[LlamaCppEngine]:
    engine = LlamaCppEngine(LlamaModel(large), context=256, threads=1)
    yield engine
    engine.close()


def chosen(engine: LlamaCppEngine, large: Path, name: str, free: int = PLENTY) -> Drafting:
    return drafting(Weights(large.parent), name, engine, large, 1, free)


def nothing(_: dict[str, Array]) -> None:
    pass


def no_numbers(arrays: dict[str, Array]) -> None:
    arrays["output_norm.weight"][...] = np.nan


def renamed(first: int, last: int) -> dict[str, object]:
    values = words()
    texts = values["tokenizer.ggml.tokens"]
    assert isinstance(texts, list)
    return {
        **values,
        "tokenizer.ggml.tokens": [*texts[:first], *(f"q{place}" for place in range(first, last)), *texts[last:]],
    }


def fewer(count: int) -> dict[str, object]:
    values = words()
    texts = values["tokenizer.ggml.tokens"]
    assert isinstance(texts, list)
    return {
        "tokenizer.ggml.tokens": texts[:count],
        "tokenizer.ggml.token_type": (9, struct.pack(f"<IQ{count}i", 5, count, 3, 3, 3, *[1] * (count - 3))),
        "llama.vocab_size": count,
    }


BAD: Mapping[str, tuple[Mapping[str, object], Callable[[dict[str, Array]], None], str]] = {
    "another vocabulary": (
        renamed(100, VOCABULARY),
        nothing,
        "it has another vocabulary: token 100 is “q100” and not “",
    ),
    "other last ids": (renamed(VOCABULARY - 1, VOCABULARY), nothing, "token 255 is “q255” and not “"),
    "fewer ids": (fewer(VOCABULARY - 6), nothing, "250 tokens and not 256"),
    "no numbers": ({}, no_numbers, "no usable logits"),
}


@pytest.mark.parametrize(("changes", "change", "said"), BAD.values(), ids=BAD)
def test_a_model_that_cannot_draft_is_named_and_the_other_answers_alone(
    changes: Mapping[str, object],
    change: Callable[[dict[str, Array]], None],
    said: str,
    tmp_path: Path,
    engine: LlamaCppEngine,
    large: Path,
) -> None:
    bad = written(tmp_path / "bad.gguf", changes, change)
    drafts = chosen(engine, large, f"file:{bad}")
    assert (drafts.model, drafts.mode) == (None, "auto")
    assert drafts.refused.startswith("bad cannot draft tokens, so answers are written without it: ")
    assert said in drafts.refused


def test_a_file_that_is_cut_missing_or_no_model_is_named(
    tmp_path: Path, engine: LlamaCppEngine, large: Path, small: Path
) -> None:
    cut = tmp_path / "cut.gguf"
    for kept in (10, 3000, small.stat().st_size - 5000):
        cut.write_bytes(small.read_bytes()[:kept])
        assert "cut.gguf" in chosen(engine, large, str(cut)).refused
    assert "is not on this machine" in chosen(engine, large, str(tmp_path / "none.gguf")).refused
    assert "There is no model small-talk" in chosen(engine, large, "small-talk").refused
    assert "models pull smollm2-360m" in chosen(engine, large, "smollm2-360m").refused
    assert "There is no model all-minilm-l6-v2" in chosen(engine, large, "all-minilm-l6-v2").refused


def test_a_model_without_room_beside_the_other_is_declined_with_the_figures(
    engine: LlamaCppEngine, large: Path, small: Path
) -> None:
    refused = chosen(engine, large, str(small), large.stat().st_size).refused
    assert "it needs about" in refused
    assert "0 MB are free beside the model that answers" in refused


def test_the_model_that_answers_does_not_draft_for_itself(engine: LlamaCppEngine, large: Path) -> None:
    assert "it is the model that answers" in chosen(engine, large, str(large)).refused


@pytest.mark.parametrize("mode", ["auto", "lookup", "off"])
def test_without_a_name_no_model_is_loaded(mode: str, engine: LlamaCppEngine, large: Path) -> None:
    drafts = chosen(engine, large, mode, 0)
    assert (drafts.mode, drafts.model, drafts.refused) == (mode, None, "")
    assert free_memory(mode) == 0


def test_where_passes_are_known_to_be_inexact_no_memory_is_taken(
    engine: LlamaCppEngine, large: Path, small: Path
) -> None:
    known = chosen(engine, large, "auto").known
    assert known
    known.keep(PassCosts(CHEAP.ratios, is_exact=False))
    drafts = chosen(engine, large, str(small))
    known.file.keep(known.key, None)
    assert (drafts.model, drafts.refused) == (None, "")


def test_names_and_paths_mean_models(tmp_path: Path) -> None:
    path = tmp_path / "small.gguf"
    assert [drafter_entry(mode) for mode in ("auto", "off", "lookup")] == [None] * 3
    assert drafter_entry("smollm2-135m") == catalog.find("smollm2-135m")
    assert drafter_entry(str(path)) == drafter_entry(f"file:{path}") == catalog.find(f"file:{path}")
    with pytest.raises(UsageError, match="There is no model small"):
        drafter_entry("small")


def test_models_info_says_what_drafts(tmp_path: Path, small: Path, large: Path) -> None:
    weights, answers = Weights(small.parent), catalog.find(f"file:{large}")
    other = tiny_model(tmp_path / "other.gguf", "llama", words(first=1))
    assert described(weights, "auto", answers) == {"setting": "auto", "model": None, "why_not": ""}
    assert described(weights, str(small), answers) == {"setting": str(small), "model": "small", "why_not": ""}
    assert described(weights, str(other), answers)["why_not"] == "it has another vocabulary"
    assert described(weights, str(large), answers)["why_not"] == "it is the model that answers"
    assert "no model typo" in str(described(weights, "typo", answers)["why_not"])


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_the_small_model_drafts_the_text_of_the_large_one(
    monkeypatch: pytest.MonkeyPatch, large: Path, small: Path, temperature: float
) -> None:
    monkeypatch.setattr(Verdicts, "tested", lambda *_: EXACT)
    texts, traces = [], []
    for draft in ("off", str(small)):
        settings = Model(name=f"file:{large}", context=512, threads=1, draft=draft)
        source = loading.configured(Weights(large.parent), settings)
        assert not source.drafting.refused
        source.drafting.costs = CHEAP
        if source.drafting.model:
            source.drafting.model.costs = DraftCosts(0.05, 0.0001)
        traces.append(Trace())
        prompt = build("Which?", [], CHATML)
        stream = LocalSource(source.engine, CHATML, source.drafting).stream(
            prompt, SamplingSettings(temperature=temperature, seed=3), max_tokens=60, trace=traces[-1]
        )
        texts.append([piece.token for piece in stream])
        source.close()
    assert texts[0] == texts[1]
    assert traces[1].drafts.model == "small"
    assert traces[1].drafts.passes < len(texts[0])
    assert traces[1].drafts.model_accepted > 0


@pytest.fixture(scope="module")
def featured(large: Path) -> Iterator[LlamaFeatureEngine]:
    engine = LlamaFeatureEngine(LlamaModel(large), context=256, threads=1)
    yield engine
    engine.close()


def network(path: Path, engine: LlamaFeatureEngine, target: str = "") -> Path:
    shape = small_shape(width=engine.width, tokens=VOCABULARY, drafted=100)
    return write_network(path, tensors_of(shape), said(About(target or target_of(engine.info), shape)))


def test_a_network_drafts_and_the_text_stays_the_same(
    tmp_path: Path, featured: LlamaFeatureEngine, large: Path
) -> None:
    path = network(tmp_path / "draft.safetensors", featured)
    drafts = chosen(featured, large, str(path))
    assert drafts.refused == ""
    assert drafts.model
    drafts.costs, drafts.model.costs = CHEAP, DraftCosts(0.01, 1e-6)
    texts, traces = [], []
    for own in (Drafting(), drafts):
        traces.append(Trace())
        stream = LocalSource(featured, CHATML, own).stream(
            build("Who?", [], CHATML), SamplingSettings(), max_tokens=40, trace=traces[-1]
        )
        texts.append([piece.token for piece in stream])
    assert texts[0] == texts[1]
    assert traces[1].drafts.model == "draft.safetensors"


def test_a_network_that_cannot_draft_is_named(tmp_path: Path, featured: LlamaFeatureEngine, large: Path) -> None:
    begins = "draft.safetensors cannot draft tokens, so answers are written without it: "
    path = tmp_path / "draft.safetensors"
    assert begins + "There is no draft network" in chosen(featured, large, str(path)).refused
    network(path, featured, "another model")
    assert "was made for a model other than" in chosen(featured, large, str(path)).refused
    path.write_bytes(path.read_bytes()[:-9])
    refused = chosen(featured, large, str(path)).refused
    assert refused.startswith(begins)
    assert "bytes were written" in refused


def test_a_network_needs_an_engine_with_features_and_settings_keep_its_whole_path(
    tmp_path: Path, featured: LlamaFeatureEngine, large: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine_type("draft.safetensors") is LlamaFeatureEngine
    assert engine_type("auto") is LlamaCppEngine
    monkeypatch.chdir(tmp_path)
    assert stored("draft.safetensors") == str(tmp_path / "draft.safetensors")
    path = network(tmp_path / "draft.safetensors", featured)
    weights, answers = Weights(large.parent), catalog.find(f"file:{large}")
    assert described(weights, str(path), answers) == {"setting": str(path), "model": "draft.safetensors", "why_not": ""}
    assert "Set model.adapter to off" in str(described(weights, str(path), answers, "adapter")["why_not"])
