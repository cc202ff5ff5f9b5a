"""The llama.cpp engine with real weights: exactness in every setting, interrupts, damaged files, and no output on the
terminal.
"""

import dataclasses
import gc
import signal
import subprocess
import sys
import textwrap
import zlib
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.engine import KVSlice, KVType
from models.llama_context import BATCH
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import EngineError, SliceRejected, WeightsDamaged, WeightsError, WeightsMissing

pytestmark = pytest.mark.weights

TEXT = "The heron stood still by the cold river while the boats went home, and nobody called it. "


@pytest.fixture(scope="module")
def q4_1(weights: Path) -> Path:
    return weights / "smollm2-135m-instruct.q4_1.gguf"


@pytest.fixture(scope="module")
def loaded(q4_1: Path) -> Iterator[LlamaCppEngine]:
    with open_engine(q4_1) as engine:
        yield engine


@pytest.fixture
def engine(loaded: LlamaCppEngine) -> LlamaCppEngine:
    for sequence in range(loaded.info.sequences):
        loaded.clear(sequence)
    return loaded


@contextmanager
def open_engine(path: Path, **options: Any) -> Iterator[LlamaCppEngine]:
    engine = LlamaCppEngine(LlamaModel(path), **{"context": 1024, "sequences": 3, "threads": 1, **options})
    yield engine
    engine.close()


@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
@pytest.mark.parametrize("name", ["q4_1", "q8_0"])
def test_slices_of_a_prompt_equal_an_uncached_run_to_the_bit(weights: Path, name: str, kv_type: KVType) -> None:
    with open_engine(weights / f"smollm2-135m-instruct.{name}.gguf", kv_type=kv_type, threads=2) as engine:
        tokens = [token for part in ("System. ", TEXT * 4, TEXT * 3, "Who?") for token in engine.tokenize(part)]
        assert len(tokens) > BATCH
        uncached = engine.prefill(0, tokens)
        slices = [engine.slice(0, start, stop) for start, stop in pairwise([0, 3, 60, len(tokens) - 4])]
        following = engine.decode({0: 100})[0]
    with open_engine(weights / f"smollm2-135m-instruct.{name}.gguf", kv_type=kv_type, threads=1) as engine:
        engine.join(1, slices)
        assert np.array_equal(engine.prefill(1, tokens[-4:]), uncached)
        assert np.array_equal(engine.decode({1: 100})[1], following)


def test_with_q8_0_state_sequences_decoded_together_equal_each_alone_to_the_bit(q4_1: Path) -> None:
    with open_engine(q4_1, kv_type="q8_0") as engine:
        head = engine.tokenize("The capital of")
        rows = {0: " France is", 1: " Italy, as everybody knows, is", 2: " Peru is"}
        alone = {}
        for row, text in rows.items():
            engine.clear(0)
            engine.prefill(0, [*head, *engine.tokenize(text)])
            alone[row] = engine.decode({0: row + 50})[0]
        engine.clear(0)
        engine.prefill(0, head)
        engine.fork(0, 1)
        engine.fork(0, 2)
        for row, text in rows.items():
            engine.prefill(row, engine.tokenize(text))
        together = engine.decode({row: row + 50 for row in rows})
        assert all(np.array_equal(together[row], alone[row]) for row in rows)


def test_rows_computed_again_after_others_were_cleared_are_the_same_to_the_bit(engine: LlamaCppEngine) -> None:
    def rows() -> list[Any]:
        engine.prefill(0, engine.tokenize("The capital of"))
        engine.fork(0, 1)
        return [engine.prefill(row, engine.tokenize(text)) for row, text in enumerate([" France is", " Italy is"])]

    first = rows()
    engine.clear(1)
    engine.clear(0)
    assert all(np.array_equal(logits, again) for logits, again in zip(first, rows(), strict=True))


def test_state_with_a_hole_is_rejected_though_its_checksum_is_right(engine: LlamaCppEngine) -> None:
    engine.prefill(0, engine.tokenize(TEXT))
    kv_slice = engine.slice(0, 0, 8)
    data = bytearray(kv_slice.data)
    position_of_third = 16 + 12 * 2
    data[position_of_third : position_of_third + 4] = (9).to_bytes(4, "little")
    engine.clear(0)
    with pytest.raises(SliceRejected):
        engine.join(0, [resealed(kv_slice, bytes(data))])
    assert engine.length(0) == 0


def test_state_that_is_cut_short_is_rejected_though_its_checksum_is_right(engine: LlamaCppEngine) -> None:
    engine.prefill(0, engine.tokenize(TEXT))
    first, second = engine.slice(0, 0, 4), engine.slice(0, 4, 8)
    expected = engine.prefill(0, [5])
    for length in (0, 3, 15, 40, len(second.data) // 2, len(second.data) - 1):
        engine.clear(1)
        with pytest.raises(SliceRejected):
            engine.join(1, [first, resealed(second, bytes(second.data[:length]))])
        assert engine.length(1) == 0
    engine.clear(1)
    engine.clear(0)
    engine.prefill(0, engine.tokenize(TEXT))
    assert np.array_equal(engine.prefill(0, [5]), expected)


def resealed(kv_slice: KVSlice, data: bytes | memoryview) -> KVSlice:
    checksum = zlib.crc32(data, zlib.crc32(array("q", kv_slice.tokens).tobytes()))
    return dataclasses.replace(kv_slice, data=data, checksum=checksum)


def test_a_slice_of_other_weights_or_state_is_rejected(engine: LlamaCppEngine, weights: Path, q4_1: Path) -> None:
    engine.prefill(0, engine.tokenize(TEXT))
    kv_slice = engine.slice(0, 0, 8)
    others: list[tuple[Path, KVType]] = [(q4_1, "q8_0"), (weights / "smollm2-135m-instruct.q8_0.gguf", "f16")]
    for path, kv_type in others:
        with (
            open_engine(path, kv_type=kv_type) as other,
            pytest.raises(SliceRejected, match="another model or setting"),
        ):
            other.join(0, [kv_slice])


@pytest.mark.long
def test_ctrl_c_at_any_moment_leaves_the_sequence_as_before(engine: LlamaCppEngine) -> None:
    tokens = engine.tokenize(TEXT * 8)
    head, rest = tokens[:20], tokens[20:]
    uncached = engine.prefill(0, tokens)
    slices = [engine.slice(0, start, stop) for start, stop in pairwise(range(20, len(tokens) + 1, 20))]
    calls: list[Callable[[], object]] = [
        lambda: engine.prefill(0, rest),
        lambda: engine.prefill(0, rest[:1]),
        lambda: engine.decode({0: rest[0], 1: rest[0]}),
        lambda: engine.join(0, slices),
        lambda: engine.slice(0, 3, 19),
        lambda: engine.join_moved(0, slices[3], 2),
    ]
    engine.clear(0)
    engine.prefill(0, head)
    before_or_after = {20, 21, 20 + len(slices[3].tokens) - 2, slices[-1].stop, len(tokens)}
    for number, call in enumerate(calls * 6, start=1):
        with interrupt(0.0005 * number) as fired:
            while not fired:
                call()
                engine.rollback(0, engine.length(0) - 20)
                engine.clear(1)
        assert engine.length(0) in before_or_after
        expected = tokens[: engine.length(0)] if engine.exact(0) > 20 else [*head, *slices[3].tokens[2:]]
        assert engine.tokens(0) == tuple(expected[: engine.length(0)])
        engine.rollback(0, engine.length(0) - 20)
        engine.clear(1)
    assert engine.tokens(0) == tuple(head)
    assert np.array_equal(engine.prefill(0, rest), uncached)


@contextmanager
def interrupt(seconds: float) -> Iterator[list[bool]]:
    """Press Ctrl-C within the block, after `seconds`.

    Garbage collection is off meanwhile, as callbacks of other libraries would swallow the interrupt.
    """
    fired: list[bool] = []

    def press(*_: object) -> None:
        fired.append(True)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield fired
    except KeyboardInterrupt:
        assert fired
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


def test_an_engine_says_what_it_is(engine: LlamaCppEngine) -> None:
    info = engine.info
    assert (info.model, info.vocabulary, info.context, info.sequences) == (
        "smollm2-135m-instruct.q4_1",
        49_152,
        1024,
        3,
    )
    assert (info.kv_bytes_per_token, info.parameters) == (23_040, 134_515_008)
    assert info.chat_template is not None
    assert "<|im_start|>" in info.chat_template
    assert info.bos == "<|im_start|>"


def test_two_quantisations_share_a_vocabulary_and_no_hash(engine: LlamaCppEngine, weights: Path) -> None:
    with open_engine(weights / "smollm2-135m-instruct.q8_0.gguf", kv_type="q8_0") as other:
        assert other.vocabulary_hash() == engine.vocabulary_hash()
        assert other.info.model_hash != engine.info.model_hash
        assert other.info.kv_bytes_per_token == 12_240


def test_the_same_weights_have_the_same_hash_each_time(engine: LlamaCppEngine, q4_1: Path) -> None:
    with open_engine(q4_1) as again:
        assert again.info == engine.info


def test_no_more_context_is_taken_than_the_model_was_trained_for(q4_1: Path) -> None:
    with open_engine(q4_1, context=1_000_000, kv_type="q8_0") as engine:
        assert engine.info.context == 8192


@pytest.mark.parametrize(
    "wrong", [{"context": 0}, {"sequences": 0}, {"sequences": 999}, {"threads": 0}, {"kv_type": "f64"}], ids=str
)
def test_an_impossible_engine_is_refused(q4_1: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(EngineError):
        LlamaCppEngine(LlamaModel(q4_1), **wrong)


def test_after_close_every_call_raises(q4_1: Path) -> None:
    with open_engine(q4_1) as engine:
        engine.prefill(0, [1, 2])
        kv_slice = engine.slice(0, 0, 2)
    engine.close()
    calls = [
        lambda: engine.tokenize("a"),
        lambda: engine.detokenize([1]),
        lambda: engine.is_end(1),
        lambda: engine.length(0),
        lambda: engine.tokens(0),
        lambda: engine.prefill(0, [1]),
        lambda: engine.decode({0: 1}),
        lambda: engine.rollback(0, 0),
        lambda: engine.fork(0, 1),
        lambda: engine.clear(0),
        lambda: engine.slice(0, 0, 1),
        lambda: engine.join(0, [kv_slice]),
        lambda: engine.join_moved(0, kv_slice),
        lambda: engine.exact(0),
        engine.vocabulary_hash,
    ]
    for call in calls:
        with pytest.raises(EngineError, match="closed"):
            call()


def test_damaged_weights_are_refused_by_name_and_llama_cpp_keeps_silent(
    q4_1: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    head = q4_1.read_bytes()[:4_000_000]
    cases = {
        "empty.gguf": (b"", WeightsDamaged),
        "text.gguf": (b"not a model", WeightsDamaged),
        "header.gguf": (b"GGUF", WeightsDamaged),
        "junk.gguf": (b"GGUF" + bytes(range(256)) * 100, WeightsDamaged),
        "truncated.gguf": (head, WeightsDamaged),
        "altered.gguf": (head[:200] + b"\xff" * 64 + head[264:], WeightsDamaged),
    }
    for name, (content, error) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(error, match=name):
            LlamaModel(tmp_path / name)
    with pytest.raises(WeightsMissing, match="absent"):
        LlamaModel(tmp_path / "absent.gguf")
    with pytest.raises(WeightsError):
        LlamaModel(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_an_over_long_text_is_refused(engine: LlamaCppEngine) -> None:
    with pytest.raises(EngineError, match="too long"):
        engine.tokenize("a" * 1_000_000)


@pytest.mark.parametrize("character", ["a", " ", "\n", "7", "\0", "漢", "\ud800", "<|im_end|>"], ids=repr)
def test_long_runs_are_tokenised(engine: LlamaCppEngine, character: str) -> None:
    text = character * (100_000 // len(character))
    assert engine.detokenize(engine.tokenize(text)) == text.encode("utf-8", "replace")


def test_only_the_c_functions_are_loaded_and_the_package_stays_usable(q4_1: Path) -> None:
    script = """
        import sys
        from pathlib import Path
        from models.llama_model import LlamaModel
        model = LlamaModel(Path(sys.argv[1]))
        assert "numpy" not in sys.modules
        from models.llama_cpp import LlamaCppEngine
        LlamaCppEngine(model, context=256).close()
        assert "llama_cpp.llama" not in sys.modules and "jinja2" not in sys.modules and "torch" not in sys.modules
        import llama_cpp
        assert llama_cpp.Llama
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(q4_1)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
@pytest.mark.parametrize("behind", [0, 1, 2])
def test_a_prompt_that_ends_just_behind_a_batch_rounds_as_any_other(engine: LlamaCppEngine, behind: int) -> None:
    tokens = (engine.tokenize(TEXT) * 50)[: 2 * BATCH + behind]
    engine.clear(0)
    whole = engine.prefill(0, tokens)
    engine.clear(0)
    engine.prefill(0, tokens[:100])
    assert np.array_equal(engine.prefill(0, tokens[100:]), whole)
    engine.clear(0)
