"""The fake engine answers, and the fake embedder tells texts apart, so that tests without weights mean something."""

import numpy as np
import pytest

from models.fake import FakeEmbedder, FakeEngine


def answer(engine: FakeEngine, prompt: str) -> str:
    """Return what the engine writes if the likeliest token is always taken."""
    logits = engine.prefill(0, engine.tokenize(prompt, special=True))
    said: list[int] = []
    while not engine.is_end(token := int(np.argmax(logits))):
        said.append(token)
        logits = engine.decode({0: token})[0]
    return engine.detokenize(said).decode()


def test_it_answers_with_the_line_before_the_question_and_ends() -> None:
    prompt = "<|im_start|>user\nTitle\nThe café opens at nine.\nQuestion: When?<|im_end|>\n<|im_start|>assistant\n"
    assert answer(FakeEngine(), prompt) == "The café opens at nine."


@pytest.mark.parametrize("prompt", ["assistant\n", "?", "Question: assistant\n"])
def test_it_ends_without_a_passage_too(prompt: str) -> None:
    assert len(answer(FakeEngine(), prompt)) <= 1


def test_two_engines_agree() -> None:
    token, other = FakeEngine(), FakeEngine()
    tokens = token.tokenize("the same")
    assert np.array_equal(token.prefill(0, tokens), other.prefill(3, tokens))


def test_embeddings_are_unit_vectors_in_order_and_the_same_each_time() -> None:
    embedder = FakeEmbedder()
    texts = ["the heron stands by the river", "the heron stood near a river", "quarterly tax forms", ""]
    vectors = embedder.embed(texts)
    assert vectors.shape == (4, embedder.dimensions)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.array_equal(vectors[1], embedder.embed([texts[1]])[0])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


def test_no_texts_give_no_vectors() -> None:
    assert FakeEmbedder().embed([]).shape == (0, FakeEmbedder.dimensions)
