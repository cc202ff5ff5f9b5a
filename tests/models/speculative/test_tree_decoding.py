"""Decoding with draft trees: text and states are the same as without drafts, whatever is drafted."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.decoder import Decoder
from models.engine import Logits
from models.fake import FakeEngine
from models.llama_model import LlamaModel
from models.llama_trees import LlamaTreeEngine
from models.sampling import SamplingSettings, sample
from models.speculative.choice import Acceptance
from models.speculative.costs import PassCosts
from models.speculative.lookup_tree import LookupTree, later_siblings
from models.speculative.tree import ROOT, DraftTree
from models.speculative.tree_decoding import TreeDecoder, TreeDrafter
from models.token_tree import TreeEngine
from shared.aggregation.weights import row_weights
from shared.trace import DraftCounts

FREE = PassCosts(((1, 1.0), (16, 1.0), (17, 1e6)), is_exact=True)
REPEATS = "the blue drill and the blue saw and the red drill and the blue drill\nQuestion: Which?\nassistant\n"


class Loose(FakeEngine):
    """A fake engine that prefers the passage's text only a little, so that sampled tokens differ from it now
    and then.
    """

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super()._append(sequence, tokens)
        logits[logits.argmax()] -= 14
        return logits


class Known:
    """A drafter that knows the text: the last of its three branches is right, the others are wrong."""

    def __init__(self, text: Sequence[int], depth: int) -> None:
        self._text, self._depth = list(text), depth

    def append(self, token: int) -> None:
        assert token == self._text.pop(0)

    def tree(self, depth: int) -> DraftTree:
        right = self._text[: min(depth, self._depth)]
        if not right:
            return DraftTree()
        others = [token for token in range(40, 43) if token != right[0]][:2]
        return DraftTree(
            (*others, *right),
            (ROOT, ROOT, ROOT, *range(2, 1 + len(right))),
            (-0.5, -0.6, -0.7, *[-0.1] * len(right[1:])),
        )


def written(
    engine: TreeEngine, drafter: TreeDrafter | None, rule: SamplingSettings, most: int, read: Sequence[int]
) -> tuple[list[int], DraftCounts]:
    """Generate the tokens after the prompt `read`; prompt and tokens stay in the engine's sequence.

    Return the tokens, and counts of drafts.
    """
    engine.clear(0)
    plain, counts = Decoder(engine, {0: engine.prefill(0, read)}, row_weights((1.0,))), DraftCounts()
    tokens: list[int] = []
    if drafter is None:
        while len(tokens) < most:
            tokens.append(sample(plain.mixture, rule, tokens))
            if engine.is_end(tokens[-1]) or len(tokens) == most:
                break
            plain.append(tokens[-1])
        return tokens, counts
    with TreeDecoder(plain, engine, drafter, FREE, most, counts) as decoder:
        while len(tokens) < most:
            tokens.append(sample(decoder.mixture, rule, tokens))
            if engine.is_end(tokens[-1]):
                decoder.end(tokens[-1])
                break
            if len(tokens) < most:
                decoder.append(tokens[-1])
    return tokens, counts


def lookup(read: Sequence[int]) -> LookupTree:
    return LookupTree([read], Acceptance(), later_siblings())


@settings(max_examples=25)
@given(
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    top_k=st.sampled_from([0, 5]),
    penalty=st.sampled_from([1.0, 1.3]),
    seed=st.integers(0, 99),
    most=st.integers(1, 50),
    room=st.integers(110, 240),
)
def test_the_text_is_that_of_no_drafting(
    temperature: float, top_k: int, penalty: float, seed: int, most: int, room: int
) -> None:
    rule = SamplingSettings(temperature=temperature, top_k=top_k, repetition_penalty=penalty, seed=seed)
    read = list(REPEATS.encode())
    most = min(most, room - len(read) + 1)  # as many as fit, to the last
    plain, drafted = Loose(context=room), Loose(context=room)
    expected, _ = written(plain, None, rule, most, read)
    tokens, counts = written(drafted, lookup(read), rule, most, read)
    assert tokens == expected
    assert drafted.tokens(0) == plain.tokens(0)
    assert counts.passes + counts.accepted == len(plain.tokens(0)) - len(read)
    again, counts = written(drafted, Known(expected, 4), rule, most, read)
    assert again == expected
    assert drafted.tokens(0) == plain.tokens(0)


def test_the_property_above_sees_accepted_and_rejected_nodes() -> None:
    _, counts = written(
        Loose(), lookup(REPEATS.encode()), SamplingSettings(temperature=0.7, seed=3), 200, REPEATS.encode()
    )
    assert 5 < counts.accepted < counts.drafted


def test_what_is_right_in_a_side_branch_costs_no_pass() -> None:
    expected, _ = written(Loose(), None, SamplingSettings(), 41, REPEATS.encode())
    tokens, counts = written(Loose(), Known(expected, 4), SamplingSettings(), 41, REPEATS.encode())
    assert tokens == expected
    assert counts.passes == (len(expected) - 1) / 5


@pytest.mark.weights
@pytest.mark.parametrize("temperature", [pytest.param(0.0, marks=pytest.mark.long), 0.7])
def test_the_real_model_writes_the_same_with_the_same_states(weights: Path, temperature: float) -> None:
    model = LlamaModel(weights / "smollm2-135m-instruct.q8_0.gguf")
    engine = LlamaTreeEngine(model, context=256, sequences=1, threads=1, kv_type="q8_0", branches=3)
    read = engine.tokenize("The ferry to Bergen leaves on Friday. The ferry to Oslo leaves on Sunday. The ferry")
    rule = SamplingSettings(temperature=temperature, seed=5)
    expected, _ = written(engine, None, rule, 14, read)
    behind = engine.decode({0: expected[-1]})[0]
    for drafter in (lookup(read), Known(expected, 3)):
        tokens, counts = written(engine, drafter, rule, 14, read)
        assert tokens == expected
        assert counts.accepted > 0
        assert np.array_equal(engine.decode({0: expected[-1]})[0], behind)
    engine.close()
