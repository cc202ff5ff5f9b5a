"""Collecting training data with a model of random weights: the data is exact, and stopping loses nothing."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors", reason="needs the train extra")

from models.llama_features import LlamaFeatureEngine
from models.llama_model import LlamaModel
from scripts.drafting.collecting import WRITTEN, Text, collect, load, room
from scripts.drafting.recipe import Collected
from scripts.training import OtherRecipe
from shared.prompt import Prompt, turn
from tests.tiny_model import tiny_model, words

pytestmark = pytest.mark.torch

SETTINGS = Collected(answers=2, most=12)
ASKED = ("Who has the drill?", "When is the meeting?", "Say hello.", "Name a colour.", "What is left?")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaFeatureEngine]:
    wide = {"llama.attention.key_length": 32, "llama.attention.value_length": 32}  # as q8_0 states need
    path = tiny_model(tmp_path_factory.mktemp("models") / "tiny.gguf", "llama", {**words(), **wide})
    made = LlamaFeatureEngine(LlamaModel(path), context=2048, sequences=6, threads=1, kv_type="q8_0", shared=True)
    yield made
    made.close()


def prompts() -> Iterator[Prompt]:
    return (turn(asked) for asked in ASKED)


def collected(
    engine: LlamaFeatureEngine, folder: Path, most: int = 10**9, settings: Collected = SETTINGS
) -> list[Path]:
    return collect(engine, prompts, folder, settings, lambda written: written >= most, lambda _: None)


def contents(files: list[Path]) -> list[bytes]:
    return [file.read_bytes() for file in files]


def test_features_and_likeliest_tokens_are_those_of_each_path(engine: LlamaFeatureEngine, tmp_path: Path) -> None:
    for text in map(load, collected(engine, tmp_path)):
        for path in paths(text):
            engine.clear(0)
            logits, features = engine.read(0, text.tokens[path].tolist())
            assert np.allclose(features, text.features[path], atol=0.02)
            if text.parts[path[-1]] == WRITTEN:
                assert int(logits.argmax()) == text.likeliest[path[-1]]
        assert (text.likeliest >= 0).tolist() == (text.parts == WRITTEN).tolist()


def paths(text: Text) -> list[list[int]]:
    """Return, for each path of the tree from a root to a leaf, the indices of its tokens."""
    all_paths = []
    for leaf in {*range(len(text.tokens))} - {*text.parents.tolist()}:
        path = [leaf]
        while (parent := int(text.parents[path[-1]])) >= 0:
            path.append(parent)
        all_paths.append(path[::-1])
    return all_paths


def test_the_longest_prompts_with_the_longest_answers_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = turn("a " * 100)
    wide = {"llama.attention.key_length": 32, "llama.attention.value_length": 32}
    path = tiny_model(tmp_path / "tiny.gguf", "llama", {**words(), **wide})
    monkeypatch.setattr(LlamaFeatureEngine, "is_end", lambda *_: False)
    monkeypatch.setattr("scripts.drafting.collecting.Ending.feed", lambda *_: None)
    settings = Collected(answers=4, most=30)
    alone = LlamaFeatureEngine(LlamaModel(path), context=1024, sequences=4, threads=1, kv_type="q8_0", shared=True)
    longest = sum(len(alone.tokenize(part.text, special=part.special)) for part in (*asked.head, *asked.tail))
    alone.close()
    monkeypatch.setattr("scripts.drafting.collecting._MOST_PROMPT", longest)
    full = LlamaFeatureEngine(
        LlamaModel(path), context=room(settings), sequences=12, threads=1, kv_type="q8_0", shared=True
    )
    files = collect(full, lambda: iter([asked] * 3), tmp_path / "texts", settings, lambda _: False, lambda _: None)
    full.close()
    assert [load(file).written for file in files] == [4 * 30] * 3


def test_the_first_answer_is_the_greedy_one(engine: LlamaFeatureEngine, tmp_path: Path) -> None:
    for text in map(load, collected(engine, tmp_path)):
        path = min(paths(text))
        answer = [place for place in path if text.parts[place] == WRITTEN]
        assert text.tokens[answer[1:]].tolist() == text.likeliest[answer[:-1]].tolist()


def test_collecting_that_was_killed_goes_on_to_the_same_bytes(engine: LlamaFeatureEngine, tmp_path: Path) -> None:
    whole = collected(engine, tmp_path / "whole")
    parts = collected(engine, tmp_path / "parts", most=1)
    assert len(parts) == 3  # those written together
    parts[1].unlink()
    (tmp_path / "parts" / "00001.part").write_bytes(b"half")
    assert contents(collected(engine, tmp_path / "parts")) == contents(whole)
    assert len(whole) == len(ASKED)


def test_texts_of_other_settings_are_refused(engine: LlamaFeatureEngine, tmp_path: Path) -> None:
    collected(engine, tmp_path, most=1)
    with pytest.raises(OtherRecipe, match="other settings"):
        collected(engine, tmp_path, settings=Collected(answers=1, most=12))
    collected(engine, tmp_path, settings=Collected(answers=2, most=12, positions=5))  # how many is no part of a text
