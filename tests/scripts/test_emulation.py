"""The benchmark on an emulated aarch64 processor, without the emulator: its report, checks and errors, and the
shortened model.
"""

from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from models import llama_header
from scripts.emulation import __main__ as program
from scripts.emulation import builds, system
from scripts.emulation.report import Judgement, judged, page
from scripts.emulation.table import joins
from scripts.places import CannotRun
from tests.inexact import Inexact, JoinsOff
from tests.tiny_model import tiny_model

MARK = {"date": "2026-11-25", "revision": "abc"}


def row(exact: int, *failed: str) -> dict[str, Any]:
    return {"exact": exact, "of": 6, "failed": list(failed)}


@pytest.mark.parametrize(
    ("table", "judgement"),
    [
        (row(6), "right"),
        (row(0, "passes"), "right"),
        (row(5, "passes"), "right"),
        (row(6, "passes"), "cautious"),
        (row(5), "wrong"),
    ],
)
def test_a_verdict_is_judged_by_what_was_exact(table: dict[str, Any], judgement: Judgement) -> None:
    assert judged(table) == judgement


def test_jackdaw_finds_its_version_in_the_emulated_system(tmp_path: Path) -> None:
    project = Path(builds.__file__).parents[2] / "pyproject.toml"
    for _ in range(2):
        builds.make_metadata(tmp_path, project)
    (made,) = distributions(name="jackdaw", path=[str(tmp_path)])
    assert f'version = "{made.version}"' in project.read_text()


def test_a_build_is_laid_out_as_termux_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    headers = tmp_path / "vendor" / "llama.cpp"
    for folder in ("include", "ggml/include", "common", "kernels"):
        (headers / folder).mkdir(parents=True)
    for name in ("include/llama.h", "include/llama-cpp.h", "ggml/include/ggml.h", "ggml/include/ggml-backend.h"):
        (headers / name).touch()
    for kind in ("common", "kernels"):
        for name in ("libllama.so", "libggml.so", "libggml-base.so", "libggml-cpu.so"):
            (headers / kind / name).write_text(kind)
    builds.lay_out(tmp_path, headers / "common", headers / "kernels", tmp_path / "usr")
    monkeypatch.setenv("PREFIX", str(tmp_path / "usr"))
    monkeypatch.setattr(llama_header, "find_spec", lambda name: None)
    installed = llama_header.find()
    assert installed is not None
    assert installed.library.read_text() == "common"
    assert installed.library.with_name("libggml-cpu.so").read_text() == "kernels"
    assert all((installed.headers / name).is_file() for name in llama_header.HEADERS)


def test_the_page_says_what_was_found_and_what_was_not_run() -> None:
    taken = {"kv": "q8_0", "repacks": False, "loss": 4}
    library = "/usr/lib/libllama.so, bound by /usr/include/llama.h"
    table = {"library": library, "f16": row(0, "passes"), "q8_0": row(6), "taken": taken, **MARK}
    question = {
        "build": "armv8-a",
        "text": "When?",
        "answer": "At nine.",
        "origin": "device",
        "exactness": "well",
        **MARK,
    }
    written = page({"exactness": {"armv8-a": table}, "question": question})
    cells = "0 of 6 | fails: passes (right) | 6 of 6 | exact (right) | q8_0, not repacked, no states | 2026-11-25, abc"
    assert f"| armv8-a | {cells} |" in written
    assert "| i8mm | not run |" in written
    assert f"The engine used {library}." in written
    assert "> At nine. (origin: device)" in written
    assert written.endswith("\n")
    contract = {"build": "armv8-a", "said": "1 failed, 62 passed", "failed": ["FAILED test_x - assert 1"], **MARK}
    written = page({"exactness": {}, "contract": contract})
    assert "1 failed, 62 passed" in written
    assert "    FAILED test_x" in written
    assert page({"exactness": {}}).count("Not run.") == 2


def test_joins_are_counted() -> None:
    assert joins(Inexact()) == 6
    assert joins(JoinsOff()) == 0


def test_the_short_model_has_the_first_layers(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    source = tiny_model(tmp_path / "model.gguf", "llama")
    builds.make_short(source, tmp_path / "short.gguf")
    short, whole = (gguf.GGUFReader(path) for path in (tmp_path / "short.gguf", source))
    assert short.fields["llama.block_count"].contents() == builds.LAYERS
    kept = {tensor.name for tensor in whole.tensors if tensor.name[:6] not in ("blk.3.", "blk.4.", "blk.5.")}
    assert {tensor.name for tensor in short.tensors} == kept


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "scripts.emulation.system.shutil.which", lambda command: None if command == "mmdebstrap" else command
    )
    with pytest.raises(CannotRun, match="apt-get install mmdebstrap"):
        system.System(tmp_path / "debian").make()


def test_it_is_kept_outside_of_the_repository(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program.main([str(Path(program.__file__).parent)])
    assert "outside of the repository" in capsys.readouterr().err
