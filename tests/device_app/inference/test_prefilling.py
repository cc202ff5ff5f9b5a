"""A prompt's beginning that was prefilled in row 0 serves the next prompt, unless the row was used for something else
since.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from device_app.cache.states.tree import QKVTree, over
from device_app.inference.local import LocalSource
from device_app.settings.schema import Cache
from models.fake import FakeEngine
from models.interruptible import interruptible
from models.sampling import SamplingSettings
from shared.errors import GaveWay
from shared.prompt import CHATML, Prompt, build, turn
from shared.trace import Trace
from shared.types import StoredPassage
from storage.database import Database

RIVER = "north of the river"


@pytest.fixture
def tree(tmp_path: Path) -> QKVTree:
    return over(Database(tmp_path / "jackdaw.db"), tmp_path / "states", Cache())


def asked(question: str, text: str) -> Prompt:
    return build(question, [StoredPassage(1, text, 0, None, None, 1, "Note", "note", None, (), "/note")], CHATML)


def with_another(tree: QKVTree) -> LocalSource:
    """Return a source whose row 0 holds a whole prompt, longer than the other prompts of these tests, and the logits at
    its end.
    """
    source = LocalSource(FakeEngine(), CHATML)
    source.begin(asked("Who has borrowed the blue drill, and when is it given back?", RIVER * 9), Trace(), tree)
    return source


def go_on(source: LocalSource, prompt: Prompt) -> None:
    """Sample one token, which is not decoded: the row still holds the prompt alone."""
    next(source.go_on(prompt, (), SamplingSettings(), max_tokens=9, trace=Trace()))
    assert source.engine.length(0) == source.count(prompt)


def test_what_was_written_behind_a_prompt_is_not_taken_for_its_beginning(tree: QKVTree) -> None:
    prompt = turn("Write a poem about the spring.")
    source = with_another(tree)
    go_on(source, prompt)
    (expected,) = LocalSource(FakeEngine(), CHATML).prefilled(prompt, Trace(), tree)
    (logits,) = source.prefilled(prompt, Trace(), tree)
    assert np.array_equal(logits, expected)


def computed_ahead(source: LocalSource, prompt: Prompt, tree: QKVTree) -> None:
    source.computed_ahead(prompt, Trace(), tree)


@pytest.mark.parametrize("use", [lambda source, prompt, _: go_on(source, prompt), computed_ahead])
def test_what_replaces_a_beginning_ends_it(tree: QKVTree, use: Callable[[LocalSource, Prompt, QKVTree], None]) -> None:
    source = with_another(tree)
    assert source.beginning.tokens > 0
    use(source, asked("Where?", RIVER), tree)
    assert source.beginning.tokens == 0
    assert source.beginning.logits is None


def test_states_that_are_all_kept_leave_a_beginning_as_it_is(tree: QKVTree) -> None:
    prompt = asked("Where?", RIVER)
    source = LocalSource(FakeEngine(), CHATML)
    source.prefill(prompt, tree)
    source.begin(prompt, Trace(), tree)
    source.computed_ahead(prompt, Trace(), tree)
    trace = Trace()
    source.prefilled(prompt, trace, tree)
    assert trace.tokens_prefilled == 0


def test_a_passage_that_was_read_in_part_is_not_read_again_ahead_of_its_prompt(tree: QKVTree) -> None:
    prompt = asked("Where?", RIVER * 9)
    source = LocalSource(FakeEngine(), CHATML)
    read = replace(source, engine=interruptible(source.engine, iter([*[False] * 5, True]).__next__, 32, keeps=True))
    with pytest.raises(GaveWay):
        read.begin(prompt, Trace(), tree)
    trace = Trace()
    computed = source.computed_ahead(prompt, trace, tree)
    states = len(source.tokens((*prompt.head, *prompt.passages[0])))
    assert (trace.tokens_prefilled, trace.tokens_cached, trace.joined) == (states - 160, 160, {1})
    (logits,) = source.prefilled(prompt, trace, computed)
    (expected,) = LocalSource(FakeEngine(), CHATML).prefilled(prompt, Trace(), tree)
    assert np.array_equal(logits, expected)
    assert trace.tokens_prefilled + trace.tokens_cached == source.count(prompt)
