"""Requantising model weights: the answers are like those of the original, and a failure leaves no files."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.quantize import requantise
from shared.errors import WeightsDamaged, WeightsError, WeightsMissing

TEXT = "The capital of France is Paris. The capital of Italy is Rome. The capital of Japan is"


@pytest.fixture(scope="module")
def q4_1(weights: Path) -> Path:
    return weights / "smollm2-135m-instruct.q4_1.gguf"


@pytest.mark.weights
def test_requantised_weights_say_the_same(q4_1: Path, tmp_path: Path) -> None:
    target = tmp_path / "new.q8_0.gguf"
    target.write_bytes(b"an older file")
    requantise(q4_1, target, threads=2)
    before, after = (LlamaCppEngine(LlamaModel(path), context=256, threads=1) for path in (q4_1, target))
    tokens = before.tokenize(TEXT)
    engine, other = before.prefill(0, tokens), after.prefill(0, tokens)
    assert before.vocabulary_hash() == after.vocabulary_hash()
    assert before.detokenize([int(np.argmax(engine))]) == after.detokenize([int(np.argmax(other))]) == b" Tokyo"
    assert np.corrcoef(engine, other)[0, 1] > 0.99
    before.close()
    after.close()
    assert [path.name for path in tmp_path.iterdir()] == ["new.q8_0.gguf"]


@pytest.mark.weights
@pytest.mark.parametrize("room", [1000, 3_000_000, 144_000_000])
def test_a_full_disk_is_an_error_that_leaves_nothing(q4_1: Path, tmp_path: Path, room: int) -> None:
    script = """
        import resource, signal, sys
        from pathlib import Path
        from models.quantize import requantise
        from shared.errors import WeightsError

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
        try:
            requantise(Path(sys.argv[1]), Path(sys.argv[2]), threads=2)
        except WeightsError as error:
            print(type(error).__name__, error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), str(q4_1), str(tmp_path / "new.gguf"), str(room)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("WeightsError ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.weights
def test_damaged_weights_are_refused_by_name(q4_1: Path, tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(q4_1.read_bytes()[:5_000_000])
    with pytest.raises(WeightsDamaged, match="cut"):
        requantise(tmp_path / "cut.gguf", tmp_path / "new.gguf")
    assert [path.name for path in tmp_path.iterdir()] == ["cut.gguf"]


def test_what_is_no_model_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not weights")
    with pytest.raises(WeightsDamaged, match="notes"):
        requantise(tmp_path / "notes.txt", tmp_path / "new.gguf")
    with pytest.raises(WeightsMissing, match="absent"):
        requantise(tmp_path / "absent.gguf", tmp_path / "new.gguf")


@pytest.mark.weights
def test_a_missing_folder_is_an_error(q4_1: Path, tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be written"):
        requantise(q4_1, tmp_path / "nowhere" / "new.gguf")
