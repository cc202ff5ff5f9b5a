"""The llama.cpp engine with a LoRA adapter and real weights: exactness, keys of states, and adapters that do
not fit.
"""

import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from models.adapter import ASKS, Adapter
from models.engine import KVType
from models.llama_context import BATCH
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import SliceRejected
from tests.adapter_file import ADAPTER, pairs, write

pytestmark = pytest.mark.weights

TEXT = "The heron stood still by the cold river while the boats went home, and nobody called it. "


@pytest.fixture(scope="module")
def adapter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("adapter") / "answerer.gguf", ADAPTER, pairs(rank=16))


@pytest.fixture(scope="module")
def q8_0(weights: Path) -> Path:
    return weights / "smollm2-135m-instruct.q8_0.gguf"


@contextmanager
def open_engine(path: Path, adapter: Path | None = None, **options: Any) -> Iterator[LlamaCppEngine]:
    asked = {"context": 1024, "sequences": 3, "threads": 1, **options}
    engine = LlamaCppEngine(LlamaModel(path), adapter=adapter, **asked)
    yield engine
    engine.close()


@pytest.mark.long
@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
@pytest.mark.parametrize("name", ["q4_1", "q8_0"])
def test_slices_of_an_adapted_model_equal_an_uncached_run_to_the_bit(
    weights: Path, adapter: Path, name: str, kv_type: KVType
) -> None:
    path = weights / f"smollm2-135m-instruct.{name}.gguf"
    with open_engine(path, adapter, kv_type=kv_type, threads=2) as engine:
        tokens = [token for part in ("System. ", TEXT * 4, TEXT * 3, "Who?") for token in engine.tokenize(part)]
        assert len(tokens) > BATCH
        uncached = engine.prefill(0, tokens)
        slices = [engine.slice(0, start, stop) for start, stop in pairwise([0, 3, 60, len(tokens) - 4])]
        following = engine.decode({0: 100})[0]
    with open_engine(path, adapter, kv_type=kv_type) as engine:
        engine.join(1, slices)
        assert np.array_equal(engine.prefill(1, tokens[-4:]), uncached)
        assert np.array_equal(engine.decode({1: 100})[1], following)


def test_what_is_read_piece_by_piece_equals_what_is_read_at_once_to_the_bit(q8_0: Path, adapter: Path) -> None:
    with open_engine(q8_0, adapter) as engine:
        tokens = engine.tokenize(TEXT * 3)
        at_once = engine.prefill(0, tokens)
        for stops in ([2, 7, 40], [30, 33], [len(tokens) - 2]):
            engine.clear(0)
            for start, stop in pairwise([0, *stops, len(tokens)]):
                logits = engine.prefill(0, tokens[start:stop])
            assert np.array_equal(logits, at_once)


def test_an_adapter_changes_what_is_computed_and_its_key_and_leaves_the_vocabulary(q8_0: Path, adapter: Path) -> None:
    with open_engine(q8_0) as bare, open_engine(q8_0, adapter) as adapted:
        tokens = bare.tokenize(TEXT)
        assert (bare.info.adapter, bare.info.refused, adapted.info.refused) == ("", "", "")
        assert len(adapted.info.adapter) == 32
        assert adapted.info.adapter in adapted.info.kv_key
        assert adapted.info.model_hash == bare.info.model_hash
        assert adapted.vocabulary_hash() == bare.vocabulary_hash()
        assert np.abs(adapted.prefill(0, tokens) - bare.prefill(0, tokens)).max() > 0.1
        for engine, other in ((bare, adapted), (adapted, bare)):
            with pytest.raises(SliceRejected, match="another model or setting"):
                other.join(1, [engine.slice(0, 0, 8)])


def test_an_engine_says_whether_its_adapter_taught_it_to_ask(q8_0: Path, tmp_path: Path, adapter: Path) -> None:
    asking = write(tmp_path / "asking.gguf", {**ADAPTER, ASKS: "true"}, pairs(rank=4))
    with open_engine(q8_0, asking) as engine, open_engine(q8_0, adapter) as other, open_engine(q8_0) as bare:
        assert [loaded.info.asks for loaded in (engine, other, bare)] == [True, False, False]


def missing(path: Path) -> Path:
    return path.with_name("missing.gguf")


def of_another_model(path: Path) -> Path:
    tensors = {"blk.0.attn_q.weight.lora_a": np.zeros((4, 960), np.float16)}
    return write(path, ADAPTER, {**pairs(1), **tensors})


def cut_short(path: Path) -> Path:
    path.write_bytes(write(path).read_bytes()[:-100])
    return path


UNFIT: dict[str, tuple[Callable[[Path], Path], str]] = {
    "missing": (missing, "there is no such file"),
    "of another model": (of_another_model, "the adapter is made for another model"),
    "cut short": (cut_short, "the file is cut short"),
}


@pytest.mark.parametrize(("make", "reason"), UNFIT.values(), ids=UNFIT)
def test_without_an_adapter_that_fits_the_bare_model_goes_on_and_says_why(
    q8_0: Path, tmp_path: Path, make: Callable[[Path], Path], reason: str
) -> None:
    with open_engine(q8_0, make(tmp_path / "a.gguf")) as engine, open_engine(q8_0) as bare:
        assert reason in engine.info.refused
        assert (engine.info.adapter, engine.info.kv_key) == ("", bare.info.kv_key)
        tokens = bare.tokenize(TEXT)
        assert np.array_equal(engine.prefill(0, tokens), bare.prefill(0, tokens))


def test_a_model_is_no_adapter_of_itself(q8_0: Path, weights: Path) -> None:
    with open_engine(q8_0, weights / "smollm2-135m-instruct.q4_1.gguf") as engine:
        assert "it is a model, not an adapter" in engine.info.refused


def test_what_llama_cpp_alone_refuses_leaves_the_bare_model_too(
    q8_0: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = of_another_model(tmp_path / "a.gguf")
    taken = Adapter(path, "hash", "a", 1, 4, 16.0, "", "")
    monkeypatch.setattr("models.adapter.fitting", lambda *_: taken)
    with open_engine(q8_0, path) as engine:
        assert engine.info.adapter == ""
        assert "incorrect shape" in engine.info.refused
        engine.prefill(0, engine.tokenize(TEXT))


def test_no_damaged_head_ends_the_process(q8_0: Path, tmp_path: Path) -> None:
    """The test runs in a process of its own, since llama.cpp would end the process for a damaged header that passes the
    check.
    """
    whole = write(tmp_path / "whole.gguf").read_bytes()
    code = """
        import random, sys
        from pathlib import Path
        from models.llama_model import LlamaModel
        from shared.errors import AdapterRejected

        model, whole, broken = LlamaModel(Path(sys.argv[1])), Path(sys.argv[2]).read_bytes(), Path(sys.argv[3])
        chance, taken, rejected = random.Random(int(sys.argv[4])), 0, 0
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(chance.randrange(4)):
                data[chance.randrange(1500)] = chance.choice((0, 1, 4, 8, 9, 255, chance.randrange(256)))
            broken.write_bytes(data[: chance.choice((len(data), len(data), chance.randrange(len(data))))])
            try:
                model.load_adapter(broken)
                taken += 1
            except AdapterRejected:
                rejected += 1
        model.close()
        print(taken, rejected)
    """
    named = (str(q8_0), str(tmp_path / "whole.gguf"), str(tmp_path / "broken.gguf"), str(random.randrange(1000)))
    assert len(whole) > 1500
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *named], check=False, capture_output=True, text=True
    )
    assert ran.returncode == 0, (named, ran.stderr)
    taken, rejected = map(int, ran.stdout.split())
    assert taken > 10
    assert rejected > 100


def test_a_closed_engine_gives_the_adapters_memory_back(q8_0: Path, adapter: Path) -> None:
    def used() -> int:
        with open_engine(q8_0, adapter):
            pass
        return int(psutil.Process().memory_info().rss)

    first = [used() for _ in range(3)][-1]
    assert [used() for _ in range(8)][-1] - first < 4 * adapter.stat().st_size
