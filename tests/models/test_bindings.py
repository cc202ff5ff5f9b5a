"""The two Python bindings of llama.cpp, one made from `llama.h` and one from llama-cpp-python, compute the same values,
bit for bit.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models import llama_bindings
from models.llama_bindings import BINDINGS_VARIABLE, bindings
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from shared.errors import EngineError
from tests.adapter_file import ADAPTER, pairs, write
from tests.tiny_model import tiny_model, words

ROOT = Path(__file__).parent.parent.parent
KINDS = {"header": "SimpleNamespace", "package": "module"}

ENGINE_TESTS = (
    ("test_engines", "test_windows", "test_exactness", "test_quantize", "speculative/test_tree_decoding"),
    ("test_moved_slices", "test_shared_context", "test_adapted_engine", "test_decoder", "test_interruptible"),
    (
        *("test_llama_cpp", "test_llama_features", "test_exact_loading", "test_soundness"),
        *(f"speculative/test_{part}" for part in ("loading", "real_weights", "tree_passes")),
    ),
)
"""The test files of the engine, for three processes that take about as long as each other."""


def by_each(arguments: list[str]) -> set[str]:
    """Return the different outputs of `tests.bindings_digest` under both bindings, with the bindings' name removed: one
    if both agree.
    """
    printed = {}
    for kind, name in KINDS.items():
        done = subprocess.run(
            [sys.executable, "-m", "tests.bindings_digest", *arguments],
            cwd=ROOT,
            env=os.environ | {BINDINGS_VARIABLE: kind},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        used, printed[kind] = done.stdout.split()
        assert used == name
    return set(printed.values())


def test_without_a_choice_the_header_binds() -> None:
    if BINDINGS_VARIABLE not in os.environ:
        assert type(bindings()).__name__ == KINDS["header"]


@pytest.mark.parametrize("kv_type", ["q8_0", pytest.param("f16", marks=pytest.mark.long)])
def test_both_bindings_compute_the_same_to_the_bit(kv_type: str, tmp_path: Path) -> None:
    wide = {f"llama.attention.{part}_length": 64 for part in ("key", "value")}  # llama.cpp cannot move q8_0 of less
    model = tiny_model(tmp_path / "tiny.gguf", "llama", {**words(), **wide})
    assert len(by_each([kv_type, str(model)])) == 1


@pytest.mark.weights
@pytest.mark.long
@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
@pytest.mark.parametrize("name", ["q4_1", "q8_0"])
def test_both_bindings_compute_the_same_with_real_weights_and_an_adapter(
    weights: Path, tmp_path: Path, name: str, kv_type: str
) -> None:
    adapter = write(tmp_path / "adapter.gguf", ADAPTER, pairs(rank=16))
    file = weights / f"smollm2-135m-instruct.{name}.gguf"
    assert len(by_each([kv_type, str(file), str(adapter)])) == 1


@pytest.mark.weights
@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("names", ENGINE_TESTS, ids=lambda names: names[0])
def test_engine_tests_pass_on_the_packages_bindings(names: tuple[str, ...], weights: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "-m", "not (torch or long)"]
    done = subprocess.run(
        [*command, *(f"tests/models/{name}.py" for name in names)],
        cwd=ROOT,
        env=os.environ | {BINDINGS_VARIABLE: "package", "TEST_WEIGHTS": str(weights)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_an_unknown_choice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BINDINGS_VARIABLE, "shim")
    with pytest.raises(EngineError, match=f"{BINDINGS_VARIABLE} is 'shim'"):
        llama_bindings._loaded.__wrapped__()


def test_without_llama_cpp_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BINDINGS_VARIABLE, raising=False)
    monkeypatch.setattr(llama_bindings, "find", lambda: None)
    monkeypatch.setattr(llama_bindings, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"pip install llama-cpp-python \(on Termux: pkg install llama-cpp"):
        llama_bindings._loaded.__wrapped__()
    monkeypatch.setenv(BINDINGS_VARIABLE, "header")
    with pytest.raises(EngineError, match=r"llama\.h.*pip install"):
        llama_bindings._loaded.__wrapped__()


def test_the_build_names_the_library_and_the_kernels_that_are_installed_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Path(bindings()._lib._name).stat()
    assert llama_bindings.build() == f"{bindings().LLAMA_STATE_SEQ_VERSION} {library.st_size} {library.st_mtime_ns}"
    kernels = tmp_path / "libggml-cpu.so"
    kernels.write_bytes(b"kernels")
    monkeypatch.delenv(BINDINGS_VARIABLE, raising=False)
    monkeypatch.setattr(llama_bindings, "load_kernels", lambda api, installed: kernels)
    _, build = llama_bindings._loaded.__wrapped__()
    assert build == f"{llama_bindings.build()} 7 {kernels.stat().st_mtime_ns}"


UPDATED = """
import dataclasses, shutil, sys
from pathlib import Path
from models import llama_bindings
from models.llama_cpp import LlamaCppEngine
from models.llama_header import find
from models.llama_model import LlamaModel
folder, installed = Path(sys.argv[1]), find()
for file in installed.library.parent.iterdir():
    (folder / file.name).symlink_to(file)
library = folder / installed.library.name
library.unlink()
shutil.copy(installed.library, library)
llama_bindings.find = lambda: dataclasses.replace(installed, library=library)
build = llama_bindings.build()
(folder / "update").write_bytes(b"another release")
(folder / "update").replace(library)
engine = LlamaCppEngine(LlamaModel(Path(sys.argv[2])), context=128, threads=1)
engine.prefill(0, [1, 2, 3])
print(llama_bindings.build() == build, llama_bindings._loaded.__wrapped__()[1] == build)
"""


def test_a_library_that_is_updated_meanwhile_goes_on_and_is_another_build_to_the_next_program(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    model = tiny_model(tmp_path / "tiny.gguf", "llama")
    done = subprocess.run(
        [sys.executable, "-c", UPDATED, str(folder), str(model)],
        cwd=ROOT,
        env=os.environ | {BINDINGS_VARIABLE: "header", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "True False\n", done.stderr


def test_states_of_an_unknown_version_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_bindings, "STATE_VERSIONS", frozenset((4,)))
    engine = LlamaCppEngine(LlamaModel(tiny_model(tmp_path / "tiny.gguf", "llama")), context=128, threads=1)
    engine.prefill(0, [1, 2, 3])
    with pytest.raises(EngineError, match="cannot be kept"):
        engine.slice(0, 0, 2)
    assert not (engine.info.sliceable or engine.info.movable)
    engine.close()
