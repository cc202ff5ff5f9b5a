"""`jackdaw ask` on a simulated phone that has llama.cpp from Termux's package and no llama-cpp-python: it uses the
system's library.
"""

import importlib.metadata
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
from contextlib import closing
from pathlib import Path

import pytest

from models.llama_bindings import BINDINGS_VARIABLE
from tests.termux import Phone

QUESTION = "Who has the blue drill?"
LAYOUT = {"lib": ("libllama.so*", "libggml*.so*"), "include": ("llama.h", "ggml*.h")}
"""What the package installs under PREFIX, by folder."""

BY_HEADER = {BINDINGS_VARIABLE: "header"}
pytestmark = [pytest.mark.long, pytest.mark.weights]


@pytest.fixture
def bare(phone: Phone, tmp_path: Path, weights: Path) -> Phone:
    """A phone with the weights that has read a note; its Python has the tests' packages, but not llama-cpp-python."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        for path in Path(folder).iterdir():
            if not path.name.startswith("llama_cpp") and path.suffix != ".pth":
                (site / path.name).symlink_to(path)
    phone.python = str(environment / "bin" / "python")
    data = phone.home / ".local" / "share" / "jackdaw"
    data.mkdir(parents=True)
    (data / "weights").symlink_to(weights)
    note = phone.home / "drill.md"
    note.write_text("# Lent\n\nPetra has borrowed the blue drill.\n")
    assert phone.json("add", str(note), fakes=False)["documents"] == 1
    return phone


def install(phone: Phone) -> Path:
    """Copy llama-cpp-python's library and headers to where Termux's package puts them; return the library's path."""
    files = importlib.metadata.distribution("llama-cpp-python").files
    assert files
    for folder, patterns in LAYOUT.items():
        (phone.prefix / folder).mkdir()
        for file in files:
            if file.parent.name == folder and any(map(file.match, patterns)):
                shutil.copy(Path(str(file.locate())), phone.prefix / folder)
    return phone.prefix / "lib" / "libllama.so"


def said_of_llama_cpp(phone: Phone) -> list[tuple[str, str]]:
    """Return the levels and texts, with remedies, of what `jackdaw doctor` reports about llama.cpp."""
    findings = phone.json("doctor", fakes=False, code=None, own=BY_HEADER)["findings"]
    own = [finding for finding in findings if finding["check"] == "llama.cpp"]
    return [(finding["level"], f"{finding['said']} {finding['mend']}".strip()) for finding in own]


def test_an_answer_is_written_with_the_systems_library(bare: Phone) -> None:
    ((level, said),) = said_of_llama_cpp(bare)
    assert (level, "pkg install llama-cpp" in said) == ("fail", True)
    refused = bare.json("ask", QUESTION, "--fresh", fakes=False, code=1, own=BY_HEADER)
    assert "pkg install llama-cpp" in refused["error"]["message"]

    library = install(bare)
    header = bare.prefix / "include" / "llama.h"
    assert said_of_llama_cpp(bare) == [("ok", f"{library}, bound by {header}")]
    answer = bare.json("ask", QUESTION, "--fresh", fakes=False, own=BY_HEADER)
    assert (answer["origin"], "Petra" in answer["answer"]) == ("device", True)
    assert answer["trace"]["tokens"] > 0
    file = library.stat()
    assert engines(bare) == {f"{file.st_size} {file.st_mtime_ns}"}

    os.utime(library, ns=(file.st_atime_ns, file.st_mtime_ns + 10**9))  # `pkg upgrade`
    assert bare.json("ask", QUESTION, "--fresh", fakes=False, own=BY_HEADER)["cache"]["kv"]["tokens_cached"] == 0
    assert engines(bare) == {f"{file.st_size} {file.st_mtime_ns + shift}" for shift in (0, 10**9)}


def engines(phone: Phone) -> set[str]:
    """Return the libraries that computed the cached KV states: size in bytes and modification time in ns of each."""
    database = phone.home / ".local" / "share" / "jackdaw" / "jackdaw.db"
    with closing(sqlite3.connect(database)) as opened:
        keys = [key for (key,) in opened.execute("SELECT kv_key FROM kv_slices")]
    return {" ".join(key.split()[3:5]) for key in keys}
