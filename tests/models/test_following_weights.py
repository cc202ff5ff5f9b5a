"""Rows' weights that follow the answer's text: when they take effect, and that they depend on nothing but the
tokens.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.decoder import Decoder
from models.engine import Logits
from models.fake import FakeEmbedder, FakeEngine
from models.following_weights import FollowingWeights
from shared.aggregation.weights import LATEST_TOKENS, basis, row_weights, similarities_to_text
from shared.errors import WeightsDamaged

PASSAGES = ["the heron stood by the river", "a winter in the village", "two eggs and flour"]
QUESTION = "what did the ferryman see in winter"
NEAR = [0.6, 0.5, 0.4]
AT_ONCE = 5
"""The number of tokens that the engine verifies at once in each of three rows."""

TEXT = "the village by the river had two eggs in a winter of flour and the heron, said the ferryman"


class Slow(FakeEmbedder):
    """A fake embedder that waits until `gate` is set; without a gate, it does not wait."""

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate, self.threads = gate, set[str]()

    def embed(self, texts: Sequence[str]) -> Any:
        self.threads.add(threading.current_thread().name)
        if self.gate:
            self.gate.wait()
        return super().embed(texts)


def following(every: int, embedder: FakeEmbedder | None = None) -> FollowingWeights:
    engine = FakeEngine()
    return FollowingWeights(embedder or FakeEmbedder(), engine.detokenize, QUESTION, PASSAGES, NEAR, every)


def exactly(tokens: Sequence[int], every: int) -> Logits:
    """Return the rows' weights for the next token after `tokens`, computed without delay (for comparison)."""
    count = basis(len(tokens), every)
    if not count:
        return row_weights(NEAR)
    text = bytes(tokens[:count][-LATEST_TOKENS:]).decode("utf-8", "replace")
    question, said, *passages = FakeEmbedder().embed([QUESTION, text, *PASSAGES])
    return row_weights(similarities_to_text(question, said, np.stack(passages)))


@given(st.sampled_from([1, 3, 8, 16]), st.permutations(range(90)))
def test_weights_depend_on_position_and_tokens_alone(every: int, order: list[int]) -> None:
    tokens = list(TEXT.encode())[:90]
    with closing(following(every)) as weights:
        for position in order[:12]:
            due = weights(position, tokens[:position])
            assert due.tolist() == exactly(tokens[:position], every).tolist()
            assert np.exp(due).sum() == pytest.approx(1, rel=1e-5)


def test_the_embedder_works_beside_decoding_and_is_waited_for_only_where_its_weights_are_due() -> None:
    gate = threading.Event()
    embedder = Slow(gate)
    tokens = list(TEXT.encode())
    with closing(following(8, embedder)) as weights:
        for position in range(16):  # the embedder is stuck since position 8
            assert weights(position, tokens[:position]).tolist() == row_weights(NEAR).tolist()
        timer = threading.Timer(0.05, gate.set)
        timer.start()
        assert weights(16, tokens[:16]).tolist() == exactly(tokens[:16], 8).tolist()
        timer.join()
    assert threading.current_thread().name not in embedder.threads


def test_an_answer_shorter_than_the_distance_embeds_nothing() -> None:
    embedder = Slow()
    with closing(following(32, embedder)) as weights:
        for position in range(32):
            weights(position, list(TEXT.encode())[:position])
    assert not embedder.threads


def test_a_failing_embedder_fails_the_answer_with_its_own_error() -> None:
    class Broken(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            raise WeightsDamaged("no model")

    with closing(following(8, Broken())) as weights, pytest.raises(WeightsDamaged):
        weights(16, list(TEXT.encode())[:16])


def decoder(engine: FakeEngine, weights: Any) -> Decoder:
    for sequence in range(engine.info.sequences):
        engine.clear(sequence)
    behind = {row: engine.prefill(row, engine.tokenize(text)) for row, text in enumerate(PASSAGES)}
    return Decoder(engine, behind, weights, ahead=4)


@pytest.fixture
def whole() -> Iterator[dict[int, Logits]]:
    """Return the mixed logits at each position of an answer of 60 tokens, decoded token by token (for comparison)."""
    with closing(following(8)) as weights:
        row = decoder(FakeEngine(sequences=4), weights)
        mixtures = {0: row.mixture}
        for token in TEXT.encode()[:60]:
            row.append(token)
            mixtures[row.position] = row.mixture
        yield mixtures


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_an_answer_that_is_cut_drafted_and_read_again_has_the_same_mixtures(
    whole: dict[int, Logits], data: st.DataObject
) -> None:
    tokens = list(TEXT.encode())[:60]
    with closing(following(8)) as weights:
        row = decoder(FakeEngine(sequences=4), weights)
        while row.position < 60:
            start = row.position
            count = data.draw(st.integers(1, 60 - start))
            match data.draw(st.sampled_from(["read", "verify", "wrong"])):
                case "read":
                    row.read(tokens[start : start + count])
                case "verify":
                    drafted = tokens[start : start + min(count, AT_ONCE)]
                    for place, mixture in enumerate(row.append_all(drafted), start + 1):
                        assert np.array_equal(mixture, whole[place])
                case "wrong":
                    row.append_all([63] * min(count, AT_ONCE))
                    row.cut(start)
                    row.read(tokens[start : start + 1])
            assert np.array_equal(row.mixture, whole[row.position])


def test_constant_weights_and_weights_that_are_never_due_mix_the_same() -> None:
    tokens = TEXT.encode()[:60]
    plain = decoder(FakeEngine(sequences=4), row_weights(NEAR))
    with closing(following(64)) as weights:
        row = decoder(FakeEngine(sequences=4), weights)
        for token in tokens:
            assert np.array_equal(row.append(token), plain.append(token))
