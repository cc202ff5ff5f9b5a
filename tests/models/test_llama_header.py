"""Bindings made from the installed `llama.h`: what is read, cached and refused.

Changed copies of the header stand for other releases.
"""

import ctypes
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models import llama_header
from models.c_declarations import HeaderError
from models.c_header import Header
from models.llama_calls import CALLS, CONSTANTS, declarations
from models.llama_header import HEADERS, Installed, find, load, load_kernels
from scripts.layouts_compared import compiled, read
from shared.errors import EngineError

needs_compiler = pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")


@pytest.fixture(scope="module")
def installed() -> Installed:
    llama_cpp = find()
    assert llama_cpp, "llama-cpp-python installs llama.h"
    return llama_cpp


@pytest.fixture
def copied(installed: Installed, tmp_path: Path) -> Installed:
    """The installed library with a copy of its headers, which a test may change."""
    folder = tmp_path / "include"
    folder.mkdir()
    for header in installed.headers.glob("*.h"):
        shutil.copy(header, folder)
    return replace(installed, headers=folder)


def changed(copied: Installed, old: str, new: str, header: str = "llama.h") -> Header:
    """Replace what a regular expression matches in a copied header; return the bindings that are then made."""
    text, count = re.subn(old, new, (copied.headers / header).read_text("utf-8"), count=1)
    assert count == 1
    (copied.headers / header).write_text(text, "utf-8")
    return Header(*((copied.headers / name).read_text("utf-8") for name in HEADERS))


def test_the_wheels_header_and_library_are_found_by_its_record(installed: Installed) -> None:
    assert installed.library.name.startswith("libllama.")
    assert installed.library.parent.parent.name == "llama_cpp"
    assert (installed.headers / "ggml.h").is_file()


def test_a_library_of_the_persons_choice_is_left_to_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_CPP_LIB_PATH", "/somewhere")
    monkeypatch.delenv("PREFIX", raising=False)
    assert find() is None


def test_a_package_under_the_prefix_is_found_where_no_wheel_is(
    installed: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(llama_header, "find_spec", lambda name: None)
    monkeypatch.setenv("PREFIX", str(tmp_path))
    assert find() is None
    shutil.copytree(installed.library.parent, tmp_path / "lib", copy_function=os.symlink)
    assert find() is None
    shutil.copytree(installed.headers, tmp_path / "include")
    package = find()
    assert package and (package.library, package.headers) == (tmp_path / "lib" / "libllama.so", tmp_path / "include")
    assert "pkg upgrade" in package.remedy
    assert load(package).llama_context_default_params().n_batch == 2048


@needs_compiler
def test_layouts_of_the_installed_header_are_the_compilers(installed: Installed) -> None:
    layouts, _ = read(Header(*((installed.headers / name).read_text("utf-8") for name in HEADERS)))
    assert {"llama_batch", "llama_context_params", "llama_model_params", "llama_model_quantize_params"} <= set(layouts)
    assert layouts == compiled(layouts, [installed.headers])


ADDED = (r"(uint32_t n_batch;)", r"bool is_new; \1")
MOVED = (r"(uint32_t n_ctx;[^\n]*\n)(\s*uint32_t n_batch;[^\n]*\n)", r"\2\1")
OTHER_TYPE = (r"uint32_t n_ctx;", "uint64_t n_ctx;")
AT_THE_END = (r"(bool kv_unified;)", r"\1 int32_t more[LLAMA_STATE_SEQ_VERSION];")


@needs_compiler
def test_a_changed_header_is_understood_as_the_compiler_does(copied: Installed) -> None:
    for change in (MOVED, ADDED, OTHER_TYPE, AT_THE_END):
        header = changed(copied, *change)
        assert declarations(header).structs["llama_context_params"] == header.struct("llama_context_params")
    layouts, _ = read(header)
    assert layouts == compiled(layouts, [copied.headers])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (ADDED, "n_batch by default is 512, not 2048"),
        (MOVED, "n_ctx by default is 2048, not 512"),
        (OTHER_TYPE, r"n_ctx by default is \d+, not 512"),
        ((r"(void \* cb_eval_user_data;)", r"\1 float more, most;"), "type_k by default is 0, not 1"),
        ((r"(bool vocab_only;)", r"bool more; \1"), "use_extra_bufts by default is False, not True"),
        ((r"(bool allow_requantize;)", r"bool more; \1"), "allow_requantize by default is True, not False"),
        ((r"(struct llama_batch \{)", r"\1 int64_t more;"), "a batch of one token differs"),
    ],
)
def test_a_header_of_another_release_than_the_library_is_not_used(
    copied: Installed, change: tuple[str, str], reason: str
) -> None:
    changed(copied, *change)
    with pytest.raises(EngineError, match=rf"llama\.h does not describe this library: {reason}") as refused:
        load(copied)
    said = str(refused.value)
    assert str(copied.headers) in said and str(copied.library) in said and "pip install" in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((r"uint32_t n_ctx;", "uint32_t n_context;"), "declares no n_ctx in the struct llama_context_params"),
        (
            (r"uint32_t n_ctx;", "uint32_t * n_ctx;"),
            "declares n_ctx in the struct llama_context_params as uint32_t*, and",
        ),
        ((r"bool kv_unified;", "bool kv_unified : 1;"), "has 'bool kv_unified : 1' in the struct llama_context_params"),
        ((r"llama_vocab_bos\b", "llama_vocab_start"), "lacks llama_vocab_bos"),
        (
            (r"llama_n_ctx\s*\(const struct llama_context \*", "llama_n_ctx(int more, const struct llama_context *"),
            "declares llama_n_ctx as uint32_t (int, llama_context*), and Jackdaw calls it as uint32_t (llama_context*)",
        ),
        (
            (r"float \* llama_get_embeddings\(", "double * llama_get_embeddings("),
            "declares llama_get_embeddings as double* (llama_context*), and",
        ),
        ((r"#define LLAMA_STATE_SEQ_VERSION 3", ""), "does not define LLAMA_STATE_SEQ_VERSION as one number"),
    ],
)
def test_a_header_without_what_jackdaw_uses_is_refused_with_a_sentence(
    copied: Installed, change: tuple[str, str], reason: str
) -> None:
    header = changed(copied, *change)
    with pytest.raises(HeaderError) as refused:
        declarations(header)
    assert reason in str(refused.value)
    with pytest.raises(EngineError, match="is not used"):
        load(copied)


def test_a_library_without_a_function_is_refused(copied: Installed, tmp_path: Path) -> None:
    changed(copied, r"bool\s+llama_model_is_hybrid\s*\(", "bool llama_model_is_new(")
    new = CALLS.replace("llama_model_is_hybrid", "llama_model_is_new")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("models.llama_calls.CALLS", new)
        with pytest.raises(EngineError, match="declares llama_model_is_new, which the library lacks"):
            load(copied)


def test_missing_files_are_named(copied: Installed, tmp_path: Path) -> None:
    (copied.headers / "ggml.h").unlink()
    with pytest.raises(EngineError, match=r"ggml\.h"):
        load(copied)
    with pytest.raises(EngineError, match=r"nothing\.so"):
        load(replace(find() or copied, library=tmp_path / "nothing.so"))


def test_what_was_read_is_kept_for_the_owner_alone_and_used(
    copied: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(copied, tmp_path)
    kept = tmp_path / llama_header.FILE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    written = kept.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(llama_header, "declarations", lambda header: pytest.fail("read again"))
        again = load(copied, tmp_path)
    assert kept.read_bytes() == written
    for name in ("llama_context_params", "llama_model_params", "llama_batch"):
        layout, other = getattr(first, name), getattr(again, name)
        assert [field for field, _ in layout._fields_] == [field for field, _ in other._fields_]
        assert ctypes.sizeof(layout) == ctypes.sizeof(other)
    assert (again.GGML_TYPE_Q8_0, again.LLAMA_STATE_SEQ_VERSION) == (8, 3)


@pytest.mark.parametrize(
    "damage", ["cut", "emptied", "of another type", "a wrong layout", "half a character", "a byte"]
)
def test_a_damaged_kept_file_is_read_again(copied: Installed, tmp_path: Path, damage: str) -> None:
    load(copied, tmp_path)
    kept = tmp_path / llama_header.FILE
    written = kept.read_text("utf-8")
    damaged = {
        "cut": written[: len(written) // 2],
        "emptied": "",
        "of another type": json.dumps({"llama.h": {"a": 1}}),
        "a wrong layout": json.dumps({"llama.h": [json.loads(written)["llama.h"][0], "[]"]}),
        "half a character": json.dumps({"llama.h": ["", "\ud800"]}),
        "a byte": written.replace("n_batch", "n_botch", 1),
    }[damage]
    kept.write_text(damaged, "utf-8")
    assert load(copied, tmp_path).llama_context_default_params().n_batch == 2048
    assert kept.read_text("utf-8") == written


def test_a_changed_header_is_read_again(copied: Installed, tmp_path: Path) -> None:
    load(copied, tmp_path)
    changed(copied, *ADDED)
    with pytest.raises(EngineError, match="does not describe this library"):
        load(copied, tmp_path)


def test_a_folder_that_cannot_be_written_changes_nothing(copied: Installed, tmp_path: Path) -> None:
    assert load(copied, tmp_path / "missing").llama_context_default_params().n_ctx == 512


def test_kernels_are_loaded_only_where_llama_cpp_has_none_yet(copied: Installed) -> None:
    asked: list[bytes] = []

    def llama_cpp(registered: int, result: object) -> Any:
        def load_backend(path: bytes) -> object:
            asked.append(path)
            return result

        return SimpleNamespace(ggml_backend_reg_count=lambda: registered, ggml_backend_load=load_backend)

    kernels = copied.library.with_name("libggml-cpu.so")
    assert load_kernels(llama_cpp(1, None), copied) is None
    assert not asked
    assert load_kernels(llama_cpp(0, 1), copied) == kernels
    assert asked == [os.fsencode(kernels)]
    with pytest.raises(EngineError, match=r"cannot load its compute kernels, .*libggml-cpu\.so"):
        load_kernels(llama_cpp(0, None), copied)


def calls(folder: Path) -> Iterator[str]:
    """The names of llama.cpp that the code in a folder uses."""
    for path in folder.rglob("*.py"):
        if not path.name.startswith(("llama_calls", "test_")):
            yield from re.findall(r"\b(?:_?api|bindings\(\))\.(\w+)", path.read_text("utf-8"))


def test_jackdaw_uses_nothing_that_is_not_checked() -> None:
    root = Path(llama_header.__file__).parent.parent
    header = Header(CALLS)
    known = {*header.names("struct"), *header.names("function"), *CONSTANTS, "llama_log_callback", "_lib"}
    used = {name for folder in ("models", "device_app", "cloud_server", "scripts") for name in calls(root / folder)}
    assert {name for name in used if name.startswith(("llama_", "ggml_", "LLAMA_", "GGML_"))} <= known
