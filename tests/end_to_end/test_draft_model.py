"""The default model drafts for a deeper model that writes the same text, in real processes: the answer does
not change.
"""

import json
from pathlib import Path

import pytest

pytest.importorskip("gguf", reason="needs the research extra")

from models.facts import FactsFile
from models.llama_bindings import arithmetic
from models.llama_cpp import LlamaCppEngine
from models.llama_model import LlamaModel
from models.speculative.costs import FILE, DraftCosts, KnownCosts, PassCosts
from scripts.inflation.inflating import inflate
from scripts.inflation.shapes import Shape
from tests.jackdaw_process import Home

pytestmark = [pytest.mark.weights, pytest.mark.long]

SMALL, DEEPER = "smollm2-135m-instruct.q8_0.gguf", Shape(576, 9, 3, 1536, 31)
NOTE = "# The ferry\n\nThe ferry to Bergen leaves on Friday at 9:40 from pier 4. Its booking reference is KX-2291.\n"


def kv_key(path: Path, context: int, sequences: int) -> str:
    engine = LlamaCppEngine(LlamaModel(path), context=context, sequences=sequences, threads=1, kv_type="q8_0")
    engine.close()
    return engine.info.kv_key


def test_a_named_model_drafts_and_a_bad_one_is_named(tmp_path: Path, weights: Path) -> None:
    folder = tmp_path / "home" / "data" / "weights"
    folder.mkdir(parents=True)
    for file in weights.iterdir():
        if file.suffix in (".gguf", ".json") or file.name == "all-minilm-l6-v2":
            (folder / file.name).symlink_to(file)
    (folder / FILE).unlink(missing_ok=True)
    large = tmp_path / "deeper.gguf"
    inflate(weights / SMALL, large, DEEPER, "deeper", lambda *_: None)
    known = KnownCosts(FactsFile(folder, FILE), f"{kv_key(large, 1024, 4)} {arithmetic()} 1")
    known.keep(PassCosts(((1, 1.0), (4, 1.2), (16, 2.5)), is_exact=True))
    known.keep_fact(kv_key(folder / SMALL, 1024, 1), DraftCosts(0.05, 0.001))
    person = Home(tmp_path / "home")
    person.environment |= {"JACKDAW_MODEL_KV": "q8_0", "JACKDAW_MODEL_CONTEXT": "1024"}
    person.environment |= {"JACKDAW_MODEL_NAME": f"file:{large}", "JACKDAW_ANSWER_MAX_TOKENS": "40"}
    (tmp_path / "ferry.md").write_text(NOTE)
    person.json("add", str(tmp_path / "ferry.md"))
    question = "ask", "--fresh", "--local-only", "Where does the ferry leave?"

    answers = {}
    for draft in ("off", "smollm2-135m", str(tmp_path / "nowhere.gguf")):
        person.environment["JACKDAW_MODEL_DRAFT"] = draft
        done = person.run(*question, "--json")
        answers[draft] = json.loads(done.stdout)["answer"]
        if draft == "smollm2-135m":
            explained = person.run("why").stdout
            assert "drafted by smollm2-135m" in explained
            model = person.json("why")["trace"]["drafts"]["model"]
            assert model["accepted"] > 0 < model["read"]
            info = person.json("models", "info")
            assert info["draft"] == {"setting": draft, "model": draft, "why_not": ""}
            said = [
                each["said"] for each in person.json("doctor", code=None)["findings"] if each["check"] == "drafting"
            ]
            assert any("smollm2-135m drafts, too" in each for each in said)
        if "nowhere" in draft:
            assert "nowhere cannot draft tokens, so answers are written without it" in done.stderr
    assert len(set(answers.values())) == 1
