"""A smaller model drafts: the text is the same as without drafts, whatever the model drafts and however it fails."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_app.inference.local import LocalSource
from models.engine import Engine, EngineInfo, Logits
from models.facts import FactsFile
from models.fake import END, FakeEngine
from models.sampling import SamplingSettings
from models.speculative.choice import Acceptance, pace, repays, shares
from models.speculative.costs import FILE, DraftCosts, KnownCosts, PassCosts
from models.speculative.draft_model import DraftModel, Learned
from models.speculative.drafter import DEGREES, Draft
from models.speculative.drafting import Drafting
from models.speculative.small_model import SmallModel
from shared.errors import EngineError, GaveWay
from shared.prompt import CHATML
from shared.trace import Trace
from tests.models.speculative.answers import CHEAP, NEW, Fresh, asked, written

DEAR = PassCosts(((1, 1.0), (16, 16.0)), is_exact=True)
REPEATS = "the blue drill and the blue drill and the blue saw and the blue drill"


class Loose(Fresh):
    """Prefers the text of `Fresh` only a little, so that sampled tokens differ from it now and then."""

    def _append(self, sequence: int, tokens: Sequence[int]) -> Logits:
        logits = super()._append(sequence, tokens)
        logits[logits.argmax()] -= 13
        return logits


class Broken(Fresh):
    """A fake engine that fails after `after` decodes, in the given way."""

    def __init__(self, after: int, way: str) -> None:
        super().__init__(sequences=1)
        self._after, self._way = after, way

    def decode(self, tokens: Mapping[int, int]) -> dict[int, Logits]:
        self._after -= 1
        if self._after < 0:
            if self._way == "engine":
                raise EngineError("the device is gone")
            if self._way == "anything":
                raise RuntimeError("out of memory")
            return {0: np.full(self.info.vocabulary, np.nan, np.float32)}
        return super().decode(tokens)


def model(engine: Engine, step: float = 0.1, read: float = 0.001) -> DraftModel:
    return DraftModel("small", "small", partial(SmallModel, engine), engine.close, DraftCosts(step, read))


def shifted(text: str) -> bytes:
    return bytes(byte + 1 for byte in text.encode())


def drafted_with(engine: Engine, text: str = NEW, **costs: float) -> Trace:
    """Check that drafting with this model does not change the answer, and return the answer's trace."""
    drafting = Drafting("auto", costs=CHEAP, model=model(engine, **costs))
    tokens, trace = written(Fresh(), drafting, asked(text).joined(), SamplingSettings())
    assert bytes(tokens) == shifted(text)
    return trace


DRAFTERS: Mapping[str, Any] = {
    "right": lambda: Fresh(sequences=1),
    "unsure": Loose,
    "wrong": FakeEngine,
    "too short": lambda: Fresh(sequences=1, context=80),
    "no numbers": lambda: Broken(7, "no numbers"),
    "gone": lambda: Broken(3, "engine"),
    "any failure": lambda: Broken(5, "anything"),
}


@settings(max_examples=40, deadline=None)
@given(
    text=st.sampled_from([NEW, REPEATS, "a b a b a c"]),
    drafter=st.sampled_from(sorted(DRAFTERS)),
    temperature=st.sampled_from([0.0, 0.7, 1.5]),
    penalty=st.sampled_from([1.0, 1.3]),
    seed=st.integers(0, 99),
    most=st.integers(1, 60),
    costs=st.sampled_from([CHEAP, DEAR]),
    step=st.sampled_from([0.01, 0.3, 2.0]),
)
def test_the_text_is_that_of_no_drafting(
    text: str, drafter: str, temperature: float, penalty: float, seed: int, most: int, costs: PassCosts, step: float
) -> None:
    sampling = SamplingSettings(temperature=temperature, repetition_penalty=penalty, seed=seed)
    plain, drafted, prompt = Loose(), Loose(), asked(text).joined()
    expected, _ = written(plain, Drafting(), prompt, sampling, most)
    tokens, trace = written(
        drafted, Drafting("auto", costs=costs, model=model(DRAFTERS[drafter](), step)), prompt, sampling, most
    )
    assert tokens == expected
    assert drafted.tokens(0) == plain.tokens(0)
    assert trace.drafts.model_accepted <= trace.drafts.model_drafted <= trace.drafts.drafted
    assert trace.drafts.accepted <= trace.drafts.drafted


def test_where_nothing_was_read_before_the_model_drafts() -> None:
    trace = drafted_with(Fresh(sequences=1))
    drafts = trace.drafts
    assert drafts.passes < len(NEW) / 2.5
    assert drafts.model_accepted > len(NEW) / 2
    assert drafts.model == "small"
    assert drafts.model_read > len(NEW), "it reads the prompt once"
    assert drafts.model_read < 2 * len(bytes(NEW, "ascii")) + 600
    shown = trace.as_json()["drafts"]
    assert isinstance(shown, dict)
    assert shown["model"]["name"] == "small"
    assert shown["model"]["accepted"] == drafts.model_accepted
    assert shown["tokens_per_pass"] > 2.5


def test_where_enough_matched_lookup_drafts() -> None:
    trace = drafted_with(Fresh(sequences=1), REPEATS, step=0.2)
    assert trace.drafts.accepted - trace.drafts.model_accepted > 20


@pytest.mark.parametrize(("step", "read"), [(1.2, 0.001), (0.1, 10.0)])
def test_a_slow_model_or_a_long_prompt_is_left_alone(step: float, read: float) -> None:
    small = Fresh(sequences=1)
    trace = drafted_with(small, step=step, read=read)
    assert not trace.drafts.model
    assert not small.computed


def test_a_model_that_is_always_wrong_is_soon_left_alone_and_tried_again_later() -> None:
    small, drafting = FakeEngine(), Drafting("auto", costs=CHEAP)
    drafting.model = model(small, read=0.02)
    seen = []
    for number in range(24):
        before = small.computed
        written(Fresh(), drafting, asked(f"{number} {NEW}").joined(), SamplingSettings())
        seen.append(small.computed > before)
    assert seen[0]
    assert seen.index(False) < 6
    assert any(seen[seen.index(False) :])
    assert sum(seen) < 12


@pytest.mark.parametrize(
    ("way", "said"),
    [("engine", "the device is gone"), ("anything", "out of memory"), ("no numbers", "no usable logits")],
)
def test_a_model_that_fails_in_the_middle_is_named_and_dropped(way: str, said: str) -> None:
    small = Broken(4, way)
    drafting = Drafting("auto", costs=CHEAP, model=model(small))
    prompt = asked(NEW).joined()
    tokens, trace = written(Fresh(), drafting, prompt, SamplingSettings())
    assert bytes(tokens) == shifted(NEW)
    assert trace.drafts.model_accepted > 0
    assert "small no longer drafts" in trace.drafts.model_failed
    assert said in trace.drafts.model_failed
    assert drafting.model
    assert drafting.model.failed == trace.drafts.model_failed
    computed = small.computed
    assert bytes(written(Fresh(), drafting, prompt, SamplingSettings())[0]) == shifted(NEW)
    assert small.computed == computed, "the next answer does without it"
    with pytest.raises(EngineError, match="closed"):
        small.length(0)
    drafting.close()


def test_a_model_that_fails_before_it_drafts_is_named_and_dropped(tmp_path: Path) -> None:
    class Gone(SmallModel):
        @property
        def unread(self) -> int:
            raise RuntimeError("the driver was unloaded")

    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    known.keep(CHEAP)
    small = replace(model(Fresh(sequences=1)), start=partial(Gone, Fresh(sequences=1)))
    drafting = Drafting("auto", known, model=small)
    tokens, trace = written(Fresh(), drafting, asked(NEW).joined(), SamplingSettings())
    assert bytes(tokens) == shifted(NEW)
    assert "the driver was unloaded" in trace.drafts.model_failed
    unmeasured = replace(small, costs=None, failed="")
    drafting = Drafting("auto", known, model=unmeasured)
    drafting.measure(FakeEngine())
    assert "the driver was unloaded" in unmeasured.failed
    assert not drafting.is_unmeasured(FakeEngine().info)


def test_giving_way_is_no_failure() -> None:
    class Busy(Fresh):
        def prefill(self, sequence: int, tokens: Sequence[int]) -> Logits:
            raise GaveWay("A question came.")

    drafting = Drafting("auto", costs=CHEAP, model=model(Busy()))
    with pytest.raises(GaveWay):
        written(Fresh(), drafting, asked(NEW).joined(), SamplingSettings())
    assert drafting.model
    assert not drafting.model.failed


def test_a_token_behind_what_was_read_is_decoded() -> None:
    engine = FakeEngine(sequences=1)
    small = SmallModel(engine, b"north of the river")
    small.draft(1)
    small.append(ord("a"))
    with patch.object(engine, "prefill") as prefill:
        small.draft(1)
    assert engine.tokens(0) == tuple(b"north of the rivera")
    prefill.assert_not_called()


@pytest.mark.parametrize("most", [3, 200])
def test_the_length_of_an_answer_is_learned_however_it_ends(most: int) -> None:
    small = model(Fresh(sequences=1))
    before = small.left(0)
    written(Fresh(), Drafting("auto", costs=CHEAP, model=small), asked(NEW).joined(), SamplingSettings(), most)
    once = small.left(0)
    assert once < before
    stream = LocalSource(Fresh(), CHATML, Drafting("auto", costs=CHEAP, model=small)).stream(
        asked(NEW).joined(), SamplingSettings(), max_tokens=200
    )
    next(stream)
    stream.close()
    assert small.left(0) < once


def test_an_answer_that_fails_teaches_no_length() -> None:
    class Full(Fresh):
        def decode(self, _: Mapping[int, int]) -> dict[int, Logits]:
            raise GaveWay("A question came.")

        def verify(self, _: Mapping[int, Sequence[int]]) -> dict[int, list[Logits]]:
            raise GaveWay("A question came.")

    small = model(Fresh(sequences=1))
    before = small.left(0)
    with pytest.raises(GaveWay):
        written(Full(), Drafting("auto", costs=CHEAP, model=small), asked(NEW).joined(), SamplingSettings())
    assert small.left(0) == before


def test_it_reads_only_what_it_lacks_and_answers_may_share_it() -> None:
    small = FakeEngine(sequences=1)
    text = [*b"user\nabcdef\nassistant\n"]
    first = SmallModel(small, text)
    assert first.unread == len(text)
    draft = first.draft(3)
    assert (len(draft.tokens), len(draft.log_probabilities), first.unread) == (3, 3, 1)
    first.append(draft.tokens[0])
    first.append(7)
    assert first.unread == 1
    second = SmallModel(small, [*text[:5], 9, 9])
    assert second.unread == 2
    second.draft(1)
    assert first.unread == len(text) + 2 - 5
    assert small.tokens(0) == (*text[:5], 9, 9)


def test_much_text_is_read_in_pieces() -> None:
    small = FakeEngine(sequences=1)
    drafter = SmallModel(small, [*b"x" * 300, *b"\nuser\nabcdef\nassistant\n"])
    unread = drafter.unread
    assert drafter.draft(3) == drafter.draft(3) == Draft()
    assert drafter.unread == unread - 256
    assert bytes(drafter.draft(3).tokens) == b"use"
    assert drafter.unread == 1


def test_a_text_that_does_not_fit_is_not_even_begun() -> None:
    small = FakeEngine(sequences=1, context=200)
    assert SmallModel(small, [*b"x" * 200]).draft(3) == Draft()
    assert not small.computed
    SmallModel(small, [*b"x" * 199]).draft(3)
    assert small.computed
    assert not drafted_with(Fresh(sequences=1, context=80)).drafts.model, "what drafted nothing is not named"


def test_it_drafts_no_end_and_stops_where_a_token_is_hardly_reached() -> None:
    text = [*b"user\nabc\nassistant\n"]
    small = FakeEngine(sequences=1)
    whole = SmallModel(small, text).draft(99)
    assert END not in whole.tokens
    assert len(whole.tokens) < 99
    unsure = SmallModel(Loose(sequences=1), text)
    least = math.exp(unsure.draft(1).log_probabilities[0]) * 1.01
    assert len(unsure.draft(9, least).tokens) == 1
    assert unsure.draft(0) == Draft()


@given(st.lists(st.floats(-30, 0), min_size=1, max_size=6))
def test_the_degree_of_a_token_follows_its_probability(chances: list[float]) -> None:
    draft = Draft(tuple(range(len(chances))), log_probabilities=tuple(chances))
    assert all(1 <= degree <= DEGREES for degree in draft.degrees)
    for own, degree in zip(chances, draft.degrees, strict=True):
        assert (degree - 1) / DEGREES <= math.exp(own) <= degree / DEGREES
    assert draft.rest.log_probabilities == tuple(chances[1:])


@pytest.mark.parametrize(
    ("chance", "most", "step", "chosen"),
    [
        (0.95, 15, 0.05, 7),
        (0.9, 3, 0.05, 3),
        (0.6, 15, 0.05, 2),
        (0.6, 15, 0.6, 0),
        (0.0, 15, 0.01, 0),
        (0.9, 0, 0.1, 0),
    ],
)
def test_as_many_are_drafted_as_pay(chance: float, most: int, step: float, chosen: int) -> None:
    costs = PassCosts(((1, 1.0), (4, 1.3), (8, 1.6), (16, 3.5)), is_exact=True)
    count, rate = pace([chance] * most, 1, costs.ratio, 1 + most, step)
    assert count == chosen
    assert rate >= 1


@pytest.mark.parametrize(
    ("slower", "faster", "left", "spent", "pays"),
    [(1.0, 2.0, 60, 14.0, True), (1.0, 2.0, 60, 16.0, False), (2.0, 2.0, 60, 0.0, False), (1.0, 2.0, 0, 0.0, False)],
)
def test_a_prompt_is_read_only_if_that_is_repaid(
    slower: float, faster: float, left: int, spent: float, pays: bool
) -> None:
    assert repays(slower, faster, left, spent) is pays


def test_time_that_drafting_took_lets_more_tokens_be_verified() -> None:
    costs = PassCosts(((1, 1.0), (4, 1.0), (8, 2.0), (16, 4.0)), is_exact=True)
    assert shares([[0.9] * 7], [1], costs.ratio, 16) == [3]
    assert shares([[0.9] * 7], [1], costs.ratio, 16, 3.0) == [7]


def test_shares_fade_towards_the_prior() -> None:
    acceptance = Acceptance((0.5,))
    for _ in range(50):
        acceptance.learn(1, is_accepted=False)
    low = acceptance.chance(1)
    for _ in range(60):
        acceptance.fade()
    assert low < 0.2
    assert acceptance.chance(1) == pytest.approx(0.5, abs=0.01)


def test_the_time_of_drafting_is_measured_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.speculative.costs._SPREAD", 1e9)  # the fakes take microseconds
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    known.keep(CHEAP)
    small, engine = model(FakeEngine(sequences=1)), FakeEngine()
    small.costs = None
    drafting = Drafting("auto", known, model=small)
    assert drafting.is_unmeasured(engine.info)
    assert drafting.measure(engine) == CHEAP
    assert small.costs
    assert engine.length(0) == 0
    again = Drafting("auto", known, model=replace(small, costs=None))
    assert again.model
    assert again.model.costs == small.costs
    assert not again.is_unmeasured(engine.info)


def test_what_was_learned_of_a_model_is_known_in_the_next_run(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    name = "small learned"

    def run(drafter: FakeEngine) -> Trace:
        drafting = Drafting("auto", known, CHEAP, model=model(drafter, read=0.02))
        _, trace = written(Fresh(), drafting, asked(NEW).joined(), SamplingSettings())
        drafting.close()
        return trace

    assert known.load_fact(name, Learned) is None
    used = [bool(run(FakeEngine(sequences=1)).drafts.model) for _ in range(3)]
    assert used == [True, False, False], "what was always wrong is left alone in other processes, too"
    assert known.load_fact(name, Learned)
    for damaged in ({"counts": [[1, 1]], "typical": [1, 2], "length": 3}, {"counts": [[3, 1]] * 8}, [1], "x"):
        known.keep_fact(name, damaged)
        assert known.load_fact(name, Learned) is None
        assert run(Fresh(sequences=1)).drafts.model_accepted > 0


def test_a_model_that_fails_when_it_is_measured_is_dropped_and_the_rest_drafts_on(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    known.keep(CHEAP)
    closed = FakeEngine(sequences=1)
    small = replace(model(closed), costs=None)
    closed.close()
    drafting = Drafting("auto", known, model=small)
    drafting.measure(FakeEngine())
    assert "The engine is closed" in small.failed
    assert not drafting.is_unmeasured(FakeEngine().info)
    _, trace = written(Fresh(), drafting, asked(REPEATS).joined(), SamplingSettings())
    assert trace.drafts.accepted > 20


def test_a_model_that_turns_out_never_to_draft_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.speculative.costs._is_exact", lambda *_: False)
    small = FakeEngine(sequences=1)
    drafting = Drafting("auto", KnownCosts(FactsFile(tmp_path, FILE), "fake"), model=replace(model(small), costs=None))
    drafting.measure(FakeEngine())
    assert drafting.model is None
    with pytest.raises(EngineError, match="closed"):
        small.length(0)


def test_where_passes_are_inexact_the_model_is_not_even_measured(tmp_path: Path) -> None:
    known = KnownCosts(FactsFile(tmp_path, FILE), "fake")
    known.keep(replace(CHEAP, is_exact=False))
    info: EngineInfo = FakeEngine().info
    assert not Drafting("auto", known, model=replace(model(FakeEngine()), costs=None)).is_unmeasured(info)
