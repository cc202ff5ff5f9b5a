"""Generating tokens from several prompts (rows): mixing their distributions, the rows' weights, and streaming
the text.
"""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from device_app.inference.local import LocalSource
from models.fake import FakeEngine
from models.sampling import SamplingSettings
from shared.aggregation.weights import row_weights
from shared.errors import ContextFull
from shared.prompt import CHATML, build
from shared.trace import Trace
from shared.types import StoredPassage


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_weights_sum_to_one_and_follow_similarity(similarities: list[float]) -> None:
    weights = np.exp(row_weights(similarities))
    assert np.isclose(weights.sum(), 1, atol=1e-5)
    assert list(np.argsort(similarities, kind="stable")) == list(np.argsort(weights, kind="stable")) or len(
        set(np.round(weights, 6))
    ) < len(weights)


def passage(number: int, text: str) -> StoredPassage:
    return StoredPassage(number, text, 0, None, None, number, f"Note {number}", "note", None, (), "/note")


def test_characters_of_several_tokens_come_whole() -> None:
    source = LocalSource(FakeEngine(), CHATML)
    prompt = build("?", [passage(1, "Žižek naïve 日本")]).joined()
    pieces = [piece.text for piece in source.stream(prompt, SamplingSettings(), max_tokens=100)]
    assert "".join(pieces) == "Žižek naïve 日本"
    assert not any("\ufffd" in piece for piece in pieces)


@pytest.mark.parametrize(
    ("max_tokens", "expected"),
    [
        (1, [("", True), ("\ufffd", True)]),
        (2, [("", False), ("Ž", True)]),
        (3, [("", False), ("Ž", False)]),
    ],
)
def test_a_cut_is_marked_and_inside_a_character_shown(max_tokens: int, expected: list[tuple[str, bool]]) -> None:
    source = LocalSource(FakeEngine(), CHATML)
    prompt = build("?", [passage(1, "Ž")]).joined()
    pieces = source.stream(prompt, SamplingSettings(), max_tokens=max_tokens)
    assert [(piece.text, piece.cut) for piece in pieces] == expected


def test_an_answer_is_cut_where_the_context_ends() -> None:
    prompt = build("?", [passage(1, "north of the river")]).joined()
    engine = FakeEngine(context=LocalSource(FakeEngine(), CHATML).count(prompt) + 5)
    pieces = list(LocalSource(engine, CHATML).stream(prompt, SamplingSettings(), max_tokens=100))
    assert "".join(piece.text for piece in pieces) == "north"
    assert [piece.cut for piece in pieces] == [False] * 4 + [True]


def test_what_was_written_elsewhere_is_gone_on_from_as_if_written_here() -> None:
    prompt = build("?", [passage(1, "Žižek naïve 日本")]).joined()
    source = LocalSource(FakeEngine(), CHATML)
    whole = list(source.go_on(prompt, (), SamplingSettings(), max_tokens=100, trace=Trace()))
    assert bytes(whole).decode() == "Žižek naïve 日本"
    for start in range(len(whole) + 1):
        trace = Trace()
        drawn = source.go_on(prompt, whole[:start], SamplingSettings(), max_tokens=100, trace=trace)
        assert whole[:start] + list(drawn) == whole
        assert trace.tokens_decoded == len(whole) - start
        assert trace.tokens_prefilled == 1  # the rest stood there from before


def test_an_accepted_token_is_decoded_again_as_it_was_when_it_was_drawn() -> None:
    engine = FakeEngine()
    source, prompt = LocalSource(engine, CHATML), build("?", [passage(1, "north")]).joined()
    whole = list(source.go_on(prompt, (), SamplingSettings(), max_tokens=100, trace=Trace()))
    with patch.object(engine, "prefill") as prefill:
        rest = source.go_on(prompt, whole[:-1], SamplingSettings(), max_tokens=100, trace=Trace())
        assert list(rest) == whole[-1:]
    prefill.assert_not_called()


def test_alternatives_go_on_from_the_likeliest_tokens_with_the_likeliest_text() -> None:
    source, trace = LocalSource(FakeEngine(), CHATML), Trace()
    prompt = build("?", [passage(1, "north of the river")])
    first, *others = source.alternatives(prompt, [""], 3, max_tokens=30, trace=trace)
    assert first == "north of the river"
    assert len({first[:1], *(other[:1] for other in others)}) == 3
    assert {other[1:] for other in others} == {"orth of the river"}
    assert trace.tokens_decoded == 3 * len(first)
    assert trace.tokens_prefilled == source.count(prompt)
    assert source.alternatives(prompt, [""], 3, max_tokens=30, trace=Trace()) == [first, *others]


def test_alternatives_begin_as_they_are_told_to() -> None:
    source, trace = LocalSource(FakeEngine(), CHATML), Trace()
    prompt = build("?", [passage(1, "north of the river")])
    alternatives = source.alternatives(prompt, ["What", "", "Who is"], 1, max_tokens=30, trace=trace)
    assert alternatives == ["Whath of the river", "north of the river", "Who isof the river"]
    assert trace.tokens_prefilled == source.count(prompt) + len("What") + len("Who is")


def test_an_alternative_that_does_not_end_is_left_out() -> None:
    source, trace = LocalSource(FakeEngine(), CHATML), Trace()
    assert source.alternatives(build("?", [passage(1, "north")]), [""], 2, max_tokens=4, trace=trace) == []
    assert trace.tokens_decoded == 6


def test_a_beginning_that_leaves_no_room_is_left_out() -> None:
    prompt = build("?", [passage(1, "north of the river")])
    room = len("of the river") + 1
    engine = FakeEngine(context=LocalSource(FakeEngine(), CHATML).count(prompt) + room)
    source, trace = LocalSource(engine, CHATML), Trace()
    alternatives = source.alternatives(prompt, ["What does Petra Lund", "Who is"], 1, max_tokens=room, trace=trace)
    assert alternatives == []
    assert trace.tokens_prefilled == source.count(prompt) + len("Who is")


def test_rows_follow_the_more_relevant_passage() -> None:
    source = LocalSource(FakeEngine(), CHATML)
    prompt = build("?", [passage(1, "north"), passage(2, "south")])
    for similarities, expected in (((0.9, 0.1), "north"), ((0.1, 0.9), "south")):
        stream = source.stream(prompt, SamplingSettings(), max_tokens=50, similarities=similarities)
        assert "".join(piece.text for piece in stream) == expected


def test_the_same_seed_gives_the_same_text() -> None:
    source = LocalSource(FakeEngine(), CHATML)
    prompt = build("?", [passage(1, "north")]).joined()

    def text(seed: int) -> list[int]:
        settings = SamplingSettings(temperature=5.0, seed=seed)
        return [piece.token for piece in source.stream(prompt, settings, max_tokens=20)]

    assert text(1) == text(1) != text(2)


def test_a_prompt_that_does_not_fit_is_refused() -> None:
    source = LocalSource(FakeEngine(context=50), CHATML)
    prompt = build("?", [passage(1, "north")]).joined()
    assert source.room(prompt) <= 0
    with pytest.raises(ContextFull):
        list(source.stream(prompt, SamplingSettings(), max_tokens=10))
